"""What cases have in common that others have not."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from conformance.models.preview import decimal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.diagnosis.properties import Properties

FEW = 0.1
"""What part of the others may have a property that is said to be of all of these."""

MANY = 0.5
"""What part of the others may have it where nothing tells more."""

SOME = 0.25
"""Of what part of these a property must be that is said of some."""

CHANCE = 0.05
"""How likely a property may be of as many of these as it is of, if it had nothing to do with them."""


@dataclass(frozen=True)
class Shared:
    """A property that cases have in common.

    Attributes:
        text: what they do, as of several: "set alpha", "have T ≥ 2 and set beta".
        cases: those of them that do it, by id.
        others: how many of the others do it.
    """

    text: str
    cases: frozenset[str]
    others: int


@dataclass(frozen=True)
class _Trait:
    """A property with all that have it."""

    text: str
    cases: frozenset[str]
    others: frozenset[str]

    def __and__(self, trait: _Trait) -> _Trait:
        return _Trait(f"{self.text} and {trait.text}", self.cases & trait.cases, self.others & trait.others)

    @property
    def shared(self) -> Shared:
        return Shared(self.text, self.cases, len(self.others))

    def is_telling(self, among: int) -> bool:
        """Whether it is unlikely that so many have it by chance, of all cases and of the `among` others."""
        part = (len(self.cases) + len(self.others)) / (len(self.cases) + among)
        return len(self.cases) > 1 and part ** len(self.cases) <= CHANCE


def shared(cases: Mapping[str, Properties], others: Mapping[str, Properties]) -> list[Shared]:
    """What some cases have in common and others, of which there is at least one, have not.

    That is one property of all, or two that only these have both; else some that none of the others has, of some of
    the cases each, the one of most first; else one of all that at most half of the others have.
    """
    traits = list(_traits(cases, others))
    of_all = sorted((trait for trait in traits if len(trait.cases) == len(cases)), key=lambda one: len(one.others))
    pairs = (one & other for one, other in combinations(of_all, 2))
    best = [*of_all[:1], *sorted(pairs, key=lambda one: len(one.others))[:1]]
    best = [trait for trait in best if trait.is_telling(len(others))]
    for trait in best:
        if len(trait.others) <= FEW * len(others) and (not trait.others or trait is best[-1] or _is_as_good(*best)):
            return [trait.shared]
    own = [trait for trait in traits if not trait.others and trait.is_telling(len(others))]
    parts = list(_parts([trait for trait in own if len(trait.cases) >= SOME * len(cases)]))
    weak = [trait.shared for trait in best[-1:] if len(trait.others) <= MANY * len(others)]
    return [*weak, *parts]


def _is_as_good(one: _Trait, pair: _Trait) -> bool:
    """Whether two properties tell little more than one."""
    return len(pair.others) * 2 > len(one.others)


def _parts(traits: list[_Trait]) -> Iterator[Shared]:
    """Traits that explain more than one case each that those before do not, the largest first."""
    seen: frozenset[str] = frozenset()
    while traits and len((largest := max(traits, key=lambda one: len(one.cases - seen))).cases - seen) > 1:
        yield largest.shared
        seen |= largest.cases


def _traits(cases: Mapping[str, Properties], others: Mapping[str, Properties]) -> Iterator[_Trait]:
    """All properties of which there is a case: attributes first, then types, shapes, data, structure, and tags."""
    words = dict.fromkeys(word for one in cases.values() for word in one.words)
    tags = [word for word in words if word.startswith("are tagged")]
    names = dict.fromkeys(name for one in cases.values() for name, values in one.numbers.items() if values)
    for word in (word for word in words if word not in tags):
        yield _worded(word, cases, others)
    for name in names:
        yield from _numbered(name, cases, others)
    for word in tags:
        yield _worded(word, cases, others)


def _worded(word: str, cases: Mapping[str, Properties], others: Mapping[str, Properties]) -> _Trait:
    having = [frozenset(id for id, one in group.items() if word in one.words) for group in (cases, others)]
    return _Trait(word, *having)


def _numbered(name: str, cases: Mapping[str, Properties], others: Mapping[str, Properties]) -> Iterator[_Trait]:
    """That a number is at least, at most, or just what it is in all of these cases, or in none of the others."""
    numbers = [
        {id: one.numbers[name] for id, one in group.items() if one.numbers.get(name)} for group in (cases, others)
    ]
    own, foreign = numbers

    def trait(relation: str, limit: float) -> _Trait:
        holds = _RELATIONS[relation]
        having = [frozenset(id for id, values in group.items() if holds(values, limit)) for group in numbers]
        return _Trait(f"have {name} {relation} {_shown(limit)}", *having)

    for value in sorted({value for values in own.values() for value in values}):
        if all(set(values) == {value} for values in own.values()) or value == 0:
            yield trait("=", value)
    yield trait("≠", 0)
    yield trait("≥", min(max(values) for values in own.values()))
    yield trait("≤", max(min(values) for values in own.values()))
    above = [max(values) for values in own.values() if max(values) > max(map(max, foreign.values()), default=inf)]
    below = [min(values) for values in own.values() if min(values) < min(map(min, foreign.values()), default=-inf)]
    if above:
        yield trait("≥", min(above))
    if below:
        yield trait("≤", max(below))


def _shown(number: float) -> str:
    """A number in as few digits as tell it from others; attributes are floats of 32 bits."""
    single = np.float32(number)
    return str(number) if isinstance(number, int) or float(single) != number else decimal(single)


_RELATIONS: Mapping[str, Callable[[Sequence[float], float], bool]] = {
    "=": lambda values, limit: all(value == limit for value in values),
    "≠": lambda values, limit: any(value != limit for value in values),
    "≥": lambda values, limit: max(values) >= limit,
    "≤": lambda values, limit: min(values) <= limit,
}
"""What is said of numbers of which a case has several, as of T in each run: at least, or at most, by one of them."""
