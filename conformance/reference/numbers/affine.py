"""Affine forms: how far an evaluation is from an exact value, as a sum of what earlier errors contribute to it.

A tensor that a node hands on has one value, whatever rounding made it, so its error is the same wherever it is used:
`X - R * A * (X - B)` brings an error in X nearer to 0, and an interval, which takes the two X for different ones,
further away. The error of such a tensor is a unit error of its own, between -1 and 1, with a coefficient in every
number that comes of it: a derivative times the error's size. What an operation rounds, and all that is of second
order, is a remainder. (Affine arithmetic: Comba and Stolfi, 1993.)
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from functools import cached_property
from itertools import count, repeat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

Interval: TypeAlias = "tuple[Decimal, Decimal]"

DIGITS = Context(prec=38, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
"""For coefficients: many more than cancel, and `ROUNDED` makes up for what is lost of them."""

ROUNDED = Decimal(1) + Decimal("1e-20")

ZERO, ONE, TWO = Decimal(0), Decimal(1), Decimal(2)

_numbers = count()


class Parts(dict[int, Decimal]):
    """By the number of a unit error its coefficient; not changed once they are in a form."""

    @cached_property
    def reach(self) -> Decimal:
        """How far the unit errors go together."""
        return sum(map(abs, self.values()), ZERO) * ROUNDED


@dataclass(frozen=True)
class Affine:
    """The error of a number.

    Attributes:
        base: what each unit error contributes, but for the scale.
        low: the least that is left beside these, not above 0.
        high: the most, not below 0.
        scale: what the base is to be multiplied by: a product with an exact number is not carried out part by part.
    """

    base: Parts
    low: Decimal = ZERO
    high: Decimal = ZERO
    scale: Decimal = ONE

    @classmethod
    def shared(cls, low: Decimal, high: Decimal) -> Affine:
        """A unit error of its own for an error in this interval; what is longer on one side stays a remainder."""
        size = min(-low, high)
        parts = Parts({next(_numbers): size} if size else {})
        return cls(parts, low + size, high - size)

    @property
    def parts(self) -> Parts:
        """By the number of a unit error its coefficient."""
        if self.scale == ONE:
            return self.base
        scaled = map(DIGITS.multiply, self.base.values(), repeat(self.scale))
        return Parts(zip(self.base, scaled, strict=True))

    @property
    def range(self) -> Interval:
        """The least and the largest error."""
        reach = abs(self.scale) * self.base.reach
        return self.low - reach, self.high + reach

    def handed_on(self) -> Affine:
        """The same error, its remainder from now on a unit error of its own."""
        own = Affine.shared(self.low, self.high)
        return Affine(Parts(self.parts | own.base), own.low, own.high)

    def renumbered(self, numbers: Mapping[int, int]) -> Affine:
        """The error of a number that came about alike, of others: with these unit errors, and new ones for the rest."""
        parts = ((numbers[key] if key in numbers else next(_numbers), part) for key, part in self.base.items())
        return Affine(Parts(parts), self.low, self.high, self.scale)

    def widened(self, error: Decimal) -> Affine:
        """With so much more error on both sides."""
        return self.plus_interval((-error, error))

    def plus(self, other: Affine) -> Affine:
        """The error of a sum."""
        low, high = self.low + other.low, self.high + other.high
        if self.base is other.base:
            return Affine(self.base, low, high, self.scale + other.scale)
        if not self.base or not other.base:
            parted = self if self.base else other
            return Affine(parted.base, low, high, parted.scale)
        parts = Parts(self.parts)
        for key, part in other.base.items():
            parts[key] = DIGITS.fma(part, other.scale, parts.get(key, ZERO))
        return Affine(parts, low, high)

    def minus(self, other: Affine) -> Affine:
        """The error of a difference."""
        return self.plus(other.times(-ONE))

    def times(self, factor: Decimal) -> Affine:
        """The error of a product with an exact factor."""
        ends = sorted((DIGITS.multiply(self.low, factor), DIGITS.multiply(self.high, factor)))
        return Affine(self.base, ends[0], ends[1], DIGITS.multiply(self.scale, factor))

    def plus_interval(self, interval: Interval) -> Affine:
        """With an error more that lies in this interval, around 0."""
        return Affine(self.base, self.low + interval[0], self.high + interval[1], self.scale)


def product(a: Decimal, A: Affine, b: Decimal, B: Affine) -> Affine:
    """The error of a * b, where a and b have these."""
    return A.times(b).plus(B.times(a)).plus_interval(_times(A.range, B.range))


def quotient(a: Decimal, A: Affine, b: Decimal, B: Affine) -> Affine | None:
    """The error of a / b: (A - B * a / b) / b, and that times -s / (1 + s) where s = B / b."""
    first = A.plus(B.times(-a / b)).times(ONE / b)
    low, high = sorted(end / b for end in B.range)
    if low <= -ONE:
        return None
    return first.plus_interval(_times(first.range, (-high / (ONE + high), -low / (ONE + low))))


def root(value: Decimal, A: Affine) -> Affine | None:
    """The error of a square root r: A / 2r, and A times 1 / (Sqrt(value + A) + r) - 1 / 2r."""
    r = value.sqrt()
    low, high = A.range
    if not r or value + low < 0:
        return None
    slopes = [ONE / ((value + end).sqrt() + r) - ONE / (TWO * r) for end in (high, low)]
    return A.times(ONE / (TWO * r)).plus_interval(_times((low, high), (slopes[0], slopes[1])))


def hull(A: Affine, B: Affine) -> Affine:
    """An error that is the one or the other."""
    apart = A.minus(B)
    return Affine(A.base, min(A.low, B.low), max(A.high, B.high), A.scale).widened(abs(apart.scale) * apart.base.reach)


def _times(a: Interval, b: Interval) -> Interval:
    products = [x * y for x in a for y in b]
    return min(*products, ZERO), max(*products, ZERO)
