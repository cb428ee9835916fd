"""The pass fires: the five operators over ranks, axes, attributes of ArgMax, opsets and types, each varied alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from ml_dtypes import bfloat16

from conformance.generation.models import TYPES, argmax_shape, declared_as
from conformance.generation.values import ranked
from generators.eliminate_nop_monotone_argmax.scenario import (
    FIRES,
    FIVE,
    ScenarioGraph,
    argmax,
    fires,
    index_of,
    pair,
    producer,
    scenario,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.corpus.case import Case

FAMILY = "base"
SHAPES: Sequence[tuple[tuple[int, ...], int]] = (
    ((6,), 0),
    ((2, 3, 4), 0),
    ((2, 3, 4), 1),
    ((2, 3, 4), -2),
    ((2, 1, 3, 4), 2),
    ((2, 2, 1, 2, 3), -5),
)
"""Shapes, each with the axis of ArgMax and of the operator before it."""
ATTRIBUTES: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "keepdims": ({"keepdims": 1}, "with keepdims"),
    "keepdims_default": ({}, "with keepdims left to its default"),
    "select_first": ({"keepdims": 0, "select_last_index": 0}, "with select_last_index = 0"),
    "select_last": ({"keepdims": 0, "select_last_index": 1}, "with select_last_index"),
}
OPSETS = (9, 11, 12, 15, 18, 21)
ALL_OF_OPSET = {1: 3, 5: 3, 6: 3, 7: 3, 8: 3, 10: 5, 14: 7, 16: 8, 17: 8, 19: 9, 20: 9, 22: 10, 23: 11}
"""Other opsets, up to the newest of the oldest onnx that is supported, with the IR version of models of their time."""


def cases() -> Iterator[Case]:
    """Variations of the base forms."""
    for op_type, word in FIVE.items():
        for shape, axis in SHAPES:
            yield _shaped(op_type, word, shape, axis)
        for name, (attributes, text) in ATTRIBUTES.items():
            yield _with_attributes(op_type, word, name, text, attributes)
        for opset in OPSETS:
            yield _of_opset(op_type, word, opset)
        for dtype in (np.float16, bfloat16):
            yield _typed(op_type, word, dtype)
    for opset, ir_version in ALL_OF_OPSET.items():
        yield _all_of_opset(opset, ir_version)


def _shaped(op_type: str, word: str, shape: tuple[int, ...], axis: int) -> Case:
    name = f"{word}_rank_{len(shape)}_axis_{axis}".replace("-", "minus_")
    return scenario(
        FAMILY,
        name,
        f"{op_type} before ArgMax along axis {axis} of a rank-{len(shape)} tensor is taken away",
        ("fires", word),
        FIRES,
        ScenarioGraph(pair(op_type, axis), (ranked(name, shape, np.float32),), outputs=_index(shape, axis)),
    )


def _with_attributes(op_type: str, word: str, name: str, text: str, attributes: Mapping[str, Any]) -> Case:
    name = f"{word}_{name}"
    X = ranked(name, (2, 3, 4), np.float32)
    keepdims = attributes.get("keepdims", 1)
    last = argmax(axis=1, **attributes)
    if "keepdims" not in attributes:
        del last.attribute[[attribute.name for attribute in last.attribute].index("keepdims")]
    return scenario(
        FAMILY,
        name,
        f"{op_type} before an ArgMax {text} is taken away, and ArgMax keeps its attributes",
        ("fires", "argmax_unchanged", word),
        FIRES,
        ScenarioGraph([producer(op_type), last], (X,), outputs=_index(X.shape, 1, keepdims)),
    )


def _of_opset(op_type: str, word: str, opset: int) -> Case:
    name = f"{word}_opset_{opset}"
    return scenario(
        FAMILY,
        name,
        f"{op_type} before ArgMax is taken away in opset {opset}",
        ("fires", "opset", word),
        FIRES,
        ScenarioGraph(
            pair(op_type), (ranked(name, (3, 5), np.float32),), outputs=_index((3, 5), 1), opsets={"": opset}
        ),
    )


def _typed(op_type: str, word: str, dtype: Any) -> Case:
    type = TYPES[dtype]
    name = f"{word}_{type}"
    return scenario(
        FAMILY,
        name,
        f"{op_type} before ArgMax is taken away from {type} elements",
        ("fires", "any_type", word),
        FIRES,
        ScenarioGraph(pair(op_type), (ranked(name, (3, 5), dtype),), outputs=_index((3, 5), 1)),
    )


def _index(shape: Sequence[int], axis: int, keepdims: int = 0) -> list[Any]:
    return [declared_as("index", "int64", argmax_shape(shape, axis, keepdims))]


def _all_of_opset(opset: int, ir_version: int) -> Case:
    """The five beside each other; their axis is the last, so that nothing is coerced."""
    nodes = []
    for op_type in FIVE:
        nodes += [producer(op_type, "X", f"Y_{op_type}"), argmax(f"Y_{op_type}", f"index_{op_type}")]
    return scenario(
        FAMILY,
        f"all_opset_{opset}",
        f"The five are taken away from a model of opset {opset} and IR version {ir_version}",
        ("fires", "opset"),
        fires(*(f"Y_{op_type}" for op_type in FIVE)),
        ScenarioGraph(
            nodes,
            outputs=[index_of((2, 3), name=f"index_{op_type}") for op_type in FIVE],
            opsets={"": opset},
            ir_version=ir_version,
        ),
    )
