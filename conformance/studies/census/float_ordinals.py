"""Ordinals of floating-point values: the values of a type in ascending order, numbered by consecutive integers.

The ordinal of 0 is 0 (-0 has the same ordinal), that of the smallest positive value is 1, and that of the largest
negative value is -1. The ordinals of neighbours differ by 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.exact.models.arrays import BFLOAT16_DTYPE, FLOAT_FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exact.models.arrays import Array, FloatFormat


@dataclass(frozen=True)
class FloatType:
    """A floating-point type and the ordinals of its values.

    Attributes:
        name: name of the element type in ONNX, in lower case.
        dtype: NumPy type.
        signed: signed integer type of the same width.
    """

    name: str
    dtype: np.dtype[Any]
    signed: np.dtype[Any]

    @cached_property
    def format(self) -> FloatFormat:
        """Precision and exponent range of the type."""
        return FLOAT_FORMATS[self.name]

    @cached_property
    def fraction(self) -> int:
        """Number of stored bits of the significand; a binade has 2 to this power values."""
        return self.format.precision - 1

    @cached_property
    def infinity(self) -> int:
        """Ordinal of infinity."""
        return (2 * self.format.largest_exponent + 1) << self.fraction

    def consecutive_values(self, first: int, count: int) -> Array:
        """Return `count` consecutive values, starting with the ordinal `first`."""
        ordinals = np.arange(first, first + count, dtype=self.signed)
        if first < 0:
            lowest = self.signed.type(np.iinfo(self.signed).min)
            np.copyto(ordinals, lowest - ordinals, where=ordinals < 0)  # sign bit and magnitude
        return ordinals.view(self.dtype)

    def values_at(self, ordinals: Array) -> Array:
        """Return the values with these ordinals, in an array of the same shape."""
        bits = np.where(ordinals < 0, np.iinfo(self.signed).min - ordinals, ordinals)
        return bits.astype(self.signed).view(self.dtype)

    def ordinals(self, values: Array) -> Array:
        """Return the ordinals of values that are not NaN, as int64."""
        bits = values.view(self.signed).astype(np.int64)
        return np.where(bits < 0, np.int64(np.iinfo(self.signed).min) - bits, bits)

    def binade(self, ordinal: int) -> int:
        """Return the number of the binade in which an ordinal lies.

        The number is 1 for 0 and positive subnormal values, 2 for the smallest normal values, and so on; it is negative
        for negative values.
        """
        magnitude = (abs(ordinal) >> self.fraction) + 1
        return magnitude if ordinal >= 0 else -magnitude

    def binade_end(self, ordinal: int) -> int:
        """Return the smallest ordinal above `ordinal` in another binade."""
        step = 1 << self.fraction
        return (ordinal // step + 1) * step if ordinal >= 0 else min(-((-ordinal) // step) * step + 1, 0)

    def binade_runs(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield runs of ordinals of one binade before `last`: first ordinal, and first ordinal of the next run."""
        while first < last:
            end = min(self.binade_end(first), last)
            yield first, end
            first = end

    def exponent(self, binade: int) -> int:
        """Return the exponent of the values in a binade.

        For subnormal values, the result is the exponent of the smallest normal value minus 1.
        """
        return abs(binade) - 1 - self.format.largest_exponent


FLOAT_TYPES = {
    float_type.name: float_type
    for float_type in (
        FloatType("float16", np.dtype(np.float16), np.dtype(np.int16)),
        FloatType("bfloat16", BFLOAT16_DTYPE, np.dtype(np.int16)),
        FloatType("float", np.dtype(np.float32), np.dtype(np.int32)),
        FloatType("double", np.dtype(np.float64), np.dtype(np.int64)),
    )
}
