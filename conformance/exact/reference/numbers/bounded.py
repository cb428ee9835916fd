"""Bounded numbers: an exact value within an interval that encloses every admissible evaluation.

An evaluation is admissible if it uses any of the following, and nothing else: any order of evaluation of the written
formula, fused multiply-add, wider intermediates, subnormals flushed to zero, and a power by a loop, by squaring, or by
an exponential and a logarithm. Every operation widens the interval of its result by its own rounding error:

- `+ - *`: u relative; nothing if exact operands have a representable result in any order;
- a power with the exponent T: T u for a loop, 3 T |ln base| u for an exponential and a logarithm;
- other operations: as the tables in `precision` state.

u is the unit roundoff of the narrowest format that is admissible for the operation. If that format represents the exact
result, u is the unit roundoff of the tensor's own format. Values below the smallest normal value may be flushed to
zero. An overflow or a flush moves an evaluation to one side only, so the enclosure is an interval and not a symmetric
error. For a tensor that another node computed, an affine form encloses the error as well.

A test that measures the suite can also select one evaluation: an *adversary* chooses the result of each rounding and
the order of additions (`precision.Adversary`). Numbers then follow this evaluation and enclose no other.

A number is *indeterminate* if admissible evaluations disagree on it by more than rounding: some of them overflow,
divide by zero, or multiply a zero by an infinity that others skip. No `must` case may depend on such a number.
"""

from __future__ import annotations

import operator
from decimal import Decimal
from itertools import combinations, product, starmap
from math import prod
from operator import neg
from typing import TYPE_CHECKING, Any

from conformance.exact.reference.numbers.affine import (
    AffineForm,
    Coefficients,
    product_error,
    quotient_error,
    sqrt_error,
)
from conformance.exact.reference.numbers.decimals import exponential, logarithm
from conformance.exact.reference.numbers.precision import Precision, Role, combined_precision

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from conformance.exact.models.arrays import FloatFormat
    from conformance.exact.reference.numbers.affine import Interval


ZERO = Decimal(0)
ONE = Decimal(1)
INFINITY = Decimal("Infinity")

MAX_REORDERED_TERMS = 8
"""The number of last terms of a chain of additions that the enclosure of all orders of addition takes into account."""

MAX_ENUMERATED_TERMS = 4
"""The most terms of a sum for which every order of addition is tried."""

MAX_ENUMERATED_FACTORS = 4
"""The most factors of an exact product for which every order of multiplication is tried."""

LARGEST_ODD_EXPONENT = 2**53 - 1
"""The largest odd integer below which doubles have all integers. A double of a larger T is even."""

MAX_DECIMAL_EXPONENT = 10_000
"""A decimal exponent beyond those of all products of doubles that occur here. Powers in a formula can exceed it."""


# The number


def _binary_operator(
    operation: Callable[[BoundedNumber, BoundedNumber], BoundedNumber],
) -> Callable[[BoundedNumber, BoundedNumber | int], BoundedNumber]:
    """Return a method for an operator that also takes integers, and leaves arrays of numbers to NumPy."""

    def method(self: BoundedNumber, other: BoundedNumber | int) -> BoundedNumber:
        if isinstance(other, int):
            other = self.literal(other)
        elif not isinstance(other, BoundedNumber):
            return NotImplemented
        return operation(self, other)

    return method


