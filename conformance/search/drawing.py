"""Choices at random: rows of the declarations that show what no earlier row did, with numbers for them.

Python's own generator draws, and not Hypothesis: what that draws depends on which modules are imported, since it takes
constants from their source, so that two workers would not agree; and it takes several times as long as the oracle.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME
from conformance.search.argmax_choices import argmax_choice
from conformance.search.choice import ARGMAX
from conformance.search.numbers import numbers
from conformance.search.optimizer_choices import optimizer_choice
from conformance.search.rows import rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.search.choice import Choice


def choices(operators: Sequence[str], seed: int, piece: int, count: int) -> list[Choice]:
    """The choices of a piece: a function of these four.

    Args:
        operators: op_types; a choice is about one of them.
        count: how many there are in a piece.
    """
    chance = random.Random(f"{seed}/{piece}")  # noqa: S311 - nothing is to be kept secret
    drawn = []
    for operator, turn, row in rows(operators, seed, piece, count, chance):
        given = numbers(chance)
        if operator in {ARGMAX, PASS_NAME}:
            drawn.append(argmax_choice(row, given))
        else:
            drawn.append(optimizer_choice(operator, turn, row, given))
    return drawn
