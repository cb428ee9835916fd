"""The exact number system: `decimal.Decimal` in object arrays, with so many digits that rounding never shows.

NumPy applies `+ - * / **` to the objects of an array and calls their `.sqrt()` and `.exp()` for `np.sqrt` and
`np.exp`, so the pseudo-code of an operator runs on these arrays as it stands. Traps are off: infinities and NaN follow
IEEE 754. Values enter without rounding and leave with one rounding, to the type of their tensor.
"""

from __future__ import annotations

from contextlib import contextmanager
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal, localcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.arrays import Array, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.reference.formats import Format

DIGITS = 120
"""Enough to hold the product of two doubles without rounding, so that exactness can be told from near exactness."""


@contextmanager
def exactly() -> Iterator[None]:
    """Within it, decimal arithmetic has `DIGITS` digits, an unlimited exponent and no traps."""
    context = Context(prec=DIGITS, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
    with localcontext(context):
        yield


def from_array(array: Array) -> Array:
    """The elements of a floating-point tensor as decimals, in an object array of the same shape."""
    return objects((Decimal(float(element)) for element in array.flat), array.shape)


def to_array(values: Array, format: Format, dtype: np.dtype[Any]) -> Array:
    """Decimals rounded once to a floating-point format, in an array of `dtype`."""
    rounded = [format.rounded(value) for value in values.flat]
    return np.array(rounded, dtype=np.float64).reshape(values.shape).astype(dtype)
