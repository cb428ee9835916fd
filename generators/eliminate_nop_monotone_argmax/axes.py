"""Softmax and LogSoftmax are taken away where their explicit axis equals ArgMax's as an integer, and else stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.generation.models import argmax_shape, declared_as
from conformance.generation.values import ranked
from generators.eliminate_nop_monotone_argmax.scenario import (
    ALONG_AXIS,
    ELEMENTWISE,
    FIRES,
    MAY,
    STAYS,
    ScenarioGraph,
    argmax,
    fires,
    index_of,
    producer,
    scenario,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.corpus.case import Case, Rewrite

FAMILY = "axis"
DIFFERENT: Sequence[tuple[int, int]] = ((0, 1), (1, 0), (2, 1), (-1, 0), (-3, -1), (1, -1))
SAME_DIMENSION: Sequence[tuple[int, int]] = ((-1, 2), (2, -1), (0, -3), (-2, 1))
"""Axes of the operator and of ArgMax in a tensor of rank 3."""


def cases() -> Iterator[Case]:
    """Axes that differ, that differ in sign alone, and that are missing."""
    for op_type, word in ALONG_AXIS.items():
        for own, reduced in DIFFERENT:
            title = f"{op_type} along axis {own} before ArgMax along axis {reduced} of a rank-3 tensor stays"
            yield _case(f"{word}_{_place(own)}_{_place(reduced)}", title, op_type, own, reduced, STAYS)
        for own, reduced in SAME_DIMENSION:
            title = (
                f"{op_type} along axis {own} before ArgMax along axis {reduced}, which is the same, may be taken away"
            )
            yield _case(f"{word}_{_place(own)}_{_place(reduced)}", title, op_type, own, reduced, MAY)
        yield from _missing(op_type, word)
        yield from _coerced(op_type, word)
        yield _every_axis(op_type, word)
    for op_type, word in ELEMENTWISE.items():
        title = f"{op_type} before an ArgMax that leaves its axis to the default stays"
        yield _case(f"{word}_argmax_default", title, op_type, None, None, STAYS)


def _every_axis(op_type: str, word: str) -> Case:
    """Axes of one sign each before each, and -1 before and after the others; but no dimension in two spellings."""
    shape = (2, 2, 2, 2)
    axes = range(-len(shape), len(shape))
    every = [(own, reduced) for own in axes for reduced in axes if own == reduced or (own - reduced) % len(shape)]
    pairs = [pair for pair in every if (pair[0] < 0) == (pair[1] < 0) or -1 in pair]
    nodes, outputs, gone = [], [], []
    for own, reduced in pairs:
        name = f"{_place(own)}_{_place(reduced)}"
        nodes += [producer(op_type, "X", f"Y_{name}", own), argmax(f"Y_{name}", f"index_{name}", reduced)]
        outputs.append(index_of(shape, reduced, name=f"index_{name}"))
        gone += [f"Y_{name}"] if own == reduced else []
    return scenario(
        FAMILY,
        f"{word}_every_axis",
        f"Of {op_type} along all axes before ArgMax along all axes of a rank-4 tensor those that are equal go",
        ("axis", "fires", word),
        fires(*gone),
        ScenarioGraph(nodes, (ranked(f"{word}_every_axis", shape, np.float32),), outputs=outputs),
    )


def _missing(op_type: str, word: str) -> Iterator[Case]:
    """What is not explicit is not compared, even where the default is the other's axis."""
    yield _case(
        f"{word}_default_argmax_minus_1",
        f"{op_type} that leaves its axis to the default stays before ArgMax along axis -1, which is that default",
        op_type,
        None,
        -1,
        STAYS,
    )
    yield _case(
        f"{word}_default_argmax_0",
        f"{op_type} that leaves its axis to the default stays before ArgMax along axis 0",
        op_type,
        None,
        0,
        STAYS,
    )
    yield _case(
        f"{word}_0_argmax_default",
        f"{op_type} along axis 0 stays before an ArgMax that leaves its axis to the default, which is 0",
        op_type,
        0,
        None,
        STAYS,
    )
    yield _case(
        f"{word}_default_argmax_default",
        f"{op_type} stays where neither it nor ArgMax has an axis",
        op_type,
        None,
        None,
        STAYS,
    )
    yield _case(
        f"{word}_opset_11_default_argmax_1",
        f"{op_type} below opset 13 that leaves its axis to the default stays before ArgMax along axis 1",
        op_type,
        None,
        1,
        STAYS,
        11,
    )


def _coerced(op_type: str, word: str) -> Iterator[Case]:
    """Below opset 13 more than the axis is normalized, unless it is the last."""
    for opset in (11, 12):
        yield _case(
            f"{word}_opset_{opset}_last",
            f"{op_type} of opset {opset} is taken away where its axis is the last, so that nothing is coerced",
            op_type,
            2,
            2,
            FIRES,
            opset,
        )
        for axis in (0, 1):
            yield _case(
                f"{word}_opset_{opset}_coerced_{axis}",
                f"{op_type} of opset {opset} may be taken away where it normalizes all dimensions from axis {axis} on",
                op_type,
                axis,
                axis,
                MAY,
                opset,
            )
    yield _case(
        f"{word}_opset_11_0_1",
        f"{op_type} below opset 13 stays where its axis 0 comes before ArgMax's axis 1",
        op_type,
        0,
        1,
        STAYS,
        11,
    )


def _case(
    name: str, title: str, op_type: str, own: int | None, reduced: int | None, rewrite: Rewrite, opset: int = 13
) -> Case:
    X = ranked(name, (2, 3, 4), np.float32)
    axis: dict[str, Any] = {} if own is None else {"axis": own}
    reduction: dict[str, Any] = {} if reduced is None else {"axis": reduced}
    nodes = [
        helper.make_node(op_type, ["X"], ["Y"], **axis),
        helper.make_node("ArgMax", ["Y"], ["index"], keepdims=0, **reduction),
    ]
    index = declared_as("index", "int64", argmax_shape(X.shape, reduced or 0, 0))
    word = {**ALONG_AXIS, **ELEMENTWISE}[op_type]
    chief = {"fires": "fires", "stays": "axis", "may": "same_dimension" if opset >= 13 else "coerced_axis"}
    clauses = (chief[rewrite.answer], word) if opset >= 13 else (chief[rewrite.answer], "coercion", word)
    return scenario(
        FAMILY, name, title, clauses, rewrite, ScenarioGraph(nodes, (X,), outputs=[index], opsets={"": opset})
    )


def _place(axis: int) -> str:
    return f"minus_{-axis}" if axis < 0 else str(axis)
