"""What failures that look alike have in common: their message without the numbers that differ from case to case."""

from __future__ import annotations

import re

LONGEST = 160
_NUMBER = re.compile(r"[-+]?(?:0x[0-9a-fA-F]+|\b\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\b|\b(?:nan|inf)\b)")
_LIST = re.compile(r"[\[(]\s*(?:#\s*,?\s*)+[\])]")
_SPACE = re.compile(r"\s+")


def signature(message: str) -> str:
    """A message in one line with `#` for every number and for every list of numbers."""
    line = _SPACE.sub(" ", message).strip()
    return _LIST.sub("[#]", _NUMBER.sub("#", line))[:LONGEST]
