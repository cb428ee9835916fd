"""The classes of inputs on which the pass changes the answer although it does what it promises: `hazards.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class HazardExample:
    """A smallest input of a class: ArgMax gives the index `before` the rewrite and `after` it.

    Attributes:
        on: the runtime that gives `before`, where not every one does.
    """

    operator: str
    input: str
    before: int
    after: int
    on: str = ""

    def __str__(self) -> str:
        return f"{self.operator} of {self.input}: {self.before} → {self.after}{f' on {self.on}' if self.on else ''}"


@dataclass(frozen=True)
class Hazard:
    """A class of inputs.

    Attributes:
        id: its name in case.json and in results.
        operators: the operators before ArgMax that it befalls.
        text: what happens.
        practice: when it happens in practice.
        examples: one for each operator that needs its own, in float.
        opset_below: it befalls models of lower opsets only; None for all.
    """

    id: str
    operators: tuple[str, ...]
    text: str
    practice: str
    examples: tuple[HazardExample, ...]
    opset_below: int | None = None

    def befalls(self, op_type: str, opset: int) -> bool:
        """Whether an operator of this opset, taken away before an ArgMax, has this hazard."""
        return op_type in self.operators and (self.opset_below is None or opset < self.opset_below)


@cache
def hazards() -> Mapping[str, Hazard]:
    """Every class by its id, in the order of the file."""
    text = resources.files(__package__).joinpath("hazards.toml").read_text(encoding="utf-8")
    return {id: _hazard(id, **entry) for id, entry in tomllib.loads(text).items()}


def _hazard(id: str, operators: list[str], examples: list[dict[str, Any]], **rest: Any) -> Hazard:
    return Hazard(id, tuple(operators), examples=tuple(HazardExample(**example) for example in examples), **rest)
