"""Runs in one small document: counts, gate, why, and what failed. The shorter reports are made from it."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NotRequired, TypedDict

from conformance.report.ci_status import CiResult
from conformance.report.quality import QualitySummary, quality_of
from conformance.results.causes import causes_of, clause_of
from conformance.results.evidence import shortly
from conformance.results.file import is_partial, level_of
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.results.file import Results
    from conformance.results.records import BaselineRecord, CorpusRecord, ProfileRecord

FORMAT = 1


class SubjectSummary(TypedDict):
    """A subject and how many of its cases came to which verdict, by level; a level's `cases` is their denominator."""

    id: str
    kind: str
    version: str
    levels: dict[str, dict[str, int]]


class CheckSummary(TypedDict):
    """A check that complained of a graph optimizer, and of how many cases at which level."""

    subject: str
    check: str
    levels: dict[str, int]


class FailureSummary(TypedDict):
    """Surprises on one subject that have one cause: what it is, the smallest one's message, and their cases.

    `evidence` is the smallest case's, in lines; `deviation` that by which a diagnosis explains them.
    """

    subject: str
    verdict: str
    cause: str
    signature: str
    message: str
    evidence: list[str]
    cases: list[str]
    clause: NotRequired[str]
    check: NotRequired[str]
    deviation: NotRequired[str]


class RunSummary(TypedDict):
    """One results file: how its gate was set and what came of it."""

    gate: str
    reasons: list[str]
    level: str
    require: list[str]
    selection: dict[str, str]
    due: int
    results: int
    interrupted: bool
    environment: dict[str, str]
    baseline: NotRequired[BaselineRecord]
    profile: NotRequired[ProfileRecord]


class Summary(TypedDict):
    """All of it; the gate holds where that of every run does. `quality` is there where a run was to tell it."""

    format: int
    suite: str
    corpus: CorpusRecord
    gate: str
    reasons: list[str]
    partial: bool
    subjects: list[SubjectSummary]
    checks: list[CheckSummary]
    failures: list[FailureSummary]
    runs: list[RunSummary]
    quality: NotRequired[list[QualitySummary]]


def summary(runs: Sequence[Results]) -> Summary:
    """The summary of runs of one corpus; at least one."""
    parts = [_run(run) for run in runs]
    corpora = [run.header["corpus"] for run in runs]
    subjects = [subject for run in runs for subject in _subjects(run)]
    told: Summary = {
        "format": FORMAT,
        "suite": runs[0].header["suite"],
        "corpus": {**corpora[0], "selected": min(corpus["selected"] for corpus in corpora)},
        "gate": "fail" if any(part["gate"] == "fail" for part in parts) else "pass",
        "reasons": list(dict.fromkeys(reason for part in parts for reason in part["reasons"])),
        "partial": any(is_partial(run) for run in runs),
        "subjects": subjects,
        "checks": [check for run in runs for check in _checks(run)],
        "failures": [failure for run in runs for failure in _failures(run)],
        "runs": parts,
    }
    if quality := [counts for run in runs for counts in quality_of(run)]:
        told["quality"] = quality
    return told


def _run(run: Results) -> RunSummary:
    rules, selection = run.header.get("rules"), run.header["selection"]
    told: RunSummary = {
        "gate": run.footer["gate"],
        "reasons": run.footer["reasons"],
        "level": str(level_of(run.header)),
        "require": list(rules["require"]) if rules else [],
        "selection": {name: value for name, value in sorted(selection.items()) if name != "--level"},
        "due": rules["due"] if rules else run.footer["results"],
        "results": run.footer["results"],
        "interrupted": run.footer.get("interrupted", False),
        "environment": dict(sorted(run.header["environment"].items())),
    }
    if rules and "baseline" in rules:
        told["baseline"] = rules["baseline"]
    if rules and "profile" in rules:
        told["profile"] = rules["profile"]
    return told


def _subjects(run: Results) -> list[SubjectSummary]:
    verdicts = run.footer["verdicts"]
    return [
        {
            "id": subject["id"],
            "kind": subject["kind"],
            "version": subject["version"],
            "levels": {
                level: {"cases": sum(counts.values()), **dict(sorted(counts.items()))}
                for level in Level
                if (counts := verdicts.get(subject["id"], {}).get(level))
            },
        }
        for subject in run.header["subjects"]
    ]


def _checks(run: Results) -> list[CheckSummary]:
    """What the checks of graph optimizers complained of; a case counts once for each check, however often it ran."""
    cases: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for result in run.rows.values():
        for check in result.get("checks", ()):
            if "complaint" in check:
                level = check.get("level", run.described[result["case"]]["level"])
                cases[result["subject"], check["name"]][result["case"]] = level
    counts = {key: Counter(levels.values()) for key, levels in sorted(cases.items())}
    return [
        {"subject": subject, "check": check, "levels": {level: count[level] for level in Level if count[level]}}
        for (subject, check), count in counts.items()
    ]


def _failures(run: Results) -> list[FailureSummary]:
    """The causes of what the gate holds against the subjects, what is explained first."""
    causes = causes_of(run)
    found: list[FailureSummary] = []
    for cause in causes:
        case, result = cause.smallest[0]
        smallest = CiResult(run, run.rows[cause.subject, cause.cases[0]], cause)
        summarized: FailureSummary = {
            "subject": cause.subject,
            "verdict": cause.verdict,
            "cause": cause.sentence,
            "signature": cause.text,
            "message": smallest.why,
            "evidence": list(shortly(result, clause_of(cause, case, result), run.header["clauses"])),
            "cases": list(cause.cases),
        }
        if cause.clause is not None:
            summarized["clause"] = cause.clause
        if cause.check is not None:
            summarized["check"] = cause.check
        if cause.diagnosis is not None:
            summarized["deviation"] = cause.diagnosis["deviation"]
        found.append(summarized)
    return sorted(found, key=lambda each: each["subject"])
