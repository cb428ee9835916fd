"""CTRF JSON (Common Test Report Format): one test for each case and subject, and one for a run that fails.

The statuses are the same as in the JUnit report; `rawStatus` is the verdict. The start of a run is 0 if its results
file does not contain a start time. `duration` is in milliseconds, as the format requires; `extra.seconds` is exact.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import UNSET, UnsetType

from conformance.base.serialization.decoding import StoredRecord
from conformance.run.report.ci_status import CiResult, Status, ci_results_by_subject

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.base.verdicts import Level, Verdict
    from conformance.run.results.records import RewriteCheck
    from conformance.run.results.results_file import Results

VERSION = "0.0.0"


class CtrfSummary(StoredRecord):
    """The numbers of tests by status, and the start and the end of the runs in milliseconds since the epoch."""

    tests: int
    passed: int
    failed: int
    skipped: int
    pending: int
    other: int
    flaky: int
    suites: int
    start: int
    stop: int


class CtrfTestFacts(StoredRecord):
    """Facts about a case and its result for which CTRF has no keys."""

    title: str
    seconds: float
    level: Level
    clauses: list[str]
    checks: list[RewriteCheck] = []
    cause: str | UnsetType = UNSET


class CtrfTest(StoredRecord, rename="camel"):
    """A result, or a run that fails; the keys with a default value are left out of the test of a run."""

    name: str
    status: Status
    duration: int
    suite: list[str]
    raw_status: Verdict | UnsetType = UNSET
    tags: list[str] | UnsetType = UNSET
    extra: CtrfTestFacts | UnsetType = UNSET
    message: str | UnsetType = UNSET
    flaky: bool = False
    stderr: list[str] = []


class CtrfRunFacts(StoredRecord):
    """Facts about the runs: the corpus, the outcome, its reasons, and the environment of each run."""

    corpus: dict[Literal["version", "digest"], str]
    outcome: Literal["pass", "fail"]
    reasons: list[str]
    runs: list[dict[str, str]]


class CtrfResults(StoredRecord):
    """The tests of all runs."""

    tool: dict[Literal["name", "version"], str]
    summary: CtrfSummary
    tests: list[CtrfTest]
    environment: dict[Literal["extra"], CtrfRunFacts]


class CtrfDocument(StoredRecord, rename="camel"):
    """The document."""

    report_format: Literal["CTRF"]
    spec_version: str
    generated_by: str
    results: CtrfResults


def render(runs: Sequence[Results]) -> Iterator[str]:
    """Yield the document test by test; the same runs give the same bytes."""
    suite = runs[0].header.suite
    results = CtrfResults(
        {"name": "onnx-conformance", "version": suite}, _summary(runs), [], {"extra": _run_facts(runs)}
    )
    document = CtrfDocument("CTRF", VERSION, f"onnx-conformance {suite}", results)
    before, _, after = _to_json(document).partition('"tests": []')
    yield f'{before}"tests": ['
    number = -1
    for number, test in enumerate(_tests(runs)):
        yield (",\n   " if number else "\n   ") + _to_json(test).replace("\n", "\n   ")
    yield ("]" if number < 0 else "\n  ]") + after + "\n"


def _to_json(value: msgspec.Struct) -> str:
    """Return a value as indented JSON; msgspec indents it six times faster than `json` does."""
    plain = msgspec.to_builtins(value)
    try:
        return msgspec.json.format(json.dumps(plain), indent=1)
    except msgspec.DecodeError:  # the output of a subject contains an unpaired surrogate
        return json.dumps(plain, indent=1)


def _summary(runs: Sequence[Results]) -> CtrfSummary:
    found = [one for run in runs for own in ci_results_by_subject(run).values() for one in own]
    counts = Counter(one.status for one in found)
    counts[Status.FAILED] += sum(bool(run.footer.reasons) for run in runs)
    return CtrfSummary(
        tests=counts.total(),
        **{str(status): counts[status] for status in Status},
        pending=0,
        other=0,
        flaky=sum(one.result.varies for one in found),
        suites=sum(len(run.header.subjects) for run in runs),
        start=round(1000 * min(run.header.started for run in runs)),
        stop=round(1000 * max(run.header.started + run.footer.seconds for run in runs)),
    )


def _run_facts(runs: Sequence[Results]) -> CtrfRunFacts:
    corpus = runs[0].header.corpus
    return CtrfRunFacts(
        {"version": corpus.label, "digest": corpus.digest},
        "fail" if any(run.footer.reasons for run in runs) else "pass",
        [reason for run in runs for reason in run.footer.reasons],
        [dict(sorted(run.header.environment.items())) for run in runs],
    )


def _tests(runs: Sequence[Results]) -> Iterator[CtrfTest]:
    for run in runs:
        if run.footer.reasons:
            yield CtrfTest("run passes", Status.FAILED, 0, ["run"], message="\n".join(run.footer.reasons))
        for subject, own in ci_results_by_subject(run).items():
            for one in own:
                yield _test(subject, one)


def _test(subject: str, one: CiResult) -> CtrfTest:
    result = one.result
    case = one.case
    reason = one.reason
    cause = UNSET if one.cause is None else one.cause.sentence
    return CtrfTest(
        result.case,
        one.status,
        round(1000 * result.seconds),
        [subject, case.level],
        result.verdict,
        case.tags,
        CtrfTestFacts(case.title, result.seconds, result.level, case.clauses, result.checks, cause),
        "\n".join([*one.details, reason]) if reason else UNSET,
        result.varies,
        one.stderr.splitlines(),
    )
