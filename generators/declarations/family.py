"""Declarations of families of cases: factors, omissions, and levels that came later; and how far rows cover them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from conformance.corpus.factors.covering_array import (
    Declaration,
    Interaction,
    Row,
    all_interactions,
    coverable_interactions,
    covered_interactions,
    covering_array,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@dataclass(frozen=True)
class Omission:
    """A variation that is deliberately not tested, so that no factor has it.

    Attributes:
        what: the omitted variation, as a noun phrase.
        reason: why it is omitted, as a sentence.
    """

    what: str
    reason: str


@dataclass(frozen=True)
class FamilyDeclaration(Declaration):
    """Factors and constraints of one family of cases.

    Attributes:
        omissions: known variations that are deliberately not tested, for the coverage report.
        added: levels of each factor that came later. The covering array begins with the rows for all other levels, so
            that these rows and their numbers stay the same. A factor whose levels except the first came later has its
            first level in these rows.
    """

    omissions: Sequence[Omission] = ()
    added: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def original(self) -> FamilyDeclaration:
        """The declaration without the levels of `added`. A factor that keeps only its first level is left out."""
        kept = {
            factor: tuple(level for level in levels if level not in self.added.get(factor, ()))
            for factor, levels in self.factors.items()
        }
        factors = {name: levels for name, levels in kept.items() if len(levels) > 1 or name not in self.added}
        return replace(self, factors=factors, added={})

    @property
    def rows(self) -> list[dict[str, str]]:
        """Rows that together cover all coverable interactions; those of the original declaration come first."""
        if not self.added:
            return covering_array(self)
        first = {name: levels[0] for name, levels in self.factors.items()}
        return covering_array(self, [{**first, **row} for row in covering_array(self.original)])


@dataclass(frozen=True)
class Coverage:
    """The interactions of a declaration, divided by whether a set of rows covers them.

    Attributes:
        coverable: interactions that some allowed row can cover.
        missing: coverable interactions that none of the rows covers.
        impossible: interactions that no row can cover, because all their rows are forbidden or have masking levels.
    """

    coverable: Sequence[Interaction]
    missing: Sequence[Interaction]
    impossible: Sequence[Interaction]

    def restrict_to_size(self, size: int) -> Coverage:
        """Return the coverage of interactions of one size only: 2 for pairs, 3 for triples."""
        parts = (self.coverable, self.missing, self.impossible)
        return Coverage(*([interaction for interaction in part if len(interaction) == size] for part in parts))


def coverage(declaration: Declaration, rows: Iterable[Row]) -> Coverage:
    """Return which interactions a set of complete rows covers."""
    covered = {interaction for row in rows for interaction in covered_interactions(declaration, row)}
    coverable = coverable_interactions(declaration)
    possible = set(coverable)
    return Coverage(
        coverable,
        [interaction for interaction in coverable if interaction not in covered],
        [interaction for interaction in all_interactions(declaration) if interaction not in possible],
    )
