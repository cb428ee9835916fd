"""CTRF JSON: the Common Test Report Format, a test for each case and subject, and one more where the gate has reasons.

Statuses are those of the JUnit report; `rawStatus` is the verdict. A run starts when its results say, or else at 0; of
a test only its duration is known, which milliseconds are too coarse for: `extra` has its seconds.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from conformance.report.ci_status import CiResult, Status, standings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.results.file import Results

VERSION = "0.0.0"


def render(runs: Sequence[Results]) -> Iterator[str]:
    """The document, test by test; the same runs give the same bytes."""
    suite = runs[0].header["suite"]
    before = {
        "reportFormat": "CTRF",
        "specVersion": VERSION,
        "generatedBy": f"onnx-conformance {suite}",
        "results": {"tool": {"name": "onnx-conformance", "version": suite}, "summary": _summary(runs)},
    }
    after = {"results": {"environment": {"extra": _extra(runs)}}}
    yield _dumped(before).removesuffix("\n }\n}") + ',\n  "tests": ['
    number = -1
    for number, test in enumerate(_tests(runs)):
        yield (",\n   " if number else "\n   ") + _dumped(test).replace("\n", "\n   ")
    yield ("]" if number < 0 else "\n  ]") + _dumped(after).replace('{\n "results": {', ",", 1) + "\n"


def _dumped(value: object) -> str:
    """A value as indented JSON; what `json` indents itself it writes six times as slowly."""
    try:
        return msgspec.json.format(json.dumps(value), indent=1)
    except msgspec.DecodeError:  # half of a surrogate pair, which a subject may have said
        return json.dumps(value, indent=1)


def _summary(runs: Sequence[Results]) -> dict[str, int]:
    found = [one for run in runs for own in standings(run).values() for one in own]
    counts = Counter(one.status for one in found)
    counts[Status.FAILED] += sum(bool(run.footer["reasons"]) for run in runs)
    start = min(run.header.get("started", 0) for run in runs)
    return {
        "tests": counts.total(),
        **{str(status): counts[status] for status in Status},
        "pending": 0,
        "other": 0,
        "flaky": sum(_is_flaky(one) for one in found),
        "suites": sum(len(run.header["subjects"]) for run in runs),
        "start": round(1000 * start),
        "stop": round(1000 * max(run.header.get("started", start) + run.footer["seconds"] for run in runs)),
    }


def _extra(runs: Sequence[Results]) -> dict[str, Any]:
    corpus = runs[0].header["corpus"]
    return {
        "corpus": {"version": corpus["version"], "digest": corpus["digest"]},
        "gate": "fail" if any(run.footer["reasons"] for run in runs) else "pass",
        "reasons": [reason for run in runs for reason in run.footer["reasons"]],
        "runs": [dict(sorted(run.header["environment"].items())) for run in runs],
    }


def _tests(runs: Sequence[Results]) -> Iterator[dict[str, Any]]:
    for run in runs:
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
        "extra": {
            "title": case["title"],
            "seconds": result["seconds"],
            "level": result["level"],
            "clauses": case["clauses"],
        },
    }
    if complaints := result.get("checks"):
        test["extra"]["complaints"] = complaints
    if one.cause is not None:
        test["extra"]["cause"] = one.cause.sentence
    if why := one.why:
        test["message"] = "\n".join([*one.details, why])
    if _is_flaky(one):
        test["flaky"] = True
    if stderr := one.stderr:
        test["stderr"] = stderr.splitlines()
    return test


def _is_flaky(one: CiResult) -> bool:
    """Whether the verdict varied."""
    return len(one.result.get("repeats", ())) > 1
