"""Printing: each line that a command prints, with escapes in place of control characters.

Text from a file or a subject could otherwise control the terminal, or contain a line that looks like one of the
command. `scripts/check_prints.py` finds output that does not pass through this module.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from conformance.serialization.text import escape_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MAX_TABLE_WIDTH = 1000
"""Largest width of a table outside of a terminal, in characters; a table is as wide as its content."""


def print_line(text: str, *, err: bool = False) -> None:
    """Print a text as one line, to standard error if `err` is set."""
    typer.echo(escape_line(text), err=err)


def print_lines(text: str, *, err: bool = False) -> None:
    """Print a text of several lines; the caller has escaped the line ends in texts of others."""
    for line in text.splitlines():
        print_line(line, err=err)


def print_progress(text: str) -> None:
    """Show a text in the last line of a terminal on standard error; an empty text removes the line."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{escape_line(text)}")
        sys.stderr.flush()


def print_styled(console: Console, *parts: str | tuple[str, str]) -> None:
    """Print a line of texts on a console; a pair is a text and its style."""
    from rich.text import Text

    pairs = [(part, "") if isinstance(part, str) else part for part in parts]
    console.print(Text.assemble(*((escape_line(text), style) for text, style in pairs)), soft_wrap=True)


def print_table(console: Console, table: Table) -> None:
    """Print a table; outside of a terminal with its full width, so that no id or version is cut.

    The caller has escaped the texts of others in its cells.
    """
    if not console.is_terminal:
        console.width = MAX_TABLE_WIDTH
    console.print(table)
