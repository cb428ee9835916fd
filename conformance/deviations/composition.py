"""Several deviations in one implementation, as a kernel has them that was written with more than one mistake."""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from conformance.deviations.deviation import Alteration, AlteredBackend, Arithmetic
from conformance.deviations.pseudocode import rewritten
from conformance.reference.operators.training import TRAINING_OPTIMIZERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.deviations.deviation import Deviation
    from conformance.reference.numbers.values import NumberSystem


class DoNotComposeError(ValueError):
    """Deviations of one operator that no implementation has together: they say different things of the same place."""


@lru_cache(maxsize=4096)
def composed(deviations: tuple[Deviation, ...]) -> AlteredBackend:
    """A backend that has all of these deviations; what they do about a kernel is done in their order, outermost first.

    Raises:
        DoNotComposeError: two replace the same text of the pseudo-code, set a default of the same attribute, or compute
            in another arithmetic each.
    """
    alterations: dict[str, Alteration] = {}
    for deviation in deviations:
        for operator, alteration in deviation.backend.alterations.items():
            known = alterations.get(operator)
            alterations[operator] = _together(operator, known, alteration) if known else alteration
    return AlteredBackend(alterations)


def _together(operator: str, one: Alteration, other: Alteration) -> Alteration:
    return Alteration(
        _united(one.defaults, other.defaults, "the default of"),
        (*one.twists, *other.twists),
        _arithmetic(operator, one.arithmetic, other.arithmetic),
        only_before_argmax=one.only_before_argmax and other.only_before_argmax,
        by_place=one.by_place or other.by_place,
    )


def _united(one: Mapping[str, Any], other: Mapping[str, Any], what: str) -> dict[str, Any]:
    if shared := one.keys() & other.keys():
        raise DoNotComposeError(f"both say {what} {min(shared)!r}")
    return {**one, **other}


def _arithmetic(operator: str, one: NumberSystem, other: NumberSystem) -> NumberSystem:
    """How both compute: the pseudo-code with the edits of both, in the arithmetic of the one that has its own."""
    if not isinstance(one, Arithmetic):
        return other
    if not isinstance(other, Arithmetic):
        return one
    edits = _united(one.edits, other.edits, "what stands for")
    try:
        rewritten(TRAINING_OPTIMIZERS[operator].formula, edits)
    except ValueError as error:
        raise DoNotComposeError(str(error)) from None
    plain = [system for system in (one, other) if system == Arithmetic(system.edits)]
    if not plain:
        raise DoNotComposeError("both compute in an arithmetic of their own")
    special = other if plain[0] is one else one
    return dataclasses.replace(special, edits=edits)
