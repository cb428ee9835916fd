"""Text for printing: escapes, line ends, Markdown and lengths, and each line that a command prints.

Text from a file or a subject could otherwise control the terminal, or contain a line that looks like one of the
command. `checks/measurements/check_prints.py` finds output that does not pass through this module.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from contextlib import contextmanager
from decimal import Decimal
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path


_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff0-\uffff\U000e0000-\U0010ffff]"
)
"""Characters that XML forbids, that are invisible, or that change the direction of text; and surrogates."""

_MARKDOWN_SPECIAL = re.compile(
    r"[^\w\s,./()=\-':]|:(?=//|[\w+-]+:)|(?i:(?<=mailto)|(?<=xmpp)):|(?<=www)\.|(?<!\w)_|_(?!\w)", re.ASCII
)
"""Characters that Markdown or a code host interprets. A colon matters only in an address and around an emoji's name."""


def escape_unprintable(text: str) -> str:
    r"""Return a text in which unprintable characters are replaced by escapes such as `\x00` and `\u202e`."""
    return _UNPRINTABLE.sub(lambda found: _escape(ord(found[0])), text)


def escape_line(text: str) -> str:
    r"""Return a text without line ends; they and unprintable characters are replaced by escapes such as `\n`."""
    return escape_unprintable(text).replace("\n", "\\n")


def one_line(text: str) -> str:
    """Return a text as one line; unprintable characters are replaced by escapes."""
    return " ".join(escape_unprintable(text).split())


def first_line(error: BaseException) -> str:
    """Return the first line of the text of an error; the name of its class if it has no text."""
    return next(iter(str(error).splitlines()), type(error).__name__)


MAX_NAMES = 3
"""Number of names in a `name_list`."""


def resume_option(path: Path) -> str:
    """Return the option that continues a command with a file, quoted for a shell."""
    return shlex.join(["--resume", str(path)])


def count_cases(count: int) -> str:
    """Return a number of cases as a phrase: `1 case`, `2 cases`."""
    return f"{count} case{'s' * (count != 1)}"


def name_list(names: Collection[str]) -> str:
    """Return the first names in alphabetical order, and the number of the others, as a phrase."""
    ordered = sorted(names)
    *first, last = ordered[:MAX_NAMES]
    if more := ordered[MAX_NAMES:]:
        return f"{', '.join([*first, last])} and {len(more)} more"
    return f"{', '.join(first)} and {last}" if first else last


def shorten_end(text: str, max_length: int) -> str:
    """Return the first `max_length` characters of a text, and an ellipsis if it is longer."""
    return text if len(text) <= max_length else f"{text[:max_length]}…"


def shorten_middle(text: str, max_length: int) -> str:
    """Return a text with at most `max_length` characters; an ellipsis replaces the middle of a longer text.

    Messages of runtimes often end with the cause, so the end of the text must remain.
    """
    if len(text) <= max_length:
        return text
    end = (max_length - 1) // 2
    return f"{text[: max_length - 1 - end]}…{text[len(text) - end :]}"


MAX_PLAIN_EXPONENT = 15
MIN_PLAIN_EXPONENT = -6
"""Exponents of ten with which `plain_decimal` writes all digits of a number."""


def plain_decimal(text: str) -> str:
    """Return a decimal as people write it, such as 100 for `1e+02` and 1e-9 for `1e-09`; other texts stay."""
    mantissa, separator, exponent = text.partition("e")
    if not separator or not exponent.lstrip("+-").isdigit():
        return text
    power = int(exponent)
    return f"{Decimal(text):f}" if MIN_PLAIN_EXPONENT <= power <= MAX_PLAIN_EXPONENT else f"{mantissa}e{power}"


def ratio_text(ratio: float, digits: int) -> str:
    """Return a ratio with a number of digits, and with more digits if a ratio above 1 would otherwise not show it."""
    return next(text for most in range(digits, 18) if float(text := f"{ratio:.{most}g}") > 1 or not ratio > 1)


def escape_markdown(text: str, max_length: int = 300) -> str:
    """Return a text as one line of Markdown that displays it literally, shortened to `max_length` characters."""
    line = shorten_middle(one_line(text), max_length)
    return _MARKDOWN_SPECIAL.sub(lambda found: f"&#{ord(found[0])};", line)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


def _echo(line: str, *, err: bool, color: bool | None = None) -> None:
    """Print a line; if nobody reads the output any more, discard it and what follows, so that the verdict remains."""
    import typer  # late: text is also printed to files

    try:
        typer.echo(line, err=err, color=color)
    except BrokenPipeError:
        discard_output(err=err)


def discard_output(*, err: bool) -> None:
    """Discard what is written to standard output or error from now on, and what Python still holds of it.

    Otherwise Python writes what it holds again when it ends, and fails with an exit status of its own.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, (sys.stderr if err else sys.stdout).fileno())
    os.close(nowhere)


def print_line(text: str, *, err: bool = False) -> None:
    """Print a text as one line, to standard error if `err` is set."""
    _echo(escape_line(text), err=err)


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
    _echo(line, err=err, color=False if os.environ.get("NO_COLOR") else None)


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
    import typer

    words = style.split()
    color = next((word for word in words if word not in {"bold", "dim"}), None)
    return typer.style(text, fg=color, bold="bold" in words or None, dim="dim" in words or None) if words else text
