"""What rounding, underflow and the order of evaluation do to exact values: the rules of the bounded number system."""

from __future__ import annotations

from decimal import Decimal
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.models.formats import Format
    from conformance.reference.numbers.precision import Precision

ZERO, ONE = Decimal(0), Decimal(1)

MOST_TERMS = 8
"""How many terms of a chain of sums may be added in another order."""

MOST_SUMMED = 4
"""How many terms of a sum are looked at in every order."""

MOST_FACTORS = 4
"""How many factors of an exact product are multiplied in every order."""

MOST_DIGITS = 10_000
"""A power of ten above all products of doubles that are met here; a formula's powers go far beyond it."""


def sums_exactly(terms: tuple[Decimal, ...], precision: Precision) -> bool:
    """Whether no order of adding the terms rounds or flushes: all partial sums are few enough multiples of one unit.

    Or each of them, where there are not too many to look at, is representable. Two terms have one order only.
    """
    if not precision.format.unit_roundoff:
        return True
    if any(_is_beyond_formats(term) for term in terms):
        return False
    counting = [term for term in terms if term.is_finite() and term]
    if len(counting) < 3:
        return True
    ratios = [term.as_integer_ratio() for term in counting]
    unit = min(Decimal(numerator & -numerator) / denominator for numerator, denominator in ratios)
    few = sum(map(abs, terms), ZERO) <= unit * 2**precision.format.precision
    if few and (precision.strict or unit >= precision.format.smallest_normal):
        return True
    return len(terms) <= MOST_SUMMED and all(_is_kept(partial, precision) for partial in _partial_sums(terms))


def lost_before_the_last(
    terms: tuple[Decimal, ...], width: Decimal, precision: Precision, *, exact: bool
) -> tuple[Decimal, bool]:
    """How much the additions before the last one lose in some order, and whether one of them may overflow.

    Args:
        terms: what is added; of two there is one addition only.
        width: how far their evaluations may be from them, all together.
        exact: whether every evaluation is these very terms, so that a partial sum that is representable loses nothing.
    """
    more = len(terms) - 2
    if more <= 0:
        return ZERO, False
    width = width if width.is_finite() else sum(map(abs, terms), ZERO)
    least = ZERO if precision.strict else precision.format.smallest_normal
    if more == 1:
        sums = [some for some in _partial_sums(terms) if not (exact and _is_kept(some, precision))]
        lost = max((max((abs(some) + width) * precision.roundoff(some), least) for some in sums), default=ZERO)
        largest = max(map(abs, sums), default=ZERO)
    else:
        largest = max(sum((max(sign * term, ZERO) for term in terms), ZERO) for sign in (1, -1))
        lost = (largest + width) * ((ONE + precision.format.unit_roundoff) ** more - ONE) + more * least
    return lost, largest + width >= precision.format.overflow_threshold


def _partial_sums(terms: tuple[Decimal, ...]) -> list[Decimal]:
    return [sum(some, ZERO) for size in range(2, len(terms)) for some in combinations(terms, size)]


def _is_kept(partial: Decimal, precision: Precision) -> bool:
    """Whether a partial sum is neither rounded nor flushed."""
    flushed = not precision.strict and ZERO < abs(partial) < precision.format.smallest_normal
    return precision.fits(partial) and not flushed


def turning(factors: tuple[Decimal, ...]) -> tuple[Decimal, ...]:
    """The factors whose order may matter: a power of two rounds nothing, and 0 leaves nothing to round."""
    return tuple(factor for factor in factors if factor and not is_power_of_two(factor))


def multiplies_exactly(value: Decimal, factors: tuple[Decimal, ...], precision: Precision) -> bool:
    """Whether no order of multiplying the factors rounds: the product of any of them is representable."""
    if not value or not precision.fits(value):
        return not value
    if not precision.format.unit_roundoff:
        return True
    if len(factors) < 3 or len(factors := turning(factors)) < 3:
        return True
    parts = (prod(some, start=ONE) for size in range(2, len(factors)) for some in combinations(factors, size))
    return len(factors) <= MOST_FACTORS and all(map(precision.fits, parts))


def underflowing(low: Decimal, high: Decimal, precision: Precision, *, rounded: bool) -> tuple[Decimal, Decimal]:
    """An interval that reaches below the smallest normal value: gradual underflow, and zero where flushed.

    No rounding changes a sign.
    """
    step = precision.format.smallest_subnormal if rounded else ZERO
    low = max(low - step, ZERO) if low >= 0 else low - step
    high = min(high + step, ZERO) if high <= 0 else high + step
    return (low, high) if precision.strict else (min(low, ZERO), max(high, ZERO))


def association_matters(value: Decimal, span: tuple[Decimal, Decimal], format: Format) -> bool:
    """Whether another association of a product's factors leaves the format's range where the product does not."""
    peak, trough = span
    if not value.is_finite():
        return False
    if not value:  # a factor of 0 beside a product of others that overflows
        return peak >= format.overflow_threshold
    return peak >= format.overflow_threshold or (trough < format.smallest_normal and 2 * trough < abs(value))


def is_power_of_two(value: Decimal) -> bool:
    """Whether multiplying or dividing by a value rounds nothing; no value far beyond all formats counts as one."""
    if not value.is_finite() or _is_beyond_formats(value):
        return False
    numerator, denominator = value.as_integer_ratio()
    return abs(numerator).bit_count() == 1 and denominator.bit_count() == 1


def _is_beyond_formats(value: Decimal) -> bool:
    """Whether a value is so large or so small that its integers need not be written out to know that it is no float."""
    return value.is_finite() and bool(value) and abs(value.adjusted()) > MOST_DIGITS


def several(error: Decimal, count: int) -> Decimal:
    """The relative error of so many roundings, one upon the other."""
    return error if count == 1 else (ONE + error) ** count - ONE


def hull(ends: list[Decimal]) -> tuple[Decimal, Decimal]:
    """The smallest interval around some decimals; NaN if one of them is."""
    if any(map(Decimal.is_nan, ends)):
        return Decimal("NaN"), Decimal("NaN")
    return min(ends), max(ends)
