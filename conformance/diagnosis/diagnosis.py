"""Why a subject fails: the deviations that give what it gave, and what the cases have in common that none explains.

Where a case fails, the worker writes down what the subject made of it. At the end the deviations of the case's family
are run on the same inputs: `cover` finds the fewest that fail where the subject does, as it does, and nowhere
else. No diagnosis is better than a wrong one: a fault that the catalogue does not have is not named, but `shared` says
what its cases are that the passing ones are not.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.deviations import catalogue
from conformance.diagnosis import transcript
from conformance.diagnosis.cover import cover
from conformance.diagnosis.evidence import Evidence
from conformance.diagnosis.manner import manner
from conformance.diagnosis.observation import fails
from conformance.diagnosis.properties import properties
from conformance.diagnosis.shared import Shared, shared
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from conformance.corpus.loading import CaseInMemory
    from conformance.diagnosis.cover import Explanation
    from conformance.diagnosis.findings import Finding
    from conformance.diagnosis.observation import Observation
    from conformance.diagnosis.properties import Properties
    from conformance.results.diagnosis_records import DiagnosisRecord, UnexplainedRecord


@dataclass(frozen=True)
class Unexplained:
    """Failing cases that no deviation explains and that fail in one manner.

    Attributes:
        manner: how they fail: "wrong values", the error that is raised, or the verdict.
        cases: their ids.
        passing: how many cases of the family pass.
        shared: what they have in common that the passing ones have not.
    """

    manner: str
    cases: frozenset[str]
    passing: int
    shared: tuple[Shared, ...]


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong with a subject, seen from the cases of a family of operators.

    Attributes:
        family: the operator whose cases they are; of several in a model the chief one.
        failing: how many of the cases fail.
    """

    subject: str
    family: str
    failing: int
    explanations: tuple[Explanation, ...]
    unexplained: tuple[Unexplained, ...]

    @property
    def diagnosis_records(self) -> list[DiagnosisRecord]:
        """The deviations that explain something, as the results file has them."""
        return [self._record(explanation) for explanation in self.explanations]

    def _record(self, explanation: Explanation) -> DiagnosisRecord:
        deviation = explanation.deviation
        return {
            "subject": self.subject,
            "operator": deviation.operator,
            "deviation": deviation.id,
            "text": deviation.sentence,
            "agrees": len(explanation.cases),
            "of": self.failing,
            "alike": [alike.id for alike in explanation.alike],
            "cases": sorted(explanation.cases),
            "together": sorted(explanation.together),
        }

    @property
    def unexplained_records(self) -> list[UnexplainedRecord]:
        """What is left, as the results file has it."""
        return [
            {
                "subject": self.subject,
                "operator": self.family,
                "manner": group.manner,
                "cases": sorted(group.cases),
                "of": self.failing,
                "passing": group.passing,
                "shared": [{"text": one.text, "cases": len(one.cases), "passing": one.others} for one in group.shared],
            }
            for group in self.unexplained
        ]


@dataclass(frozen=True)
class Topics:
    """What a case's case.json says that it is about."""

    clauses: tuple[str, ...]
    tags: tuple[str, ...]


def diagnosis(
    subject: str,
    family: str,
    findings: Mapping[str, Finding],
    cases: Mapping[str, CaseInMemory],
    topics: Callable[[str], Topics],
) -> Diagnosis:
    """What is wrong with a subject that fails some cases of a family.

    Args:
        findings: those on the family's cases, by id.
        cases: the cases, by id.
        topics: gives what a case is about, by its id.
    """
    failing = {id for id, finding in findings.items() if finding.verdict.is_defect}
    observations = dict(_observations(findings, cases))
    level = Level.MUST if any(findings[id].level is Level.MUST for id in failing) else Level.SHOULD
    passed = [id for id, finding in findings.items() if finding.verdict is Verdict.PASS]
    evidence = Evidence(
        catalogue()[family],
        {id: cases[id] for id in findings},
        observations,
        [id for id in passed if findings[id].level.within(level)],
        [id for id in passed if not findings[id].level.within(level)],
        {id: topics(id).clauses for id in observations},
    )
    explanations = tuple(cover(evidence)) if observations else ()
    left = failing.difference(*(explanation.cases for explanation in explanations))
    manners = {id: manner(findings[id], observations.get(id), cases[id]) for id in left}
    described = {id: properties(cases[id], topics(id).tags) for id in (*left, *passed)} if left else {}
    groups = tuple(_grouped(family, manners, {id: described[id] for id in passed if left}, described))
    return Diagnosis(subject, family, len(failing), explanations, groups)


def _observations(
    findings: Mapping[str, Finding], cases: Mapping[str, CaseInMemory]
) -> Iterator[tuple[str, Observation]]:
    """What can be read of what the subject made of the cases that it fails, where it failed them once more."""
    for id, finding in findings.items():
        observation = transcript.read(finding.observed) if finding.observed is not None else None
        if observation is not None and finding.verdict.is_defect and fails(observation, cases[id]):
            yield id, observation


def _grouped(
    family: str, manners: Mapping[str, str], passing: Mapping[str, Properties], described: Mapping[str, Properties]
) -> Iterator[Unexplained]:
    """The cases that are left, those that fail in one manner together, the most first."""
    groups: dict[str, set[str]] = defaultdict(set)
    for id, how in manners.items():
        groups[how].add(id)
    for how, ids in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        own = {id: described[id] for id in sorted(ids)}
        common = shared(own, passing) if passing else [_everything(family, ids)]
        yield Unexplained(how, frozenset(ids), len(passing), tuple(common))


def _everything(family: str, ids: Iterable[str]) -> Shared:
    return Shared(f"are cases of {family}, of which none passes", frozenset(ids), 0)
