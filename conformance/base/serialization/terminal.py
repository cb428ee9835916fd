"""Printing: each line that a command prints, with escapes in place of control characters.

Text from a file or a subject could otherwise control the terminal, or contain a line that looks like one of the
command. `checks/measurements/check_prints.py` finds output that does not pass through this module.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from itertools import zip_longest
from typing import TYPE_CHECKING

import typer

from conformance.base.serialization.printable_text import escape_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def print_line(text: str, *, err: bool = False) -> None:
    """Print a text as one line, to standard error if `err` is set."""
    typer.echo(escape_line(text), err=err)


def print_notice(text: str) -> None:
    """Print a sentence about progress or a problem as one line, to standard error."""
    print_line(text, err=True)


def print_lines(text: str, *, err: bool = False) -> None:
    """Print a text of several lines; the caller has escaped the line ends in texts of others."""
    for line in text.splitlines():
        print_line(line, err=err)


def print_progress(text: str) -> None:
    """Show a text in the last line of a terminal on standard error; an empty text removes the line."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{escape_line(text)}")
        sys.stderr.flush()


@contextmanager
def progress_counter(label: str, total: int) -> Iterator[Callable[[str], None]]:
    """Show a progress bar for `total` steps, and yield a function to call with the name of each finished step.

    Nothing is shown if standard error is not a terminal.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # the import takes time
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True, emoji=False), transient=True) as progress:
        task = progress.add_task(label, total=total)
        yield lambda _: progress.update(task, advance=1)


def print_styled(*parts: str | tuple[str, str], err: bool = False) -> None:
    """Print a line of texts; a pair is a text and its style, such as "bold red", which only a terminal shows.

    A terminal shows no styles if the environment variable NO_COLOR is set.
    """
    pairs = [(part, "") if isinstance(part, str) else part for part in parts]
    line = "".join(_style_text(escape_line(text), style) for text, style in pairs)
    typer.echo(line, err=err, color=False if os.environ.get("NO_COLOR") else None)


def print_table(rows: Sequence[Sequence[tuple[str, str]]], left: int, *, err: bool = False) -> None:
    """Print rows of cells as aligned columns; a cell is a text and its style.

    Args:
        rows: the cells of each row; a shorter row ends with empty cells, and nothing is printed for these.
        left: number of columns that are aligned to the left; the other columns are aligned to the right.
        err: whether to print to standard error.
    """
    widths = [max(len(escape_line(text)) for text, _ in column) for column in zip_longest(*rows, fillvalue=("", ""))]
    for row in rows:
        parts: list[str | tuple[str, str]] = []
        end = max((number for number, (text, _) in enumerate(row, 1) if text), default=0)
        for number, ((text, style), width) in enumerate(zip(row[:end], widths, strict=False)):
            space = " " * (width - len(escape_line(text)))
            is_last = number == end - 1
            parts += [(text, style), space * (not is_last)] if number < left else [space, (text, style)]
            parts += ["  "] * (not is_last)
        print_styled(*parts, err=err)


def _style_text(text: str, style: str) -> str:
    words = style.split()
    color = next((word for word in words if word not in {"bold", "dim"}), None)
    return typer.style(text, fg=color, bold="bold" in words or None, dim="dim" in words or None) if words else text
