"""One run of a graph optimizer on a case, and the outputs that its checks compare.

The suite's exact reference computes all outputs, before and after the rewrite; no runtime is involved. `OptimizerRun`
has the models of a run and what the pass may do with them; `OptimizerDataSets` computes and caches the outputs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from conformance.base.verdicts import Level, OptimizerRunName, RewriteEffect, Unsupported
from conformance.corpus.cases.case import PassEffect, Rewrite
from conformance.corpus.cases.case_loading import read_case_json
from conformance.corpus.passes.expected_models import bypass_exhaustively, remove_producers
from conformance.exact.judgement.rewrite_effects import RewriteJudgement, find_witness, judge_rewrite_of
from conformance.exact.models.input_files import fed_input_names
from conformance.exact.models.model_validity import check_model
from conformance.exact.reference.oracle import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import onnx

    from conformance.corpus.cases.case_loading import LoadedCase
    from conformance.corpus.profiles import RequirementProfile
    from conformance.exact.models.arrays import Array


FOLDING_TOLERANCE_ULP = 64
"""Allowed change of a floating-point output, in units of the type's epsilon: constant folding changes rounding."""

MAX_REFUSAL_LENGTH = 200
"""Characters of the text that `checker_error` returns."""

ONCE: Final = "once"
FIXED_POINT: Final = "fixed_point"
"""Names of the two runs of a graph optimizer: a single run, and runs until nothing changes."""


@dataclass(frozen=True)
class OptimizerDataSet:
    """The inputs of one data set.

    Attributes:
        number: number of the data set in the case, from 0.
        inputs: inputs of the graph by name.
        hazard: hazard for which the pass may change the outputs of this data set; None if it must keep them.
    """

    number: int
    inputs: Mapping[str, Array]
    hazard: str | None = None


@dataclass(frozen=True)
class OptimizerDataSets:
    """The data sets of a case, with a cache of the outputs computed from them."""

    every: tuple[OptimizerDataSet, ...]
    _answers: dict[tuple[bytes, int, bool], list[Any]] = field(default_factory=dict)
    _effects: dict[tuple[bytes, bytes, int], RewriteJudgement] = field(default_factory=dict)

    def safe(self) -> Iterator[OptimizerDataSet]:
        """Yield the data sets for which the pass must keep the outputs."""
        return (data_set for data_set in self.every if data_set.hazard is None)

    def hazardous(self) -> Iterator[OptimizerDataSet]:
        """Yield the data sets for which the pass may change the outputs (hazards)."""
        return (data_set for data_set in self.every if data_set.hazard is not None)

    def answers(self, model: onnx.ModelProto, data_set: OptimizerDataSet, *, declared: bool = False) -> list[Any]:
        """Return the outputs of a model: arrays, lists of arrays for sequences, None for empty optionals.

        Args:
            declared: round the result of every node to its declared type; otherwise round only the outputs.

        Raises:
            Unsupported: the model has operators that the reference lacks, or is malformed. The check `checker` reports
                malformed models.
        """
        key = model.SerializeToString(deterministic=True), data_set.number, declared
        if key not in self._answers:
            self._answers[key] = _evaluate(model, data_set, declared)
        return self._answers[key]

    def effect(self, before: onnx.ModelProto, after: onnx.ModelProto, data_set: OptimizerDataSet) -> RewriteJudgement:
        """Return the effect of a rewrite on the outputs for a data set, by enclosures."""
        texts = before.SerializeToString(deterministic=True), after.SerializeToString(deterministic=True)
        key = (*texts, data_set.number)
        if key not in self._effects:
            try:
                same = RewriteJudgement(RewriteEffect.BITS)
                is_same = texts[0] == texts[1]
                self._effects[key] = same if is_same else judge_rewrite_of(before, after, data_set.inputs)
            except Exception as error:  # noqa: BLE001 - a malformed model can raise any error
                self._effects[key] = RewriteJudgement(None, reason=f"{type(error).__name__}: {error}")
        return self._effects[key]


def _evaluate(model: onnx.ModelProto, data_set: OptimizerDataSet, declared: bool) -> list[Any]:
    try:
        return evaluate(model, data_set.inputs, declared=declared)
    except Unsupported:
        raise
    except Exception as error:  # a malformed model can raise any error
        raise Unsupported(f"{type(error).__name__}: {error}") from error


class NotJudged(Exception):
    """Exception of a check that cannot be evaluated for a run.

    The text is the reason; it is empty if the check is left out of the results.
    """


@dataclass(frozen=True)
class OptimizerTask:
    """The parts of a case that are needed to judge a graph optimizer.

    Attributes:
        model: the model of the case; the optimizer receives copies.
        expected: what the pass must do with the model.
        data_sets: the data sets of the case.
        is_invalid: whether the case is of kind `invalid`.
        level: level of the case.
        profile: requirements beyond the specification, or None.
    """

    model: onnx.ModelProto
    expected: Rewrite
    data_sets: OptimizerDataSets
    is_invalid: bool = False
    level: Level = Level.MUST
    profile: RequirementProfile | None = None

    @cached_property
    def invalid(self) -> str | None:
        """Why the model is invalid, such as the error of onnx's checker; None if the model is valid."""
        return checker_error(self.model) or ("the corpus has it as invalid" if self.is_invalid else None)

    @classmethod
    def of(cls, case: LoadedCase) -> OptimizerTask | None:
        """Return the task of a case; None if the case does not define what the pass does with its model.

        Raises:
            CorpusError: a file of the case is altered.
        """
        document = read_case_json(case.corpus, case.entry)
        rewrite = document.rewrite
        if rewrite is None:
            return None
        expected = Rewrite(rewrite.effect, tuple(rewrite.once), tuple(rewrite.fixed_point))
        hazards = [data_set.hazard or None for data_set in document.data_sets]
        data_sets = (
            OptimizerDataSet(number, _feeds(case.model.graph, data_set.inputs), hazards[number])
            for number, data_set in enumerate(case.data_sets() if hazards else ())
        )
        return cls(case.model, expected, OptimizerDataSets(tuple(data_sets)), case.is_invalid, case.entry.level)


