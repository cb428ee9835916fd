"""The records of a census file as types, and the reading of such a file.

`scripts/make_schemas.py` generates `census.schema.json` from the types.
"""

from __future__ import annotations

import errno
import io
import zlib
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, cast

from msgspec import Meta

from conformance.base.errors import CensusFileError
from conformance.base.files.atomic_write import GZIP_SUFFIX, read_input, unpack_gzip
from conformance.base.serialization.decoding import Count, JsonReader, MalformedError, StoredRecord
from conformance.base.serialization.printable_text import one_line
from conformance.studies.census.census_results import CellResult, pass_impact
from conformance.studies.census.chunks import Cell
from conformance.studies.census.counters import BinadeCounters, Extreme, check_ordinals

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


OperatorName: TypeAlias = Literal["Exp", "Log", "Sqrt", "Softmax", "LogSoftmax", "ArgMax"]
TypeName: TypeAlias = Literal["float16", "bfloat16", "float", "double"]
Arguments = Annotated[list[str], Meta(min_length=2, max_length=2)]


class CellTotal(StoredRecord):
    """The counters of all binades together."""

    counts: dict[str, Count]
    extremes: dict[str, Extreme]


class CensusHeader(StoredRecord, tag_field="record", tag="header"):
    """The first line of a census file."""

    format: Literal[1]
    environment: Annotated[dict[str, str], Meta(description="What the figures depend on besides the subjects.")]
    guard: Annotated[float, Meta(description="Assumed largest relative error of NumPy's double Exp and Log.")]


class CellRecord(StoredRecord, kw_only=True, tag_field="record", tag="cell", rename={"changed_by_pass": "pass"}):
    """One operator and element type of one subject."""

    subject: str
    version: str
    operator: OperatorName
    type: TypeName
    sampled: Annotated[bool, Meta(description="Whether only a sample of the values was tested.")]
    failure: Annotated[str, Meta(description="Why chunks have no answer; empty if all chunks have one.")]
    unsupported: bool
    shift_symmetric: Annotated[bool, Meta(description="Whether rows [a, b] are ordered as [0, b - a].")]
    environment: Annotated[
        dict[str, str],
        Meta(min_length=1, description="Entries that differ from the header's, in a table of several machines."),
    ] = {}
    largest_error: Annotated[
        float | None,
        Meta(description="In ULP: 0.5 if all values are correctly rounded, null if none was compared."),
    ]
    changed_by_pass: Annotated[
        dict[str, Count], Meta(description="Pairs for which the pass changes the answer, by class.")
    ]
    counterexamples: Annotated[
        list[Arguments],
        Meta(max_length=16, description="Pairs of arguments whose results are in the wrong order, in hexadecimal."),
    ]
    total: CellTotal
    binades: list[BinadeCounters]


class CensusFooter(StoredRecord, tag_field="record", tag="footer"):
    """The last line of a census file."""

    cells: Count


CensusRecord: TypeAlias = CensusHeader | CellRecord | CensusFooter
_decode_record: JsonReader[CensusRecord] = JsonReader(CensusRecord)


CENSUS_LIMIT_BYTES = 2**28
"""Size of the largest census file that is read, and of the largest content of a packed file."""


def read_census(file: Path) -> tuple[Mapping[str, str], list[CellResult]]:
    """Return the environment of a census file, and its cells.

    Raises:
        CensusFileError: the file cannot be read, is not a census, or is incomplete.
    """
    try:
        content = read_input(file, CENSUS_LIMIT_BYTES)
        lines = (_unpack(content) if file.suffix == GZIP_SUFFIX else content).splitlines()
    except (OSError, EOFError, zlib.error) as error:
        what = one_line(str(getattr(error, "strerror", None) or error))
        raise CensusFileError("unreadable", file=file, what=what) from None
    records: list[CensusRecord] = []
    for number, line in enumerate(lines, 1):
        try:
            records.append(_decode_record(line))
        except MalformedError as error:
            raise CensusFileError("malformed.line", file=file, number=number, error=error) from None
    match records:
        case [CensusHeader() as header, *cells, CensusFooter() as footer] if footer.cells == len(cells):
            try:
                return header.environment, [_read_cell(cell) for cell in cells if isinstance(cell, CellRecord)]
            except MalformedError as error:
                raise CensusFileError("malformed.file", file=file, error=error) from None
    raise CensusFileError("truncated", file=file)


def _unpack(content: bytes) -> bytes:
    """Return the content of a file that gzip packed.

    Raises:
        OSError: the content is damaged or too large.
        EOFError: the content is truncated.
        zlib.error: the content is damaged.
    """
    with unpack_gzip(io.BytesIO(content)) as stream:
        unpacked = stream.read(CENSUS_LIMIT_BYTES + 1)
    if len(unpacked) > CENSUS_LIMIT_BYTES:
        raise OSError(errno.EFBIG, f"its content is larger than {CENSUS_LIMIT_BYTES} bytes")
    return unpacked


def _read_cell(record: CellRecord) -> CellResult:
    is_sampled = record.sampled and record.shift_symmetric
    cell = Cell(record.subject, record.operator, record.type, is_sampled)
    for row in record.binades:
        check_ordinals(row, cell.ordinals)
    return CellResult(
        cell,
        record.version,
        {row.binade: row for row in record.binades},
        record.failure,
        record.unsupported,
        record.shift_symmetric,
        record.environment,
    )


def cell_record(found: CellResult) -> CellRecord:
    """Return the record of a cell in a census file."""
    cell = found.cell
    return CellRecord(
        subject=cell.subject,
        version=found.version,
        operator=cast("OperatorName", cell.operator),
        type=cast("TypeName", cell.type),
        sampled=found.sampled,
        failure=found.failure,
        unsupported=found.refused,
        shift_symmetric=found.symmetric,
        environment=dict(found.elsewhere),
        largest_error=found.largest_error,
        changed_by_pass=pass_impact(found) if found.has_order else {},
        counterexamples=[list(map(float.hex, pair)) for pair in found.counterexamples],
        total=CellTotal(found.whole.counts, found.whole.extremes),
        binades=list(found.rows.values()),
    )
