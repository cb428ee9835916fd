"""Evaluate a random example on a subject, and summarise a failure so that equal failures can be grouped.

The outputs of a backend are first compared with those of the reference backend. If they are bit-identical, the backend
is correct, and the exact oracle, which is many times slower, is not needed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from conformance.base.verdicts import Level, Unsupported, Verdict
from conformance.corpus.cases.case import PassEffect, Rewrite
from conformance.corpus.cases.case_loading import CaseInMemory
from conformance.corpus.passes.eliminate_nop_monotone_argmax import ALONG_AXIS, eliminate
from conformance.corpus.passes.expected_models import bypass_exhaustively, iter_produced_values
from conformance.exact.models.graphs import all_nodes, is_operator, main_opset
from conformance.exact.models.input_files import required_input_names
from conformance.run.judging.execute import judge_case
from conformance.run.judging.judging_options import ExecutionOptions
from conformance.run.judging.optimizer_run import OptimizerDataSet, OptimizerDataSets, OptimizerTask
from conformance.run.results.failure_groups import first_sentence
from conformance.run.results.violations import ViolationKind, normalize_message
from conformance.studies.search.drawn_example import AnyExample, DrawnExample
from conformance.studies.search.example import DEFAULT_OPSET
from conformance.studies.search.program_example import ProgramExample
from conformance.studies.search.search_cases import NoExpectedOutputsError, build_native_case, build_oracle_case
from conformance.subjects.calling.subject_names import Subject, SubjectKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conformance.run.results.records import Judged

MAX_OPTIONAL_OPERATORS = 2
"""Maximum number of optional removals of operators in a case. A case has only two lists of removed operators: after the
first run of the pass, and after all runs.
"""


_VERDICT_ALONE = ExecutionOptions(stop_at_first=True)


@dataclass(frozen=True)
class FailureSignature:
    """The properties of a failure; two failures with equal signatures count as the same fault.

    Attributes:
        subject: the id of the subject.
        about: the tested operator, or "the pass"; empty for errors, because most errors do not depend on the operator.
        violation: the message without its details, such as names and shapes; see `_strip_details`. A wrong answer names
            neither outputs nor operators: a fault can show in several of them. Conditions separate the faults.
    """

    subject: str
    about: str
    verdict: Verdict
    phase: str
    violation: str


@dataclass
class EvaluatedExample:
    """An example with its expected outputs, which are computed on first use.

    Attributes:
        level: the level at which subjects are judged.
    """

    example: AnyExample
    level: Level = Level.MUST
    _reason: str | None = None

    @cached_property
    def native(self) -> CaseInMemory:
        """The case with the outputs of the reference backend, without tolerance.

        Raises:
            NoExpectedOutputsError: the example has no determinate expected outputs.
        """
        example = self.example
        assert not isinstance(example, DrawnExample)
        return self._answered(lambda: build_native_case(example, self.level))

    @cached_property
    def case(self) -> CaseInMemory:
        """The case with the outputs and bounds of the oracle.

        Raises:
            NoExpectedOutputsError: the example has no determinate expected outputs.
        """
        return self._answered(lambda: build_oracle_case(self.example, self.level))

    @property
    def used_oracle(self) -> bool:
        """Whether the oracle was run for this example, also if it failed."""
        return "case" in self.__dict__ or self.has_no_outputs

    @property
    def has_no_outputs(self) -> bool:
        """Whether the computation of expected outputs was tried and failed."""
        return self._reason is not None

    def _answered(self, build: Callable[[], CaseInMemory]) -> CaseInMemory:
        if self._reason is None:
            try:
                return build()
            except NoExpectedOutputsError as reason:
                self._reason = str(reason)
        raise NoExpectedOutputsError(self._reason)

    def result(self, subject: Subject) -> Judged:
        """Run the example on a subject and return the result.

        Raises:
            NoExpectedOutputsError: the example has no determinate expected outputs.
        """
        if self.level is not Level.MUST or isinstance(self.example, DrawnExample):
            return evaluate(subject, self.case)
        result = evaluate(subject, self.native, stop_at_first=True)
        if not result.verdict.is_defect:
            return result
        if needs_inputs_alone(subject.kind, self.example):
            return result
        case = self.case  # raises if there are no expected outputs
        is_of_numbers = subject.kind is SubjectKind.BACKEND and result.verdict is Verdict.FAIL
        return evaluate(subject, case) if is_of_numbers else result

    def is_wrong(self, backend: Any) -> bool:
        """Return whether a backend that runs in this process fails the example.

        Raises:
            NoExpectedOutputsError: the example has no determinate expected outputs.
        """
        subject = Subject("", "", backend, SubjectKind.BACKEND)
        native = judge_case(subject, self.native, _VERDICT_ALONE).verdict
        return native.is_defect and judge_case(subject, self.case, _VERDICT_ALONE).verdict.is_defect


def evaluate(subject: Subject, case: CaseInMemory, *, stop_at_first: bool = False) -> Judged:
    """Run a case on a subject and return the result.

    Args:
        stop_at_first: whether the first output of a backend that is not acceptable ends the case, without evidence.
    """
    if subject.kind is SubjectKind.OPTIMIZER:
        return judge_case(subject, case, task=optimizer_task(case))
    fresh = CaseInMemory(case.corpus, case.entry, case.fresh_model(), case.held)
    return judge_case(subject, fresh, ExecutionOptions(stop_at_first=stop_at_first))


def is_of_pass(example: AnyExample) -> bool:
    """Return whether an example has an operator that `eliminate_nop_monotone_argmax` rewrites, not patterns alone."""
    return not isinstance(example, ProgramExample) or not example.rewritten


def needs_inputs_alone(kind: str, example: AnyExample) -> bool:
    """Return whether enclosures of two models judge a subject, so that expected outputs need not be determinate."""
    return kind == SubjectKind.OPTIMIZER and not is_of_pass(example)


def confirming_case(kind: str, example: AnyExample, level: Level) -> CaseInMemory:
    """Build the case that decides whether a subject of a kind fails an example.

    Raises:
        NoExpectedOutputsError: the example has no determinate expected outputs, or no operator that a backend is tested
            for.
    """
    if needs_inputs_alone(kind, example):
        assert isinstance(example, ProgramExample)
        return build_native_case(example, level)
    if not is_of_pass(example):
        raise NoExpectedOutputsError("the program has no tested operator")
    return build_oracle_case(example, level, whole=True)


def optimizer_task(case: CaseInMemory) -> OptimizerTask:
    """Convert a case to a task, with which the output of a graph optimizer is judged.

    Data sets on which removing operators changes an output (for example, where Log gives NaN) are left out: there the
    pass may change the output.

    Raises:
        NoExpectedOutputsError: more than `MAX_OPTIONAL_OPERATORS` removals are optional, which a case cannot express.
    """
    names = required_input_names(case.model.graph)
    model = case.fresh_model()
    every = OptimizerDataSets(
        tuple(
            OptimizerDataSet(number, dict(zip(names, one.inputs, strict=True)))
            for number, one in enumerate(case.data_sets())
        )
    )
    rewritten = [eliminate(model), eliminate(model, fixed_point=True), bypass_exhaustively(model)]
    kept = tuple(example for example in every.every if _is_safe(every, example, model, rewritten))
    rewrite = expected_rewrite(model)
    is_chain = len(rewrite.once) < 2 and len(rewrite.fixed_point) <= MAX_OPTIONAL_OPERATORS
    if rewrite.effect is PassEffect.OPTIONAL and not is_chain:
        raise NoExpectedOutputsError("several optional removals")
    return OptimizerTask(model, rewrite, OptimizerDataSets(kept))


def _is_safe(
    examples: OptimizerDataSets, example: OptimizerDataSet, model: onnx.ModelProto, rewritten: Sequence[onnx.ModelProto]
) -> bool:
    if all(other == model for other in rewritten):
        return True
    try:
        expected, *others = (examples.answers(each, example) for each in (model, *rewritten))
    except Unsupported:
        return False
    return all(len(expected) == len(other) and all(map(np.array_equal, expected, other)) for other in others)


def expected_rewrite(model: onnx.ModelProto) -> Rewrite:
    """Return the expected effect of the pass on a model.

    The effect lists the values whose producers are removed, after one run of the pass and after all runs.
    """
    before = {path for path, _ in iter_produced_values(model)}
    once, ever = (
        tuple(sorted(before - {path for path, _ in iter_produced_values(eliminate(model, fixed_point=fixed_point))}))
        for fixed_point in (False, True)
    )
    fires = PassEffect.OPTIONAL if _is_softmax_removal_optional(model) else PassEffect.APPLIES
    return Rewrite(fires if once else PassEffect.DOES_NOT_APPLY, once, ever)


def _is_softmax_removal_optional(model: onnx.ModelProto) -> bool:
    """Return whether the model has a Softmax or LogSoftmax for which the pass is optional.

    Before opset 13, Softmax may normalize over more axes than the axis of ArgMax. The specification does not state
    whether the pass removes it then.
    """
    return main_opset(model) < DEFAULT_OPSET and any(is_operator(node, *ALONG_AXIS) for node in all_nodes(model))


def failure_signature(subject: Subject, example: AnyExample, result: Judged) -> FailureSignature | None:
    """Return the signature of a result that is a defect of the subject, otherwise None."""
    if not result.verdict.is_defect:
        return None
    if result.verdict is not Verdict.FAIL:
        about = ""  # errors are seldom specific to the operator
    else:
        about = example.operator if subject.kind is SubjectKind.BACKEND else "the pass"
    wrong = next((output.violation for output in result.outputs if output.violation is not None), None)
    if wrong is not None and wrong.kind is ViolationKind.ELEMENTS:
        violation = "wrong elements"  # one fault can show in any output, so the signature does not name the output
    else:
        violation = normalize_message(_strip_details(first_sentence(result)))
    if result.verdict is Verdict.FAIL:
        violation = _WORD.sub(lambda word: "…" if onnx.defs.has(word[0]) else word[0], violation)
    return FailureSignature(subject.id, about, result.verdict, result.phase or "", violation)


def _strip_details(message: str) -> str:
    """Return a message without the details in which two failures of one kind can differ.

    The details are generated names, quotations, shapes and stack traces. If the message has a chain of causes, only the
    innermost cause is kept.
    """
    text = _STACK.split(message)[0].rstrip()
    if _CAUSED in text:
        text = text.splitlines()[-1].strip().partition(": ")[2] or text.splitlines()[-1].strip()
    while (shorter := _BRACKETED.sub("…", text)) != text:
        text = shorter
    text = _OPEN.split(text)[0]
    return _QUOTED.sub("…", _NUMBERED.sub("…", _RESULT.sub(r"\1", text)))


_RESULT = re.compile(r"\b([XVH]\d*_new|index)_\w+")
_WORD = re.compile(r"\b[A-Z]\w*")
_STACK = re.compile(r"\n\s*(?:Stack b|B)acktrace")
_CAUSED = "Caused by:"
_BRACKETED = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_OPEN = re.compile(r"[(\[]")
"""An opening bracket without a closing one, from a message that was truncated."""
_NUMBERED = re.compile(r"\b[A-Za-z]+(?:_[A-Za-z]+)*_\d\w*")
"""Names that a subject generates, such as `if_3_select_0`."""
_QUOTED = re.compile(r"\[[\d, ]*\]|'[^']*'|\"[^\"]*\"|\{[^}]*\}")
