"""Covering arrays: few rows in which every two values of any two factors meet, and every structural triple.

Greedy and without chance: rows depend on the declaration alone, on the order of its factors and of their values. Own
code and not allpairspy's or covertable's, though both are kept up: the rows are bytes of the corpus, which no release
of a library may change, and neither knows values that hide what the others do (see `Declaration.hiding`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.dimensions.factors import Declaration, Row

Combination: TypeAlias = tuple[tuple[str, str], ...]
"""Two factors with a value each, in the declaration's order, or the three structural dimensions likewise."""


@dataclass(frozen=True)
class Coverage:
    """Which combinations some rows cover.

    Attributes:
        wanted: those that some row can show.
        missing: those of them that no row shows.
        impossible: those that no row can show, because of what is excluded or hides them.
    """

    wanted: Sequence[Combination]
    missing: Sequence[Combination]
    impossible: Sequence[Combination]

    def of_size(self, size: int) -> Coverage:
        """The same of pairs (2) or triples (3) alone."""
        sized = ([one for one in each if len(one) == size] for each in (self.wanted, self.missing, self.impossible))
        return Coverage(*sized)


def shown(declaration: Declaration, row: Row) -> list[Combination]:
    """The combinations that a row shows; it may lack factors."""
    hiding = declaration.hiding_factors(row)
    pairs: Iterable[Combination] = combinations(
        [(factor, row[factor]) for factor in declaration.factors if factor in row], 2
    )
    every = [*_triples(declaration, row), *pairs]
    return [one for one in every if hiding <= {factor for factor, _ in one}] if hiding else every


def coverage(declaration: Declaration, rows: Iterable[Row]) -> Coverage:
    """Which combinations some rows, of which none lacks a factor, cover."""
    covered = {one for row in rows for one in shown(declaration, row)}
    wanted = covering_of(declaration).wanted
    possible = set(wanted)
    return Coverage(
        wanted,
        [one for one in wanted if one not in covered],
        [one for one in _every(declaration) if one not in possible],
    )


def covering_rows(declaration: Declaration) -> list[dict[str, str]]:
    """Rows that together show all combinations that can be shown; each shows one that no other does."""
    return covering_of(declaration).rows()


def covering_of(declaration: Declaration) -> _Covering:
    """The search for a declaration's rows."""
    return _Covering(declaration)


def _triples(declaration: Declaration, row: Row) -> Iterator[Combination]:
    dimensions = declaration.structural or {}
    values = [
        [(dimension, value) for value in dict.fromkeys(row[factor] for factor in factors if factor in row)]
        for dimension, factors in dimensions.items()
    ]
    return product(*values) if dimensions else iter(())


def _every(declaration: Declaration) -> Iterator[Combination]:
    """All triples, then all pairs, whether or not a row can show them."""
    if declaration.structural:
        yield from product(
            *(
                dict.fromkeys((dimension, value) for factor in factors for value in declaration.factors[factor])
                for dimension, factors in declaration.structural.items()
            )
        )
    for pair in combinations(declaration.factors.items(), 2):
        yield from product(*([(factor, value) for value in values] for factor, values in pair))


