"""False positives of the search: correct variants and correct graph optimizers that fail a random example."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import count, islice
from typing import TYPE_CHECKING, Any

from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME
from conformance.search.cases import NoExpectedOutputsError, case_id
from conformance.search.evaluation import EvaluatedExample, optimizer_task
from conformance.search.example import ARGMAX
from conformance.search.job import EXAMPLES_PER_CHUNK, OPERATORS
from conformance.search.sampling import sample_examples
from conformance.verdicts import Level
from mutation.search_score import OptimizerExample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from conformance.search.example import Example
    from mutation.pass_mutants import PassMutant


@dataclass
class SearchFalsePositives:
    """The false positives among the examples of one seed.

    Attributes:
        examples: the number of examples.
        without_outputs: the number of examples without determinate expected outputs.
        found: by the name of a correct implementation, the ids of the examples that it fails.
        seconds: the processor time.
    """

    seed: int
    examples: int = 0
    without_outputs: int = 0
    found: dict[str, list[str]] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def passes(self) -> bool:
        """Whether there are no false positives."""
        return not self.found

    def lines(self) -> Iterator[str]:
        """Yield the result as text."""
        number = sum(map(len, self.found.values()))
        yield (
            f"{self.examples} examples of seed {self.seed} in {self.seconds:.0f} s of processor time,"
            f" {self.without_outputs} without expected outputs: {number} false positives"
        )
        yield from (f"  {name} fails {', '.join(ids)}" for name, ids in self.found.items())


def find_false_positives(
    variants: Sequence[tuple[str, set[str], Any]],
    optimizers: Sequence[tuple[PassMutant, Sequence[str]]],
    seed: int,
    examples: int,
    progress: Callable[[str], None],
) -> SearchFalsePositives:
    """Run correct implementations on random examples; one of three examples is about the pass.

    Args:
        variants: for each correct variant its name, the operators that it computes differently, and its backend.
        optimizers: the correct graph optimizers, each with the passes that it implements.
        examples: the number of examples.
        progress: function that is called with the operator of each example after the example.
    """
    result, started = SearchFalsePositives(seed), time.process_time()
    for example in islice(_sample(seed), examples):
        evaluated = EvaluatedExample(example)
        try:
            names = list(_false_positives(evaluated, variants, optimizers))
        except NoExpectedOutputsError:
            names = []
        for name in names:
            result.found.setdefault(name, []).append(case_id(example))
        result.examples += 1
        result.without_outputs += evaluated.has_no_outputs
        result.seconds = time.process_time() - started
        progress(example.operator)
    return result


def _sample(seed: int) -> Iterator[Example]:
    for chunk in count():
        yield from sample_examples((*OPERATORS, PASS_NAME, PASS_NAME, PASS_NAME), seed, chunk, EXAMPLES_PER_CHUNK)


def _false_positives(
    evaluated: EvaluatedExample,
    variants: Sequence[tuple[str, set[str], Any]],
    optimizers: Sequence[tuple[PassMutant, Sequence[str]]],
) -> Iterator[str]:
    """Yield the names of the correct implementations that fail an example."""
    present = {evaluated.example.operator, *evaluated.example.chain}
    yield from (name for name, changed, backend in variants if changed & present and evaluated.is_wrong(backend))
    if evaluated.example.operator == ARGMAX:
        task = OptimizerExample(optimizer_task(evaluated.native))
        yield from (one.id for one, passes in optimizers if task.detects(one.optimize, passes, Level.MUST))
