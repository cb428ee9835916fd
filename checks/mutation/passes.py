"""The mutation score of the pass cases: the mutants of the pass that they detect, and the correct optimizers that fail.

The model of a case is first optimized by the mutant and by the suite's own implementation. If both results are equal,
the mutant passes the case, and the case is not run.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from checks.mutation.operators import in_turns
from checks.mutation.pass_mutants import pass_mutants
from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case import CaseKind
from conformance.corpus.cases.case_loading import load_case
from conformance.corpus.passes.eliminate_nop_monotone_argmax import PASS_NAME, eliminate
from conformance.run.judging.optimizer import judge_rewrite
from conformance.run.judging.optimizer_run import OptimizerTask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import onnx

    from checks.mutation.pass_mutants import PassMutant
    from conformance.corpus.cases.corpus import Corpus


@dataclass(frozen=True)
class ReferencePassOutput:
    """A model, and the output of the suite's own implementation of the pass for it."""

    model: onnx.ModelProto

    @cached_property
    def expected(self) -> tuple[bytes | None, ...]:
        """The model after one run of the pass, and after repeated runs until nothing changes; serialized."""
        return self._outputs(eliminate)

    def is_made_by(self, optimize: Callable[..., Any]) -> bool:
        """Return whether an optimizer returns the same bytes and does not modify the model that it receives."""
        try:
            return self._outputs(optimize) == self.expected
        except Exception:  # noqa: BLE001 - the judge reports what an optimizer raises
            return False

    def _outputs(self, optimize: Callable[..., Any]) -> tuple[bytes | None, ...]:
        return tuple(self._output(optimize, fixed_point) for fixed_point in (False, True))

    def _output(self, optimize: Callable[..., Any], fixed_point: bool) -> bytes | None:
        given = type(self.model)()
        given.CopyFrom(self.model)
        after = optimize(given, fixed_point=fixed_point)
        is_unchanged = after is not given and given == self.model
        return after.SerializeToString(deterministic=True) if is_unchanged and isinstance(after, type(given)) else None


@dataclass(frozen=True)
class PassDetection:
    """A case that detects a mutant of the pass.

    Attributes:
        violation: the message of the violated check.
        level: the strongest level of the violated checks.
    """

    case: str
    violation: str
    level: Level = Level.MUST

    def __str__(self) -> str:
        return f"{self.case}, {self.violation}"


@dataclass(frozen=True)
class PassMutantResult:
    """The result of a mutant of the pass: a case that detects it at its level, or None."""

    mutant: PassMutant
    detection: PassDetection | None


@dataclass(frozen=True)
class CorrectPassResult:
    """The result of a correct optimizer.

    Attributes:
        false_positives: the ids of the cases that the optimizer fails.
        cases: the number of cases on which it was run.
    """

    optimizer: PassMutant
    false_positives: tuple[PassDetection, ...]
    cases: int


@dataclass(frozen=True)
class PassMutationScore:
    """The results of all mutants of the pass and of the correct optimizers.

    Attributes:
        results: the results of the mutants by theme, in the order of the catalogue.
        correct: the results of the correct optimizers.
    """

    results: Mapping[str, Sequence[PassMutantResult]]
    correct: Sequence[CorrectPassResult]

    @property
    def survivors(self) -> list[PassMutantResult]:
        """The mutants that no case detects."""
        return [one for results in self.results.values() for one in results if one.detection is None]

    @property
    def passes(self) -> bool:
        """Whether there are neither survivors nor false positives."""
        return not self.survivors and not any(one.false_positives for one in self.correct)


