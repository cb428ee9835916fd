"""Clauses: the normative statements of the specification that the suite tests.

Each TOML file in this package has the clauses of one operator or pass. A clause has an id (`adam.v_new`), a text in our
words, a source for readers, and the passages of the specification as character ranges.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

_FAMILY = "family"
"""Key of a TOML file that holds the display name of its operator or pass."""

_BACKEND_FAMILY = "family_of_backends"
"""Key of a TOML file that holds another display name for what its clauses test on backends."""

_NAMES = frozenset((_FAMILY, _BACKEND_FAMILY))


@dataclass(frozen=True)
class Passage:
    """A range of characters in a document of the specification, identified by its digest.

    The words themselves are not copied into this repository.

    Attributes:
        document: an operator schema (`onnx.defs ai.onnx ArgMax-13`), a file of an installed package
            (`onnx onnx.proto`), or a file or page that no package contains (`onnx/onnx v1.22.0 docs/IR.md`).
        part: part of the document. For an operator: `summary`, `signature`, or one attribute, input, output or type
            constraint (`attribute alpha`); offsets count from its start. Otherwise: section, message or function.
        start: offset of the first character.
        end: offset after the last character.
        sha256: digest of the characters in UTF-8.
    """

    document: str
    part: str
    start: int
    end: int
    sha256: str

    def found_in(self, text: str) -> str | None:
        """Return the passage's words if `text` contains them, else None.

        The search starts at the passage's offsets. In other versions of the text, the words can be elsewhere.
        """
        length = self.end - self.start
        places = (self.start, *range(len(text) - length + 1))
        return next((found for at in places if text_digest(found := text[at : at + length]) == self.sha256), None)


class Conclusion(StrEnum):
    """The support of the passages of a clause for its text. No `must` case rests on a clause of the last two kinds."""

    STATED = "stated"
    FOLLOWS = "follows"
    INTERPRETATION = "interpretation"
    NOT_IN_ONNX = "not in ONNX"


@dataclass(frozen=True)
class Clause:
    """A normative statement.

    Attributes:
        id: stable name: the operator or pass, a dot, and the statement.
        source: citation for readers.
        text: the statement in our words.
        passages: exact citations that programs can check. It is empty if no document of ONNX contains the statement.
        conclusion: how the passages support the text.
        reason: why, as one or two sentences.
        output: the output that is wrong if a backend violates the clause; empty if it can be any output.
        is_of_pass: whether only a graph optimizer can violate the clause.
        attributes: for attributes, the values of the nodes that can violate the clause: numbers as text, `unset` or
            `negative`. Without an entry, any node can.
    """

    id: str
    source: str
    text: str
    passages: tuple[Passage, ...] = ()
    conclusion: Conclusion = Conclusion.NOT_IN_ONNX
    reason: str = ""
    output: str = ""
    is_of_pass: bool = False
    attributes: dict[str, list[str]] = field(default_factory=dict, hash=False)

    def is_about(self, attributes: Mapping[str, int | float | str]) -> bool:
        """Return whether a node with these attributes can violate the clause."""
        return all(
            not {_attribute_text(attributes.get(name)), _sign_text(attributes.get(name))}.isdisjoint(values)
            for name, values in self.attributes.items()
        )


def _attribute_text(value: float | str | None) -> str:
    return "unset" if value is None else str(value)


def _sign_text(value: float | str | None) -> str:
    return "negative" if isinstance(value, int | float) and value < 0 else ""


def text_digest(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, in hexadecimal."""
    return sha256(text.encode()).hexdigest()


@cache
def clauses() -> Mapping[str, Clause]:
    """Return all clauses by id, in file order."""
    entries = ((id, entry) for table in _tables() for id, entry in table.items() if id not in _NAMES)
    return {id: msgspec.convert({"id": id, **entry}, Clause) for id, entry in entries}


@cache
def family_titles() -> Mapping[str, str]:
    """Return the display name of an operator or pass for each first part of a clause id."""
    return {id.partition(".")[0]: table[_FAMILY] for table in _tables() for id in table if id not in _NAMES}


@cache
def backend_family_titles() -> Mapping[str, str]:
    """Return the display names on backends by those of `family_titles`, where they differ."""
    return {table[_FAMILY]: table[_BACKEND_FAMILY] for table in _tables() if _BACKEND_FAMILY in table}


@cache
def _tables() -> tuple[Mapping[str, Any], ...]:
    files = sorted((file for file in resources.files(__name__).iterdir() if file.name.endswith(".toml")), key=str)
    return tuple(tomllib.loads(file.read_text(encoding="utf-8")) for file in files)
