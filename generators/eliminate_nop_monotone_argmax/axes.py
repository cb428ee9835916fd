"""Cases about axes: Softmax and LogSoftmax are removed only if their explicit axis equals ArgMax's explicit axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.exact.models.model_building import argmax_shape, make_value_info
from generators.eliminate_nop_monotone_argmax.pass_scenario import (
    ALONG_AXIS,
    APPLIES,
    DOES_NOT_APPLY,
    ELEMENTWISE,
    OPTIONAL,
    ScenarioGraph,
    applies_to,
    argmax,
    index_info,
    producer,
    scenario,
)
from generators.generated_values import permuted_quarters

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.corpus.cases.case import Case, Rewrite

FAMILY = "axis"
DIFFERENT: Sequence[tuple[int, int]] = ((0, 1), (1, 0), (2, 1), (-1, 0), (-3, -1), (1, -1))
SAME_DIMENSION: Sequence[tuple[int, int]] = ((-1, 2), (2, -1), (0, -3), (-2, 1))
"""Axes of the operator and of ArgMax that name the same dimension of a tensor of rank 3."""


def cases() -> Iterator[Case]:
    """Yield cases with different axes, with one dimension counted from different ends, and with omitted axes."""
    for op_type, word in ALONG_AXIS.items():
        for own, reduced in DIFFERENT:
            title = f"{op_type} along axis {own} before ArgMax along axis {reduced} of a rank-3 tensor stays"
            yield _case(f"{word}_{_axis_name(own)}_{_axis_name(reduced)}", title, op_type, own, reduced, DOES_NOT_APPLY)
        for own, reduced in SAME_DIMENSION:
            title = f"{op_type} along axis {own} before ArgMax along axis {reduced}, the same dimension, may be removed"
            yield _case(f"{word}_{_axis_name(own)}_{_axis_name(reduced)}", title, op_type, own, reduced, OPTIONAL)
        yield from _missing(op_type, word)
        yield from _coerced(op_type, word)
        yield _every_axis(op_type, word)
    for op_type, word in ELEMENTWISE.items():
        title = f"{op_type} before an ArgMax without an axis stays"
        yield _case(f"{word}_argmax_default", title, op_type, None, None, DOES_NOT_APPLY)


def _every_axis(op_type: str, word: str) -> Case:
    """Define a case with a graph that has every combination of the operator's axis and ArgMax's axis.

    Combinations that name the same dimension in two ways are left out.
    """
    shape = (2, 2, 2, 2)
    axes = range(-len(shape), len(shape))
    every = [(own, reduced) for own in axes for reduced in axes if own == reduced or (own - reduced) % len(shape)]
    pairs = [pair for pair in every if (pair[0] < 0) == (pair[1] < 0) or -1 in pair]
    nodes = []
    outputs = []
    gone = []
    for own, reduced in pairs:
        name = f"{_axis_name(own)}_{_axis_name(reduced)}"
        nodes += [producer(op_type, "X", f"Y_{name}", own), argmax(f"Y_{name}", f"index_{name}", reduced)]
        outputs.append(index_info(shape, reduced, name=f"index_{name}"))
        gone += [f"Y_{name}"] if own == reduced else []
    return scenario(
        FAMILY,
        f"{word}_every_axis",
        f"{op_type} before ArgMax in a rank-4 tensor is removed exactly where both axes are equal",
        ("axis", "fires", word),
        applies_to(*gone),
        ScenarioGraph(nodes, (permuted_quarters(f"{word}_every_axis", shape, np.float32),), outputs=outputs),
    )


def _missing(op_type: str, word: str) -> Iterator[Case]:
    """Yield cases with an omitted axis, for which the pass does not apply, whatever the default axis is."""
    yield _case(
        f"{word}_default_argmax_minus_1",
        f"{op_type} without an axis stays before ArgMax along axis -1, which is the default of {op_type}",
        op_type,
        None,
        -1,
        DOES_NOT_APPLY,
    )
    yield _case(
        f"{word}_default_argmax_0",
        f"{op_type} without an axis stays before ArgMax along axis 0",
        op_type,
        None,
        0,
        DOES_NOT_APPLY,
    )
    yield _case(
        f"{word}_0_argmax_default",
        f"{op_type} along axis 0 stays before an ArgMax without an axis, whose default is 0",
        op_type,
        0,
        None,
        DOES_NOT_APPLY,
    )
    yield _case(
        f"{word}_default_argmax_default",
        f"{op_type} stays if neither {op_type} nor ArgMax has an axis",
        op_type,
        None,
        None,
        DOES_NOT_APPLY,
    )
    yield _case(
        f"{word}_opset_11_default_argmax_1",
        f"{op_type} below opset 13 without an axis stays before ArgMax along axis 1",
        op_type,
        None,
        1,
        DOES_NOT_APPLY,
        11,
    )


def _coerced(op_type: str, word: str) -> Iterator[Case]:
    """Yield cases below opset 13, in which the operator normalises all dimensions from its axis on together."""
    for opset in (11, 12):
        yield _case(
            f"{word}_opset_{opset}_last",
            f"{op_type} of opset {opset} is removed if its axis is the last, so that nothing is coerced",
            op_type,
            2,
            2,
            APPLIES,
            opset,
        )
        for axis in (0, 1):
            yield _case(
                f"{word}_opset_{opset}_coerced_{axis}",
                f"{op_type} of opset {opset} may be removed if it normalises all dimensions from axis {axis} on",
                op_type,
                axis,
                axis,
                OPTIONAL,
                opset,
            )
    yield _case(
        f"{word}_opset_11_0_1",
        f"{op_type} below opset 13 stays if its axis is 0 and ArgMax's axis is 1",
        op_type,
        0,
        1,
        DOES_NOT_APPLY,
        11,
    )


def _case(
    name: str, title: str, op_type: str, own: int | None, reduced: int | None, rewrite: Rewrite, opset: int = 13
) -> Case:
    X = permuted_quarters(name, (2, 3, 4), np.float32)
    axis: dict[str, Any] = {} if own is None else {"axis": own}
    reduction: dict[str, Any] = {} if reduced is None else {"axis": reduced}
    nodes = [
        helper.make_node(op_type, ["X"], ["Y"], **axis),
        helper.make_node("ArgMax", ["Y"], ["index"], keepdims=0, **reduction),
    ]
    index = make_value_info("index", "int64", argmax_shape(X.shape, reduced or 0, 0))
    word = {**ALONG_AXIS, **ELEMENTWISE}[op_type]
    chief = {
        "applies": "fires",
        "does_not_apply": "axis",
        "optional": "same_dimension" if opset >= 13 else "coerced_axis",
    }
    clauses = (chief[rewrite.effect], word) if opset >= 13 else (chief[rewrite.effect], "coercion", word)
    return scenario(
        FAMILY, name, title, clauses, rewrite, ScenarioGraph(nodes, (X,), outputs=[index], opsets={"": opset})
    )


def _axis_name(axis: int) -> str:
    return f"minus_{-axis}" if axis < 0 else str(axis)
