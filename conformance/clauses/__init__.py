"""The clauses: every normative statement that the suite holds backends to, as data in TOML files by operator."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_FAMILY = "family"
"""The key under which a file says what it is about."""


@dataclass(frozen=True)
class Passage:
    """Where the specification says something: a stretch of a text, known by its digest, since it is not copied here.

    Attributes:
        document: the text: an operator's schema (`onnx.defs ai.onnx ArgMax-13`), a file of an installed package
            (`onnx onnx.proto`), or a file or page that no package carries (`onnx/onnx v1.22.0 docs/IR.md`).
        part: what of it: of an operator its `summary`, its `signature`, or one attribute, input, output or type
            constraint (`attribute alpha`), and the offsets are in that; of others the section, message or function.
        start: the first character's offset.
        end: the offset after the last character.
        sha256: the digest of the stretch, in UTF-8.
    """

    document: str
    part: str
    start: int
    end: int
    sha256: str

    def found_in(self, text: str) -> str | None:
        """The stretch, at its offsets or else anywhere in a text that has been added to; None where it is not."""
        length = self.end - self.start
        places = (self.start, *range(len(text) - length + 1))
        return next((found for at in places if digest(found := text[at : at + length]) == self.sha256), None)


@dataclass(frozen=True)
class Clause:
    """One normative statement.

    Attributes:
        id: stable name, the operator's and then the statement's.
        source: where the specification says it, for readers.
        text: what it says, in our words.
        passages: where it says so, for whoever checks; none where nothing that ONNX publishes does.
    """

    id: str
    source: str
    text: str
    passages: tuple[Passage, ...] = ()


def digest(text: str) -> str:
    """The SHA-256 of a text in UTF-8, as a passage's locator has it."""
    return sha256(text.encode()).hexdigest()


@cache
def clauses() -> Mapping[str, Clause]:
    """All clauses by id, in the order of their files."""
    return {id: _clause(id, entry) for table in _tables() for id, entry in table.items() if id != _FAMILY}


@cache
def families() -> Mapping[str, str]:
    """What the first part of a clause's id is called in prose: the operator or pass that its file is about."""
    return {id.partition(".")[0]: table[_FAMILY] for table in _tables() for id in table if id != _FAMILY}


def _clause(id: str, entry: Mapping[str, Any]) -> Clause:
    passages = tuple(Passage(**passage) for passage in entry.get("passages", ()))
    return Clause(id, entry["source"], entry["text"], passages)


@cache
def _tables() -> tuple[Mapping[str, Any], ...]:
    files = sorted((file for file in resources.files(__name__).iterdir() if file.name.endswith(".toml")), key=str)
    return tuple(tomllib.loads(file.read_text(encoding="utf-8")) for file in files)
