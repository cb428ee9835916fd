"""The bounded number system: an exact value within an interval that encloses every admissible evaluation.

Admissible is any order of evaluation of the written formula, fused multiply-add, wider intermediates, flushed
subnormals, and a power by loop, by squaring or by exponential and logarithm. Nothing else is. Every operation widens
its interval by its own rounding error:

- `+ - *`: u relative, or nothing where exact operands have a representable result in any order;
- others as the table in `accuracy` has it; a power by a loop T u, by exponential and logarithm 3 T |ln base| u;

where u is the unit roundoff of the narrowest format that is admissible for the operation, or of the tensor's own where
the narrowest one holds the exact result, so that computing there loses nothing (a power, then, by multiplication). What
lies below the smallest normal value may be flushed to zero. An interval, and not a symmetric error, because an overflow
or a flush moves an evaluation one way only; of a tensor that another node handed on the affine form encloses it too.

`doubt` marks a number on which admissible evaluations disagree by more than rounding: some overflow, divide by zero,
or multiply a zero by an infinity that others skip. No `must` case may rest on one.
"""

from __future__ import annotations

import operator
from decimal import Decimal
from itertools import product, starmap
from typing import TYPE_CHECKING

from conformance.reference.numbers import affine, pairs, rounding
from conformance.reference.numbers.affine import Affine, Parts
from conformance.reference.numbers.compared import Compared
from conformance.reference.numbers.exact import exponential, logarithm
from conformance.reference.numbers.precision import Precision, Role, joint
from conformance.reference.numbers.widening import widened

if TYPE_CHECKING:
    from collections.abc import Callable

ZERO, ONE, INFINITY = Decimal(0), Decimal(1), Decimal("Infinity")


def _arithmetic(operation: Callable[[Bounded, Bounded], Bounded]) -> Callable[[Bounded, Bounded | int], Bounded]:
    """An operator that also takes plain integers, and leaves arrays of numbers to NumPy."""

    def arithmetic(self: Bounded, other: Bounded | int) -> Bounded:
        if isinstance(other, int):
            other = self.constant(other)
        elif not isinstance(other, Bounded):
            return NotImplemented
        return operation(self, other)

    return arithmetic


