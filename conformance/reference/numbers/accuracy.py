"""How accurate each operation has to be, by the format that it is computed in: one table, with its sources.

Sums and products are correctly rounded everywhere. What is not, is given in units in the last place (ULP), as the
sources give it; relative to a result, one of these is at most two units of roundoff.

Sources: the OpenCL C specification, section "Relative Error as ULPs", tables "ULP Values for Single-Precision Built-in
Math Functions" (full profile), "… for Double-Precision Built-in Math Functions" and "… for Half-Precision
Floating-Point Arithmetic Operations" (Khronos, OpenCL-Docs, OpenCL_C.txt); IEEE 754-2019, clause 5.4.1; WGSL (W3C),
section "Floating Point Accuracy".
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

LN_2 = Decimal("0.6932")
"""The natural logarithm of 2, rounded up."""


@dataclass(frozen=True)
class Accuracy:
    """The largest errors of operations, in ULP of the exact result.

    Attributes:
        quotient: of `/`.
        root: of the square root.
        power: of a power by one function call; a loop or an exponential of a logarithm may be further off.
        function: of the exponential and the logarithm.
        logarithm: the absolute error of a logarithm to the base of 2 near 1, where powers are made by one.
    """

    quotient: Decimal
    root: Decimal
    power: Decimal
    function: Decimal
    logarithm: Decimal = Decimal(0)

    def power_error(self, count: Decimal, logarithm: Decimal, unit_roundoff: Decimal) -> Decimal:
        """The largest error of the natural logarithm of a power.

        Args:
            count: the exponent.
            logarithm: the natural logarithm of the base's magnitude.
        """
        reach = count * abs(logarithm)
        called = max(2 * self.power, count, 3 * reach) * unit_roundoff
        if not self.logarithm:
            return called
        # log2 within its absolute error or 3 ULP, the product rounded, exp2 of z within 3 + 2 |z| ULP.
        return max(called, count * self.logarithm * LN_2 + (13 * reach + 6) * unit_roundoff)

    @property
    def scales(self) -> bool:
        """Whether a division by a power of two, or the root of one, is exact.

        It is where a quotient is rounded correctly or is a reciprocal and a product, both rounded so. A quotient by an
        approximation and a step of Newton's, as `-ffast-math` makes of a float division, is not.
        """
        return self.quotient <= 1 and self.root <= 1


IEEE_754 = Accuracy(Decimal("0.5"), Decimal("0.5"), Decimal("0.5"), Decimal("0.5"))
"""Correct rounding, which IEEE 754 asks of quotients and roots and recommends for functions. Quality, never a gate."""

OPENCL: Mapping[str, Accuracy] = {
    "float": Accuracy(Decimal("2.5"), Decimal(3), Decimal(16), Decimal(3)),
    "double": Accuracy(Decimal("0.5"), Decimal("0.5"), Decimal(16), Decimal(3)),
    "float16": Accuracy(Decimal(1), Decimal(1), Decimal(4), Decimal(2)),
}
"""What OpenCL's full profile asks of a device, by the format's name."""

WGSL: Mapping[str, Accuracy] = {
    "float": Accuracy(Decimal("2.5"), Decimal("4.51"), Decimal(16), Decimal(4), Decimal(2) ** -21),
}
"""What WGSL asks of a device: a root is that of 1 / inverseSqrt(x), 2 ULP and then 2.5; a power is exp2(y log2(x))."""

QUALITIES: Mapping[str, Mapping[str, Accuracy]] = {
    "IEEE 754": {"float": IEEE_754, "double": IEEE_754},
    "OpenCL, full profile": OPENCL,
    "WGSL": WGSL,
}
"""What an answer's quality is told by, the strictest first; of a format that one has not it says nothing."""

MUST: Mapping[str, Accuracy] = {
    # OpenCL's full profile throughout; one ULP more for functions, which only decide indices here.
    "float": Accuracy(Decimal("2.5"), Decimal(3), Decimal(16), Decimal(4)),
    # A reciprocal and a product, both rounded correctly: more than OpenCL asks for, since compilers write it so.
    "double": Accuracy(Decimal(1), Decimal(1), Decimal(16), Decimal(4)),
    "float16": Accuracy(Decimal(1), Decimal(1), Decimal(16), Decimal(4)),
    "bfloat16": Accuracy(Decimal(1), Decimal(1), Decimal(16), Decimal(4)),
}
"""What level `must` admits, by the format's name: in no place less than OpenCL's full profile."""

SHOULD = Accuracy(Decimal(1), Decimal(1), Decimal(8), Decimal(4))
"""What the levels below admit in every format."""
