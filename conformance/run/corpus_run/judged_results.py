"""The results of a run as it judges them: with level, expectation and baseline, and with their diagnoses at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from conformance.base.errors import OutputFault
from conformance.corpus.cases.case import MODELS_CORPUS
from conformance.corpus.cases.case_loading import load_case_in_memory
from conformance.run.diagnosis.collected_results import ResultCollector
from conformance.run.expectations.criterion import CaseFacts, case_facts
from conformance.run.expectations.rules import Standing
from conformance.run.results.failure_groups import CaseResult, FailureGrouper
from conformance.run.results.node_shares import count_node_shares
from conformance.run.results.records import Assessment, Diagnosed, Result, case_record, effective_level

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.base.verdicts import Level, Verdict
    from conformance.corpus.cases.corpus import Corpus
    from conformance.run.expectations.criterion import PassCriterion
    from conformance.run.results.failure_groups import FailureGroup
    from conformance.run.results.node_shares import NodeShare
    from conformance.run.results.records import CaseRecord, DiagnosisRecord, Judged


_EVIDENCE: dict[str, Any] = {
    "outputs": [],
    "placement": None,
    "returned": None,
    "recorded_outputs": None,
    "stderr": "",
    "hazards": [],
    "checks": [],
    "accuracy": {},
}


def without_evidence(result: Result, **kept: Any) -> Result:
    """Return a result without its evidence, apart from some fields, so that it needs little space."""
    return replace(result, **_EVIDENCE | kept)


class JudgedResults:
    """The results of a run, judged by its pass criterion.

    Args:
        is_diagnosed: whether to search for mutants that explain the failures.

    Attributes:
        criterion: the pass criterion, which also counts the verdicts.
    """

    def __init__(self, corpus: Corpus, criterion: PassCriterion, *, is_diagnosed: bool) -> None:
        self.criterion = criterion
        self._corpus = corpus
        self._is_diagnosed = is_diagnosed
        self._facts: dict[str, CaseFacts] = {}
        self._last_case: CaseRecord | None = None
        self._verdicts: dict[tuple[str, str], Verdict] = {}
        self._for_diagnosis: list[tuple[Result, Level]] = []
        self._unexpected: dict[tuple[str, str], Result] = {}
        self._grouper = FailureGrouper(
            lambda subject, case: CaseResult(self._case_record(case), self._unexpected[subject, case])
        )

    def __len__(self) -> int:
        """Return the number of results."""
        return len(self._verdicts)

    def __contains__(self, judged: Judged) -> bool:
        """Return whether the case has a result on the subject already."""
        return (judged.subject, judged.case) in self._verdicts

    def add(self, judged: Judged | Result) -> Result:
        """Count what a subject did, and return it as a result with its level, its expectation and its baseline.

        Args:
            judged: what the subject did; what an earlier run thought of a `Result` is ignored.
        """
        case = self._corpus.cases[judged.case]
        result = Result.assessed(judged, self._assess(judged))
        is_expected = self.criterion.judge(result, lambda: self._facts_of(case.id))
        result.unexpected = not is_expected
        self._verdicts[result.subject, result.case] = result.verdict
        if not self._is_failure_of_base(result):
            evidence = {"checks": result.checks, "recorded_outputs": result.recorded_outputs}
            self._for_diagnosis.append((without_evidence(result, **evidence), case.level))
        if not is_expected:
            self._unexpected[result.subject, result.case] = result
            self._grouper.add(self._case_record(case.id), result)
        return result

    def _assess(self, judged: Judged | Result) -> Assessment:
        """Return the level, the expectation and the baseline of what a subject did. Mutants do not depend on these."""
        settings = self.criterion.settings
        case = self._corpus.cases[judged.case]
        level = case.level
        if settings.profile:
            level = settings.profile.level_of(judged.rules, level)
        standings = settings.baseline.standings if settings.baseline else {}
        standing = standings.get((judged.subject, judged.case)) or Standing()
        return Assessment(
            level=effective_level(judged, level),
            expected=self.criterion.expected(judged, lambda: load_case_in_memory(self._corpus, case)),
            baseline=standing.verdict,
            baseline_level=standing.level,
        )

    def _is_failure_of_base(self, record: Result) -> bool:
        """Return whether the subject of `--relative-to` fails the case too, so that diagnosis leaves the case out."""
        baseline = self.criterion.settings.baseline
        is_relative = baseline is not None and bool(baseline.record.relative_to)
        return is_relative and record.baseline is not None and record.baseline.is_defect

    def node_shares(self) -> list[NodeShare]:
        """Return the share of the nodes of a user's models that each subject computes correctly."""
        if self._corpus.name != MODELS_CORPUS:
            return []
        rows = {id: self._case_record(id) for id in {case for _, case in self._verdicts}}
        return count_node_shares((subject, rows[case], verdict) for (subject, case), verdict in self._verdicts.items())

    def failure_groups(self, diagnoses: Iterable[DiagnosisRecord]) -> list[FailureGroup]:
        """Return the groups of unexpected failures, with the diagnoses that explain them."""
        return self._grouper.groups(diagnoses)

    def failing_cases(self) -> dict[str, list[str]]:
        """Return the ids of all failing cases by subject, of every level, also of known failures."""
        found: dict[str, list[str]] = {}
        for result, _ in self._for_diagnosis:
            if result.verdict.is_defect:
                found.setdefault(result.subject, []).append(result.case)
        return found

    def explain(self, processes: int) -> tuple[Diagnosed, OutputFault | None]:
        """Search for mutants that explain the failures, in some processes.

        Return the diagnoses, and the internal error because of which there are none, if any.
        """
        collector = ResultCollector(is_enabled=self._is_diagnosed)
        try:
            for result, level in self._for_diagnosis:
                collector.add(result, level)
            if collector.has_explainable_failure:
                from conformance.run.diagnosis.diagnosis_run import diagnose_run

                return diagnose_run(collector, self._corpus, processes), None
        except Exception as error:  # noqa: BLE001 - the results must be written, whatever an explanation raises
            return Diagnosed([], []), OutputFault.caused_by(error, "the failures were not explained")
        return Diagnosed([], []), None

    def _facts_of(self, case: str) -> CaseFacts:
        if case not in self._facts:
            self._facts[case] = case_facts(self._case_record(case))
        return self._facts[case]

    def _case_record(self, case: str) -> CaseRecord:
        if self._last_case is None or self._last_case.case != case:
            self._last_case = case_record(self._corpus, self._corpus.cases[case])
        return self._last_case
