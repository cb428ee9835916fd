"""An adversary: the one evaluation among the admissible that goes furthest astray, found and then carried out.

Each rounding of an evaluation is a choice. `Recording` carries an affine form through a formula in which every rounding
is a unit error of its own, so that a result's coefficients say which way each rounding moves it: their signs are
derivatives' signs. `Replaying` computes once more, with every rounding as large as is admissible and chosen by these
signs. What comes out is an admissible evaluation, computed by arithmetic on numbers and not by the bound's rules: its
error is what an adversary attains.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from itertools import count
from typing import TYPE_CHECKING, Protocol

from conformance.reference.numbers.affine import Affine, Parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.reference.numbers.affine import Interval
    from conformance.reference.numbers.precision import Precision

ZERO = Decimal(0)


class Adversary(Protocol):
    """Who is asked about every rounding, in the order of the evaluation."""

    @property
    def order(self) -> int:
        """Of three terms, which two are added first.

        0 for those of the formula, 1 for the first and the third, -1 for the second and the third.
        """

    def rounded(
        self, value: Decimal, interval: Interval, precision: Precision, error: Decimal, form: Affine | None
    ) -> tuple[Decimal, Decimal, Affine | None]:
        """The interval and the form after a rounding with at most this relative error."""


def _rounding_numbers() -> Iterator[int]:
    """Below 0, apart from the unit errors of tensors that are handed on."""
    return count(-1, -1)


@dataclass(frozen=True)
class Recording:
    """Rounds everything up, and notes in affine forms what each rounding does."""

    order: int = 0
    numbers: Iterator[int] = field(default_factory=_rounding_numbers)

    def rounded(
        self, value: Decimal, interval: Interval, precision: Precision, error: Decimal, form: Affine | None
    ) -> tuple[Decimal, Decimal, Affine | None]:
        """The number rounded, its error with one part more."""
        number = next(self.numbers)
        if not value.is_finite() or not interval[0].is_finite():
            return *interval, None
        lost = abs(value) if _may_be_flushed(value, precision) else abs(value) * error
        low, high = (end + abs(end) * error for end in interval)
        return low, high, Affine(Parts({**(form.parts if form else {}), number: lost}))


@dataclass(frozen=True)
class Replaying:
    """Rounds as far as is admissible, up, down or not at all.

    Attributes:
        signs: by the number of a rounding 1 or -1; those that are left out are not made.
    """

    signs: Mapping[int, int]
    order: int = 0
    numbers: Iterator[int] = field(default_factory=_rounding_numbers)

    def rounded(
        self, value: Decimal, interval: Interval, precision: Precision, error: Decimal, form: Affine | None
    ) -> tuple[Decimal, Decimal, Affine | None]:
        """The number that the rounding makes, as an interval of no width."""
        del form
        sign = self.signs.get(next(self.numbers), 0)
        low, high = interval
        if not sign or low != high or not value.is_finite():
            return low, high, None
        if sign * low < 0 and _may_be_flushed(low, precision):
            return ZERO, ZERO, None
        moved = low + sign * abs(low) * error
        return moved, moved, None


def _may_be_flushed(number: Decimal, precision: Precision) -> bool:
    return not precision.strict and ZERO < abs(number) < precision.format.smallest_normal
