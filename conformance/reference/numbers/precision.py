"""The precision in which an operation may be computed: what its numbers are in a formula decides it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING

from conformance.reference.numbers import accuracy

if TYPE_CHECKING:
    from decimal import Decimal

    from conformance.models.formats import Format
    from conformance.reference.numbers.accuracy import Accuracy
    from conformance.reference.numbers.adversary import Adversary


class Role(IntEnum):
    """What a number is in an operator's formula; an operation's precision is that of its highest operand."""

    ATTRIBUTE = 0
    SCALAR = 1
    TENSOR = 2


@dataclass(frozen=True, slots=True)
class Precision:
    """In which format an operation may be computed, and how strictly it is read.

    Attributes:
        role: what the numbers are in the formula.
        format: the narrowest format in which an admissible evaluation computes with them.
        widest: the tensor's own format.
        strict: hold evaluations to IEEE 754: no flushed subnormals, and infinities and zeros are not skipped.
        once: the one format that a sum of exact attributes is rounded to, where that is settled.
        shared: whether a scalar's error is one value, the same in every element that it goes into.
        adversary: who chooses each rounding, where none is enclosed.
        admitted: how accurate operations are instead of what the level admits.
    """

    role: Role
    format: Format
    widest: Format
    strict: bool = False
    once: Format | None = None
    shared: bool = False
    adversary: Adversary | None = None
    admitted: Accuracy | None = None

    @property
    def of_literals(self) -> Precision:
        """That of a formula's own numbers, which are attributes that everybody has."""
        return self if self.role is Role.ATTRIBUTE else replace(self, role=Role.ATTRIBUTE)

    @property
    def accuracy(self) -> Accuracy:
        """How accurate operations are that need not be rounded correctly; for scalars too by the tensor's type."""
        if self.admitted is not None:
            return self.admitted
        return accuracy.SHOULD if self.strict else accuracy.MUST.get(self.widest.name, accuracy.SHOULD)

    @property
    def function_error(self) -> Decimal:
        """The relative error of an exponential or a logarithm."""
        return 2 * self.accuracy.function * self.format.unit_roundoff

    def roundoff(self, value: Decimal) -> Decimal:
        """The unit roundoff that an admissible operation with this exact result has."""
        same = self.widest is self.format
        return self.widest.unit_roundoff if same or self.fits(value) else self.format.unit_roundoff

    def fits(self, value: Decimal) -> bool:
        """Whether the narrowest format holds a value as it is."""
        return not value.is_finite() or self.format.represents(value)


def joint(a: Precision, b: Precision) -> Precision:
    """The precision in which two numbers are combined: that of the higher role.

    A scalar takes an attribute's format where that is narrower: an evaluation may first join the attributes beside R.
    """
    if a is b:
        return a
    low, high = (a, b) if a.role <= b.role else (b, a)
    if high.role is Role.SCALAR and low.format.precision < high.format.precision:
        return replace(high, format=low.format)
    return high
