"""The records of a census file as types, and the reading of such a file.

`scripts/make_schemas.py` generates `census.schema.json` from the types.
"""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta

from conformance.census.chunks import Cell
from conformance.census.counters import BinadeCounters, Extreme, check_ordinals
from conformance.census.results import CellResult
from conformance.errors import CensusFileError
from conformance.files.atomic_write import GZIP_SUFFIX, read_input
from conformance.serialization.decoding import Count, JsonDecoder, MalformedError
from conformance.serialization.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


Arguments = Annotated[list[str], Meta(min_length=2, max_length=2)]


class CellTotal(TypedDict):
    """The counters of all binades together."""

    counts: dict[str, Count]
    extremes: dict[str, Extreme]


class CensusHeader(TypedDict):
    """The first line of a census file."""

    record: str
    format: Literal[1]
    environment: Annotated[dict[str, str], Meta(description="What the figures depend on besides the subjects.")]
    guard: Annotated[float, Meta(description="Assumed largest relative error of NumPy's double Exp and Log.")]


_PassImpact = TypedDict(
    "_PassImpact",
    {"pass": Annotated[dict[str, Count], Meta(description="Pairs for which the pass changes the answer, by class.")]},
)


class CellRecord(_PassImpact):
    """One operator and element type of one subject."""

    record: str
    subject: str
    version: str
    operator: Literal["Exp", "Log", "Sqrt", "Softmax", "LogSoftmax", "ArgMax"]
    type: Literal["float16", "bfloat16", "float", "double"]
    sampled: Annotated[bool, Meta(description="Whether only a sample of the values was tested.")]
    failure: Annotated[str, Meta(description="Why chunks have no answer; empty if all chunks have one.")]
    unsupported: bool
    shift_symmetric: Annotated[bool, Meta(description="Whether rows [a, b] are ordered as [0, b - a].")]
    environment: NotRequired[
        Annotated[
            dict[str, str],
            Meta(min_length=1, description="Entries that differ from the header's, in a table of several machines."),
        ]
    ]
    largest_error: Annotated[
        float | None,
        Meta(description="In ULP: 0.5 if all values are correctly rounded, null if none was compared."),
    ]
    counterexamples: Annotated[
        list[Arguments],
        Meta(max_length=16, description="Pairs of arguments whose results are in the wrong order, in hexadecimal."),
    ]
    total: CellTotal
    binades: list[BinadeCounters]


class CensusFooter(TypedDict):
    """The last line of a census file."""

    record: str
    cells: Count


CENSUS_RECORDS = {"header": CensusHeader, "cell": CellRecord, "footer": CensusFooter}
_decode_record = JsonDecoder(CENSUS_RECORDS, key="record")

_HINT = "Pass a file that `onnx-conformance census --results` wrote."

CENSUS_LIMIT_BYTES = 2**28
"""Size of the largest census file that is read, before decompression."""


def read_census(file: Path) -> tuple[Mapping[str, str], list[CellResult]]:
    """Return the environment of a census file, and its cells.

    Raises:
        CensusFileError: the file cannot be read, is not a census, or is incomplete.
    """
    try:
        content = read_input(file, CENSUS_LIMIT_BYTES)
        lines = (gzip.decompress(content) if file.suffix == GZIP_SUFFIX else content).splitlines()
    except (OSError, EOFError, zlib.error) as error:
        what = one_line(str(getattr(error, "strerror", None) or error))
        raise CensusFileError("unreadable", f"{file} cannot be read: {what}.", _HINT) from None
    records: list[Any] = []
    for number, line in enumerate(lines, 1):
        try:
            records.append(_decode_record(line))
        except MalformedError as error:
            raise CensusFileError("malformed", f"{file} is not a census: line {number}: {error}.", _HINT) from None
    kinds = [record["record"] for record in records]
    if kinds != ["header", *["cell"] * (len(kinds) - 2), "footer"] or records[-1]["cells"] != len(kinds) - 2:
        raise CensusFileError("truncated", f"{file} is incomplete: it has no footer.", "Repeat the census.")
    try:
        return records[0]["environment"], [_read_cell(record) for record in records[1:-1]]
    except MalformedError as error:
        raise CensusFileError("malformed", f"{file} is not a census: {error}.", _HINT) from None


def _read_cell(record: Mapping[str, Any]) -> CellResult:
    is_sampled = record["sampled"] and record["shift_symmetric"]
    cell = Cell(record["subject"], record["operator"], record["type"], is_sampled)
    for row in record["binades"]:
        check_ordinals(row, cell.ordinals)
    return CellResult(
        cell,
        record["version"],
        {row["binade"]: row for row in record["binades"]},
        record["failure"],
        record["unsupported"],
        record["shift_symmetric"],
        record.get("environment", {}),
    )