class Bounded(Compared):
    """A number: its exact value, the interval of its admissible evaluations, and what its product's factors span.

    `peak` and `trough` are the largest and the smallest magnitude that some association of the chain of
    multiplications and divisions that led here passes through; `factors` are those of an exact product. `form` is the
    error as an affine form, where some of it is that of a tensor handed on. `addends` are what it is the sum of, where
    an adversary chooses the order.
    """

    __slots__ = ("addends", "doubt", "factors", "form", "high", "low", "peak", "precision", "terms", "trough", "value")

    def __init__(
        self,
        value: Decimal,
        precision: Precision,
        interval: tuple[Decimal, Decimal] | None = None,
        *,
        doubt: bool = False,
        span: tuple[Decimal, Decimal] | None = None,
        terms: tuple[Decimal, ...] = (),
        factors: tuple[Decimal, ...] = (),
        form: Affine | None = None,
    ) -> None:
        self.value = value
        self.terms = terms or (value,)
        self.factors = factors or (value,)
        self.form = form
        self.addends: tuple[Bounded, ...] = ()
        self.precision = precision
        self.low, self.high = interval or (value, value)
        self.doubt = doubt
        if span is None:
            magnitude = abs(value) if value.is_finite() and value else ONE
            span = (magnitude, ONE) if magnitude > ONE else (ONE, magnitude)
        self.peak, self.trough = span

    @classmethod
    def entering(cls, value: Decimal, precision: Precision) -> Bounded:
        """A number as an input gives it: rounded to the precision if need be, and flushed if that is admissible."""
        error = ZERO if precision.fits(value) else precision.format.unit_roundoff
        return _widened(value, (value, value), precision, error)

    def constant(self, value: int) -> Bounded:
        """A literal of the formula, to compute with this number."""
        return Bounded(Decimal(value), self.precision.of_literals)

    @property
    def is_exact(self) -> bool:
        """Whether every admissible evaluation is this very value."""
        return self.low == self.value == self.high

    @property
    def ends(self) -> tuple[Decimal, ...]:
        """The ends of its interval, of which an exact number has one."""
        return (self.low,) if self.low == self.high else (self.low, self.high)

    @property
    def error(self) -> Affine:
        """How far an evaluation may be from the value."""
        return self.form or Affine(Parts(), self.low - self.value, self.high - self.value)

    @property
    def is_finite(self) -> bool:
        """Whether its value and the ends of its interval are."""
        return self.value.is_finite() and self.low.is_finite() and self.high.is_finite()

    @property
    def can_be_zero(self) -> bool:
        """Whether some admissible evaluation is zero."""
        return self.low <= 0 <= self.high

    def __repr__(self) -> str:
        return f"Bounded({self.value:.9g} in [{self.low:.9g}, {self.high:.9g}]{', doubt' if self.doubt else ''})"

    @_arithmetic
    def __add__(self, other: Bounded) -> Bounded:
        return _sum(*pairs.in_order(self, other))

    @_arithmetic
    def __sub__(self, other: Bounded) -> Bounded:
        return _sum(*pairs.in_order(self, pairs.negated(self, other)))

    @_arithmetic
    def __mul__(self, other: Bounded) -> Bounded:
        precision = joint(self.precision, other.precision)
        value = self.value * other.value
        factors = self.factors + other.factors
        given = self.is_exact and other.is_exact
        exact = given and rounding.multiplies_exactly(value, factors, precision)
        errors = pairs.errors(self, other)
        return _widened(
            value,
            (value, value) if given else rounding.hull(list(starmap(operator.mul, product(self.ends, other.ends)))),
            precision,
            ZERO if exact else rounding.several(precision.roundoff(value), 1 + pairs.spare(self, other)),
            doubt=self.doubt or other.doubt or pairs.skips(self, other) or pairs.skips(other, self),
            span=(self.peak * other.peak, self.trough * other.trough),
            terms=pairs.kept(self, other),
            factors=factors if exact else (),
            form=affine.product(self.value, errors[0], other.value, errors[1]) if errors else None,
        )

    @_arithmetic
    def __truediv__(self, other: Bounded) -> Bounded:
        power_of_two = other.is_exact and rounding.is_power_of_two(other.value)
        outranks = self.precision.role >= other.precision.role
        precision = self.precision if outranks and power_of_two else joint(self.precision, other.precision)
        doubt = self.doubt or other.doubt
        value = self.value / other.value
        if other.can_be_zero:
            agreed = precision.strict and other.is_exact and (self.is_exact or not self.can_be_zero)
            return Bounded(value, precision, None if agreed else (-INFINITY, INFINITY), doubt=doubt or not agreed)
        scales = power_of_two and precision.accuracy.scales
        given = self.is_exact and other.is_exact
        exact = given and (not self.value or (scales and precision.fits(value)))
        u = precision.format.unit_roundoff
        error = rounding.several((precision.roundoff(value) if scales else u) * precision.accuracy.quotient, 2)
        errors = pairs.errors(self, other)
        return _widened(
            value,
            (value, value) if given else rounding.hull(list(starmap(operator.truediv, product(self.ends, other.ends)))),
            precision,
            ZERO if exact else (ONE + error) * (ONE + u) ** pairs.spare(self, other) - ONE,
            doubt=doubt,
            span=(self.peak / other.trough, self.trough / other.peak),
            form=affine.quotient(self.value, errors[0], other.value, errors[1]) if errors else None,
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
        precision = self.precision
        scales = precision.accuracy.scales and rounding.is_power_of_two(value) and precision.fits(value)
        u = precision.roundoff(value) if precision.accuracy.scales else precision.format.unit_roundoff
        error = ZERO if self.is_exact and (not value or scales) else 2 * precision.accuracy.root * u
        errors = pairs.errors(self, self)
        form = affine.root(self.value, errors[0]) if errors else None
        ends = (value, value) if self.is_exact else (self.low.sqrt(), self.high.sqrt())
        return _widened(value, ends, precision, error, doubt=self.doubt, form=form)

    def exp(self) -> Bounded:
        """The exponential."""
        value, ends = exponential(self.value), (exponential(self.low), exponential(self.high))
        error = ZERO if self.is_exact and not self.value else self.precision.function_error
        power = _widened(value, ends, self.precision, error, doubt=self.doubt, form=pairs.slope(self, value))
        power.low = max(power.low, ZERO) if power.low < 0 and ends[0] >= 0 else power.low
        return power

    def log(self) -> Bounded:
        """The natural logarithm; NaN for a negative number, which no `must` case may rest on."""
        if self.low < 0 or self.value.is_nan():
            agreed = self.value.is_nan() or (self.precision.strict and self.high < 0)
            anything = None if agreed else (-INFINITY, INFINITY)
            return Bounded(logarithm(self.value), self.precision, anything, doubt=self.doubt or not agreed)
        error = ZERO if self.is_exact and self.value in {ZERO, ONE} else self.precision.function_error
        value, ends = logarithm(self.value), (logarithm(self.low), logarithm(self.high))
        form = pairs.slope(self, ONE / (self.value or ONE))
        return _widened(value, ends, self.precision, error, doubt=self.doubt, form=form)

    def __pow__(self, exponent: Bounded) -> Bounded:
        """A power with a positive integer exponent, the update count T."""
        count = exponent.value
        value = self.value**count
        logarithm_of_base = logarithm(abs(self.value)) if self.value else ZERO
        off = self.precision.accuracy.power_error(count, logarithm_of_base, self.precision.roundoff(value))
        ends = [self.low**count, self.high**count, *([ZERO] if self.can_be_zero else [])]
        error = ZERO if self.is_exact and self.value in {ZERO, ONE} else exponential(off) - 1
        return _widened(value, rounding.hull(ends), self.precision, error, doubt=self.doubt)

    def rounded(self, times: int) -> Bounded:
        """The same number after so many roundings of it; before the last of several it may have underflowed."""
        u = self.precision.roundoff(self.value) if times == 1 else self.precision.format.unit_roundoff
        error = ZERO if self.is_exact and self.precision.fits(self.value) else times * u
        least = self.precision.format.smallest_normal
        lost = least if error and times > 1 and abs(self.value) < least else ZERO
        ends = self.low - lost, self.high + lost
        return _widened(self.value, ends, self.precision, error, doubt=self.doubt, form=pairs.slope(self, ONE))


def _sum(a: Bounded, b: Bounded) -> Bounded:
    """A sum, enclosing every order in which the terms that led to it may be added."""
    value, low, high = a.value + b.value, a.low + b.low, a.high + b.high
    precision, doubt = joint(a.precision, b.precision), a.doubt or b.doubt
    terms = (*a.terms, *b.terms)[-rounding.MOST_TERMS :]
    settled, chosen = a.is_exact and b.is_exact, precision.adversary is not None
    if settled and precision.once and precision.role is Role.ATTRIBUTE and value.is_finite():
        return Bounded(Decimal(precision.once.rounded(value)), precision)
    exact, lost = settled and precision.fits(value) and (chosen or rounding.sums_exactly(terms, precision)), ZERO
    if not exact and not chosen and value.is_finite():
        lost, overflows = rounding.lost_before_the_last(terms, high - low, precision, exact=settled)
        doubt = doubt or overflows
    errors = pairs.errors(a, b)
    form = errors[0].plus(errors[1]).widened(lost) if errors else None
    error = ZERO if exact else precision.roundoff(value)
    result = _widened(value, (low - lost, high + lost), precision, error, doubt=doubt, terms=terms, form=form)
    result.addends = (a, b) if chosen else ()
    return result


def _widened(
    value: Decimal,
    interval: tuple[Decimal, Decimal],
    precision: Precision,
    error: Decimal,
    *,
    doubt: bool = False,
    span: tuple[Decimal, Decimal] | None = None,
    terms: tuple[Decimal, ...] = (),
    factors: tuple[Decimal, ...] = (),
    form: Affine | None = None,
) -> Bounded:
    """What an operation gives: its interval widened by its relative error and by its format's range."""
    if value.is_nan() or interval[0].is_nan() or interval[1].is_nan():
        return Bounded(
            value, precision, None if value.is_nan() else (-INFINITY, INFINITY), doubt=doubt or not value.is_nan()
        )
    chosen = precision.adversary
    rounds = widened if chosen is None else chosen.rounded
    low, high, form = rounds(value, interval, precision, error, form)
    format = precision.format
    overflows = (high >= format.overflow_threshold or low <= -format.overflow_threshold) and value.is_finite()
    if overflows:
        low = -INFINITY if low <= -format.overflow_threshold else low
        high = INFINITY if high >= format.overflow_threshold else high
        form = None
    doubt = doubt or overflows or (span is not None and rounding.association_matters(value, span, format))
    return Bounded(value, precision, (low, high), doubt=doubt, span=span, terms=terms, factors=factors, form=form)
