"""Writes one table of several censuses, as of runtimes that have an environment each: NAME.md and NAME.jsonl.gz.

python scripts/census_tables.py NAME RESULTS.jsonl[.gz]...

Their figures have to be of one processor. Of a cell that several files have, that of the last one is taken.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.census.reading import read_census
from conformance.census.report import json_lines, markdown
from conformance.errors import ConformanceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.census.findings import CellFindings

ORDER = (("Exp", "Log", "Sqrt", "Softmax", "LogSoftmax", "ArgMax"), ("float16", "bfloat16", "float", "double"))


def main(arguments: Sequence[str]) -> None:
    """Write both files."""
    name, *files = arguments
    facts: dict[str, str] = {}
    cells: dict[tuple[str, str, str], CellFindings] = {}
    for file in files:
        try:
            environment, read = read_census(Path(file))
        except ConformanceError as error:
            sys.exit(f"{error.problem} {error.mend}")
        _add(facts, environment, file)
        cells |= {(each.cell.subject, each.cell.operator, each.cell.type): each for each in read}
    found = [cells[key] for key in sorted(cells, key=_place)]
    Path(f"{name}.md").write_text(markdown(found, facts), "utf-8")
    Path(f"{name}.jsonl.gz").write_bytes(gzip.compress(b"".join(json_lines(found, facts)), mtime=0))


def _add(facts: dict[str, str], more: dict[str, str], file: str) -> None:
    for name, value in more.items():
        if facts.setdefault(name, value) != value:
            sys.exit(f"{file} has {name} {value}, and another has {facts[name]}: figures are not those of one machine.")


def _place(key: tuple[str, str, str]) -> tuple[str, int, int]:
    subject, operator, type = key
    return subject, ORDER[0].index(operator), ORDER[1].index(type)


if __name__ == "__main__":
    main(sys.argv[1:])
