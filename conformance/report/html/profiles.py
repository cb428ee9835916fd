"""What the report says of one subject by itself: how it fails, what was expected of it, and where it is weakest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.report.html.columns import Mark, mark, run_name
from conformance.report.html.errors import Distributions, measured
from conformance.results.failure_kinds import failure_kind
from conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.report.html.columns import Column
    from conformance.results.failure_kinds import FailureKind
    from conformance.results.file import Results
    from conformance.results.records import CaseRecord, ResultRecord

MOST = 12
"""How many of the largest errors and of the slowest cases are told."""


class Profile:
    """What the page of one subject shows, from its results; cases are named by their numbers in the index."""

    def __init__(self) -> None:
        self._kinds: dict[FailureKind, list[tuple[int, bool]]] = {}
        self._expectations: dict[tuple[Any, ...], tuple[list[int], list[int]]] = {}
        self._margins: list[list[Any]] = []
        self._seconds: list[tuple[float, int]] = []
        self._errors = Distributions()

    def add(self, at: int, case: CaseRecord, result: ResultRecord) -> None:
        """Take a result into account; they come in the order of their cases."""
        if (kind := failure_kind(case, result)) is not None:
            self._kinds.setdefault(kind, []).append((at, mark(result) is Mark.UNEXPECTED))
        if (expected := result["expected"]) is not None:
            key = expected["verdict"], expected["reason"], expected.get("issue"), expected.get("place")
            met = expected["verdict"] == result["verdict"]
            self._expectations.setdefault(key, ([], []))[0 if met else 1].append(at)
        self._margins += _margin(at, result)
        self._seconds.append((round(result["seconds"], 6), at))
        self._errors.add(case, result)

    def packed(self, column: Column, runs: Sequence[Results]) -> dict[str, Any]:
        """All of it."""
        run = runs[column.run]
        return {
            "facts": list(_facts(column, run_name(runs, column.run) if len(runs) > 1 else None, run)),
            "signatures": self._signatures(),
            "expectations": [[*key, *cases] for key, cases in self._expectations.items()],
            "margins": sorted(self._margins, key=lambda row: -row[3])[:MOST],
            "slowest": self._slowest(),
            "errors": self._errors.rows,
        }

    def _signatures(self) -> list[list[Any]]:
        """[verdict, phase, what they say, cases, how many are unexpected], defects first, the most frequent first."""
        rows = [
            [key.verdict, key.phase, key.text, [at for at, _ in members], sum(new for _, new in members)]
            for key, members in self._kinds.items()
        ]
        return sorted(rows, key=lambda row: (not Verdict(row[0]).is_defect, -row[4], -len(row[3]), row[0], row[2]))

    def _slowest(self) -> list[list[Any]]:
        """[case, seconds]."""
        slowest = sorted((-seconds, at) for seconds, at in self._seconds if seconds > 0)
        return [[at, -seconds] for seconds, at in slowest[:MOST]]


def _margin(at: int, result: ResultRecord) -> list[list[Any]]:
    """[case, data set, output, error over bound, ULP] of the accepted output that comes nearest to its bound."""
    rows: list[list[Any]] = [
        [at, output["data_set"], output["name"], float(f"{error:.4g}"), output.get("max_ulp")]
        for output, error in measured(result)
        if "complaint" not in output and error > 0
    ]
    return [max(rows, key=lambda row: row[3])] if rows else []


def _facts(column: Column, run: str | None, results: Results) -> Iterator[tuple[str, str]]:
    subject, header = column.subject, results.header
    yield "Named on the command line", subject["id"]
    yield "Version", subject["version"]
    yield "Kind", "graph optimizer" if subject["kind"] == "optimizer" else subject["kind"]
    yield "Language", subject.get("language", "not said" if subject["id"].startswith("exec:") else "Python")
    if "passes" in subject:
        yield "Passes that it claims", ", ".join(subject["passes"]) or "none"
    if "provider" in subject:
        yield "Every node is to run on", subject["provider"]
    if subject.get("placement") == "cannot tell":
        yield "What ran where", "it cannot tell: another device may have computed its answers"
    if run is not None:
        yield "Run", run
    yield "Suite", header["suite"]
    yield "Corpus", f"{header['corpus']['version']} ({header['corpus']['digest']})"
    yield from header["environment"].items()
    yield "Run it again", column.command
