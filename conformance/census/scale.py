"""The values of a floating-point type in their order, one after the other: -infinity to infinity, with one zero.

A value's place is the number of values from 0 to it, negative below 0; places of neighbours differ by 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.models.arrays import BFLOAT16
from conformance.models.formats import BY_NAME

if TYPE_CHECKING:
    from conformance.models.arrays import Array
    from conformance.models.formats import Format


@dataclass(frozen=True)
class Scale:
    """A type's values.

    Attributes:
        name: the element type's name in ONNX, in lower case.
        dtype: its NumPy type.
        signed: the integers of its width.
    """

    name: str
    dtype: np.dtype[Any]
    signed: np.dtype[Any]

    @cached_property
    def format(self) -> Format:
        """The type as a format."""
        return BY_NAME[self.name]

    @cached_property
    def fraction(self) -> int:
        """Bits of the significand that are stored: 2 to this power neighbours make a binade."""
        return self.format.precision - 1

    @cached_property
    def infinity(self) -> int:
        """The place of infinity; there are twice as many values, and 0."""
        return (2 * self.format.largest_exponent + 1) << self.fraction

    def values(self, first: int, count: int) -> Array:
        """So many values from a place on."""
        places = np.arange(first, first + count, dtype=self.signed)
        if first < 0:
            lowest = self.signed.type(np.iinfo(self.signed).min)
            np.copyto(places, lowest - places, where=places < 0)  # the sign's bit, and the magnitude
        return places.view(self.dtype)

    def at(self, places: Array) -> Array:
        """The values at places, in an array of their shape."""
        bits = np.where(places < 0, np.iinfo(self.signed).min - places, places)
        return bits.astype(self.signed).view(self.dtype)

    def places(self, values: Array) -> Array:
        """The place of each value that is no NaN, as int64."""
        bits = values.view(self.signed).astype(np.int64)
        return np.where(bits < 0, np.int64(np.iinfo(self.signed).min) - bits, bits)

    def binade(self, place: int) -> int:
        """Which binade a place is in: 1 for the subnormal values and 0, the next one 2; negative below 0."""
        magnitude = (abs(place) >> self.fraction) + 1
        return magnitude if place >= 0 else -magnitude

    def binade_end(self, place: int) -> int:
        """The first place after this one that is in another binade."""
        step = 1 << self.fraction
        return (place // step + 1) * step if place >= 0 else min(-((-place) // step) * step + 1, 0)

    def exponent(self, binade: int) -> int:
        """The exponent of a binade's values, that of the smallest normal value less 1 for the subnormal ones."""
        return abs(binade) - 1 - self.format.largest_exponent


SCALES = {
    scale.name: scale
    for scale in (
        Scale("float16", np.dtype(np.float16), np.dtype(np.int16)),
        Scale("bfloat16", BFLOAT16, np.dtype(np.int16)),
        Scale("float", np.dtype(np.float32), np.dtype(np.int32)),
        Scale("double", np.dtype(np.float64), np.dtype(np.int64)),
    )
}
