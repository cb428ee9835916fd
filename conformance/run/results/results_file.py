"""Results files: one JSON record per line, read once in bounded memory and again record by record on demand.

A file has a header, records of cases, results and archives, and a footer. `read_results` checks the whole file and
keeps one small row per result; `LazyRecords` reads the full records from the file again.

`unexpected_kind` returns how a result is unexpected, as far as its own row shows it. The pass criterion of a run adds
what only the whole run shows, such as the supports of a subject.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import weakref
import zlib
from array import array
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from enum import IntEnum, auto
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Generic, Literal, TypeAlias, TypeVar

import msgspec

from conformance.base.errors import ResultsError
from conformance.base.files.atomic_write import GZIP_SUFFIX, STANDARD_INPUT, open_input, real_path, unpack_gzip
from conformance.base.serialization.decoding import JsonReader, MalformedError, encode_json
from conformance.base.verdicts import Level, Verdict
from conformance.run.results.records import (
    ArchiveRecord,
    CaseRecord,
    CaseRow,
    Expected,
    Footer,
    Header,
    Result,
    ResultRow,
    ResultsRecord,
    effective_level,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from conformance.corpus.cases.corpus import Corpus


MAX_FILE_BYTES = 2**30
"""Largest size of a results file, unpacked."""

MAX_LINE_BYTES = 2**24
"""Largest size of a record."""


FORMAT: Literal[2] = 2
"""The format of the file."""


class _AnyHeader(msgspec.Struct, tag_field="record", tag="header"):
    """The part of a header that every format has."""

    format: int


_decode_any_header = JsonReader(_AnyHeader)


def _other_format(line: bytes) -> int:
    """Return the format in a header of another format; 0 if the line is none."""
    with suppress(MalformedError):
        given = _decode_any_header(line).format
        return given if given != FORMAT else 0
    return 0


class IndexedLines:
    """The lines of a results file, which are iterated once, and can then be read again by their numbers.

    Standard input, and files packed by gzip, are copied to an unnamed temporary file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._starts = array("Q", [0])
        self._descriptor = -1

    def __len__(self) -> int:
        """Return the number of lines that have been iterated."""
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> bytes:
        """Return the line with this number, counted from 0; the line must have been iterated before."""
        start = self._starts[number]
        return os.pread(self._descriptor, self._starts[number + 1] - start, start)

    def __iter__(self) -> Iterator[bytes]:
        """Yield all lines in order. The lines can be iterated only once.

        Raises:
            ResultsError: the file cannot be read or unpacked, or the file or a line is too large.
        """
        with self._open() as stream, ExitStack() as stack:
            packed = self.path.suffix == GZIP_SUFFIX
            source = unpack_gzip(stream) if packed else stream
            is_copied = packed or self.path == STANDARD_INPUT
            kept = stack.enter_context(tempfile.TemporaryFile()) if is_copied else stream
            self._keep_open(kept)
            while line := self._read_line(source):
                if is_copied:
                    kept.write(line)
                self._starts.append(self._starts[-1] + len(line))
                yield line

    def records(self) -> Iterator[tuple[int, Any]]:
        """Yield the number and the record of each line; the lines can be iterated only once."""
        for number, line in enumerate(self):
            yield number, self.decode(number, line)

    def record(self, number: int) -> Any:
        """Return the record on the line with this number, which must have been iterated before."""
        return self.decode(number, self[number])

    def decode(self, number: int, line: bytes) -> Any:
        """Return the record on a line.

        Raises:
            ResultsError: the line is not a record, or the header of another format.
        """
        try:
            return decode_record(line)
        except MalformedError as error:
            if number == 0 and (given := _other_format(line)):
                raise ResultsError("other-format", path=self.path, given=given, known=FORMAT) from None
            what = f"line {number + 1}: {error}"
            if line.endswith(b"\n"):
                raise malformed_results_error(self.path, what) from None
            raise ResultsError("truncated", path=self.path, what=what) from None

    def _open(self) -> BinaryIO:
        try:
            return open_input(self.path)
        except OSError as error:
            raise ResultsError("unreadable.results", path=self.path, reason=error.strerror) from None

    def _keep_open(self, stream: IO[bytes]) -> None:
        """Duplicate the descriptor of the file, and close the duplicate when this object is deleted."""
        self._descriptor = os.dup(stream.fileno())
        weakref.finalize(self, os.close, self._descriptor)

    def _read_line(self, source: IO[bytes]) -> bytes:
        try:
            line = source.readline(MAX_LINE_BYTES + 1)
        except (EOFError, zlib.error) as error:
            raise malformed_results_error(self.path, f"it cannot be unpacked ({error})") from None
        except OSError as error:
            raise ResultsError("unreadable.results", path=self.path, reason=error.strerror) from None
        if len(line) > MAX_LINE_BYTES:
            raise ResultsError("too-large", what=f"Line {len(self) + 1} of {self.path}", limit=MAX_LINE_BYTES)
        if self._starts[-1] + len(line) > MAX_FILE_BYTES:
            raise ResultsError("too-large", what=self.path, limit=MAX_FILE_BYTES)
        return line


