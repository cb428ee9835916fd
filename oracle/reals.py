"""Real numbers as far as they are needed, with IEEE 754's zeros, infinities and NaN.

A number is a float where it is a zero, an infinity or NaN. Otherwise it is a fraction or, where it is irrational or the
fraction would grow long, a ball of Arb that encloses it.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from flint import arb, ctx, fmpq, fmpz

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Real: TypeAlias = "float | fmpq | arb"

LONGEST_FRACTION = 6000
"""Bits of a numerator or denominator; a longer fraction becomes a ball."""


class Undecided(Exception):
    """A ball is too wide to say what is asked of it: more bits are needed."""


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Compute balls with so many bits."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def real(value: int | fmpz | fmpq | arb) -> Real:
    """The number in its one form. Raises Undecided where a ball is infinite."""
    if isinstance(value, arb):
        if not value.is_finite():
            raise Undecided
        return 0.0 if value.is_zero() else value
    fraction = fmpq(value)
    if fraction == 0:
        return 0.0
    return fraction if fraction.height_bits() <= LONGEST_FRACTION else arb(fraction)


def sign(x: Real) -> int:
    """-1, 0 or 1, of anything but NaN."""
    if isinstance(x, arb) and not (x > 0 or x < 0):
        raise Undecided
    return (x > 0) - (x < 0)


def _simple(x: Real) -> float:
    """A float that behaves as the number does where the other operand, or the result, is a zero, an infinity or NaN."""
    return x if isinstance(x, float) else math.copysign(1.0, sign(x))


def _is_zero(x: Real) -> bool:
    return isinstance(x, float) and x == 0


def _ball(x: Real) -> arb:
    return x if isinstance(x, arb) else arb(x)


def _alike(x: fmpq | arb, y: fmpq | arb) -> tuple[fmpq, fmpq] | tuple[arb, arb]:
    if isinstance(x, fmpq) and isinstance(y, fmpq):
        return x, y
    return _ball(x), _ball(y)


def negative(x: Real) -> Real:
    """The number with the other sign."""
    return -x


def absolute(x: Real) -> Real:
    """The size of the number."""
    return abs(x) if isinstance(x, float) else x if sign(x) > 0 else -x


def add(x: Real, y: Real) -> Real:
    """The sum."""
    if isinstance(x, float) or isinstance(y, float):
        if _is_zero(x) and not _is_zero(y):
            return y
        if _is_zero(y) and not _is_zero(x):
            return x
        return _simple(x) + _simple(y)
    left, right = _alike(x, y)
    return real(left + right)


def subtract(x: Real, y: Real) -> Real:
    """The difference."""
    return add(x, -y)


def multiply(x: Real, y: Real) -> Real:
    """The product."""
    if isinstance(x, float) or isinstance(y, float):
        return _simple(x) * _simple(y)
    left, right = _alike(x, y)
    return real(left * right)


def divide(x: Real, y: Real) -> Real:
    """The quotient, infinite or NaN where y is zero."""
    if isinstance(x, float) or isinstance(y, float):
        numerator, denominator = _simple(x), _simple(y)
        if denominator == 0:
            undefined = numerator == 0 or math.isnan(numerator)
            return math.nan if undefined else math.copysign(math.inf, numerator) * math.copysign(1.0, denominator)
        return numerator / denominator
    left, right = _alike(x, y)
    if isinstance(right, arb) and right.contains(0):
        raise Undecided
    return real(left / right)


def square_root(x: Real) -> Real:
    """The square root; NaN below zero, and -0 of -0."""
    if isinstance(x, float):
        return x if x in {0, math.inf} else math.nan
    if sign(x) < 0:
        return math.nan
    if isinstance(x, fmpq) and x.p.is_square() and x.q.is_square():
        return fmpq(x.p.isqrt(), x.q.isqrt())
    return real(_ball(x).sqrt())


def exponential(x: Real) -> Real:
    """Euler's number to the power x."""
    if isinstance(x, float):
        return fmpq(1) if x == 0 else math.exp(x)
    return real(_ball(x).exp())


