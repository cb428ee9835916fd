"""What verbs say on the terminal."""

from __future__ import annotations

import typer

from conformance.text import visible


def say(text: str, *, nl: bool = True, err: bool = False) -> None:
    """Write text, of which a part may have been read: no character of it does anything to a terminal.

    Args:
        nl: whether the line ends.
        err: whether it goes to standard error.
    """
    typer.echo(visible(text), nl=nl, err=err)
