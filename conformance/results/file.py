"""A run's results file: one JSON object a line, the only truth from which every report is made.

The lines are, in this order: one `header`; `case` records, each before the first result that needs it, `result`
records, and `archive` records, each after its case; one `footer`. A file without its footer is truncated, and is
refused. `schemas/results.schema.json` is the format's definition, `records` has it as types. A file whose
name ends in `.gz` is read as one that gzip has packed.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

from conformance.errors import ResultsError
from conformance.schemas import complaint
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from conformance.results.records import CaseRecord, Footer, Header, ResultRecord

FORMAT = 2
"""What is written; format 1, whose checks have no levels, is read too."""
LARGEST_FILE = 2**30


@dataclass(frozen=True)
class Results:
    """One results file, read and found whole; `archives` are those of the cases that carry their files."""

    path: str
    header: Header
    cases: Mapping[str, CaseRecord]
    results: tuple[ResultRecord, ...]
    footer: Footer
    archives: Mapping[str, str] = field(default_factory=dict)


def write_record(stream: TextIO, record: Mapping[str, Any]) -> None:
    """Append one record as one line."""
    stream.write(json.dumps(record, separators=(",", ":"), ensure_ascii=False, allow_nan=False))
    stream.write("\n")


def read(path: Path) -> Results:
    """Read a results file whole.

    Raises:
        ResultsError: it is missing, too large, truncated, of another format, or contradicts itself.
    """
    if not path.is_file():
        raise ResultsError(f"{path} is not a file.", "Give the results.jsonl that `onnx-conformance run` wrote.")
    try:
        lines = _content(path).decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise _foreign(path, f"it is not UTF-8 text ({error.reason} at byte {error.start})") from None
    return _assemble(path, (_parsed(path, number, line) for number, line in enumerate(lines, 1)))


def _content(path: Path) -> bytes:
    """The file's bytes, unpacked where its name ends in `.gz`, and never more of them than are allowed.

    Raises:
        ResultsError: they are more, or what should be packed is not.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            content = bytes(stream.read(LARGEST_FILE + 1))
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _foreign(path, f"it cannot be unpacked ({error})") from None
    if len(content) > LARGEST_FILE:
        raise ResultsError(f"{path} is larger than {LARGEST_FILE} bytes.", "Split the run with -k.")
    return content


def _parsed(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise _truncated(path, f"line {number} is not a whole JSON object") from None
    if problem := complaint("results", record):
        raise _foreign(path, f"line {number}: {problem}")
    return dict(record)


def _assemble(path: Path, records: Iterable[dict[str, Any]]) -> Results:
    stream = iter(records)
    header = next(stream, None)
    if header is None or header["record"] != "header":
        raise _foreign(path, "it does not begin with a header")
    cases: dict[str, Any] = {}
    results: dict[tuple[str, str], Any] = {}
    archives: dict[str, str] = {}
    footer: dict[str, Any] | None = None
    for record in stream:
        if footer is not None or record["record"] == "header":
            raise _foreign(path, f"a {record['record']} stands where none may")
        if record["record"] == "footer":
            footer = record
        elif record["record"] == "case":
            cases[record["case"]] = record
        elif record["record"] == "archive":
            archives[record["case"]] = record["zip"]
        else:
            key = record["subject"], record["case"]
            if key in results:
                raise _foreign(path, f"case {key[1]} has two results on subject {key[0]}")
            results[key] = record
    if footer is None:
        raise _truncated(path, "it has no footer")
    _check_consistency(path, header, cases, results, footer)
    return Results(str(path), header, cases, tuple(results.values()), footer, archives)  # type: ignore[arg-type]


def _check_consistency(
    path: Path,
    header: Mapping[str, Any],
    cases: Mapping[str, Any],
    results: Mapping[tuple[str, str], Any],
    footer: Mapping[str, Any],
) -> None:
    if footer["results"] != len(results):
        raise _foreign(path, f"its footer counts {footer['results']} results where it has {len(results)}")
    subjects = {subject["id"] for subject in header["subjects"]}
    for subject, case in results:
        if subject not in subjects:
            raise _foreign(path, f"a result is of subject {subject}, which its header does not name")
        if case not in cases:
            raise _foreign(path, f"a result is of case {case}, which it does not describe")
    counted: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for record in results.values():
        counted[record["subject"]][record["level"]][record["verdict"]] += 1
    told = {subject: levels for subject, levels in footer["verdicts"].items() if levels}
    if counted != told:
        raise _foreign(path, "its footer's counts are not those of its results")
    if (footer["gate"] == "pass") == bool(footer["reasons"]):
        raise _foreign(path, "its footer's gate and reasons contradict each other")


def level_of(header: Header) -> Level:
    """Up to which level a run was judged."""
    rules = header.get("rules")
    return Level(rules["level"] if rules else header["selection"].get("--level", Level.MUST))


def _truncated(path: Path, what: str) -> ResultsError:
    return ResultsError(f"{path} is truncated: {what}.", "Run it again; a run that was cut off has no footer.")


def _foreign(path: Path, what: str) -> ResultsError:
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
