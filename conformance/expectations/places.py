"""Where the `[[expect]]` entries of an expectations file and their strings stand in its text.

TOML readers forget places. This scanner finds them by tokens, and its finding counts only if it is what the reader has
read; a file that is written in another form has no places, and is still read.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TOKEN = re.compile(
    r"(?P<string>\"\"\"(?:\\.|(?!\"\"\").)*\"\"\"|'''.*?'''|\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*')"
    r"|(?P<comment>\#[^\n]*)"
    r"|(?P<header>(?m:^)[ \t]*(?P<double>\[)?\[[ \t]*(?P<name>[\w.]+)[ \t]*\]\]?(?=[ \t]*(?:\#|\r?\n|\Z)))"
    r"|(?P<key>(?m:^)[ \t]*(?P<word>[\w.]+)[ \t]*=)"
    r"|(?P<open>[\[{])|(?P<close>[\]}])|\s+|.",
    re.DOTALL,
)


@dataclass(frozen=True)
class Literal:
    """A string of the file: its value, and where its quotes begin and end."""

    value: str
    start: int
    end: int


@dataclass
class EntryPlace:
    """One `[[expect]]` entry.

    Attributes:
        start: where its line begins.
        end: where its last line ends, the line's end included.
        strings: the strings of each of its keys, in order.
        ends: where the value of each key ends.
    """

    start: int
    end: int
    strings: dict[str, list[Literal]] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)


def entry_places(text: str, entries: Sequence[Mapping[str, Any]]) -> list[EntryPlace] | None:
    """The places of the entries that a reader has found in a text, or None where the text is written otherwise."""
    found = _scan(text)
    if len(found) != len(entries):
        return None
    agree = all(
        [literal.value for literal in place.strings.get(key, [])] == _strings(entry.get(key, []))
        for place, entry in zip(found, entries, strict=True)
        for key in ("cases", "except", "verdict")
    )
    return found if agree else None


def line_of(text: str, offset: int) -> int:
    """The number of the line that an offset is in, from 1."""
    return text.count("\n", 0, offset) + 1


def _scan(text: str) -> list[EntryPlace]:
    found: list[EntryPlace] = []
    key, depth = "", 0
    for token in _TOKEN.finditer(text):
        if token["comment"] or token[0].isspace():
            continue
        if token["header"] and not depth:
            key = ""
            if token["double"] and token["name"] == "expect":
                found.append(EntryPlace(token.start(), 0))
            elif not token["name"].startswith("expect."):
                return []
        elif token["key"] and not depth:
            key = token["word"]
        elif token["string"] and found and key:
            found[-1].strings.setdefault(key, []).append(_literal(token))
        depth += bool(token["open"]) - bool(token["close"])
        if found:
            found[-1].ends[key] = token.end()
            found[-1].end = _line_end(text, token.end())
    return found


def _literal(token: re.Match[str]) -> Literal:
    try:
        value = tomllib.loads(f"value = {token[0]}\n")["value"]
    except ValueError:
        value = ""
    return Literal(str(value), token.start(), token.end())


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end + 1


def _strings(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
