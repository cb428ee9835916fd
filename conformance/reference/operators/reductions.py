"""Operators that make one element of many: sums, products of matrices, extremes, in any number system."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from conformance.reference.operators.movements import integers, moved, stacked
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from conformance.reference.nodes import Evaluation, Node
    from conformance.reference.numbers.values import NumberSystem, Value


def _matmul(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """The sums of products, after each product; what fuses the two rounds less."""
    if any(value.elements.ndim < 2 for value in inputs):
        raise Unsupported(f"{node.op_type} of a vector")
    products = system.elementwise(lambda A, B: A[..., np.newaxis] * B[..., np.newaxis, :, :], *inputs)
    return [system.total(products, [products.elements.ndim - 2])]


def _gemm(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """Alpha * A * B + beta * C."""
    attributes = node.attributes
    pair = [moved(X, np.transpose) if attributes.get(flag, 0) else X for X, flag in zip(inputs, ("transA", "transB"))]  # noqa: B905 - C is no pair's
    (Y,) = _matmul(node, pair, system)
    Y = _scaled(Y, attributes.get("alpha", 1.0), system)
    if len(inputs) < 3 or inputs[2].is_absent:
        return [Y]
    C = _scaled(inputs[2], attributes.get("beta", 1.0), system)
    return [system.elementwise(lambda Y, C: Y + C, Y, C)]


def _scaled(X: Value, factor: float, system: NumberSystem) -> Value:
    return X if factor == 1 else system.elementwise(lambda X, k: X * k, X, system.constant(factor, X.dtype))


def _reduce_sum(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    axes = _axes(node, inputs)
    return [_kept(node, system.total(inputs[0], axes), axes)]


def _reduce_mean(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    count = prod(inputs[0].elements.shape[axis] for axis in _axes(node, inputs))
    return [system.elementwise(lambda total: total / count, *_reduce_sum(node, inputs, system))]


def _reduce_extreme(largest: bool, node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    axes = _axes(node, inputs)
    return [_kept(node, system.extreme(inputs[0], axes, largest=largest), axes)]


def _axes(node: Node, inputs: list[Value]) -> list[int]:
    """The axes to reduce, not negative and in order: an attribute or an input, as the opset has it; by default all."""
    rank = inputs[0].elements.ndim
    by_input = len(inputs) > 1 and not inputs[1].is_absent
    given = integers(inputs[1]) if by_input else node.attributes.get("axes", [])
    if not given and node.attributes.get("noop_with_empty_axes", 0):
        return []
    return sorted(axis % rank for axis in given) if given else list(range(rank))


def _kept(node: Node, value: Value, axes: list[int]) -> Value:
    """With the reduced axes as axes of size 1, where the node keeps them."""
    return moved(value, lambda X: np.expand_dims(X, tuple(axes))) if node.attributes.get("keepdims", 1) else value


def _cumulative(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """Each element is the sum of those up to it, or only of those before it, from either end."""
    X, axis = inputs[0], int(system.certain(inputs[1]).item())
    backwards, exclusive = node.attributes.get("reverse", 0), node.attributes.get("exclusive", 0)
    axis %= X.elements.ndim
    size = X.elements.shape[axis]
    if not size:
        return [X]
    counts = [place + (0 if exclusive else 1) for place in range(size)]
    ends = [slice(size - count, size) if backwards else slice(0, count) for count in counts]
    sums = [system.total(_stretch(X, axis, end), [axis]) for end in ends]
    return [stacked(sums[::-1] if backwards else sums, axis)]


def _stretch(X: Value, axis: int, places: slice) -> Value:
    return moved(X, lambda elements: elements[(slice(None),) * axis + (places,)])


def _of_all(
    last: Callable[[Value, int, NumberSystem], Value], _: Node, inputs: list[Value], system: NumberSystem
) -> list[Value]:
    """An operator on any number of tensors, added up one by one."""
    result = inputs[0]
    for value in inputs[1:]:
        result = system.elementwise(lambda A, B: A + B, result, value)
    return [last(result, len(inputs), system)]


def _mean(total: Value, count: int, system: NumberSystem) -> Value:
    return system.elementwise(lambda X: X / count, total)


REDUCTIONS: Mapping[str, Evaluation] = {
    "MatMul": _matmul,
    "Gemm": _gemm,
    "ReduceSum": _reduce_sum,
    "ReduceMean": _reduce_mean,
    "ReduceMax": partial(_reduce_extreme, True),
    "ReduceMin": partial(_reduce_extreme, False),
    "CumSum": _cumulative,
    "Sum": partial(_of_all, lambda total, *_: total),
    "Mean": partial(_of_all, _mean),
}
