"""The rewritten model is valid: onnx's checker has nothing against it, and nothing is missing that it overlooks.

The checker infers shapes on its way. It does not ask whether a function that the model had is still there where it is
still called, whether functions give their outputs, nor whether tensors have the elements that their shapes ask for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.judging.rewriting import refusal
from conformance.models.loose_ends import loose_ends, lost_functions
from conformance.verdicts import Level

if TYPE_CHECKING:
    from conformance.judging.rewriting import Rewriting

LEVEL = Level.MUST
CLAUSES = ("monotone.valid",)


def complaint(rewriting: Rewriting) -> str | None:
    """What the checker says, which had nothing to say before, or what is missing, which was not."""
    if (refused := refusal(rewriting.after)) is not None:
        return refused
    lost = next(lost_functions(rewriting.before, rewriting.after), None)
    if lost is not None:
        return lost
    loose = {*loose_ends(rewriting.before)}
    return next((end for end in loose_ends(rewriting.after) if end not in loose), None)
