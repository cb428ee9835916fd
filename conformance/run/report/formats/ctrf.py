"""CTRF JSON (Common Test Report Format): one test for each case and subject, and one for a run that fails.

The statuses are the same as in the JUnit report; `rawStatus` is the verdict. The start of a run is 0 if its results
file does not contain a start time. `duration` is in milliseconds, as the format requires; `extra.seconds` is exact.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from conformance.run.report.ci_status import Status, ci_results_by_subject
from conformance.run.results.records import printed_record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.run.report.ci_status import CiResult
    from conformance.run.results.results_file import Results

VERSION = "0.0.0"


def render(runs: Sequence[Results]) -> Iterator[str]:
    """Yield the document test by test; the same runs give the same bytes."""
    suite = runs[0].header.suite
    document = {
        "reportFormat": "CTRF",
        "specVersion": VERSION,
        "generatedBy": f"onnx-conformance {suite}",
        "results": {
            "tool": {"name": "onnx-conformance", "version": suite},
            "summary": _summary(runs),
            "tests": [],
            "environment": {"extra": _run_facts(runs)},
        },
    }
    before, _, after = _to_json(document).partition('"tests": []')
    yield f'{before}"tests": ['
    number = -1
    for number, test in enumerate(_tests(runs)):
        yield (",\n   " if number else "\n   ") + _to_json(test).replace("\n", "\n   ")
    yield ("]" if number < 0 else "\n  ]") + after + "\n"


def _to_json(value: dict[str, Any]) -> str:
    """Return a value as indented JSON; msgspec indents it six times faster than `json` does."""
    text = json.dumps(value)
    try:
        return msgspec.json.format(text, indent=1)
    except msgspec.DecodeError:  # the output of a subject contains an unpaired surrogate
        return json.dumps(value, indent=1)


def _summary(runs: Sequence[Results]) -> dict[str, int]:
    found = [one for run in runs for own in ci_results_by_subject(run).values() for one in own]
    counts = Counter(one.status for one in found)
    counts[Status.FAILED] += sum(bool(run.footer.reasons) for run in runs)
    return {
        "tests": counts.total(),
        **{str(status): counts[status] for status in Status},
        "pending": 0,
        "other": 0,
        "flaky": sum(one.result.varies for one in found),
        "suites": sum(len(run.header.subjects) for run in runs),
        "start": round(1000 * min(run.header.started for run in runs)),
        "stop": round(1000 * max(run.header.started + run.footer.seconds for run in runs)),
    }


def _run_facts(runs: Sequence[Results]) -> dict[str, Any]:
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
            message = "\n".join(run.footer.reasons)
            yield {"name": "run passes", "status": Status.FAILED, "duration": 0, "suite": ["run"], "message": message}
        for subject, own in ci_results_by_subject(run).items():
            for one in own:
                yield _test(subject, one)


def _test(subject: str, one: CiResult) -> dict[str, Any]:
    result = one.result
    case = one.case
    extra: dict[str, Any] = {
        "title": case.title,
        "seconds": result.seconds,
        "level": result.level,
        "clauses": case.clauses,
    }
    if result.checks:
        extra["checks"] = list(map(printed_record, result.checks))
    if one.cause is not None:
        extra["cause"] = one.cause.sentence
    test: dict[str, Any] = {
        "name": result.case,
        "status": one.status,
        "duration": round(1000 * result.seconds),
        "suite": [subject, case.level],
        "rawStatus": result.verdict,
        "tags": case.tags,
        "extra": extra,
    }
    if reason := one.reason:
        test["message"] = "\n".join([*one.details, reason])
    if result.varies:
        test["flaky"] = True
    if stderr := one.stderr.splitlines():
        test["stderr"] = stderr
    return test
