"""Measure how small failing examples become: detect mutants with random examples, shrink them, and print the sizes.

python checks/measurements/measure_shrinking.py [SEED] [COUNT]

SEED chooses the mutants. Mutants that the simplest example of their operator detects are left out.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from itertools import count as count_up
from typing import TYPE_CHECKING

import numpy as np

from conformance.base.verdicts import Level
from conformance.corpus.factors.wrapping import Context
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.run.mutants import catalogue
from conformance.studies.search.evaluation import EvaluatedExample
from conformance.studies.search.example import ARGMAX, Example
from conformance.studies.search.search_cases import NoExpectedOutputsError
from conformance.studies.search.search_job import EXAMPLES_PER_CHUNK, OPERATORS
from conformance.studies.search.search_sampling import sample_examples
from conformance.studies.search.shrinking import shrink

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.run.mutants import Mutant


def main(seed: int = 0, count: int = 50) -> None:
    """Print a line for each failing example, then the median and the worst of each size."""
    sizes = []
    for mutant, example in _failing_examples(seed, count):
        started = time.process_time()
        small, tries = shrink(example, lambda other, mutant=mutant: _detects(other, mutant))  # type: ignore[misc]
        seconds = time.process_time() - started
        elements = (
            small.complexity[2] if small.operator == ARGMAX else small.operands.get("X", small.operands.get("X1")).size
        )
        sizes.append(
            (1 + len(small.chain), small.tensor_count, elements, len(small.attributes), len(small.runs), seconds)
        )
        print(
            mutant.id,
            *sizes[-1][:5],
            f"{seconds:.1f} s, {tries} tries",
            "plain" if small.context == Context() else small.context,
        )
    names = ("nodes", "tensors", "elements of X", "attributes", "runs", "seconds")
    for name, values in zip(names, zip(*sizes, strict=True), strict=True):
        print(
            f"{name}: median {statistics.median(values):g}, worst {max(values):.3g}, of {len(values)} failing examples"
        )


def _failing_examples(seed: int, limit: int) -> Iterator[tuple[Mutant, Example]]:
    mutants = [mutant for family in catalogue().values() for mutant in family if mutant.level is Level.MUST]
    hidden = [
        mutant
        for mutant in mutants
        if mutant.operator in OPERATORS and not _detects(_simplest_example(mutant.operator), mutant)
    ]
    remaining = random.Random(seed).sample(hidden, min(len(hidden), limit + limit // 2))  # noqa: S311
    number = 0
    for chunk in count_up():
        for example in sample_examples(OPERATORS, seed, chunk, EXAMPLES_PER_CHUNK):
            for mutant in [mutant for mutant in remaining if mutant.operator == example.operator]:
                if number < limit and _detects(example, mutant):
                    remaining.remove(mutant)
                    number += 1
                    yield mutant, example
        if number >= limit or not remaining:
            return


def _simplest_example(operator: str) -> Example:
    """Return an example with one tensor of one element and without optional attributes."""
    if operator == ARGMAX:
        return Example(ARGMAX, Context(), {}, ({"X": np.array([1, 2], np.float32)},))
    required = (
        {"alpha": 0.5, "beta": 0.5, "mode": "standard", "norm_coefficient": 0.0} if operator == "Momentum" else {}
    )
    operands = {name: np.array([0.5], np.float32) for name in TRAINING_OPTIMIZERS[operator].operands}
    scalars = {"R": np.array(0.5, np.float32), "T": np.array(1, np.int64)}
    return Example(operator, Context(), required, ({**scalars, **operands},))


def _detects(example: Example, mutant: Mutant) -> bool:
    try:
        return EvaluatedExample(example).is_wrong(mutant.backend)
    except (NoExpectedOutputsError, ValueError, IndexError, KeyError):
        return False


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
