"""The IEEE number system: every operator's result rounded once, correctly, to its tensor's type; or not rounded.

Each operator is computed exactly, and its result is rounded. An evaluation with an error of up to one ULP is called
*faithful*: for example, a value within half an ULP that is rounded once more. The interval of a number contains the
results of all faithful evaluations. Unlike the evaluations that are admissible at level `must`, a faithful evaluation
has no wider intermediates: results that overflow are infinite, and results that are equal in the type are ties.

Without rounding, all results are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.exact.models.arrays import Array, FloatFormat, format_of, object_array
from conformance.exact.reference.numbers.bounded import INFINITY, ZERO, BoundedNumber
from conformance.exact.reference.numbers.interval_system import IntervalSystem, exact_value
from conformance.exact.reference.numbers.precision import Precision, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from conformance.exact.reference.numbers.number_system import Forms, Formula, OptimizerFormula, SortKeys, Value


@dataclass(frozen=True)
class _Reals(FloatFormat):
    """A format that represents every real number, so that rounding to it changes nothing."""

    @cached_property
    def unit_roundoff(self) -> Decimal:
        return ZERO

    @cached_property
    def overflow_threshold(self) -> Decimal:
        return INFINITY

    @cached_property
    def smallest_normal(self) -> Decimal:
        return ZERO

    @cached_property
    def smallest_subnormal(self) -> Decimal:
        return ZERO

    def can_represent(self, value: Decimal) -> bool:  # noqa: ARG002
        return True


REALS = _Reals("real", 10_000, 10_000)


@dataclass(frozen=True)
class IeeeSystem(IntervalSystem):
    """Number system whose tensors have bounded numbers, with exact values that are rounded to the tensors' types.

    Attributes:
        strict: always true, because every evaluation has to follow IEEE 754.
        rounds: whether results are rounded to the tensors' types; if not, they are exact.
    """

    strict: bool = True
    rounds: bool = True

    def update_tensor(
        self, optimizer: OptimizerFormula, R: Value, T: Value, tensors: Sequence[Value], attributes: Mapping[str, Any]
    ) -> list[Value]:
        values = super().update_tensor(optimizer, R, T, tensors, attributes)
        if not self.rounds:
            return values
        enclosures = IntervalSystem(strict=True).update_tensor(optimizer, R, T, tensors, attributes)
        return [self._round_within(*pair) for pair in zip(values, enclosures, strict=True)]

    def apply_elementwise(self, formula: Callable[..., Any], X: Value, *others: Value, roundings: int = 1) -> Value:
        return self._round(super().apply_elementwise(formula, X, *others), roundings - 1)

    def apply_monotone(self, formula: Callable[..., Any], X: Value, *, roundings: int = 0, **numbers: float) -> Value:
        return self._round(super().apply_monotone(formula, X, roundings=0, **numbers), max(roundings - 1, 0))

    def apply_formula(self, formula: Formula, inputs: Sequence[Value | None]) -> list[Value]:
        results = super().apply_formula(formula, inputs)
        if not self.rounds:
            return results
        enclosures = IntervalSystem(strict=True).apply_formula(formula, inputs)
        return [self._round_within(*pair) for pair in zip(results, enclosures, strict=True)]

    def sort_keys(self, forms: Forms, X: Value, axes: Collection[int] | None = None) -> SortKeys | None:  # noqa: ARG002
        return None

    def cast(self, X: Value, dtype: np.dtype[Any]) -> Value:
        return self._round(super().cast(X, dtype), 0)

    def selected_maximum_mask(self, X: Value, axis: int, maximum_mask: Array) -> Array:
        elements = X.elements
        if elements.dtype != object:
            return maximum_mask
        values = [exact_value(element) for element in elements.flat]
        is_nan = np.array([value.is_nan() for value in values], dtype=bool).reshape(elements.shape)
        if X.exact_keys is not None and not self.rounds and X.exact_keys.is_valid_along(axis % elements.ndim):
            values = [exact_value(element) for element in X.exact_keys.elements.flat]
        # Comparisons with NaN would fail. A row with a NaN has the NaN as its maximum in any case.
        numbers = object_array((ZERO if value.is_nan() else value for value in values), elements.shape)
        is_maximum = np.asarray(numbers == numbers.max(axis=axis, keepdims=True), dtype=bool)
        return np.where(is_nan.any(axis=axis, keepdims=True), is_nan, is_maximum)

    def _precision(self, role: Role, tensor: np.dtype[Any], narrowest: np.dtype[Any]) -> Precision:
        format_of(tensor), format_of(narrowest)  # raise Unsupported for a type without arithmetic
        return Precision(role, REALS, REALS, strict=True)

    def _round(self, X: Value, extra_roundings: int) -> Value:
        """Return X with each element rounded once; the intervals allow `extra_roundings` more roundings."""
        if not self.rounds or X.elements.dtype != object:
            return X
        numbers = (_round_faithfully(number, format_of(X.dtype), extra_roundings) for number in X.elements.flat)
        return X.with_elements(object_array(numbers, X.elements.shape))

    def _round_within(self, X: Value, enclosure: Value) -> Value:
        """Return X with each element rounded once.

        The intervals are those of `enclosure`, which encloses the results of all orders of evaluation.
        """
        if not self.rounds or X.elements.dtype != object:
            return X
        pairs = zip(X.elements.flat, enclosure.elements.flat, strict=True)
        numbers = (
            BoundedNumber(a.value, a.precision, (b.low, b.high), is_indeterminate=b.is_indeterminate) for a, b in pairs
        )
        return self._round(X.with_elements(object_array(numbers, X.elements.shape)), 0)


def _round_faithfully(number: BoundedNumber, format: FloatFormat, extra_roundings: int) -> BoundedNumber:
    """Return a number correctly rounded to a format, with an interval of all results of faithful evaluations."""
    value = number.value
    low = number.low
    high = number.high
    if value.is_nan() or low.is_nan() or high.is_nan() or (low == high and number.is_indeterminate):
        return number
    if extra_roundings and not (low == high and format.can_represent(value)):
        low = low - _max_rounding_shift(low, format, extra_roundings)
        high = high + _max_rounding_shift(high, format, extra_roundings)
    interval = Decimal(format.round_to_nearest(low)), Decimal(format.round_to_nearest(high))
    rounded = Decimal(format.round_to_nearest(value))
    return BoundedNumber(rounded, number.precision, interval, is_indeterminate=number.is_indeterminate)


def _max_rounding_shift(end: Decimal, format: FloatFormat, extra_roundings: int) -> Decimal:
    """Return the largest distance by which roundings before the last one can move a number.

    It is 0 for numbers far below the smallest subnormal. If there are several operations, an operation before the last
    one can underflow. The error is then as large as the result, if the result is below the smallest normal value.
    """
    magnitude = abs(end)
    step = format.smallest_subnormal
    if not end.is_finite() or magnitude < step / 4:
        return ZERO
    relative = extra_roundings * magnitude * format.unit_roundoff
    if magnitude >= 2 * format.smallest_normal:
        return relative
    return relative + (step / 2 if extra_roundings == 1 else format.smallest_normal)
