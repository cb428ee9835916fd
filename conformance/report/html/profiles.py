"""What the report says of one subject by itself: how it fails, what was expected of it, and where it is weakest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

from conformance.report.html.columns import Mark, mark, run_name
from conformance.report.html.data import described
from conformance.report.html.errors import distributions, measured
from conformance.results.failure_kinds import failure_kind
from conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.report.html.columns import Column
    from conformance.results.file import Results
    from conformance.results.records import CaseRecord, ResultRecord

MOST = 12
"""How many of the largest errors and of the slowest cases are told."""

Pairs: TypeAlias = "list[tuple[int, CaseRecord, ResultRecord]]"


def profiles(runs: Sequence[Results], shown: Sequence[Column]) -> Iterator[dict[str, Any]]:
    """Per subject, in the columns' order, what its page shows; cases are named by their numbers in the index."""
    cases = described(runs)
    for column in shown:
        run = runs[column.run]
        pairs = [
            (at, case, column.results[case["case"]]) for at, case in enumerate(cases) if case["case"] in column.results
        ]
        yield {
            "facts": list(_facts(column, run_name(runs, column.run) if len(runs) > 1 else None, run)),
            "signatures": _signatures(pairs),
            "diagnoses": [
                found for found in run.footer.get("diagnoses", []) if found["subject"] == column.subject["id"]
            ],
            "expectations": _expectations(pairs),
            "margins": _margins(pairs),
            "slowest": _slowest(pairs),
            "errors": distributions([(case, result) for _, case, result in pairs]),
        }


def _facts(column: Column, run: str | None, results: Results) -> Iterator[tuple[str, str]]:
    subject, header = column.subject, results.header
    yield "Named on the command line", subject["id"]
    yield "Version", subject["version"]
    yield "Kind", "graph optimizer" if subject["kind"] == "optimizer" else subject["kind"]
    yield "Language", subject.get("language", "not said" if subject["id"].startswith("exec:") else "Python")
    if "passes" in subject:
        yield "Passes that it claims", ", ".join(subject["passes"]) or "none"
    if run is not None:
        yield "Run", run
    yield "Suite", header["suite"]
    yield "Corpus", f"{header['corpus']['version']} ({header['corpus']['digest']})"
    yield from header["environment"].items()
    yield "Run it again", column.command


def _signatures(pairs: Pairs) -> list[list[Any]]:
    """[verdict, phase, what they say, cases, how many are unexpected], defects first, the most frequent first."""
    found: dict[Any, list[tuple[int, bool]]] = {}
    for at, case, result in pairs:
        if (key := failure_kind(case, result)) is not None:
            found.setdefault(key, []).append((at, mark(result) is Mark.UNEXPECTED))
    rows = [
        [key.verdict, key.phase, key.text, [at for at, _ in members], sum(new for _, new in members)]
        for key, members in found.items()
    ]
    return sorted(rows, key=lambda row: (not Verdict(row[0]).is_defect, -row[4], -len(row[3]), row[0], row[2]))


def _expectations(pairs: Pairs) -> list[list[Any]]:
    """[verdict, reason, issue, place, cases that met it, cases that did not]."""
    found: dict[tuple[Any, ...], tuple[list[int], list[int]]] = {}
    for at, _, result in pairs:
        if (expected := result["expected"]) is None:
            continue
        key = expected["verdict"], expected["reason"], expected.get("issue"), expected.get("place")
        met = expected["verdict"] == result["verdict"]
        found.setdefault(key, ([], []))[0 if met else 1].append(at)
    return [[*key, *cases] for key, cases in found.items()]


def _margins(pairs: Pairs) -> list[list[Any]]:
    """[case, data set, output, error over bound, ULP] of the accepted outputs that come nearest to their bound."""
    rows: list[list[Any]] = [
        [at, output["data_set"], output["name"], float(f"{error:.4g}"), output.get("max_ulp")]
        for at, _, result in pairs
        for output, error in measured(result)
        if "complaint" not in output and math.isfinite(error) and error > 0
    ]
    worst: dict[int, list[Any]] = {}
    for row in sorted(rows, key=lambda row: -row[3]):
        worst.setdefault(row[0], row)
    return list(worst.values())[:MOST]


def _slowest(pairs: Pairs) -> list[list[Any]]:
    """[case, seconds]."""
    rows = [[at, round(result["seconds"], 6)] for at, _, result in pairs]
    return sorted((row for row in rows if row[1] > 0), key=lambda row: (-row[1], row[0]))[:MOST]
