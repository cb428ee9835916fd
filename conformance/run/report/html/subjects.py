"""The subjects of a report: one column each in the matrix of cases, one page each with statistics, and failure groups.

A column holds the results of one subject in one run. A subject page summarises them: failures by message, expectations,
errors relative to the bound, and the slowest cases. A group has failing cases with the same cause, diagnosis or known
fault, or without a diagnosis; the overview lists the groups, and the matrix can show the cases of a group.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote, urlencode

from msgspec import Struct

from conformance.base.verdicts import Verdict
from conformance.run.results.failure_groups import (
    explained_sentence,
    failure_kind,
    group_failures,
    unexplained_sentence,
)
from conformance.run.results.known_faults import KnownFault, known_faults_in
from conformance.run.results.recorded_environment import rerun_command, rerun_options, script_options
from conformance.run.results.results_file import LazyRecords
from conformance.run.results.violations import strip_tensor_number

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from conformance.run.results.failure_groups import FailureKind
    from conformance.run.results.records import (
        CaseRecord,
        DiagnosisRecord,
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
        for output in result.outputs:
            error = output.error_over_bound
            if error is None and output.check == "bound" and output.wrong:
                error = math.inf
            if error is None:
                continue
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


Signature: TypeAlias = tuple[str, str | None, str, list[int]]
"""A kind of failures: verdict, phase, failure text and cases."""

Margin: TypeAlias = tuple[int, int, str, float, float | None]
"""An accepted output: case, data set, output, error as a fraction of the bound, and error in ULP."""


class SubjectStatistics(Struct, frozen=True):
    """The statistics on the page of one subject; cases are numbers in the index of cases.

    Attributes:
        facts: names and values of properties of the subject and its run.
        signatures: the kinds of results that are neither a pass nor unexpected, and so have no cause; defects first.
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
        self._kinds: dict[FailureKind, list[int]] = {}
        self._expectations: dict[tuple[str, str, str | None, str | None], tuple[list[int], list[int]]] = {}
        self._margins: list[Margin] = []
        self._seconds: list[tuple[float, int]] = []
        self._errors = ErrorDistributions()

    def add(self, at: int, case: CaseRecord, result: Result) -> None:
        """Add a result; results must be added in the order of the cases."""
        kind = failure_kind(case, result)
        if kind is not None and expectation_mark(result) is not Mark.UNEXPECTED:
            self._kinds.setdefault(kind, []).append(at)
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
        rows = [(key.verdict, key.phase, key.text, cases) for key, cases in self._kinds.items()]
        return sorted(rows, key=lambda row: (not Verdict(row[0]).is_defect, -len(row[3]), row[0], row[2]))

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


class GroupKind(StrEnum):
    """Common property of the cases of a group."""

    CAUSE = "cause"
    DIAGNOSIS = "diagnosis"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True)
class Group:
    """Failing cases of one subject with a common property.

    Attributes:
        number: the index among all groups of the report; links contain it.
        column: the index of the column of the subject.
        verdict: the verdict of all cases; None if verdicts may differ.
        text: the description of the group.
        cases: ids of the cases; for a cause, the smallest case first.
        is_minor: whether neither a mutant nor a common property of the cases is known, so that a cause says as much.
    """

    number: int
    kind: GroupKind
    column: int
    verdict: str | None
    text: str
    cases: tuple[str, ...]
    is_minor: bool = False

    @property
    def link(self) -> str:
        """The address (URL fragment) of the matrix with only these cases."""
        return "#" + urlencode({"view": "matrix", "group": self.number})


@dataclass(frozen=True)
class LinkedText:
    """A part of a sentence, with the address that it links to, if any."""

    text: str
    link: str | None = None


def groups(runs: Sequence[Results], shown: Sequence[Column]) -> list[Group]:
    """Return all groups in the order of the columns; causes come first for each subject."""
    found = [row for number, run in enumerate(runs) for row in _run_groups(run, number, shown)]
    found.sort(key=lambda row: (row[1], list(GroupKind).index(row[0])))
    return [Group(number, *row) for number, row in enumerate(found)]


GroupRow: TypeAlias = tuple[GroupKind, int, str | None, str, list[int]]
"""A group in the index of cases: kind, subject, verdict, text and cases; subject and cases are numbers."""


def pack_groups(found: Sequence[Group], numbers: dict[str, int]) -> list[GroupRow]:
    """Return the groups as rows for the index of cases."""
    return [
        (
            group.kind,
            group.column,
            group.verdict,
            group.text,
            [numbers[case] for case in group.cases if case in numbers],
        )
        for group in found
    ]


