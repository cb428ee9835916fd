"""Exact arithmetic with `decimal.Decimal` in object arrays, with enough digits to make rounding errors irrelevant.

NumPy applies `+ - * / **` to the objects of an array, and calls their methods `.sqrt()` and `.exp()` for `np.sqrt` and
`np.exp`. The pseudo-code of an operator therefore runs unchanged on these arrays. Decimal traps are off: infinities and
NaN follow IEEE 754. Values are converted to decimals without rounding, and rounded once to the type of their tensor at
the end.
"""

from __future__ import annotations

from contextlib import contextmanager
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal, localcontext
from functools import lru_cache
from math import log10
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.exact.models.arrays import DOUBLE, Array, object_array

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from conformance.exact.models.arrays import FloatFormat

MIN_DIGITS = 120
"""The fewest significant digits of any value. Transcendental functions are always computed to this many digits."""

CACHE_SIZE = 4096
"""The number of exponentials, and of logarithms, that are cached. The forms of a function share most of theirs."""

MAX_EXP_ARGUMENT = 800
"""The exponential of a larger magnitude overflows or underflows in double."""

LOGARITHM_MARGIN = 1e-6
"""Decimal logarithms that differ by more are in the right order, whatever the C library computes."""

LARGEST_DECIMAL = Decimal((0, (9,) * MIN_DIGITS, MAX_EMAX - MIN_DIGITS + 1))
"""A decimal that is not below any exponential that overflows the range of decimals."""

SMALLEST_DECIMAL = Decimal((0, (1,), MIN_EMIN))
"""A positive decimal that is not above any exponential that underflows the range of decimals."""


@contextmanager
def exact_context(inputs: Iterable[Array] = ()) -> Iterator[None]:
    """Set a decimal context with unlimited exponents, no traps, and enough digits for these inputs.

    The digits are enough to represent the product of any two inputs exactly, so that exact results can be distinguished
    from nearly exact ones. They are also enough to distinguish 1 from 1 plus the exponential of any input, if that
    exponential is in the range of double.
    """
    context = Context(prec=_needed_digits(inputs), rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
    with localcontext(context):
        yield


@lru_cache(maxsize=CACHE_SIZE)
def exponential(value: Decimal) -> Decimal:
    """Return the natural exponential.

    If the exponential of a finite value leaves the range of decimals, return the largest or the smallest positive
    decimal. Infinity and 0 are the exact exponentials of infinite values only.
    """
    with localcontext(prec=MIN_DIGITS):
        result = value.exp()
    if not value.is_finite() or (result and result.is_finite()):
        return result
    return LARGEST_DECIMAL if value > 0 else SMALLEST_DECIMAL


@lru_cache(maxsize=CACHE_SIZE)
def logarithm(value: Decimal) -> Decimal:
    """Return the natural logarithm."""
    with localcontext(prec=MIN_DIGITS):
        return value.ln()


def from_array(array: Array) -> Array:
    """Return the elements of a floating-point tensor as decimals, in an object array of the same shape.

    Elements with the same bits become one object. Code that computes with them relies on this to find equal elements
    by identity.
    """
    bits = np.ascontiguousarray(array).reshape(-1).view(f"u{array.dtype.itemsize}").tolist()
    element_of_bits = dict(zip(bits, array.flat, strict=True))
    decimals = {pattern: Decimal(float(element)) for pattern, element in element_of_bits.items()}
    return object_array(map(decimals.__getitem__, bits), array.shape)


def to_array(values: Array, format: FloatFormat, dtype: np.dtype[Any]) -> Array:
    """Return decimals rounded once to a floating-point format, in an array of `dtype`."""
    rounded = [format.round_to_nearest(value) for value in values.flat]
    return np.array(rounded, dtype=np.float64).reshape(values.shape).astype(dtype)


def _needed_digits(inputs: Iterable[Array]) -> int:
    with np.errstate(all="ignore"):
        elements = [array.astype(np.float64).ravel() for array in inputs if array.dtype.kind not in "iub"]
        magnitudes = np.unique(np.abs(np.concatenate([np.zeros(1), *elements])))
    finite = magnitudes[np.isfinite(magnitudes)]
    largest_exp_argument = finite[finite <= MAX_EXP_ARGUMENT].max()
    return max(MIN_DIGITS, 2 * _most_digits(finite) + 20) + int(largest_exp_argument)


def _most_digits(magnitudes: Array) -> int:
    """Return the most significant digits of any of these nonnegative doubles, written exactly.

    A positive double with n decimal places is an integer of floor(log10(x) + n) + 1 digits, divided by 10**n. Only the
    doubles with the largest logarithm are converted, because logarithms are not exact.
    """
    positive = magnitudes[magnitudes > 0]
    mantissa, exponent = np.frexp(positive)
    numerator = np.ldexp(mantissa, DOUBLE.precision).astype(np.int64)
    trailing_zeros = np.frexp((numerator & -numerator).astype(np.float64))[1] - 1
    places = np.maximum(DOUBLE.precision - exponent - trailing_zeros, 0)
    digits = np.log10(mantissa) + exponent * log10(2) + places
    longest = positive[digits > digits.max(initial=0) - LOGARITHM_MARGIN]
    return max((len(Decimal(element).as_tuple().digits) for element in longest.tolist()), default=1)
