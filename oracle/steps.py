"""Functions of a real number that are constant between steps, and the larger and the smaller of two."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from flint import arb, fmpq

from oracle.reals import Real, Undecided, compare, is_nan, real, sign

if TYPE_CHECKING:
    from collections.abc import Callable

    from flint import fmpz


def nearest_even(x: fmpq) -> fmpz:
    """The nearest integer, of two the even one."""
    below = x.floor()
    rest, half = x - below, fmpq(1, 2)
    odd = below % 2 == 1
    return below + 1 if rest > half or (rest == half and odd) else below


def _stepping(of_fraction: Callable[[fmpq], fmpz], of_ball: Callable[[arb], arb]) -> Callable[[Real], Real]:
    def apply(x: Real) -> Real:
        if isinstance(x, float):
            return x
        step = real(of_fraction(x) if isinstance(x, fmpq) else of_ball(x))
        return -0.0 if isinstance(step, float) and sign(x) < 0 else step

    return apply


floor = _stepping(fmpq.floor, arb.floor)
ceiling = _stepping(fmpq.ceil, arb.ceil)
rounded = _stepping(nearest_even, lambda x: (x + fmpq(1, 2)).floor())


def towards_zero(x: fmpq | arb) -> int:
    """The integer part."""
    whole = floor(x if sign(x) > 0 else -x)
    if isinstance(whole, arb):
        raise Undecided
    return int(sign(x) * (0 if isinstance(whole, float) else whole.p))


def signum(x: Real) -> Real:
    """-1, 0 or 1; NaN of NaN."""
    return x if is_nan(x) else real(sign(x))


def larger(x: Real, y: Real) -> Real:
    """The larger one, of zeros the positive one; NaN where one is NaN. This is IEEE 754-2019's maximum."""
    if is_nan(x) or is_nan(y):
        return x if is_nan(x) else y
    if isinstance(x, float) and isinstance(y, float):
        return max(x, y, key=lambda item: (item, math.copysign(1, item)))
    try:
        return y if compare(x, y) < 0 else x
    except Undecided:  # balls of what may be one number: the larger is in a ball all the same
        if isinstance(x, float) or isinstance(y, float):
            raise
        return real(arb(x).max(arb(y)))


def smaller(x: Real, y: Real) -> Real:
    """The smaller one, of zeros the negative one; NaN where one is NaN."""
    return -larger(-x, -y)