def logarithm(x: Real) -> Real:
    """The natural logarithm; infinite at zero, NaN below."""
    if isinstance(x, float):
        return -math.inf if x == 0 else math.nan if x < 0 else x
    if sign(x) < 0:
        return math.nan
    return real(_ball(x).log())


def logarithm_of_one_more(x: Real) -> Real:
    """log(1 + x) for x ≥ 0, near zero too."""
    return x if isinstance(x, float) else real(_ball(x).log1p())


def power(x: Real, y: Real) -> Real:
    """X to the power y, as IEEE 754's pow and C's have it: 1 wherever y is zero or x is 1."""
    if _is_zero(y) or x == 1:
        return fmpq(1)
    if isinstance(y, float) or (isinstance(x, float) and not _whole(y)):
        return math.nan if _is_nan(x, y) else _extreme_power(x, y)
    if isinstance(x, float):
        return _simple_power(x, sign(y), odd=_whole(y) % 2 == 1)
    if _whole(y):
        return _whole_power(x, _whole(y))
    if sign(x) < 0:
        return math.nan
    return real(_ball(x) ** _ball(y))


def _whole(y: Real) -> int:
    """The number where it is an integer other than zero, else zero."""
    return int(y.p) if isinstance(y, fmpq) and y.q == 1 else 0


def _is_nan(*numbers: Real) -> bool:
    return any(isinstance(x, float) and math.isnan(x) for x in numbers)


def _extreme_power(x: Real, y: Real) -> Real:
    """The power where y is infinite, or where x is a zero or infinite and y no integer."""
    if isinstance(y, float):
        size = sign(subtract(absolute(x), fmpq(1)))
        return fmpq(1) if size == 0 else math.inf if (size > 0) == (y > 0) else 0.0
    return _simple_power(x, sign(y), odd=False)


def _simple_power(x: Real, direction: int, *, odd: bool) -> Real:
    """The power of a zero, an infinity or NaN with a finite exponent of this sign."""
    base = _simple(x)
    size = abs(base) if direction > 0 else math.inf if base == 0 else 1 / abs(base)
    return math.copysign(size, base) if odd else size


def _whole_power(x: fmpq | arb, exponent: int) -> Real:
    if isinstance(x, fmpq) and x.height_bits() * abs(exponent) <= LONGEST_FRACTION:
        return real(x**exponent)
    return real(_ball(x) ** fmpz(exponent))


def _function(of_ball: Callable[[arb], arb], of_special: Callable[[float], Real]) -> Callable[[Real], Real]:
    def apply(x: Real) -> Real:
        return of_special(x) if isinstance(x, float) else real(of_ball(_ball(x)))

    return apply


hyperbolic_sine = _function(arb.sinh, lambda x: x)
hyperbolic_cosine = _function(arb.cosh, lambda x: fmpq(1) if x == 0 else abs(x))
hyperbolic_tangent = _function(arb.tanh, lambda x: fmpq(int(math.copysign(1, x))) if math.isinf(x) else x)
inverse_hyperbolic_sine = _function(arb.asinh, lambda x: x)


def inverse_hyperbolic_tangent(x: Real) -> Real:
    """Artanh x; infinite at ±1, NaN beyond."""
    if isinstance(x, float):
        return x if x == 0 else math.nan
    beyond = sign(subtract(absolute(x), fmpq(1)))
    if beyond >= 0:
        return math.nan if beyond else math.copysign(math.inf, sign(x))
    return real(_ball(x).atanh())


def compare(x: Real, y: Real) -> int:
    """-1, 0 or 1 for x below, equal to or above y, neither of which is NaN; both may be integers."""
    if isinstance(x, (float, int)) and isinstance(y, (float, int)):
        return (x > y) - (x < y)
    if isinstance(x, float) or isinstance(y, float):
        return sign(subtract(x, y)) if x != y else 0
    left, right = _alike(x, y)
    return sign(real(left - right))


def is_nan(x: Real) -> bool:
    """Whether the number is NaN."""
    return _is_nan(x)
