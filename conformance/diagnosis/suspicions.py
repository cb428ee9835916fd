"""The worker's part of a diagnosis: which deviations agree with a failing case."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from conformance.corpus.loading import CaseInMemory, case_in_memory
from conformance.deviations import catalogue, family_of, op_types
from conformance.diagnosis.observation import Observation, agree, fails, observe
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.corpus.corpus import Corpus, CorpusCase
    from conformance.deviations import Deviation
    from conformance.subjects.loading import Subject


OPERATORS = {"ArgMax": ("Log", "Exp", "Sqrt", "Softmax", "LogSoftmax", "Relu", "Concat")}
"""What may stand in a model beside the operator that its family is called by."""


class Laboratory:
    """What deviations make of cases, each computed when it is first asked for."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], tuple[Observation | None, bool]] = {}

    def observed(self, deviation: Deviation, case: CaseInMemory) -> tuple[Observation | None, bool]:
        """What a deviation makes of a case, and whether it fails it."""
        key = deviation.id, case.id
        if key not in self._made:
            observation = observe(deviation.backend, case)
            self._made[key] = observation, observation is not None and fails(observation, case)
        return self._made[key]

    def fails(self, deviation: Deviation, case: CaseInMemory) -> bool:
        """Whether a deviation fails a case."""
        return deviation.operator in op_types(case.model) and self.observed(deviation, case)[1]


class Suspicions:
    """The worker's part: which deviations agree with a failing case, without asking again for those that did not.

    Args:
        laboratory: where deviations are run.
    """

    def __init__(self, laboratory: Laboratory | None = None) -> None:
        self._laboratory = laboratory or Laboratory()
        self._ruled_out: dict[str, set[str]] = defaultdict(set)

    def agreeing(self, subject: Subject, corpus: Corpus, entry: CorpusCase) -> list[str]:
        """The ids of the deviations that fail a case as the subject does; the subject is run once more to see."""
        if entry.is_invalid:
            return []
        case = case_in_memory(corpus, entry)
        family = family_of(case.model)
        if family is None or case.level is Level.SILENT or not is_about(case, family):
            return []
        came = observe(subject.target, case)
        return [] if came is None else self.alike(subject.id, came, case, catalogue()[family])

    def alike(self, subject: str, came: Observation, case: CaseInMemory, deviations: Iterable[Deviation]) -> list[str]:
        """Those of the deviations that fail a case as was observed."""
        ruled_out, found = self._ruled_out[subject], []
        present = op_types(case.model)
        for deviation in deviations:
            if deviation.operator not in present or deviation.id in ruled_out:
                continue
            made, wrong = self._laboratory.observed(deviation, case)
            if made is None or not wrong:
                continue
            if agree(made, came, case):
                found.append(deviation.id)
            elif case.level is Level.MUST:
                ruled_out.add(deviation.id)
        return found


def is_about(case: CaseInMemory, family: str) -> bool:
    """Whether a case is evidence on a family: its model has none but its operators, so nothing else can be at fault."""
    own = {*OPERATORS.get(family, ()), family}
    return family_of(case.model) == family and op_types(case.model) <= own