class BoundedNumber:
    """A number: its exact value, and an interval that contains the results of all admissible evaluations.

    Comparisons compare the exact values. A number also stores how it was computed, because evaluations may add and
    multiply in any order: a + b + c has the terms (a, b, c).

    Attributes:
        value: the exact value.
        low: the lower end of the interval.
        high: the upper end of the interval.
        precision: the precision in which operations on the number may be computed.
        is_indeterminate: whether admissible evaluations disagree by more than rounding.
        terms: the terms of the sum, if the number is a sum; otherwise the value itself.
        factors: the factors of the product, if the number is an exact product; otherwise the value itself.
        peak: the largest intermediate magnitude over all orders of the multiplications and divisions.
        trough: the smallest intermediate magnitude over all these orders.
        affine_form: the error as an affine form, if it depends on errors of tensors that other nodes computed.
        addends: the two numbers that were added, if an adversary chooses the order of additions; otherwise empty.
    """

    __slots__ = (
        "addends",
        "affine_form",
        "factors",
        "high",
        "is_indeterminate",
        "low",
        "peak",
        "precision",
        "terms",
        "trough",
        "value",
    )

    def __init__(
        self,
        value: Decimal,
        precision: Precision,
        interval: Interval | None = None,
        *,
        is_indeterminate: bool = False,
        span: tuple[Decimal, Decimal] | None = None,
        terms: tuple[Decimal, ...] = (),
        factors: tuple[Decimal, ...] = (),
        affine_form: AffineForm | None = None,
    ) -> None:
        """Make a number; `interval` defaults to the value alone, and `span` is (peak, trough)."""
        self.value = value
        self.terms = terms or (value,)
        self.factors = factors or (value,)
        self.affine_form = affine_form
        self.addends: tuple[BoundedNumber, ...] = ()
        self.precision = precision
        self.low, self.high = interval or (value, value)
        self.is_indeterminate = is_indeterminate
        if span is None:
            magnitude = abs(value) if value.is_finite() and value else ONE
            span = (magnitude, ONE) if magnitude > ONE else (ONE, magnitude)
        self.peak, self.trough = span

    @classmethod
    def from_input(cls, value: Decimal, precision: Precision) -> BoundedNumber:
        """Return an input as a number, with the errors of a rounding to the precision and of a flush to zero."""
        error = ZERO if precision.can_represent(value) else precision.format.unit_roundoff
        return _round_result(value, (value, value), precision, error)

    def reduced(self, precision: Precision | None = None, **kept: Any) -> BoundedNumber:
        """Return the value and its interval, without terms, factors, span and affine form, but for the given ones.

        Args:
            precision: the precision of the result; None for that of this number.
            kept: further arguments of the constructor.
        """
        interval = self.low, self.high
        indeterminate = self.is_indeterminate
        return BoundedNumber(self.value, precision or self.precision, interval, is_indeterminate=indeterminate, **kept)

    def literal(self, value: int) -> BoundedNumber:
        """Return an integer of the formula, such as the 1 in `1 - alpha`, as a number to combine with this number."""
        return BoundedNumber(Decimal(value), self.precision.for_literals)

    @property
    def is_exact(self) -> bool:
        """Whether every admissible evaluation gives the exact value."""
        return self.low == self.value == self.high

    @property
    def is_finite(self) -> bool:
        """Whether the value and both ends of the interval are finite."""
        return self.value.is_finite() and self.low.is_finite() and self.high.is_finite()

    @property
    def can_be_zero(self) -> bool:
        """Whether the interval contains zero."""
        return self.low <= 0 <= self.high

    @property
    def ends(self) -> tuple[Decimal, ...]:
        """The ends of the interval; one end if both are equal."""
        return (self.low,) if self.low == self.high else (self.low, self.high)

    @property
    def error(self) -> AffineForm:
        """The difference between an evaluation and the exact value, as an affine form."""
        return self.affine_form or AffineForm(Coefficients(), self.low - self.value, self.high - self.value)

    def __repr__(self) -> str:
        suffix = ", indeterminate" if self.is_indeterminate else ""
        return f"BoundedNumber({self.value:.9g} in [{self.low:.9g}, {self.high:.9g}]{suffix})"

    def __gt__(self, other: BoundedNumber | int) -> bool:
        return self.value > _value(other)

    def __ge__(self, other: BoundedNumber | int) -> bool:
        return self.value >= _value(other)

    def __lt__(self, other: BoundedNumber | int) -> bool:
        return self.value < _value(other)

    def __le__(self, other: BoundedNumber | int) -> bool:
        return self.value <= _value(other)

    @_binary_operator
    def __add__(self, other: BoundedNumber) -> BoundedNumber:
        return _add(*_reorder_addition(self, other))

    @_binary_operator
    def __sub__(self, other: BoundedNumber) -> BoundedNumber:
        _correlate_scalar_error(self, other)
        return _add(*_reorder_addition(self, _negate(other)))

    @_binary_operator
    def __mul__(self, other: BoundedNumber) -> BoundedNumber:
        precision = combined_precision(self.precision, other.precision)
        value = self.value * other.value
        factors = self.factors + other.factors
        has_exact_operands = self.is_exact and other.is_exact
        is_exact = has_exact_operands and _is_exact_product(value, factors, precision)
        errors = _operand_errors(self, other)
        ends = _hull(list(starmap(operator.mul, product(self.ends, other.ends)))) if not has_exact_operands else None
        error = ZERO
        if not is_exact:
            error = _compound_error(precision.unit_roundoff_for(value), 1 + _extra_roundings(self, other))
        return _round_result(
            value,
            ends or (value, value),
            precision,
            error,
            is_indeterminate=self.is_indeterminate
            or other.is_indeterminate
            or _zero_times_infinity_disagrees(self, other)
            or _zero_times_infinity_disagrees(other, self),
            span=(self.peak * other.peak, self.trough * other.trough),
            terms=_surviving_terms(self, other),
            factors=factors if is_exact else (),
            affine_form=product_error(self.value, errors[0], other.value, errors[1]) if errors else None,
        )

    @_binary_operator
    def __truediv__(self, other: BoundedNumber) -> BoundedNumber:
        by_power_of_two = other.is_exact and is_power_of_two(other.value)
        has_higher_role = self.precision.role >= other.precision.role
        keeps_precision = has_higher_role and by_power_of_two
        precision = self.precision if keeps_precision else combined_precision(self.precision, other.precision)
        is_indeterminate = self.is_indeterminate or other.is_indeterminate
        value = self.value / other.value
        if other.can_be_zero:
            agrees = precision.strict and other.is_exact and (self.is_exact or not self.can_be_zero)
            interval = None if agrees else (-INFINITY, INFINITY)
            return BoundedNumber(value, precision, interval, is_indeterminate=is_indeterminate or not agrees)
        only_scales = by_power_of_two and precision.accuracy.is_exact_for_powers_of_two
        has_exact_operands = self.is_exact and other.is_exact
        is_exact = has_exact_operands and (not self.value or (only_scales and precision.can_represent(value)))
        u = precision.format.unit_roundoff
        error = ZERO
        if not is_exact:
            u_of_result = precision.unit_roundoff_for(value) if only_scales else u
            error = _compound_error(u_of_result * precision.accuracy.quotient, 2)
            error = (ONE + error) * (ONE + u) ** _extra_roundings(self, other) - ONE
        errors = _operand_errors(self, other)
        ends = (
            _hull(list(starmap(operator.truediv, product(self.ends, other.ends)))) if not has_exact_operands else None
        )
        return _round_result(
            value,
            ends or (value, value),
            precision,
            error,
            is_indeterminate=is_indeterminate,
            span=(self.peak / other.trough, self.trough / other.peak),
            affine_form=quotient_error(self.value, errors[0], other.value, errors[1]) if errors else None,
        )

    @_binary_operator
    def __radd__(self, other: BoundedNumber) -> BoundedNumber:
        return other + self

    @_binary_operator
    def __rsub__(self, other: BoundedNumber) -> BoundedNumber:
        return other - self

    @_binary_operator
    def __rmul__(self, other: BoundedNumber) -> BoundedNumber:
        return other * self

    @_binary_operator
    def __rtruediv__(self, other: BoundedNumber) -> BoundedNumber:
        return other / self

    def sqrt(self) -> BoundedNumber:
        """Return the square root. NumPy calls this method for `np.sqrt`.

        The root of a number that may be negative is NaN or indeterminate.
        """
        value = self.value.sqrt()
        precision = self.precision
        if value.is_nan() or self.low.is_nan():
            agrees = self.value.is_nan() or (precision.strict and self.high < 0)
            return BoundedNumber(value, precision, is_indeterminate=self.is_indeterminate or not agrees)
        if self.low < 0:
            return BoundedNumber(value, precision, (-INFINITY, INFINITY), is_indeterminate=True)
        scales_exactly = precision.accuracy.is_exact_for_powers_of_two
        is_exact_root = scales_exactly and is_power_of_two(value) and precision.can_represent(value)
        u = precision.unit_roundoff_for(value) if scales_exactly else precision.format.unit_roundoff
        error = ZERO if self.is_exact and (not value or is_exact_root) else 2 * precision.accuracy.root * u
        errors = _operand_errors(self, self)
        form = sqrt_error(self.value, errors[0]) if errors else None
        ends = (value, value) if self.is_exact else (self.low.sqrt(), self.high.sqrt())
        return _round_result(value, ends, precision, error, is_indeterminate=self.is_indeterminate, affine_form=form)

    def exp(self) -> BoundedNumber:
        """Return the natural exponential. NumPy calls this method for `np.exp`."""
        value = exponential(self.value)
        ends = (exponential(self.low), exponential(self.high))
        error = ZERO if self.is_exact and not self.value else self.precision.function_error
        form = first_order_form(self, value)
        result = _round_result(
            value, ends, self.precision, error, is_indeterminate=self.is_indeterminate, affine_form=form
        )
        result.low = max(result.low, ZERO) if result.low < 0 and ends[0] >= 0 else result.low
        return result

    def log(self) -> BoundedNumber:
        """Return the natural logarithm. NumPy calls this method for `np.log`.

        The logarithm of a number that may be negative is NaN or indeterminate.
        """
        if self.low < 0 or self.value.is_nan():
            agrees = self.value.is_nan() or (self.precision.strict and self.high < 0)
            is_indeterminate = self.is_indeterminate or not agrees
            interval = None if agrees else (-INFINITY, INFINITY)
            return BoundedNumber(logarithm(self.value), self.precision, interval, is_indeterminate=is_indeterminate)
        error = ZERO if self.is_exact and self.value in {ZERO, ONE} else self.precision.function_error
        value = logarithm(self.value)
        ends = (logarithm(self.low), logarithm(self.high))
        form = first_order_form(self, ONE / (self.value or ONE))
        return _round_result(
            value, ends, self.precision, error, is_indeterminate=self.is_indeterminate, affine_form=form
        )

    def __pow__(self, exponent: BoundedNumber) -> BoundedNumber:
        """Return a power. The exponent is a positive integer: the update count T.

        A double cannot represent an odd exponent above 2**53. A negative base then has a power of either sign.
        """
        count = exponent.value
        has_either_sign = self.low <= -1 and count > LARGEST_ODD_EXPONENT and count % 2 == 1
        value = self.value**count
        logarithm_of_base = logarithm(abs(self.value)) if self.value else ZERO
        u = self.precision.unit_roundoff_for(value)
        log_error = self.precision.accuracy.power_error(count, logarithm_of_base, u)
        ends = [self.low**count, self.high**count, *([ZERO] if self.can_be_zero else [])]
        ends += [-end for end in ends] if has_either_sign else []
        error = ZERO if self.is_exact and self.value in {ZERO, ONE} else exponential(log_error) - 1
        is_indeterminate = self.is_indeterminate or has_either_sign
        return _round_result(value, _hull(ends), self.precision, error, is_indeterminate=is_indeterminate)

    def with_roundings(self, count: int) -> BoundedNumber:
        """Return the number after `count` roundings, each of which may underflow."""
        precision = self.precision
        u = precision.unit_roundoff_for(self.value) if count == 1 else precision.format.unit_roundoff
        error = ZERO if self.is_exact and precision.can_represent(self.value) else count * u
        smallest_normal = precision.format.smallest_normal
        can_underflow = error and count > 1 and abs(self.value) < smallest_normal
        lost = smallest_normal if can_underflow else ZERO
        return _round_result(
            self.value,
            (self.low - lost, self.high + lost),
            precision,
            error,
            is_indeterminate=self.is_indeterminate,
            affine_form=first_order_form(self, ONE),
        )


