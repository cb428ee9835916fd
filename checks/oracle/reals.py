"""Real numbers and their functions, with the zeros, infinities and NaN of IEEE 754.

A zero, an infinity or NaN is a Python float. Any other number is a fraction. If it is irrational, or the fraction would
become too long, it is a ball of Arb that encloses it.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from flint import arb, ctx, fmpq, fmpz

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Real: TypeAlias = "float | fmpq | arb"

MAX_FRACTION_BITS = 6000
"""The most bits of a numerator or denominator. A longer fraction becomes a ball."""


class PrecisionTooLow(Exception):
    """A ball is too wide to decide a comparison or a rounding. The computation needs more bits."""


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Compute balls with a precision of `bits` bits in this context."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def real(value: int | fmpz | fmpq | arb) -> Real:
    """Return a number in its canonical type. Raise PrecisionTooLow if a ball is infinite."""
    if isinstance(value, arb):
        if not value.is_finite():
            raise PrecisionTooLow
        return 0.0 if value.is_zero() else value
    fraction = fmpq(value)
    if fraction == 0:
        return 0.0
    return fraction if fraction.height_bits() <= MAX_FRACTION_BITS else arb(fraction)


def sign(x: Real) -> int:
    """Return the sign of a number other than NaN: -1, 0 or 1."""
    if isinstance(x, arb) and not (x > 0 or x < 0):
        raise PrecisionTooLow
    return (x > 0) - (x < 0)


def _float_substitute(x: Real) -> float:
    """Return a float that gives the same result if the other operand is a zero, an infinity or NaN."""
    return x if isinstance(x, float) else math.copysign(1.0, sign(x))


def _is_zero(x: Real) -> bool:
    return isinstance(x, float) and x == 0


def _ball(x: Real) -> arb:
    return x if isinstance(x, arb) else arb(x)


def _common_type(x: fmpq | arb, y: fmpq | arb) -> tuple[fmpq, fmpq] | tuple[arb, arb]:
    if isinstance(x, fmpq) and isinstance(y, fmpq):
        return x, y
    return _ball(x), _ball(y)


def negative(x: Real) -> Real:
    """Return the number with the opposite sign."""
    return -x


def absolute(x: Real) -> Real:
    """Return the absolute value."""
    return abs(x) if isinstance(x, float) else x if sign(x) > 0 else -x


def add(x: Real, y: Real) -> Real:
    """Return the sum."""
    if isinstance(x, float) or isinstance(y, float):
        if _is_zero(x) and not _is_zero(y):
            return y
        if _is_zero(y) and not _is_zero(x):
            return x
        return _float_substitute(x) + _float_substitute(y)
    left, right = _common_type(x, y)
    return real(left + right)


def subtract(x: Real, y: Real) -> Real:
    """Return the difference."""
    return add(x, -y)


def multiply(x: Real, y: Real) -> Real:
    """Return the product."""
    if isinstance(x, float) or isinstance(y, float):
        return _float_substitute(x) * _float_substitute(y)
    left, right = _common_type(x, y)
    return real(left * right)


def divide(x: Real, y: Real) -> Real:
    """Return the quotient. It is infinite or NaN if y is zero."""
    if isinstance(x, float) or isinstance(y, float):
        numerator, denominator = _float_substitute(x), _float_substitute(y)
        if denominator == 0:
            undefined = numerator == 0 or math.isnan(numerator)
            return math.nan if undefined else math.copysign(math.inf, numerator) * math.copysign(1.0, denominator)
        return numerator / denominator
    left, right = _common_type(x, y)
    if isinstance(right, arb) and right.contains(0):
        raise PrecisionTooLow
    return real(left / right)


def square_root(x: Real) -> Real:
    """Return the square root: NaN for a negative number, -0 for -0."""
    if isinstance(x, float):
        return x if x in {0, math.inf} else math.nan
    if sign(x) < 0:
        return math.nan
    if isinstance(x, fmpq) and x.p.is_square() and x.q.is_square():
        return fmpq(x.p.isqrt(), x.q.isqrt())
    return real(_ball(x).sqrt())


def exponential(x: Real) -> Real:
    """Return the natural exponential."""
    if isinstance(x, float):
        return fmpq(1) if x == 0 else math.exp(x)
    return real(_ball(x).exp())


def logarithm(x: Real) -> Real:
    """Return the natural logarithm: minus infinity for zero, NaN for a negative number."""
    if isinstance(x, float):
        return -math.inf if x == 0 else math.nan if x < 0 else x
    if sign(x) < 0:
        return math.nan
    return real(_ball(x).log())


def log1p(x: Real) -> Real:
    """Return log(1 + x) for x ≥ 0, without cancellation near zero."""
    return x if isinstance(x, float) else real(_ball(x).log1p())


def power(x: Real, y: Real) -> Real:
    """Return x to the power y like `pow` of IEEE 754 and C: 1 if y is zero or x is 1."""
    if _is_zero(y) or x == 1:
        return fmpq(1)
    if isinstance(y, float) or (isinstance(x, float) and not _nonzero_integer(y)):
        return math.nan if _is_nan(x, y) else _extreme_power(x, y)
    if isinstance(x, float):
        return _special_power(x, sign(y), odd=_nonzero_integer(y) % 2 == 1)
    if _nonzero_integer(y):
        return _integer_power(x, _nonzero_integer(y))
    if sign(x) < 0:
        return math.nan
    return real(_ball(x) ** _ball(y))


def _nonzero_integer(y: Real) -> int:
    """Return a nonzero integer as it is, and 0 for any other number."""
    return int(y.p) if isinstance(y, fmpq) and y.q == 1 else 0


def _is_nan(*numbers: Real) -> bool:
    return any(isinstance(x, float) and math.isnan(x) for x in numbers)


def _extreme_power(x: Real, y: Real) -> Real:
    """Return the power if y is infinite, or if x is zero or infinite and y is not an integer."""
    if isinstance(y, float):
        size = sign(subtract(absolute(x), fmpq(1)))
        return fmpq(1) if size == 0 else math.inf if (size > 0) == (y > 0) else 0.0
    return _special_power(x, sign(y), odd=False)


def _special_power(x: Real, direction: int, *, odd: bool) -> Real:
    """Return the power of a zero, an infinity or NaN. `direction` is the sign of the finite exponent."""
    base = _float_substitute(x)
    size = abs(base) if direction > 0 else math.inf if base == 0 else 1 / abs(base)
    return math.copysign(size, base) if odd else size


def _integer_power(x: fmpq | arb, exponent: int) -> Real:
    if isinstance(x, fmpq) and x.height_bits() * abs(exponent) <= MAX_FRACTION_BITS:
        return real(x**exponent)
    return real(_ball(x) ** fmpz(exponent))


def _elementary_function(of_ball: Callable[[arb], arb], of_special: Callable[[float], Real]) -> Callable[[Real], Real]:
    def apply(x: Real) -> Real:
        return of_special(x) if isinstance(x, float) else real(of_ball(_ball(x)))

    return apply


hyperbolic_sine = _elementary_function(arb.sinh, lambda x: x)
hyperbolic_cosine = _elementary_function(arb.cosh, lambda x: fmpq(1) if x == 0 else abs(x))
hyperbolic_tangent = _elementary_function(arb.tanh, lambda x: fmpq(int(math.copysign(1, x))) if math.isinf(x) else x)
inverse_hyperbolic_sine = _elementary_function(arb.asinh, lambda x: x)
arctangent = _elementary_function(arb.atan, lambda x: real(arb.pi() / int(math.copysign(2, x))) if math.isinf(x) else x)
error_function = _elementary_function(arb.erf, lambda x: fmpq(int(math.copysign(1, x))) if math.isinf(x) else x)


def inverse_hyperbolic_tangent(x: Real) -> Real:
    """Return artanh x: infinite at ±1, NaN beyond."""
    if isinstance(x, float):
        return x if x == 0 else math.nan
    beyond = sign(subtract(absolute(x), fmpq(1)))
    if beyond >= 0:
        return math.nan if beyond else math.copysign(math.inf, sign(x))
    return real(_ball(x).atanh())


def compare(x: Real, y: Real) -> int:
    """Return -1, 0 or 1 if x is below, equal to or above y. Neither may be NaN; both may be Python integers."""
    if isinstance(x, (float, int)) and isinstance(y, (float, int)):
        return (x > y) - (x < y)
    if isinstance(x, float) or isinstance(y, float):
        return sign(subtract(x, y)) if x != y else 0
    left, right = _common_type(x, y)
    return sign(real(left - right))


def is_nan(x: Real) -> bool:
    """Return whether a number is NaN."""
    return _is_nan(x)
