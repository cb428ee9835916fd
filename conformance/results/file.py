"""A run's results file: one JSON object a line, the only truth from which every report is made.

The lines are, in this order: one `header`; `case` records, each before the first result that needs it, `result`
records, and `archive` records, each after its case; one `footer`. A file without its footer is truncated, and is
refused. `schemas/results.schema.json` is the format's definition, `records` has it as types. A file whose
name ends in `.gz` is read as one that gzip has packed.

A file is read once, of which rows are kept; what a row leaves out is read again where it is asked for.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from conformance.boundary.decoding import JsonDecoder, MalformedError
from conformance.errors import ResultsError
from conformance.results.lines import Lines
from conformance.results.records import ArchiveRecord, CaseRecord, CaseRow, Footer, Header, ResultRecord, ResultRow
from conformance.results.reread import Reread
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

FORMAT: Literal[2] = 2
"""What is written; format 1, whose checks have no levels, is read too."""

Key: TypeAlias = tuple[str, str]
"""A subject and a case."""

RECORD = JsonDecoder(
    {"header": Header, "case": CaseRecord, "result": ResultRecord, "archive": ArchiveRecord, "footer": Footer},
    key="record",
)
_OF_CASE, _OF_RESULT = (tuple(row.__annotations__) for row in (CaseRow, ResultRow))


@dataclass(frozen=True)
class Results:
    """One results file, read and found whole.

    Attributes:
        rows: what is kept of each result, by subject and case, in the file's order.
        results: the results themselves, each read again when it is asked for.
        described: what is kept of each case, by its id.
        cases: the cases themselves, likewise read again.
        archives: those of the cases that carry their files, likewise.
    """

    path: str
    header: Header
    rows: Mapping[Key, ResultRow]
    results: Mapping[Key, ResultRecord]
    described: Mapping[str, CaseRow]
    cases: Mapping[str, CaseRecord]
    footer: Footer
    archives: Mapping[str, str] = field(default_factory=dict)


def line_of(record: Mapping[str, Any]) -> bytes:
    """A record as a line; of what it was told, halves of surrogate pairs, which UTF-8 has not, are question marks."""
    text = json.dumps(record, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode(errors="replace") + b"\n"


def record_of(lines: Lines, number: int, line: bytes) -> Any:
    """The record on a line.

    Raises:
        ResultsError: it is none.
    """
    try:
        return RECORD(line)
    except MalformedError as error:
        what = f"line {number + 1}: {error}"
        raise foreign(lines.path, what) if line.endswith(b"\n") else _truncated(lines.path, what) from None


def read(path: Path) -> Results:
    """Read a results file whole.

    Raises:
        ResultsError: it is missing, too large, truncated, of another format, or contradicts itself.
    """
    lines = Lines(path)
    file = _File(path)
    for number, line in enumerate(lines):
        file.add(number, record_of(lines, number, line))
    return file.results(lambda number: record_of(lines, number, lines[number]))


class _File:
    """What a results file has said so far."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._header: Header | None = None
        self._footer: Footer | None = None
        self._rows: dict[Key, ResultRow] = {}
        self._described: dict[str, CaseRow] = {}
        self._lines: dict[str, dict[Any, int]] = {"result": {}, "case": {}, "archive": {}}

    def add(self, number: int, record: Any) -> None:
        """Take note of the record on a line."""
        kind = record["record"]
        if (kind == "header") != (self._header is None) or self._footer is not None:
            begins = self._header is None
            raise foreign(
                self._path, "it does not begin with a header" if begins else f"a {kind} stands where none may"
            )
        if kind == "header":
            self._header = record
        elif kind == "footer":
            self._footer = record
        elif kind == "result":
            self._add_result(number, record)
        else:
            self._lines[kind][record["case"]] = number
            if kind == "case":
                self._described[record["case"]] = _row(record, _OF_CASE)

    def _add_result(self, number: int, record: ResultRecord) -> None:
        row = result_row(record)
        key = row["subject"], row["case"]
        if key in self._rows:
            raise foreign(self._path, f"case {key[1]} has two results on subject {key[0]}")
        self._rows[key] = row
        self._lines["result"][key] = number

    def results(self, reread: Callable[[int], Any]) -> Results:
        """All of it, if it is whole."""
        if self._header is None or self._footer is None:
            raise _truncated(self._path, "it has no footer")
        _check_consistency(self._path, self._header, self._described, self._rows, self._footer)
        return Results(
            str(self._path),
            self._header,
            self._rows,
            Reread(reread, self._lines["result"]),
            self._described,
            Reread(reread, self._lines["case"]),
            self._footer,
            Reread(lambda number: reread(number)["zip"], self._lines["archive"]),
        )


