"""The binary floating-point formats of ONNX tensors, and correct rounding into them.

Only integers, decimals and `math.ldexp` are used, so a rounding is the same on every machine and library version.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property


@dataclass(frozen=True)
class Format:
    """A binary floating-point format.

    Attributes:
        name: the element type's name in ONNX, in lower case.
        precision: significant bits, the hidden one included.
        largest_exponent: the exponent e of the largest finite value, which is just below 2**(e + 1).
    """

    name: str
    precision: int
    largest_exponent: int

    @cached_property
    def unit_roundoff(self) -> Decimal:
        """The largest relative error of one rounding to nearest: half an ULP of 1."""
        return _power_of_two(-self.precision)

    @cached_property
    def largest(self) -> Decimal:
        """The largest finite value."""
        beyond = self.largest_exponent + 1
        return Decimal(2**beyond - 2 ** (beyond - self.precision))

    @cached_property
    def overflow_threshold(self) -> Decimal:
        """The smallest magnitude that rounds to infinity."""
        beyond = self.largest_exponent + 1
        return Decimal(2**beyond - 2 ** (beyond - self.precision - 1))

    @cached_property
    def smallest_normal(self) -> Decimal:
        """The smallest positive value of full precision."""
        return _power_of_two(1 - self.largest_exponent)

    @cached_property
    def smallest_subnormal(self) -> Decimal:
        """The distance of neighbours at and below the smallest normal value."""
        return _power_of_two(2 - self.largest_exponent - self.precision)

    def rounded(self, value: Decimal) -> float:
        """The value of this format nearest to `value`, ties to even, overflow to infinity: IEEE 754's default."""
        if self.precision == DOUBLE.precision or not value.is_finite() or not value:
            return float(value)
        if value.copy_abs() >= self.overflow_threshold:
            return math.copysign(math.inf, value)
        return self._nearest(_rounded_to_odd(value))

    def represents(self, value: Decimal) -> bool:
        """Whether a finite `value` is a value of this format."""
        double = float(value)
        if Decimal(double) != value:
            return False
        return self.precision == DOUBLE.precision or (abs(value) <= self.largest and self._nearest(double) == double)

    def _nearest(self, double: float) -> float:
        """The value of this format nearest to a double, as if there were no largest one."""
        exponent = max(math.frexp(double)[1], 2 - self.largest_exponent) - self.precision
        return math.copysign(math.ldexp(round(math.ldexp(double, -exponent)), exponent), double)


def _power_of_two(exponent: int) -> Decimal:
    """An exact power of two, whatever the digits of the current decimal context."""
    return Decimal(math.ldexp(1.0, exponent))


def _rounded_to_odd(value: Decimal) -> float:
    """A double between whose neighbours `value` lies, odd if inexact, so that rounding it once more is correct."""
    nearest = float(value)
    if math.isinf(nearest) or nearest == value:
        return nearest
    if int(math.ldexp(math.frexp(nearest)[0], DOUBLE.precision)) % 2:
        return nearest
    return math.nextafter(nearest, math.inf if value > nearest else -math.inf)


FLOAT16 = Format("float16", 11, 15)
BFLOAT16 = Format("bfloat16", 8, 127)
FLOAT = Format("float", 24, 127)
DOUBLE = Format("double", 53, 1023)

BY_NAME = {format.name: format for format in (FLOAT16, BFLOAT16, FLOAT, DOUBLE)}
