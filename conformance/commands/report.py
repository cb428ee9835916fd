"""`onnx-conformance report`: what a person or a machine reads, from results files alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    results: Annotated[
        list[Path], typer.Argument(metavar="RESULTS…", help="results.jsonl files; two of one subject are compared.")
    ],
    html: Annotated[Path, typer.Option(metavar="FILE", help="Write the report there.")],
) -> None:
    """Render results as one self-contained HTML file."""
    from conformance.reporting import write_html

    write_html(results, html)
    typer.echo(f"Wrote {html}.")