K = TypeVar("K")
P = TypeVar("P")
V = TypeVar("V")


class LazyRecords(Mapping[K, V], Generic[K, P, V]):
    """Read-only mapping whose values are read from a file at each access.

    Args:
        read: function that returns the value at a position.
        positions: position of each value, by key.
    """

    def __init__(self, read: Callable[[P], V], positions: Mapping[K, P]) -> None:
        self._read = read
        self._positions = positions

    def __contains__(self, key: object) -> bool:
        return key in self._positions

    def __getitem__(self, key: K) -> V:
        return self._read(self._positions[key])

    def __iter__(self) -> Iterator[K]:
        return iter(self._positions)

    def __len__(self) -> int:
        return len(self._positions)


Key: TypeAlias = tuple[str, str]
"""Id of a subject, id of a case."""

decode_record: JsonReader[ResultsRecord] = JsonReader(ResultsRecord, is_record=True)
_CASE_ROW_FIELDS = CaseRow.__struct_fields__
_RESULT_ROW_FIELDS = tuple(name for name in ResultRow.__struct_fields__ if name != "checks")


@dataclass(frozen=True)
class Results:
    """A results file that is complete and consistent.

    Attributes:
        rows: the part of each result that is kept in memory, in the order of the file.
        results: the full result records, read from the file at each access.
        case_rows: the part of each case that is kept in memory, by the id of the case.
        cases: the full cases by id, read from the file at each access.
        archives: for the id of a case, base64 of a zip with the case's files, read from the file at each access.
    """

    path: str
    header: Header
    rows: Mapping[Key, ResultRow]
    results: Mapping[Key, Result]
    case_rows: Mapping[str, CaseRow]
    cases: Mapping[str, CaseRecord]
    footer: Footer
    archives: Mapping[str, str] = field(default_factory=dict)


def encode_record(record: msgspec.Struct) -> bytes:
    """Return a record as a line; halves of surrogate pairs, which UTF-8 cannot encode, become question marks."""
    try:
        return msgspec.json.encode(record) + b"\n"
    except UnicodeEncodeError:
        return encode_json(record) + b"\n"


def record_kind(record: msgspec.Struct) -> str:
    """Return the value of the key `record`."""
    return str(record.__struct_config__.tag)


STORE_DOCUMENT = "store.json"
"""File of a history, in its folder."""


def history_cases_path(path: Path, digest: str) -> Path:
    """Return the file with the case records of a corpus, in the history that has the results file at `path`.

    Raises:
        ResultsError: the file is not in a history.
    """
    folder = path.absolute().parent.parent.parent  # of `folder/results/subject/file`
    found = folder / "cases" / f"{digest[:16]}.jsonl.gz"
    if not (folder / STORE_DOCUMENT).is_file() or found.is_symlink():
        raise malformed_results_error(path, "its header is that of a file in a history, and it is in none")
    return found


def read_results(path: Path) -> Results:
    """Read a results file and check that it is complete and consistent.

    The case records of a results file in a history are read from the history.

    Raises:
        ResultsError: the file is missing, too large, truncated, of another format, or contradicts itself.
    """
    lines = cases = IndexedLines(path)
    header: Header | None = None
    footer: Footer | None = None
    rows: dict[Key, ResultRow] = {}
    case_rows: dict[str, CaseRow] = {}
    places: dict[str, dict[Any, int]] = {"result": {}, "case": {}, "archive": {}}
    for number, record in lines.records():
        kind = record_kind(record)
        if (kind == "header") != (header is None) or footer is not None:
            what = "it does not begin with a header" if header is None else f"a {kind} stands where none may"
            raise malformed_results_error(path, what)
        match record:
            case Header():
                header = record
            case Footer():
                footer = record
            case Result():
                row = result_row(record)
                key = row.subject, row.case
                if key in rows:
                    raise malformed_results_error(path, f"case {row.case} has two results on subject {row.subject}")
                rows[key] = row
                places[kind][key] = number
            case CaseRecord() | ArchiveRecord() if record.case in places[kind]:
                raise malformed_results_error(path, f"case {record.case} has two records `{kind}`")
            case CaseRecord():
                case_rows[record.case] = _case_row(record)
                places[kind][record.case] = number
            case _:
                places[kind][record.case] = number
    if header is not None and header.history is not None:
        if re.fullmatch("[0-9a-f]{16,64}", header.corpus.digest) is None:
            raise malformed_results_error(path, "the digest of its corpus is not hexadecimal")
        needed = {case for _, case in rows}
        cases = IndexedLines(history_cases_path(path, header.corpus.digest))
        for number, record in cases.records():
            if isinstance(record, CaseRecord) and record.case in needed:
                case_rows[record.case] = _case_row(record)
                places["case"][record.case] = number
    if header is None or footer is None:
        raise ResultsError("truncated", path=path, what="it has no footer")
    _check_consistency(path, header, case_rows, rows, footer)
    return Results(
        str(path),
        header,
        rows,
        LazyRecords(lines.record, places["result"]),
        case_rows,
        LazyRecords(cases.record, places["case"]),
        footer,
        LazyRecords(lambda number: lines.record(number).zip, places["archive"]),
    )


