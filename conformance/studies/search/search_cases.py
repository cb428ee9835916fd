"""Turn a random example into a test case by computing its expected outputs.

`build_native_case` uses the outputs of the reference backend, which computes with NumPy in the
types of the tensors and is fast. `build_oracle_case` uses the exact outputs and the bounds of the oracle, which is many
times slower. `limit_cpu_time`, at the end of this module, stops the oracle after a limit of processor time.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx

from conformance.base.jobs.job import CpuTimeoutError, limit_cpu_time
from conformance.base.verdicts import Level, Unsupported
from conformance.corpus.cases.case import CaseKind
from conformance.corpus.cases.case_loading import CaseInMemory, DataSet, ExpectedTensor
from conformance.corpus.cases.corpus import Corpus, CorpusCase
from conformance.corpus.factors.training_factors import tensor_names
from conformance.corpus.factors.wrapping import Context
from conformance.corpus.generation.expected_outputs import enclosed_answers
from conformance.exact.models.model_validity import is_fully_valid
from conformance.exact.reference.node_enclosures import NodeScope, answer_of, enclose_by_any_text
from conformance.exact.reference.numbers.enclosure import Enclosure
from conformance.exact.reference.numbers.number_system import NumberSystem
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.exact.reference.oracle import Answer, answers_for_graph
from conformance.run.mutants.mutant import read_graph
from conformance.studies.search.distractors import SHOULD_NAMES
from conformance.studies.search.drawn_example import AnyExample, DrawnExample
from conformance.studies.search.example import Example

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.graph import Graph
    from conformance.studies.search.program_example import SampledExample


ORACLE_SECONDS = 10.0
"""Processor time, in seconds, that the oracle may take for the outputs of one run."""


class NoExpectedOutputsError(Exception):
    """An example has no determinate expected outputs. The message is a short reason, which reports count."""


@dataclass(frozen=True)
class _OneModelCorpus(Corpus):
    """A corpus in memory that contains one model."""

    content: Mapping[str, bytes] = field(default_factory=dict)

    def read(self, case: CorpusCase, file: str) -> bytes:  # noqa: ARG002
        return self.content[file]


def build_oracle_case(example: AnyExample, level: Level = Level.MUST, *, whole: bool = False) -> CaseInMemory:
    """Build the test case of an example with the expected outputs and bounds of the oracle.

    Args:
        level: `must`, or `should` to require results as IEEE 754 defines them in the precision of the tensors.
        whole: whether every element must be determinate, as in the corpus. Otherwise any value is accepted for an
            indeterminate element.

    Raises:
        NoExpectedOutputsError: the level is `must` and the distractor is judged at level `should` alone, ONNX's full
            check rejects the model, the reference does not implement one of its operators, admissible evaluations
            differ by more than rounding on every element, or the oracle takes too long.
    """
    if isinstance(example, DrawnExample):
        return _build_drawn_case(example, level)
    plain = example if isinstance(example, Example) and _is_judged_by_tuples(example) else None
    runs = iter(() if plain is None else plain.runs)

    def expected(graph: Graph, inputs: Sequence[Array]) -> list[Answer]:
        run = next(runs, None)
        if plain is None or run is None:
            answers = _oracle_answers(graph, inputs, level)
        else:
            answers = _answers_by_tuples(plain, run, level)
        outputs = [_accept_indeterminate(output) for output in answers]
        if whole and any(output.determinate_mask is not None for output in outputs):
            raise NoExpectedOutputsError("unsettled")
        if all(output.accepts_every_value for output in outputs):
            raise NoExpectedOutputsError("unsettled")
        return outputs

    return _build_case(example, level, expected)


def build_native_case(example: SampledExample, level: Level = Level.MUST) -> CaseInMemory:
    """Build the test case of an example with the outputs of the reference backend and without tolerance.

    A backend that returns bit-identical outputs is correct. A backend that returns other outputs may still be correct.

    Raises:
        NoExpectedOutputsError: ONNX's full check rejects the model, or the reference does not implement one of its
            operators.
    """
    return _build_case(example, level, _native_answers)


def _build_case(
    example: SampledExample, level: Level, expected: Callable[[Graph, Sequence[Array]], Sequence[Answer]]
) -> CaseInMemory:
    if level is Level.MUST and isinstance(example, Example) and example.distractor in SHOULD_NAMES:
        raise NoExpectedOutputsError("judged at level should")
    built = example.built
    model = onnx.load_model_from_string(example.built.model)
    if not is_fully_valid(built.model):
        raise NoExpectedOutputsError("refused by the checker")
    data_sets = []
    try:
        for inputs in built.data_sets:
            try:
                found = expected(read_graph(built.model), inputs)
            except Unsupported:
                found = enclosed_answers(model, inputs)
            answered = zip(model.graph.output, found, strict=True)
            tensors = (ExpectedTensor(value.name, one.expected, one.bound, one.choices) for value, one in answered)
            data_sets.append(DataSet(inputs, tuple(tensors)))
    except Unsupported:
        raise NoExpectedOutputsError("no answer of the reference") from None
    except (ValueError, IndexError, ArithmeticError):  # sizes that are computed need not fit in a drawn program
        raise NoExpectedOutputsError("the reference refuses the sizes of a value") from None
    return _case_in_memory(built.model, level, model, tuple(data_sets))


def _case_in_memory(
    content: bytes, level: Level, model: onnx.ModelProto, data_sets: tuple[DataSet, ...]
) -> CaseInMemory:
    """Return a case whose id has the hash of the model alone; it stands for `case_id`, which hashes the data too."""
    digest = hashlib.sha256(content).hexdigest()
    entry = CorpusCase(f"{CASE_PREFIX}{digest[:12]}", CaseKind.NODE, level, {"model.onnx": digest})
    corpus = _OneModelCorpus(Path(), "0.0.0", digest, {entry.id: entry}, content={"model.onnx": content})
    return CaseInMemory(corpus, entry, model, data_sets)


def drawn_answers(example: DrawnExample, level: Level) -> list[Answer]:
    """Return the acceptable values of the outputs of a drawn node.

    Raises:
        NoExpectedOutputsError: the reference does not judge the node, or every value of its outputs is acceptable.
    """
    node = example.node
    try:
        with np.errstate(all="ignore"):
            expected = enclose_by_any_text(NodeScope.of(node.model), node.proto, node.operands)
            if level is not Level.MUST:
                expected = [each.should or each if isinstance(each, Enclosure) else each for each in expected]
            found = [answer_of(each) for each in expected[: len(node.proto.output)]]
    except (Unsupported, ValueError) as reason:
        raise NoExpectedOutputsError(str(reason)) from None
    if len(found) < len(node.model.graph.output):
        raise NoExpectedOutputsError("no answer of the reference for an output")
    if all(answer.accepts_every_value for answer in found):
        raise NoExpectedOutputsError("every value is acceptable")
    return found


def _build_drawn_case(example: DrawnExample, level: Level) -> CaseInMemory:
    built = example.built
    model = example.node.model
    answered = zip(model.graph.output, drawn_answers(example, level), strict=True)
    tensors = tuple(ExpectedTensor(value.name, one.expected, one.bound) for value, one in answered)
    return _case_in_memory(built.model, level, model, (DataSet(built.data_sets[0], tensors),))


def _native_answers(graph: Graph, inputs: Sequence[Array]) -> list[Answer]:
    return [Answer(value.elements) for value in graph.run(inputs, NumberSystem())]


def _oracle_answers(graph: Graph, inputs: Sequence[Array], level: Level) -> list[Answer]:
    try:
        with limit_cpu_time(ORACLE_SECONDS):
            return answers_for_graph(graph, inputs, level)
    except CpuTimeoutError:
        raise NoExpectedOutputsError(f"the oracle takes more than {ORACLE_SECONDS:g} s") from None


MAX_ELEMENTS_JUDGED_SINGLY = 256
"""Number of elements above which the oracle gets each distinct tuple of operands of a training optimizer once."""

MAX_ELEMENTS_SEARCHED_FOR_DISTINCT = 4096
"""Number of elements that usually have all distinct values of a column."""


def _is_judged_by_tuples(example: Example) -> bool:
    """Return whether the outputs are the results of one training optimizer's node, and its tensors are large."""
    context = example.context
    is_plain = context.changed(stored="raw", imports="main_first", trains=False) == Context()
    return (
        example.operator in TRAINING_OPTIMIZERS
        and is_plain
        and not example.distractor
        and not example.repeated
        and sum(array.size for array in example.operands.values()) > MAX_ELEMENTS_JUDGED_SINGLY
    )


