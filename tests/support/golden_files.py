"""What the report formats make of the results in `report/golden/`; as a program this writes it there for review."""

from __future__ import annotations

import json
from pathlib import Path

from runs_in_memory import whole

from conformance.report.diff_text import as_markdown, as_text
from conformance.report.formats import annotations, badge, ctrf, junit, markdown
from conformance.report.formats import json as summary_json
from conformance.results.diff import differences
from conformance.results.file import Results, read

GOLDEN = Path(__file__).parents[1] / "report" / "golden"
FORMATS = {
    "annotations.txt": whole(annotations.render),
    "badge.svg": whole(badge.render),
    "ctrf.json": whole(ctrf.render),
    "junit.xml": whole(junit.render),
    "markdown.md": whole(markdown.render),
    "summary.json": whole(summary_json.render),
}


def before() -> Results:
    """A run of three subjects on six cases."""
    return read(GOLDEN / "before.jsonl")


def after() -> Results:
    """The next one, on one more, with expectations, a verdict that varies, and text that no format takes as it is."""
    return read(GOLDEN / "after.jsonl")


def rendered() -> dict[str, str]:
    """Every golden file's text by its name."""
    found = differences(before(), after())
    return {
        **{name: render([after()]) for name, render in FORMATS.items()},
        "diff.json": json.dumps(found, indent=1) + "\n",
        "diff.md": as_markdown(found),
        "diff.txt": as_text(found),
    }


if __name__ == "__main__":
    for name, text in rendered().items():
        (GOLDEN / name).write_text(text, encoding="utf-8")
