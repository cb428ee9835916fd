"""The score of a corpus over all operators: which mutants of nodes its cases exercise and detect.

python -m checks.mutation.node_score CORPUS [--json FILE] [--page FILE] [--operator NAME …] [-v]

CORPUS is a folder of `onnx-conformance generate --onnx --output CORPUS`. Every case whose model is one node is run with
each mutant of `conformance.run.mutants.node_mutants`. A mutant is *exercised* if it gives other outputs than the
reference in at least one case, and *detected* at `must` if a case of this level does not accept them. Mutants that no
case exercises, and those that survive, are listed for each operator with -v.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx

from checks.mutation.mutant_pairs import PAIR, with_pairs
from conformance.base.errors import ConformanceError
from conformance.base.serialization.printable_text import print_line, print_notice
from conformance.base.verdicts import Level
from conformance.corpus.cases.case_loading import load_case
from conformance.corpus.cases.corpus import open_corpus
from conformance.exact.reference.operators.training_optimizers import TRAINING_DOMAINS
from conformance.exact.reference.oracle import Answer
from conformance.run.diagnosis.failure_evidence import single_node
from conformance.run.diagnosis.node_diagnosis import node_runs
from conformance.run.judging.compare import is_acceptable
from conformance.run.mutants.node_mutants import ADMISSIBLE, EQUIVALENT, differs_where_determined, node_mutants

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from conformance.corpus.cases.case_loading import LoadedCase
    from conformance.corpus.cases.corpus import Corpus

MAX_ELEMENTS = 20_000
"""Largest number of elements of the operands of a case that is run; larger ones take too long."""

MANY = 10
"""Number of mutants from which on the share of an operator counts."""

LEAST_SHARE = 0.9
"""Share of the mutants of an operator that cases of level must should detect."""


@dataclass
class OperatorScore:
    """The mutants of one operator.

    Attributes:
        mutants: the ids of all mutants.
        refused: the ids of the changes that make a node invalid, at least in one case.
        exercised: those that change an output in a case.
        must: those that a case of level `must` detects.
        should: those that a case of any level detects.
    """

    mutants: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    exercised: set[str] = field(default_factory=set)
    must: set[str] = field(default_factory=set)
    should: set[str] = field(default_factory=set)

    @property
    def share(self) -> float:
        """The share of the mutants that cases of level must detect."""
        return len(self.must) / max(len(self.mutants), 1)

    def part(self, *, is_pair: bool) -> OperatorScore:
        """Return the score of the pairs of a mutant and a condition, or of the other mutants."""
        every = (self.mutants, self.refused, self.exercised, self.must, self.should)
        return OperatorScore(*({id for id in each if (PAIR in id) == is_pair} for each in every))

    def row(self) -> dict[str, int]:
        """Return the counts."""
        return {name: len(getattr(self, name)) for name in ("mutants", "exercised", "must", "should")}


def score_case(case: LoadedCase, scores: dict[str, OperatorScore]) -> None:
    """Run all mutants of a case that no earlier case detects at `must`."""
    for run, data_set in node_runs(case):
        if sum(each.size for each in run.inputs if each is not None) > MAX_ELEMENTS:
            continue
        answers = [Answer(output.expected, output.bound, output.choices) for output in data_set.outputs]
        right = [answer.expected for answer in answers]
        try:
            mutants = with_pairs(run, node_mutants(run, right))
        except onnx.defs.SchemaError:
            return
        score = scores[run.node.op_type]
        for mutant in mutants:
            if mutant.mistake in ADMISSIBLE or mutant.id in score.must:
                continue
            computed = mutant.compute(answers)
            if computed is None:
                score.refused.add(mutant.id)
                continue
            changed = [answer.expected for answer in computed]
            is_exercised = differs_where_determined(changed, answers)
            is_accepted = len(changed) == len(right) and all(map(is_acceptable, data_set.outputs, changed))
            if is_exercised and not is_accepted:
                score.should.add(mutant.id)
            if case.entry.level is Level.MUST:
                score.mutants.add(mutant.id)
                if is_exercised:
                    score.exercised.add(mutant.id)
                if is_exercised and not is_accepted:
                    score.must.add(mutant.id)


def without_open_mistakes(operator: str, score: OperatorScore) -> OperatorScore:
    """Return a score without the mistakes with NaN that only change outputs which the page leaves open."""
    about_nan = {id for id in score.mutants if "NaN" in id.removeprefix(operator)}
    is_open = (about_nan & score.refused) - score.exercised
    return OperatorScore(score.mutants - is_open, score.refused | is_open, score.exercised, score.must, score.should)


def score_corpus(corpus: Corpus, operators: Sequence[str] = ()) -> dict[str, OperatorScore]:
    """Return the scores of a corpus by operator."""
    scores: dict[str, OperatorScore] = defaultdict(OperatorScore)
    for number, entry in enumerate(corpus.cases.values()):
        if number % 200 == 0:
            print_notice(f"{number} of {len(corpus.cases)} cases")
        try:
            case = load_case(corpus, entry).in_memory()
            node = single_node(case.model)
            is_own = node is not None and node.domain in TRAINING_DOMAINS
            if node is not None and not is_own and (not operators or node.op_type in operators):
                score_case(case, scores)
        except ConformanceError:
            continue  # a case with sequences
    found = {name: without_open_mistakes(name, score) for name, score in sorted(scores.items())}
    return {name: score for name, score in found.items() if score.mutants}


def lines(every: dict[str, OperatorScore], *, is_verbose: bool) -> Iterator[str]:
    """Yield the report: a line for each operator, and the sums. Pairs are counted in the last line only."""
    scores = {name: score.part(is_pair=False) for name, score in every.items()}
    pairs = [score.part(is_pair=True) for score in every.values()]
    sums: dict[str, int] = defaultdict(int)
    yield f"{'operator':32} mutants exercised  must should"
    for name, score in scores.items():
        row = score.row()
        for key, count in row.items():
            sums[key] += count
        yield f"{name:32} {row['mutants']:7} {row['exercised']:9} {row['must']:5} {row['should']:6}"
        if is_verbose:
            yield from (f"    survives: {id}" for id in sorted(score.exercised - score.should))
            yield from (f"    at should only: {id}" for id in sorted(score.should - score.must))
            yield from (f"    not exercised: {id}" for id in sorted(score.mutants - score.exercised))
    low = [name for name, score in scores.items() if len(score.mutants) > MANY and score.share < LEAST_SHARE]
    yield (
        f"{len(scores)} operators have {_shares(scores.values())}. {sums['should']} are detected at any level."
        f" Operators with more than {MANY} mutants and less than {LEAST_SHARE:.0%} at must: {', '.join(low) or 'none'}."
        f" With a condition, there are {_shares(pairs)}."
    )


def _shares(scores: Collection[OperatorScore]) -> str:
    """Return the number of mutants, and how many are exercised and detected at must."""
    count, exercised, must = (
        sum(len(getattr(each, name)) for each in scores) for name in ("mutants", "exercised", "must")
    )
    total = max(count, 1)
    shown = [f"{number} ({number / total:.1%})" for number in (exercised, must)]
    return f"{count} mutants: {shown[0]} are exercised, and {shown[1]} are detected at must"


PAGE = """# Mutants of all operators