def _value(number: BoundedNumber | int) -> Decimal:
    return number.value if isinstance(number, BoundedNumber) else Decimal(number)


# Sums


def _add(a: BoundedNumber, b: BoundedNumber) -> BoundedNumber:
    """Return a + b; the interval encloses every order in which the terms of a and b can be added."""
    value = a.value + b.value
    low = a.low + b.low
    high = a.high + b.high
    precision = combined_precision(a.precision, b.precision)
    for zero, number in ((a, b), (b, a)):
        if _adds_nothing(zero, number) and number.precision is precision:
            return number
    is_indeterminate = a.is_indeterminate or b.is_indeterminate
    terms = (*a.terms, *b.terms)[-MAX_REORDERED_TERMS:]
    has_exact_operands = a.is_exact and b.is_exact
    has_adversary = precision.adversary is not None
    if has_exact_operands and precision.complement_format and precision.role is Role.ATTRIBUTE and value.is_finite():
        return BoundedNumber(Decimal(precision.complement_format.round_to_nearest(value)), precision)
    is_exact = has_exact_operands and precision.can_represent(value)
    is_exact = is_exact and (has_adversary or _is_exact_sum(terms, precision))
    lost = ZERO
    if not is_exact and not has_adversary and value.is_finite():
        lost, overflows = _intermediate_sum_error(terms, high - low, precision, has_exact_terms=has_exact_operands)
        is_indeterminate = is_indeterminate or overflows
    errors = _operand_errors(a, b)
    result = _round_result(
        value,
        (low - lost, high + lost),
        precision,
        ZERO if is_exact else precision.unit_roundoff_for(value),
        is_indeterminate=is_indeterminate,
        terms=terms,
        affine_form=(errors[0] + errors[1]).widen(lost) if errors else None,
    )
    result.addends = (a, b) if has_adversary else ()
    return result


