"""The clauses: every normative statement that the suite holds backends to, as data in TOML files by operator."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_FAMILY = "family"
"""The key under which a file says what it is about."""


@dataclass(frozen=True)
class Clause:
    """One normative statement.

    Attributes:
        id: stable name, the operator's and then the statement's.
        source: where the specification says it.
        text: what it says, in our words.
    """

    id: str
    source: str
    text: str


@cache
def clauses() -> Mapping[str, Clause]:
    """All clauses by id, in the order of their files."""
    return {id: Clause(id, **entry) for table in _tables() for id, entry in table.items() if id != _FAMILY}


@cache
def families() -> Mapping[str, str]:
    """What the first part of a clause's id is called in prose: the operator or pass that its file is about."""
    return {id.partition(".")[0]: table[_FAMILY] for table in _tables() for id in table if id != _FAMILY}


@cache
def _tables() -> tuple[Mapping[str, Any], ...]:
    files = sorted((file for file in resources.files(__name__).iterdir() if file.name.endswith(".toml")), key=str)
    return tuple(tomllib.loads(file.read_text(encoding="utf-8")) for file in files)
