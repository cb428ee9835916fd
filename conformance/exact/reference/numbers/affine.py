"""Affine arithmetic: the error of a number as a sum of contributions of earlier errors (Comba and Stolfi, 1993).

A tensor that one node computes and another reads has one value, whatever rounding produced it. Its error is therefore
the same wherever it is used. In `X - R * A * (X - B)` an error of X cancels in part. Interval arithmetic treats the two
occurrences of X as different numbers, and its result is too wide.

In an affine form, the error of such a tensor is a *noise symbol*: an unknown number between -1 and 1. Every number
computed from the tensor has a coefficient for the symbol: a derivative times the size of the error. The *remainder*, an
interval, holds the errors without a symbol: roundings of the operations since then, and all terms of second order.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from functools import cached_property
from itertools import count, repeat
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

Interval: TypeAlias = "tuple[Decimal, Decimal]"

COEFFICIENT_CONTEXT = Context(prec=38, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
"""The decimal context of coefficients. It has far more digits than cancel; `ROUNDING_MARGIN` covers lost digits."""

ROUNDING_MARGIN = Decimal(1) + Decimal("1e-20")
"""The factor by which a sum of coefficients is enlarged, to cover their rounding errors."""

ZERO = Decimal(0)
ONE = Decimal(1)
TWO = Decimal(2)

_symbol_ids = count()


class Coefficients(dict[int, Decimal]):
    """The coefficient of each noise symbol, by the symbol's id. Do not change a mapping that is part of a form."""

    @cached_property
    def magnitude(self) -> Decimal:
        """The largest absolute value that the sum of all symbols times their coefficients can have."""
        return sum(map(abs, self.values()), ZERO) * ROUNDING_MARGIN


class AffineForm(Struct, frozen=True):
    """The error of a number: a sum of noise symbols with coefficients, and a remainder.

    Attributes:
        base: the coefficients of the noise symbols, before they are multiplied by `scale`.
        low: the lower end of the remainder, not above 0.
        high: the upper end of the remainder, not below 0.
        scale: the factor of all coefficients. A product with an exact number only changes this factor.
    """

    base: Coefficients
    low: Decimal = ZERO
    high: Decimal = ZERO
    scale: Decimal = ONE

    @property
    def coefficients(self) -> Coefficients:
        """The coefficients of the noise symbols."""
        if self.scale == ONE:
            return self.base
        scaled = map(COEFFICIENT_CONTEXT.multiply, self.base.values(), repeat(self.scale))
        return Coefficients(zip(self.base, scaled, strict=True))

    @property
    def range(self) -> Interval:
        """The smallest and the largest error."""
        magnitude = abs(self.scale) * self.base.magnitude
        return self.low - magnitude, self.high + magnitude

    def as_independent_symbol(self) -> AffineForm:
        """Return the same error with a new noise symbol in place of the remainder.

        The range of a symbol is symmetric. If the remainder is larger on one side, the excess stays a remainder.
        """
        size = min(-self.low, self.high)
        symbol = Coefficients({next(_symbol_ids): size} if size else {})
        return AffineForm(Coefficients(self.coefficients | symbol), self.low + size, self.high - size)

    def with_symbols(self, ids: Mapping[int, int]) -> AffineForm:
        """Return the form with other noise symbols, for a number that was computed in the same way from other tensors.

        Args:
            ids: for the id of a noise symbol, the id of the symbol that replaces it. A symbol without an entry is
                replaced by a new symbol.
        """
        items = ((ids[key] if key in ids else next(_symbol_ids), part) for key, part in self.base.items())
        return AffineForm(Coefficients(items), self.low, self.high, self.scale)

    def widen(self, error: Decimal) -> AffineForm:
        """Return the form with `error` added to the remainder on both sides."""
        return self.add_interval((-error, error))

    def add_interval(self, interval: Interval) -> AffineForm:
        """Return the form with an interval around 0 added to its remainder."""
        return AffineForm(self.base, self.low + interval[0], self.high + interval[1], self.scale)

    def __add__(self, other: AffineForm) -> AffineForm:
        """Return the error of the sum of two numbers, given their errors."""
        low = self.low + other.low
        high = self.high + other.high
        if self.base is other.base:
            return AffineForm(self.base, low, high, self.scale + other.scale)
        if not self.base or not other.base:
            with_symbols = self if self.base else other
            return AffineForm(with_symbols.base, low, high, with_symbols.scale)
        coefficients = Coefficients(self.coefficients)
        own = map(coefficients.get, other.base, repeat(ZERO))
        sums = map(COEFFICIENT_CONTEXT.fma, other.base.values(), repeat(other.scale), own)
        coefficients.update(zip(other.base, sums, strict=True))
        return AffineForm(coefficients, low, high)

    def __sub__(self, other: AffineForm) -> AffineForm:
        """Return the error of the difference of two numbers, given their errors."""
        return self + other * -ONE

    def __mul__(self, factor: Decimal) -> AffineForm:
        """Return the error of a number times an exact factor, given the number's error."""
        multiply = COEFFICIENT_CONTEXT.multiply
        low, high = sorted((multiply(self.low, factor), multiply(self.high, factor)))
        return AffineForm(self.base, low, high, multiply(self.scale, factor))


def product_error(a: Decimal, A: AffineForm, b: Decimal, B: AffineForm) -> AffineForm:
    """Return the error of the product a * b, where a has the error A and b has the error B."""
    return (A * b + B * a).add_interval(_interval_product(A.range, B.range))


def quotient_error(a: Decimal, A: AffineForm, b: Decimal, B: AffineForm) -> AffineForm | None:
    """Return the error of a / b, where a has the error A and b the error B; None if b may be 0.

    To first order it is F = (A - B * a / b) / b. The rest is F * -s / (1 + s), where s = B / b.
    """
    first_order = (A + B * (-a / b)) * (ONE / b)
    low, high = sorted(end / b for end in B.range)
    if low <= -ONE:
        return None
    return first_order.add_interval(
        _interval_product(first_order.range, (-high / (ONE + high), -low / (ONE + low))),
    )


def sqrt_error(value: Decimal, A: AffineForm) -> AffineForm | None:
    """Return the error of the square root r of a number with the error A; None if the number may be 0 or negative.

    To first order it is A / 2r. The rest is A * (1 / (Sqrt(value + A) + r) - 1 / 2r).
    """
    r = value.sqrt()
    low, high = A.range
    if not r or value + low < 0:
        return None
    slopes = [ONE / ((value + end).sqrt() + r) - ONE / (TWO * r) for end in (high, low)]
    return (A * (ONE / (TWO * r))).add_interval(_interval_product((low, high), (slopes[0], slopes[1])))


def error_hull(A: AffineForm, B: AffineForm) -> AffineForm:
    """Return an affine form that contains every error of A and every error of B."""
    difference = A - B
    hull = AffineForm(A.base, min(A.low, B.low), max(A.high, B.high), A.scale)
    return hull.widen(abs(difference.scale) * difference.base.magnitude)


def _interval_product(a: Interval, b: Interval) -> Interval:
    products = [x * y for x in a for y in b]
    return min(*products, ZERO), max(*products, ZERO)
