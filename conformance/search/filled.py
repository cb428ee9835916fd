"""From a choice to a case: the oracle, or the native reference, says what must come out."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx

from conformance.corpus.case import CaseKind
from conformance.corpus.corpus import Corpus, CorpusCase
from conformance.corpus.loading import CaseInMemory, DataSet, ExpectedTensor
from conformance.models.checking import check
from conformance.passes.eliminate_nop_monotone_argmax import ALONG_AXIS
from conformance.reference.graph import Graph
from conformance.reference.numbers.native import Native
from conformance.reference.oracle import Answer, answers_of
from conformance.search.choice import OPSET
from conformance.search.limit import TookTooLongError, limited
from conformance.verdicts import Level, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.models.arrays import Array
    from conformance.search.choice import Choice

SECONDS = 10.0
"""Of processor time that the oracle has for the outputs of one run."""


class NoAnswerError(Exception):
    """No `must` case can be made of a choice; its text says why, in a few words."""


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

    def expected(graph: Graph, inputs: Sequence[Array]) -> list[Answer]:
        outputs = [_without_unsettled(output) for output in _answers(graph, inputs, level)]
        if whole and any(output.settled is not None for output in outputs):
            raise NoAnswerError("unsettled")
        if all(output.bound is not None and output.bound.size and np.isinf(output.bound).all() for output in outputs):
            raise NoAnswerError("unsettled")
        return outputs

    return _case(choice, level, expected)


def natively_filled(choice: Choice, level: Level = Level.MUST) -> CaseInMemory:
    """A case of what the native reference makes of a choice, to the bit: who answers so is right.

    Raises:
        NoAnswerError: ONNX's checker refuses the model, the reference does not have all of its operators, or an axis is
            beyond the rank.
    """
    return _case(choice, level, _native_answers)


def _case(choice: Choice, level: Level, expected: Callable[[Graph, Sequence[Array]], Sequence[Answer]]) -> CaseInMemory:
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
    try:
        graph = Graph.of(model)
        for inputs in made.data_sets:
            answered = zip(names, expected(graph, inputs), strict=True)
            tensors = tuple(ExpectedTensor(name, one.expected, one.bound, one.choices) for name, one in answered)
            data_sets.append(DataSet(inputs, tensors))
    except Unsupported:
        raise NoAnswerError("no answer of the reference") from None
    digest = hashlib.sha256(made.model).hexdigest()
    entry = CorpusCase(id_of(choice), CaseKind.NODE, level, {"model.onnx": digest})
    corpus = _InMemory(Path(), "0.0.0", digest, {entry.id: entry}, {"model.onnx": made.model})
    return CaseInMemory(corpus, entry, model, tuple(data_sets))


def _native_answers(graph: Graph, inputs: Sequence[Array]) -> list[Answer]:
    return [Answer(value.elements) for value in graph.run(inputs, Native())]


def _answers(graph: Graph, inputs: Sequence[Array], level: Level) -> list[Answer]:
    try:
        with limited(SECONDS):
            return answers_of(graph, inputs, level)
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
