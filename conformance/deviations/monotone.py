"""Deviations of Log, Exp, Sqrt, Softmax and LogSoftmax that the ArgMax behind them can show."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.deviations import arithmetic
from conformance.deviations.deviation import Deviation, table
from conformance.deviations.twists import answering, each_input, each_output
from conformance.models.signatures import softmax_default_axis
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.deviations.deviation import Kernel, Twist
    from conformance.models.arrays import Array
    from conformance.reference.nodes import Node


def _narrowing(X: Array) -> Array:
    return X.astype(np.float32).astype(X.dtype)


def _overwriting(_: Node, inputs: list[Array], outputs: list[Array]) -> list[Array]:
    inputs[0][...] = outputs[0]
    return outputs


def _rows(clause: str) -> tuple[Deviation, ...]:
    """What can be wrong with any of the five."""
    return (
        Deviation("half", "computes in half precision", clause, twists=(each_output(arithmetic.half),)),
        Deviation("bfloat16", "computes in bfloat16", clause, twists=(each_output(arithmetic.bfloat16_bits),)),
        Deviation("double_as_float", "computes double tensors in float", clause, twists=(each_output(_narrowing),)),
        Deviation("integers", "truncates elements to integers first", clause, twists=(each_input(np.trunc),)),
        Deviation("negated", "gives its result with the opposite sign", clause, twists=(each_output(np.negative),)),
        Deviation("overwrites_x", "writes its result into the buffer of X", clause, twists=(answering(_overwriting),)),
    )


def _along(change: Callable[[Node, int], dict[str, Any]]) -> Twist:
    """Softmax along another axis: `change` gets the node and the rank, and gives attributes in place of the node's."""

    def twist(kernel: Kernel) -> Kernel:
        return lambda node, inputs: kernel(
            dataclasses.replace(node, attributes={**node.attributes, **change(node, inputs[0].ndim)}), inputs
        )

    return twist


def _as_opset(opset: int) -> Twist:
    """The node is read as in another opset, but for the default of its axis."""

    def twist(kernel: Kernel) -> Kernel:
        def run(node: Node, inputs: list[Array]) -> list[Array]:
            axis = node.attributes.get("axis", softmax_default_axis(node.opset))
            return kernel(dataclasses.replace(node, opset=opset, attributes={"axis": axis}), inputs)

        return run

    return twist


def _default_axis(opset: int, axis: int) -> Twist:
    """Another default of the axis, in opset 13 and above or below it."""
    return _along(
        lambda node, _: {} if "axis" in node.attributes or (node.opset >= 13) != (opset >= 13) else {"axis": axis}
    )


def _without_shift(logarithm: Callable[[Any], Any]) -> Twist:
    """Exp of the elements as they come."""

    def run(node: Node, inputs: list[Array], _: list[Array]) -> list[Array]:
        X = inputs[0]
        axis = node.attributes.get("axis", softmax_default_axis(node.opset)) % X.ndim
        axes = (axis,) if node.opset >= 13 else tuple(range(axis, X.ndim))
        Y = np.exp(X)
        return [logarithm(Y / Y.sum(axis=axes, keepdims=True)).astype(X.dtype)]

    return answering(run)


def _softmax_rows(clause: str, logarithm: Callable[[Any], Any]) -> tuple[Deviation, ...]:
    """What can be wrong with Softmax and LogSoftmax."""
    return (
        *_rows(clause),
        Deviation("axis_always_last", "normalizes along the last axis", clause,
                  twists=(_along(lambda _, rank: {"axis": rank - 1}),)),
        Deviation("axis_always_0", "normalizes along the first axis", clause,
                  twists=(_along(lambda _, __: {"axis": 0}),)),
        Deviation("axis_always_1", "normalizes along the second axis", clause,
                  twists=(_along(lambda _, rank: {"axis": min(1, rank - 1)}),)),
        Deviation("negative_axis_as_0", "takes a negative axis for 0", clause,
                  twists=(_along(lambda node, _: {"axis": 0} if node.attributes.get("axis", 0) < 0 else {}),)),
        Deviation("default_axis_1", "normalizes along axis 1 by default in opset 13, as below it", clause,
                  twists=(_default_axis(13, 1),)),
        Deviation("default_axis_1_in_if", "normalizes along axis 1 by default in a branch of an If in opset 13", clause,
                  twists=(_default_axis(13, 1),), within="If"),
        Deviation("default_axis_last", "normalizes from the last axis on by default below opset 13", "coercion",
                  twists=(_default_axis(11, -1),)),
        Deviation("not_coerced", "normalizes along one axis below opset 13 too", "coercion", twists=(_as_opset(13),)),
        Deviation("as_opset_13", "normalizes below opset 13 as since then: along one axis, by default the last",
                  "coercion", twists=(_default_axis(11, -1), _as_opset(13)), convention="onnx's ReferenceEvaluator"),
        Deviation("always_coerced", "normalizes from the axis on in opset 13, as below it", clause,
                  twists=(_as_opset(11),)),
        Deviation("not_shifted", "takes Exp of the elements without subtracting the maximum first", clause,
                  twists=(_without_shift(logarithm),), level=Level.SHOULD),
    )  # fmt: skip


LOG = (
    Deviation("exponent_only", "gives the exponent of the element for its logarithm", "log",
              twists=(each_output(np.floor),)),
    Deviation("held_at_0", "gives 0 for the logarithm of elements below 1", "log",
              twists=(each_output(lambda Y: np.maximum(Y, 0)),)),
)  # fmt: skip

EXP = (
    Deviation("saturates_at_1", "gives 1 for the exponential of elements above 0", "exp",
              twists=(each_output(lambda Y: np.minimum(Y, 1)),)),
)  # fmt: skip

SQRT = (
    Deviation("approximate", "gives a root good for twelve bits", "sqrt", twists=(each_output(arithmetic.coarse),)),
    Deviation("inverse", "gives 1 / Sqrt(X)", "sqrt", twists=(each_output(lambda Y: 1 / Y),)),
)

RELU = (
    Deviation("removed", "is taken away before ArgMax as if it kept the order of all elements", "relu",
              twists=(lambda _: lambda __, inputs: inputs,)),
)  # fmt: skip

MONOTONE = (
    *table("Log", "monotone", (*_rows("log"), *LOG)),
    *table("Exp", "monotone", (*_rows("exp"), *EXP)),
    *table("Sqrt", "monotone", (*_rows("sqrt"), *SQRT)),
    *table("Softmax", "monotone", _softmax_rows("softmax", np.positive)),
    *table("LogSoftmax", "monotone", _softmax_rows("log_softmax", np.log)),
    *table("Relu", "monotone", RELU),
)
"""Every deviation of the operators before ArgMax."""
