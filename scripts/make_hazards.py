"""Writes the tables of docs/hazards.md: the classes, and from results files what every subject answered.

python scripts/make_hazards.py reports/scoreboard/*.jsonl
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from conformance.report.formats.hazards import classes, render
from conformance.results.file import read_all

PAGE = Path(__file__).parent.parent / "docs" / "hazards.md"


def replaced(page: str, mark: str, table: str) -> str:
    """The page with a table between `<!-- mark -->` and `<!-- end -->`."""
    pattern = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- end -->)", re.DOTALL)
    return pattern.sub(lambda match: f"{match[1]}\n{table}\n{match[2]}", page)


def main() -> None:
    """Write the tables into the page; that of results only where results are given."""
    page = replaced(PAGE.read_text(encoding="utf-8"), "classes", classes())
    if sys.argv[1:]:
        page = replaced(page, "results", "".join(render(read_all([Path(name) for name in sys.argv[1:]]))))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