def _adds_nothing(zero: BoundedNumber, number: BoundedNumber) -> bool:
    """Return whether a number plus an exact zero is the number, in every order: adding 0 does not round.

    Operations on exact numbers, on zeros and with an adversary are computed as usual.
    """
    is_zero = zero.value == 0 and zero.is_exact and not zero.is_indeterminate and len(zero.terms) < 2
    return is_zero and number.value != 0 and number.is_finite and number.precision.adversary is None


def bounded_sum(numbers: Iterable[BoundedNumber]) -> BoundedNumber:
    """Return the sum of one or more numbers; the interval encloses every order and grouping of the additions.

    Any way to add n numbers is a binary tree. A number passes through at most n - 1 additions: the last one, and at
    most n - 2 before it. The last addition therefore rounds sum(x_i * (1 + d_i)) with |d_i| <= (1 + u)**(n - 2) - 1.
    This differs from the exact sum by at most that factor times sum(|x_i|). The sum of magnitudes is necessary for
    terms of different signs: some order adds all terms of one sign first. For terms of one sign, adding from the
    largest magnitude down bounds all orders; for different signs it does not.

    The sum of two numbers is that of `+`. If subnormals are flushed, every addition loses at most the smallest normal
    value. If a partial sum can overflow and the total cannot, the sum is indeterminate.
    """
    terms = list(numbers)
    has_adversary = terms[0].precision.adversary is not None
    if len(terms) < 3 or has_adversary or not all(term.low.is_finite() and term.high.is_finite() for term in terms):
        return _add_in_order(terms)
    precision = terms[0].precision
    magnitude = sum((max(abs(term.low), abs(term.high)) for term in terms), ZERO)
    if not magnitude:
        return _add_in_order(terms)
    spread = magnitude * ((ONE + precision.format.unit_roundoff) ** (len(terms) - 2) - ONE)
    if not precision.strict:
        spread += (len(terms) - 2) * precision.format.smallest_normal
    overflows = magnitude >= precision.format.overflow_threshold
    before_last_addition = BoundedNumber(
        sum((term.value for term in terms), ZERO),
        precision,
        (sum((term.low for term in terms), ZERO) - spread, sum((term.high for term in terms), ZERO) + spread),
        is_indeterminate=any(term.is_indeterminate for term in terms) or overflows,
    )
    return before_last_addition + 0


