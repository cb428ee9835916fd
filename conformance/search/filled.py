"""From a choice to a case: the oracle says what must come out, and a subject is judged by it as in a run."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from conformance.clauses import clauses
from conformance.corpus.case import Case, CaseKind, Firing, Rewrite
from conformance.corpus.corpus import Corpus, CorpusCase
from conformance.corpus.loading import CaseInMemory, DataSet, ExpectedTensor
from conformance.judging.backend import judge_backend
from conformance.judging.examples import Example, Examples
from conformance.judging.optimizer import Task, judge_rewrite
from conformance.models.checking import check
from conformance.models.feeds import fed_names
from conformance.passes.eliminate_nop_monotone_argmax import ALONG_AXIS, eliminate
from conformance.passes.expected import past_all, produced
from conformance.reference.operators.training import TRAINING_OPTIMIZERS
from conformance.reference.oracle import answers
from conformance.results.failure_kinds import normalized
from conformance.search.choice import ARGMAX, OPSET
from conformance.search.limit import TookTooLongError, limited
from conformance.subjects.naming import SubjectKind
from conformance.verdicts import Level, Unsupported, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.judging.outcome import Outcome
    from conformance.models.arrays import Array
    from conformance.reference.oracle import Answer
    from conformance.search.choice import Choice
    from conformance.subjects.loading import Subject

SECONDS = 10.0
"""Of processor time that the oracle has for the outputs of one run."""


class NoAnswerError(Exception):
    """No `must` case can be made of a choice; its text says why, in a few words."""


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


@dataclass(frozen=True)
class _InMemory(Corpus):
    """A corpus of one model, which is nowhere on disk."""

    content: Mapping[str, bytes] = field(default_factory=dict)

    def read(self, case: CorpusCase, file: str) -> bytes:  # noqa: ARG002
        return self.content[file]


def filled(choice: Choice, level: Level = Level.MUST, *, whole: bool = False) -> CaseInMemory:
    """A case of what must come out of a choice.

    Args:
        level: `must`, or `should` for what IEEE 754 says in the tensor's own precision.
        whole: whether every element is to be settled, as the corpus asks of its cases.

    Raises:
        NoAnswerError: ONNX's checker refuses the model, the reference does not have all of its operators, or
            admissible evaluations differ by more than rounding on every element; an axis is beyond the rank; or
            the oracle takes too long.
    """
    if (
        choice.opset < OPSET
        and choice.along == "default"
        and ALONG_AXIS & {*choice.chain}
        and choice.operands["X"].ndim < 2
    ):
        raise NoAnswerError("the default axis is beyond the rank")
    made = choice.made
    model = onnx.load_model_from_string(made.model)
    try:
        check(model)
    except onnx.checker.ValidationError:
        raise NoAnswerError("refused by the checker") from None
    names = [value.name for value in model.graph.output]
    data_sets = []
    for inputs in made.data_sets:
        outputs = [_without_unsettled(output) for output in _answers(made.model, inputs, level)]
        if whole and any(output.settled is not None for output in outputs):
            raise NoAnswerError("unsettled")
        if all(output.bound is not None and output.bound.size and np.isinf(output.bound).all() for output in outputs):
            raise NoAnswerError("unsettled")
        expected = zip(names, outputs, strict=True)
        tensors = tuple(ExpectedTensor(name, one.expected, one.bound, one.choices) for name, one in expected)
        data_sets.append(DataSet(inputs, tensors))
    digest = hashlib.sha256(made.model).hexdigest()
    entry = CorpusCase(id_of(choice), CaseKind.NODE, level, {"model.onnx": digest})
    corpus = _InMemory(Path(), "0.0.0", digest, {entry.id: entry}, {"model.onnx": made.model})
    return CaseInMemory(corpus, entry, model, tuple(data_sets))


def _answers(model: bytes, inputs: Sequence[Array], level: Level) -> list[Answer]:
    try:
        with limited(SECONDS):
            return answers(model, inputs, level)
    except Unsupported:
        raise NoAnswerError("no answer of the reference") from None
    except TookTooLongError:
        raise NoAnswerError(f"the oracle takes more than {SECONDS:g} s") from None


def _without_unsettled(output: Answer) -> Answer:
    """An answer that accepts anything for elements on which admissible evaluations differ by more than rounding.

    Raises:
        NoAnswerError: there are such elements of type double, which are held against readings of a whole node.
    """
    if output.settled is None or output.bound is None:
        return output
    bound = np.where(output.settled, output.bound, np.inf)
    if output.expected.dtype == np.float64 and (bound != output.bound).any():
        raise NoAnswerError("unsettled")
    return replace(output, bound=bound)


def id_of(choice: Choice) -> str:
    """A name of its own for each model and data."""
    made = choice.made
    hashed = hashlib.sha256(made.model)
    for inputs in made.data_sets:
        for array in inputs:
            hashed.update(array.tobytes())
    return f"test_search_{choice.operator.lower()}_{hashed.hexdigest()[:12]}"


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
    """
    names, model = fed_names(case.model.graph), case.fresh_model()
    every = Examples(
        tuple(Example(number, dict(zip(names, one.inputs, strict=True))) for number, one in enumerate(case.data_sets()))
    )
    rewritten = [eliminate(model), eliminate(model, fixed_point=True), past_all(model)]
    kept = tuple(example for example in every.every if _is_safe(every, example, model, rewritten))
    return Task(model, rewrite_of(model), Examples(kept))


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
    return Rewrite(Firing.FIRES if once else Firing.STAYS, once, ever)


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
    """A complaint without traces of the context that its value came through, without quotations and without shapes."""
    return _QUOTED.sub("…", _RESULT.sub(r"\1", message))


