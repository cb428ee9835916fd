"""A run's results file: one JSON object a line, the only truth from which every report is made.

The lines are, in this order: one `header`; `case` records, each before the first result that needs it, and `result`
records; one `footer`. A file without its footer is truncated, and is refused. `schemas/results.schema.json` is the
format's definition; the types here mirror it for the readers in this package.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NotRequired, TextIO, TypedDict

from conformance.errors import ResultsError
from conformance.schemas import complaint

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

FORMAT = 1
LARGEST_FILE = 2**30


class Preview(TypedDict):
    """A tensor as a person reads it: its first elements in decimal and, for floating point, in hex."""

    name: str
    type: str
    shape: list[int]
    values: list[str]
    hex: NotRequired[list[str]]
    elided: int


class ExpectedOutput(Preview):
    """An output's expected value, how it is checked, and the bounds or acceptable indices of the elements shown."""

    check: str
    bounds: NotRequired[list[str]]
    accept: NotRequired[list[str]]


class DataSetPreview(TypedDict):
    """One data set of a case: what goes in and what must come out."""

    inputs: list[Preview]
    outputs: list[ExpectedOutput]


class NodeSummary(TypedDict):
    """One node of a graph."""

    op_type: str
    domain: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any]


class ValueSummary(TypedDict):
    """The declared name, type and shape of a graph's input or output."""

    name: str
    type: str
    shape: list[int | str]


class ModelSummary(TypedDict):
    """A model as a person reads it."""

    ir_version: int
    opset_imports: dict[str, int]
    inputs: list[ValueSummary]
    outputs: list[ValueSummary]
    nodes: list[NodeSummary]


class CaseRecord(TypedDict):
    """What a case is: everything a report shows of it, so that a report needs no corpus."""

    record: str
    case: str
    kind: str
    title: str
    level: str
    clauses: list[str]
    tags: list[str]
    model: ModelSummary
    data_sets: list[DataSetPreview]


class BadElement(TypedDict):
    """The first element of an output that is not acceptable."""

    index: list[int]
    expected: str
    actual: str
    expected_hex: NotRequired[str]
    actual_hex: NotRequired[str]
    bound: NotRequired[str]
    ulp: NotRequired[float]


class OutputEvidence(TypedDict):
    """How one output of one data set compares with what was expected."""

    data_set: int
    name: str
    check: str
    max_ulp: NotRequired[float]
    error_over_bound: NotRequired[float]
    worst_index: NotRequired[list[int]]
    complaint: NotRequired[str]
    first_bad: NotRequired[BadElement]
    wrong: NotRequired[int]
    actual: NotRequired[Preview]


class Expected(TypedDict):
    """What the subject's owner expects of this case, and why."""

    verdict: str
    reason: str


class ResultRecord(TypedDict):
    """One verdict with its evidence: one case on one subject.

    `surprise` says that the gate, as it was set in this run, holds the verdict against the subject.
    """

    record: str
    subject: str
    case: str
    level: str
    verdict: str
    phase: str | None
    message: str
    seconds: float
    outputs: list[OutputEvidence]
    expected: Expected | None
    surprise: bool
    agrees_with: NotRequired[list[str]]


class SubjectRecord(TypedDict):
    """A subject as the run found it."""

    id: str
    kind: str
    version: str


class CorpusRecord(TypedDict):
    """Which corpus was run, and how much of it."""

    version: str
    digest: str
    cases: int
    selected: int


class ClauseRecord(TypedDict):
    """A clause's text in our words, and where the specification says it."""

    text: str
    source: str


class Header(TypedDict):
    """What was run against what, with which versions."""

    record: str
    format: int
    suite: str
    corpus: CorpusRecord
    subjects: list[SubjectRecord]
    environment: dict[str, str]
    selection: dict[str, str]
    command: str
    clauses: dict[str, ClauseRecord]


class DiagnosisRecord(TypedDict):
    """A deviation that explains why a subject fails an operator's cases.

    It agrees on `agrees` `of` the failing cases; no case tells it apart from those `alike`.
    """

    subject: str
    operator: str
    deviation: str
    text: str
    agrees: int
    of: int
    alike: list[str]


class Footer(TypedDict):
    """How the run ended: counts by subject, level and verdict, the gate, why it is shut, and what explains failures."""

    record: str
    results: int
    verdicts: dict[str, dict[str, dict[str, int]]]
    gate: str
    reasons: list[str]
    seconds: float
    diagnoses: NotRequired[list[DiagnosisRecord]]


@dataclass(frozen=True)
class Results:
    """One results file, read and found whole."""

    path: str
    header: Header
    cases: Mapping[str, CaseRecord]
    results: tuple[ResultRecord, ...]
    footer: Footer


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
    if path.stat().st_size > LARGEST_FILE:
        raise ResultsError(f"{path} is larger than {LARGEST_FILE} bytes.", "Split the run with -k.")
    try:
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise _foreign(path, f"it is not UTF-8 text ({error.reason} at byte {error.start})") from None
    return _assemble(path, (_parsed(path, number, line) for number, line in enumerate(lines, 1)))


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
    footer: dict[str, Any] | None = None
    for record in stream:
        if footer is not None or record["record"] == "header":
            raise _foreign(path, f"a {record['record']} stands where none may")
        if record["record"] == "footer":
            footer = record
        elif record["record"] == "case":
            cases[record["case"]] = record
        else:
            key = record["subject"], record["case"]
            if key in results:
                raise _foreign(path, f"case {key[1]} has two results on subject {key[0]}")
            results[key] = record
    if footer is None:
        raise _truncated(path, "it has no footer")
    _check_consistency(path, header, cases, results, footer)
    return Results(str(path), header, cases, tuple(results.values()), footer)  # type: ignore[arg-type]


def _check_consistency(
    path: Path,
    header: Mapping[str, Any],
    cases: Mapping[str, Any],
    results: Mapping[tuple[str, str], Any],
    footer: Mapping[str, Any],
) -> None:
    if footer["results"] != len(results):
        raise _foreign(path, f"its footer counts {footer['results']} results where it has {len(results)}")
    counted: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for record in results.values():
        counted[record["subject"]][record["level"]][record["verdict"]] += 1
    told = {subject: levels for subject, levels in footer["verdicts"].items() if levels}
    if counted != told:
        raise _foreign(path, "its footer's counts are not those of its results")
    if (footer["gate"] == "pass") == bool(footer["reasons"]):
        raise _foreign(path, "its footer's gate and reasons contradict each other")
    subjects = {subject["id"] for subject in header["subjects"]}
    for subject, case in results:
        if subject not in subjects:
            raise _foreign(path, f"a result is of subject {subject}, which its header does not name")
        if case not in cases:
            raise _foreign(path, f"a result is of case {case}, which it does not describe")


def _truncated(path: Path, what: str) -> ResultsError:
    return ResultsError(f"{path} is truncated: {what}.", "Run it again; a run that was cut off has no footer.")


def _foreign(path: Path, what: str) -> ResultsError:
    return ResultsError(
        f"{path} is not a results file of this suite: {what}.",
        "Give the results.jsonl that `onnx-conformance run` wrote.",
    )
