"""The bounded number system: an exact value within an interval that encloses every admissible evaluation.

Admissible is any order of evaluation of the written formula, fused multiply-add, wider intermediates, flushed
subnormals, and a power by loop, by squaring or by exponential and logarithm. Nothing else is. Every operation widens
its interval by its own rounding error:

=============  ==========================================================================================
`+ - *`        u relative, or nothing where exact operands have a representable result in any order
`/` and sqrt   2u relative (u for the reciprocal, u for the product), or nothing for a power of two
`**`           max(16, T, 3 T |ln base|) u relative
exp, ln        8u relative: 4 ULP, one more than OpenCL's full profile allows for float
=============  ==========================================================================================

where u is the unit roundoff of the narrowest format that is admissible for the operation, or of the tensor's own where
the narrowest one holds the exact result, so that computing there loses nothing (a power, then, by multiplication). What
lies below the smallest normal value may be flushed to zero. An interval, and not a symmetric error, because an overflow
or a flush moves an evaluation one way only.

`doubt` marks a number on which admissible evaluations disagree by more than rounding: some overflow, divide by zero,
or multiply a zero by an infinity that others skip. No `must` case may rest on one.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from conformance.reference.numbers import rounding
from conformance.reference.numbers.exact import exponential, logarithm
from conformance.reference.numbers.precision import Precision, Role

if TYPE_CHECKING:
    from collections.abc import Callable

ZERO, ONE, INFINITY = Decimal(0), Decimal(1), Decimal("Infinity")

MOST_TERMS = 8
"""How many terms of a chain of sums may be added in another order."""


def _arithmetic(operation: Callable[[Bounded, Bounded], Bounded]) -> Callable[[Bounded, Bounded | int], Bounded]:
    """An operator that also takes plain integers, and leaves arrays of numbers to NumPy."""

    def operator(self: Bounded, other: Bounded | int) -> Bounded:
        if isinstance(other, int):
            other = self.constant(other)
        elif not isinstance(other, Bounded):
            return NotImplemented
        return operation(self, other)

    return operator


class Bounded:
    """A number: its exact value, the interval of its admissible evaluations, and what its product's factors span.

    `peak` and `trough` are the largest and the smallest magnitude that some association of the chain of
    multiplications and divisions that led here passes through.
    """

    __slots__ = ("doubt", "high", "low", "peak", "precision", "terms", "trough", "value")

    def __init__(
        self,
        value: Decimal,
        precision: Precision,
        interval: tuple[Decimal, Decimal] | None = None,
        *,
        doubt: bool = False,
        span: tuple[Decimal, Decimal] | None = None,
        terms: tuple[Decimal, ...] = (),
    ) -> None:
        self.value = value
        self.terms = terms or (value,)
        self.precision = precision
        self.low, self.high = interval or (value, value)
        self.doubt = doubt
        if span is None:
            magnitude = abs(value)
            span = (max(magnitude, ONE), min(magnitude, ONE)) if value.is_finite() and value else (ONE, ONE)
        self.peak, self.trough = span

    @classmethod
    def entering(cls, value: Decimal, precision: Precision) -> Bounded:
        """A number as an input gives it: rounded to the precision if need be, and flushed if that is admissible."""
        return _widened(
            value, (value, value), precision, ZERO if precision.fits(value) else precision.format.unit_roundoff
        )

    def constant(self, value: int) -> Bounded:
        """A literal of the formula, to compute with this number."""
        return Bounded(
            Decimal(value),
            Precision(Role.ATTRIBUTE, self.precision.format, self.precision.widest, self.precision.strict),
        )

    @property
    def is_exact(self) -> bool:
        """Whether every admissible evaluation is this very value."""
        return self.low == self.value == self.high

    @property
    def can_be_zero(self) -> bool:
        """Whether some admissible evaluation is zero."""
        return self.low <= 0 <= self.high

    def __repr__(self) -> str:
        return f"Bounded({self.value:.9g} in [{self.low:.9g}, {self.high:.9g}]{', doubt' if self.doubt else ''})"

    @_arithmetic
    def __add__(self, other: Bounded) -> Bounded:
        return _sum(self, other, self.value + other.value, (self.low + other.low, self.high + other.high))

    @_arithmetic
    def __sub__(self, other: Bounded) -> Bounded:
        return _sum(self, other, self.value - other.value, (self.low - other.high, self.high - other.low))

    @_arithmetic
    def __mul__(self, other: Bounded) -> Bounded:
        precision = _joint(self, other)
        value = self.value * other.value
        exact = self.is_exact and other.is_exact and precision.fits(value)
        return _widened(
            value,
            rounding.hull([a * b for a in (self.low, self.high) for b in (other.low, other.high)]),
            precision,
            ZERO if exact else precision.roundoff(value),
            doubt=self.doubt or other.doubt or _skips(self, other) or _skips(other, self),
            span=(self.peak * other.peak, self.trough * other.trough),
            terms=_kept(self, other),
        )

    @_arithmetic
    def __truediv__(self, other: Bounded) -> Bounded:
        outranks = self.precision.role >= other.precision.role
        scales = outranks and other.is_exact and rounding.is_power_of_two(other.value)
        precision = self.precision if scales else _joint(self, other)
        doubt = self.doubt or other.doubt
        value = self.value / other.value
        if other.can_be_zero:
            agreed = precision.strict and other.is_exact and (self.is_exact or not self.can_be_zero)
            return Bounded(value, precision, None if agreed else (-INFINITY, INFINITY), doubt=doubt or not agreed)
        exact = self.is_exact and other.is_exact
        exact = exact and (not self.value or (rounding.is_power_of_two(other.value) and precision.fits(value)))
        u = precision.roundoff(value) if rounding.is_power_of_two(other.value) else precision.format.unit_roundoff
        return _widened(
            value,
            rounding.hull([a / b for a in (self.low, self.high) for b in (other.low, other.high)]),
            precision,
            ZERO if exact else 2 * u + u * u,
            doubt=doubt,
            span=(self.peak / other.trough, self.trough / other.peak),
        )

    @_arithmetic
    def __radd__(self, other: Bounded) -> Bounded:
        return other + self

    @_arithmetic
    def __rsub__(self, other: Bounded) -> Bounded:
        return other - self

    @_arithmetic
    def __rmul__(self, other: Bounded) -> Bounded:
        return other * self

    @_arithmetic
    def __rtruediv__(self, other: Bounded) -> Bounded:
        return other / self

    def sqrt(self) -> Bounded:
        """The square root; NaN for a negative number, which no `must` case may rest on."""
        value = self.value.sqrt()
        if value.is_nan() or self.low.is_nan():
            agreed = self.value.is_nan() or (self.precision.strict and self.high < 0)
            return Bounded(value, self.precision, doubt=self.doubt or not agreed)
        if self.low < 0:
            return Bounded(value, self.precision, (-INFINITY, INFINITY), doubt=True)
        exact = self.is_exact and (not value or (rounding.is_power_of_two(value) and self.precision.fits(value)))
        error = ZERO if exact else 2 * self.precision.roundoff(value)
        return _widened(value, (self.low.sqrt(), self.high.sqrt()), self.precision, error, doubt=self.doubt)

    def exp(self) -> Bounded:
        """The exponential."""
        ends = (exponential(self.low), exponential(self.high))
        error = ZERO if self.is_exact and not self.value else 8 * self.precision.format.unit_roundoff
        return _widened(exponential(self.value), ends, self.precision, error, doubt=self.doubt)

    def log(self) -> Bounded:
        """The natural logarithm; NaN for a negative number, which no `must` case may rest on."""
        if self.low < 0 or self.value.is_nan():
            agreed = self.value.is_nan() or (self.precision.strict and self.high < 0)
            anything = None if agreed else (-INFINITY, INFINITY)
            return Bounded(logarithm(self.value), self.precision, anything, doubt=self.doubt or not agreed)
        error = ZERO if self.is_exact and self.value in {ZERO, ONE} else 8 * self.precision.format.unit_roundoff
        return _widened(
            logarithm(self.value), (logarithm(self.low), logarithm(self.high)), self.precision, error, doubt=self.doubt
        )

    def __pow__(self, exponent: Bounded) -> Bounded:
        """A power with a positive integer exponent, the update count T."""
        count = exponent.value
        value = self.value**count
        u = self.precision.roundoff(value)
        steps = max(Decimal(16), count, 3 * count * abs(logarithm(abs(self.value)))) if self.value else Decimal(16)
        ends = [self.low**count, self.high**count, *([ZERO] if self.can_be_zero else [])]
        one_or_zero = self.is_exact and self.value in {ZERO, ONE}
        error = ZERO if one_or_zero else exponential(steps * u) - 1
        return _widened(value, rounding.hull(ends), self.precision, error, doubt=self.doubt)

    def rounded(self, times: int) -> Bounded:
        """The same number after so many roundings of it; before the last of several it may have underflowed."""
        u = self.precision.roundoff(self.value) if times == 1 else self.precision.format.unit_roundoff
        error = ZERO if self.is_exact and self.precision.fits(self.value) else times * u
        least = self.precision.format.smallest_normal
        lost = least if error and times > 1 and abs(self.value) < least else ZERO
        return _widened(self.value, (self.low - lost, self.high + lost), self.precision, error, doubt=self.doubt)

    def __gt__(self, other: Bounded | int) -> bool:
        return self.value > _value(other)

    def __ge__(self, other: Bounded | int) -> bool:
        return self.value >= _value(other)

    def __lt__(self, other: Bounded | int) -> bool:
        return self.value < _value(other)

    def __le__(self, other: Bounded | int) -> bool:
        return self.value <= _value(other)


def _value(number: Bounded | int) -> Decimal:
    return number.value if isinstance(number, Bounded) else Decimal(number)


def _joint(a: Bounded, b: Bounded) -> Precision:
    """The precision in which two numbers are combined: that of the higher role.

    A scalar takes an attribute's format where that is narrower: an evaluation may first join the attributes beside R.
    """
    low, high = sorted((a.precision, b.precision), key=lambda precision: precision.role)
    if high.role is Role.SCALAR and low.format.precision < high.format.precision:
        return replace(high, format=low.format)
    return high


def _kept(a: Bounded, b: Bounded) -> tuple[Decimal, ...]:
    """The terms of the other factor where one is exactly 1: to multiply by it does not end a chain of sums."""
    for one, other in ((a, b), (b, a)):
        if one.is_exact and one.value == ONE:
            return other.terms
    return ()


def _sum(a: Bounded, b: Bounded, value: Decimal, interval: tuple[Decimal, Decimal]) -> Bounded:
    """A sum, enclosing every order in which the terms that led to it may be added."""
    precision, terms, doubt = _joint(a, b), (*a.terms, *b.terms)[-MOST_TERMS:], a.doubt or b.doubt
    exact = a.is_exact and b.is_exact and precision.fits(value) and rounding.sums_exactly(terms, precision)
    if not exact and len(terms) > 2 and value.is_finite():
        slack = (len(terms) - 1) * sum(map(abs, terms), ZERO) * precision.roundoff(value)
        interval = interval[0] - slack, interval[1] + slack
    error = ZERO if exact else precision.roundoff(value)
    return _widened(value, interval, precision, error, doubt=doubt, terms=terms)


def _widened(
    value: Decimal,
    interval: tuple[Decimal, Decimal],
    precision: Precision,
    error: Decimal,
    *,
    doubt: bool = False,
    span: tuple[Decimal, Decimal] | None = None,
    terms: tuple[Decimal, ...] = (),
) -> Bounded:
    """What an operation gives: its interval widened by its relative error and by its format's range."""
    low, high = interval
    if value.is_nan() or low.is_nan() or high.is_nan():
        return Bounded(
            value, precision, None if value.is_nan() else (-INFINITY, INFINITY), doubt=doubt or not value.is_nan()
        )
    format = precision.format
    low = low - abs(low) * error if low.is_finite() else low
    high = high + abs(high) * error if high.is_finite() else high
    if low < format.smallest_normal and high > -format.smallest_normal and (value or low != high):
        low, high = rounding.underflowing(low, high, precision, rounded=bool(error))
    overflows = (high >= format.overflow_threshold or low <= -format.overflow_threshold) and value.is_finite()
    if overflows:
        low = -INFINITY if low <= -format.overflow_threshold else low
        high = INFINITY if high >= format.overflow_threshold else high
    doubt = doubt or overflows or (span is not None and rounding.association_matters(value, span, format))
    return Bounded(value, precision, (low, high), doubt=doubt, span=span, terms=terms)


def _skips(zero: Bounded, other: Bounded) -> bool:
    """Whether `zero * other` is NaN by IEEE 754 but 0 for an evaluation that skips a zero term."""
    return not other.precision.strict and zero.can_be_zero and not other.value.is_finite()
