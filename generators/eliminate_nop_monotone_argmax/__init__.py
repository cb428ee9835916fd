"""Cases of the pass eliminate_nop_monotone_argmax.

The pass removes Log, Exp, Sqrt, Softmax or LogSoftmax if ArgMax is the only consumer of its result, because these
operators do not change the index of the maximum. In this package, *the operator* is one of these five, and *the pair*
is the operator followed by ArgMax. Each module has a family of cases and a function `cases`.
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
    function_bodies,
    hazard_cases,
    interface,
    invalid_models,
    long_chains,
    neighbours,
    node,
    not_injective,
    operator_domains,
    other_operators,
    preservation,
    subgraphs,
    surroundings,
    types_and_shapes,
    uses,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.corpus.cases.case import Case

FAMILIES = (
    node,
    base,
    other_operators,
    axes,
    uses,
    chains,
    long_chains,
    subgraphs,
    contexts,
    interface,
    operator_domains,
    function_bodies,
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
"""Modules with cases, in the order of the corpus."""


def cases() -> Iterator[Case]:
    """Yield all cases of the pass."""
    for family in FAMILIES:
        yield from family.cases()
