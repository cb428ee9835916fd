"""What the pass changes: in how many pairs of values ArgMax gives another index once an operator before it is gone.

Of a pair in ascending order the index is 1 without the operator, and 0 with it where its values tie or are out of
order. Where its values hold a NaN, what ArgMax makes of it is each runtime's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from conformance.census.scale import Scale
    from conformance.models.arrays import Array

CLASSES = ("rounding_tie", "overflow", "underflow", "negative", "not_monotone")
"""As `conformance/passes/hazards.toml` calls them; the three in the middle with an operator's name before or behind."""

_SMALL = 64


def all_pairs(scale: Scale, Y: Array, outside: int) -> dict[str, int]:
    """The pairs of different values of a type, by the class by which the pass changes the answer; `pass_pairs` are all.

    Args:
        Y: an operator's values at all places where it is defined, in order.
        outside: at how many more values it is not defined.
    """
    none = np.isnan(Y)
    defined = Y[~none]
    values, counts = np.unique(defined + np.zeros(1, Y.dtype), return_counts=True)
    ties = {float(value): int(number) * (int(number) - 1) // 2 for value, number in zip(values, counts, strict=True)}
    over, under = ties.get(np.inf, 0), ties.get(0.0, 0)
    every = len(Y) + outside
    numbers = len(defined)
    return {
        "pass_pairs": _pairs(every),
        "pass_rounding_tie": sum(ties.values()) - over - under,
        "pass_overflow": over,
        "pass_underflow": under,
        "pass_negative": _pairs(every) - _pairs(numbers),
        "pass_not_monotone": inversions(scale.places(defined + np.zeros(1, Y.dtype))),
    }


def inversions(ranks: Array) -> int:
    """In how many pairs the one that comes first is the larger."""
    if len(ranks) <= _SMALL:
        return int(np.triu(ranks[:, None] > ranks[None, :], 1).sum())
    half = len(ranks) // 2
    left, right = ranks[:half], ranks[half:]
    across = len(left) * len(right) - int(np.searchsorted(np.sort(left), right, side="right").sum())
    return inversions(left) + inversions(right) + across


def _pairs(number: int) -> int:
    return number * (number - 1) // 2
