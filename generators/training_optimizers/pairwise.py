"""All pairs: few rows in which every two values of any two factors meet that may meet at all.

Greedy and without chance: rows depend on the table alone, on the order of its factors and of their values. Own code
and not allpairspy's or covertable's, though both are kept up: the rows are bytes of the corpus, which no release of a
library may change, and neither knows values that hide what the others do (see `Table.hiding`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Row: TypeAlias = "Mapping[str, str]"
"""A value for each factor."""

Pair: TypeAlias = tuple[tuple[str, str], tuple[str, str]]
"""Two factors with a value each, in the table's order of factors."""


@dataclass(frozen=True)
class Table:
    """What may vary, and what may not meet.

    Attributes:
        factors: the values of each factor.
        excluded: values by factor that no row may have all together.
        hiding: values by factor that together hide what the other factors do, so that a row that has them shows only
            pairs that contain all of them.
    """

    factors: Mapping[str, Sequence[str]]
    excluded: Sequence[Mapping[str, Sequence[str]]] = ()
    hiding: Sequence[Mapping[str, Sequence[str]]] = ()

    def shown(self, row: Row) -> list[Pair]:
        """The pairs that a row shows; it may lack factors."""
        hiding = {factor for values in self.hiding if _has(row, values) for factor in values}
        pairs = combinations([(factor, row[factor]) for factor in self.factors if factor in row], 2)
        return [(one, other) for one, other in pairs if hiding <= {one[0], other[0]}] if hiding else list(pairs)

    def wanted(self) -> list[Pair]:
        """The pairs that some row can show, in the table's order."""
        every = (
            ((factor, value), (other, another))
            for factor, other in combinations(self.factors, 2)
            for value in self.factors[factor]
            for another in self.factors[other]
        )
        return [pair for pair in every if self._can_show(dict(pair), pair)]

    def rows(self) -> list[dict[str, str]]:
        """Rows that together show all wanted pairs; each shows one that no other does."""
        missing = dict.fromkeys(self.wanted())
        rows: list[dict[str, str]] = []
        while missing:
            seed = next(iter(missing))
            row = max((self._grown(seed, missing, turn) for turn in range(len(self.factors))), key=lambda row: row[0])
            rows.append(row[1])
            for pair in self.shown(row[1]):
                missing.pop(pair, None)
        return self._necessary(rows)

    def _grown(self, seed: Pair, missing: Mapping[Pair, None], turn: int) -> tuple[int, dict[str, str]]:
        """A row that shows a pair and, factor by factor, as many missing ones as it can; and how many these are."""
        names = list(self.factors)
        row = dict(seed)
        for name in [*names[turn:], *names[:turn]]:
            if name not in row:
                grown = [{**row, name: value} for value in self._turned(name, len(missing))]
                row = max((one for one in grown if self._can_show(one, seed)), key=lambda one: self._gain(one, missing))
        return self._gain(row, missing), {name: row[name] for name in names}

    def _turned(self, name: str, number: int) -> Iterator[str]:
        """A factor's values, another one first from time to time, so that free choices spread over all of them."""
        values = self.factors[name]
        return (values[(number + place) % len(values)] for place in range(len(values)))

    def _gain(self, row: Row, missing: Mapping[Pair, None]) -> int:
        return sum(pair in missing for pair in self.shown(row))

    def _can_show(self, row: Row, pair: Pair) -> bool:
        """Whether some row that goes on from this one is allowed and shows the pair."""
        if any(_has(row, values) for values in self.excluded) or pair not in self.shown(row):
            return False
        free = next((name for name in self.factors if name not in row), None)
        return free is None or any(self._can_show({**row, free: value}, pair) for value in self.factors[free])

    def _necessary(self, rows: Sequence[dict[str, str]]) -> list[dict[str, str]]:
        """The rows without those that the later choice of others made superfluous."""
        kept = list(rows)
        for row in rows:
            others = {pair for other in kept if other is not row for pair in self.shown(other)}
            if others.issuperset(self.shown(row)):
                kept.remove(row)
        return kept


def _has(row: Row, values: Mapping[str, Sequence[str]]) -> bool:
    return all(row.get(factor) in allowed for factor, allowed in values.items())
