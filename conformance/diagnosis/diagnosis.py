"""Why a subject fails: the deviation that gives what it gave, on every failing case and against no passing one.

Where a case fails, the worker runs the deviations of its operator on the same inputs and notes which ones agree with
what came out. At the end the controller keeps of these only what fails where the subject does, as it does, and nowhere
else, and only if all failing cases of the operator are explained. No diagnosis is better than a wrong one: a subject
with a fault that the catalogue does not have gets none.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.corpus.held import HeldCase, held
from conformance.deviations import catalogue, family_of, op_types
from conformance.diagnosis.observation import Observation, agree, fails, observe
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from conformance.corpus.corpus import Corpus
    from conformance.deviations import Deviation
    from conformance.diagnosis.findings import Finding
    from conformance.results.records import DiagnosisRecord
    from conformance.subjects.loading import Subject

OPERATORS = {"ArgMax": ("Log", "Exp", "Sqrt", "Softmax", "LogSoftmax", "Relu", "Concat")}
"""What may stand in a model beside the operator that its family is called by."""

EXPLAINABLE = {Verdict.FAIL, Verdict.ERROR}


class Laboratory:
    """What deviations make of cases, each computed when it is first asked for."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], tuple[Observation | None, bool]] = {}

    def observed(self, deviation: Deviation, case: HeldCase) -> tuple[Observation | None, bool]:
        """What a deviation makes of a case, and whether it fails it."""
        key = deviation.id, case.path
        if key not in self._made:
            observation = observe(deviation.backend, case)
            self._made[key] = observation, observation is not None and fails(observation, case)
        return self._made[key]

    def fails(self, deviation: Deviation, case: HeldCase) -> bool:
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

    def agreeing(self, subject: Subject, corpus: Corpus, path: str) -> list[str]:
        """The ids of the deviations that fail a case as the subject does; the subject is run once more to see."""
        if _is_invalid(path):
            return []
        case = held(corpus, path)
        family = family_of(case.model)
        if family is None or case.level is Level.SILENT or not is_about(case, family):
            return []
        came = observe(subject.target, case)
        return [] if came is None else self.alike(subject.id, came, case, catalogue()[family])

    def alike(self, subject: str, came: Observation, case: HeldCase, deviations: Iterable[Deviation]) -> list[str]:
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


@dataclass(frozen=True)
class Diagnosis:
    """A deviation that explains why a subject fails.

    Attributes:
        family: the operator whose cases they are; of several in a model the chief one.
        alike: further deviations that explain the same cases and that no case tells apart from it.
        agrees: how many failing cases it explains.
        of: how many failing cases of the family there are.
    """

    subject: str
    family: str
    deviation: Deviation
    alike: tuple[Deviation, ...]
    agrees: int
    of: int

    @property
    def record(self) -> DiagnosisRecord:
        """As the results file has it."""
        return {
            "subject": self.subject,
            "operator": self.deviation.operator,
            "deviation": self.deviation.id,
            "text": self.deviation.sentence,
            "agrees": self.agrees,
            "of": self.of,
            "alike": [deviation.id for deviation in self.alike],
        }


def diagnoses(findings: Mapping[str, Mapping[str, Finding]], corpus: Corpus) -> list[Diagnosis]:
    """What explains the failures of each subject on each family of operators.

    Args:
        findings: by subject and case.
    """
    laboratory, ran = Laboratory(), {id for own in findings.values() for id in own}
    paths = {id: path for id, path in corpus.paths().items() if id in ran and not _is_invalid(path)}
    cases = {id: held(corpus, path) for id, path in paths.items()}
    return [
        diagnosis
        for subject, own in findings.items()
        for family in catalogue()
        for diagnosis in Evidence.of(family, own, cases, laboratory).diagnoses(subject)
    ]


@dataclass(frozen=True)
class Evidence:
    """What a subject made of the cases of a family, and what each deviation makes of them.

    Attributes:
        findings: by case, those of the family.
        cases: by id.
    """

    family: str
    findings: Mapping[str, Finding]
    cases: Mapping[str, HeldCase]
    laboratory: Laboratory

    @classmethod
    def of(
        cls, family: str, findings: Mapping[str, Finding], cases: Mapping[str, HeldCase], laboratory: Laboratory
    ) -> Evidence:
        """The evidence of a family, from findings on any cases."""
        own = {id: finding for id, finding in findings.items() if id in cases and is_about(cases[id], family)}
        return cls(family, own, cases, laboratory)

    def diagnoses(self, subject: str) -> list[Diagnosis]:
        """The fewest deviations that explain every failing case, if there are any that do."""
        level = Level.MUST if self._failing(Level.MUST) else Level.SHOULD
        unexplained = failing = self._failing(level)
        suspects = {one: cases for one in self._suspects() if (cases := self._explained(one, level))}
        found = []
        while unexplained and suspects:
            most = max(suspects.values(), key=lambda cases: len(cases & unexplained))
            if not most & unexplained:
                break
            equal = self._holding_beyond([one for one, cases in suspects.items() if cases == most])
            found.append(Diagnosis(subject, self.family, equal[0], tuple(equal[1:]), len(most), len(failing)))
            unexplained = unexplained - most
        return [] if unexplained else found

    def _suspects(self) -> list[Deviation]:
        suspected = {id for finding in self.findings.values() for id in finding.agrees_with}
        return [deviation for deviation in catalogue()[self.family] if deviation.id in suspected]

    def _explained(self, deviation: Deviation, level: Level) -> frozenset[str]:
        """The failing cases that a deviation explains; none if it fails otherwise, or where the subject passed."""
        failing = self._failing(level)
        explained = frozenset(id for id in failing if deviation.id in self.findings[id].agrees_with)
        others = [id for id in failing if id not in explained]
        if any(self._fails(deviation, id) for id in (*others, *self._passed(level))):
            return frozenset()
        return explained

    def _holding_beyond(self, deviations: list[Deviation]) -> list[Deviation]:
        """Those that explain level `should` as well; all, if none does."""
        failing = self._failing(Level.SHOULD)
        holding = [one for one in deviations if self._explained(one, Level.SHOULD) == failing]
        holding = [one for one in holding if not any(self._fails(one, id) for id in self._passed(Level.SHOULD))]
        return holding or deviations

    def _failing(self, level: Level) -> frozenset[str]:
        found = self.findings.items()
        return frozenset(id for id, one in found if one.level is level and one.verdict in EXPLAINABLE)

    def _passed(self, level: Level) -> list[str]:
        found = self.findings.items()
        return [id for id, one in found if one.level.within(level) and one.verdict is Verdict.PASS]

    def _fails(self, deviation: Deviation, id: str) -> bool:
        return self.laboratory.fails(deviation, self.cases[id])


def is_about(case: HeldCase, family: str) -> bool:
    """Whether a case is evidence on a family: its model has none but its operators, so nothing else can be at fault."""
    own = {*OPERATORS.get(family, ()), family}
    return family_of(case.model) == family and op_types(case.model) <= own


def _is_invalid(path: str) -> bool:
    """Whether a case is of a model that no backend need compute, so that no deviation has an answer to it."""
    return path.startswith("invalid/")