def result_row(record: ResultRecord) -> ResultRow:
    """What is kept of a result."""
    row: ResultRow = _row(record, _OF_RESULT)
    if complaining := [check for check in row.pop("checks", ()) if "complaint" in check]:
        row["checks"] = complaining
    return row


def _row(record: Any, names: Sequence[str]) -> Any:
    """What is kept of a record; the texts that many have in common are kept once."""
    row = {name: record[name] for name in names if name in record}
    return {name: sys.intern(value) if type(value) is str else value for name, value in row.items()}


def _check_consistency(
    path: Path, header: Header, cases: Mapping[str, CaseRow], rows: Mapping[Key, ResultRow], footer: Footer
) -> None:
    if footer["results"] != len(rows):
        raise foreign(path, f"its footer counts {footer['results']} results where it has {len(rows)}")
    subjects = {subject["id"] for subject in header["subjects"]}
    counted: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for (subject, case), row in rows.items():
        if subject not in subjects:
            raise foreign(path, f"a result is of subject {subject}, which its header does not name")
        if case not in cases:
            raise foreign(path, f"a result is of case {case}, which it does not describe")
        counted[subject][row["level"]][row["verdict"]] += 1
    told = {subject: levels for subject, levels in footer["verdicts"].items() if levels}
    if counted != told:
        raise foreign(path, "its footer's counts are not those of its results")
    if (footer["gate"] == "pass") == bool(footer["reasons"]):
        raise foreign(path, "its footer's gate and reasons contradict each other")


def level_of(header: Header) -> Level:
    """Up to which level a run was judged; `must` where it does not say."""
    rules = header.get("rules")
    told = rules["level"] if rules else header["selection"].get("--level")
    return next((level for level in Level if level == told), Level.MUST)


def _truncated(path: Path, what: str) -> ResultsError:
    return ResultsError(f"{path} is truncated: {what}.", "Run it again; a run that was cut off has no footer.")


def foreign(path: Path, what: str) -> ResultsError:
    """The error where a file is no results file, or one that contradicts itself."""
    return ResultsError(
        f"{path} is not a results file of this suite: {what}.",
        "Give the results.jsonl that `onnx-conformance run` wrote.",
    )


def is_partial(run: Results) -> bool:
    """Whether a run has fewer results than it could have, by selection or by accident."""
    corpus, rules = run.header["corpus"], run.header.get("rules")
    selects = rules is None or bool(set(run.header["selection"]) - {"--level"})  # a graph optimizer is asked less
    fewer = rules is not None and run.footer["results"] < rules["due"]
    return fewer or (selects and corpus["selected"] < corpus["cases"])


def read_all(paths: Sequence[Path]) -> list[Results]:
    """Read results files that are to be shown together.

    Raises:
        ResultsError: one cannot be trusted, they are not of one corpus, or they have a subject in common.
    """
    runs = [read(path) for path in paths]
    seen: dict[str, str] = {}
    for run in runs:
        if run.header["corpus"]["digest"] != runs[0].header["corpus"]["digest"]:
            raise ResultsError(f"{run.path} is of another corpus than {runs[0].path}.", "Report them one by one.")
        for subject in run.header["subjects"]:
            if subject["id"] in seen:
                raise ResultsError(
                    f"{run.path} and {seen[subject['id']]} both have results of {subject['id']}.", "Leave one out."
                )
            seen[subject["id"]] = run.path
    return runs
