"""What verbs say on the terminal."""

from __future__ import annotations

import typer

from conformance.boundary.text import visible
from conformance.files.regular import is_standard_output
from conformance.report.outputs import Outputs


def say(text: str, *, nl: bool = True, err: bool = False) -> None:
    """Write text, of which a part may have been read: no character of it does anything to a terminal.

    Args:
        nl: whether the line ends.
        err: whether it goes to standard error.
    """
    typer.echo(visible(text), nl=nl, err=err)


def say_written(outputs: Outputs) -> None:
    """Say which reports were written."""
    for path in outputs.paths.values():
        if not is_standard_output(path):
            say(f"Wrote {path}.", err=outputs.take_standard_output)
