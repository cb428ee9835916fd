"""The mutation score of the operator cases: the mutants that the corpus detects, and the correct variants that fail.

Every mutant of the catalogue must fail a case of its level, and no correct variant may fail a `must` case. For
comparison, the same mutants also run on onnx's own seven cases, with the tolerance of onnx's test runner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from checks.mutation.dimensions import all_mutants
from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case_loading import load_case
from conformance.run.judging.backend import judge_backend
from conformance.run.mutants import model_family, op_types
from conformance.run.results.violations import ViolationKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeVar

    from checks.mutation.variants import Variant
    from conformance.corpus.cases.case_loading import CaseInMemory, LoadedCase
    from conformance.corpus.cases.corpus import Corpus
    from conformance.exact.models.arrays import Array
    from conformance.run.mutants import Mutant
    from conformance.run.results.records import CaseJudgement

    Operators = Mapping[str, set[str]]  # by the id of a case
    Case = TypeVar("Case")


ONNX_CASES = (
    "test_adagrad",
    "test_adagrad_multiple",
    "test_adam",
    "test_adam_multiple",
    "test_momentum",
    "test_momentum_multiple",
    "test_nesterov_momentum",
)
"""onnx's own cases of the three training optimizers."""

DECISIVE_MARGIN = 10
"""Minimum error of a decisive detection, as a multiple of the bound."""

RTOL, ATOL = 1e-3, 1e-7
"""The relative and absolute tolerance of onnx's test runner."""


@dataclass(frozen=True)
class Detection:
    """A case that detects a mutant.

    Attributes:
        case: the id of the case.
        how: the wrong property: `value`, `type`, `shape`, `inputs` (modified by the run), `error` or `outputs` (wrong
            number of outputs).
        margin: the largest error as a multiple of the bound, or None for faults other than a wrong value.
    """

    case: str
    how: str
    margin: float | None = None

    @property
    def is_decisive(self) -> bool:
        """Whether the error is so large that the case would detect the mutant even with a wider bound."""
        return self.margin is None or self.margin >= DECISIVE_MARGIN

    def __str__(self) -> str:
        return f"{self.case}, {self.how if self.margin is None else f'{self.margin:.3g} x bound'}"


@dataclass(frozen=True)
class MutantResult:
    """The result of running a mutant on the corpus.

    Attributes:
        detection: the first case of the mutant's own level that detects it, or None. Cases in which the error is far
            beyond the bound are preferred; see `Detection.is_decisive`.
        false_positive: the first `must` case that the mutant fails although its level is weaker than `must`, or None.
            Such a failure is a false positive, because a `must` case must accept behaviour of a weaker level.
        detected_by_onnx: whether onnx's own cases detect the mutant, or None if they do not test its operator.
    """

    mutant: Mutant
    detection: Detection | None
    false_positive: Detection | None
    detected_by_onnx: bool | None


@dataclass(frozen=True)
class VariantResult:
    """The result of running a correct variant on the corpus.

    Attributes:
        false_positives: the ids of the `must` cases that the variant fails.
        cases: the number of `must` cases that it ran on.
    """

    variant: Variant
    false_positives: tuple[str, ...]
    cases: int


@dataclass(frozen=True)
class MutationScore:
    """The results of all mutants and correct variants.

    Attributes:
        results: the results of the mutants by family, in the order of the catalogue.
        variants: the results of the correct variants.
    """

    results: Mapping[str, Sequence[MutantResult]]
    variants: Sequence[VariantResult]

    @property
    def of_all_mutants(self) -> list[MutantResult]:
        """The results of the mutants of all families."""
        return [result for results in self.results.values() for result in results]

    @property
    def survivors(self) -> list[MutantResult]:
        """The `must` mutants that no `must` case detects."""
        return [one for one in self.of_all_mutants if one.mutant.level is Level.MUST and one.detection is None]

    @property
    def false_positives(self) -> list[MutantResult]:
        """The mutants of a weaker level than `must` that fail a `must` case."""
        return [one for one in self.of_all_mutants if one.false_positive]

    @property
    def passes(self) -> bool:
        """Whether there are neither survivors nor false positives."""
        return not (self.survivors or self.false_positives or any(one.false_positives for one in self.variants))


def measure_mutation_score(
    corpus: Corpus,
    progress: Callable[[str], None],
    only: Iterable[str] = (),
    mutants: Mapping[str, Sequence[Mutant]] | None = None,
    correct_per_case: int | None = None,
    first_cases: Mapping[str, str] | None = None,
) -> MutationScore:
    """Run every mutant and every correct variant on the cases of its operator.

    Args:
        progress: function that is called with the id of each mutant and variant when it is done.
        only: the families to test; all if empty.
        mutants: the mutants by family; all mutants and the correct variants if None.
        correct_per_case: number of correct variants that run on each `must` case, in turns, and of mutants of a weaker
            level, which it must accept; all if None.
        first_cases: the id of the case that a mutant runs on first, by the id of the mutant.
    """
    from checks.mutation.variants import VARIANTS

    cases = cases_by_family(corpus, only)
    operators = {case.id: op_types(case.model) for own in cases.values() for case in own}
    families = {name: rows for name, rows in (mutants or all_mutants()).items() if not only or name in only}
    results: dict[str, list[MutantResult]] = {}
    for family, rows in families.items():
        results[family] = []
        own = cases.get(family, [])
        weaker = [mutant.id for mutant in rows if mutant.level is not Level.MUST]
        for mutant in rows:
            first = (first_cases or {}).get(mutant.id)
            ordered = sorted(own, key=lambda case: case.id != first)
            accepted = in_turns(own, weaker, mutant.id, correct_per_case) if mutant.id in weaker else ()
            results[family].append(_test_mutant(mutant, ordered, accepted, operators))
            progress(mutant.id)
    variants = []
    tested = [case for family in families for case in cases.get(family, [])]
    for variant in VARIANTS if mutants is None else ():
        variants.append(_test_variant(variant, in_turns(tested, VARIANTS, variant, correct_per_case), operators))
        progress(variant.id)
    return MutationScore(results, variants)


