"""CTRF JSON: the Common Test Report Format, a test for each case and subject, and one more where the gate has reasons.

Statuses are those of the JUnit report; `rawStatus` is the verdict. There is no wall clock: a run starts at 0.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from conformance.report.ci_status import CiResult, Status, standings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.results.file import Results

VERSION = "0.0.0"


def render(runs: Sequence[Results]) -> str:
    """The document; the same runs give the same bytes."""
    tests = [test for run in runs for test in _tests(run)]
    counts = Counter(test["status"] for test in tests)
    stop = round(1000 * sum(run.footer["seconds"] for run in runs))
    summary = {
        "tests": len(tests),
        **{str(status): counts[status] for status in Status},
        "pending": 0,
        "other": 0,
        "flaky": sum(test.get("flaky", False) for test in tests),
        "suites": sum(len(run.header["subjects"]) for run in runs),
        "start": 0,
        "stop": stop,
    }
    corpus, suite = runs[0].header["corpus"], runs[0].header["suite"]
    document = {
        "reportFormat": "CTRF",
        "specVersion": VERSION,
        "generatedBy": f"onnx-conformance {suite}",
        "results": {
            "tool": {"name": "onnx-conformance", "version": suite},
            "summary": summary,
            "tests": tests,
            "environment": {
                "extra": {
                    "corpus": {"version": corpus["version"], "digest": corpus["digest"]},
                    "gate": "fail" if any(run.footer["reasons"] for run in runs) else "pass",
                    "reasons": [reason for run in runs for reason in run.footer["reasons"]],
                    "runs": [dict(sorted(run.header["environment"].items())) for run in runs],
                }
            },
        },
    }
    return json.dumps(document, indent=1) + "\n"


def _tests(run: Results) -> Iterator[dict[str, Any]]:
    if run.footer["reasons"]:
        told = "\n".join(run.footer["reasons"])
        yield {"name": "the gate holds", "status": Status.FAILED, "duration": 0, "suite": ["gate"], "message": told}
    for subject, own in standings(run).items():
        for one in own:
            yield _test(subject, one)


def _test(subject: str, one: CiResult) -> dict[str, Any]:
    result, case = one.result, one.case
    test: dict[str, Any] = {
        "name": result["case"],
        "status": one.status,
        "duration": round(1000 * result["seconds"]),
        "suite": [subject, case["level"]],
        "rawStatus": result["verdict"],
        "tags": case["tags"],
        "extra": {"title": case["title"], "level": result["level"], "clauses": case["clauses"]},
    }
    if complaints := [check for check in result.get("checks", ()) if "complaint" in check]:
        test["extra"]["complaints"] = complaints
    if one.why:
        test["message"] = one.why
    if len(result.get("repeats", ())) > 1:
        test["flaky"] = True
    if result.get("stderr"):
        test["stderr"] = result["stderr"].splitlines()
    return test
