"""The status of each result for a CI: passed, failed or skipped, with the reason.

A result is failed if it is unexpected. A run passes if and only if no result is failed and the run has no other reason
to fail. The formats JUnit and CTRF contain these statuses.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from conformance.base.verdicts import Level, Verdict
from conformance.run.results.evidence import short_evidence
from conformance.run.results.failure_groups import group_failures, violated_clause
from conformance.run.results.results_file import fail_level

if TYPE_CHECKING:
    from conformance.run.results.failure_groups import FailureGroup
    from conformance.run.results.records import CaseRow, ResultRow
    from conformance.run.results.results_file import Results


class Status(StrEnum):
    """Status of a result in CI formats."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class CiResult:
    """A result with its CI status.

    Attributes:
        cause: the failure group that contains the result; None if the result is as expected.
    """

    run: Results
    result: ResultRow
    cause: FailureGroup | None = None

    @property
    def case(self) -> CaseRow:
        """The record of the case."""
        return self.run.case_rows[self.result.case]

    @property
    def status(self) -> Status:
        """The CI status."""
        if self.result.unexpected:
            return Status.FAILED
        return Status.PASSED if self.result.verdict == Verdict.PASS else Status.SKIPPED

    @property
    def reason(self) -> str:
        """The reason for the status in one line; empty for a passed result."""
        match self.status:
            case Status.FAILED:
                level = self.result.level_if_different(self.case.level)
                return _unexpected_reason(self.result) + (f" (at level {level})" if level else "")
            case Status.SKIPPED:
                return _skip_reason(self.result, fail_level(self.run.header))
            case Status.PASSED:
                return ""

    @property
    def details(self) -> list[str]:
        """Lines with the cause of a failed result, its evidence and its clause; empty for other results.

        Each access reads the results file again.
        """
        if self.cause is None:
            return []
        case = self.run.cases[self.result.case]
        result = self.run.results[self.result.subject, self.result.case]
        others = len(self.cause.cases) - 1
        more = f" (and {others} other case{'s' * (others > 1)})" if others else ""
        evidence = short_evidence(result, violated_clause(self.cause, case, result), self.run.header.clauses)
        return [f"cause: {self.cause.sentence}{more}", *evidence]

    @property
    def stderr(self) -> str:
        """The text that the process of the subject wrote to stderr; each access reads the results file again."""
        return self.run.results[self.result.subject, self.result.case].stderr


def ci_results_by_subject(run: Results) -> dict[str, list[CiResult]]:
    """Return the results of each subject, sorted by case, by the id of the subject in the order of the header."""
    found: dict[str, list[CiResult]] = {subject.id: [] for subject in run.header.subjects}
    causes = {(cause.subject, case): cause for cause in group_failures(run) for case in cause.cases}
    for row in sorted(run.rows.values(), key=lambda row: row.case):
        found[row.subject].append(CiResult(run, row, causes.get((row.subject, row.case))))
    return found


def _verdict_and_message(result: ResultRow) -> str:
    """Return the verdict, followed by the message if there is one."""
    return f"{result.verdict}: {result.message}" if result.message else result.verdict


def _beside_baseline(result: ResultRow) -> str:
    """Return the verdict and the message, followed by the verdict in the baseline if there is one."""
    baseline = f" (in the baseline: {result.baseline_text})" if result.baseline is not None else ""
    return f"{_verdict_and_message(result)}{baseline}"


def _unexpected_reason(result: ResultRow) -> str:
    repeats = result.repeats
    expected = result.expected
    if result.varies:
        return f"the verdict varies ({', '.join(f'{n} times {verdict}' for verdict, n in repeats.items())})"
    if result.baseline is None and expected and expected.verdict != result.verdict:
        expectation = f"expected {expected.verdict}: {expected.reason}; {expected.location}"
        return f"{_verdict_and_message(result)} ({expectation})"
    return _beside_baseline(result)


def _skip_reason(result: ResultRow, fail_level: Level) -> str:
    level = result.level
    expected = result.expected
    if expected and expected.verdict == result.verdict:
        issue = f" ({expected.issue})" if expected.issue else ""
        return f"known {result.verdict}: {expected.reason}{issue}"
    if level is Level.SILENT:
        return f"recorded only, the specification leaves the behaviour open: {_verdict_and_message(result)}"
    if not level.is_within(fail_level):
        return f"not judged, its level is {level}: {_verdict_and_message(result)}"
    return _beside_baseline(result)