def _add_in_order(terms: list[BoundedNumber]) -> BoundedNumber:
    """Return the sum of terms, added from the first to the last.

    The caller passes infinities, NaN or at most two terms, for which all orders agree, or numbers with an adversary.
    """
    result = terms[0]
    for term in terms[1:]:
        result = result + term
    return result


def _reorder_addition(a: BoundedNumber, b: BoundedNumber) -> tuple[BoundedNumber, BoundedNumber]:
    """Return the two operands of the addition a + b; if an adversary reorders the terms, those of its last addition."""
    step = 0 if a.precision.adversary is None else a.precision.adversary.order
    for number, other in ((a, b), (b, a)):
        if step and number.addends:
            first, second = number.addends[::step]
            return first + other, second
    return a, b


def _is_exact_sum(terms: tuple[Decimal, ...], precision: Precision) -> bool:
    """Return whether every order of adding the terms is exact: no partial sum is rounded or flushed to zero.

    Two terms have only one order. For more terms, all orders are exact if the partial sums are small multiples of one
    unit. Up to `MAX_ENUMERATED_TERMS` terms, the function also tries whether every partial sum is representable.
    """
    if not precision.format.unit_roundoff:
        return True
    if any(_is_beyond_all_formats(term) for term in terms):
        return False
    nonzero = [term for term in terms if term.is_finite() and term]
    if len(nonzero) < 3:
        return True
    ratios = [term.as_integer_ratio() for term in nonzero]
    unit = min(Decimal(numerator & -numerator) / denominator for numerator, denominator in ratios)
    fits_in_format = sum(map(abs, terms), ZERO) <= unit * 2**precision.format.precision
    if fits_in_format and (precision.strict or unit >= precision.format.smallest_normal):
        return True
    can_enumerate = len(terms) <= MAX_ENUMERATED_TERMS
    return can_enumerate and all(_survives_rounding(partial, precision) for partial in _partial_sums(terms))


