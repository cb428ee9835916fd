"""Cases of eliminate_nop_monotone_argmax: one module for each family, each with a function `cases`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generators.eliminate_nop_monotone_argmax import (
    axes,
    base,
    chains,
    constants,
    contexts,
    domains,
    fields,
    functions,
    hazards,
    interface,
    invalid,
    long_chains,
    node,
    other_operators,
    preservation,
    subgraphs,
    surroundings,
    types_and_shapes,
    uses,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.corpus.case import Case

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
    domains,
    functions,
    preservation,
    fields,
    surroundings,
    constants,
    types_and_shapes,
    hazards,
    invalid,
)


def cases() -> Iterator[Case]:
    """All cases of the pass."""
    for family in FAMILIES:
        yield from family.cases()
