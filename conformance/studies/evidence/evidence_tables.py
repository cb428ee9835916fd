"""Tables of the evidence: rows with declared columns, written as CSV, as JSON, and with a JSON Schema.

`tables.toml` declares all tables. The evidence has the declarations in `tables.json`; `verify.py` reads them and checks
the rows and the links.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence  # noqa: TC003 - msgspec reads the annotations
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from conformance.base.serialization.decoding import decode_json, encode_document, read_own_toml
from conformance.base.serialization.printable_text import one_line
from conformance.studies.evidence.verify import csv_text

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping

Cell: TypeAlias = "str | int | float | bool | tuple[str, ...] | None"
ColumnType: TypeAlias = Literal["text", "integer", "number", "boolean", "list"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_JSON_TYPES: dict[str, Any] = {
    "text": {"type": ["string", "null"]},
    "integer": {"type": ["integer", "null"]},
    "number": {"type": ["number", "null"]},
    "boolean": {"type": ["boolean", "null"]},
    "list": {"type": "array", "items": {"type": "string"}},
}


class TableColumn(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A column of a table.

    Attributes:
        type: type of the cells; a cell of any type but `list` can be empty.
        text: description for readers.
        references: the table and column in which each value of this column must occur, such as `cases.case`.
    """

    name: str
    type: ColumnType
    text: str
    references: str = ""


class DeclaredTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The declaration of a table.

    Attributes:
        name: name of its files, without suffix.
        title: title for readers.
        text: what a row is.
        key: names of the columns that identify a row; empty if rows can be equal.
        columns: its columns, in order.
    """

    name: str
    title: str
    text: str
    key: tuple[str, ...]
    columns: tuple[TableColumn, ...]


class TableRecord(DeclaredTable, frozen=True):
    """A table in `tables.json`, with the number of its rows."""

    rows: int


class Table(DeclaredTable, frozen=True):
    """A table of the evidence.

    Attributes:
        query: the SQL query that returns the rows, if they follow from other rows.
        rows: its rows; each row has a cell for each column.
    """

    query: str = ""
    rows: Sequence[tuple[Any, ...]] = ()

    def column(self, name: str) -> list[Any]:
        """Return the cells of a column."""
        place = [column.name for column in self.columns].index(name)
        return [row[place] for row in self.rows]

    def to_csv(self) -> bytes:
        """Return the table as CSV; the first row has the names of the columns."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([column.name for column in self.columns])
        writer.writerows([csv_text(cell) for cell in row] for row in self.rows)
        return stream.getvalue().encode()

    def to_json(self) -> bytes:
        """Return the table as JSON, with one row per line."""
        names = json.dumps([column.name for column in self.columns])
        rows = ",\n".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in self.rows)
        return f'{{"table": {json.dumps(self.name)},\n"columns": {names},\n"rows": [\n{rows}\n]}}\n'.encode()

    def to_schema(self) -> bytes:
        """Return the JSON Schema of the table's JSON."""
        items = [{**_JSON_TYPES[column.type], "description": column.text} for column in self.columns]
        row = {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}
        document = {
            "$schema": DIALECT,
            "title": self.title,
            "description": self.text,
            "type": "object",
            "properties": {
                "table": {"const": self.name},
                "columns": {"const": [column.name for column in self.columns]},
                "rows": {"type": "array", "items": row},
            },
            "required": ["table", "columns", "rows"],
            "additionalProperties": False,
        }
        return encode_document(document, is_ascii=False)

    def to_record(self) -> TableRecord:
        """Return the table as it is in `tables.json`."""
        return TableRecord(self.name, self.title, self.text, self.key, self.columns, len(self.rows))


class _Declarations(msgspec.Struct, frozen=True):
    table: list[Table]


@cache
def _declarations() -> Mapping[str, Table]:
    declared = msgspec.convert(read_own_toml("conformance.studies.evidence", "tables.toml"), _Declarations)
    return {table.name: table for table in declared.table}


def table_of(name: str, rows: Iterable[tuple[Cell, ...]]) -> Table:
    """Return the table with this name."""
    return msgspec.structs.replace(_declarations()[name], rows=tuple(map(plain_row, rows)))


def queried_table(name: str, database: sqlite3.Connection) -> Table:
    """Return the table whose query returns its rows; a list is JSON in the database."""
    types = [column.type for column in _declarations()[name].columns]
    rows = database.execute(_declarations()[name].query)
    return table_of(
        name,
        (
            tuple(
                tuple(decode_json(cell.encode())) if type == "list" else cell
                for type, cell in zip(types, row, strict=True)
            )
            for row in rows
        ),
    )


def plain_row(row: tuple[Cell, ...]) -> tuple[Cell, ...]:
    """Return a row in which each text is one line that can be encoded; escapes replace unprintable characters."""
    return tuple(
        one_line(cell) if isinstance(cell, str) else tuple(map(one_line, cell)) if isinstance(cell, tuple) else cell
        for cell in row
    )
