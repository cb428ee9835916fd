"""Text that was read or comes from subjects, made fit to be shown."""

from __future__ import annotations

import re

_UNFIT = re.compile(
    "[^\t\n\x20-\x7e\xa0-\u200a\u2010-\u2027\u2030-\u2065\u2070-\ud7ff\ue000-\ufefe\uff00-\uffef\U00010000-\U000effff]"
)
"""What XML may not contain, and what a reader cannot see or would be misled by: controls, directions, surrogates."""


def visible(text: str) -> str:
    r"""A text with unfit characters as escapes: `\x00`, `\u202e`."""
    return _UNFIT.sub(lambda found: _escape(ord(found[0])), text)


def one_line(text: str) -> str:
    """The same, in one line."""
    return " ".join(visible(text).split())


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
