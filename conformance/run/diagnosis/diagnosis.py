"""Explain a subject's failures by mutants: known wrong implementations that fail the same cases in the same way.

A mutant explains a failing case if it returns the same wrong outputs, apart from rounding. `explanations` selects
the mutants. The failures that no mutant explains are grouped by failure mode, with the properties that distinguish the
failing cases from the passing ones.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from conformance.base.verdicts import Level, Verdict
from conformance.run.diagnosis.explanations import (
    build_explanation,
    explaining_combinations,
    select_explanations,
    with_explanations_under_conditions,
)
from conformance.run.diagnosis.failure_evidence import Evidence
from conformance.run.diagnosis.properties import CommonProperty, case_properties, common_properties, failure_mode
from conformance.run.diagnosis.recorded_outputs import is_failure, observation_from_record
from conformance.run.mutants import catalogue
from conformance.run.results.records import DiagnosisRecord, SharedRecord, UnexplainedRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.corpus.cases.case_loading import CaseInMemory
    from conformance.run.diagnosis.collected_results import CollectedResult
    from conformance.run.diagnosis.explanations import Explanation
    from conformance.run.diagnosis.mutant_runner import MutantCombination
    from conformance.run.diagnosis.recorded_outputs import Observation


SEARCH_TAG = "search"
"""Tag of a case that a search found. The ids of the mutants that the search named for it are tags too."""


@dataclass(frozen=True)
class Diagnosis:
    """The explanation of a subject's failures on the cases of one operator family.

    A model with several operators belongs to the family of its main operator.

    Attributes:
        failing: the number of failing cases.
        unexplained: the cases that no mutant explains, by failure mode.
    """

    subject: str
    failing: int
    explanations: tuple[Explanation, ...]
    unexplained: tuple[UnexplainedRecord, ...]

    @property
    def diagnosis_records(self) -> list[DiagnosisRecord]:
        """The explaining mutants, in the format of the results file."""
        return [self._record(explanation) for explanation in self.explanations]

    def _record(self, explanation: Explanation) -> DiagnosisRecord:
        mutant = explanation.mutant
        return DiagnosisRecord(
            subject=self.subject,
            operator=mutant.operator,
            mutant=mutant.id,
            text=mutant.description,
            explained=len(explanation.cases),
            failing=self.failing,
            indistinguishable=[other.id for other in explanation.indistinguishable],
            cases=sorted(explanation.cases),
            jointly_explained=sorted(explanation.jointly_explained),
            partners=[
                other.mutant.description
                for other in self.explanations
                if other is not explanation and other.jointly_explained & explanation.jointly_explained
            ],
            condition=explanation.condition,
            clause=mutant.clause,
        )


@dataclass(frozen=True)
class CaseTopics:
    """The clauses and tags of a case, from its case.json."""

    clauses: tuple[str, ...]
    tags: tuple[str, ...]


def diagnose(
    subject: str,
    family: str,
    findings: Mapping[str, CollectedResult],
    cases: Mapping[str, CaseInMemory],
    topics: Callable[[str], CaseTopics],
    further: Mapping[str, CollectedResult] | None = None,
) -> Diagnosis:
    """Explain a subject's failures on the cases of one operator family.

    Args:
        findings: the subject's results on the cases of the family, by case id.
        cases: the cases by id.
        topics: returns the clauses and tags of a case by its id.
        further: failures on models of the family with further operators. They neither suggest nor refute a mutant; a
            named mutant explains such a case if it returns the same outputs.
    """
    failing = {id for id, finding in findings.items() if finding.verdict.is_defect}
    observations = dict(_reproduced_failures(findings, cases))
    level = Level.MUST if any(findings[id].level is Level.MUST for id in failing) else Level.SHOULD
    passed = [id for id, finding in findings.items() if finding.verdict is Verdict.PASS]
    evidence = Evidence(
        catalogue()[family],
        {id: cases[id] for id in findings},
        observations,
        [id for id in passed if findings[id].level.is_within(level)],
        [id for id in passed if not findings[id].level.is_within(level)],
        {id: topics(id).clauses for id in observations},
        cache(lambda case: case_properties(cases[case], topics(case).tags)),
    )
    explanations = tuple(select_explanations(evidence)) if observations else ()
    explanations = tuple(with_explanations_under_conditions(evidence, explanations))
    explanations = tuple(one for one in explanations if _is_checked(one, topics))
    left = failing.difference(*(explanation.cases for explanation in explanations))
    manners = {id: failure_mode(findings[id], observations.get(id), cases[id]) for id in left}
    observed = dict(_reproduced_failures(further or {}, cases))
    reasons = explaining_combinations(
        Evidence((), {id: cases[id] for id in observed}, observed, ()), tuple(one.mutant for one in explanations)
    )
    count = len(failing) + len(reasons)
    unexplained = _unexplained_records(subject, family, count, manners, passed, evidence)
    return Diagnosis(subject, count, tuple(_with_reasons(one, reasons) for one in explanations), tuple(unexplained))


def _with_reasons(explanation: Explanation, reasons: Mapping[str, MutantCombination]) -> Explanation:
    """Return an explanation with the further cases of which its mutant is a reason, by case id."""
    own = build_explanation((explanation.mutant,), reasons)
    return replace(
        explanation,
        cases=explanation.cases | own.cases,
        jointly_explained=explanation.jointly_explained | own.jointly_explained,
    )


def _is_checked(explanation: Explanation, topics: Callable[[str], CaseTopics]) -> bool:
    """Return whether a mutant may be named: a case that it explains is of a corpus, or the search named it for a case.

    A search checks the mutants that fit a shrunk example on other examples, which a run of the shrunk ones cannot do.
    """
    tags = [topics(case).tags for case in explanation.cases]
    names = {one.id for one in (explanation.mutant, *explanation.indistinguishable)}
    return any(SEARCH_TAG not in own or not names.isdisjoint(own) for own in tags)


def _reproduced_failures(
    findings: Mapping[str, CollectedResult], cases: Mapping[str, CaseInMemory]
) -> Iterator[tuple[str, Observation]]:
    """Yield the recorded outputs of each failing case, if they are readable and are wrong for the case."""
    for id, finding in findings.items():
        if finding.recorded_outputs is None or not finding.verdict.is_defect:
            continue
        observation = observation_from_record(finding.recorded_outputs)
        if observation is not None and is_failure(observation, cases[id]):
            yield id, observation


def _unexplained_records(
    subject: str, family: str, failing: int, manners: Mapping[str, str], passed: Sequence[str], evidence: Evidence
) -> Iterator[UnexplainedRecord]:
    """Yield the unexplained cases by failure mode, the largest group first.

    Args:
        failing: the number of failing cases.
        manners: the failure mode of each unexplained case.
        passed: the ids of the passed cases.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for id in sorted(manners):
        groups[manners[id]].append(id)
    for how, ids in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        common = [CommonProperty(f"have the operator {family}", frozenset(ids), frozenset())]
        if passed:
            own, others = ({id: evidence.properties(id) for id in some} for some in (ids, passed))
            common = common_properties(own, others)
        shared = [SharedRecord(one.text, len(one.cases), len(one.others)) for one in common]
        yield UnexplainedRecord(subject, family, how, ids, failing, len(passed), shared)
