"""Timelines: the verdicts of the releases of one subject, grouped into rows of cases with the same verdicts and cause.

A row is a *regression* if a release that passes is followed by a release that fails. `timelines` returns one `Timeline`
per subject; `document` converts timelines to JSON, `text_table` to text.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Literal

from msgspec import UNSET, UnsetType

from conformance.base.errors import HistoryError, UnknownName
from conformance.base.serialization.decoding import StoredRecord
from conformance.base.serialization.printable_text import shorten_middle
from conformance.base.verdicts import Level, Verdict
from conformance.run.results.known_faults import known_faults, known_faults_in
from conformance.studies.history.index import open_index
from conformance.studies.history.store import HistoryStore, UnavailableDocument, history_cases
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from conformance.run.results.known_faults import KnownFault
    from conformance.studies.history.store import StoredRelease

SYMBOLS: Mapping[str, str] = {
    Verdict.PASS: ".",
    Verdict.FAIL: "F",
    Verdict.ERROR: "E",
    Verdict.CRASH: "C",
    Verdict.TIMEOUT: "T",
    Verdict.UNSUPPORTED: "u",
    Verdict.SKIPPED: "s",
    "": " ",
}
"""One character per verdict in a text table; a space stands for a release without a result."""


class Course(StrEnum):
    """The development of the verdicts of a row; reports show the rows in this order."""

    REGRESSION = "regression"
    FIXED_REGRESSION = "fixed regression"
    PERSISTENT = "persistent"
    FIXED = "fixed"
    UNSUPPORTED_SINCE = "unsupported since"
    NO_FAILURE = "no failure"

    @property
    def meaning(self) -> str:
        """The meaning in one sentence."""
        return _MEANINGS[self]


_MEANINGS = {
    Course.REGRESSION: "An older release passes, and the newest release fails.",
    Course.FIXED_REGRESSION: "An older release passes, later releases fail, and then a release passes.",
    Course.PERSISTENT: "The newest release fails, and no older release passes.",
    Course.FIXED: "Releases fail before the first release that passes.",
    Course.UNSUPPORTED_SINCE: "An older release runs the case, and the newest release does not support it.",
    Course.NO_FAILURE: "No release fails.",
}


@dataclass(frozen=True)
class Row:
    """Cases of one subject with the same verdicts in all releases, and the same cause in the last failing release.

    Attributes:
        verdicts: verdict of each release; empty for a release without a result.
        cause: cause of the last failure, or of the last `unsupported`; empty if every release passes.
        cases: ids of the cases.
        level: strongest level of the cases.
        fault: the known fault of the cases, or None.
        varies: number of releases whose verdict varied when the case was repeated.
    """

    verdicts: tuple[str, ...]
    cause: str
    cases: tuple[str, ...]
    level: Level
    fault: KnownFault | None
    varies: int

    @property
    def course(self) -> Course:
        """The development of the verdicts."""
        known = [verdict for verdict in self.verdicts if verdict]
        failures = [number for number, verdict in enumerate(known) if is_defect(verdict)]
        passes = [number for number, verdict in enumerate(known) if verdict == Verdict.PASS]
        last_failure = failures[-1] if failures else -1
        is_mended = bool(failures and passes) and passes[-1] > last_failure
        if (failures or passes) and known[-1] == Verdict.UNSUPPORTED and not is_mended:
            return Course.UNSUPPORTED_SINCE
        if not failures:
            return Course.NO_FAILURE
        is_failing = failures[-1] == len(known) - 1
        if passes and passes[0] < failures[-1]:
            return Course.REGRESSION if is_failing else Course.FIXED_REGRESSION
        return Course.PERSISTENT if is_failing else Course.FIXED

    @property
    def name(self) -> str:
        """The title of the known fault, or the cause."""
        return self.fault.title if self.fault else self.cause


_DEFECTS = frozenset(str(verdict) for verdict in Verdict if verdict.is_defect)


def is_defect(verdict: str) -> bool:
    """Return whether a verdict is a failure of the subject; a missing verdict is none."""
    return verdict in _DEFECTS


@dataclass(frozen=True)
class Span:
    """The last series of releases that fail.

    Attributes:
        since: the first release of the series.
        is_oldest: whether it is the oldest release with a result, so that the fault may be older.
        is_again: whether a release before the series fails, too.
        last_good: the release with a result before it, or None.
        end: the first release after the series with a result, or None.
        end_verdict: verdict of that release; empty without it.
    """

    since: str
    is_oldest: bool
    is_again: bool
    last_good: str | None
    end: str | None
    end_verdict: str

    @property
    def fixed_in(self) -> str | None:
        """The first release after the series, if it passes; a release that does not support the case mends nothing."""
        return self.end if self.end_verdict == Verdict.PASS else None

    @property
    def texts(self) -> list[str]:
        """The series in words: `since 1.20.0`, `fixed in 1.21.0`."""
        end = f"fixed in {self.end}" if self.fixed_in else f"{self.end_verdict} since {self.end}"
        since = f"{'again ' * self.is_again}since {self.since}{' or earlier' * self.is_oldest}"
        return [since, *([end] if self.end else [])]


def failing_span(releases: Sequence[str], verdicts: Sequence[str]) -> Span | None:
    """Return the last series of failing releases; None if no release fails. Releases without results are ignored."""
    known = [(release, verdict) for release, verdict in zip(releases, verdicts, strict=True) if verdict]
    failing = [number for number, (_, verdict) in enumerate(known) if is_defect(verdict)]
    if not failing:
        return None
    last = first = failing[-1]
    while first and is_defect(known[first - 1][1]):
        first -= 1
    before = known[first - 1][0] if first else None
    after, verdict = known[last + 1] if last + 1 < len(known) else (None, "")
    return Span(known[first][0], first == 0, first > failing[0], before, after, verdict)


@dataclass(frozen=True)
class Timeline:
    """The releases of one subject and the rows of its cases.

    Attributes:
        releases: releases with results, the oldest first.
        packages: for each release, the packages of its environment.
        unavailable: releases without results, with the reasons.
        rows: the rows, regressions first.
        faults: for each release, the number of different causes of failures.
        failing: for each release, the number of failing cases.
    """

    target: SubjectName
    releases: tuple[str, ...]
    packages: tuple[tuple[str, ...], ...]
    unavailable: tuple[UnavailableDocument, ...]
    rows: tuple[Row, ...]
    faults: tuple[int, ...]
    failing: tuple[int, ...]


def timelines(
    store: HistoryStore,
    index: sqlite3.Connection,
    has_target: Callable[[SubjectName], bool] = lambda _: True,
    has_case: Callable[[str], bool] = lambda _: True,
) -> list[Timeline]:
    """Return the timelines of the subjects in a store.

    Args:
        index: the index of the store.
        has_target: whether a subject is included.
        has_case: whether a case is included.
    """
    by_target: dict[SubjectName, list[StoredRelease]] = defaultdict(list)
    files = {path: id for id, path in index.execute("SELECT id, path FROM files")}
    for stored in store.releases():
        # An update may have added a release since the index was opened.
        if str(stored.path.relative_to(store.folder)) in files:
            by_target[stored.target].append(stored)
    found = []
    for target, releases in by_target.items():
        if has_target(target):
            newest = _newest_results(releases)
            ids = [files[str(each.path.relative_to(store.folder))] for each in newest]
            found.append(_timeline(store, index, target, newest, ids, has_case))
    return found


def _newest_results(releases: Sequence[StoredRelease]) -> list[StoredRelease]:
    """Return one results file per release: of the corpus of the newest results, and there the newest one."""
    digest = max(releases, key=lambda each: each.header.started).digest
    found: dict[str, StoredRelease] = {}
    for each in releases:
        other = found.get(each.release)
        if each.digest == digest and (other is None or other.header.started < each.header.started):
            found[each.release] = each
    return sorted(found.values(), key=lambda each: each.version)


def _timeline(
    store: HistoryStore,
    index: sqlite3.Connection,
    target: SubjectName,
    releases: Sequence[StoredRelease],
    files: Sequence[int],
    has_case: Callable[[str], bool],
) -> Timeline:
    cases: dict[str, _CaseCells] = defaultdict(lambda: _CaseCells([("", "")] * len(files)))
    causes: list[set[str]] = [set() for _ in files]
    failing = [0] * len(files)
    texts = dict(index.execute("SELECT id, text FROM causes"))
    query = "SELECT case_id, level, verdict, cause, varies FROM results WHERE file = ?"
    for number, file in enumerate(files):
        for case, level, verdict, cause, varies in index.execute(query, (file,)):
            if has_case(case):
                found = cases[case]
                text = texts.get(cause, "")
                found.cells[number] = verdict, text
                found.levels.add(level)
                if varies:
                    found.varying.add(number)
                if verdict in _DEFECTS:
                    causes[number].add(text)
                    failing[number] += 1
    return Timeline(
        target,
        tuple(each.release for each in releases),
        tuple(tuple(each.history.packages) for each in releases),
        tuple(store.unavailable(target).values()),
        tuple(_rows(target, cases)),
        tuple(map(len, causes)),
        tuple(failing),
    )


@dataclass
class _CaseCells:
    """The results of one case.

    Attributes:
        cells: verdict and cause for each release.
        levels: the levels of the case in the results.
        varying: the numbers of the releases whose verdict varied when the case was repeated.
    """

    cells: list[tuple[str, str]]
    levels: set[str] = field(default_factory=set)
    varying: set[int] = field(default_factory=set)


def _rows(target: SubjectName, found: Mapping[str, _CaseCells]) -> list[Row]:
    """Return the rows of a subject, regressions first, then those with the most cases."""
    groups: dict[tuple[tuple[str, ...], str, KnownFault | None], list[str]] = defaultdict(list)
    for case, results in found.items():
        row = results.cells
        verdicts = tuple(verdict for verdict, _ in row)
        last = next((cell for cell in reversed(row) if cell[0] in _DEFECTS), None)
        last = last or next((cell for cell in reversed(row) if cell[0] == Verdict.UNSUPPORTED), ("", ""))
        fault = _fault_of(target, case, last[0]) if is_defect(last[0]) else None
        groups[verdicts, "" if fault else last[1], fault].append(case)
    rows = [
        Row(
            verdicts,
            cause,
            tuple(sorted(cases)),
            Level.strongest(map(Level, set().union(*(found[case].levels for case in cases)))),
            fault,
            len(set().union(*(found[case].varying for case in cases))),
        )
        for (verdicts, cause, fault), cases in groups.items()
    ]
    order = list(Course)
    return sorted(rows, key=lambda row: (order.index(row.course), _first_failure(row), -len(row.cases), row.name))


def _first_failure(row: Row) -> int:
    """Return the negative number of the first release of the last series of failures: recent regressions come first."""
    span = failing_span([str(number) for number in range(len(row.verdicts))], row.verdicts)
    return -int(span.since) if span else 0


def _fault_of(target: SubjectName, case: str, verdict: str) -> KnownFault | None:
    faults = known_faults_in(target.name, str(target.kind), case)
    return next((fault for fault in faults if fault.verdict == verdict), None)


class RowRecord(StoredRecord):
    """A row in the document of timelines.

    Attributes:
        verdicts: verdict of each release; empty for a release without a result.
        fault: the location of the known fault.
        since: the first release of the last series of releases that fail; for the other attributes see `Span`.
        ends_in: the first release after the series with a result.
        ends_as: verdict of that release.
        varies: number of releases whose verdict varied when the case was repeated.
    """

    course: Course
    level: Level
    verdicts: dict[str, str]
    cause: str
    cases: tuple[str, ...]
    fault: str = ""
    since: str = ""
    since_is_oldest: bool | UnsetType = UNSET
    since_is_again: bool | UnsetType = UNSET
    fixed_in: str | UnsetType | None = UNSET
    ends_in: str = ""
    ends_as: str = ""
    varies: int = 0


class SubjectTimeline(StoredRecord):
    """The timeline of one subject in the document; for the attributes see `Timeline`."""

    subject: str
    kind: SubjectKind
    releases: tuple[str, ...]
    unavailable: tuple[UnavailableDocument, ...]
    faults: tuple[int, ...]
    failing: tuple[int, ...]
    rows: list[RowRecord]


class TimelinesDocument(StoredRecord):
    """The file of `--json`, for programs; a list of regressions can be compared with it."""

    format: Literal[1]
    subjects: list[SubjectTimeline]


def document(found: Sequence[Timeline]) -> TimelinesDocument:
    """Return the document of some timelines."""
    return TimelinesDocument(1, [_subject_timeline(timeline) for timeline in found])


def _subject_timeline(timeline: Timeline) -> SubjectTimeline:
    return SubjectTimeline(
        timeline.target.text,
        timeline.target.kind,
        timeline.releases,
        timeline.unavailable,
        timeline.faults,
        timeline.failing,
        [_row_record(timeline, row) for row in timeline.rows],
    )


def _row_record(timeline: Timeline, row: Row) -> RowRecord:
    verdicts = dict(zip(timeline.releases, row.verdicts, strict=True))
    record = RowRecord(row.course, row.level, verdicts, row.cause, row.cases, varies=row.varies)
    record.fault = row.fault.location if row.fault else ""
    if span := failing_span(timeline.releases, row.verdicts):
        record.since = span.since
        record.since_is_oldest = span.is_oldest
        record.since_is_again = span.is_again
        record.fixed_in = span.fixed_in
        record.ends_in = span.end or ""
        record.ends_as = span.end_verdict
    return record


MAX_NAME_LENGTH = 100
"""Characters of the name of a row in a text table."""


def text_table(timeline: Timeline, *, with_cases: bool = False) -> Iterator[str]:
    """Yield the lines of a table: one column of one character per release, one line per row.

    Args:
        with_cases: also print the rows without failures, and the cases of each row.
    """
    count = len(timeline.releases)
    span = f"{timeline.releases[0]} to {timeline.releases[-1]}"
    yield f"{timeline.target.text}: {count} release{'s' * (count != 1)}, {span}"
    height = max(map(len, timeline.releases))
    for line in range(height):
        yield "  " + "".join(release.rjust(height)[line] for release in timeline.releases)
    course = None
    for row in timeline.rows:
        if row.course is Course.NO_FAILURE and not with_cases:
            continue
        if row.course is not course:
            course = row.course
            yield f"{course}: {course.meaning}"
        yield "  " + "".join(SYMBOLS[verdict] for verdict in row.verdicts) + "  " + _row_text(timeline, row)
        if with_cases:
            yield from (f"      {case}" for case in row.cases)
    for each in timeline.unavailable:
        yield f"without results: {each.release}: {each.reason}"


def _row_text(timeline: Timeline, row: Row) -> str:
    count = len(row.cases)
    parts = [f"{count} case{'s' * (count != 1)}", row.level]
    if span := failing_span(timeline.releases, row.verdicts):
        parts += span.texts
    parts += ["varies"] if row.varies else []
    return f"{', '.join(parts)}: {shorten_middle(row.name, MAX_NAME_LENGTH)}"


LEGEND = "; ".join(f"{symbol} {verdict}" for verdict, symbol in SYMBOLS.items() if verdict) + "; blank: no result"
"""Explanation of the characters in a text table."""


def selected_timelines(folder: Path, thing: str) -> list[Timeline]:
    """Return the timelines of a history, or those of one subject, known fault or case.

    Args:
        folder: the folder of the history.
        thing: a name of a subject, a fault or a case; empty for all.

    Raises:
        HistoryError: the history is empty, or has no result of the thing.
        UnknownName: there is no such thing.
    """
    store = HistoryStore(folder)
    if not store.releases():
        variant = "results" if folder.is_dir() else "folder"
        raise HistoryError(f"empty.{variant}", store=folder)
    has_target, has_case = _selection(store, thing)
    with open_index(store) as index:
        found = [timeline for timeline in timelines(store, index, has_target, has_case) if timeline.rows]
    if not found:
        raise HistoryError("no-result.thing", thing=thing)
    return found


def is_subject_name(thing: str, found: Iterable[Timeline]) -> bool:
    """Return whether a name is that of a subject with a timeline."""
    return thing in {name for each in found for name in (each.target.text, each.target.name)}


def _is_subject_of(fault: KnownFault, target: SubjectName) -> bool:
    """Return whether a known fault is a fault of a subject; its release and its options are ignored."""
    return target.kind == fault.kind and target.name == SubjectName.parse(fault.subject, target.kind).name


def _selection(store: HistoryStore, thing: str) -> tuple[Callable[[SubjectName], bool], Callable[[str], bool]]:
    """Return functions that select subjects and cases.

    Raises:
        UnknownName: the history has no such case, fault or subject.
    """
    if not thing:
        return (lambda _: True), (lambda _: True)
    stored = store.releases()
    subjects = {name for each in stored for name in (each.target.text, each.target.name)}
    if thing in subjects:
        return (lambda target: thing in {target.text, target.name}), (lambda _: True)
    for fault in known_faults():
        if thing in {fault.title, fault.anchor, fault.location, fault.location.rpartition("/")[2]}:
            return partial(_is_subject_of, fault), fault.cases.__contains__
    cases = {record.case for record in history_cases(stored[0].path, stored[0].digest)}
    if thing in cases:
        return (lambda _: True), (lambda case: case == thing)
    raise UnknownName("no-such-history", thing=thing, known={*subjects, *cases}, subjects=sorted(subjects))