def _case_row(record: CaseRecord) -> CaseRow:
    row = {name: getattr(record, name) for name in _CASE_ROW_FIELDS}
    texts = {name: sys.intern(row[name]) for name in ("case", "kind", "title")}
    return CaseRow(**row | texts)


def result_row(record: Result) -> ResultRow:
    """Return the part of a result that is kept in memory; of its checks, only those that are not satisfied."""
    values = {name: getattr(record, name) for name in _RESULT_ROW_FIELDS}
    texts = {name: sys.intern(values[name]) for name in ("subject", "case", "message")}
    return ResultRow(**values | texts, checks=[check for check in record.checks if not check.is_satisfied])


def _check_consistency(
    path: Path, header: Header, cases: Mapping[str, CaseRow], rows: Mapping[Key, ResultRow], footer: Footer
) -> None:
    if footer.results != len(rows):
        raise malformed_results_error(path, f"its footer counts {footer.results} results where it has {len(rows)}")
    subjects = {subject.id for subject in header.subjects}
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for (subject, case), row in rows.items():
        if subject not in subjects:
            raise malformed_results_error(path, f"its header does not name subject {subject}, which has a result")
        if case not in cases:
            raise malformed_results_error(path, f"it does not describe case {case}, which has a result")
        counts[subject][row.level][row.verdict] += 1
    if counts != {subject: levels for subject, levels in footer.verdicts.items() if levels}:
        raise malformed_results_error(path, "its footer's counts are not those of its results")
    if header.history is None:  # the results of a history have no pass criterion
        _check_marks(path, header, cases, rows)
    is_failed = len(rows) < header.criterion.expected_results or any(row.unexpected for row in rows.values())
    if is_failed and footer.outcome == "pass":
        raise malformed_results_error(path, "its footer's outcome is pass, and its results fail the run")
    if (footer.outcome == "pass") == bool(footer.reasons):
        raise malformed_results_error(path, "its footer's outcome and reasons contradict each other")


def _check_marks(path: Path, header: Header, cases: Mapping[str, CaseRow], rows: Mapping[Key, ResultRow]) -> None:
    """Check that level, expectation and mark of each result follow from its verdict and from the criterion.

    Raises:
        ResultsError: a result contradicts the criterion in the header.
    """
    criterion = header.criterion
    rules = {rule.id: rule.level for rule in criterion.profile.rules} if criterion.profile else {}
    entries = {
        (entry.subject, entry.verdict, place)
        for entry in criterion.expectations
        for place in (entry.location, *entry.lines)
    }
    for row in rows.values():
        own = Level.strongest([cases[row.case].level, *(rules[rule] for rule in row.rules if rule in rules)])
        expected = row.expected
        if row.level is not effective_level(row, own):
            what = f"its level of {row.case} on {row.subject} is not that of the case"
        elif expected and (row.subject, expected.verdict, expected.location) not in entries:
            what = f"its header has no entry that expects {row.case} on {row.subject} to {expected.verdict.verb(2)}"
        elif contradicts_mark(row, fail_level(header)):
            what = f"the verdict of {row.case} on {row.subject} contradicts its mark `unexpected`"
        else:
            continue
        raise malformed_results_error(path, what)


def fail_level(header: Header) -> Level:
    """Return the weakest level whose failures fail the run."""
    return Level(header.criterion.level)


def is_partial(run: Results) -> bool:
    """Return whether results are missing: cases were not selected, or the run ended early.

    A graph optimizer has results for the cases of its pass only; that does not make a run partial.
    """
    corpus = run.header.corpus
    is_selected = bool(run.header.selections)
    is_short = run.footer.results < run.header.criterion.expected_results
    return is_short or (is_selected and corpus.selected < corpus.cases)


