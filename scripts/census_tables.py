"""Writes one table of several censuses, as of runtimes that have an environment each: NAME.md and NAME.jsonl.gz.

python scripts/census_tables.py NAME RESULTS.jsonl[.gz]...

What figures depend on (the processor's instructions, say) is told once, as the first file has it; of a cell for which
it was otherwise, the table says so. Of a cell that several files have, that of the last one is taken.
"""

from __future__ import annotations

import gzip
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.census.reading import read_census
from conformance.census.report import json_lines, markdown
from conformance.errors import ConformanceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.census.findings import CellFindings

ORDER = (("Exp", "Log", "Sqrt", "Softmax", "LogSoftmax", "ArgMax"), ("float16", "bfloat16", "float", "double"))


def main(arguments: Sequence[str]) -> None:
    """Write both files."""
    name, *files = arguments
    facts: Mapping[str, str] = {}
    cells: dict[tuple[str, str, str], CellFindings] = {}
    for file in files:
        try:
            environment, read = read_census(Path(file))
        except ConformanceError as error:
            sys.exit(f"{error.problem} {error.mend}")
        facts = facts or environment
        for each in read:
            counted = replace(each, elsewhere=_other(environment | each.elsewhere, facts))
            cells[each.cell.subject, each.cell.operator, each.cell.type] = counted
    found = [cells[key] for key in sorted(cells, key=_place)]
    Path(f"{name}.md").write_text(markdown(found, facts), "utf-8")
    Path(f"{name}.jsonl.gz").write_bytes(gzip.compress(b"".join(json_lines(found, facts)), mtime=0))


def _other(environment: Mapping[str, str], facts: Mapping[str, str]) -> dict[str, str]:
    """What of an environment these facts do not say."""
    return {name: value for name, value in environment.items() if facts.get(name) != value}


def _place(key: tuple[str, str, str]) -> tuple[str, int, int]:
    subject, operator, type = key
    return subject, ORDER[0].index(operator), ORDER[1].index(type)


if __name__ == "__main__":
    main(sys.argv[1:])