def _intermediate_sum_error(
    terms: tuple[Decimal, ...], width: Decimal, precision: Precision, *, has_exact_terms: bool
) -> tuple[Decimal, bool]:
    """Return the error of all additions before the last one, in the worst order, and whether any of them may overflow.

    Args:
        terms: the terms of the sum. Two terms have only one addition.
        width: the width of the interval of the sum, which the errors of the terms alone cause.
        precision: the precision of the additions.
        has_exact_terms: whether the terms have no error, so that a representable partial sum has no error either.
    """
    additions = len(terms) - 2
    if additions <= 0:
        return ZERO, False
    width = width if width.is_finite() else sum(map(abs, terms), ZERO)
    flushed = ZERO if precision.strict else precision.format.smallest_normal
    if additions == 1:
        partial_sums = _partial_sums(terms)
        if has_exact_terms:
            partial_sums = [partial for partial in partial_sums if not _survives_rounding(partial, precision)]
        errors = ((abs(partial) + width) * precision.unit_roundoff_for(partial) for partial in partial_sums)
        lost = max((max(error, flushed) for error in errors), default=ZERO)
        largest = max(map(abs, partial_sums), default=ZERO)
    else:
        largest = max(sum((max(sign * term, ZERO) for term in terms), ZERO) for sign in (1, -1))
        u = precision.format.unit_roundoff
        lost = (largest + width) * ((ONE + u) ** additions - ONE) + additions * flushed
    return lost, largest + width >= precision.format.overflow_threshold


def _partial_sums(terms: tuple[Decimal, ...]) -> list[Decimal]:
    return [sum(some, ZERO) for size in range(2, len(terms)) for some in combinations(terms, size)]


def _survives_rounding(partial: Decimal, precision: Precision) -> bool:
    """Return whether a partial sum is exact in the precision: neither rounded nor flushed to zero."""
    can_be_flushed = not precision.strict and ZERO < abs(partial) < precision.format.smallest_normal
    return precision.can_represent(partial) and not can_be_flushed


# Products


def _is_exact_product(value: Decimal, factors: tuple[Decimal, ...], precision: Precision) -> bool:
    """Return whether every order of multiplying the factors is exact: every partial product is representable."""
    if not value or not precision.can_represent(value):
        return not value
    if not precision.format.unit_roundoff:
        return True
    if len(factors) < 3 or len(factors := _order_sensitive_factors(factors)) < 3:
        return True
    partial_products = (
        prod(some, start=ONE) for size in range(2, len(factors)) for some in combinations(factors, size)
    )
    return len(factors) <= MAX_ENUMERATED_FACTORS and all(map(precision.can_represent, partial_products))


def _order_sensitive_factors(factors: tuple[Decimal, ...]) -> tuple[Decimal, ...]:
    """Return the factors whose order can change a rounding: all except 0 and the powers of two."""
    return tuple(factor for factor in factors if factor and not is_power_of_two(factor))


def _extra_roundings(a: BoundedNumber, b: BoundedNumber) -> int:
    """Return how many more roundings a * b can have if the factors of a and b are multiplied in another order."""
    products = [number.factors for number in (a, b) if len(number.factors) > 1 and number.is_exact]
    return sum(max(len(_order_sensitive_factors(factors)) - 1, 0) for factors in products)


