"""The words of a declaration: factors and their values, what may not meet, what hides what, and what is left out, why.

A factor is something that varies, a value one of the words for how. A row chooses a value for every factor; builders
make a model and data of it. The words go into the names and tags of cases, so they stay once a case has them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Row: TypeAlias = "Mapping[str, str]"
"""A value for each factor."""


@dataclass(frozen=True)
class Meeting:
    """Values that factors have all together.

    Attributes:
        values: by factor, any of these.
        reason: why that matters, in a sentence.
    """

    values: Mapping[str, Sequence[str]]
    reason: str

    def is_in(self, row: Row) -> bool:
        """Whether a row, which may lack factors, has them."""
        return all(row.get(factor) in allowed for factor, allowed in self.values.items())


@dataclass(frozen=True)
class LeftOut:
    """What could vary, and does not in any row.

    Attributes:
        what: a value of a factor, as a noun.
        reason: why, in a sentence.
    """

    what: str
    reason: str


@dataclass(frozen=True)
class Declaration:
    """What may vary in one family of cases.

    Attributes:
        factors: the values of each factor.
        excluded: what no row may have.
        hiding: values that hide what the other factors do, so that a row that has them shows only combinations that
            contain all of their factors.
        structural: three dimensions of which rows cover all triples, each with the factors that it consists of: place,
            origin of an operand and use of a result, where every operand has an origin and every result a use.
        left_out: what the factors lack.
    """

    factors: Mapping[str, Sequence[str]]
    excluded: Sequence[Meeting] = ()
    hiding: Sequence[Meeting] = ()
    structural: Mapping[str, Sequence[str]] | None = None
    left_out: Sequence[LeftOut] = ()

    def hiding_factors(self, row: Row) -> set[str]:
        """The factors that a combination must contain for this row to show it."""
        return {factor for meeting in self.hiding if meeting.is_in(row) for factor in meeting.values}

    def is_excluded(self, row: Row) -> bool:
        """Whether a row, which may lack factors, has what none may have."""
        return any(meeting.is_in(row) for meeting in self.excluded)
