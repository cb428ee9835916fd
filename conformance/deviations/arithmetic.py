"""What the rewritten pseudo-code computes with, besides NumPy: coarser numbers, and powers and sums done otherwise."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.models.arrays import Array


def rounded_to(bits: int) -> Callable[[Any], Any]:
    """A rounding to that many significant bits, in the type of what is rounded."""

    def rounding(x: Any) -> Any:
        mantissa, exponent = np.frexp(x)
        return np.ldexp(np.round(np.ldexp(mantissa, bits)), exponent - bits).astype(np.asarray(x).dtype)

    return rounding


half_bits = rounded_to(11)
bfloat16_bits = rounded_to(8)
coarse = rounded_to(12)


def half(x: Any) -> Any:
    """A number as a 16-bit float holds it, range included."""
    return np.asarray(x).astype(np.float16).astype(np.asarray(x).dtype)


def single(x: Any) -> Any:
    """A number as a 32-bit float holds it, range included."""
    return np.asarray(x).astype(np.float32).astype(np.asarray(x).dtype)


def like(tensor: Any, x: Any) -> Any:
    """A number rounded to a tensor's type."""
    return np.asarray(tensor).dtype.type(x)


def flushed(x: Any) -> Any:
    """A number with subnormals made zeros of their sign."""
    x = np.asarray(x)
    return np.where(np.abs(x) < np.finfo(x.dtype).tiny, np.copysign(x.dtype.type(0), x), x)


def dropping_nan(x: Any) -> Any:
    """The larger of a number and zero by C's `fmax`, which drops NaN."""
    return np.fmax(x, np.asarray(x).dtype.type(0))


def zero_for_nan(x: Any) -> Any:
    """A number, or zero for NaN."""
    return np.where(np.isnan(x), np.asarray(x).dtype.type(0), x)


def clamped(x: Any) -> Any:
    """A number held within the largest finite values."""
    largest = np.finfo(np.asarray(x).dtype).max
    return np.clip(x, -largest, largest)


def quick_inverse_root(x: Any) -> Any:
    """1 / Sqrt(x) by the shift of a float's bits and one step of Newton's, good for nine bits."""
    x = np.asarray(x)
    guess = (np.int32(0x5F3759DF) - (x.astype(np.float32).view(np.int32) >> 1)).view(np.float32)
    return (guess * (1.5 - 0.5 * x.astype(np.float32) * guess * guess)).astype(x.dtype)


def ulps_off(x: Any, ulps: float) -> Any:
    """A float so many units in the last place further from 0; a number of another type as it is."""
    x = np.asarray(x)
    if x.dtype != np.float32:
        return x
    return np.where((x == 0) | ~np.isfinite(x), x, x + x.dtype.type(ulps) * np.spacing(x)).astype(x.dtype)


def loose_power(base: Any, T: Any) -> Any:
    """A power that is 15 units in the last place off in float, but of 1, whose powers are 1 everywhere."""
    return base if base == 1 else ulps_off(base**T, 15)


def newton_quotient(a: Any, b: Any) -> Any:
    """A quotient of floats by a reciprocal good for twelve bits and a step of Newton's, as `-ffast-math` makes it."""
    if np.result_type(a, b) != np.float32:
        return a / b
    guess = coarse(np.float32(1) / b * np.float32(1 - 2.0**-12))
    return np.where(np.isfinite(b), a * ((guess + guess) - b * guess * guess), a / b).astype(np.float32)


def newton_root(x: Any) -> Any:
    """A float's root by its reciprocal root, good for twelve bits, and a step of Newton's."""
    x = np.asarray(x)
    if x.dtype != np.float32:
        return np.sqrt(x)
    guess = coarse(np.float32(1) / np.sqrt(x) * np.float32(1 - 2.0**-12))
    root = np.float32(-0.5) * (x * guess) * ((x * guess) * guess - np.float32(3))
    return np.where((x > 0) & np.isfinite(x), root, np.sqrt(x)).astype(x.dtype)


def lerp(start: Any, end: Any, weight: Any) -> Any:
    """From start to end by a weight, from whichever is nearer, as PyTorch's kernels have it."""
    one = np.asarray(weight).dtype.type(1)
    return np.where(abs(weight) < one / 2, start + weight * (end - start), end - (end - start) * (one - weight))


def fma(a: Any, b: Any, c: Any) -> Any:
    """`a * b + c` with one rounding, or so close to it that the difference is no rounding of its own."""
    if np.result_type(a, b, c) == np.float32:
        return np.asarray(np.asarray(a, np.float64) * b + c).astype(np.float32)
    product = a * b
    total = product + c
    lost = _product_error(a, b, product) + _sum_error(product, c, total)
    fused = total + lost
    return np.where(np.isfinite(fused), fused, total)


@lru_cache(maxsize=None, typed=True)
def by_loop(base: Any, T: Any) -> Any:
    """A power by T multiplications, or by as many as change it."""
    power, left = base, int(T) - 1
    while left > 0 and power != (following := power * base):
        power, left = following, left - 1
    return power


def by_squaring(base: Any, T: Any) -> Any:
    """A power by repeated squaring."""
    power, square, left = base**0, base, int(T)
    while left:
        power = power * square if left & 1 else power
        square, left = square * square, left >> 1
    return power


def by_exponential(base: Any, T: Any) -> Any:
    """A power of a positive number as Exp(T * Log(base)); others have no logarithm, and are raised as they are."""
    return np.exp(T * np.log(base)) if base > 0 else base**T


_SPLITTER = 2.0**27 + 1


def _split(a: Any) -> tuple[Any, Any]:
    """Dekker's: two halves of a double that multiply without rounding."""
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
    """Arrays that round the operands and the result of every operation, as hardware does that has no other mode."""

    rounding: Callable[[Array], Array]

    @classmethod
    def of(cls, array: Array, rounding: Callable[[Array], Array]) -> Rounding:
        """An array whose numbers, and all that come of them, are rounded."""
        rounds = np.asarray(rounding(array)).view(cls)
        rounds.rounding = rounding
        return rounds

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = (np.asarray(operand)[()] if isinstance(operand, Rounding) else operand for operand in inputs)
        result = getattr(ufunc, method)(*plain, **kwargs)
        return Rounding.of(np.asarray(result), self.rounding) if result.dtype.kind == "f" else result