@dataclass(frozen=True)
class _PassCase:
    """A case of the pass, with the output of the suite's own implementation."""

    id: str
    task: OptimizerTask
    reference_output: ReferencePassOutput

    def detect(self, optimize: Callable[..., Any], passes: Sequence[str]) -> PassDetection | None:
        """Run a graph optimizer on the case; return the detection of a fault, or None if the optimizer passes."""
        outcome = judge_rewrite(optimize, passes, self.task)
        if outcome.verdict is Verdict.PASS:
            return None
        levels = [check.level for check in outcome.checks if check.violation is not None]
        strongest = min(levels, key=lambda level: level.rank, default=self.task.level)
        return PassDetection(self.id, f"{outcome.verdict}: {outcome.message}", strongest)


def measure_pass_mutation_score(
    corpus: Corpus,
    progress: Callable[[str], None],
    mutants: Mapping[str, Sequence[PassMutant]] | None = None,
    correct_per_case: int | None = None,
    first_cases: Mapping[str, str] | None = None,
) -> PassMutationScore:
    """Run every mutant of the pass and every correct optimizer on the cases of the pass.

    Args:
        progress: function that is called with the id of each mutant and optimizer when it is done.
        mutants: the mutants by theme; the catalogue and the correct optimizers if None.
        correct_per_case: number of correct optimizers of each kind that run on each case, in turns; all if None.
        first_cases: the id of the case that a mutant runs on first, by the id of the mutant.
    """
    from checks.mutation.pass_mutants.correct_variants import CORRECT_OTHER_OPTIMIZERS, CORRECT_PASSES

    cases = _pass_cases(corpus)
    order = list(cases)
    results: dict[str, list[PassMutantResult]] = {}
    for theme, rows in (mutants or pass_mutants()).items():
        results[theme] = []
        for mutant in rows:
            first = (first_cases or {}).get(mutant.id, order[0].id if order else "")
            order.sort(key=lambda case: case.id != first)
            results[theme].append(PassMutantResult(mutant, _first_detection(mutant, order)))
            progress(mutant.id)
    correct = []
    groups = ((CORRECT_PASSES, (PASS_NAME,)), (CORRECT_OTHER_OPTIMIZERS, ())) if mutants is None else ()
    for optimizers, passes in groups:
        for one in optimizers:
            own = in_turns(cases, optimizers, one, correct_per_case)
            selected = own if one.optimize is eliminate or not passes else _cases_with_other_output(one, own)
            found = (case.detect(one.optimize, passes) for case in selected)
            correct.append(CorrectPassResult(one, tuple(each for each in found if each), len(own)))
            progress(one.id)
    return PassMutationScore(results, correct)


def pass_progress_steps() -> int:
    """Return how often `measure_pass_mutation_score` calls `progress` for the whole catalogue."""
    from checks.mutation.pass_mutants.correct_variants import CORRECT_OTHER_OPTIMIZERS, CORRECT_PASSES

    return sum(map(len, pass_mutants().values())) + len(CORRECT_PASSES) + len(CORRECT_OTHER_OPTIMIZERS)


def _pass_cases(corpus: Corpus) -> list[_PassCase]:
    cases = []
    for id, case in corpus.cases.items():
        task = OptimizerTask.of(load_case(corpus, case)) if case.kind is not CaseKind.NODE else None
        if task is not None:
            cases.append(_PassCase(id, task, ReferencePassOutput(task.model)))
    return cases


def _cases_with_other_output(optimizer: PassMutant, cases: Iterable[_PassCase]) -> Iterator[_PassCase]:
    """Yield the cases for which an optimizer's output differs from that of the suite's own implementation."""
    return (case for case in cases if not case.reference_output.is_made_by(optimizer.optimize))


def _first_detection(mutant: PassMutant, cases: list[_PassCase]) -> PassDetection | None:
    """Return the first detection of a mutant at its level.

    The detecting case moves to the front of `cases`, because it often detects the next mutant too.
    """
    for position, case in enumerate(cases):
        if case.reference_output.is_made_by(mutant.optimize):
            continue
        detection = case.detect(mutant.optimize, mutant.passes)
        if detection is not None and detection.level.rank <= mutant.level.rank:
            cases.insert(0, cases.pop(position))
            return detection
    return None
