"""Adversaries: classes that construct an admissible evaluation of a formula with a large error.

An admissible evaluation may round each intermediate result up or down. `RecordingAdversary` evaluates a formula once
and records, for each rounding, in which direction it moves the result. (It uses affine arithmetic: each rounding is a
noise symbol, and the sign of its coefficient is the direction.) `ReplayingAdversary` evaluates the formula again and
makes each rounding as large as permitted, such that all roundings move the result in the same direction. The
computation does not use the rules from which bounds are computed. Its error is therefore a lower limit for every
correct bound.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from itertools import count
from typing import TYPE_CHECKING

from conformance.exact.reference.numbers.affine import AffineForm, Coefficients

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exact.reference.numbers.affine import Interval
    from conformance.exact.reference.numbers.precision import Precision


ZERO = Decimal(0)


def _rounding_ids() -> Iterator[int]:
    """Return an iterator of unused ids for roundings; they are negative, unlike the ids of other noise symbols."""
    return count(-1, -1)


@dataclass(frozen=True)
class RecordingAdversary:
    """Rounds every number up, and records the effect of each rounding in affine forms.

    Attributes:
        order: the two of three terms that are added first (see `Adversary`).
        rounding_ids: the ids of the roundings, in the order of the evaluation.
    """

    order: int = 0
    rounding_ids: Iterator[int] = field(default_factory=_rounding_ids)

    def round(
        self, value: Decimal, interval: Interval, precision: Precision, error: Decimal, form: AffineForm | None
    ) -> tuple[Decimal, Decimal, AffineForm | None]:
        """Return the interval rounded up, and the affine form with one more noise symbol."""
        rounding = next(self.rounding_ids)
        if not value.is_finite() or not interval[0].is_finite():
            return *interval, None
        lost = abs(value) if _may_be_flushed(value, precision) else abs(value) * error
        low, high = (end + abs(end) * error for end in interval)
        return low, high, AffineForm(Coefficients({**(form.coefficients if form else {}), rounding: lost}))


@dataclass(frozen=True)
class ReplayingAdversary:
    """Rounds every number as far as permitted, up or down.

    Attributes:
        signs: the direction of each rounding, 1 or -1, by its id. A number without an entry is not rounded.
        order: the two of three terms that are added first (see `Adversary`).
        rounding_ids: the ids of the roundings, in the order of the evaluation.
    """

    signs: Mapping[int, int]
    order: int = 0
    rounding_ids: Iterator[int] = field(default_factory=_rounding_ids)

    def round(
        self, value: Decimal, interval: Interval, precision: Precision, error: Decimal, form: AffineForm | None
    ) -> tuple[Decimal, Decimal, AffineForm | None]:
        """Return the rounded number as an interval of width 0, and no affine form."""
        del form
        sign = self.signs.get(next(self.rounding_ids), 0)
        low, high = interval
        if not sign or low != high or not value.is_finite():
            return low, high, None
        if sign * low < 0 and _may_be_flushed(low, precision):
            return ZERO, ZERO, None
        rounded = low + sign * abs(low) * error
        return rounded, rounded, None


def _may_be_flushed(number: Decimal, precision: Precision) -> bool:
    return not precision.strict and ZERO < abs(number) < precision.format.smallest_normal
