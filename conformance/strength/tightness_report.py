"""How tight the bounds are, as lines for people and as an object for machines."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.strength.tightness import Attained

LARGEST_MEDIAN = 2.0
LARGEST = 16.0
"""No bound is more times what is attained."""

EDGES = (1.0, 1.25, 1.5, 2.0, 4.0, 8.0, 16.0)


@dataclass(frozen=True)
class Tightness:
    """What an adversary attained on the cases with bounds."""

    attained: Sequence[Attained]

    @property
    def median(self) -> float:
        """The median of bound over attained error; 1 of no bounds."""
        return median(one.ratio for one in self.attained) if self.attained else 1.0

    @property
    def refuted(self) -> list[Attained]:
        """The bounds beyond which an admissible evaluation went."""
        return [one for one in self.attained if one.ratio < 1]

    @property
    def wide(self) -> list[Attained]:
        """The bounds that are too wide, the widest first."""
        return sorted((one for one in self.attained if one.ratio > LARGEST), key=lambda one: -one.ratio)

    @property
    def holds(self) -> bool:
        """Whether no bound is refuted, half of them are tight, and none is wide."""
        return not self.refuted and self.median <= LARGEST_MEDIAN and not self.wide


def tightness_lines(found: Tightness) -> Iterator[str]:
    """The distribution of bound over attained error, and every bound that is refuted or wide."""
    yield ""
    yield f"{'bound over attained':<22}{'cases':>6}"
    for low, high in zip(EDGES, (*EDGES[1:], float("inf")), strict=True):
        count = sum(low <= one.ratio < high for one in found.attained)
        yield f"{f'{low:g} to {high:g}':<22}{count:>6}"
    yield f"{len(found.attained)} cases, {len(found.refuted)} refuted, median {found.median:.2f}."
    for one in (*found.refuted, *found.wide):
        yield f"  {one.case}, {one.output} {list(one.index)}: {one.ratio:.3g}"


def tightness_document(found: Tightness) -> dict[str, Any]:
    """The same, whole."""
    return {
        "median": found.median,
        "cases": [{**vars(one), "index": list(one.index), "error": str(one.error)} for one in found.attained],
    }
