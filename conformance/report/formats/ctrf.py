"""CTRF JSON (Common Test Report Format): one test for each case and subject, and one for a run that fails.

The statuses are the same as in the JUnit report; `rawStatus` is the verdict. The start of a run is 0 if its results
file does not contain a start time. `duration` is in milliseconds, as the format requires; `extra.seconds` is exact.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from conformance.report.ci_status import CiResult, Status, ci_results_by_subject

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.results.file import Results

VERSION = "0.0.0"


def render(runs: Sequence[Results]) -> Iterator[str]:
    """Yield the document test by test; the same runs give the same bytes."""
    suite = runs[0].header.suite
    before = {
        "reportFormat": "CTRF",
        "specVersion": VERSION,
        "generatedBy": f"onnx-conformance {suite}",
        "results": {"tool": {"name": "onnx-conformance", "version": suite}, "summary": _summary(runs)},
    }
    after = {"results": {"environment": {"extra": _environment(runs)}}}
    yield _to_json(before).removesuffix("\n }\n}") + ',\n  "tests": ['
    number = -1
    for number, test in enumerate(_tests(runs)):
        yield (",\n   " if number else "\n   ") + _to_json(test).replace("\n", "\n   ")
    yield ("]" if number < 0 else "\n  ]") + _to_json(after).replace('{\n "results": {', ",", 1) + "\n"


def _to_json(value: object) -> str:
    """Return a value as indented JSON; msgspec indents it six times faster than `json` does."""
    plain = msgspec.to_builtins(value)
    try:
        return msgspec.json.format(json.dumps(plain), indent=1)
    except msgspec.DecodeError:  # the output of a subject contains an unpaired surrogate
        return json.dumps(plain, indent=1)


def _summary(runs: Sequence[Results]) -> dict[str, int]:
    found = [one for run in runs for own in ci_results_by_subject(run).values() for one in own]
    counts = Counter(one.status for one in found)
    counts[Status.FAILED] += sum(bool(run.footer.reasons) for run in runs)
    start = min(run.header.started for run in runs)
    return {
        "tests": counts.total(),
        **{str(status): counts[status] for status in Status},
        "pending": 0,
        "other": 0,
        "flaky": sum(one.result.varies for one in found),
        "suites": sum(len(run.header.subjects) for run in runs),
        "start": round(1000 * start),
        "stop": round(1000 * max(run.header.started + run.footer.seconds for run in runs)),
    }


def _environment(runs: Sequence[Results]) -> dict[str, Any]:
    corpus = runs[0].header.corpus
    return {
        "corpus": {"version": corpus.label, "digest": corpus.digest},
        "outcome": "fail" if any(run.footer.reasons for run in runs) else "pass",
        "reasons": [reason for run in runs for reason in run.footer.reasons],
        "runs": [dict(sorted(run.header.environment.items())) for run in runs],
    }


def _tests(runs: Sequence[Results]) -> Iterator[dict[str, Any]]:
    for run in runs:
        if run.footer.reasons:
            reasons = "\n".join(run.footer.reasons)
            yield {"name": "run passes", "status": Status.FAILED, "duration": 0, "suite": ["run"], "message": reasons}
        for subject, own in ci_results_by_subject(run).items():
            for one in own:
                yield _test(subject, one)


def _test(subject: str, one: CiResult) -> dict[str, Any]:
    result, case = one.result, one.case
    test: dict[str, Any] = {
        "name": result.case,
        "status": one.status,
        "duration": round(1000 * result.seconds),
        "suite": [subject, case.level],
        "rawStatus": result.verdict,
        "tags": case.tags,
        "extra": {
            "title": case.title,
            "seconds": result.seconds,
            "level": result.level,
            "clauses": case.clauses,
        },
    }
    if checks := result.checks:
        test["extra"]["checks"] = checks
    if one.cause is not None:
        test["extra"]["cause"] = one.cause.sentence
    if reason := one.reason:
        test["message"] = "\n".join([*one.details, reason])
    if result.varies:
        test["flaky"] = True
    if stderr := one.stderr:
        test["stderr"] = stderr.splitlines()
    return test
