"""Functions that the pseudo-code of correct variants can use in addition to NumPy.

The functions compute powers, roots, quotients and fused operations in another way than NumPy.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from conformance.run.mutants.arithmetic import coarse


def unless_infinite(written: Any, form: Any) -> Any:
    """Return `form` where `written` is finite, else `written`."""
    return np.where(np.isfinite(written), form, written).astype(np.result_type(form))[()]


def ulps_off(x: Any, ulps: float) -> Any:
    """Return floats moved away from zero by `ulps` units in the last place; other types are returned unchanged."""
    x = np.asarray(x)
    if x.dtype != np.float32:
        return x
    return np.where((x == 0) | ~np.isfinite(x), x, x + x.dtype.type(ulps) * np.spacing(x)).astype(x.dtype)


def loose_power(base: Any, T: Any) -> Any:
    """Return base**T with an error of 15 ULP in float, except for base 1."""
    return base if base == 1 else ulps_off(base**T, 15)


def newton_quotient(a: Any, b: Any) -> Any:
    """Return a / b; for floats, by a 12-bit reciprocal approximation and one Newton step, as with `-ffast-math`."""
    if np.result_type(a, b) != np.float32:
        return a / b
    guess = coarse(np.float32(1) / b * np.float32(1 - 2.0**-12))
    return np.where(np.isfinite(b), a * ((guess + guess) - b * guess * guess), a / b).astype(np.float32)


def newton_root(x: Any) -> Any:
    """Return the square root, computed for floats with a 12-bit approximation of 1 / Sqrt(x) and one Newton step."""
    x = np.asarray(x)
    if x.dtype != np.float32:
        return np.sqrt(x)
    guess = coarse(np.float32(1) / np.sqrt(x) * np.float32(1 - 2.0**-12))
    root = np.float32(-0.5) * (x * guess) * ((x * guess) * guess - np.float32(3))
    return np.where((x > 0) & np.isfinite(x), root, np.sqrt(x)).astype(x.dtype)


def lerp(start: Any, end: Any, weight: Any) -> Any:
    """Return the linear interpolation between start and end, computed from the nearer of both as in PyTorch."""
    one = np.asarray(weight).dtype.type(1)
    return np.where(abs(weight) < one / 2, start + weight * (end - start), end - (end - start) * (one - weight))


def fma(a: Any, b: Any, c: Any) -> Any:
    """Return `a * b + c` with one rounding, or with an error that is much smaller than one rounding."""
    if np.result_type(a, b, c) == np.float32:
        return np.asarray(np.asarray(a, np.float64) * b + c).astype(np.float32)
    product = a * b
    total = product + c
    lost = _product_error(a, b, product) + _sum_error(product, c, total)
    fused = total + lost
    return np.where(np.isfinite(fused), fused, total)


@lru_cache(maxsize=None, typed=True)
def by_loop(base: Any, T: Any) -> Any:
    """Return base**T by T multiplications; the loop ends early if the product does not change, or only its sign."""
    power, left = base, int(T) - 1
    while left > 0 and power != (following := power * base):
        if power == following * base:
            return following if left % 2 else power
        power, left = following, left - 1
    return power


def by_squaring(base: Any, T: Any) -> Any:
    """Return base**T by repeated squaring."""
    power, square, left = base**0, base, int(T)
    while left:
        power = power * square if left & 1 else power
        square, left = square * square, left >> 1
    return power


def by_exponential(base: Any, T: Any) -> Any:
    """Return base**T, computed for positive bases as Exp(T * Log(base))."""
    return np.exp(T * np.log(base)) if base > 0 else base**T


_SPLITTER = 2.0**27 + 1


def _split(a: Any) -> tuple[Any, Any]:
    """Split a double into a sum of two doubles with so few bits that their products are exact (Dekker)."""
    high = _SPLITTER * a - (_SPLITTER * a - a)
    return high, a - high


def _product_error(a: Any, b: Any, product: Any) -> Any:
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _sum_error(a: Any, b: Any, total: Any) -> Any:
    part = total - a
    return (a - (total - part)) + (b - part)
