"""What the report's scripts read: an index of all cases, which every filter needs, and one detail per case.

The index is small and is parsed when the document opens; a detail is parsed when its case is opened.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from conformance.report.html_evidence import Evidence
from conformance.report.html_subjects import mark
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.records import CaseRecord
    from conformance.report.html_subjects import Column
    from conformance.results import Results

CHECKS = {
    "exact": "Every element must agree bit for bit.",
    "bound": (
        "The bound is the running error bound of the operator's formula in the tensor's precision: any order of "
        "evaluation, fused or wider, is admitted, plus half an ULP."
    ),
    "index": "Any index is accepted whose exact value lies within the bound of the exact maximum.",
}

_CODES = {str(verdict): str(code) for code, verdict in enumerate(Verdict)}
_NO_RESULT = "."


def index(runs: Sequence[Results], shown: Sequence[Column]) -> dict[str, Any]:
    """Everything the filters look at: per case one short row, with one character per subject for its verdict."""
    cases = _cases(runs)
    texts = {name: clause for run in runs for name, clause in run.header["clauses"].items()}
    clauses = {name: number for number, name in enumerate(dict.fromkeys(c for case in cases for c in case["clauses"]))}
    tags = {name: number for number, name in enumerate(dict.fromkeys(t for case in cases for t in case["tags"]))}
    return {
        "subjects": [[column.label, column.subject["version"], column.command] for column in shown],
        "levels": {level: level.meaning for level in Level},
        "verdicts": {verdict: verdict.meaning for verdict in Verdict},
        "checks": CHECKS,
        "clauses": [[name, *texts.get(name, {"text": "", "source": ""}).values()] for name in clauses],
        "tags": list(tags),
        "cases": [
            [
                case["case"],
                case["title"],
                case["level"],
                [clauses[name] for name in case["clauses"]],
                [tags[name] for name in case["tags"]],
                *_standing(case["case"], shown),
            ]
            for case in cases
        ],
    }


def details(runs: Sequence[Results], shown: Sequence[Column]) -> Iterator[dict[str, Any]]:
    """Per case, in the index's order, all that is shown only when the case is opened."""
    for case in _cases(runs):
        evidence = Evidence(case)
        results = [evidence.add(column.results.get(case["case"])) for column in shown]
        yield {
            "select": shlex.quote(case["case"]),
            "kind": case["kind"],
            "model": case["model"],
            "data_sets": case["data_sets"],
            "evidence": evidence.distinct,
            "results": results,
        }


def _cases(runs: Sequence[Results]) -> list[CaseRecord]:
    """The cases of all runs by name: results of a parallel run come in no particular order."""
    cases: dict[str, CaseRecord] = {}
    for run in runs:
        for name, case in run.cases.items():
            cases.setdefault(name, case)
    return [cases[name] for name in sorted(cases)]


def _standing(case: str, shown: Sequence[Column]) -> tuple[str, str]:
    """Each subject's verdict as a digit, and how it stands to what was expected, in the subjects' order."""
    results = [column.results.get(case) for column in shown]
    verdicts = "".join(_CODES[result["verdict"]] if result else _NO_RESULT for result in results)
    marks = "".join(mark(result) if result else _NO_RESULT for result in results)
    return verdicts, marks
