"""Mutants of the pass: wrong graph optimizers, each of which a case of the corpus must detect.

Most mutants are the suite's implementation of the pass (`Elimination`) with one step replaced by a wrong function of
these modules. Many of the functions have a parameter `site`: an ArgMax together with the operator before it, which the
pass may remove. The modules are named for the kind of fault: the pass applies in the wrong places (`applicability`), it
misreads the graph (`graph_structure`) or what is near the pair (`neighbours`), it damages the model (`damage`), or it
also simplifies other nodes (`other_simplifications`). `general_optimizers` has mutants that do not implement the pass,
but remove other operators before ArgMax. `correct_variants` contains correct graph optimizers as controls.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from checks.mutation.pass_mutants.pass_mutant import PassMutant

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PassMutant", "pass_mutants"]


@cache
def pass_mutants() -> Mapping[str, tuple[PassMutant, ...]]:
    """Return all mutants of the pass, by theme."""
    from checks.mutation.pass_mutants.applicability import AXES, CHAINS, DOMAINS, LIMITS, PREDICATE
    from checks.mutation.pass_mutants.damage import CLEARED, INTERFACE, MUTATION, PRESERVATION
    from checks.mutation.pass_mutants.general_optimizers import GENERAL
    from checks.mutation.pass_mutants.graph_structure import CAPTURES, FUNCTIONS, SCOPES, USES
    from checks.mutation.pass_mutants.neighbours import DECLARED, DEFAULTS, EQUAL_SIZES, READ, SPARSE
    from checks.mutation.pass_mutants.other_simplifications import TOOLS

    return {
        "predicate": PREDICATE,
        "axis": AXES,
        "uses": USES,
        "scopes": SCOPES,
        "captures": CAPTURES,
        "chains": CHAINS,
        "limits": LIMITS,
        "domains": DOMAINS,
        "functions": FUNCTIONS,
        "interface": INTERFACE,
        "preservation": PRESERVATION,
        "mutation": MUTATION,
        "tools": TOOLS,
        "declared": DECLARED,
        "sparse": SPARSE,
        "defaults": DEFAULTS,
        "read": READ,
        "equal_sizes": EQUAL_SIZES,
        "fields": CLEARED,
        "general": GENERAL,
    }
