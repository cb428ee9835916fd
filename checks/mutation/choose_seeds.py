"""Choose the seeds of drawn cases: those whose nodes detect mutants that no other case detects.

python -m checks.mutation.choose_seeds SCORE [--first N] [--tries N] [--seconds N] [--operator NAME …]

SCORE is the file of `python -m checks.mutation.node_score CORPUS --json SCORE` for a corpus of onnx's cases. For each
declared operator, the script draws nodes and keeps a node if it detects a mutant that SCORE lists as a survivor, as
detected at level should only or as not exercised, or that SCORE does not have. It writes
conformance/own/model_cases/drawn_cases.toml, and keeps the rows of the operators that it does not draw.

With `--first N`, the first seed has the number N, and the seeds that the file has are kept: SCORE is then for a corpus
with their cases.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import onnx
import tomlkit

from checks.mutation.mutant_pairs import PAIR, with_pairs
from conformance.base.serialization.printable_text import print_line
from conformance.base.verdicts import Unsupported
from conformance.exact.declarations.declaration_tables import declarations, declarations_of
from conformance.exact.declarations.drawing import DrawnNode, InvalidNodeError, draw_valid_node
from conformance.exact.models.graphs import normal_domain
from conformance.exact.reference.oracle import EVALUATION_ERRORS
from conformance.own.model_cases.drawn_cases import LEAST_OPSET, drawn_case
from conformance.run.mutants.node_mutants import ADMISSIBLE, NodeRun, is_wrong, node_mutants

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
    (right,) = answers
    operands = tuple(drawn.operands[name] if name else None for name in drawn.proto.input)
    run = NodeRun(drawn.proto, _opset(drawn), operands)
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
            if not is_newest and (number % PERIOD_OF_OLDER or _opset(node) < LEAST_OPSET):
                continue
            found, seed = detected_mutants(operator, text, None if score is None else missing, known)
        except (*EVALUATION_ERRORS, InvalidNodeError, Unsupported):
            continue
        drawn[seed] = found if is_newest else {f"{id}{OLDER}" for id in found}
    return _cover(drawn)


def _opset(drawn: DrawnNode) -> int:
    """Return the opset of a node's domain."""
    opsets = {normal_domain(each.domain): each.version for each in drawn.model.opset_import}
    return int(opsets[normal_domain(drawn.proto.domain)])


def _is_newest(operator: str, drawn: DrawnNode) -> bool:
    """Return whether a node has the newest version of its operator that a declaration has."""
    own = onnx.defs.get_schema(drawn.proto.op_type, _opset(drawn), drawn.proto.domain)
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


def main() -> int:
    """Write the table, and print the number of seeds of each operator."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("score", type=Path)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--tries", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--operator", action="append", default=[])
    given: Any = parser.parse_args()
    scores = json.loads(given.score.read_text(encoding="utf-8"))
    table = tomlkit.parse(TARGET.read_text(encoding="utf-8")).unwrap() if TARGET.exists() else {}
    for operator in given.operator or (name for name in declarations() if not name.startswith("com.microsoft.")):
        numbers = range(given.first, given.first + given.tries)
        seeds = choose(operator, scores.get(operator.rpartition(".")[2]), numbers, given.seconds)
        kept = table.pop(operator, []) if given.first else []
        seeds = list(dict.fromkeys([*kept, *seeds]))
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
