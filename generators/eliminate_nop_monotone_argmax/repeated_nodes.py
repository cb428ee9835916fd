"""Cases with many operators, whose nodes differ in a number: a long chain, and forty pairs."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from onnx import helper

from generators.eliminate_nop_monotone_argmax.pass_scenario import (
    PASS_OPERATORS,
    SHAPE,
    ScenarioGraph,
    applies_to,
    argmax,
    index_info,
    producer,
    scenario,
)
from generators.generated_values import permuted_quarters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.corpus.cases.case import Case

CHAIN_LENGTH = 130
"""Number of operators of a chain that is longer than usual limits of repetitions."""

PAIR_COUNT = 40


def cases() -> Iterator[Case]:
    """Yield the two cases."""
    yield _long_chain()
    yield _many_pairs()


def _long_chain() -> Case:
    """Define a case with a chain of `CHAIN_LENGTH` operators, of which each pair returns its operand."""
    values = ["X", *(f"Y{number}" for number in range(1, CHAIN_LENGTH + 1))]
    nodes = [
        producer(("Exp", "Log")[number % 2], source, result) for number, (source, result) in enumerate(pairwise(values))
    ]
    return scenario(
        "elsewhere",
        f"chain_of_{CHAIN_LENGTH}",
        f"A chain of {CHAIN_LENGTH} operators is removed one by one, to a fixed point",
        ("fixed_point", "exp", "log"),
        applies_to(values[-1], then=values[-2:0:-1]),
        ScenarioGraph(
            [*nodes, argmax(values[-1])], (permuted_quarters("elsewhere/X", SHAPE, np.float32) + np.float32(1),)
        ),
    )


def _many_pairs() -> Case:
    """Define a case with forty operators, followed by forty ArgMax nodes; every fourth operator has another use."""
    types = [list(PASS_OPERATORS)[number % len(PASS_OPERATORS)] for number in range(PAIR_COUNT)]
    wanted = range(3, PAIR_COUNT, 4)
    nodes = [producer(op_type, "X", f"Y{number}") for number, op_type in enumerate(types)]
    nodes += [argmax(f"Y{number}", f"index{number}") for number in reversed(range(PAIR_COUNT))]
    nodes += [helper.make_node("Neg", [f"Y{number}"], [f"minus{number}"]) for number in wanted]
    return scenario(
        "surroundings",
        "forty_pairs",
        "Each of forty operators is removed unless its result has another use, however far ArgMax is away",
        ("fires", "other_use", "branches"),
        applies_to(*(f"Y{number}" for number in range(PAIR_COUNT) if number not in wanted)),
        ScenarioGraph(
            nodes,
            (permuted_quarters("surroundings/X", SHAPE, np.float32),),
            outputs=[index_info(SHAPE, name=f"index{number}") for number in range(PAIR_COUNT)],
        ),
    )
