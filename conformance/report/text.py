"""Text that comes from subjects, in a format that reads some of its characters as its own."""

from __future__ import annotations

import re

from conformance.boundary.text import one_line

_SPECIAL = re.compile(r"[^\w\s,./()=\-]|(?<=www)\.|(?<!\w)_|_(?!\w)", re.ASCII)


def escaped(text: str, longest: int = 300) -> str:
    """A text of any kind as one line of Markdown that shows it and does nothing else."""
    line = one_line(text)
    line = line if len(line) <= longest else line[:longest] + "…"
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", line)
