"""Render all report formats for the results in tests/run/report/golden; run as a program, write the files there."""

from __future__ import annotations

import json
from pathlib import Path

from msgspec import to_builtins
from runs_in_memory import text_renderer

from conformance.run.report.diff import compare_runs, to_markdown, to_text
from conformance.run.report.formats import annotations, badge, ctrf, junit, markdown
from conformance.run.report.formats import json as summary_json
from conformance.run.results.results_file import Results, read_results

GOLDEN = Path(__file__).parents[1] / "run" / "report" / "golden"
FORMATS = {
    "annotations.txt": text_renderer(annotations.render),
    "badge.svg": text_renderer(badge.render),
    "ctrf.json": text_renderer(ctrf.render),
    "junit.xml": text_renderer(junit.render),
    "markdown.md": text_renderer(markdown.render),
    "summary.json": text_renderer(summary_json.render),
}


def run_before() -> Results:
    """Return a run of three subjects on six cases."""
    return read_results(GOLDEN / "before.jsonl")


def run_after() -> Results:
    """Return a later run with one more case, expectations, a varying verdict, and text that formats must escape."""
    return read_results(GOLDEN / "after.jsonl")


def render_golden_files() -> dict[str, str]:
    """Return the text of every golden file by its name."""
    found = compare_runs(run_before(), run_after())
    return {
        **{name: render([run_after()]) for name, render in FORMATS.items()},
        "diff.json": json.dumps(to_builtins(found), indent=1) + "\n",
        "diff.md": to_markdown(found),
        "diff.txt": to_text(found),
    }


if __name__ == "__main__":
    for name, text in render_golden_files().items():
        (GOLDEN / name).write_text(text, encoding="utf-8")
