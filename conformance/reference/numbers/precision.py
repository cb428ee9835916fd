"""The precision of an operation: the formats in which it may be computed, and how accurate it has to be.

`Precision` describes one number of a formula. It names the narrowest and the widest admissible format, and chooses the
`Accuracy` that applies. `Accuracy` is one row of the accuracy tables below.

Sums and products are correctly rounded everywhere. The tables bound the errors of all other operations in units in the
last place (ULP), as their sources do. Relative to a result, one ULP is at most two units of roundoff.

Sources: the OpenCL C specification, section "Relative Error as ULPs", tables "ULP Values for Single-Precision Built-in
Math Functions" (full profile), "… for Double-Precision Built-in Math Functions" and "… for Half-Precision
Floating-Point Arithmetic Operations" (Khronos, OpenCL-Docs, OpenCL_C.txt); IEEE 754-2019, clause 5.4.1; WGSL (W3C),
section "Floating Point Accuracy".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Protocol

from conformance.models import arrays
from conformance.models.arrays import type_name
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from conformance.models.arrays import FloatFormat
    from conformance.reference.numbers.affine import AffineForm, Interval


def is_computed(dtype: np.dtype[Any]) -> bool:
    """Return whether the number systems compute with a type; elements of other types are only copied."""
    try:
        return type_name(dtype) in arrays.FLOAT_FORMATS
    except (KeyError, ValueError):
        return False


def format_of(dtype: np.dtype[Any]) -> FloatFormat:
    """Return the format of a floating-point type.

    Raises:
        Unsupported: the number systems do not compute with the type.
    """
    if not is_computed(dtype):
        raise Unsupported(f"the reference does not compute with the type {dtype}")
    return arrays.FLOAT_FORMATS[type_name(dtype)]


LN_2 = Decimal("0.6932")
"""The natural logarithm of 2, rounded up."""


@dataclass(frozen=True)
class Accuracy:
    """The largest admissible errors of operations in one format, in ULP of the exact result.

    Attributes:
        quotient: error of a division.
        root: error of a square root.
        power: error of a power that one function call computes; a loop, or an exponential of a logarithm, may have a
            larger error.
        function: error of an exponential or a logarithm.
        logarithm: absolute error, near 1, of the base-2 logarithm that a power is computed with; 0 if powers are not
            computed with a base-2 logarithm.
    """

    quotient: Decimal
    root: Decimal
    power: Decimal
    function: Decimal
    logarithm: Decimal = Decimal(0)

    def power_error(self, exponent: Decimal, logarithm: Decimal, unit_roundoff: Decimal) -> Decimal:
        """Return the largest absolute error of the natural logarithm of a power.

        Args:
            exponent: the exponent of the power.
            logarithm: the natural logarithm of the base's magnitude.
            unit_roundoff: the unit roundoff of the format.
        """
        log_of_power = exponent * abs(logarithm)
        error = max(2 * self.power, exponent, 3 * log_of_power) * unit_roundoff
        if not self.logarithm:
            return error
        # log2 within its absolute error or 3 ULP, the product rounded, exp2 of z within 3 + 2 |z| ULP.
        return max(error, exponent * self.logarithm * LN_2 + (13 * log_of_power + 6) * unit_roundoff)

    @property
    def is_exact_for_powers_of_two(self) -> bool:
        """Whether a division by a power of two, and the square root of a power of four, are exact.

        Both are exact if a quotient is correctly rounded, or is a correctly rounded product with a correctly rounded
        reciprocal. They are inexact if a quotient is an approximation refined by a Newton step, as `-ffast-math`
        compiles a float division.
        """
        return self.quotient <= 1 and self.root <= 1


IEEE_754 = Accuracy(Decimal("0.5"), Decimal("0.5"), Decimal("0.5"), Decimal("0.5"))
"""Correct rounding: required by IEEE 754 for quotients and roots, recommended for functions. It grades the accuracy of
a backend and never decides a verdict."""

OPENCL: Mapping[str, Accuracy] = {
    "float": Accuracy(Decimal("2.5"), Decimal(3), Decimal(16), Decimal(3)),
    "double": Accuracy(Decimal("0.5"), Decimal("0.5"), Decimal(16), Decimal(3)),
    "float16": Accuracy(Decimal(1), Decimal(1), Decimal(4), Decimal(2)),
}
"""The accuracy that the full profile of OpenCL requires, by the name of the format."""

WGSL: Mapping[str, Accuracy] = {
    "float": Accuracy(Decimal("2.5"), Decimal("4.51"), Decimal(16), Decimal(4), Decimal(2) ** -21),
}
"""The accuracy that WGSL requires, by the name of the format. A root is 1 / inverseSqrt(x): 2 ULP, then 2.5 ULP. A
power
is exp2(y * log2(x))."""

ACCURACY_GRADES: Mapping[str, Mapping[str, Accuracy]] = {
    "IEEE 754": {"float": IEEE_754, "double": IEEE_754},
    "OpenCL, full profile": OPENCL,
    "WGSL": WGSL,
}
"""The grades of an output's accuracy, the strictest first: name of the grade → name of the format → accuracy. A grade
does not apply to formats that it does not list."""

MUST_ACCURACY: Mapping[str, Accuracy] = {
    # OpenCL's full profile throughout; one ULP more for functions, which only decide indices here.
    "float": Accuracy(Decimal("2.5"), Decimal(3), Decimal(16), Decimal(4)),
    # A correctly rounded reciprocal, then a correctly rounded product: wider than OpenCL, since compilers emit this.
    "double": Accuracy(Decimal(1), Decimal(1), Decimal(16), Decimal(4)),
    "float16": Accuracy(Decimal(1), Decimal(1), Decimal(16), Decimal(4)),
    "bfloat16": Accuracy(Decimal(1), Decimal(1), Decimal(16), Decimal(4)),
}
"""The errors that level `must` admits, by the name of the format. They are nowhere below those of OpenCL's full
profile."""

SHOULD_ACCURACY = Accuracy(Decimal(1), Decimal(1), Decimal(8), Decimal(4))
"""The errors that the levels `should` and `silent` admit, in every format."""


class Role(IntEnum):
    """The role of a number in an operator's formula. The operand with the highest role determines the precision."""

    ATTRIBUTE = 0
    SCALAR = 1
    TENSOR = 2


