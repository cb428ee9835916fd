"""How small finds become: deviations that a seed chooses are found by draws and made small, and the sizes printed.

Deviations that the simplest draw of their operator notices are left out. `python scripts/shrinking.py [SEED] [COUNT]`.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from conformance.deviations import catalogue
from conformance.dimensions.contexts import Context
from conformance.reference.operators.training import TRAINING_OPTIMIZERS
from conformance.search.choice import ARGMAX, Choice
from conformance.search.drawing import choices
from conformance.search.filled import NoAnswerError
from conformance.search.job import OPERATORS, PIECE
from conformance.search.judged import Draw
from conformance.search.shrinking import shrunk
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.deviations import Deviation


def main(seed: int = 0, finds: int = 50) -> None:
    """Print a line for each find, and the medians and the worst."""
    sizes = []
    for deviation, choice in _found(seed, finds):
        started = time.process_time()
        small, tries = shrunk(choice, lambda one, deviation=deviation: _notices(deviation, one))  # type: ignore[misc]
        seconds = time.process_time() - started
        elements = small.size[2] if small.operator == ARGMAX else small.operands.get("X", small.operands.get("X1")).size  # type: ignore[union-attr]
        sizes.append((1 + len(small.chain), small.tensors, elements, len(small.attributes), len(small.runs), seconds))
        print(
            deviation.id,
            *sizes[-1][:5],
            f"{seconds:.1f} s, {tries} tries",
            "plain" if small.context == Context() else small.context,
        )
    names = ("nodes", "tensors", "elements of X", "attributes", "runs", "seconds")
    for name, values in zip(names, zip(*sizes, strict=True), strict=True):
        print(f"{name}: median {statistics.median(values):g}, worst {max(values):.3g}, of {len(values)} finds")


def _found(seed: int, finds: int) -> Iterator[tuple[Deviation, Choice]]:
    every = [one for family in catalogue().values() for one in family if one.level is Level.MUST]
    hidden = [one for one in every if one.operator in OPERATORS and not _notices(one, _simplest(one.operator))]
    left = random.Random(seed).sample(hidden, min(len(hidden), finds + finds // 2))  # noqa: S311
    number = 0
    for piece in count():
        for choice in choices(OPERATORS, seed, piece, PIECE):
            for deviation in [one for one in left if one.operator == choice.operator]:
                if number < finds and _notices(deviation, choice):
                    left.remove(deviation)
                    number += 1
                    yield deviation, choice
        if number >= finds or not left:
            return


def _simplest(operator: str) -> Choice:
    """One tensor of one element, of plain numbers, with no optional attribute."""
    if operator == ARGMAX:
        return Choice(ARGMAX, Context(), {}, ({"X": np.array([1, 2], np.float32)},))
    required = (
        {"alpha": 0.5, "beta": 0.5, "mode": "standard", "norm_coefficient": 0.0} if operator == "Momentum" else {}
    )
    operands = {name: np.array([0.5], np.float32) for name in TRAINING_OPTIMIZERS[operator].operands}
    scalars = {"R": np.array(0.5, np.float32), "T": np.array(1, np.int64)}
    return Choice(operator, Context(), required, ({**scalars, **operands},))


def _notices(deviation: Deviation, choice: Choice) -> bool:
    try:
        return Draw(choice).is_wrong(deviation.backend)
    except (NoAnswerError, ValueError, IndexError, KeyError):
        return False


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
