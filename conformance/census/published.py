"""Largest errors that others have published of functions that runtimes may be made of, for comparison."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.census.findings import CellFindings


@dataclass(frozen=True)
class Figure:
    """What is published of one function.

    Attributes:
        operator: the operator that computes it.
        type: the type of its arguments.
        of: what it is of, in words.
        ulp: the largest error of all values in ULP, in decimals as published.
        source: where it is published.
        wrong: how many values are not correctly rounded, where that is published.
        at: the argument of the largest error, where that is published.
    """

    operator: str
    type: str
    of: str
    ulp: str
    source: str
    wrong: int | None = None
    at: float | None = None

    def is_met(self, found: CellFindings) -> bool:
        """Whether the largest error that was counted is at the same argument or, where none is published, as large."""
        extreme = found.whole["extremes"].get("error")
        if extreme is None or found.sampled or (self.operator, self.type) != (found.cell.operator, found.cell.type):
            return False
        if self.at is not None:
            return found.value(extreme["at"]) == self.at
        digits = len(self.ulp.partition(".")[2])
        return f"{extreme['value']:.{digits}f}" == self.ulp


@cache
def figures() -> tuple[Figure, ...]:
    """All of published.toml."""
    content = tomllib.loads(resources.files("conformance.census").joinpath("published.toml").read_text("utf-8"))
    return tuple(
        Figure(**figure | ({"at": float.fromhex(figure["at"])} if "at" in figure else {}))
        for figure in content["figure"]
    )
