"""Preparation of text from files and subjects for printing: escapes, line ends, Markdown and lengths."""

from __future__ import annotations

import re

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


def first_line(error: Exception) -> str:
    """Return the first line of the text of an error; the name of its class if it has no text."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def shorten_middle(text: str, max_length: int) -> str:
    """Return a text with at most `max_length` characters; an ellipsis replaces the middle of a longer text.

    Messages of runtimes often end with the cause, so the end of the text must remain.
    """
    if len(text) <= max_length:
        return text
    end = (max_length - 1) // 2
    return f"{text[: max_length - 1 - end]}…{text[len(text) - end :]}"


def ratio_text(ratio: float, digits: int) -> str:
    """Return a ratio with a number of digits, and with more digits if a ratio above 1 would otherwise not show it."""
    return next(text for most in range(digits, 18) if float(text := f"{ratio:.{most}g}") > 1 or not ratio > 1)


def escape_markdown(text: str, max_length: int = 300) -> str:
    """Return a text as one line of Markdown that displays it literally, shortened to `max_length` characters."""
    line = shorten_middle(one_line(text), max_length)
    return _MARKDOWN_SPECIAL.sub(lambda found: f"&#{ord(found[0])};", line)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
