"""Why a subject fails: the deviation that gives what it gave, on every failing case and against no passing one.

Where a case fails, the worker runs the deviations of its operator on the same inputs and notes which ones agree with
what came out. At the end the controller keeps of these only what fails where the subject does, as it does, and nowhere
else, and only if all failing cases of the operator are explained. No diagnosis is better than a wrong one: a subject
with a fault that the catalogue does not have gets none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.corpus.loading import CaseInMemory, case_in_memory
from conformance.deviations import catalogue
from conformance.diagnosis.suspicions import Laboratory, is_about
from conformance.errors import CorpusError
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.corpus.corpus import Corpus
    from conformance.deviations import Deviation
    from conformance.diagnosis.findings import Finding, Findings
    from conformance.results.records import DiagnosisRecord


EXPLAINABLE = {Verdict.FAIL, Verdict.ERROR}


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


def diagnosis_records(findings: Findings, corpus: Corpus) -> list[DiagnosisRecord]:
    """What explains the failures, as the results file has it.

    A case that cannot be read whole explains nothing: a subject may fail before all of it has been read.
    """
    try:
        return [diagnosis.record for diagnosis in diagnoses(findings.by_subject, corpus)]
    except CorpusError:
        return []


def diagnoses(findings: Mapping[str, Mapping[str, Finding]], corpus: Corpus) -> list[Diagnosis]:
    """What explains the failures of each subject on each family of operators.

    Args:
        findings: by subject and case.
    """
    laboratory, ran = Laboratory(), {id for own in findings.values() for id in own}
    entries = (corpus.cases[id] for id in corpus.cases if id in ran)
    cases = {entry.id: case_in_memory(corpus, entry) for entry in entries if not entry.is_invalid}
    return [
        diagnosis
        for subject, own in findings.items()
        for family in catalogue()
        for diagnosis in FamilyEvidence.of(family, own, cases, laboratory).diagnoses(subject)
    ]


@dataclass(frozen=True)
class FamilyEvidence:
    """What a subject made of the cases of a family, and what each deviation makes of them.

    Attributes:
        findings: by case, those of the family.
        cases: by id.
    """

    family: str
    findings: Mapping[str, Finding]
    cases: Mapping[str, CaseInMemory]
    laboratory: Laboratory

    @classmethod
    def of(
        cls, family: str, findings: Mapping[str, Finding], cases: Mapping[str, CaseInMemory], laboratory: Laboratory
    ) -> FamilyEvidence:
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
