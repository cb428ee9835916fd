"""Measure the search on mutants of any operator: which of a sample are found, and within how many examples.

python -m checks.mutation.node_search SCORE [--mutants N] [--examples N] [--seed N]

SCORE is the file of `python -m checks.mutation.node_score CORPUS --json SCORE`. The sample has N of its mutants whose
operators have a declaration. Each mutant is a subject: `search --operator OPERATOR --seed N` draws examples until one
detects the mutant. A mutant that is not in one of the examples, because no node there has its attribute, is not found.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from checks.mutation.choose_seeds import detected_mutants
from conformance.base.serialization.printable_text import print_line, print_notice
from conformance.base.verdicts import Unsupported
from conformance.exact.declarations.declaration_tables import declarations
from conformance.exact.declarations.drawing import InvalidNodeError
from conformance.exact.reference.oracle import EVALUATION_ERRORS


def sample(score: dict[str, Any], count: int, seed: int) -> dict[str, set[str]]:
    """Return a random sample of the mutants of a score, by operator."""
    every = [
        (operator, id)
        for operator, row in score.items()
        if operator in declarations()
        for id in (*row["detected"], *row["survivors"], *row["at_should"], *row["not_exercised"])
    ]
    found: dict[str, set[str]] = defaultdict(set)
    for operator, id in random.Random(seed).sample(every, min(count, len(every))):  # noqa: S311 - nothing is secret
        found[operator].add(id)
    return dict(sorted(found.items()))


def numbers_of_examples(operator: str, mutants: set[str], seed: int, examples: int) -> dict[str, int]:
    """Return the number of examples until each found mutant was detected."""
    found: dict[str, int] = {}
    for number in range(examples):
        wanted = mutants - found.keys()
        if not wanted:
            break
        try:
            detected, _ = detected_mutants(operator, f"{seed}/{number}", wanted)
        except (*EVALUATION_ERRORS, InvalidNodeError, Unsupported):
            continue
        found |= dict.fromkeys(detected, number + 1)
    return found


def main() -> int:
    """Print the mutants that are not found, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("score", type=Path)
    parser.add_argument("--mutants", type=int, default=200)
    parser.add_argument("--examples", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    given: Any = parser.parse_args()
    sampled = sample(json.loads(given.score.read_text(encoding="utf-8")), given.mutants, given.seed)
    counts: list[int] = []
    for operator, mutants in sampled.items():
        print_notice(f"{operator}: {len(mutants)}")
        found = numbers_of_examples(operator, mutants, given.seed, given.examples)
        counts += found.values()
        for id in sorted(mutants - found.keys()):
            print_line(f"not found: {id}")
    total = sum(map(len, sampled.values()))
    print_line(
        f"{len(counts)} of {total} mutants of {len(sampled)} operators are found within {given.examples} examples"
        f" ({len(counts) / max(total, 1):.1%}), {sum(count <= 100 for count in counts)} of them within 100"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
