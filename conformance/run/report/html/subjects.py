"""The subjects of a report: one column each in the matrix of cases, and one page each with statistics.

A column holds the results of one subject in one run. A subject page summarises them: failures by message, expectations,
errors relative to the bound, and the slowest cases.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote, urlencode

from msgspec import Struct

from conformance.base.verdicts import Verdict
from conformance.run.results.failure_groups import failure_kind
from conformance.run.results.recorded_environment import rerun_command, rerun_options, script_options
from conformance.run.results.results_file import LazyRecords
from conformance.run.results.violations import strip_tensor_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.run.results.failure_groups import FailureKind
    from conformance.run.results.records import (
        CaseRecord,
        OutputEvidence,
        Result,
        ResultRow,
        SubjectIdentity,
        SubjectRecord,
    )
    from conformance.run.results.results_file import Key, Results


class Mark(StrEnum):
    """Relation of a verdict to the expected verdict."""

    PLAIN = " "
    KNOWN = "k"
    UNEXPECTED = "u"


@dataclass(frozen=True)
class Column:
    """One subject of one run.

    Attributes:
        label: the id of the subject, with the name of the run if several runs have this subject.
        run: the number of the run, from 0.
        rows: the short form of the results, by case.
        results: the complete results by case; each access reads the results file again.
        command: the start of the command that runs a case on this subject again.
        options: the keyword arguments of `rerun` in a script, as a Python literal.
    """

    label: str
    run: int
    subject: SubjectRecord
    rows: Mapping[str, ResultRow]
    results: Mapping[str, Result]
    command: str = ""
    options: str = "{}"

    @property
    def link(self) -> str:
        """The address of the page of the subject."""
        return "#" + urlencode({"view": "subject", "subject": self.label}, quote_via=quote)


def columns(runs: Sequence[Results]) -> list[Column]:
    """Return one column per subject and run; if several runs have a subject, its labels contain the name of the run."""
    found = [(number, subject) for number, run in enumerate(runs) for subject in run.header.subjects]
    occurrences = Counter(subject.id for _, subject in found)
    by_run = [_keys_by_subject(run) for run in runs]
    return [
        Column(
            subject.id if occurrences[subject.id] == 1 else f"{subject.id} ({run_name(runs, number)})",
            number,
            subject,
            {case: runs[number].rows[key] for case, key in by_run[number][subject.id].items()},
            LazyRecords(runs[number].results.__getitem__, by_run[number][subject.id]),
            rerun_command(subject, rerun_options(runs[number].header, subject)),
            repr(script_options(rerun_options(runs[number].header, subject))),
        )
        for number, subject in found
    ]


def run_name(runs: Sequence[Results], number: int) -> str:
    """Return the name of a run: its number from 1 and the name of its results file, without the folder."""
    return f"run {number + 1}: {PurePath(runs[number].path).name}"


def expectation_mark(result: ResultRow) -> Mark:
    """Return whether a verdict is unexpected, a known failure or neither."""
    if result.unexpected:
        return Mark.UNEXPECTED
    known = result.expected is not None and result.expected.verdict == result.verdict
    return Mark.KNOWN if known and result.verdict != Verdict.PASS else Mark.PLAIN


def _keys_by_subject(run: Results) -> dict[str, dict[str, Key]]:
    """Return the keys of the results by subject and case."""
    keys: dict[str, dict[str, Key]] = {subject.id: {} for subject in run.header.subjects}
    for key in run.rows:
        subject, case = key
        keys[subject][case] = key
    return keys


TENTHS = 10
BAR_COUNT = TENTHS + 2
"""Bars of an error distribution: no error, one bar for each tenth of the bound, and errors above the bound."""


def largest_error(result: Result) -> float | None:
    """Return the largest error of a result as a fraction of the bound; None if no output has a bound."""
    error = max((error for _, error in bounded_outputs(result)), default=None)
    return None if error is None else float(f"{error:.4g}")


def bounded_outputs(result: Result) -> Iterator[tuple[OutputEvidence, float]]:
    """Yield the outputs that have a bound, each with its error as a fraction of the bound."""
    for output in result.outputs:
        if output.error_over_bound is not None:
            yield output, output.error_over_bound


class ErrorDistributions:
    """Histograms of errors relative to the bound, by output name and element type."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], list[int]] = {}

    def add(self, case: CaseRecord, result: Result) -> None:
        """Add the errors of the outputs of a result to the histograms."""
        for output, error in bounded_outputs(result):
            expected = case.expected_output(output.data_set, output.name)
            key = strip_tensor_number(output.name), expected.type if expected is not None else "unknown type"
            self._counts.setdefault(key, [0] * BAR_COUNT)[_bar_index(error)] += 1

    @property
    def rows(self) -> list[tuple[str, str, list[int]]]:
        """The histograms as sorted rows: output, type, counts of the bars."""
        return [(*key, bars) for key, bars in sorted(self._counts.items())]


def _bar_index(error: float) -> int:
    if not error <= 1:
        return BAR_COUNT - 1
    return 0 if error == 0 else min(TENTHS, math.floor(error * TENTHS) + 1)


