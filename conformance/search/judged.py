"""What becomes of a draw on a subject, and what finds have in common that one fault made.

The native reference is asked first: a backend whose answers are its own to the bit is right, and the oracle, which
takes many times as long, need not say within which bounds they would have to be.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.corpus.case import Firing, Rewrite
from conformance.corpus.loading import CaseInMemory
from conformance.judging.backend import judge_backend
from conformance.judging.examples import Example, Examples
from conformance.judging.optimizer import Task, judge_rewrite
from conformance.models.feeds import fed_names
from conformance.models.graphs import all_nodes
from conformance.passes.eliminate_nop_monotone_argmax import ALONG_AXIS, eliminate
from conformance.passes.expected import past_all, produced
from conformance.results.failure_kinds import normalized
from conformance.search.choice import OPSET
from conformance.search.filled import NoAnswerError, filled, natively_filled
from conformance.subjects.naming import SubjectKind
from conformance.verdicts import Level, Unsupported, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import onnx

    from conformance.judging.outcome import Outcome
    from conformance.search.choice import Choice
    from conformance.subjects.loading import Subject


MOST_OPEN = 2
"""Of so many operators that may go a case can say which: none, those of the first run, or all."""


@dataclass(frozen=True)
class Cause:
    """What finds of one fault have in common.

    Attributes:
        subject: whose.
        about: the operator, or the pass.
        complaint: the message, without what differs between two failures of one kind.
    """

    subject: str
    about: str
    verdict: str
    phase: str
    complaint: str


@dataclass
class Draw:
    """A choice with what must come out of it, as far as anybody asks.

    Attributes:
        level: at which it is judged.
    """

    choice: Choice
    level: Level = Level.MUST
    _reason: str | None = None

    @cached_property
    def native(self) -> CaseInMemory:
        """With the native reference's answers, to the bit.

        Raises:
            NoAnswerError: it has none.
        """
        return self._answered(natively_filled)

    @cached_property
    def case(self) -> CaseInMemory:
        """With the oracle's.

        Raises:
            NoAnswerError: it has none.
        """
        return self._answered(filled)

    @property
    def is_filled(self) -> bool:
        """Whether the oracle was asked."""
        return "case" in self.__dict__ or self.has_no_answer

    @property
    def has_no_answer(self) -> bool:
        """Whether somebody was asked and had no answer."""
        return self._reason is not None

    def _answered(self, how: Callable[[Choice, Level], CaseInMemory]) -> CaseInMemory:
        if self._reason is None:
            try:
                return how(self.choice, self.level)
            except NoAnswerError as reason:
                self._reason = str(reason)
        raise NoAnswerError(self._reason)

    def outcome(self, subject: Subject) -> Outcome:
        """What becomes of it on a subject.

        Raises:
            NoAnswerError: nobody can be judged by it.
        """
        if self.level is not Level.MUST:
            return judged(subject, self.case)
        outcome = judged(subject, self.native)
        if not outcome.verdict.is_defect:
            return outcome
        case = self.case  # without which nobody is judged
        is_of_numbers = subject.kind is SubjectKind.BACKEND and outcome.verdict is Verdict.FAIL
        return judged(subject, case) if is_of_numbers else outcome

    def is_wrong(self, backend: Any) -> bool:
        """Whether a backend of this process has a defect on it.

        Raises:
            NoAnswerError: nobody can be judged by it.
        """
        return (
            judge_backend(backend, self.native).verdict.is_defect
            and judge_backend(backend, self.case).verdict.is_defect
        )


def judged(subject: Subject, case: CaseInMemory) -> Outcome:
    """What becomes of a case on a subject."""
    if subject.kind is SubjectKind.BACKEND:
        fresh = CaseInMemory(case.corpus, case.entry, case.fresh_model(), case.held)
        return judge_backend(subject.target, fresh)
    return judge_rewrite(subject.target, subject.passes, task_of(case))


def task_of(case: CaseInMemory) -> Task:
    """A case as a graph optimizer is judged on it.

    A data set on which taking operators away changes an answer, as where Log gives a NaN, is left out: the pass may
    change it, so that nobody is judged by it.

    Raises:
        NoAnswerError: which operators may be left is more than a case can say.
    """
    names, model = fed_names(case.model.graph), case.fresh_model()
    every = Examples(
        tuple(Example(number, dict(zip(names, one.inputs, strict=True))) for number, one in enumerate(case.data_sets()))
    )
    rewritten = [eliminate(model), eliminate(model, fixed_point=True), past_all(model)]
    kept = tuple(example for example in every.every if _is_safe(every, example, model, rewritten))
    rewrite = rewrite_of(model)
    if rewrite.answer is Firing.MAY and len(rewrite.fixed_point) > MOST_OPEN:
        raise NoAnswerError("more than one of a chain may stay")
    return Task(model, rewrite, Examples(kept))


def _is_safe(
    examples: Examples, example: Example, model: onnx.ModelProto, rewritten: Sequence[onnx.ModelProto]
) -> bool:
    try:
        expected, *others = (examples.answers(each, example) for each in (model, *rewritten))
    except Unsupported:
        return False
    return all(len(expected) == len(other) and all(map(_equal, expected, other)) for other in others)


def _equal(expected: Any, actual: Any) -> bool:
    return bool(np.array_equal(np.asarray(expected), np.asarray(actual)))


def rewrite_of(model: onnx.ModelProto) -> Rewrite:
    """What the pass does with a model: the values whose producers are gone after one run, and after all."""
    before = {path for path, _ in produced(model)}
    once, ever = (
        tuple(sorted(before - {path for path, _ in produced(eliminate(model, fixed_point=fixed_point))}))
        for fixed_point in (False, True)
    )
    fires = Firing.MAY if _normalizes_more(model) else Firing.FIRES
    return Rewrite(fires if once else Firing.STAYS, once, ever)


def _normalizes_more(model: onnx.ModelProto) -> bool:
    """Whether a Softmax is of an opset in which it may normalize more than ArgMax's axis: whether it goes is open."""
    opsets = {entry.domain: entry.version for entry in model.opset_import}
    return opsets.get("", OPSET) < OPSET and any(node.op_type in ALONG_AXIS for node in all_nodes(model))


