"""What two bounded numbers have to do with each other before they are combined."""

from __future__ import annotations

from decimal import Decimal
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
        if one.is_exact and one.value == ONE:
            return other.terms
    return ()


def errors(a: Bounded, b: Bounded) -> tuple[Affine, Affine] | None:
    """Two operands' errors, or None where neither is in part that of a tensor handed on, or they have no limits."""
    for scalar, other in ((a, b), (b, a)):
        shared = scalar.precision.shared and scalar.precision.role < other.precision.role is Role.TENSOR
        if shared and scalar.form is None and not scalar.is_exact and scalar.is_finite:
            scalar.form = scalar.error.handed_on()
    if a.form is None and b.form is None:
        return None
    return (a.error, b.error) if a.is_finite and b.is_finite else None


def skips(zero: Bounded, other: Bounded) -> bool:
    """Whether `zero * other` is NaN by IEEE 754 but 0 for an evaluation that skips a zero term."""
    return not other.precision.strict and zero.can_be_zero and not other.value.is_finite()
