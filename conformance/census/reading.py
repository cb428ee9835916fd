"""The results of a census, read again."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

from conformance.boundary.text import one_line
from conformance.census.cell import Cell
from conformance.census.findings import CellFindings
from conformance.errors import UsageError
from conformance.files.regular import PACKED, read_input
from conformance.schemas import complaint

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LARGEST = 2**28
"""Bytes of the largest file that is read, packed or not."""


def read_census(file: Path) -> tuple[Mapping[str, str], list[CellFindings]]:
    """What the figures depend on, and the cells.

    Raises:
        UsageError: the file cannot be read, or is no census or not a whole one.
    """
    try:
        content = read_input(file, LARGEST)
        lines = (gzip.decompress(content) if file.suffix == PACKED else content).splitlines()
        records = [json.loads(line) for line in lines]
    except (OSError, EOFError, ValueError, RecursionError) as error:
        raise UsageError(f"{file} is no census: {one_line(str(error))}.", "Name what --results wrote.") from None
    for number, record in enumerate(records, 1):
        if problem := complaint("census", record):
            raise UsageError(f"{file} is no census, by line {number}: {problem}.", "Name what --results wrote.")
    kinds = [record["record"] for record in records]
    if kinds != ["header", *["cell"] * (len(kinds) - 2), "footer"] or records[-1]["cells"] != len(kinds) - 2:
        raise UsageError(f"{file} is not a whole census.", "Have it made again.")
    return records[0]["environment"], [_cell(record) for record in records[1:-1]]


def _cell(record: Mapping[str, Any]) -> CellFindings:
    is_sampled = record["sampled"] and record["shift_symmetric"]
    return CellFindings(
        Cell(record["subject"], record["operator"], record["type"], is_sampled),
        record["version"],
        {row["binade"]: row for row in record["binades"]},
        record["failure"],
        record["unsupported"],
        record["shift_symmetric"],
        record.get("environment", {}),
    )
