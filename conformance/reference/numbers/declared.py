"""The number system of the declared types: every operator rounded once, correctly, to its tensor's type.

Each operator is computed in the reals, and what comes out is rounded. A faithful evaluation of a function may be off by
more than that rounding, so an interval goes along that holds what such evaluations give: a function's value within
half an ULP, rounded once more, which is an error of one ULP at most. Unlike an admissible evaluation at level `must`, a
faithful one has no wider intermediates: what overflows is infinite, and what ties in the declared type ties.

Without the rounding it is the exact system, in which nothing is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.models.arrays import Array, objects
from conformance.models.formats import Format
from conformance.reference.numbers.bounded import INFINITY, ZERO, Bounded
from conformance.reference.numbers.enclosing import Enclosing, format_of
from conformance.reference.numbers.precision import Precision, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from conformance.reference.numbers.values import Order, Value


@dataclass(frozen=True)
class _Reals(Format):
    """The format that rounds nothing."""

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

    def represents(self, value: Decimal) -> bool:  # noqa: ARG002 - any
        return True


REALS = _Reals("real", 10_000, 10_000)


@dataclass(frozen=True)
class Declared(Enclosing):
    """`Bounded` numbers, whose values are those of the declared types.

    Attributes:
        strict: always, since there is no other reading of IEEE 754.
        rounds: whether results are rounded to the declared types; if not, values are exact.
    """

    strict: bool = True
    rounds: bool = True

    def optimizer(
        self,
        forms: Sequence[Callable[..., Any]],
        R: Value,
        T: Value,
        tensors: Sequence[Value],
        attributes: Mapping[str, Any],
    ) -> list[Value]:
        values = super().optimizer(forms, R, T, tensors, attributes)
        if not self.rounds:
            return values
        within = Enclosing(strict=True).optimizer(forms, R, T, tensors, attributes)
        return [self._within(*pair) for pair in zip(values, within, strict=True)]

    def elementwise(self, formula: Callable[..., Any], X: Value, *others: Value, roundings: int = 1) -> Value:
        return self._rounded(super().elementwise(formula, X, *others), roundings - 1)

    def monotone(self, formula: Callable[..., Any], X: Value, *, roundings: int = 0, **numbers: float) -> Value:
        return self._rounded(super().monotone(formula, X, roundings=0, **numbers), max(roundings - 1, 0))

    def total(self, X: Value, axes: Sequence[int]) -> Value:
        return self._within(super().total(X, axes), Enclosing(strict=True).total(X, axes))

    def apart(
        self,
        forms: Sequence[Callable[..., Any]],  # noqa: ARG002
        X: Value,  # noqa: ARG002
        axes: Collection[int] | None = None,  # noqa: ARG002
    ) -> Order | None:
        return None

    def cast(self, X: Value, dtype: np.dtype[Any]) -> Value:
        return self._rounded(super().cast(X, dtype), 0)

    def winners(self, X: Value, axis: int, largest: Array) -> Array:
        elements = X.elements
        if elements.dtype != object:
            return largest
        values = [_value(element) for element in elements.flat]
        unordered = np.array([value.is_nan() for value in values], dtype=bool).reshape(elements.shape)
        if X.order is not None and not self.rounds and X.order.holds_along(axis % elements.ndim):
            values = [_value(element) for element in X.order.elements.flat]
        # A NaN would spoil the comparisons of its row, where it wins in any case.
        numbers = objects((ZERO if value.is_nan() else value for value in values), elements.shape)
        ahead = np.asarray(numbers == numbers.max(axis=axis, keepdims=True), dtype=bool)
        return np.where(unordered.any(axis=axis, keepdims=True), unordered, ahead)

    def _precision(self, role: Role, widest: np.dtype[Any], narrowest: np.dtype[Any]) -> Precision:
        format_of(widest), format_of(narrowest)
        return Precision(role, REALS, REALS, strict=True)

    def _rounded(self, X: Value, more: int) -> Value:
        """Rounded once, after so many roundings more that a faithful evaluation may make."""
        if not self.rounds or X.elements.dtype != object:
            return X
        numbers = (_faithful(number, format_of(X.dtype), more) for number in X.elements.flat)
        return X.with_elements(objects(numbers, X.elements.shape))

    def _within(self, X: Value, enclosing: Value) -> Value:
        """Rounded, within what encloses all orders of evaluation."""
        if not self.rounds or X.elements.dtype != object:
            return X
        pairs = zip(X.elements.flat, enclosing.elements.flat, strict=True)
        numbers = (Bounded(a.value, a.precision, (b.low, b.high), doubt=b.doubt) for a, b in pairs)
        return self._rounded(X.with_elements(objects(numbers, X.elements.shape)), 0)


def _value(element: Bounded | Decimal) -> Decimal:
    return element.value if isinstance(element, Bounded) else element


def _faithful(number: Bounded, format: Format, more: int) -> Bounded:
    """A real number's value in a format, and the values there that a faithful evaluation may give for it."""
    value, low, high = number.value, number.low, number.high
    if value.is_nan() or low.is_nan() or high.is_nan() or (low == high and number.doubt):
        return number
    if more and not (low == high and format.represents(value)):
        low, high = low - _slack(low, format, more), high + _slack(high, format, more)
    ends = Decimal(format.rounded(low)), Decimal(format.rounded(high))
    return Bounded(Decimal(format.rounded(value)), number.precision, ends, doubt=number.doubt)


def _slack(end: Decimal, format: Format, more: int) -> Decimal:
    """How far roundings before the last may move a number; what is far below all numbers is nothing to anyone.

    Of several operations one before the last may underflow, and lose all that the result has below the normal numbers.
    """
    magnitude, step = abs(end), format.smallest_subnormal
    if not end.is_finite() or magnitude < step / 4:
        return ZERO
    relative = more * magnitude * format.unit_roundoff
    if magnitude >= 2 * format.smallest_normal:
        return relative
    return relative + (step / 2 if more == 1 else format.smallest_normal)
