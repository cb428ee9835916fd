"""Cases in which the pass applies: the five operators with various ranks, axes, ArgMax attributes, opsets and types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from ml_dtypes import bfloat16

from conformance.exact.models.model_building import argmax_shape, make_value_info
from generators.eliminate_nop_monotone_argmax.pass_scenario import (
    APPLIES,
    PASS_OPERATORS,
    ScenarioGraph,
    applies_to,
    argmax,
    index_info,
    pair,
    producer,
    scenario,
)
from generators.generated_values import FLOAT_TYPE_NAMES, permuted_quarters

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.corpus.cases.case import Case

FAMILY = "base"
SHAPES: Sequence[tuple[tuple[int, ...], int]] = (
    ((6,), 0),
    ((2, 3, 4), 0),
    ((2, 3, 4), 1),
    ((2, 3, 4), -2),
    ((2, 1, 3, 4), 2),
    ((2, 2, 1, 2, 3), -5),
)
"""Shapes with the axis of ArgMax and of the operator before it."""
ATTRIBUTES: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "keepdims": ({"keepdims": 1}, "with keepdims"),
    "keepdims_default": ({}, "without keepdims"),
    "select_first": ({"keepdims": 0, "select_last_index": 0}, "with select_last_index = 0"),
    "select_last": ({"keepdims": 0, "select_last_index": 1}, "with select_last_index"),
}
"""Attributes of ArgMax by name, with a description."""
OPSETS = (9, 11, 12, 15, 18, 21)
OTHER_OPSETS = {1: 3, 5: 3, 6: 3, 10: 5, 14: 7, 19: 9, 22: 10, 23: 11}
"""IR version by opset, for opsets up to the newest one of the oldest supported onnx."""


def cases() -> Iterator[Case]:
    """Yield the cases of the family `base`."""
    for op_type, word in PASS_OPERATORS.items():
        for shape, axis in SHAPES:
            yield _shape_case(op_type, word, shape, axis)
        for name, (attributes, text) in ATTRIBUTES.items():
            yield _attribute_case(op_type, word, name, text, attributes)
        for opset in OPSETS:
            yield _opset_case(op_type, word, opset)
        for dtype in (np.float16, bfloat16):
            yield _type_case(op_type, word, dtype)
    for opset, ir_version in OTHER_OPSETS.items():
        yield _all_opset_case(opset, ir_version)


def _shape_case(op_type: str, word: str, shape: tuple[int, ...], axis: int) -> Case:
    name = f"{word}_rank_{len(shape)}_axis_{axis}".replace("-", "minus_")
    return scenario(
        FAMILY,
        name,
        f"{op_type} before ArgMax along axis {axis} of a rank-{len(shape)} tensor is removed",
        ("fires", word),
        APPLIES,
        ScenarioGraph(pair(op_type, axis), (permuted_quarters(name, shape, np.float32),), outputs=_index(shape, axis)),
    )


def _attribute_case(op_type: str, word: str, name: str, text: str, attributes: Mapping[str, Any]) -> Case:
    name = f"{word}_{name}"
    X = permuted_quarters(name, (2, 3, 4), np.float32)
    keepdims = attributes.get("keepdims", 1)
    last = argmax(axis=1, **attributes)
    if "keepdims" not in attributes:
        del last.attribute[[attribute.name for attribute in last.attribute].index("keepdims")]
    return scenario(
        FAMILY,
        name,
        f"{op_type} before an ArgMax {text} is removed, and ArgMax keeps its attributes",
        ("fires", "argmax_unchanged", word),
        APPLIES,
        ScenarioGraph([producer(op_type), last], (X,), outputs=_index(X.shape, 1, keepdims)),
    )


def _opset_case(op_type: str, word: str, opset: int) -> Case:
    name = f"{word}_opset_{opset}"
    return scenario(
        FAMILY,
        name,
        f"{op_type} before ArgMax is removed in opset {opset}",
        ("fires", "opset", word),
        APPLIES,
        ScenarioGraph(
            pair(op_type), (permuted_quarters(name, (3, 5), np.float32),), outputs=_index((3, 5), 1), opsets={"": opset}
        ),
    )


def _type_case(op_type: str, word: str, dtype: Any) -> Case:
    type = FLOAT_TYPE_NAMES[dtype]
    name = f"{word}_{type}"
    return scenario(
        FAMILY,
        name,
        f"{op_type} before ArgMax is removed from {type} elements",
        ("fires", "any_type", word),
        APPLIES,
        ScenarioGraph(pair(op_type), (permuted_quarters(name, (3, 5), dtype),), outputs=_index((3, 5), 1)),
    )


def _index(shape: Sequence[int], axis: int, keepdims: int = 0) -> list[Any]:
    return [make_value_info("index", "int64", argmax_shape(shape, axis, keepdims))]


def _all_opset_case(opset: int, ir_version: int) -> Case:
    """Define a case with all five operators in one graph, along the last axis.

    Below opset 13, Softmax normalises all dimensions from its axis on together: only one dimension for the last axis.
    """
    nodes = []
    for op_type in PASS_OPERATORS:
        nodes += [producer(op_type, "X", f"Y_{op_type}"), argmax(f"Y_{op_type}", f"index_{op_type}")]
    return scenario(
        FAMILY,
        f"all_opset_{opset}",
        f"All five operators are removed from a model of opset {opset} and IR version {ir_version}",
        ("fires", "opset"),
        applies_to(*(f"Y_{op_type}" for op_type in PASS_OPERATORS)),
        ScenarioGraph(
            nodes,
            outputs=[index_info((2, 3), name=f"index_{op_type}") for op_type in PASS_OPERATORS],
            opsets={"": opset},
            ir_version=ir_version,
        ),
    )