@dataclass(frozen=True)
class _Covering:
    declaration: Declaration
    _possible: dict[tuple[tuple[str | None, ...], frozenset[str]], bool] = field(default_factory=dict)

    @cached_property
    def wanted(self) -> list[Combination]:
        """The combinations that some row can show."""
        return [one for one in _every(self.declaration) if self._starts(one)]

    def rows(self) -> list[dict[str, str]]:
        missing = dict.fromkeys(self.wanted)
        rows: list[dict[str, str]] = []
        while missing:
            seed = next(iter(missing))
            starts, turns = self._starts(seed), range(len(self.declaration.factors))
            grown = (self._grown(seed, starts[turn % len(starts)], missing, turn) for turn in turns)
            row = max(grown, key=lambda row: row[0])[1]
            rows.append(row)
            for combination in shown(self.declaration, row):
                missing.pop(combination, None)
        return self._necessary(rows)

    def _starts(self, combination: Combination) -> list[dict[str, str]]:
        """The parts of rows that have a combination and can go on to a row that shows it."""
        dimensions = self.declaration.structural or {}
        factors = [dimensions[name] if len(combination) > 2 else (name,) for name, _ in combination]
        values = [value for _, value in combination]
        starts = (dict(zip(chosen, values, strict=True)) for chosen in product(*factors))
        possible = (
            start
            for start in starts
            if all(value in self.declaration.factors[factor] for factor, value in start.items())
        )
        needed = frozenset(factor for factor, _ in combination)
        return [start for start in possible if self._can_go_on(start, needed)]

    def _grown(
        self, seed: Combination, row: dict[str, str], missing: Mapping[Combination, None], turn: int
    ) -> tuple[int, dict[str, str]]:
        """A row that shows a combination and, factor by factor, as many missing ones as it can; and how many."""
        names = list(self.declaration.factors)
        needed = frozenset(factor for factor, _ in seed)
        gain = self._gain(row, missing)
        for name in [*names[turn:], *names[:turn]]:
            if name in row:
                continue
            best: tuple[int, dict[str, str]] | None = None
            for value in self._turned(name, len(missing)):
                grown = {**row, name: value}
                if value in self._constrained.get(name, ()) and not self._can_go_on(grown, needed):
                    continue
                total = (
                    self._gain(grown, missing) if self._hides(grown) else gain + self._added(row, name, value, missing)
                )
                if best is None or total > best[0]:
                    best = total, grown
            if best is None:
                raise ValueError(f"no value of {name} goes with {row}")
            gain, row = best
        return gain, {name: row[name] for name in names}

    def _turned(self, name: str, number: int) -> Iterator[str]:
        """A factor's values, another one first from time to time, so that free choices spread over all of them."""
        values = self.declaration.factors[name]
        return (values[(number + place) % len(values)] for place in range(len(values)))

    def _gain(self, row: Row, missing: Mapping[Combination, None]) -> int:
        return sum(one in missing for one in shown(self.declaration, row))

    def _hides(self, row: Row) -> bool:
        return any(meeting.is_in(row) for meeting in self.declaration.hiding)

    def _added(self, row: Row, name: str, value: str, missing: Mapping[Combination, None]) -> int:
        """How many missing combinations a row that nothing hides gains with a value."""
        places = self._places
        here, place = (name, value), places[name]
        pairs = sum(((here, other) if place < places[other[0]] else (other, here)) in missing for other in row.items())
        if name not in self._structural:
            return pairs
        before = set(_triples(self.declaration, row))
        after = _triples(self.declaration, {**row, name: value})
        return pairs + sum(one in missing and one not in before for one in after)

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {name: place for place, name in enumerate(self.declaration.factors)}

    @cached_property
    def _structural(self) -> frozenset[str]:
        return frozenset(factor for each in (self.declaration.structural or {}).values() for factor in each)

    @cached_property
    def _constrained(self) -> Mapping[str, frozenset[str]]:
        """By factor the values that may keep others away; any other value goes with whatever a row has."""
        meetings = (*self.declaration.excluded, *self.declaration.hiding)
        return {
            factor: frozenset(value for meeting in meetings for value in meeting.values.get(factor, ()))
            for factor in self.declaration.factors
            if any(factor in meeting.values for meeting in meetings)
        }

    def _can_go_on(self, row: Row, needed: frozenset[str]) -> bool:
        """Whether some row that goes on from this one is allowed and shows a combination of these factors."""
        constrained = self._constrained
        state = tuple(
            None if (value := row.get(factor)) is None else value if value in values else ""
            for factor, values in constrained.items()
        )
        return self._is_possible(state, needed)

    def _is_possible(self, state: tuple[str | None, ...], needed: frozenset[str]) -> bool:
        """The same of what a row has of the constrained factors: None if nothing yet, empty if a free value."""
        if (state, needed) not in self._possible:
            row = {factor: value for factor, value in zip(self._constrained, state, strict=True) if value is not None}
            if self.declaration.is_excluded(row) or not self.declaration.hiding_factors(row) <= needed:
                possible = False
            elif None in state:
                place = state.index(None)
                values = list(self._constrained.values())[place]
                possible = any(
                    self._is_possible((*state[:place], value, *state[place + 1 :]), needed)
                    for value in self._candidates(place, values)
                )
            else:
                possible = True
            self._possible[state, needed] = possible
        return self._possible[state, needed]

    def _candidates(self, place: int, values: frozenset[str]) -> Sequence[str]:
        """The values of the constrained factor at a place, of which those that nothing constrains are one."""
        every = self.declaration.factors[list(self._constrained)[place]]
        free = [] if values.issuperset(every) else [""]
        return [*free, *(value for value in every if value in values)]

    def _necessary(self, rows: Sequence[dict[str, str]]) -> list[dict[str, str]]:
        """The rows without those that the later choice of others made superfluous."""
        count = Counter(one for row in rows for one in shown(self.declaration, row))
        kept = []
        for row in rows:
            combinations_ = shown(self.declaration, row)
            if all(count[one] > 1 for one in combinations_):
                count.subtract(combinations_)
            else:
                kept.append(row)
        return kept
