"""Cases of the pass eliminate_nop_monotone_argmax.

The pass removes Log, Exp, Sqrt, Softmax or LogSoftmax if ArgMax is the only consumer of its result, because these
operators do not change the index of the maximum. In this package, *the operator* is one of these five, and *the pair*
is the operator followed by ArgMax. Most families are texts, whose form `case_texts` describes; `model_changes` has the
parts of their models that have no text form. The other families are modules with a function `cases`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from generators.eliminate_nop_monotone_argmax import (
    axes,
    base,
    chains,
    combined,
    constants,
    contexts,
    elsewhere,
    fields,
    hazard_cases,
    invalid_models,
    long_chains,
    neighbours,
    node,
    not_injective,
    other_operators,
    preservation,
    surroundings,
    types_and_shapes,
)
from generators.eliminate_nop_monotone_argmax.case_texts import read_cases
from generators.eliminate_nop_monotone_argmax.model_changes import CHANGES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.corpus.cases.case import Case

FAMILIES = (
    node,
    base,
    other_operators,
    axes,
    chains,
    long_chains,
    contexts,
    preservation,
    fields,
    surroundings,
    constants,
    types_and_shapes,
    combined,
    neighbours,
    not_injective,
    elsewhere,
    hazard_cases,
    invalid_models,
)
"""Modules with cases."""

TEXTS = ("uses", "subgraphs", "interface", "operator_domains", "function_bodies")
"""Names of the texts with cases."""


def cases() -> Iterator[Case]:
    """Yield all cases of the pass."""
    for name in TEXTS:
        yield from read_cases(name, CHANGES.get(name))
    for family in FAMILIES:
        yield from family.cases()