def _answers_by_tuples(example: Example, run: Mapping[str, Array], level: Level) -> list[Answer]:
    """Return the answers of the oracle for one run; it computes each distinct tuple of operands once.

    A training optimizer computes each element of each tensor from the elements at the same place, so the result for a
    tuple of operands is the same in every tensor. The oracle gets one tensor of the distinct tuples.
    """
    optimizer = TRAINING_OPTIMIZERS[example.operator]
    count = example.tensor_count
    names = tensor_names(optimizer.operands, count)
    shapes = [run[name].shape for name in names[:count]]
    columns = [
        np.concatenate([run[name].reshape(-1) for name in names[kind * count : (kind + 1) * count]])
        for kind in range(len(optimizer.operands))
    ]
    tuples = np.zeros(columns[0].size, dtype=np.int64)
    for column in columns:
        codes = _places_among_distinct(column.view(f"u{column.itemsize}"))
        tuples = _places_among_distinct(tuples * (int(codes.max()) + 1) + codes)
    first = np.zeros(int(tuples.max()) + 1, dtype=np.intp)
    first[tuples[::-1]] = np.arange(tuples.size)[::-1]  # of several places of a tuple, the first one is assigned last
    distinct = {name: column[first] for name, column in zip(optimizer.operands, columns, strict=True)}
    small = replace(example, context=Context(), runs=({"R": run["R"], "T": run["T"], **distinct},))
    results = _oracle_answers(read_graph(small.built.model), small.built.data_sets[0], level)
    parts = np.split(tuples, np.cumsum([prod(shape) for shape in shapes])[:-1])
    return [
        _spread_answer(result, part.reshape(shape))
        for result in results
        for part, shape in zip(parts, shapes, strict=True)
    ]


