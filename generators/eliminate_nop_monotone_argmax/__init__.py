"""Cases of the pass eliminate_nop_monotone_argmax.

The pass removes Log, Exp, Sqrt, Softmax or LogSoftmax if ArgMax is the only consumer of its result, because these
operators do not change the index of the maximum. In this package, *the operator* is one of these five, and *the pair*
is the operator followed by ArgMax. Most families are texts, whose form `case_texts` describes; `model_changes` has the
parts of their models that have no text form, and `covering_arrays` their factors. The other families are modules with a
function `cases`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from generators.eliminate_nop_monotone_argmax import (
    fields,
    hazard_cases,
    invalid_models,
    repeated_nodes,
)
from generators.eliminate_nop_monotone_argmax.case_texts import read_cases
from generators.eliminate_nop_monotone_argmax.covering_arrays import ARRAYS
from generators.eliminate_nop_monotone_argmax.model_changes import CHANGES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.corpus.cases.case import Case

FAMILIES = (
    repeated_nodes,
    fields,
    hazard_cases,
    invalid_models,
)
"""Modules with cases."""

TEXTS = (
    "uses",
    "subgraphs",
    "interface",
    "operator_domains",
    "function_bodies",
    "axes",
    "base",
    "other_operators",
    "chains",
    "long_chains",
    "constants",
    "types_and_shapes",
    "preservation",
    "not_injective",
    "elsewhere",
    "surroundings",
    "contexts",
    "node",
    "combined",
    "neighbours",
    "other_producers",
)
"""Names of the texts with cases."""


def cases() -> Iterator[Case]:
    """Yield all cases of the pass."""
    for name in TEXTS:
        yield from read_cases(Path(__file__).with_name(f"{name}.txt"), CHANGES.get(name), ARRAYS.get(name))
    for family in FAMILIES:
        yield from family.cases()