class Adversary(Protocol):
    """Interface of an object that chooses the result of each rounding, and so selects one admissible evaluation.

    Mutation testing uses adversaries to find an admissible evaluation with a large error (`mutation.adversary`). If a
    `Precision` has an adversary, each number is one rounded value, and intervals do not enclose other evaluations.
    """

    @property
    def order(self) -> int:
        """The two terms of a + b + c that are added first: 0 for a and b, 1 for a and c, -1 for b and c.

        0 is the order of the formula.
        """

    def round(
        self, value: Decimal, interval: Interval, precision: Precision, error: Decimal, form: AffineForm | None
    ) -> tuple[Decimal, Decimal, AffineForm | None]:
        """Return a number after a rounding: the ends of its interval, and its error as an affine form.

        Args:
            value: the exact value of the number.
            interval: the number's interval before the rounding.
            precision: the precision in which the number is rounded.
            error: the largest relative error of the rounding.
            form: the number's error before the rounding; None if unknown.
        """


@dataclass(frozen=True, slots=True)
class Precision:
    """The formats in which an operation may be computed, and how strictly it is judged.

    Attributes:
        role: the role of the number in the formula.
        format: the narrowest format in which an admissible evaluation computes with it.
        tensor_format: the format of the tensor.
        strict: whether evaluations have to follow IEEE 754: subnormals are not flushed to zero, and terms with a factor
            of zero are not skipped.
        complement_format: the format to which `1 - attribute` is rounded; None if it may be any admissible format.
        has_shared_scalar_error: whether the error of a scalar is the same for all elements that it is combined with.
        adversary: chooses the result of each rounding; None if intervals enclose all results.
        accuracy_override: replaces the accuracy that the level admits.
    """

    role: Role
    format: FloatFormat
    tensor_format: FloatFormat
    strict: bool = False
    complement_format: FloatFormat | None = None
    has_shared_scalar_error: bool = False
    adversary: Adversary | None = None
    accuracy_override: Accuracy | None = None

    @property
    def for_literals(self) -> Precision:
        """The precision of the formula's own numbers, such as the 1 of `1 - alpha`: the precision of an attribute."""
        return self if self.role is Role.ATTRIBUTE else replace(self, role=Role.ATTRIBUTE)

    @property
    def accuracy(self) -> Accuracy:
        """The accuracy of operations that need not round correctly, for the tensor's format (also for scalars)."""
        if self.accuracy_override is not None:
            return self.accuracy_override
        return SHOULD_ACCURACY if self.strict else MUST_ACCURACY.get(self.tensor_format.name, SHOULD_ACCURACY)

    @property
    def function_error(self) -> Decimal:
        """The largest relative error of an exponential or a logarithm."""
        return 2 * self.accuracy.function * self.format.unit_roundoff

    def unit_roundoff_for(self, value: Decimal) -> Decimal:
        """Return the largest relative rounding error of an admissible operation with this exact result.

        It is the unit roundoff of the narrowest format, or, if that format represents the result exactly, of the
        tensor's format.
        """
        has_one_format = self.tensor_format is self.format
        format = self.tensor_format if has_one_format or self.can_represent(value) else self.format
        return format.unit_roundoff

    def can_represent(self, value: Decimal) -> bool:
        """Return whether the narrowest format represents a value exactly."""
        return not value.is_finite() or self.format.can_represent(value)


def combined_precision(a: Precision, b: Precision) -> Precision:
    """Return the precision of an operation on two numbers: the precision of the number with the higher role.

    If an attribute has a narrower format than a scalar, the narrower format applies: an evaluation may combine the
    attributes with each other before it combines them with R.
    """
    if a is b:
        return a
    low, high = (a, b) if a.role <= b.role else (b, a)
    if high.role is Role.SCALAR and low.format.precision < high.format.precision:
        return replace(high, format=low.format)
    return high
