"""The mutation score of the search: which mutants its random examples detect, without the corpus."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatch
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any

from checks.mutation.passes import ReferencePassOutput
from conformance.base.verdicts import Level
from conformance.corpus.passes.eliminate_nop_monotone_argmax import PASS_NAME
from conformance.run.judging.optimizer import judge_rewrite
from conformance.studies.search.evaluation import EvaluatedExample, optimizer_task
from conformance.studies.search.search_cases import NoExpectedOutputsError
from conformance.studies.search.search_job import EXAMPLES_PER_CHUNK, OPERATORS
from conformance.studies.search.search_sampling import mix_examples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from checks.mutation.pass_mutants import PassMutant
    from conformance.run.judging.optimizer_run import OptimizerTask
    from conformance.run.mutants import Mutant


LARGE_TENSOR_REASON = "Only tensors larger than any example show it. The corpus has such tensors."

UNREACHABLE_MUTANTS: Mapping[str, str] = {
    "*.1048576_elements_at_most": LARGE_TENSOR_REASON,
}
"""Mutants that examples cannot detect, by id pattern, each with the reason."""


@dataclass
class SearchScore:
    """The mutants that the examples of one seed detect.

    Attributes:
        detected: by mutant id, the number of examples until the mutant was detected.
        missed: the ids of mutants that were not detected although examples can detect them.
        unreachable: the ids of mutants that examples cannot detect, each with the reason.
        examples: the number of examples.
        without_outputs: the number of examples without determinate expected outputs.
        combinations: the number of different combinations of classes; see `Example.combination`.
        seconds: the processor time.
    """

    seed: int
    detected: dict[str, int] = field(default_factory=dict)
    missed: list[str] = field(default_factory=list)
    unreachable: dict[str, str] = field(default_factory=dict)
    examples: int = 0
    without_outputs: int = 0
    combinations: int = 0
    seconds: float = 0.0

    @property
    def passes(self) -> bool:
        """Whether no mutant was missed."""
        return not self.missed

    def to_document(self) -> dict[str, Any]:
        """Return the score as JSON."""
        return asdict(self)

    def lines(self) -> Iterator[str]:
        """Yield the score as text."""
        reachable = len(self.detected) + len(self.missed)
        yield (
            f"{self.examples} examples of seed {self.seed} in {self.seconds:.0f} s of processor time,"
            f" {self.without_outputs} without expected outputs, {self.combinations} combinations of classes"
        )
        yield f"{len(self.detected)} of {reachable} mutants that examples can detect are detected"
        yield from (f"  missed: {id}" for id in self.missed)
        if self.unreachable:
            yield f"{len(self.unreachable)} mutants cannot be detected by any example:"
            for reason, ids in sorted(_ids_by_reason(self.unreachable).items()):
                yield f"  {reason}"
                yield from (f"    {id}" for id in ids)


def _ids_by_reason(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for id, reason in reasons.items():
        found.setdefault(reason, []).append(id)
    return found


@dataclass
class _TestedMutant:
    """A mutant that is not detected yet, and the processor time that only this mutant needed."""

    mutant: Mutant
    seconds: float = 0.0


def measure_search_score(
    mutants: Sequence[Mutant],
    seed: int,
    is_enough: Callable[[SearchScore], bool],
    progress: Callable[[str], None],
    seconds_each: float = float("inf"),
) -> SearchScore:
    """Run the mutants on random examples, one example after another; detected mutants are not run again.

    Args:
        mutants: the mutants, of which those of level `must` are tested.
        is_enough: function that is called after each example and returns whether to stop.
        progress: function that is called with the id of each mutant when it is detected.
        seconds_each: the processor time after which a mutant is missed. It counts as if a search tested this mutant
            alone: the examples, the runs of the mutant, and the oracle for the examples on which it needs the oracle.
    """
    score = SearchScore(seed)
    left: dict[str, list[_TestedMutant]] = {}
    for one in mutants:
        if (reason := _unreachable_reason(one.id)) is not None:
            score.unreachable[one.id] = reason
        elif one.level is Level.MUST:
            left.setdefault(one.operator, []).append(_TestedMutant(one))
    started = time.process_time()
    shared, combinations, before = 0.0, set(), started
    for evaluated in _evaluated_examples(seed, score):
        combinations.add(evaluated.example.combination)
        has_outputs = _has_native_outputs(evaluated)
        shared += time.process_time() - before
        oracle_seconds = 0.0
        present = {evaluated.example.operator, *getattr(evaluated.example, "chain", ())}
        for tested in [one for name in present for one in left.get(name, ())] if has_outputs else ():
            has_used, now = evaluated.used_oracle, time.process_time()
            is_detected = _is_detected(tested.mutant.backend, evaluated)
            spent = time.process_time() - now
            if evaluated.used_oracle and not has_used:
                oracle_seconds = spent
            tested.seconds += spent + (oracle_seconds if has_used else 0.0)
            is_late = shared + tested.seconds > seconds_each
            if is_detected or is_late:
                left[tested.mutant.operator].remove(tested)
            if is_late:
                score.missed.append(tested.mutant.id)
            elif is_detected:
                score.detected[tested.mutant.id] = score.examples
                progress(tested.mutant.id)
        score.seconds, score.combinations = time.process_time() - started, len(combinations)
        if is_enough(score) or not any(left.values()):
            break
        before = time.process_time()
    score.missed += [one.mutant.id for group in left.values() for one in group]
    return score


def _has_native_outputs(evaluated: EvaluatedExample) -> bool:
    try:
        evaluated.native  # noqa: B018 - it is kept
    except NoExpectedOutputsError:
        return False
    return True


def _unreachable_reason(id: str) -> str | None:
    return next((reason for pattern, reason in UNREACHABLE_MUTANTS.items() if fnmatch(id, pattern)), None)


def _evaluated_examples(seed: int, score: SearchScore) -> Iterator[EvaluatedExample]:
    for chunk in count():
        for example in mix_examples(OPERATORS, seed, chunk, EXAMPLES_PER_CHUNK):
            score.examples += 1
            evaluated = EvaluatedExample(example)
            yield evaluated
            score.without_outputs += evaluated.has_no_outputs


def _is_detected(backend: Any, evaluated: EvaluatedExample) -> bool:
    try:
        return evaluated.is_wrong(backend)
    except NoExpectedOutputsError:
        return False


MIN_DETECTION_RATE = 98 / 101
"""Share of the mutants of the pass that random examples must detect."""


@dataclass
class OptimizerExample:
    """An example about the pass, with the data that the judgement of a graph optimizer needs."""

    task: OptimizerTask

    @cached_property
    def reference_output(self) -> ReferencePassOutput:
        """The output of the suite's own implementation of the pass for the model."""
        return ReferencePassOutput(self.task.model)

    def detects(self, optimize: Callable[..., Any], passes: Sequence[str], level: Level) -> bool:
        """Return whether a graph optimizer fails the example at this level or a stronger one."""
        if self.reference_output.is_made_by(optimize):
            return False
        outcome = judge_rewrite(optimize, passes, self.task)
        levels = [check.level for check in outcome.checks if check.violation is not None]
        strongest = min(levels, key=lambda each: each.rank, default=self.task.level)
        return outcome.verdict.is_defect and strongest.rank <= level.rank


