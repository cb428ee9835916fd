"""One operator of one type on one subject, and how it is cut into pieces."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from conformance.census import argmax, doubles, elementwise, rows
from conformance.census.neighbourhoods import close_places
from conformance.census.plan import Plan
from conformance.census.scale import SCALES
from conformance.census.truth import FUNCTIONS

if TYPE_CHECKING:
    from conformance.census.scale import Scale

SAMPLE = 2**24
"""Values of a type of more than 16 bits, or pairs of ArgMax, that a subject is asked for whose harness has no files."""

SAMPLE_OF_DOUBLE = 2**30


@dataclass(frozen=True)
class Cell:
    """One operator of one type on one subject.

    Attributes:
        sampled: whether not all values are tried.
    """

    subject: str
    operator: str
    type: str
    sampled: bool = False

    @property
    def scale(self) -> Scale:
        """The type's values."""
        return SCALES[self.type]

    @property
    def plan(self) -> Plan:
        """The places of its arguments."""
        return _plan(self.operator, self.type, self.sampled)

    @property
    def pieces(self) -> int:
        """How many pieces it has: those of the plan, and then those that are about something else."""
        if self.operator == "ArgMax":
            return argmax.pieces(sampled=self.sampled)
        if self.operator in rows.OPERATORS:
            return self.plan.pieces + 1
        return self.plan.pieces + (doubles.pieces() if self.type == "double" else 0)


@cache
def _plan(operator: str, type: str, sampled: bool) -> Plan:
    scale = SCALES[type]
    first, last = -scale.infinity, scale.infinity
    if operator == "ArgMax":  # its pairs are cut into pieces by themselves
        return Plan(first, last, SAMPLE if sampled else 0)
    if operator in FUNCTIONS:
        first, last = elementwise.domain(operator, scale)
    if not sampled and type != "double":
        return Plan(first, last)
    return Plan(first, last, SAMPLE if sampled else SAMPLE_OF_DOUBLE, close_places(operator, scale))
