"""False positives of the search: correct variants and correct graph optimizers that fail a random example."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import count, cycle, islice
from typing import TYPE_CHECKING, Any

import onnx

from checks.mutation.search_score import OptimizerExample
from checks.mutation.variants import random_variant
from conformance.base.verdicts import Level
from conformance.corpus.passes.eliminate_nop_monotone_argmax import PASS_NAME
from conformance.studies.search.evaluation import EvaluatedExample, optimizer_task
from conformance.studies.search.example import ARGMAX
from conformance.studies.search.search_cases import NoExpectedOutputsError, case_id
from conformance.studies.search.search_job import EXAMPLES_PER_CHUNK, OPERATORS
from conformance.studies.search.search_sampling import mix_examples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from checks.mutation.pass_mutants import PassMutant
    from checks.mutation.variants import Variant
    from conformance.studies.search.program_example import SampledExample


FAMILIES = (*OPERATORS, PASS_NAME)
"""The operators and the pass about which examples are drawn."""

MIXED = (*OPERATORS, PASS_NAME, PASS_NAME, PASS_NAME)
"""The families of a run without a family of its own, each as often as it is listed."""

FIRST_RANDOM_VARIANT = 1_000
"""The seed of the first random variant of a search; those of the control on the corpus are smaller."""


@dataclass(frozen=True)
class FullyCheckingBackend:
    """A backend that refuses each model that ONNX's full check refuses."""

    backend: Any

    def prepare(self, model: onnx.ModelProto, device: str = "CPU", **options: Any) -> Any:
        """Check and prepare a model.

        Raises:
            onnx.checker.ValidationError: the full check refuses the model. Shape inference may raise other errors.
        """
        onnx.checker.check_model(model, full_check=True)
        return self.backend.prepare(model, device, **options)


@dataclass
class SearchFalsePositives:
    """The false positives among the examples of one seed.

    Attributes:
        families: the operators of the examples, and the pass.
        examples: the number of examples.
        unjudged: the number of examples on which not all implementations were judged, by the reason.
        variants: how often a correct variant was run on an example.
        random_variants: how many of them were random variants; each is another.
        optimizers: how often a correct graph optimizer was run on an example.
        found: by the name of a correct implementation, the ids of the examples that it fails.
        seconds: the processor time.
    """

    seed: int
    families: Sequence[str]
    examples: int = 0
    unjudged: dict[str, int] = field(default_factory=dict)
    variants: int = 0
    random_variants: int = 0
    optimizers: int = 0
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
            f" {sum(self.unjudged.values())} not judged: {number} false positives"
        )
        yield (
            f"  runs of correct variants: {self.variants}, {self.random_variants} of them of one random variant each;"
            f" runs of correct graph optimizers: {self.optimizers}"
        )
        yield from (f"  {name} fails {', '.join(ids)}" for name, ids in self.found.items())


def find_false_positives(
    variants: Sequence[Variant],
    optimizers: Sequence[tuple[PassMutant, Sequence[str]]],
    seed: int,
    examples: int,
    progress: Callable[[str], None],
    families: Sequence[str] = MIXED,
) -> SearchFalsePositives:
    """Run correct implementations on random examples.

    Each example runs on the next of `variants` that computes it differently. An example with a training optimizer also
    runs on a random variant of its own, and an example with an ArgMax on one of `optimizers` in turn. Each backend
    checks each model fully.

    Args:
        variants: correct variants.
        optimizers: the correct graph optimizers, each with the passes that it implements.
        examples: the number of examples.
        progress: function that is called with the operator of each example after the example.
        families: the operators of the examples, and the name of the pass.
    """
    result, started = SearchFalsePositives(seed, families), time.process_time()
    in_turn, optimizers_in_turn = cycle(variants), cycle(optimizers)
    for number, example in enumerate(islice(_sample(families, seed), examples)):
        evaluated = EvaluatedExample(example)
        own = random_variant(seed * 1_000_000 + FIRST_RANDOM_VARIANT + number)
        op_types = {example.operator, *example.chain}
        changing = (variant for variant in islice(in_turn, len(variants)) if variant.changes(op_types))
        try:
            for variant in (*([own] if own.changes(op_types) else ()), *islice(changing, 1)):
                is_wrong = evaluated.is_wrong(FullyCheckingBackend(variant.backend))
                result.variants += 1
                result.random_variants += variant is own
                _record(result, variant.id, example, is_wrong=is_wrong)
            if example.operator == ARGMAX and optimizers:
                optimizer, passes = next(optimizers_in_turn)
                task = OptimizerExample(optimizer_task(evaluated.native))
                is_wrong = task.detects(optimizer.optimize, passes, Level.MUST)
                result.optimizers += 1
                _record(result, optimizer.id, example, is_wrong=is_wrong)
        except NoExpectedOutputsError as reason:
            result.unjudged[str(reason)] = result.unjudged.get(str(reason), 0) + 1
        result.examples += 1
        result.seconds = time.process_time() - started
        progress(example.operator)
    return result


def _record(result: SearchFalsePositives, name: str, example: SampledExample, *, is_wrong: bool) -> None:
    if is_wrong:
        result.found.setdefault(name, []).append(case_id(example))


def _sample(families: Sequence[str], seed: int) -> Iterator[SampledExample]:
    for chunk in count():
        yield from mix_examples(families, seed, chunk, EXAMPLES_PER_CHUNK)
