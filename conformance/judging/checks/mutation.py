"""The caller's model is as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.models.differences import first_difference
from conformance.verdicts import Level

if TYPE_CHECKING:
    from conformance.judging.rewriting import Rewriting

LEVEL = Level.SHOULD
CLAUSES = ()
"""No passage speaks of the caller's model: to leave it alone is plain quality."""

OF_INVALID_MODELS = True


def complaint(rewriting: Rewriting) -> str | None:
    """`the caller's model is changed: graph.node has 1 entries instead of 2`."""
    difference = first_difference(rewriting.before, rewriting.given)
    return None if difference is None else f"the caller's model is changed: {difference}"
