"""`onnx-conformance report`: what a person or a machine reads, from results files alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conformance.commands.options import with_outputs
from conformance.commands.terminal import say_written
from conformance.report.outputs import Outputs


@with_outputs
def report(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS…", help="results.jsonl files; the HTML report compares two of one subject."),
    ],
    *,
    outputs: Outputs,
) -> None:
    """Render results for people and for machines; name at least one file to write."""
    from conformance.errors import UsageError
    from conformance.report.writing import write_reports

    if not outputs.paths:
        raise UsageError("No report is asked for.", "Name a file to write, as with --html FILE.")
    outputs.check()
    write_reports(results, outputs)
    say_written(outputs)
