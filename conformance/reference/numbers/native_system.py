"""The native number system: NumPy arrays of the tensors' own types."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.reference.numbers.formula_tensor import NumberTensor
from conformance.reference.numbers.number_system import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from conformance.models.arrays import Array
    from conformance.reference.numbers.number_system import Forms, Formula, OptimizerFormula, SortKeys


@dataclass(frozen=True)
class NativeSystem:
    """NumPy arrays of the tensors' own types: the arithmetic of the `reference` backend."""

    def from_array(self, array: Array) -> Value:
        return Value(array, array.dtype)

    def constant(self, number: float, dtype: np.dtype[Any]) -> Value:
        return Value(np.asarray(number).astype(dtype), dtype)

    def apply_optimizer(
        self,
        optimizer: OptimizerFormula,
        R: Value,
        T: Value,
        tensors: Sequence[Sequence[Value]],
        attributes: Mapping[str, Any],
    ) -> list[list[Value]]:
        return [self.update_tensor(optimizer, R, T, operands, attributes) for operands in tensors]

    def update_tensor(
        self, optimizer: OptimizerFormula, R: Value, T: Value, tensors: Sequence[Value], attributes: Mapping[str, Any]
    ) -> list[Value]:
        """Return the results of a training optimizer's formula for the operands of one tensor."""
        dtype = tensors[0].dtype
        numbers = {name: dtype.type(value) if isinstance(value, float) else value for name, value in attributes.items()}
        with np.errstate(all="ignore"):
            scalars = (operand.elements.astype(dtype)[()] for operand in (R, T))
            results = optimizer.formula(*scalars, *(tensor.elements for tensor in tensors), **numbers)
        return [Value(np.asarray(result, dtype=dtype), dtype) for result in results]

    def apply_elementwise(self, formula: Callable[..., Any], X: Value, *others: Value, roundings: int = 1) -> Value:  # noqa: ARG002
        with np.errstate(all="ignore"):
            result = formula(X.elements, *(other.elements for other in others))
            return Value(np.asarray(result, dtype=X.dtype), X.dtype)

    def apply_monotone(self, formula: Callable[..., Any], X: Value, *, roundings: int = 0, **numbers: float) -> Value:
        typed = {name: X.dtype.type(number) for name, number in numbers.items()}
        return self.apply_elementwise(partial(formula, **typed), X, roundings=roundings)

    def apply_formula(self, formula: Formula, inputs: Sequence[Value | None]) -> list[Value]:
        with np.errstate(all="ignore"):
            results = formula(
                [None if value is None else NumberTensor(value.elements, value.dtype) for value in inputs]
            )
            return [Value(np.asarray(result.numbers, dtype=result.dtype), result.dtype) for result in results]

    def exact_elements(self, X: Value) -> Array:
        return X.elements

    def inexact_mask(self, X: Value) -> Array:
        return np.zeros(X.elements.shape, dtype=bool)

    def reduce_extreme(self, X: Value, axes: Sequence[int], *, largest: bool) -> Value:
        reduce = np.max if largest else np.min
        return Value(np.asarray(reduce(X.elements, axis=tuple(axes))), X.dtype)

    def top_k(self, X: Value, axis: int, count: int, *, largest: bool) -> tuple[Value, Value]:
        if largest:
            ascending = np.argsort(np.flip(X.elements, axis), axis=axis, kind="stable")
            order = np.flip(X.elements.shape[axis] - 1 - ascending, axis)
        else:
            order = np.argsort(X.elements, axis=axis, kind="stable")
        indices = np.asarray(np.take(order, range(count), axis=axis), dtype=np.int64)
        return Value(np.take_along_axis(X.elements, indices, axis), X.dtype), Value(indices, indices.dtype)

    def sort_keys(self, forms: Forms, X: Value, axes: Collection[int] | None = None) -> SortKeys | None:  # noqa: ARG002
        return None

    def less(self, A: Value, B: Value) -> Value:
        return Value(np.asarray(A.elements < B.elements), np.dtype(bool))

    def cast(self, X: Value, dtype: np.dtype[Any]) -> Value:
        with np.errstate(all="ignore"):
            return Value(X.elements.astype(dtype), dtype)

    def enclose_alternatives(self, first: Value, second: Value) -> Value:  # noqa: ARG002 - either result is correct
        return first

    def maximum_mask(self, X: Value, axis: int) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(X.elements == X.elements.max(axis=axis, keepdims=True))

    def selected_maximum_mask(self, X: Value, axis: int, maximum_mask: Array) -> Array:  # noqa: ARG002
        return maximum_mask
