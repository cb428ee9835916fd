"""Reductions along axes, and the matrix product."""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from checks.oracle import reals, stepwise_functions
from checks.oracle.tensors import distinct_objects, object_array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from checks.oracle.arithmetic import Arithmetic
    from checks.oracle.calls import Call
    from checks.oracle.tensors import Elements, Tensor


def _sum(a: Arithmetic, items: Sequence[Any]) -> Any:
    return reduce(lambda x, y: a(reals.add, x, y), items[1:], items[0]) if items else 0.0


def _mean(a: Arithmetic, items: Sequence[Any]) -> Any:
    return a(reals.divide, _sum(a, items), reals.real(len(items)))


def _largest(a: Arithmetic, items: Sequence[Any]) -> Any:
    return reduce(lambda x, y: a(stepwise_functions.maximum, x, y), distinct_objects(items))


def _smallest(a: Arithmetic, items: Sequence[Any]) -> Any:
    return reduce(lambda x, y: a(stepwise_functions.minimum, x, y), distinct_objects(items))


def _reduction(of_items: Callable[[Arithmetic, Sequence[Any]], Any]) -> Callable[..., Tensor]:
    def operator(call: Call, x: Tensor, axes: Tensor | None = None) -> Tensor:
        """Reduce the axes of the attribute or, in later opsets, of the operand; by default all."""
        given = call.integers("axes", axes) or []
        if not given and call.attributes.get("noop_with_empty_axes", 0):
            return x
        reduced = sorted(axis % x.rank for axis in given) or list(range(x.rank))
        keeps = bool(call.attributes["keepdims"])
        return x.with_elements(
            _reduce(x.elements, reduced, lambda items: of_items(call.arithmetic(x.type), items), keeps=keeps)
        )

    return operator


def _reduce(
    elements: Elements, axes: Sequence[int], of_items: Callable[[Sequence[Any]], Any], *, keeps: bool
) -> Elements:
    kept = [axis for axis in range(elements.ndim) if axis not in axes]
    outer = [elements.shape[axis] for axis in kept]
    inner = math.prod(elements.shape[axis] for axis in axes)
    rows = np.transpose(elements, [*kept, *axes]).reshape(math.prod(outer), inner)
    shape = [1 if axis in axes else size for axis, size in enumerate(elements.shape)] if keeps else outer
    return object_array((of_items(list(row)) for row in rows), shape)


def _matmul(call: Call, x: Tensor, y: Tensor) -> Tensor:
    """Return NumPy's matrix product: stacks are broadcast; a vector is a row on the left, a column on the right."""
    a = call.arithmetic(x.type)
    left = x.elements[np.newaxis, :] if x.rank == 1 else x.elements
    right = y.elements[:, np.newaxis] if y.rank == 1 else y.elements
    stack = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    left = np.broadcast_to(left, (*stack, *left.shape[-2:])).reshape(math.prod(stack), *left.shape[-2:])
    right = np.broadcast_to(right, (*stack, *right.shape[-2:])).reshape(math.prod(stack), *right.shape[-2:])
    products = [
        _sum(a, [a(reals.multiply, p, q) for p, q in zip(row, column, strict=True)])
        for rows, columns in zip(left, right, strict=True)
        for row in rows
        for column in columns.T
    ]
    shape = (*stack, *([left.shape[-2]] if x.rank > 1 else []), *([right.shape[-1]] if y.rank > 1 else []))
    return x.with_elements(object_array(products, shape))


OPERATORS = {
    "MatMul": _matmul,
    "ReduceMax": _reduction(_largest),
    "ReduceMean": _reduction(_mean),
    "ReduceMin": _reduction(_smallest),
    "ReduceSum": _reduction(_sum),
}
