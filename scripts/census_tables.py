"""Merge several censuses into one table: NAME.md and NAME.jsonl.gz.

python scripts/census_tables.py NAME RESULTS.jsonl[.gz]...

Use it for runtimes that each have an environment of their own. The table states the environment of the first file.
Cells that were measured in another environment are marked. If several files have the same cell, the last file counts.
"""

from __future__ import annotations

import gzip
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.base.errors import CensusFileError
from conformance.studies.census.census_file import read_census
from conformance.studies.census.census_report import json_lines, markdown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.studies.census.census_results import CellResult

ORDER = (("Exp", "Log", "Sqrt", "Softmax", "LogSoftmax", "ArgMax"), ("float16", "bfloat16", "float", "double"))


def main(arguments: Sequence[str]) -> None:
    """Write the table and the merged results."""
    name, *files = arguments
    facts: Mapping[str, str] = {}
    cells: dict[tuple[str, str, str], CellResult] = {}
    for file in files:
        try:
            environment, read = read_census(Path(file))
        except CensusFileError as error:
            sys.exit(str(error))
        facts = facts or environment
        for each in read:
            counted = replace(each, elsewhere=_differing_facts(environment | each.elsewhere, facts))
            cells[each.cell.subject, each.cell.operator, each.cell.type] = counted
    found = [cells[key] for key in sorted(cells, key=_sort_key)]
    Path(f"{name}.md").write_text(markdown(found, facts), "utf-8")
    Path(f"{name}.jsonl.gz").write_bytes(gzip.compress(b"".join(json_lines(found, facts)), mtime=0))


def _differing_facts(environment: Mapping[str, str], facts: Mapping[str, str]) -> dict[str, str]:
    """Return the facts of an environment that differ from `facts`."""
    return {name: value for name, value in environment.items() if facts.get(name) != value}


def _sort_key(key: tuple[str, str, str]) -> tuple[str, int, int]:
    subject, operator, type = key
    return subject, ORDER[0].index(operator), ORDER[1].index(type)


if __name__ == "__main__":
    main(sys.argv[1:])