`nox -s node-score` writes this page. Each mutant is one mistake in one operator, made from the operator's schema. The
cases are those of `onnx-conformance generate --onnx` whose model is one node. A mutant is exercised if it changes an
output of a case of level `must` that the page determines. The percentages are those of all mutants. A pair is a mutant
that counts again on the nodes that have a certain other attribute, input or rank. The training optimizers have a
[corpus of their own](../mutation.json).

{sums}

`conformance/run/mutants/node_mutants.py` states which mistakes are no mutants. Examples are an attribute without an
effect, a version with the same meaning, and a change with which each node is invalid. A mistake in reading or returning
NaN, infinities or large numbers is a mutant of the operators for which a case has such a value.

| operator | mutants | exercised | detected at `must` | at any level | pairs at `must` | not detected at `must` |
| --- | --- | --- | --- | --- | --- | --- |
{rows}

Mistakes that level `must` admits on purpose do not count:

{admissible}

Mistakes that change no output which the page of the operator determines are no mutants:

{equivalent}
"""
"""The page with the scores."""


def page(scores: dict[str, OperatorScore]) -> str:
    """Return the page with the scores."""
    rows = []
    for name, every in scores.items():
        score, pairs = every.part(is_pair=False), every.part(is_pair=True)
        row = score.row()
        left = ", ".join(id.removeprefix(f"{name}-").replace("-", " ") for id in sorted(score.mutants - score.must))
        shares = f"{len(pairs.must)} of {len(pairs.mutants)}"
        counts = [str(row[key]) for key in ("mutants", "exercised", "must", "should")]
        rows.append(f"| {' | '.join((name, *counts, shares, left))} |")
    admissible = "\n".join(f"- {mistake}: {reason}" for mistake, reason in ADMISSIBLE.items())
    equivalent = "\n".join(
        f"- {operator} {mistake}: {reason}" for operator, own in EQUIVALENT.items() for mistake, reason in own.items()
    )
    sums = list(lines(scores, is_verbose=False))[-1]
    return PAGE.format(sums=sums, rows="\n".join(rows), admissible=admissible, equivalent=equivalent)


def main() -> int:
    """Print the scores."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path, help="write the page with the scores")
    parser.add_argument("--operator", action="append", default=[])
    parser.add_argument("-v", "--verbose", action="store_true")
    given: Any = parser.parse_args()
    scores = score_corpus(open_corpus(given.corpus), given.operator)
    for line in lines(scores, is_verbose=given.verbose):
        print_line(line)
    if given.page is not None:
        given.page.write_text(page(scores), encoding="utf-8")
    if given.json is not None:
        rows = {name: score.row() | _lists(score) for name, score in scores.items()}
        given.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


def _lists(score: OperatorScore) -> dict[str, list[str]]:
    return {
        "detected": sorted(score.must),
        "survivors": sorted(score.exercised - score.should),
        "at_should": sorted(score.should - score.must),
        "not_exercised": sorted(score.mutants - score.exercised),
        "refused": sorted(score.refused - score.mutants),
    }


if __name__ == "__main__":
    sys.exit(main())
