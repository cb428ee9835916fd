"""The precision of an operation: the formats in which it may be computed, and how accurate it has to be.

`Precision` describes one number of a formula. It names the narrowest and the widest admissible format, and chooses the
`Accuracy` of `conformance.exact.reference.tolerances` that applies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Protocol

from conformance.base.verdicts import Level
from conformance.exact.reference.tolerances import accuracy_at

if TYPE_CHECKING:
    from decimal import Decimal

    from conformance.exact.models.arrays import FloatFormat
    from conformance.exact.reference.numbers.affine import AffineForm, Interval
    from conformance.exact.reference.tolerances import Accuracy


class Role(IntEnum):
    """The role of a number in an operator's formula. The operand with the highest role determines the precision."""

    ATTRIBUTE = 0
    SCALAR = 1
    TENSOR = 2


class Adversary(Protocol):
    """Interface of an object that chooses the result of each rounding, and so selects one admissible evaluation.

    Mutation testing uses adversaries to find an admissible evaluation with a large error (`checks.mutation.adversary`).
    If a
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
        return accuracy_at(Level.SHOULD if self.strict else Level.MUST, self.tensor_format.name)

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