@dataclass
class PassSearchScore:
    """The mutants of the pass that the examples of one seed detect.

    Attributes:
        detected: by mutant id, the number of examples until the mutant was detected.
        missed: by mutant id, the texts of the mutants that were not detected.
        examples: the number of examples.
        seconds: the processor time.
    """

    seed: int
    detected: dict[str, int] = field(default_factory=dict)
    missed: dict[str, str] = field(default_factory=dict)
    examples: int = 0
    seconds: float = 0.0

    @property
    def passes(self) -> bool:
        """Whether at least `MIN_DETECTION_RATE` of the mutants are detected."""
        return len(self.detected) >= MIN_DETECTION_RATE * (len(self.detected) + len(self.missed))

    def lines(self) -> Iterator[str]:
        """Yield the score as text."""
        every = len(self.detected) + len(self.missed)
        yield f"{self.examples} examples of seed {self.seed} about the pass in {self.seconds:.0f} s of processor time"
        yield f"{len(self.detected)} of {every} mutants of the pass are detected"
        yield from (f"  missed: {id}: {text}" for id, text in self.missed.items())


def measure_pass_search_score(
    mutants: Sequence[PassMutant],
    seed: int,
    seconds: float,
    progress: Callable[[str], None],
    examples: int | None = None,
) -> PassSearchScore:
    """Run the mutants of the pass on random examples, one after another; detected mutants are not run again.

    Args:
        seconds: the processor time after which to stop.
        progress: function that is called with the id of each mutant when it is detected.
        examples: the number of examples after which to stop, or None.
    """
    score, left, started = PassSearchScore(seed), list(mutants), time.process_time()
    for number, example in optimizer_examples(seed):
        for mutant in list(left):
            if example.detects(mutant.optimize, mutant.passes, mutant.level):
                left.remove(mutant)
                score.detected[mutant.id] = number
                progress(mutant.id)
        score.examples, score.seconds = number, time.process_time() - started
        if not left or score.seconds > seconds or number == examples:
            break
    score.missed = {mutant.id: mutant.text for mutant in left}
    return score


def optimizer_examples(seed: int) -> Iterator[tuple[int, OptimizerExample]]:
    """Yield random examples about the pass, each with its number; examples without expected outputs are omitted."""
    numbers = count(1)
    for chunk in count():
        for example in mix_examples((PASS_NAME,), seed, chunk, EXAMPLES_PER_CHUNK):
            number = next(numbers)
            try:
                yield number, OptimizerExample(optimizer_task(EvaluatedExample(example).native))
            except NoExpectedOutputsError:
                continue
