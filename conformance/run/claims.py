"""Which passes graph optimizers may be said to implement on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.errors import UsageError
from conformance.subjects.loading import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence


def check_claims(claims: Sequence[str], kinds: Sequence[Kind]) -> None:
    """Refuse claims that nothing can be held to.

    Args:
        kinds: those of the subjects named.

    Raises:
        UsageError: a pass is unknown, or no graph optimizer is named.
    """
    if not claims:
        return
    from conformance.passes.eliminate_nop_monotone_argmax import PASS

    if unknown := [name for name in claims if name != PASS]:
        raise UsageError(f"There is no pass {unknown[0]}.", f"Use {PASS}.")
    if Kind.OPTIMIZER not in kinds:
        raise UsageError("A pass is claimed, but no graph optimizer is named.", "Name one with -o.")