def _surviving_terms(a: BoundedNumber, b: BoundedNumber) -> tuple[Decimal, ...]:
    """Return the terms of the product a * b, which is a sum only if one factor is exactly 1; otherwise ()."""
    for factor, other in ((a, b), (b, a)):
        if factor.value == ONE and factor.is_exact:
            return other.terms
    return ()


def _zero_times_infinity_disagrees(zero: BoundedNumber, other: BoundedNumber) -> bool:
    """Return whether `zero * other` is NaN by IEEE 754, but 0 in an evaluation that skips products with a factor 0."""
    return not other.precision.strict and zero.can_be_zero and not other.value.is_finite()


def _can_leave_range(value: Decimal, span: tuple[Decimal, Decimal], format: FloatFormat) -> bool:
    """Return whether another order of multiplications can leave the range of the format, although the product is in it.

    Args:
        value: the product.
        span: the largest and the smallest intermediate magnitude over all orders.
        format: the format.
    """
    peak, trough = span
    if not value.is_finite():
        return False
    if not value:  # one factor is 0, and the product of the other factors overflows
        return peak >= format.overflow_threshold
    return peak >= format.overflow_threshold or (trough < format.smallest_normal and 2 * trough < abs(value))


def is_power_of_two(value: Decimal) -> bool:
    """Return whether a value is a power of two, so that multiplying or dividing by it does not round.

    A value far beyond all formats does not count as a power of two.
    """
    if not value.is_finite() or _is_beyond_all_formats(value):
        return False
    numerator, denominator = value.as_integer_ratio()
    return abs(numerator).bit_count() == 1 and denominator.bit_count() == 1


def _is_beyond_all_formats(value: Decimal) -> bool:
    """Return whether a value is so large or so small that no format can represent it.

    `is_power_of_two` does not convert such a value to an exact fraction, because the fraction would be too long.
    """
    return value.is_finite() and bool(value) and abs(value.adjusted()) > MAX_DECIMAL_EXPONENT


# Errors of operands


def _negate(number: BoundedNumber) -> BoundedNumber:
    """Return a number with the opposite sign. Negation does not round."""
    result = BoundedNumber(
        _negate_end(number.value),
        number.precision,
        (_negate_end(number.high), _negate_end(number.low)),
        is_indeterminate=number.is_indeterminate,
        terms=tuple(map(neg, number.terms)),
        affine_form=number.affine_form and number.affine_form * -ONE,
    )
    result.addends = tuple(map(_negate, number.addends))
    return result


def _negate_end(end: Decimal) -> Decimal:
    return end if end.is_nan() else end.copy_negate()


def _correlate_scalar_error(a: BoundedNumber, b: BoundedNumber) -> None:
    """Give the error of a scalar one noise symbol if the other number is a tensor element.

    All elements of the tensor then have the same error of the scalar in common. The argument is changed in place.
    """
    for scalar, other in ((a, b), (b, a)):
        precision = scalar.precision
        meets_tensor = precision.has_shared_scalar_error and precision.role < other.precision.role is Role.TENSOR
        if meets_tensor and scalar.affine_form is None and not scalar.is_exact and scalar.is_finite:
            scalar.affine_form = scalar.error.as_independent_symbol()


def _operand_errors(a: BoundedNumber, b: BoundedNumber) -> tuple[AffineForm, AffineForm] | None:
    """Return the errors of two operands as affine forms; None if neither has an affine form, or one is not finite."""
    if a.precision.has_shared_scalar_error or b.precision.has_shared_scalar_error:
        _correlate_scalar_error(a, b)
    if a.affine_form is None and b.affine_form is None:
        return None
    return (a.error, b.error) if a.is_finite and b.is_finite else None


def first_order_form(number: BoundedNumber, derivative: Decimal) -> AffineForm | None:
    """Return the first-order error of a function's result: the error of the argument times the derivative.

    Only evaluations with an adversary use this error, to find out in which direction each error moves the result.

    Args:
        number: the argument of the function.
        derivative: the derivative of the function at the argument.

    Returns:
        The error as an affine form; None without an adversary, or if the argument has no affine form.
    """
    if number.precision.adversary is None or number.affine_form is None or not derivative.is_finite():
        return None
    return number.affine_form * derivative


