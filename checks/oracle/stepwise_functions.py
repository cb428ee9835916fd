"""Step functions of a real number (floor, ceiling, …), and the maximum and minimum of two numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from flint import arb, fmpq

from checks.oracle.reals import PrecisionTooLow, Real, compare, is_nan, real, sign

if TYPE_CHECKING:
    from collections.abc import Callable

    from flint import fmpz


def nearest_even(x: fmpq) -> fmpz:
    """Return the nearest integer; the even integer of two that are equally near."""
    below = x.floor()
    rest, half = x - below, fmpq(1, 2)
    odd = below % 2 == 1
    return below + 1 if rest > half or (rest == half and odd) else below


def _step_function(of_fraction: Callable[[fmpq], fmpz], of_ball: Callable[[arb], arb]) -> Callable[[Real], Real]:
    def apply(x: Real) -> Real:
        if isinstance(x, float):
            return x
        step = real(of_fraction(x) if isinstance(x, fmpq) else of_ball(x))
        return -0.0 if isinstance(step, float) and sign(x) < 0 else step

    return apply


floor = _step_function(fmpq.floor, arb.floor)
ceiling = _step_function(fmpq.ceil, arb.ceil)
round_half_even = _step_function(nearest_even, lambda x: (x + fmpq(1, 2)).floor())


def truncate(x: fmpq | arb) -> int:
    """Return the integer part."""
    whole = floor(x if sign(x) > 0 else -x)
    if isinstance(whole, arb):
        raise PrecisionTooLow
    return int(sign(x) * (0 if isinstance(whole, float) else whole.p))


def signum(x: Real) -> Real:
    """Return -1, 0 or 1, or NaN for NaN."""
    return x if is_nan(x) else real(sign(x))


def maximum(x: Real, y: Real) -> Real:
    """Return the larger number like `maximum` of IEEE 754-2019: +0 is above -0, and NaN wins."""
    if is_nan(x) or is_nan(y):
        return x if is_nan(x) else y
    if isinstance(x, float) and isinstance(y, float):
        return max(x, y, key=lambda item: (item, math.copysign(1, item)))
    try:
        return y if compare(x, y) < 0 else x
    except PrecisionTooLow:  # overlapping balls: Arb returns a ball that contains the larger number
        if isinstance(x, float) or isinstance(y, float):
            raise
        return real(arb(x).max(arb(y)))


def minimum(x: Real, y: Real) -> Real:
    """Return the smaller number like `minimum` of IEEE 754-2019: -0 is below +0, and NaN wins."""
    return -maximum(-x, -y)
