"""Functions that pseudo-code replacements and kernel wrappers can use in addition to NumPy.

The functions round coarsely, or compute powers, roots, quotients and fused operations in another way than NumPy.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from ml_dtypes import finfo

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.models.arrays import Array


def rounded_to(bits: int) -> Callable[[Any], Any]:
    """Return a function that rounds to `bits` significant bits and does not change the type."""

    def rounding(x: Any) -> Any:
        mantissa, exponent = np.frexp(x)
        return np.ldexp(np.round(np.ldexp(mantissa, bits)), exponent - bits).astype(np.asarray(x).dtype)

    return rounding


half_bits = rounded_to(11)
bfloat16_bits = rounded_to(8)
coarse = rounded_to(12)


def half(x: Any) -> Any:
    """Round to float16, including its smaller range, and convert back."""
    return np.asarray(x).astype(np.float16).astype(np.asarray(x).dtype)


def single(x: Any) -> Any:
    """Round to float32, including its smaller range, and convert back."""
    return np.asarray(x).astype(np.float32).astype(np.asarray(x).dtype)


def like(tensor: Any, x: Any) -> Any:
    """Convert a number to the type of a tensor."""
    return np.asarray(x).astype(np.asarray(tensor).dtype)


def wide(x: Any) -> Any:
    """Convert a number to double, or from double to extended precision."""
    x = np.asarray(x)
    return x.astype(np.float64 if x.dtype == np.float32 else np.longdouble)


def unless_infinite(written: Any, form: Any) -> Any:
    """Return `form` where `written` is finite, else `written`."""
    return np.where(np.isfinite(written), form, written).astype(np.result_type(form))[()]


def one_bit_less_of_16(x: Any) -> Any:
    """Return 16-bit floats rounded to one significant bit less, halves away from zero; other arrays unchanged.

    The largest finite value does not become infinite.
    """
    x = np.asarray(x)
    if x.dtype.itemsize != 2 or x.dtype.kind in "iu":
        return x
    bits = x.view(np.uint16)
    raised = ((bits + np.uint16(1)) & np.uint16(0xFFFE)).view(x.dtype)
    return np.where(np.isfinite(x) & np.isfinite(raised), raised, x)


def flushed(x: Any) -> Any:
    """Replace subnormals by zeros of the same sign."""
    x = np.asarray(x)
    return np.where(np.abs(x) < np.finfo(x.dtype).tiny, np.copysign(x.dtype.type(0), x), x)


def below_minus_zero(x: Any) -> Any:
    """Replace -0 by the largest negative subnormal; integers are returned unchanged."""
    if x.dtype.kind in "iu":
        return x
    limits = finfo(x.dtype)  # type: ignore[no-untyped-call]
    return np.where((x == 0) & np.signbit(x), -limits.smallest_subnormal, x).astype(x.dtype)


def dropping_nan(x: Any) -> Any:
    """Return the larger of x and zero, as `fmax` of C does: for NaN the result is zero."""
    return np.fmax(x, np.asarray(x).dtype.type(0))


def zero_for_nan(x: Any) -> Any:
    """Replace NaN by zero."""
    return np.where(np.isnan(x), np.asarray(x).dtype.type(0), x)


def clamped(x: Any) -> Any:
    """Clamp to the finite range of the type."""
    largest = np.finfo(np.asarray(x).dtype).max
    return np.clip(x, -largest, largest)


def smallest_finite(x: Any) -> Any:
    """Return the smallest finite value of an array's type."""
    return np.finfo(x.dtype).min if x.dtype.kind == "f" else np.iinfo(x.dtype).min


def quick_inverse_root(x: Any) -> Any:
    """Return 1 / Sqrt(x), accurate to nine bits: shift the bits of a float, and make one Newton step."""
    x = np.asarray(x)
    guess = (np.int32(0x5F3759DF) - (x.astype(np.float32).view(np.int32) >> 1)).view(np.float32)
    return (guess * (1.5 - 0.5 * x.astype(np.float32) * guess * guess)).astype(x.dtype)


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


class Rounding(np.ndarray[Any, np.dtype[Any]]):
    """An array type that rounds the operands and the result of every operation, like hardware with a coarser format."""

    rounding: Callable[[Array], Array]

    @classmethod
    def of(cls, array: Array, rounding: Callable[[Array], Array]) -> Rounding:
        """Return the array, rounded, as an object of this class.

        Args:
            rounding: function that rounds an array.
        """
        rounds = np.asarray(rounding(array)).view(cls)
        rounds.rounding = rounding
        return rounds

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = (np.asarray(operand)[()] if isinstance(operand, Rounding) else operand for operand in inputs)
        result = getattr(ufunc, method)(*plain, **kwargs)
        return Rounding.of(np.asarray(result), self.rounding) if result.dtype.kind == "f" else result
