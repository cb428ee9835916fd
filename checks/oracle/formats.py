"""The element types of ONNX: decoding of their bits, and rounding to them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flint import arb, fmpq, fmpz
from onnx import TensorProto

from checks.oracle.reals import PrecisionTooLow, Real
from checks.oracle.stepwise_functions import nearest_even

MAX_EXPONENT = 40_000
"""An exponent of 2 beyond all formats: no format has a larger number, or a number below the reciprocal."""


@dataclass(frozen=True)
class FloatFormat:
    """A binary floating-point format like those of IEEE 754, given by the sizes of its fields in bits."""

    exponent_bits: int
    fraction_bits: int

    @property
    def bits(self) -> int:
        return 1 + self.exponent_bits + self.fraction_bits

    @property
    def bias(self) -> int:
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def least_exponent(self) -> int:
        """The exponent of the smallest normal number."""
        return 1 - self.bias

    @property
    def largest(self) -> fmpq:
        """The largest finite number."""
        return (2 - _power_of_two(-self.fraction_bits)) * _power_of_two(self.bias)

    def decode(self, bits: int) -> Real:
        """Return the number with these bits."""
        negative = bits >> (self.bits - 1)
        exponent = bits >> self.fraction_bits & ((1 << self.exponent_bits) - 1)
        fraction = bits & ((1 << self.fraction_bits) - 1)
        if exponent == (1 << self.exponent_bits) - 1:
            return math.nan if fraction else -math.inf if negative else math.inf
        significand = fraction + (1 << self.fraction_bits if exponent else 0)
        if significand == 0:
            return -0.0 if negative else 0.0
        quantum = max(exponent, 1) - self.bias - self.fraction_bits
        return fmpq(-significand if negative else significand) * _power_of_two(quantum)

    def ulp(self, x: fmpq) -> fmpq:
        """Return the distance between adjacent numbers of the format near x."""
        return _power_of_two(max(_exponent(x), self.least_exponent) - self.fraction_bits)

    def round(self, x: Real) -> Real:
        """Return the nearest number of the format, the even one of two. Raise PrecisionTooLow if a ball is too wide."""
        if isinstance(x, float):
            return x
        if isinstance(x, fmpq):
            return self._round_fraction(x)
        low, high = (self._round_fraction(end) for end in ends(x))
        if low != high:
            raise PrecisionTooLow
        return low

    def represents(self, x: Real) -> bool:
        """Return whether the format represents a number exactly."""
        return isinstance(x, float) or (isinstance(x, fmpq) and self._round_fraction(x) == x)

    def _round_fraction(self, x: fmpq) -> Real:
        quantum = self.ulp(x)
        nearest = nearest_even(x / quantum) * quantum
        if nearest == 0:
            return -0.0 if x < 0 else 0.0
        if abs(nearest) > self.largest:
            return -math.inf if x < 0 else math.inf
        return nearest


FLOATS: dict[int, FloatFormat] = {
    TensorProto.FLOAT16: FloatFormat(5, 10),
    TensorProto.BFLOAT16: FloatFormat(8, 7),
    TensorProto.FLOAT: FloatFormat(8, 23),
    TensorProto.DOUBLE: FloatFormat(11, 52),
}
SIGNED: dict[int, int] = {TensorProto.INT8: 8, TensorProto.INT16: 16, TensorProto.INT32: 32, TensorProto.INT64: 64}
UNSIGNED: dict[int, int] = {
    TensorProto.BOOL: 8,
    TensorProto.UINT8: 8,
    TensorProto.UINT16: 16,
    TensorProto.UINT32: 32,
    TensorProto.UINT64: 64,
}
WIDTHS: dict[int, int] = {**SIGNED, **UNSIGNED, **{type_: format.bits for type_, format in FLOATS.items()}}
"""The width of an element in bits, for each type that the corpus computes with."""


def decode(type_: int, bits: int) -> Real | int | bool:
    """Return the element with these bits."""
    if type_ in FLOATS:
        return FLOATS[type_].decode(bits)
    if type_ == TensorProto.BOOL:
        return bool(bits)
    return wrap(type_, bits)


def wrap(type_: int, value: int) -> int:
    """Return the integer of a type that is congruent to a value."""
    width = WIDTHS[type_]
    value &= (1 << width) - 1
    return value - (1 << width) if type_ in SIGNED and value >> (width - 1) else value


def ends(x: arb) -> tuple[fmpq, fmpq]:
    """Return the exact ends of a ball. If they are beyond every format, return other fractions beyond every format."""
    middle, exponent = x.mid().man_exp()
    radius, radius_exponent = x.rad().man_exp()
    top = int(exponent) + int(middle).bit_length()
    if max(abs(top), int(radius_exponent)) > MAX_EXPONENT:
        if x.rel_accuracy_bits() < 2:
            raise PrecisionTooLow
        far = _power_of_two(MAX_EXPONENT if top > 0 else -MAX_EXPONENT)
        return (far, far) if x > 0 else (-far, -far)
    spread = fmpq(radius) * _power_of_two(max(int(radius_exponent), -2 * MAX_EXPONENT))
    centre = fmpq(middle) * _power_of_two(int(exponent))
    return centre - spread, centre + spread


def nearby_fraction(x: fmpq | arb) -> fmpq:
    """Return a fraction near a number: the middle of a ball. It serves to compute errors and distances."""
    return x if isinstance(x, fmpq) else sum(ends(x), fmpq(0)) / 2


def _power_of_two(exponent: int) -> fmpq:
    return fmpq(fmpz(1) << exponent) if exponent >= 0 else fmpq(fmpz(1), fmpz(1) << -exponent)


def _exponent(x: fmpq) -> int:
    """Return the integer e with 2**e ≤ |x| < 2**(e + 1)."""
    size = abs(x)
    if size == 0:
        return -MAX_EXPONENT
    guess = size.p.bit_length() - size.q.bit_length()
    return guess if size >= _power_of_two(guess) else guess - 1
