"""List what each version of an operator's page states, and the readings that the reference admits where it is silent.

Run `python checks/measurements/passages.py [OPERATOR ...]`. Each version of each operator of onnx has a row with the
first words of its page. Each statement of `checks/truth/passages.toml` that decides results has a row with the words of
this version, or with the silence that admits each reading. The pages are those of the installed onnx.

The exit status is 1 if a version has neither the words nor a reading, or if a row of the table does not apply.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from onnx import defs

from conformance.exact.models.spec_text import specification_text
from conformance.exact.reference.tolerances import SILENCES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

TABLE = Path(__file__).parents[1] / "truth/passages.toml"

MAX_SHOWN = 100
"""Number of characters of a page in a row."""


@dataclass(frozen=True)
class Statement:
    """A statement on which results depend; for the attributes see `checks/truth/passages.toml`."""

    about: str
    operators: Sequence[str]
    words: str = ""
    silence: str = ""
    one: str = ""
    needs: str = ""
    elsewhere: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """A version of an operator and a statement.

    Attributes:
        name: the operator with its version.
        about: the statement; empty for the page itself.
        passage: the words of the page; empty if it does not have them.
        reading: how the reference reads a page without the words; empty if the table has no reading.
    """

    name: str
    about: str
    passage: str = ""
    reading: str = ""

    def __str__(self) -> str:
        return " | ".join([self.name, self.about or "page", self.passage or self.reading or "NO READING"])


def read_statements() -> list[Statement]:
    """Return the statements of the table."""
    return [Statement(**row) for row in tomllib.loads(TABLE.read_text(encoding="utf-8"))["statement"]]


def versions_of(operator: str) -> list[defs.OpSchema]:
    """Return the schemas of an operator of the main domain, the oldest first."""
    return _schemas()[operator]


@cache
def _schemas() -> dict[str, list[defs.OpSchema]]:
    found: dict[str, list[defs.OpSchema]] = defaultdict(list)
    for schema in sorted(defs.get_all_schemas_with_history(), key=lambda each: int(each.since_version)):
        if not schema.domain and (not schema.deprecated or schema.name == "Upsample"):
            found[schema.name].append(schema)
    return found


@cache
def page_of(schema: defs.OpSchema) -> str:
    """Return all texts of a version of an operator on one line."""
    document = f"onnx.defs ai.onnx {schema.name}-{schema.since_version}"
    parts = ["summary", *(f"attribute {name}" for name in sorted(schema.attributes))]
    parts += [f"{kind} {each.name}" for kind in ("input", "output") for each in getattr(schema, f"{kind}s")]
    return " ".join(" ".join((specification_text(document, part) or "").split()) for part in parts)


def rows_of(statement: Statement) -> Iterator[Row]:
    """Yield a row for each version of the operators of a statement that needs it."""
    for operator in statement.operators:
        for schema in versions_of(operator):
            if statement.needs and statement.needs not in schema.attributes:
                continue
            name = f"{operator}-{schema.since_version}"
            found = re.search(statement.words, page := page_of(schema)) if statement.words else None
            if found is not None:
                start = max(0, page.rfind(". ", 0, found.start()) + 1)
                yield Row(name, statement.about, _shortened(page[start:].strip(), found.end() - start))
                continue
            reading = statement.elsewhere.get(str(schema.since_version), "")
            if not reading and statement.silence:
                reading = f"each reading ({statement.silence}): {SILENCES.get(statement.silence, '')}"
            yield Row(name, statement.about, reading=reading or (statement.one and f"one reading: {statement.one}"))


def _shortened(text: str, least: int = 0) -> str:
    limit = max(MAX_SHOWN, least)
    return text if len(text) <= limit else f"{text[:limit]}…"


def problems_of(statements: Sequence[Statement]) -> Iterator[str]:
    """Yield what is wrong with the table."""
    for statement in statements:
        rows = list(rows_of(statement))
        if statement.silence and statement.silence not in SILENCES:
            yield f"{statement.about}: tolerances.toml has no row {statement.silence!r}"
        yield from (f"{row.name}: the page does not state {row.about}" for row in rows if not row.passage + row.reading)
        for operator in statement.operators:
            own = [row for row in rows if row.name.startswith(f"{operator}-")]
            if not own:
                yield f"{operator}: no version needs a statement about {statement.about}"
            elif statement.words and operator != "Upsample" and not any(row.passage for row in own):
                yield f"{operator}: no page has the words {statement.words!r}"


def main() -> int:
    """Print the table, and return the exit status."""
    statements = read_statements()
    chosen = set(sys.argv[1:])
    rows = [row for statement in statements for row in rows_of(statement)]
    for operator in sorted(_schemas().keys() & chosen if chosen else _schemas()):
        for schema in versions_of(operator):
            name = f"{operator}-{schema.since_version}"
            print(Row(name, "", _shortened(page_of(schema)) or "the page has no text"))
            for row in rows:
                if row.name == name:
                    print(f"    {row}")
    problems = list(problems_of(statements))
    for problem in problems:
        print(f"PROBLEM {problem}")
    silent = sum(not row.passage for row in rows)
    print(f"{len(rows)} rows of {len(statements)} statements, {silent} not on the page; {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
