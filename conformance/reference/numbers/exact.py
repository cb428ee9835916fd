"""The exact number system: `decimal.Decimal` in object arrays, with so many digits that rounding never shows.

NumPy applies `+ - * / **` to the objects of an array and calls their `.sqrt()` and `.exp()` for `np.sqrt` and
`np.exp`, so the pseudo-code of an operator runs on these arrays as it stands. Traps are off: infinities and NaN follow
IEEE 754. Values enter without rounding and leave with one rounding, to the type of their tensor.
"""

from __future__ import annotations

from contextlib import contextmanager
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal, localcontext
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.models.arrays import Array, objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from conformance.models.formats import Format

FEWEST_DIGITS = 120
"""For every value: transcendental functions are computed to so many, however many the others have."""

MOST_REMEMBERED = 4096
"""How many exponentials, and logarithms, are kept: the forms of a function have most of theirs in common."""

LARGEST_REACH = 800
"""No double holds the exponential of a larger magnitude."""


LARGEST = Decimal((0, (9,) * FEWEST_DIGITS, MAX_EMAX - FEWEST_DIGITS + 1))
"""A decimal that no exponential beyond the range of decimals is below."""

SMALLEST = Decimal((0, (1,), MIN_EMIN))
"""A decimal that no exponential below that range is above."""


@contextmanager
def exactly(inputs: Iterable[Array] = ()) -> Iterator[None]:
    """Within it, decimal arithmetic has an unlimited exponent, no traps, and digits enough for these inputs.

    Enough to hold the product of any two of them without rounding, so that exactness can be told from near exactness,
    and to tell 1 from 1 plus the exponential of any of them that a double can hold.
    """
    context = Context(prec=_digits(inputs), rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
    with localcontext(context):
        yield


@lru_cache(maxsize=MOST_REMEMBERED)
def exponential(value: Decimal) -> Decimal:
    """The natural exponential.

    Where it leaves the range of decimals it is the largest or the smallest positive one, and not infinite or zero, as
    only the exponential of an infinity is: so what encloses it is not taken for exact.
    """
    with localcontext(prec=FEWEST_DIGITS):
        result = value.exp()
    if not value.is_finite() or (result and result.is_finite()):
        return result
    return LARGEST if value > 0 else SMALLEST


@lru_cache(maxsize=MOST_REMEMBERED)
def logarithm(value: Decimal) -> Decimal:
    """The natural logarithm."""
    with localcontext(prec=FEWEST_DIGITS):
        return value.ln()


def from_array(array: Array) -> Array:
    """The elements of a floating-point tensor as decimals, in an object array of the same shape.

    Elements with the same bits are one object, by which what is computed of them is known to be the same.
    """
    bits = np.ascontiguousarray(array).reshape(-1).view(f"u{array.dtype.itemsize}").tolist()
    first = dict(zip(bits, array.flat, strict=True))
    decimals = {pattern: Decimal(float(element)) for pattern, element in first.items()}
    return objects(map(decimals.__getitem__, bits), array.shape)


def to_array(values: Array, format: Format, dtype: np.dtype[Any]) -> Array:
    """Decimals rounded once to a floating-point format, in an array of `dtype`."""
    rounded = [format.rounded(value) for value in values.flat]
    return np.array(rounded, dtype=np.float64).reshape(values.shape).astype(dtype)


def _digits(inputs: Iterable[Array]) -> int:
    elements = {float(element) for array in inputs if array.dtype.kind not in "iub" for element in array.flat}
    finite = [element for element in elements if isfinite(element)]
    longest = max((len(Decimal(element).as_tuple().digits) for element in finite), default=1)
    reach = max((abs(element) for element in finite if abs(element) <= LARGEST_REACH), default=0.0)
    return max(FEWEST_DIGITS, 2 * longest + 20) + int(reach)
