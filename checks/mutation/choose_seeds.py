"""Choose the seeds of drawn cases: nodes that detect further mutants, and nodes with further values of dimensions.

python -m checks.mutation.choose_seeds [--score SCORE] [--first N] [--tries N] [--seconds N] [--operator NAME …]

SCORE is the file of `python -m checks.mutation.node_score CORPUS --json SCORE` for a corpus of onnx's cases. For each
declared operator, the script draws nodes and keeps a node if it detects a mutant that SCORE lists as a survivor, as
detected at level should only or as not exercised, or that SCORE does not have. It writes
conformance/own/model_cases/drawn_cases.toml, and keeps the rows of the operators that it does not draw.

With `--first N`, the first seed has the number N, and the seeds that the file has are kept: SCORE is then for a corpus
with their cases.

A mistake that no mutant has needs a node with certain values of the dimensions of its declaration. So further nodes
cover the values of each choice of a drawn node, such as a type, an attribute or a rank, and their pairs: each node has
the most that the nodes before it do not have. Without SCORE, the script keeps the seeds and only adds these nodes.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx
import tomlkit

from checks.mutation.mutant_pairs import PAIR, paths, with_pairs
from conformance.base.serialization.printable_text import print_line
from conformance.base.verdicts import Unsupported
from conformance.exact.declarations.declaration_tables import declarations, declarations_of
from conformance.exact.declarations.drawing import (
    DrawnNode,
    InvalidNodeError,
    draw_node,
    draw_valid_node,
    element_count,
)
from conformance.exact.reference.oracle import EVALUATION_ERRORS
from conformance.own.model_cases.drawn_cases import COVER, LEAST_OPSET, drawn_case
from conformance.run.mutants.node_mutants import ADMISSIBLE, NodeRun, is_wrong, node_mutants

if TYPE_CHECKING:
    from collections.abc import Hashable

TARGET = Path(__file__).resolve().parents[2] / "conformance" / "own" / "model_cases" / "drawn_cases.toml"

HEADER = "Seeds of the cases of drawn nodes; `python -m checks.mutation.choose_seeds` writes this file."

MAX_SEEDS = 12
"""Largest number of seeds that are added to an operator."""

OLDER = "-in-an-older-version"
"""End of the ids of mutants that a node of an older version detects."""

PERIOD_OF_OLDER = 4
"""Only one in so many nodes of older versions is tried, and none below `LEAST_OPSET`: such models are rare."""

SMALL_SHARE = 0.25
LEAST_GAIN = 0.5
"""How much a pair, or a mutant in an older version, counts, and the sum from which on a node becomes a case."""

SECONDS = 6.0
"""Default of the CPU time in which the nodes of an operator are drawn; mutants of Attention, for example, take long."""

MAX_ELEMENTS = 1_000
"""Largest number of elements of the operands of a drawn case."""

COVER_TRIES = 500
"""Number of nodes of an operator from which those are taken that cover dimensions."""

MAX_COVER = 24
LEAST_COVER = 10.0
"""Largest number of these nodes that become cases, and the least gain of such a node."""

VALUE_WEIGHTS = {True: 12.0, False: 4.0}
PAIR_WEIGHTS = {True: 1.0, False: 0.2}
TRIPLE_WEIGHT = 0.2
"""How much a value counts that is no size or kind of elements, one that is, pairs too, and a triple of attributes."""

COMMON_TYPE = "float"
COMMON_FACTOR = 2
"""The type of most models, with which a pair counts more."""

JUDGED_DOMAINS = ("", "ai.onnx.ml")
"""Domains whose operators have cases."""


def detected_mutants(
    operator: str, seed: str, wanted: set[str] | None, known: set[str] | None = None
) -> tuple[set[str], str]:
    """Return the mutants that the node of a seed detects, and the seed of the valid node.

    Args:
        operator: the operator.
        seed: the seed.
        wanted: the mutants that other cases do not detect; None if no case has the operator.
        known: the mutants of the score; the others are wanted too. None if no other is wanted.
    """
    drawn, own = draw_valid_node(operator, seed)
    if drawn.proto.domain not in JUDGED_DOMAINS or sum(each.size for each in drawn.operands.values()) > MAX_ELEMENTS:
        return set(), own
    answers = drawn_case("test_drawn", drawn).answers
    assert answers is not None
    right = answers[0]
    operands = tuple(drawn.operands[name] if name else None for name in drawn.proto.input)
    run = NodeRun(drawn.proto, drawn.opset, operands)
    found = set()
    for mutant in with_pairs(run, node_mutants(run, [answer.expected for answer in right])):
        is_wanted = wanted is None or mutant.id in wanted or (known is not None and mutant.id not in known)
        if is_wanted and mutant.mistake not in ADMISSIBLE:
            changed = mutant.compute(right)
            if changed is not None and len(changed) == len(right):
                pairs = zip(changed, right, strict=True)
                if any(is_wrong(each.expected, answer) for each, answer in pairs):
                    found.add(mutant.id)
    return found, own


def choose(operator: str, score: dict[str, Any] | None, numbers: range, seconds: float) -> list[str]:
    """Return the seeds of an operator, in the order in which they were drawn, from the numbers of the draws."""
    lists = [] if score is None else [score["survivors"], score["at_should"], score["not_exercised"]]
    missing = {id for each in lists for id in each}
    known = set() if score is None else missing | set(score["detected"])
    drawn: dict[str, set[str]] = {}
    start = time.process_time()
    for number in numbers:
        if time.process_time() - start > seconds:
            break
        text = f"ours/{number}"
        try:
            node = draw_valid_node(operator, text)[0]
            is_newest = _is_newest(operator, node)
            if not is_newest and (number % PERIOD_OF_OLDER or node.opset < LEAST_OPSET):
                continue
            found, seed = detected_mutants(operator, text, None if score is None else missing, known)
        except (*EVALUATION_ERRORS, InvalidNodeError, Unsupported):
            continue
        drawn[seed] = found if is_newest else {f"{id}{OLDER}" for id in found}
    return _cover(drawn)


def _is_newest(operator: str, drawn: DrawnNode) -> bool:
    """Return whether a node has the newest version of its operator that a declaration has."""
    own = onnx.defs.get_schema(drawn.proto.op_type, drawn.opset, drawn.proto.domain)
    return bool(own.since_version == max(v for each in declarations_of(operator) for v in each.opsets_of(operator)))


def _cover(drawn: dict[str, set[str]]) -> list[str]:
    """Return the seeds of few nodes that detect most mutants, in the order in which they were drawn.

    The next node is the one that detects the most further mutants. A pair of a mutant and a condition counts little.
    A mutant in an older version counts little too: `generate --onnx --opset all` has more nodes of these versions.
    """
    chosen: list[str] = []
    detected: set[str] = set()

    def gain(seed: str) -> float:
        return sum(SMALL_SHARE if PAIR in id or id.endswith(OLDER) else 1 for id in drawn[seed] - detected)

    while len(chosen) < MAX_SEEDS and drawn:
        best = max(drawn, key=gain)
        if gain(best) < LEAST_GAIN:
            break
        chosen.append(best)
        detected |= drawn[best]
    return [seed for seed in drawn if seed in chosen]


def dimension_values(drawn: DrawnNode) -> list[tuple[str, str]]:
    """Return the dimensions of a node and their values: its choices, and the paths that a kernel can take for it.

    Axes of dots are one dimension, as are the elements of an attribute; whether all are equal is another one. The seed
    alone decides about other elements.
    """
    found: dict[tuple[str, str], None] = {}
    lists: dict[str, list[str]] = {}
    for name, choice in drawn.choices.items():
        if name not in ("opset", "constants") and choice.count > 1:
            dimension = _NUMBERED.sub("", name)
            text = f"option {choice.index}" if choice.text in ("drawn", "chosen") else choice.text
            found[dimension, text] = None
            if dimension != name:
                lists.setdefault(dimension, []).append(text)
    found |= {(f"all of {name}", texts[0]): None for name, texts in lists.items() if len({*texts}) == 1}
    operands = tuple(drawn.operands[name] if name else None for name in drawn.proto.input)
    found |= {("path", path): None for path in paths(NodeRun(drawn.proto, drawn.opset, operands))}
    return list(found)


_NUMBERED = re.compile(r"(?<=^size [A-Za-z])\d+$|, element \d+$")


def combinations_of(values: list[tuple[str, str]]) -> dict[Hashable, float]:
    """Return the values of dimensions, their pairs and some triples, each with its weight."""
    is_discrete = {each: not each[0].startswith(("size ", "values of ", "path")) for each in values}
    found: dict[Hashable, float] = {each: VALUE_WEIGHTS[is_discrete[each]] for each in values}
    for pair in combinations(values, 2):
        if pair[0][0] != pair[1][0]:
            factor = COMMON_FACTOR if any(each[1] == COMMON_TYPE for each in pair) else 1
            found[pair] = factor * PAIR_WEIGHTS[is_discrete[pair[0]] and is_discrete[pair[1]]]
    chosen = [each for each in values if each[0].startswith(("attribute ", "all of ", "input ", "declaration"))]
    found |= {
        triple: TRIPLE_WEIGHT for triple in combinations(chosen, 3) if len({dimension for dimension, _ in triple}) == 3
    }
    return found


def cover_dimensions(operator: str, seeds: list[str]) -> list[str]:
    """Return the seeds of few nodes that have most values of dimensions, and pairs, which the given seeds lack."""
    covered: set[Hashable] = set()
    for seed in seeds:
        with suppress(InvalidNodeError):
            covered |= combinations_of(dimension_values(draw_node(operator, seed))).keys()
    left: dict[str, tuple[DrawnNode, dict[Hashable, float]]] = {}
    for number in range(COVER_TRIES):
        with suppress(InvalidNodeError):
            drawn, seed = draw_valid_node(operator, f"{COVER}{number}")
            is_judged = drawn.proto.domain in JUDGED_DOMAINS and _is_newest(operator, drawn)
            if is_judged and element_count(drawn) <= MAX_ELEMENTS:
                left[seed] = drawn, combinations_of(dimension_values(drawn))
    found: list[str] = []
    gains = {seed: float("inf") for seed in left}  # a gain never grows, so only the largest is computed again
    while gains and len(found) < MAX_COVER:
        best = max(gains, key=lambda seed: gains[seed])
        drawn, weights = left[best]
        gain = sum(weight for each, weight in weights.items() if each not in covered)
        if gain < gains[best]:
            gains[best] = gain
            continue
        if gain < LEAST_COVER:
            break
        del gains[best]
        try:
            drawn_case("test_drawn", drawn)
        except (*EVALUATION_ERRORS, Unsupported):
            continue
        found.append(best)
        covered |= weights.keys()
    return found


def main() -> int:
    """Write the table, and print the number of seeds of each operator."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--score", type=Path)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--tries", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--operator", action="append", default=[])
    given: Any = parser.parse_args()
    scores = json.loads(given.score.read_text(encoding="utf-8")) if given.score else {}
    table = tomlkit.parse(TARGET.read_text(encoding="utf-8")).unwrap() if TARGET.exists() else {}
    for operator in given.operator or (name for name in declarations() if not name.startswith("com.microsoft.")):
        numbers = range(given.first, given.first + given.tries)
        seeds = table.pop(operator, []) if given.first or not given.score else []
        seeds = [seed for seed in seeds if not seed.startswith(COVER)]
        if given.score:
            seeds += choose(operator, scores.get(operator.rpartition(".")[2]), numbers, given.seconds)
        seeds = list(dict.fromkeys(seeds))
        seeds += cover_dimensions(operator, seeds)
        if seeds:
            table[operator] = seeds
        print_line(f"{operator}: {len(seeds)}")
    document = tomlkit.document()
    document.add(tomlkit.comment(HEADER))
    for operator in sorted(table):
        document[operator] = table[operator]
    TARGET.write_text(tomlkit.dumps(document), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
