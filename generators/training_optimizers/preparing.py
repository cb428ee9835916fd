"""How a prepared model is used: prepared twice, in turns with another one, and for sizes that change between runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.corpus.case import Case
from conformance.generation.models import TYPES, declared, declared_as, model
from conformance.verdicts import Level
from generators.training_optimizers.families import FLOATS
from generators.training_optimizers.operator import Operator, OperatorSetting, optimizer_case

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.models.arrays import Array

COUNTS = (3, 0, 7)
"""T of the runs of one prepared model."""

RATES = (0.125, 0.5, 0.0625)

OPEN_SHAPES: Sequence[Sequence[int]] = ((2, 3), (4, 5), (1, 2), (0, 3), (3, 7), (2, 3))
"""What the sizes of a model with open ones are, run after run: larger, smaller, none at all, and the first again."""


def preparations(operator: Operator) -> Iterator[Case]:
    """All of them."""
    for dtype in FLOATS:
        yield _prepared_twice(operator, dtype)
        yield from _in_turns(operator, dtype)
        yield _open_sizes(operator, dtype)


def _prepared_twice(operator: Operator, dtype: Any) -> Case:
    name = f"prepared_twice_{TYPES[dtype]}"
    case = optimizer_case(
        operator,
        name,
        f"{operator.name} gives each of two prepared copies of its model the outputs of its own inputs",
        ("pure",),
        operator.usual,
        OperatorSetting(dtype, counts=COUNTS, rates=RATES),
        tags=("preparation",),
    )
    return replace(case, beside=case.id)


def _in_turns(operator: Operator, dtype: Any) -> Iterator[Case]:
    """Two models that are alike but for their attributes and the R that is an initializer: even in the graph's name."""
    ids = [f"test_{operator.prefix}_in_turns_{word}_{TYPES[dtype]}" for word in ("first", "second")]
    half = {name: value / 2 if isinstance(value, float) else value for name, value in operator.usual.items()}
    signature = operator.signature
    for id, other, attributes, rate in zip(ids, ids[::-1], (operator.usual, half), (0.125, 0.75), strict=True):
        setting = OperatorSetting(dtype, counts=COUNTS)
        data_sets = [(T, *tensors) for _, T, *tensors in setting.data_sets(operator, id)]
        names = ["T", *signature.operands]
        node = helper.make_node(operator.name, ["R", *names], signature.results, domain=signature.domain, **attributes)
        yield Case(
            id=id,
            title=f"{operator.name} keeps its attributes and R apart from those of a model of the same names",
            level=Level.MUST,
            clauses=(f"{operator.prefix}.pure",),
            tags=(operator.prefix, TYPES[dtype], "preparation"),
            model=model(
                f"{operator.prefix}_in_turns",
                [node],
                [declared(name, array) for name, array in zip(names, data_sets[0], strict=True)],
                [declared(name, data_sets[0][1]) for name in signature.results],
                operator.imports,
                {"R": np.array(rate, dtype=dtype)},
            ),
            data_sets=tuple(data_sets),
            beside=other,
        )


def _open_sizes(operator: Operator, dtype: Any) -> Case:
    """One prepared model, the sizes of whose inputs change from run to run."""
    id = f"test_{operator.prefix}_open_sizes_{TYPES[dtype]}"
    data_sets: list[tuple[Array, ...]] = []
    for number, shape in enumerate(OPEN_SHAPES):
        setting = OperatorSetting(dtype, shapes=(shape,), counts=(number,))
        data_sets += setting.data_sets(operator, f"{id}/{number}")
    signature, type = operator.signature, TYPES[dtype]
    names = ["R", "T", *signature.operands]
    node = helper.make_node(operator.name, names, signature.results, domain=signature.domain, **operator.usual)
    scalars = [declared(name, array) for name, array in zip(names[:2], data_sets[0][:2], strict=True)]
    return Case(
        id=id,
        title=f"{operator.name} gives outputs of each run's own sizes where the model leaves them open",
        level=Level.MUST,
        clauses=(f"{operator.prefix}.elementwise", f"{operator.prefix}.pure"),
        tags=(operator.prefix, type, "preparation", "sizes"),
        model=model(
            id,
            [node],
            [*scalars, *(declared_as(name, type, ["rows", "columns"]) for name in signature.operands)],
            [declared_as(name, type, ["rows", "columns"]) for name in signature.results],
            operator.imports,
        ),
        data_sets=tuple(data_sets),
    )
