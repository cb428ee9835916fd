"""Faulty rewrites: wrong implementations of the pass, each of which a case of the corpus has to notice.

Most are the suite's own implementation with one step replaced. One module for each thing that can be got wrong.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from conformance.deviations.rewrites.fault import FaultyRewrite

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FaultyRewrite", "faulty_rewrites"]


@cache
def faulty_rewrites() -> Mapping[str, tuple[FaultyRewrite, ...]]:
    """All faulty rewrites, by what they get wrong."""
    from conformance.deviations.rewrites.axes import AXES
    from conformance.deviations.rewrites.captures import CAPTURES
    from conformance.deviations.rewrites.chains import CHAINS
    from conformance.deviations.rewrites.domains import DOMAINS
    from conformance.deviations.rewrites.fields import CLEARED
    from conformance.deviations.rewrites.functions import FUNCTIONS
    from conformance.deviations.rewrites.interface import INTERFACE
    from conformance.deviations.rewrites.limits import LIMITS
    from conformance.deviations.rewrites.mutation import MUTATION
    from conformance.deviations.rewrites.predicate import PREDICATE
    from conformance.deviations.rewrites.preservation import PRESERVATION
    from conformance.deviations.rewrites.scopes import SCOPES
    from conformance.deviations.rewrites.tools import TOOLS
    from conformance.deviations.rewrites.uses import USES

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
        "fields": CLEARED,
    }
