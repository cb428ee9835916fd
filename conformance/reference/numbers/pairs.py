"""What two bounded numbers have to do with each other before they are combined."""

from __future__ import annotations

from decimal import Decimal
from operator import neg
from typing import TYPE_CHECKING

from conformance.reference.numbers import rounding
from conformance.reference.numbers.precision import Role

if TYPE_CHECKING:
    from conformance.reference.numbers.affine import Affine
    from conformance.reference.numbers.bounded import Bounded

ONE = Decimal(1)


def spare(a: Bounded, b: Bounded) -> int:
    """How many roundings another order makes of products that are exact as they are written."""
    products = [number.factors for number in (a, b) if len(number.factors) > 1 and number.is_exact]
    return sum(max(len(rounding.turning(factors)) - 1, 0) for factors in products)


def kept(a: Bounded, b: Bounded) -> tuple[Decimal, ...]:
    """The terms of the other factor where one is exactly 1: to multiply by it does not end a chain of sums."""
    for one, other in ((a, b), (b, a)):
        if one.value == ONE and one.is_exact:
            return other.terms
    return ()


def negated(a: Bounded, b: Bounded) -> Bounded:
    """What is added to a where b is subtracted: b with the other sign, which rounds nothing."""
    share(a, b)
    return _negated(b)


def _negated(number: Bounded) -> Bounded:
    value, low, high = map(_opposite, (number.value, number.high, number.low))
    terms, form = tuple(map(neg, number.terms)), number.form and number.form.times(-ONE)
    other = type(number)(value, number.precision, (low, high), doubt=number.doubt, terms=terms, form=form)
    other.addends = tuple(map(_negated, number.addends))
    return other


def _opposite(end: Decimal) -> Decimal:
    return end if end.is_nan() else end.copy_negate()


def in_order(a: Bounded, b: Bounded) -> tuple[Bounded, Bounded]:
    """What is added last, in the order that the adversary chose, if there is one."""
    first = 0 if a.precision.adversary is None else a.precision.adversary.order
    for number, other in ((a, b), (b, a)):
        if first and number.addends:
            one, another = number.addends[::first]
            return one + other, another
    return a, b


def share(a: Bounded, b: Bounded) -> None:
    """Make the error of a scalar, where it meets a tensor, one value for all elements that it goes into."""
    for scalar, other in ((a, b), (b, a)):
        shared = scalar.precision.shared and scalar.precision.role < other.precision.role is Role.TENSOR
        if shared and scalar.form is None and not scalar.is_exact and scalar.is_finite:
            scalar.form = scalar.error.handed_on()


def errors(a: Bounded, b: Bounded) -> tuple[Affine, Affine] | None:
    """Two operands' errors, or None where neither is in part that of a tensor handed on, or they have no limits."""
    if a.precision.shared or b.precision.shared:
        share(a, b)
    if a.form is None and b.form is None:
        return None
    return (a.error, b.error) if a.is_finite and b.is_finite else None


def slope(number: Bounded, derivative: Decimal) -> Affine | None:
    """For an adversary, who asks which way errors go, that of a function of a number to first order; else None."""
    if number.precision.adversary is None or number.form is None or not derivative.is_finite():
        return None
    return number.form.times(derivative)


def skips(zero: Bounded, other: Bounded) -> bool:
    """Whether `zero * other` is NaN by IEEE 754 but 0 for an evaluation that skips a zero term."""
    return not other.precision.strict and zero.can_be_zero and not other.value.is_finite()
