"""The rewritten model is valid, as onnx's checker has it with shape inference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.judging.rewriting import refusal
from conformance.verdicts import Level

if TYPE_CHECKING:
    from conformance.judging.rewriting import Rewriting

LEVEL = Level.MUST
CLAUSES = ("monotone.valid",)


def complaint(rewriting: Rewriting) -> str | None:
    """What the checker says, which had nothing to say before."""
    return refusal(rewriting.after)
