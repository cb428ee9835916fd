"""Functions that pseudo-code replacements and kernel wrappers can use in addition to NumPy.

The functions round coarsely, or compute in another way than NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from ml_dtypes import finfo

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.exact.models.arrays import Array


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
