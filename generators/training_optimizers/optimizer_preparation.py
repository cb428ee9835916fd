"""Cases about loading: a model that is loaded twice, has a companion, or runs with inputs of changing sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case
from conformance.exact.models.model_building import array_value_info, build_model, make_value_info
from generators.generated_values import FLOAT_TYPE_NAMES
from generators.training_optimizers.operator import Operator, OperatorSetting, optimizer_case
from generators.training_optimizers.optimizer_families import FLOATS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.exact.models.arrays import Array


COUNTS = (3, 0, 7)
"""T of the runs of one loaded model."""

RATES = (0.125, 0.5, 0.0625)

OPEN_SHAPES: Sequence[Sequence[int]] = ((2, 3), (4, 5), (1, 2), (0, 3), (3, 7), (2, 3))
"""Shapes of the inputs in successive runs of a model with symbolic dimensions: larger, smaller, empty, first again."""


def preparation_cases(operator: Operator) -> Iterator[Case]:
    """Yield the cases of an operator about loading: loaded twice, with a companion, and with changing sizes."""
    for dtype in FLOATS:
        yield _prepared_twice(operator, dtype)
        yield from _companion_cases(operator, dtype, "in_turns", "although another loaded model has the same names")
        yield from _companion_cases(
            operator, dtype, "in_turns_named", "although a node of another loaded model has its name", "step"
        )
        yield _open_sizes(operator, dtype)


def _prepared_twice(operator: Operator, dtype: Any) -> Case:
    name = f"prepared_twice_{FLOAT_TYPE_NAMES[dtype]}"
    case = optimizer_case(
        operator,
        name,
        f"{operator.name} computes each of two loaded copies of a model from the copy's own inputs",
        ("pure",),
        operator.usual,
        OperatorSetting(dtype, counts=COUNTS, rates=RATES),
        tags=("preparation",),
    )
    return replace(case, companion=case.id)


def _companion_cases(
    operator: Operator, dtype: Any, name: str, text: str, node_name: str | None = None
) -> Iterator[Case]:
    """Yield two cases that are companions of each other; their models differ only in attributes and initializer R.

    Args:
        operator: the operator.
        dtype: element type of the tensors.
        name: part of the ids and of the graph's name.
        text: end of the titles.
        node_name: name of the node in both models.
    """
    ids = [f"test_{operator.prefix}_{name}_{word}_{FLOAT_TYPE_NAMES[dtype]}" for word in ("first", "second")]
    half = {name: value / 2 if isinstance(value, float) else value for name, value in operator.usual.items()}
    signature = operator.signature
    for id, other, attributes, rate in zip(ids, ids[::-1], (operator.usual, half), (0.125, 0.75), strict=True):
        setting = OperatorSetting(dtype, counts=COUNTS)
        data_sets = [(T, *tensors) for _, T, *tensors in setting.data_sets(operator, id)]
        names = ["T", *signature.operands]
        node = helper.make_node(
            operator.name, ["R", *names], signature.results, name=node_name, domain=signature.domain, **attributes
        )
        yield Case(
            id=id,
            title=f"{operator.name} uses its own attributes and R {text}",
            level=Level.MUST,
            clauses=(f"{operator.prefix}.pure", *([f"{operator.prefix}.node_name"] if node_name else [])),
            tags=(operator.prefix, FLOAT_TYPE_NAMES[dtype], "preparation"),
            model=build_model(
                f"{operator.prefix}_{name}",
                [node],
                [array_value_info(name, array) for name, array in zip(names, data_sets[0], strict=True)],
                [array_value_info(name, data_sets[0][1]) for name in signature.results],
                operator.imports,
                {"R": np.array(rate, dtype=dtype)},
            ),
            data_sets=tuple(data_sets),
            companion=other,
        )


def _open_sizes(operator: Operator, dtype: Any) -> Case:
    """Define a case whose input sizes change from run to run of one loaded model."""
    id = f"test_{operator.prefix}_open_sizes_{FLOAT_TYPE_NAMES[dtype]}"
    data_sets: list[tuple[Array, ...]] = []
    for number, shape in enumerate(OPEN_SHAPES):
        setting = OperatorSetting(dtype, shapes=(shape,), counts=(number,))
        data_sets += setting.data_sets(operator, f"{id}/{number}")
    signature = operator.signature
    type = FLOAT_TYPE_NAMES[dtype]
    names = ["R", "T", *signature.operands]
    node = helper.make_node(operator.name, names, signature.results, domain=signature.domain, **operator.usual)
    scalars = [array_value_info(name, array) for name, array in zip(names[:2], data_sets[0][:2], strict=True)]
    return Case(
        id=id,
        title=f"{operator.name} gives outputs of each run's own sizes if the model declares symbolic dimensions",
        level=Level.MUST,
        clauses=(f"{operator.prefix}.elementwise", f"{operator.prefix}.pure"),
        tags=(operator.prefix, type, "preparation", "sizes"),
        model=build_model(
            id,
            [node],
            [*scalars, *(make_value_info(name, type, ["rows", "columns"]) for name in signature.operands)],
            [make_value_info(name, type, ["rows", "columns"]) for name in signature.results],
            operator.imports,
        ),
        data_sets=tuple(data_sets),
    )
