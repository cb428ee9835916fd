"""The clauses: every normative statement that the suite holds backends to, as data in TOML files by operator."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


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
    files = sorted((file for file in resources.files(__name__).iterdir() if file.name.endswith(".toml")), key=str)
    tables = (tomllib.loads(file.read_text(encoding="utf-8")) for file in files)
    return {id: Clause(id, **entry) for table in tables for id, entry in table.items()}
