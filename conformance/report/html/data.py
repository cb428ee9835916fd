"""What the report's scripts read: an index of all cases, which every filter needs, and one detail per case.

The index is small and is parsed when the document opens; a detail is parsed when its case is opened, and what details
have in common lies in a pool.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from conformance.report.html.columns import mark
from conformance.report.html.errors import largest
from conformance.report.html.evidence import PackedEvidence
from conformance.report.html.pool import Pool, packed_data_set, packed_model
from conformance.report.html.script import CASE, OF_KIND, SUBJECT
from conformance.results.failure_kinds import failure_kind
from conformance.results.levels import other_level
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.report.html.columns import Column
    from conformance.results.file import Results
    from conformance.results.records import CaseRecord, ResultRecord

CHECKS = {
    "exact": "Every element must agree bit for bit.",
    "bound": (
        "The bound is the running error bound of the operator's formula in the tensor's precision: any order of "
        "evaluation, fused or wider, is admitted, plus half an ULP."
    ),
    "index": "Any index is accepted whose exact value lies within the bound of the exact maximum.",
}
MOST_ARCHIVED = 3 * 2**20
"""Characters of all archives that a report carries, so that it stays a file one can send."""

_CODES = {str(verdict): str(code) for code, verdict in enumerate(Verdict)}
_NO_RESULT = "."


def index(runs: Sequence[Results], shown: Sequence[Column]) -> dict[str, Any]:
    """Everything the filters look at: per case one short row, with one character per subject for its verdict."""
    cases = described(runs)
    texts = {name: clause for run in runs for name, clause in run.header["clauses"].items()}
    clauses = _numbered([*texts, *(name for case in cases for name in case["clauses"])])
    tags = _numbered(name for case in cases for name in case["tags"])
    types = _numbered(sorted({value["type"] for case in cases for value in case["model"]["inputs"]}))
    return {
        "subjects": [
            [column.label, column.subject["version"], column.command, column.subject["kind"], column.subject["id"]]
            for column in shown
        ],
        "levels": {level: level.meaning for level in Level},
        "verdicts": {verdict: verdict.meaning for verdict in Verdict},
        "defects": [verdict for verdict in Verdict if verdict.is_defect],
        "checks": CHECKS,
        "scripts": {"case": CASE, "subject": SUBJECT, "of": OF_KIND},
        "clauses": [[name, *texts.get(name, {"text": "", "source": ""}).values()] for name in clauses],
        "tags": list(tags),
        "types": list(types),
        "cases": [
            [
                case["case"],
                case["title"],
                case["level"],
                [clauses[name] for name in case["clauses"]],
                [tags[name] for name in case["tags"]],
                *_standing(case["case"], shown),
                case["kind"],
                sorted({types[value["type"]] for value in case["model"]["inputs"]}),
                *_other_levels(case, shown),
            ]
            for case in cases
        ],
    }


def details(runs: Sequence[Results], shown: Sequence[Column], pool: Pool) -> Iterator[dict[str, Any]]:
    """Per case, in the index's order, all that is shown only when the case is opened."""
    for case in described(runs):
        evidence = PackedEvidence(case, pool)
        results = [evidence.add(column.results.get(case["case"])) for column in shown]
        detail = {
            "model": packed_model(case["model"], pool),
            "data_sets": [packed_data_set(data_set, pool) for data_set in case["data_sets"]],
            "evidence": evidence.distinct,
            "results": results,
        }
        select = shlex.quote(case["case"])
        yield detail | _present(select=None if select == case["case"] else select, rewrite=case.get("rewrite"))


def errors(runs: Sequence[Results], shown: Sequence[Column]) -> list[list[float | None]]:
    """Per case, in the index's order, each subject's largest error as a fraction of the bound."""
    return [[_short(largest(column.results.get(case["case"]))) for column in shown] for case in described(runs)]


def complaints(runs: Sequence[Results], shown: Sequence[Column], pool: Pool) -> list[list[int | None]]:
    """Per case, in the index's order, the number of what each subject's result says; None of a pass or no result."""
    return [[_said(case, column.results.get(case["case"]), pool) for column in shown] for case in described(runs)]


def archives(runs: Sequence[Results]) -> dict[int, str]:
    """The archives that the report carries, by the number of their case in the index."""
    room = MOST_ARCHIVED
    found: dict[int, str] = {}
    for number, case in enumerate(described(runs)):
        archive = next((run.archives[case["case"]] for run in runs if case["case"] in run.archives), None)
        if archive is not None and len(archive) <= room:
            found[number] = archive
            room -= len(archive)
    return found


def described(runs: Sequence[Results]) -> list[CaseRecord]:
    """The cases of all runs by name: results of a parallel run come in no particular order."""
    cases: dict[str, CaseRecord] = {}
    for run in runs:
        for name, case in run.cases.items():
            cases.setdefault(name, case)
    return [cases[name] for name in sorted(cases)]


def _said(case: CaseRecord, result: ResultRecord | None, pool: Pool) -> int | None:
    found = failure_kind(case, result) if result else None
    return None if found is None else pool.add(found.text)


def _numbered(names: Any) -> dict[str, int]:
    return {name: number for number, name in enumerate(dict.fromkeys(names))}


def _present(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _short(error: float | None) -> float | None:
    return None if error is None else float(f"{error:.4g}")


def _other_levels(case: CaseRecord, shown: Sequence[Column]) -> list[str]:
    """Where a verdict stands at another level than the case: for each subject that level's number, or a dot."""
    results = [column.results.get(case["case"]) for column in shown]
    levels = [other_level(result, Level(case["level"])) if result else None for result in results]
    return ["".join(_NO_RESULT if level is None else str(level.rank) for level in levels)] if any(levels) else []


def _standing(case: str, shown: Sequence[Column]) -> tuple[str, str]:
    """Each subject's verdict as a digit, and how it stands to what was expected, in the subjects' order."""
    results = [column.results.get(case) for column in shown]
    verdicts = "".join(_CODES[result["verdict"]] if result else _NO_RESULT for result in results)
    marks = "".join(mark(result) if result else _NO_RESULT for result in results)
    return verdicts, marks
