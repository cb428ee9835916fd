"""Combinatorial testing: declare what can vary in a family of cases, and choose few rows that cover all combinations.

A *factor* is something that varies, such as the enclosing scope of a node. A *level* is one of its possible values. A
*row* (test configuration) chooses a level for every factor; a builder makes a model and data from it. A *covering
array* is a set of rows that together contain every allowed pair of levels and, for chosen groups of factors, every
triple.

The pairs and triples of levels that have to be covered are called *interactions*. Two kinds of level combinations
reduce what can be covered. *Forbidden* combinations occur in no row. *Masking* combinations make all other factors have
no effect: for example, an attribute that makes the result 0. A row with that attribute does not test whether the other
levels work together, so it covers only interactions that include the attribute.

Factor and level names are part of the ids and tags of cases. Do not change them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, combinations, product
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


Row: TypeAlias = "Mapping[str, str]"
"""A level for each factor. A partial row lacks factors."""


@dataclass(frozen=True)
class LevelCombination:
    """A combination of levels that is forbidden, or that makes all other factors have no effect (masking).

    Attributes:
        levels: for each factor of the combination, the levels that belong to it.
        reason: why the combination is forbidden or masking, as a sentence.
    """

    levels: Mapping[str, Sequence[str]]
    reason: str

    def is_in(self, row: Row) -> bool:
        """Return whether a row, possibly partial, contains the combination."""
        for factor, allowed in self.levels.items():  # noqa: SIM110 - a loop is faster than `all`
            if row.get(factor) not in allowed:
                return False
        return True


@dataclass(frozen=True)
class Declaration:
    """Factors and constraints of one family of cases.

    Attributes:
        factors: levels of each factor. A level may be listed several times to be sampled more often.
        forbidden: combinations that no row may contain.
        masking: combinations that make all other factors have no effect. A row with a masking combination covers only
            interactions that include all factors of the combination.
        three_way: three named groups of factors. Every triple of levels, one from each group, must be covered.
    """

    factors: Mapping[str, Sequence[str]]
    forbidden: Sequence[LevelCombination] = ()
    masking: Sequence[LevelCombination] = ()
    three_way: Mapping[str, Sequence[str]] | None = None

    def masking_factors(self, row: Row) -> set[str]:
        """Return the factors of the masking combinations in a row.

        The row covers only interactions that include all these factors.
        """
        return {factor for combination in self.masking if combination.is_in(row) for factor in combination.levels}

    def is_forbidden(self, row: Row) -> bool:
        """Return whether a row, possibly partial, contains a forbidden combination."""
        for combination in self.forbidden:  # noqa: SIM110 - a loop is faster than `any`
            if combination.is_in(row):
                return True
        return False


Interaction: TypeAlias = tuple[tuple[str, str], ...]
"""Levels that are tested together: two pairs (factor, level), or three pairs (group of `three_way`, level)."""


def covered_interactions(declaration: Declaration, row: Row) -> list[Interaction]:
    """Return the interactions in a row, except those that masking makes ineffective. The row may be partial."""
    masking = declaration.masking_factors(row)
    pairs: Iterable[Interaction] = combinations(
        [(factor, row[factor]) for factor in declaration.factors if factor in row], 2
    )
    contained = [*_triples_of(declaration, row), *pairs]
    if not masking:
        return contained
    return [interaction for interaction in contained if masking <= dict(interaction).keys()]


def covering_array(declaration: Declaration, first: Sequence[dict[str, str]] = ()) -> list[dict[str, str]]:
    """Return rows that together cover all coverable interactions.

    Args:
        declaration: the factors and constraints.
        first: rows that come first. All else in the other rows is then as plain as possible.
    """
    return _CoveringArraySearch(declaration, first).rows()


def coverable_interactions(declaration: Declaration) -> list[Interaction]:
    """Return the interactions that some allowed row can cover."""
    return _CoveringArraySearch(declaration).coverable


def _triples_of(declaration: Declaration, row: Row) -> Iterator[Interaction]:
    """Yield the triples of levels of the groups in `three_way` that a row contains."""
    groups = declaration.three_way or {}
    levels = [
        [(group, level) for level in dict.fromkeys(row[factor] for factor in factors if factor in row)]
        for group, factors in groups.items()
    ]
    return product(*levels) if groups else iter(())


def all_interactions(declaration: Declaration) -> Iterator[Interaction]:
    """Yield all triples, then all pairs of levels, including interactions that no row can cover."""
    if declaration.three_way:
        yield from product(
            *(
                dict.fromkeys((group, level) for factor in factors for level in declaration.factors[factor])
                for group, factors in declaration.three_way.items()
            )
        )
    for pair in combinations(declaration.factors.items(), 2):
        yield from product(*([(factor, level) for level in levels] for factor, levels in pair))


class _MissingInteractions:
    """The interactions that no row covers yet.

    Attributes:
        all: the missing interactions, in the order of `all_interactions`.
    """

    def __init__(self, declaration: Declaration, interactions: Iterable[Interaction]) -> None:
        self.all = dict.fromkeys(interactions)
        self._declaration = declaration
        self._groups = declaration.three_way or {}
        self._group_of = {factor: group for group, factors in self._groups.items() for factor in factors}
        self._partners: dict[tuple[str, str], set[Interaction]] = defaultdict(set)
        """For each level of a factor or a group, the other levels of the missing interactions that it is in."""
        for interaction in self.all:
            for level, others in _levels_with_others(interaction):
                self._partners[level].add(others)

    def remove(self, row: Row) -> None:
        """Remove the interactions that a row covers."""
        for interaction in covered_interactions(self._declaration, row):
            self.all.pop(interaction, None)
            for level, others in _levels_with_others(interaction):
                self._partners[level].discard(others)

    def gain(self, row: Row) -> int:
        """Return how many of the missing interactions a row covers."""
        return sum(interaction in self.all for interaction in covered_interactions(self._declaration, row))

    def added_gains(self, row: Row, name: str) -> Callable[[str], int]:
        """Return a function of a level that returns how many more missing interactions a row covers with it.

        The level is one of the factor `name`, and the row must not contain a masking combination.
        """
        levels = {(each,) for each in row.items()}
        group = self._group_of.get(name, "")
        grouped = {of: {(of, row[each]) for each in factors if each in row} for of, factors in self._groups.items()}
        present = grouped.pop(group, set())
        pairs = set(product(*grouped.values())) if group else set()

        def gain(level: str) -> int:
            gained = len(self._partners[name, level] & levels)
            return gained if (group, level) in present else gained + len(self._partners[group, level] & pairs)

        return gain


def _levels_with_others(interaction: Interaction) -> Iterator[tuple[tuple[str, str], Interaction]]:
    """Yield each level of an interaction with the other levels."""
    for place, level in enumerate(interaction):
        yield level, interaction[:place] + interaction[place + 1 :]


@dataclass(frozen=True)
class _CoveringArraySearch:
    """Greedy, deterministic search for a covering array.

    Each new row starts from the first interaction that is not covered yet. The search grows several candidate rows,
    factor by factor, and keeps the one that covers most new interactions. At the end it removes redundant rows.
    """

    declaration: Declaration
    first: Sequence[dict[str, str]] = ()
    _possible: dict[tuple[tuple[str | None, ...], frozenset[str]], bool] = field(default_factory=dict)

    @cached_property
    def coverable(self) -> list[Interaction]:
        """Interactions that some allowed row can cover."""
        return [interaction for interaction in all_interactions(self.declaration) if self._starts(interaction)]

    def rows(self) -> list[dict[str, str]]:
        """Return the rows of the covering array. Only the first rows can be redundant."""
        missing = _MissingInteractions(self.declaration, self.coverable)
        for row in self.first:
            missing.remove(row)
        rows: list[dict[str, str]] = []
        while missing.all:
            seed = next(iter(missing.all))
            starts = self._starts(seed)
            offsets = range(len(self.declaration.factors))
            candidates = (self._complete_row(seed, starts[offset % len(starts)], missing, offset) for offset in offsets)
            row = max(candidates, key=lambda candidate: candidate[0])[1]
            rows.append(row)
            missing.remove(row)
        return [*self.first, *self._remove_redundant(rows)]

    def _starts(self, interaction: Interaction) -> list[dict[str, str]]:
        """Return partial rows that contain an interaction and can be completed to a row that covers the interaction."""
        groups = self.declaration.three_way or {}
        needed = self._maskable_in(interaction)
        factors = [groups[name] if len(interaction) > 2 else (name,) for name, _ in interaction]
        levels = [level for _, level in interaction]
        starts = (dict(zip(chosen, levels, strict=True)) for chosen in product(*factors))
        return [
            start
            for start in starts
            if all(level in self.declaration.factors[factor] for factor, level in start.items())
            and self._is_possible(start, needed)
        ]

    def _complete_row(
        self, seed: Interaction, row: dict[str, str], missing: _MissingInteractions, offset: int
    ) -> tuple[int, dict[str, str]]:
        """Complete a partial row greedily, beginning with the factor at `offset`.

        Returns:
            The number of missing interactions that the row covers, and the row.
        """
        names = list(self.declaration.factors)
        needed = self._maskable_in(seed)
        gain = missing.gain(row)
        is_masked = bool(self.declaration.masking_factors(row))
        for name in [*names[offset:], *names[:offset]]:
            if name in row:
                continue
            best: tuple[int, dict[str, str], bool] | None = None
            added_gain = missing.added_gains(row, name)
            for level in self._rotated_levels(name, 0 if self.first else len(missing.all)):
                longer = {**row, name: level}
                is_constrained = level in self._constrained.get(name, ())
                if is_constrained and not self._is_possible(longer, needed):
                    continue
                masks = is_masked or (is_constrained and bool(self.declaration.masking_factors(longer)))
                total = missing.gain(longer) if masks else gain + added_gain(level)
                if best is None or total > best[0]:
                    best = total, longer, masks
            if best is None:
                raise ValueError(f"no level of {name} is allowed in {row}")
            gain, row, is_masked = best
        return gain, {name: row[name] for name in names}

    def _rotated_levels(self, name: str, shift: int) -> Iterator[str]:
        """Yield the levels of the factor `name`, rotated by `shift`.

        If several levels gain the same coverage, the search takes the first; the rotation varies which one is first.
        If there are first rows, the others are not rotated, so that they are as plain as possible.
        """
        levels = self.declaration.factors[name]
        return (levels[(shift + index) % len(levels)] for index in range(len(levels)))

    @cached_property
    def _constrained(self) -> Mapping[str, frozenset[str]]:
        """The levels in forbidden or masking combinations, by factor. Factors without such levels are omitted."""
        constraints = (*self.declaration.forbidden, *self.declaration.masking)
        return {
            factor: frozenset(level for constraint in constraints for level in constraint.levels.get(factor, ()))
            for factor in self.declaration.factors
            if any(factor in constraint.levels for constraint in constraints)
        }

    def _maskable_in(self, interaction: Interaction) -> frozenset[str]:
        """Return the factors of an interaction that are in masking combinations."""
        return frozenset({*chain(*(each.levels for each in self.declaration.masking))}.intersection(dict(interaction)))

    def _is_possible(self, row: Row, needed: frozenset[str]) -> bool:
        """Return whether a partial row can be completed to an allowed row in which an interaction is not masked.

        The result depends on the constrained factors only, and is cached.

        Args:
            row: the partial row.
            needed: the factors of the interaction that are in masking combinations.
        """
        key = tuple(map(row.get, self._constrained)), needed
        if key not in self._possible:
            is_allowed = not self.declaration.is_forbidden(row) and self.declaration.masking_factors(row) <= needed
            free = next((factor for factor in self._constrained if factor not in row), None)
            longer = ({**row, free: level} for level in self.declaration.factors[free]) if free else ()
            self._possible[key] = is_allowed and (not free or any(self._is_possible(each, needed) for each in longer))
        return self._possible[key]

    def _remove_redundant(self, rows: Sequence[dict[str, str]]) -> list[dict[str, str]]:
        """Return the rows without those whose interactions are all covered by other rows or by the first rows."""
        every = (*self.first, *rows)
        count = Counter(each for row in every for each in covered_interactions(self.declaration, row))
        necessary = []
        for row in rows:
            interactions = covered_interactions(self.declaration, row)
            if all(count[interaction] > 1 for interaction in interactions):
                count.subtract(interactions)
            else:
                necessary.append(row)
        return necessary
