"""Deviations, alone and together, held against what a subject made of a case."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from conformance.deviations import op_types
from conformance.deviations.composition import DoNotComposeError, composed
from conformance.diagnosis.observation import Observation, agree, fails, observe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.corpus.loading import CaseInMemory
    from conformance.deviations import Deviation

Deviations: TypeAlias = "tuple[Deviation, ...]"
"""Deviations that one implementation has, in the order in which they are done."""


class Likeness(Enum):
    """How an implementation with deviations stands to a subject on a case that the subject fails."""

    SAME = "fails as the subject does"
    OTHER = "fails otherwise"
    IDLE = "does not fail"


class Laboratory:
    """What implementations with deviations make of cases, each run when it is first asked for.

    Args:
        cases: by id.
        observations: what the subject made of those that it fails, by id.
    """

    def __init__(self, cases: Mapping[str, CaseInMemory], observations: Mapping[str, Observation]) -> None:
        self._cases = cases
        self._operators = {id: op_types(case.model) for id, case in cases.items()}
        self._observations = observations
        self._known: dict[tuple[Deviations, str], Likeness] = {}
        self._explaining: dict[tuple[Deviations, str], bool] = {}
        self._failing: dict[tuple[Deviations, str], bool] = {}

    def likeness(self, deviations: Deviations, id: str) -> Likeness:
        """How they stand to the subject on a case that it fails."""
        key = self._present(deviations, id), id
        if key not in self._known:
            self._known[key] = self._compared(*key)
        return self._known[key]

    def explains(self, deviations: Deviations, id: str) -> bool:
        """Whether they fail a case as the subject does; of one it is asked later how else it stands, of several not."""
        key = self._present(deviations, id), id
        if len(key[0]) < 2 or key in self._known:
            return self.likeness(deviations, id) is Likeness.SAME
        if key not in self._explaining:
            self._explaining[key] = self._agree(*key)
        return self._explaining[key]

    def fails(self, deviations: Deviations, id: str) -> bool:
        """Whether they fail a case."""
        key = self._present(deviations, id), id
        if key not in self._failing:
            made = self._made(*key)
            self._failing[key] = made is not None and fails(made, self._cases[id])
        return self._failing[key]

    def _compared(self, deviations: Deviations, id: str) -> Likeness:
        made, case = self._made(deviations, id), self._cases[id]
        if made is None or not fails(made, case):
            return Likeness.IDLE
        return Likeness.SAME if agree(made, self._observations[id], case) else Likeness.OTHER

    def _agree(self, deviations: Deviations, id: str) -> bool:
        case, told = self._cases[id], self._observations[id]
        made = self._made(deviations, id, told)
        return made is not None and agree(made, told, case) and fails(made, case)

    def _made(self, deviations: Deviations, id: str, like: Observation | None = None) -> Observation | None:
        if not deviations or not do_compose(deviations):
            return None
        return observe(composed(deviations), self._cases[id], like)

    def _present(self, deviations: Deviations, id: str) -> Deviations:
        """Those of operators that the case has: the others change nothing."""
        present = self._operators[id]
        return _ordered(tuple(deviation for deviation in deviations if deviation.operator in present))


@lru_cache(maxsize=2**16)
def _ordered(deviations: Deviations) -> Deviations:
    """Two that come to the same in either order in one of both, so that they are run once; of an optimizer most do."""
    if len(deviations) != 2 or not do_compose(deviations):
        return deviations
    other = deviations[::-1]
    is_same = deviations[0].id > deviations[1].id and composed(deviations) == composed(other)
    return other if is_same else deviations


def do_compose(deviations: Deviations) -> bool:
    """Whether one implementation can have them all."""
    try:
        composed(deviations)
    except DoNotComposeError:
        return False
    return True