def cause(subject: Subject, choice: Choice, outcome: Outcome) -> Cause | None:
    """Why an outcome is a defect of a subject; None where it is none."""
    if not outcome.verdict.is_defect:
        return None
    if outcome.verdict is not Verdict.FAIL:
        about = ""  # what ends in an error has seldom to do with the operator
    else:
        about = choice.operator if subject.kind is SubjectKind.BACKEND else "the pass"
    return Cause(subject.id, about, str(outcome.verdict), outcome.phase or "", normalized(_unplaced(outcome.message)))


def _unplaced(message: str) -> str:
    """A complaint without traces of the context that its value came through, without quotations and without shapes.

    Of an error that is told with what it was caused by, and with a stack, the first cause is what counts.
    """
    told = _STACK.split(message)[0].rstrip()
    if _CAUSED in told:
        told = told.splitlines()[-1].strip().partition(": ")[2] or told.splitlines()[-1].strip()
    while (shorter := _BRACKETED.sub("…", told)) != told:
        told = shorter
    told = _OPEN.split(told)[0]
    return _QUOTED.sub("…", _NUMBERED.sub("…", _RESULT.sub(r"\1", told)))


_RESULT = re.compile(r"\b([XVH]\d*_new|index)_\w+")
_STACK, _CAUSED = re.compile(r"\n\s*(?:Stack b|B)acktrace"), "Caused by:"
_BRACKETED = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_OPEN = re.compile(r"[(\[]")
"""What a bracket holds of a message that was cut."""
_NUMBERED = re.compile(r"\b[A-Za-z]+(?:_[A-Za-z]+)*_\d\w*")
"""Names that a subject makes: if_3_select_0."""
_QUOTED = re.compile(r"\[[\d, ]*\]|'[^']*'|\"[^\"]*\"|\{[^}]*\}")
