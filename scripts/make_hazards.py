"""Write the tables of reports/hazards.md: the hazard classes, and the outputs of every subject in results files.

python scripts/make_hazards.py reports/scoreboard/*.jsonl
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from conformance.corpus.passes.hazards import hazards
from conformance.run.report.formats.hazard_table import markdown_table, render
from conformance.run.results.results_file import read_results_of_one_corpus

PAGE = Path(__file__).parent.parent / "reports" / "hazards.md"


def class_table() -> str:
    """Return a Markdown table of all hazard classes: effect, example input and occurrence in practice."""
    rows = [
        [
            one.id,
            ", ".join(one.operators) + (f" below opset {one.opset_below}" if one.opset_below else ""),
            one.text,
            "; ".join(map(str, one.examples)),
            one.practice,
        ]
        for one in hazards().values()
    ]
    return markdown_table(["class", "operators", "effect", "smallest input, in float", "in practice"], rows)


def replace_table(page: str, mark: str, table: str) -> str:
    """Return the page with another table between `<!-- mark -->` and `<!-- end -->`."""
    pattern = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- end -->)", re.DOTALL)
    return pattern.sub(lambda match: f"{match[1]}\n{table}\n{match[2]}", page)


def main() -> None:
    """Write the tables into the page; the table of results is only written if results are given."""
    page = replace_table(PAGE.read_text(encoding="utf-8"), "classes", class_table())
    if sys.argv[1:]:
        page = replace_table(
            page, "results", "".join(render(read_results_of_one_corpus([Path(name) for name in sys.argv[1:]])))
        )
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