_RESULT = re.compile(r"\b([XVH]\d*_new|index)_\w+")
_QUOTED = re.compile(r"\[[\d, ]*\]|'[^']*'|\"[^\"]*\"|\{[^}]*\}")


def as_case(choice: Choice, kind: str, level: Level = Level.MUST) -> Case:
    """A choice as a case for a corpus, its data included.

    Args:
        kind: of a case for backends, or for graph optimizers.
    """
    made = choice.made
    model = onnx.load_model_from_string(made.model)
    return Case(
        id=id_of(choice),
        title=described(choice),
        level=level,
        clauses=clauses_of(choice, kind),
        tags=("search", choice.operator.lower()),
        model=made.model,
        data_sets=made.data_sets,
        kind=kind,
        rewrite=rewrite_of(model) if kind == CaseKind.PASS else None,
    )


def clauses_of(choice: Choice, kind: str) -> tuple[str, ...]:
    """The clauses that a case of a choice is about."""
    if kind == CaseKind.PASS:
        return ("monotone.fires",) if choice.chain else ("monotone.adjacent",)
    if choice.operator == ARGMAX:
        return ("argmax.index",)
    prefix = choice.operator.lower()
    mode = f"_{choice.attributes['mode']}" if choice.operator == "Momentum" else ""
    names = (f"{prefix}.{name.lower()}" for name in TRAINING_OPTIMIZERS[choice.operator].results)
    return tuple(name if name in clauses() else f"{name}{mode}" for name in names)


def described(choice: Choice) -> str:
    """A choice in words, for titles."""
    context: Any = choice.context
    parts = [f"in the place {context.place}"] if context.place != "main" else []
    parts += [f"{name} from {word}" for name, word in context.origins.items() if word != "input"]
    parts += [f"{name} {word}" for name, word in context.uses.items() if word != "output"]
    parts += [f"after {' and '.join(choice.chain)}"] if choice.chain else []
    if choice.operator != ARGMAX:
        shapes = [list(array.shape) for name, array in choice.operands.items() if name[0] == "X"]
        parts.append(f"T = {int(choice.operands['T'])} and tensors of shape {', '.join(map(str, shapes))}")
    else:
        parts.append(f"a tensor of shape {list(choice.operands['X'].shape)}")
    return f"{choice.operator} computes with " + ", ".join([*parts[-1:], *parts[:-1]])
