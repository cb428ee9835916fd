"""Coverage of a declaration by the rows of the cases of a family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.factors.covering_array import all_interactions, coverable_interactions, covered_interactions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from conformance.factors.covering_array import Declaration, Interaction, Row


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
