"""The numbers of a draw: plain ones and odd ones, as what any operator may be given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

COUNTS = (
    0, 0, 0, 1, 2, 3, 7, -1, -3, 10, 100, 127, 128, 255, 256, 1000, 32768, 54321, 1234567, 2**24 + 1, 2**31,
    2**32 + 1, 2**53 + 1,
)  # fmt: skip
PLAIN = (0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 0.25, 0.1, -0.1, 0.75, 1.5, -1.25, 3.0)
ODD = (
    0.0,
    0.0,
    -0.0,
    1e-3,
    -1e-3,
    1e-30,
    1e30,
    -1e30,
    2.0**-140,
    100.0,
    float("inf"),
    -float("inf"),
    *[float("nan")] * 3,
)
RATES = (0.1, 0.5, 0.3, 1.0, 0.0, -0.1, 2.5, 1e-3)
ATTRIBUTES = (0.5, 0.75, 0.25, 0.0, 1.0, 0.1, 0.3, 0.95, -0.5, 1.5)
HALF = 0.5
POOL = 40
"""How many numbers are drawn for a choice, which takes them in turn."""


@dataclass(frozen=True)
class Numbers:
    """What is drawn for any choice.

    Attributes:
        values: elements of operands, taken in turn.
        attributes: values of optional attributes, in turn; None leaves one out.
        count: T.
        rate: R.
        runs: how many runs there are.
        place: of one element, and what else is chosen by a number.
        odd: what stands there, if anything special does.
        is_odd_throughout: whether it stands in the whole operand.
    """

    values: Sequence[float]
    attributes: Sequence[float | None]
    count: int
    rate: float
    runs: int
    place: int
    odd: float | None
    is_odd_throughout: bool


def numbers(chance: random.Random) -> Numbers:
    """Numbers for a choice."""
    return Numbers(
        [chance.choice(PLAIN) if chance.random() < HALF else chance.uniform(-4, 4) for _ in range(POOL)],
        [None if chance.random() < HALF else chance.choice(ATTRIBUTES) for _ in range(6)],
        chance.choice(COUNTS),
        chance.choice(RATES),
        chance.choice((1, 1, 2, 3)),
        chance.randrange(POOL),
        chance.choice(ODD) if chance.random() < HALF else None,
        chance.random() < HALF / 2,
    )