def _places_among_distinct(values: Array) -> Array:
    """Return for each value its place among the sorted distinct values.

    If the first values have all distinct values, a search among them replaces sorting, which takes ten times as long.
    """
    few = np.unique(values[:MAX_ELEMENTS_SEARCHED_FOR_DISTINCT])
    places = np.asarray(np.minimum(np.searchsorted(few, values), few.size - 1))
    if np.array_equal(few[places], values):
        return places
    return np.unique(values, return_inverse=True)[1].reshape(-1)


def _spread_answer(answer: Answer, places: Array) -> Answer:
    """Return an answer whose elements are those of `answer` at some places."""
    bound, mask = (
        None if array is None else np.asarray(array[places]) for array in (answer.bound, answer.determinate_mask)
    )
    return replace(answer, expected=np.asarray(answer.expected[places]), bound=bound, determinate_mask=mask)


def _accept_indeterminate(output: Answer) -> Answer:
    """Return the output with an infinite bound for each element that is not determinate.

    Raises:
        NoExpectedOutputsError: an element of type double is not determinate. For doubles, outputs are compared with
            each interpretation of a whole node, and an infinite bound cannot express that.
    """
    if output.determinate_mask is None or output.bound is None:
        return output
    bound = np.where(output.determinate_mask, output.bound, np.inf)
    if output.expected.dtype == np.float64 and (bound != output.bound).any():
        raise NoExpectedOutputsError("unsettled")
    return replace(output, bound=bound)


CASE_PREFIX = "test_search_"
"""Beginning of the ids of all cases that a search writes."""


def case_id(example: AnyExample) -> str:
    """Return an id that is unique for the model and the data of an example."""
    built = example.built
    hashed = hashlib.sha256(built.model)
    for inputs in built.data_sets:
        for array in inputs:
            hashed.update(array.tobytes())
    operator = "pattern" if getattr(example, "rewritten", ()) else example.operator.lower().replace(".", "_")
    return f"{CASE_PREFIX}{operator}_{hashed.hexdigest()[:12]}"
