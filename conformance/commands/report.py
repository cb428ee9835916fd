"""`onnx-conformance report`: what a person or a machine reads, from results files alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conformance.commands.options import Badge, Ctrf, Hazards, Html, Json, Junit, Markdown


def report(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS…", help="results.jsonl files; the HTML report compares two of one subject."),
    ],
    html: Html = None,
    junit: Junit = None,
    ctrf: Ctrf = None,
    markdown: Markdown = None,
    badge: Badge = None,
    json: Json = None,
    hazards: Hazards = None,
) -> None:
    """Render results for people and for machines; name at least one file to write."""
    from conformance.errors import UsageError
    from conformance.report.writing import Outputs, write_reports

    outputs = Outputs(html, junit, ctrf, markdown, badge, json, hazards)
    if not outputs.wanted:
        raise UsageError("No report is asked for.", "Name a file to write, as with --html FILE.")
    outputs.check()
    write_reports(results, outputs)
    for path in outputs.wanted.values():
        typer.echo(f"Wrote {path}.")
