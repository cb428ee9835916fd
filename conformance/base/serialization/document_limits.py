"""Limits of documents: depth and number of values, counted in the bytes before a decoder builds objects.

A decoder needs up to 100 bytes of memory for each byte of a hostile document, and recursion for each level.
`decoding` and `codec` check every document here. The readers of files limit the size before they read.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH = 100
"""Largest number of objects and lists around a value; documents of the suite have less than 20."""

MAX_VALUES = 2**21
"""Default of the largest number of values of a document; the manifest of the corpus has 90,000."""

_BLOCK_BYTES = 2**20

_COMMON_DEPTH = 8
"""Levels of most documents."""

_STRUCTURE = b'[]{},"'
_OTHERS = bytes(set(range(256)) - set(_STRUCTURE))
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


class DocumentLimitError(ValueError):
    """A document is nested too deeply, or has too many values. The message is the reason, for users."""


def check_limits(content: bytes | bytearray, max_values: int = MAX_VALUES) -> None:
    """Check the depth and the number of values of a JSON document without decoding it.

    A small document with few brackets passes at once. The structure of other documents is read in full.

    Args:
        content: the document; it can be malformed.
        max_values: largest number of commas, lists and objects, which is about the number of values.

    Raises:
        DocumentLimitError: the document exceeds a limit.
    """
    if len(content) <= max_values and content.count(b"[") + content.count(b"{") <= MAX_DEPTH:
        return
    depth = 0
    count = 0
    for structure in _structure_blocks(content):
        count += len(structure.translate(None, b"]}"))
        if count > max_values:
            raise DocumentLimitError(f"it has more than {max_values} values")
        brackets = structure.translate(None, b",")
        if depth + _COMMON_DEPTH <= MAX_DEPTH and not _without_pairs(brackets):
            continue
        depths = [*accumulate(map(_STEPS.__getitem__, brackets), initial=depth)]
        if max(depths) > MAX_DEPTH:
            raise DocumentLimitError(f"it is nested more than {MAX_DEPTH} levels deep")
        depth = depths[-1]


def _without_pairs(brackets: bytes) -> bytes:
    """Return the brackets without the innermost levels; nothing remains of a document of few levels."""
    for _ in range(_COMMON_DEPTH):
        if not brackets:
            break
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    return brackets


def _structure_blocks(content: bytes | bytearray) -> Iterator[bytes]:
    """Yield the commas and brackets of a JSON document that are not in strings, in parts."""
    if b"\\" in content:
        content = content.replace(b"\\\\", b"").replace(b'\\"', b"")
    is_in_string = False
    for start in range(0, len(content), _BLOCK_BYTES):
        structure = content[start : start + _BLOCK_BYTES].translate(None, _OTHERS)
        parts = structure.replace(b'""', b"").split(b'"')  # most strings have no structure
        yield b"".join(parts[is_in_string::2])
        is_in_string ^= len(parts) % 2 == 0