def _feeds(graph: onnx.GraphProto, inputs: Sequence[Array]) -> dict[str, Array]:
    """Return the inputs of a data set by name."""
    return dict(zip(fed_input_names(graph, len(inputs)), inputs, strict=False))


@dataclass(frozen=True)
class OptimizerRun:
    """One run of a graph optimizer.

    Attributes:
        task: what the graph optimizer had to do.
        run: `ONCE` for a single run of the optimizer, `FIXED_POINT` for runs until nothing changes.
        caller_model: the model object that was passed to the graph optimizer, in its state after the run.
        after: the model that the graph optimizer returned.
        implements_pass: whether the graph optimizer declares that it implements the pass.
        has_fixed_point_option: whether the optimizer offers a single run and runs to a fixed point separately.
    """

    task: OptimizerTask
    run: OptimizerRunName
    caller_model: onnx.ModelProto
    after: onnx.ModelProto
    implements_pass: bool
    has_fixed_point_option: bool

    def effect(self, data_set: OptimizerDataSet) -> RewriteJudgement | None:
        """Return the effect of the rewrite on the outputs for a data set; None if the optimizer implements the pass."""
        return None if self.implements_pass else self.task.data_sets.effect(self.task.model, self.after, data_set)

    @cached_property
    def strongest_effect(self) -> tuple[RewriteEffect | None, str]:
        """The strongest effect on a safe data set, and the witness if it is a hazard or a fault.

        The effect is None if the model is unchanged or not judged, or if the optimizer implements the pass.
        """
        if self.task.invalid or self.implements_pass or self.after == self.task.model:
            return None, ""
        found = [each for data_set in self.task.data_sets.safe() if (each := self.effect(data_set))]
        judged = [(each.effect, each) for each in found if each.effect is not None]
        if not judged or len(judged) < len(found):
            return None, ""
        effect, strongest = max(judged, key=lambda entry: [*RewriteEffect].index(entry[0]))
        return effect, find_witness(self.task.model, self.after, strongest) if strongest.is_wrong else ""

    @cached_property
    def allowed_removals(self) -> list[tuple[str, ...]]:
        """The sets of values whose producers the pass may remove in this run; each set is one allowed outcome."""
        expected = self.task.expected
        allowed = [expected.once] if self.run == ONCE else [expected.fixed_point]
        if not self.has_fixed_point_option:
            allowed.append(expected.fixed_point)
        if expected.effect is PassEffect.OPTIONAL:
            allowed += [(), expected.once]
        return list(dict.fromkeys(allowed))

    @cached_property
    def documented_models(self) -> list[onnx.ModelProto]:
        """The model of the case, unchanged, after one run of the pass, and after runs to a fixed point.

        An optimizer that does not implement the pass by name may run other passes first, which remove other uses of a
        value. For such an optimizer, `bypass_exhaustively` returns one more documented model.
        """
        model = self.task.model
        expected = self.task.expected
        removals = dict.fromkeys([(), expected.once, expected.fixed_point])
        models = [remove_producers(model, values) for values in removals]
        return models if self.implements_pass else [*models, bypass_exhaustively(model)]


def checker_error(model: onnx.ModelProto) -> str | None:
    """Return why onnx's checker, with shape inference, refuses a model, in one line; None if the model is valid."""
    try:
        check_model(model, shapes=True)
    except Exception as error:  # noqa: BLE001 - errors of the checker, of shape inference, and of protobuf
        return " ".join(str(error).split())[:MAX_REFUSAL_LENGTH] or type(error).__name__
    return None


def equal_outputs(one: Any, other: Any) -> bool:
    """Return whether two outputs are equal, up to `FOLDING_TOLERANCE_ULP`; NaN equals NaN."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(equal_outputs(*pair) for pair in zip(one, other, strict=True))
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.shape == other.shape and one.dtype == other.dtype and bool(_equal_elements(one, other).all())
    return one is None and other is None


def is_elementwise_admissible(answer: Any, admissible: Sequence[Any]) -> bool:
    """Return whether each element of an output equals the corresponding element of one of the admissible outputs."""
    if not isinstance(answer, np.ndarray):
        return any(equal_outputs(answer, other) for other in admissible)
    fitting = [other for other in admissible if other.shape == answer.shape and other.dtype == answer.dtype]
    if not fitting:
        return False
    agreeing = [_equal_elements(answer, other) for other in fitting]
    return bool(np.logical_or.reduce(agreeing).all())


def _equal_elements(one: Array, other: Array) -> Array:
    """Return which elements of two arrays are equal, up to `FOLDING_TOLERANCE_ULP` (bool, the arrays' shape)."""
    if one.dtype.kind != "f":  # integers, and floating-point types that NumPy itself does not have
        return np.asarray((one == other) | ((one != one) & (other != other)))  # noqa: PLR0124
    tolerance = FOLDING_TOLERANCE_ULP * np.finfo(one.dtype).eps
    with np.errstate(all="ignore"):
        return np.isclose(one, other, rtol=tolerance, atol=0, equal_nan=True)
