"""How each result of a run stands with the gate, in the three words that every CI knows: passed, failed, skipped."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from conformance.results.file import level_of
from conformance.results.levels import other_level
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.results.file import Results
    from conformance.results.records import CaseRecord, ResultRecord


class Status(StrEnum):
    """What a result is to a CI."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class CiResult:
    """A result, its case, what it is to a CI, and in one line why it is not just a pass."""

    result: ResultRecord
    case: CaseRecord
    status: Status
    why: str


def standings(run: Results) -> dict[str, list[CiResult]]:
    """The results of each subject, in the header's order, by the cases' names."""
    gate = level_of(run.header)
    found: dict[str, list[CiResult]] = {subject["id"]: [] for subject in run.header["subjects"]}
    for result in sorted(run.results, key=lambda result: result["case"]):
        found[result["subject"]].append(_standing(result, run.cases[result["case"]], gate))
    return found


def failed(run: Results) -> Iterator[CiResult]:
    """The results that the gate holds against their subjects."""
    return (one for own in standings(run).values() for one in own if one.status is Status.FAILED)


def _standing(result: ResultRecord, case: CaseRecord, gate: Level) -> CiResult:
    if result["surprise"]:
        return CiResult(result, case, Status.FAILED, _why(result, case))
    if result["verdict"] == Verdict.PASS:
        return CiResult(result, case, Status.PASSED, "")
    return CiResult(result, case, Status.SKIPPED, _tolerated(result, gate))


def with_message(result: ResultRecord) -> str:
    """A verdict with its message."""
    return f"{result['verdict']}: {result['message']}" if result["message"] else result["verdict"]


def _why(result: ResultRecord, case: CaseRecord) -> str:
    """Why a result is a surprise, and at which level where that is another than its case's."""
    level = other_level(result, Level(case["level"]))
    return f"{_surprise(result)} (at level {level})" if level else _surprise(result)


def _surprise(result: ResultRecord) -> str:
    repeats, expected = result.get("repeats", {}), result["expected"]
    if len(repeats) > 1:
        return f"the verdict varies ({', '.join(f'{n} times {verdict}' for verdict, n in repeats.items())})"
    if "baseline" in result:
        return f"{with_message(result)} (in the baseline: {result['baseline']})"
    if expected and expected["verdict"] != result["verdict"]:
        meant = f"expected {expected['verdict']}: {expected['reason']}; {expected.get('place', '')}"
        return f"{with_message(result)} ({meant})"
    return with_message(result)


def _tolerated(result: ResultRecord, gate: Level) -> str:
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