# Rounding of a result


def _round_result(
    value: Decimal,
    interval: Interval,
    precision: Precision,
    error: Decimal,
    *,
    is_indeterminate: bool = False,
    span: tuple[Decimal, Decimal] | None = None,
    terms: tuple[Decimal, ...] = (),
    factors: tuple[Decimal, ...] = (),
    affine_form: AffineForm | None = None,
) -> BoundedNumber:
    """Return the result of an operation, with the interval widened by rounding, overflow and underflow."""
    if value.is_nan():
        return BoundedNumber(value, precision, is_indeterminate=is_indeterminate)
    if interval[0].is_nan() or interval[1].is_nan():
        return BoundedNumber(value, precision, (-INFINITY, INFINITY), is_indeterminate=True)
    round = _widen if precision.adversary is None else precision.adversary.round
    low, high, form = round(value, interval, precision, error, affine_form)
    format = precision.format
    overflows = (high >= format.overflow_threshold or low <= -format.overflow_threshold) and value.is_finite()
    if overflows:
        low = -INFINITY if low <= -format.overflow_threshold else low
        high = INFINITY if high >= format.overflow_threshold else high
        form = None
    leaves_range = span is not None and _can_leave_range(value, span, format)
    is_indeterminate = is_indeterminate or overflows or leaves_range
    return BoundedNumber(
        value,
        precision,
        (low, high),
        is_indeterminate=is_indeterminate,
        span=span,
        terms=terms,
        factors=factors,
        affine_form=form,
    )


def _widen(
    value: Decimal, interval: Interval, precision: Precision, error: Decimal, form: AffineForm | None
) -> tuple[Decimal, Decimal, AffineForm | None]:
    """Return an interval, as (low, high), and an affine form, both widened by a relative error and by underflow.

    If there is an affine form, the returned interval is the intersection of the two enclosures.
    """
    low, high = interval
    smallest_normal = precision.format.smallest_normal
    if error:
        low = low - abs(low) * error if low.is_finite() else low
        high = high + abs(high) * error if high.is_finite() else high
    if low < smallest_normal and high > -smallest_normal and (value or low != high):
        low, high = _widen_for_underflow(low, high, precision, is_rounded=bool(error))
    if form is None:
        return low, high, None
    form = _widen_form(form, value, precision, error)
    below, above = form.range
    return max(low, value + below), min(high, value + above), form


def _widen_form(form: AffineForm, value: Decimal, precision: Precision, error: Decimal) -> AffineForm:
    """Return an affine form widened by a relative error and by underflow."""
    low, high = (value + end for end in form.range)
    smallest_normal = precision.format.smallest_normal
    lost = max(abs(low), abs(high)) * error
    if low < smallest_normal and high > -smallest_normal and (value or low != high):
        lost += precision.format.smallest_subnormal if error else ZERO
        lost += ZERO if precision.strict else smallest_normal
    return form.widen(lost)


def _widen_for_underflow(low: Decimal, high: Decimal, precision: Precision, *, is_rounded: bool) -> Interval:
    """Return an interval with ends below the smallest normal value, widened by the errors of subnormal results.

    These errors are the coarse rounding of subnormal numbers and, unless `precision.strict`, a flush to zero.

    Rounding never changes a sign, so an end of the interval does not cross zero.
    """
    step = precision.format.smallest_subnormal if is_rounded else ZERO
    low = max(low - step, ZERO) if low >= 0 else low - step
    high = min(high + step, ZERO) if high <= 0 else high + step
    return (low, high) if precision.strict else (min(low, ZERO), max(high, ZERO))


def _compound_error(error: Decimal, count: int) -> Decimal:
    """Return the relative error of `count` roundings, one after the other."""
    return error if count == 1 else (ONE + error) ** count - ONE


def _hull(ends: list[Decimal]) -> Interval:
    """Return the smallest interval that contains all the decimals; (NaN, NaN) if one of them is NaN."""
    if any(map(Decimal.is_nan, ends)):
        return Decimal("NaN"), Decimal("NaN")
    return min(ends), max(ends)