def case_link(case: str, subject: str | None = None) -> str:
    """Return the address of the page of a case, with the evidence of `subject` open."""
    return "#" + urlencode({"case": case} | ({"subject": subject} if subject else {}), quote_via=quote)


def link_cases(sentence: str, cases: Collection[str]) -> list[LinkedText]:
    """Split a sentence into parts, in which every case id links to its case."""
    pieces = re.split(r"([\w.-]+)", sentence)
    return [LinkedText(piece, case_link(piece) if piece in cases else None) for piece in pieces]


def _run_groups(
    run: Results, number: int, shown: Sequence[Column]
) -> Iterator[tuple[GroupKind, int, str | None, str, tuple[str, ...], bool]]:
    places = {column.subject.id: place for place, column in enumerate(shown) if column.run == number}
    named: list[DiagnosisRecord] = []
    for cause in group_failures(run):
        yield (
            GroupKind.CAUSE,
            places[cause.subject],
            cause.verdict,
            cause.sentence.removeprefix(f"{cause.verdict}: "),
            cause.cases,
            False,
        )
        if cause.diagnosis is not None:
            named.append(cause.diagnosis)
    for record in run.footer.diagnoses:
        if record.subject in places and record not in named:
            cases = tuple(record.cases)
            yield GroupKind.DIAGNOSIS, places[record.subject], None, explained_sentence(record), cases, False
    for left in run.footer.unexplained:
        if left.subject in places:
            text = unexplained_sentence(left)
            cases = tuple(left.cases)
            yield GroupKind.UNEXPLAINED, places[left.subject], None, text, cases, not left.shared


@dataclass(frozen=True)
class KnownFaultCases:
    """A known fault of a subject, with the failing cases that show it.

    Attributes:
        fault: the known fault, from the published findings.
        column: the index of the subject among the columns.
        label: the label of the column.
        cases: failing cases in which the fault is known; the example case of the fault comes first.
    """

    fault: KnownFault
    column: int
    label: str
    cases: tuple[str, ...]

    @property
    def link(self) -> str:
        """The address of the page of the first case, with the evidence of the subject open."""
        return case_link(self.cases[0], self.label)


def known_fault_cases(shown: Sequence[Column]) -> list[KnownFaultCases]:
    """Return the known faults that failing cases of a subject show, for all subjects in the order of the columns."""
    return [one for number, column in enumerate(shown) for one in _column_faults(number, column)]


KnownFaultRow: TypeAlias = tuple[int, str, str, list[str], str, str, list[int]]
"""A known fault in the index of cases: subject, runtime, title, points, upstream, place and cases; see `GroupRow`."""


def pack_known_faults(found: Sequence[KnownFaultCases], numbers: dict[str, int]) -> list[KnownFaultRow]:
    """Return known faults as rows for the index of cases."""
    return [
        (
            one.column,
            one.fault.runtime,
            one.fault.title,
            [_without_links(point) for point in one.fault.points],
            _without_links(one.fault.upstream),
            one.fault.location,
            [numbers[case] for case in one.cases],
        )
        for one in found
    ]


def _column_faults(number: int, column: Column) -> list[KnownFaultCases]:
    wrong = sorted(case for case, row in column.rows.items() if row.verdict.is_defect)
    cases: dict[KnownFault, list[str]] = {}
    for case in wrong:
        for fault in known_faults_in(column.subject.id, column.subject.kind, case):
            if fault.fits(column.subject.version, column.rows[case]):
                cases.setdefault(fault, []).append(case)
    return [
        KnownFaultCases(fault, number, column.label, tuple(sorted(own, key=lambda case: case != fault.case)))
        for fault, own in cases.items()
    ]


def _without_links(text: str) -> str:
    """Return a Markdown text with each link replaced by its text; the link targets are not part of the report."""
    return re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text)


HazardRow: TypeAlias = tuple[str, int, int, int, str, list[str], list[str]]
"""A changed output: hazard class, subject, case, data set, run, output before and output after."""


@dataclass(frozen=True)
class ResultSurvey:
    """Statistics of all results.

    Attributes:
        errors: the largest error of each result as a fraction of the bound, by case and subject.
        hazards: outputs that a correct application of the pass changes. Subject and case are numbers in the index.
        pages: the statistics on the page of each subject, in the order of the columns.
    """

    errors: list[list[float | None]]
    hazards: list[HazardRow]
    pages: list[SubjectStatistics]
