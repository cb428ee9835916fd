"""What a subject made of the cases of one family of operators, and which deviations it bears out or refutes."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from conformance.diagnosis.laboratory import Laboratory, Likeness, do_compose

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.corpus.loading import CaseInMemory
    from conformance.deviations import Deviation
    from conformance.diagnosis.laboratory import Deviations
    from conformance.diagnosis.observation import Observation

LOOKS = 32
"""On how many failing cases a deviation is tried before it is given up, if it explains none of them."""

PATIENCE = 12
"""How many of these it may fail otherwise than the subject does."""

SAMPLE = 8
"""On how many unexplained cases all deviations are tried together with one that explains others."""


@dataclass(frozen=True)
class Evidence:
    """What a subject made of the cases of a family.

    Attributes:
        catalogue: the deviations that may explain it.
        cases: by id, those that the subject passes or fails.
        observations: what it made of those that it fails, by id.
        passed: the cases that a deviation may not fail.
        passed_below: those that it had better not fail, as what they ask is of a lower level.
        clauses: the ids of the clauses that a failing case is about, by its id.
    """

    catalogue: Sequence[Deviation]
    cases: Mapping[str, CaseInMemory]
    observations: Mapping[str, Observation]
    passed: Sequence[str]
    passed_below: Sequence[str] = ()
    clauses: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def laboratory(self) -> Laboratory:
        """Where deviations are run."""
        return Laboratory(self.cases, self.observations)

    @cached_property
    def failing(self) -> frozenset[str]:
        """The cases to be explained."""
        return frozenset(self.observations)

    def explained(self, deviations: Deviations, among: Iterable[str] | None = None) -> frozenset[str]:
        """Those of the failing cases, or of some of them, that an implementation with these deviations explains."""
        ids = self.failing if among is None else among
        return frozenset(id for id in ids if self.laboratory.explains(deviations, id))

    def explains_all(self, deviations: Deviations, ids: Iterable[str]) -> bool:
        """Whether an implementation with these deviations explains all of these failing cases."""
        return all(self.laboratory.explains(deviations, id) for id in ids)

    def is_refuted(self, deviations: Deviations) -> bool:
        """Whether there is no such implementation, or it fails a case that the subject passes."""
        return not do_compose(deviations) or any(self.laboratory.fails(deviations, id) for id in self.passed)

    def holding_below(self, alternatives: Sequence[Deviations]) -> list[Deviations]:
        """Those that fail no case of a lower level that the subject passes; all, if none is so."""
        fails = self.laboratory.fails
        holding = [each for each in alternatives if not any(fails(each, id) for id in self.passed_below)]
        return holding or list(alternatives)

    @cached_property
    def suspects(self) -> Sequence[Deviation]:
        """The deviations that explain a failing case, of those that they are tried on."""
        return [deviation for deviation in self.catalogue if self._agrees_somewhere(deviation)]

    @cached_property
    def _alone(self) -> dict[Deviation, frozenset[str]]:
        return {}

    def alone(self, deviation: Deviation) -> frozenset[str]:
        """All failing cases that a deviation explains."""
        if deviation not in self._alone:
            self._alone[deviation] = self.explained((deviation,))
        return self._alone[deviation]

    def partners(self, deviations: Deviations, left: frozenset[str]) -> list[Deviation]:
        """The deviations that together with these explain some of a sample of the cases that are left."""
        sample = sorted((id for id in left if self.observations[id].ended is None), key=_shuffled)[:SAMPLE]
        others = [one for one in self.catalogue if one not in deviations]
        orders = {one: ((*deviations, one), (one, *deviations)) for one in others}
        return [one for one in others if any(self.explained(order, sample) for order in orders[one])]

    def contradicting(self, deviation: Deviation, among: Iterable[str]) -> list[str]:
        """Those of some failing cases that a deviation fails by an answer, as the subject does, but by another one."""
        answered = (id for id in among if self.observations[id].ended is None)
        return [id for id in answered if self.laboratory.likeness((deviation,), id) is Likeness.OTHER]

    def _agrees_somewhere(self, deviation: Deviation) -> bool:
        """Whether a deviation explains a failing case; cases about its clause and little else are tried first."""
        others = 0
        for id in self._in_order(deviation.clause)[:LOOKS]:
            likeness = self.laboratory.likeness((deviation,), id)
            if likeness is Likeness.SAME:
                return True
            others += likeness is Likeness.OTHER
            if others >= PATIENCE:
                return False
        return False

    def _in_order(self, clause: str) -> list[str]:
        return sorted(self._worth_trying, key=lambda case: clause not in self.clauses.get(case, ()))

    @cached_property
    def _worth_trying(self) -> list[str]:
        """The failing cases: those about few clauses first, and of those that end in the same error the first two."""
        ids = sorted(self.failing, key=lambda case: (len(self.clauses.get(case, ())), _shuffled(case)))
        seen: dict[str, int] = {}
        kept = []
        for id in ids:
            ended = self.observations[id].ended
            if ended is not None:
                seen[ended] = seen.get(ended, 0) + 1
            if ended is None or seen[ended] <= 2:
                kept.append(id)
        return kept


def _shuffled(case: str) -> int:
    """A key that sorts cases in an order which has nothing to do with what they are about, the same at any time."""
    return zlib.crc32(case.encode())