def progress_steps() -> int:
    """Return how often `measure_mutation_score` calls `progress` for the whole catalogue."""
    from checks.mutation.variants import VARIANTS

    return sum(len(rows) for rows in all_mutants().values()) + len(VARIANTS)


def in_turns(cases: Sequence[Case], implementations: Sequence[Any], one: Any, per_case: int | None) -> Sequence[Case]:
    """Return the cases on which one of several implementations runs if `per_case` of them run on each; None for all."""
    step = max(1, len(implementations) // (per_case or len(implementations)))
    return cases[implementations.index(one) % step :: step]


def cases_by_family(corpus: Corpus, only: Iterable[str] = ()) -> dict[str, list[CaseInMemory]]:
    """Return the valid `must` and `should` cases of the corpus, of all families or of some, with their data sets."""
    loaded = loaded_by_family(corpus, only)
    return {family: [case.in_memory() for case in cases] for family, cases in loaded.items()}


def loaded_by_family(corpus: Corpus, only: Iterable[str] = ()) -> dict[str, list[LoadedCase]]:
    """Return the valid `must` and `should` cases of the corpus, of all families or of some."""
    cases: dict[str, list[LoadedCase]] = {}
    for entry in corpus.cases.values():
        if entry.is_invalid or entry.level is Level.SILENT:
            continue
        case = load_case(corpus, entry)
        family = model_family(case.model)
        if family is not None and (not only or family in only):
            cases.setdefault(family, []).append(case)
    return cases


def detect(backend: Any, case: LoadedCase) -> Detection | None:
    """Run a backend on a case; return the detection of a fault, or None if the backend passes."""
    result = judge_backend(backend, case)
    if result.verdict not in {Verdict.FAIL, Verdict.ERROR}:
        return None
    return _to_detection(case.id, result)


def _test_mutant(
    mutant: Mutant, cases: Sequence[CaseInMemory], accepted: Sequence[CaseInMemory], operators: Operators
) -> MutantResult:
    """Run a mutant on cases of its level, and on those of `accepted` that are `must` cases."""
    backend = mutant.backend
    relevant = [case for case in cases if mutant.operator in operators[case.id]]
    own = [case for case in relevant if case.level is mutant.level]
    must = [case for case in accepted if case.level is Level.MUST and mutant.operator in operators[case.id]]
    return MutantResult(
        mutant,
        _best_detection(backend, own),
        _best_detection(backend, must),
        _is_detected_by_onnx(backend, [case for case in relevant if case.id in ONNX_CASES]),
    )


def _best_detection(backend: Any, cases: Iterable[CaseInMemory]) -> Detection | None:
    """Return the first decisive detection of a fault in a backend.

    If no detection is decisive, return the detection with the largest margin; if there is no detection, None.
    """
    best: Detection | None = None
    for case in cases:
        detection = detect(backend, case)
        if detection is None:
            continue
        if detection.is_decisive:
            return detection
        best = detection if best is None else max(best, detection, key=lambda found: found.margin or 0)
    return best


def _test_variant(variant: Variant, cases: Iterable[CaseInMemory], operators: Operators) -> VariantResult:
    relevant = [case for case in cases if case.level is Level.MUST and variant.changes(operators[case.id])]
    failed = tuple(case.id for case in relevant if detect(variant.backend, case))
    return VariantResult(variant, failed, len(relevant))


def _to_detection(case: str, result: CaseJudgement) -> Detection:
    if result.verdict is Verdict.ERROR:
        return Detection(case, "error")
    violations = [output for output in result.outputs if output.violation is not None]
    if not violations:
        return Detection(case, "inputs" if result.message.startswith("input") else "outputs")
    kinds = {output.violation.kind for output in violations if output.violation is not None}
    for word, kind in (("type", ViolationKind.OUTPUT_TYPE), ("shape", ViolationKind.OUTPUT_SHAPE)):
        if kind in kinds:
            return Detection(case, word)
    ratios = [output.error_over_bound for output in violations if output.error_over_bound is not None]
    return Detection(case, "value", max(ratios) if ratios and max(ratios) > 1 else None)


def _is_detected_by_onnx(backend: Any, cases: Sequence[CaseInMemory]) -> bool | None:
    if not cases:
        return None
    return not all(_passes_onnx_case(backend, case) for case in cases)


def _passes_onnx_case(backend: Any, case: CaseInMemory) -> bool:
    try:
        prepared = backend.prepare(case.model, "CPU")
        for data_set in case.data_sets():
            outputs = prepared.run(list(data_set.inputs))
            if len(outputs) != len(data_set.outputs):
                return False
            if not all(_is_close(a, output.expected) for a, output in zip(outputs, data_set.outputs, strict=True)):
                return False
    except Exception:  # noqa: BLE001
        return False
    return True


def _is_close(actual: Array, expected: Array) -> bool:
    """Return whether an output is correct by the criterion of onnx's test runner."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return False
    with np.errstate(all="ignore"):
        return bool(np.isclose(actual, expected, rtol=RTOL, atol=ATOL, equal_nan=True).all())
