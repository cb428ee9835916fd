"""What the rounding of an operation makes of the interval, and of the affine form, of its results before it."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from conformance.reference.numbers import rounding

if TYPE_CHECKING:
    from conformance.reference.numbers.affine import Affine
    from conformance.reference.numbers.precision import Precision

ZERO = Decimal(0)


def widened(
    value: Decimal, interval: tuple[Decimal, Decimal], precision: Precision, error: Decimal, form: Affine | None
) -> tuple[Decimal, Decimal, Affine | None]:
    """An interval, and an affine form, with a relative error, flushed where that is admissible.

    Returns:
        The ends of the interval, which is the narrower of the two, and the form.
    """
    low, high = interval
    least = precision.format.smallest_normal
    if error:
        low = low - abs(low) * error if low.is_finite() else low
        high = high + abs(high) * error if high.is_finite() else high
    if low < least and high > -least and (value or low != high):
        low, high = rounding.underflowing(low, high, precision, rounded=bool(error))
    if form is None:
        return low, high, None
    form = _widened(form, value, precision, error)
    below, above = form.range
    return max(low, value + below), min(high, value + above), form


def _widened(form: Affine, value: Decimal, precision: Precision, error: Decimal) -> Affine:
    """An affine form whose every error may be rounded either way."""
    low, high = (value + end for end in form.range)
    least = precision.format.smallest_normal
    lost = max(abs(low), abs(high)) * error
    if low < least and high > -least and (value or low != high):
        lost += precision.format.smallest_subnormal if error else ZERO
        lost += ZERO if precision.strict else least
    return form.widened(lost)