def require_distinct_files(paths: Sequence[Path]) -> None:
    """Check that no file is given twice.

    Raises:
        ResultsError: two paths lead to one file.
    """
    for number, path in enumerate(paths):
        if any(real_path(path) == real_path(other) for other in paths[:number]):
            raise ResultsError("given-twice", path=path)


def read_results_of_one_corpus(paths: Sequence[Path]) -> list[Results]:
    """Return the results files at these paths, read for one report.

    Raises:
        ResultsError: a file is malformed, the files are of several corpora, or two have results of one subject.
    """
    runs = [read_results(path) for path in paths]
    seen: dict[str, str] = {}
    for run in runs:
        if run.header.corpus.digest != runs[0].header.corpus.digest:
            raise ResultsError("different-corpus", path=run.path, first=runs[0].path)
        for subject in run.header.subjects:
            if subject.id in seen:
                raise ResultsError("duplicate-subject", path=run.path, other=seen[subject.id], subject=subject.id)
            seen[subject.id] = run.path
    return runs


def malformed_results_error(path: Path, what: str) -> ResultsError:
    """Return the error for a file that is not a results file, or that contradicts itself.

    Args:
        path: the file.
        what: what is wrong, as a clause.
    """
    return ResultsError("malformed.results", path=path, what=what)


class UnexpectedKind(IntEnum):
    """The way in which a result is unexpected; reasons for a failed run are printed in this order."""

    VARIES = auto()
    REQUIRED = auto()
    REGRESSED = auto()
    UNEXPECTED = auto()
    PASSES = auto()
    DIFFERS = auto()
    VIOLATES = auto()
    OTHER_CAUSE = auto()


def unexpected_kind(result: ResultRow, fail_level: Level) -> UnexpectedKind | None:
    """Return the way in which a result of `fail_level` or stronger is unexpected, or None if it is expected.

    Args:
        result: a result with its level, and with its expectation and its baseline verdict if they exist.
        fail_level: weakest level of results that can fail the run.
    """
    if result.varies:
        return UnexpectedKind.VARIES
    if result.expected is None and result.baseline is None:
        return UnexpectedKind.UNEXPECTED if result.verdict.is_defect else None
    kind: UnexpectedKind | None = UnexpectedKind.REGRESSED
    if result.expected is not None:
        kind = difference_from_entry(result, result.expected, fail_level)
    if kind is None or result.baseline is None:
        return kind
    return UnexpectedKind.REGRESSED if is_worse_than_baseline(result) else None


def difference_from_entry(result: ResultRow, entry: Expected, fail_level: Level) -> UnexpectedKind | None:
    """Return the way in which a result differs from an entry of an expectations file, or None if it does not."""
    verdict = result.verdict
    if verdict == entry.verdict:
        if entry.has_other_cause:
            return UnexpectedKind.OTHER_CAUSE
        return UnexpectedKind.VIOLATES if unnamed_checks(result, fail_level, entry.checks) else None
    if verdict is Verdict.PASS:
        return None if entry.intermittent else UnexpectedKind.PASSES
    return UnexpectedKind.DIFFERS


def unnamed_checks(result: ResultRow, fail_level: Level, named: Sequence[str]) -> list[str]:
    """Return the checks that a graph optimizer violates and that an entry does not list; an empty list allows all."""
    return [name for name in result.violated_checks(fail_level) if named and name not in named]


def is_worse_than_baseline(result: ResultRow) -> bool:
    """Return whether a result is a regression: a worse verdict, a stronger level or more that is wrong."""
    if result.baseline is None:
        return False
    weaker = result.baseline_level or Level.MUST
    is_stronger = result.verdict.is_defect and result.level.is_stronger_than(weaker)
    return is_stronger or bool(result.baseline_wrong) or result.verdict.is_worse_than(result.baseline)


def contradicts_mark(result: ResultRow, fail_level: Level) -> bool:
    """Return whether the mark `unexpected` of a result contradicts its verdict, its expectation and its baseline.

    An unsupported result is unexpected also if the run requires its operator, which its row does not show.
    """
    is_unexpected = result.level.is_within(fail_level) and unexpected_kind(result, fail_level) is not None
    may_be_required = result.verdict is Verdict.UNSUPPORTED and result.level.is_within(fail_level)
    return result.unexpected is not is_unexpected and not (result.unexpected and may_be_required)


def check_recorded_corpus(run: Results, corpus: Corpus) -> None:
    """Check that a results file has results of a corpus.

    Raises:
        ResultsError: the file belongs to another corpus.
    """
    of = run.header.corpus
    if of.digest != corpus.digest:
        raise ResultsError("other-corpus", path=run.path, of=of, corpus=corpus)
