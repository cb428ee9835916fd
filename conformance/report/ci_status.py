"""How each result of a run stands with the gate, in the three words that every CI knows: passed, failed, skipped."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from conformance.results.causes import causes_of, clause_of
from conformance.results.evidence import shortly
from conformance.results.file import level_of
from conformance.results.levels import other_level
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from conformance.results.causes import Cause
    from conformance.results.file import Results
    from conformance.results.records import CaseRow, ResultRow


class Status(StrEnum):
    """What a result is to a CI."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class CiResult:
    """A result as a CI takes it; `cause` is what it has in common with others, of one that the gate holds against."""

    run: Results
    result: ResultRow
    cause: Cause | None = None

    @property
    def case(self) -> CaseRow:
        """What is known of its case."""
        return self.run.described[self.result["case"]]

    @property
    def status(self) -> Status:
        """What it is to a CI."""
        if self.result["surprise"]:
            return Status.FAILED
        return Status.PASSED if self.result["verdict"] == Verdict.PASS else Status.SKIPPED

    @property
    def why(self) -> str:
        """In one line why it is not just a pass."""
        match self.status:
            case Status.FAILED:
                return _why(self.result, self.case)
            case Status.SKIPPED:
                return _tolerated(self.result, level_of(self.run.header))
            case Status.PASSED:
                return ""

    @property
    def details(self) -> list[str]:
        """The cause, and the evidence with the clause, read again from the file: lines; none but of a failure."""
        if self.cause is None:
            return []
        case = self.run.cases[self.result["case"]]
        result = self.run.results[self.result["subject"], self.result["case"]]
        others = len(self.cause.cases) - 1
        more = f" (and {others} other case{'s' * (others > 1)})" if others else ""
        evidence = shortly(result, clause_of(self.cause, case, result), self.run.header["clauses"])
        return [f"cause: {self.cause.sentence}{more}", *evidence]

    @property
    def stderr(self) -> str:
        """What the subject's process said, read again from the file."""
        return self.run.results[self.result["subject"], self.result["case"]].get("stderr", "")


def standings(run: Results) -> dict[str, list[CiResult]]:
    """The results of each subject, in the header's order, by the cases' names."""
    found: dict[str, list[CiResult]] = {subject["id"]: [] for subject in run.header["subjects"]}
    causes = {(cause.subject, case): cause for cause in causes_of(run) for case in cause.cases}
    for row in sorted(run.rows.values(), key=lambda row: row["case"]):
        found[row["subject"]].append(CiResult(run, row, causes.get((row["subject"], row["case"]))))
    return found


def with_message(result: ResultRow) -> str:
    """A verdict with its message."""
    return f"{result['verdict']}: {result['message']}" if result["message"] else result["verdict"]


def _why(result: ResultRow, case: CaseRow) -> str:
    """Why a result is a surprise, and at which level where that is another than its case's."""
    level = other_level(result, Level(case["level"]))
    return f"{_surprise(result)} (at level {level})" if level else _surprise(result)


def _surprise(result: ResultRow) -> str:
    repeats, expected = result.get("repeats", {}), result["expected"]
    if len(repeats) > 1:
        return f"the verdict varies ({', '.join(f'{n} times {verdict}' for verdict, n in repeats.items())})"
    if "baseline" in result:
        return f"{with_message(result)} (in the baseline: {result['baseline']})"
    if expected and expected["verdict"] != result["verdict"]:
        meant = f"expected {expected['verdict']}: {expected['reason']}; {expected.get('place', '')}"
        return f"{with_message(result)} ({meant})"
    return with_message(result)


def _tolerated(result: ResultRow, gate: Level) -> str:
    level, expected = Level(result["level"]), result["expected"]
    if expected and expected["verdict"] == result["verdict"]:
        issue = f" ({expected['issue']})" if expected.get("issue") else ""
        return f"known {result['verdict']}: {expected['reason']}{issue}"
    if level is Level.SILENT:
        return f"recorded only, the specification leaves it open: {with_message(result)}"
    if not level.within(gate):
        return f"not judged, its level is {level}: {with_message(result)}"
    return (
        f"{with_message(result)} (in the baseline: {result['baseline']})"
        if "baseline" in result
        else with_message(result)
    )
