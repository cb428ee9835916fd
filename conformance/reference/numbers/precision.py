"""The precision in which an operation may be computed: what its numbers are in a formula decides it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decimal import Decimal

    from conformance.models.formats import Format


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
    """

    role: Role
    format: Format
    widest: Format
    strict: bool = False

    def roundoff(self, value: Decimal) -> Decimal:
        """The unit roundoff that an admissible operation with this exact result has."""
        return self.widest.unit_roundoff if self.fits(value) else self.format.unit_roundoff

    def fits(self, value: Decimal) -> bool:
        """Whether the narrowest format holds a value as it is."""
        return not value.is_finite() or self.format.represents(value)