MAX_LISTED = 12
"""Number of largest errors and of slowest cases on the page of a subject."""


Signature: TypeAlias = tuple[str, str | None, str, list[int], int]
"""A kind of failures: verdict, phase, failure text, cases and number of unexpected results."""

Margin: TypeAlias = tuple[int, int, str, float, float | None]
"""An accepted output: case, data set, output, error as a fraction of the bound, and error in ULP."""


class SubjectStatistics(Struct, frozen=True):
    """The statistics on the page of one subject; cases are numbers in the index of cases.

    Attributes:
        facts: names and values of properties of the subject and its run.
        signatures: the kinds of failures, defects first.
        expectations: rows of verdict, reason, issue, location, cases that meet the expectation, and other cases.
        margins: the accepted outputs with the largest errors relative to their bounds.
        slowest: rows of case and seconds, the slowest case first.
        errors: see `ErrorDistributions.rows`.
    """

    facts: list[tuple[str, str]]
    signatures: list[Signature]
    expectations: list[tuple[str, str, str | None, str | None, list[int], list[int]]]
    margins: list[Margin]
    slowest: list[tuple[int, float]]
    errors: list[tuple[str, str, list[int]]]


class SubjectPage:
    """The results of one subject for the statistics on its page."""

    def __init__(self) -> None:
        self._kinds: dict[FailureKind, list[tuple[int, bool]]] = {}
        self._expectations: dict[tuple[str, str, str | None, str | None], tuple[list[int], list[int]]] = {}
        self._margins: list[Margin] = []
        self._seconds: list[tuple[float, int]] = []
        self._errors = ErrorDistributions()

    def add(self, at: int, case: CaseRecord, result: Result) -> None:
        """Add a result; results must be added in the order of the cases."""
        if (kind := failure_kind(case, result)) is not None:
            self._kinds.setdefault(kind, []).append((at, expectation_mark(result) is Mark.UNEXPECTED))
        if (expected := result.expected) is not None:
            key = expected.verdict, expected.reason, expected.issue or None, expected.location or None
            met = expected.verdict == result.verdict
            self._expectations.setdefault(key, ([], []))[0 if met else 1].append(at)
        self._margins += _narrowest_margin(at, result)
        self._seconds.append((round(result.seconds, 6), at))
        self._errors.add(case, result)

    def statistics(self, column: Column, runs: Sequence[Results]) -> SubjectStatistics:
        """Return the statistics."""
        run = runs[column.run]
        return SubjectStatistics(
            list(_subject_facts(column, run_name(runs, column.run) if len(runs) > 1 else None, run)),
            self._signatures(),
            [(*key, *cases) for key, cases in self._expectations.items()],
            sorted(self._margins, key=lambda row: -row[3])[:MAX_LISTED],
            self._slowest(),
            self._errors.rows,
        )

    def _signatures(self) -> list[Signature]:
        rows = [
            (key.verdict, key.phase, key.text, [at for at, _ in members], sum(new for _, new in members))
            for key, members in self._kinds.items()
        ]
        return sorted(rows, key=lambda row: (not Verdict(row[0]).is_defect, -row[4], -len(row[3]), row[0], row[2]))

    def _slowest(self) -> list[tuple[int, float]]:
        slowest = sorted((-seconds, at) for seconds, at in self._seconds if seconds > 0)
        return [(at, -seconds) for seconds, at in slowest[:MAX_LISTED]]


def _narrowest_margin(at: int, result: Result) -> list[Margin]:
    """Return a row for the accepted output with the largest error relative to its bound, if there is one."""
    rows = [
        (at, output.data_set, output.name, float(f"{error:.4g}"), output.max_ulp)
        for output, error in bounded_outputs(result)
        if output.violation is None and error > 0
    ]
    return [max(rows, key=lambda row: row[3])] if rows else []


def _subject_facts(column: Column, run: str | None, results: Results) -> Iterator[tuple[str, str]]:
    subject = column.subject
    header = results.header
    yield "Name on the command line", subject.id
    yield "Version", subject.version
    yield "Kind", "graph optimizer" if subject.kind == "optimizer" else subject.kind
    yield "Language", subject.language or ("not reported" if subject.id.startswith("exec:") else "Python")
    if subject.passes:
        yield "Implemented passes", ", ".join(subject.passes)
    if subject.provider:
        yield "Requested provider", subject.provider
    if subject.placement == "not reported":
        yield "Placement of nodes", "not reported: another device may have computed the outputs"
    if run is not None:
        yield "Run", run
    if subject.identity is not None:
        yield from _identity_facts(subject.identity)
    yield "Suite", header.suite
    yield "Corpus", f"{header.corpus.label} ({header.corpus.digest})"
    yield from header.environment.items()
    yield "Run it again", column.command


def _identity_facts(identity: SubjectIdentity) -> Iterator[tuple[str, str]]:
    yield "Environment", identity.digest
    if identity.python:
        yield "Python of the subject", identity.python
        yield "Packages", ", ".join(identity.packages) or "none"
    yield "Processor", identity.processor
    if identity.adapter:
        yield "Adapter (SHA-256)", identity.adapter
