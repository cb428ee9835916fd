"""Hazards: classes of inputs for which even a correct application of the pass changes the index, because of rounding.

The classes are data in `hazards.toml`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from conformance.base.serialization.decoding import read_own_toml

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class HazardExample:
    """A smallest input that shows a hazard.

    Attributes:
        operator: operator before ArgMax.
        input: the input, as text.
        before: index that ArgMax returns before the rewrite.
        after: index that ArgMax returns after the rewrite.
        on: the runtime that returns the index `before`; empty if all runtimes return it.
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
    """A hazard: a class of inputs for which the pass changes the index.

    Attributes:
        id: name of the class in case.json and in results.
        operators: op_types of the removed operators that have this hazard.
        text: description of the effect.
        practice: in which models and data the effect occurs in practice.
        examples: smallest inputs in type float, for the operators that need their own example.
        opset_below: the hazard exists only in models with an opset version below this number; None for all versions.
    """

    id: str
    operators: tuple[str, ...]
    text: str
    practice: str
    examples: tuple[HazardExample, ...]
    opset_below: int | None = None

    def affects(self, op_type: str, opset: int) -> bool:
        """Return whether removing the operator `op_type` before an ArgMax has this hazard in this opset version."""
        return op_type in self.operators and (self.opset_below is None or opset < self.opset_below)


@cache
def hazards() -> Mapping[str, Hazard]:
    """Return all hazards by id, in the order of the file."""
    entries = read_own_toml("conformance.corpus.passes", "hazards.toml")
    return {id: msgspec.convert({"id": id, **entry}, Hazard) for id, entry in entries.items()}
