"""onnx's own node cases as cases of a corpus.

The installed onnx builds models, inputs and outputs. The expected values and bounds come from the reference and the
serialised model alone. Where the reference has no answer, a case keeps onnx's outputs and the tolerance of onnx's
runner, at level `should`, with the tag `onnx-value`. If an output of onnx is outside of the bound of the reference, the
case has the tag `onnx-differs`.

A second case has the same model with hard values of the inputs that are free, and the tag `hard`. Where only the bounds
of level `should` determine an element, there is a third case of this level.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from importlib.metadata import distribution
from importlib.util import find_spec
from itertools import chain, repeat
from math import prod
from pathlib import Path
from pkgutil import walk_packages
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from conformance.base.errors import ConformanceError
from conformance.base.plugins import installed_name
from conformance.base.verdicts import Level, Unsupported
from conformance.corpus.cases.case import VALUE_TAG, Case
from conformance.exact.models.arrays import Array, array_of, is_floating
from conformance.exact.models.graphs import all_nodes, subgraphs_of
from conformance.exact.models.input_files import DeclaredInput, fed_input_names, initializer_arrays
from conformance.exact.models.model_validity import model_violation
from conformance.exact.reference.node_enclosures import NodeScope, answer_of, enclose, outputs_of_model, round_each_node
from conformance.exact.reference.numbers.enclosure import (
    Enclosure,
    Tensor,
    admissible_mask,
    hull,
    without_strict_bounds,
)
from conformance.exact.reference.numbers.portable import with_portable_bits
from conformance.exact.reference.oracle import EVALUATION_ERRORS, Answer, evaluate, quiet_evaluation
from conformance.own.graphs.intermediate_values import RANDOM_OPERATORS
from conformance.own.graphs.tensor_borders import with_tensors
from conformance.own.model_cases.case_operands import hard_data_sets
from conformance.own.model_cases.earlier_answers import CaseComputation, EarlierAnswers
from conformance.own.model_cases.model_cases import MAX_CASE_ELEMENTS, data_types
from conformance.own.model_cases.parts import part_of_model

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence


GENERATOR = "onnx"
"""Name of the generator in case.json."""

DIFFERS_TAG = "onnx-differs"
"""Tag of a case for which onnx has an output outside of the bound of the reference."""

WIDER_TAG = "wider-than-onnx"
"""Tag of a case with an element whose bound is wider than the tolerance of onnx's runner."""

HARD_TAG = "hard"
"""Tag of a case with hard values in the model of a case of onnx."""

DRAWN_TAG = "drawn"
"""Tag of a case of a drawn node, see `drawn_cases`."""

TENSORS_TAG = "of-tensors"
"""Tag of a case whose model makes sequences or optionals from tensors, because the files of a case have tensors."""

MAX_ORACLE_ELEMENTS = 4096
"""Largest number of elements for which exact arithmetic computes the expected value of doubles."""


def node_cases(operators: Collection[str] | None = None) -> list[Any]:
    """Return the node cases of the installed onnx, as onnx's own loader builds them.

    Args:
        operators: operators whose cases are needed, or None for all. Cases of others may be returned too.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if operators is not None and (found := _cases_of_modules(operators)) is not None:
            return found
        from onnx.backend.test.loader import load_model_tests

        return list(load_model_tests(kind="node"))


def _cases_of_modules(operators: Collection[str]) -> list[Any] | None:
    """Return the cases of the modules of onnx whose source names an operator; to build all cases takes ten seconds.

    Return None if onnx registers its cases elsewhere than release 1.23.
    """
    from onnx.backend.test.case import node as package

    registered = getattr(package, "_NodeTestCases", None)
    if not isinstance(registered, list):
        return None
    names = re.compile(rf"\b({'|'.join(map(re.escape, operators))})\b")
    for module in walk_packages(package.__path__, f"{package.__name__}."):
        if not module.ispkg and names.search(_source_of(module.name)):
            import_module(module.name)
    return list(registered)


def _source_of(module: str) -> str:
    """Return the source of a module of onnx without its import."""
    found = find_spec(module)
    return "" if found is None or found.origin is None else Path(found.origin).read_text(encoding="utf-8")


def array_of_value(given: Any) -> Any:
    """Return an input or output of onnx's loader with arrays: texts as objects, and a sequence as a list."""
    if isinstance(given, onnx.TensorProto):
        return array_of(given)
    if isinstance(given, list):
        return [array_of_value(each) for each in given]
    array = np.asarray(given) if isinstance(given, np.generic) else given
    return array.astype(object) if isinstance(array, np.ndarray) and array.dtype.kind in "SU" else array


def enclose_outputs(model: onnx.ModelProto, inputs: Sequence[Any]) -> list[Any]:
    """Return the enclosures of the outputs of a model.

    Raises:
        Unsupported: the reference lacks a node, or does not judge it on these inputs.
    """
    return outputs_of_model(enclose, model, inputs)


@dataclass
class OnnxCases:
    """onnx's node cases that a corpus can have, and the others.

    Attributes:
        cases: the cases, each with the name of its generator.
        left_out: the reason for each case that is left out, by name.
        own_values: the reason for each case that keeps onnx's outputs, by name.
        without_hard: the reason for each case whose model has no second case with hard values, by name.
    """

    cases: list[tuple[str, Case]] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    own_values: dict[str, str] = field(default_factory=dict)
    without_hard: dict[str, str] = field(default_factory=dict)

    name = GENERATOR
    """Name of the corpus."""

    @property
    def version(self) -> str:
        """Version of the corpus: the release of onnx, without a suffix."""
        found = re.match(r"\d+\.\d+\.\d+", onnx.__version__)
        return found[0] if found else "1.0.0"

    def summary(self) -> Iterator[str]:
        """Yield lines with the counts of cases, and the reasons for cases without an answer of the reference."""
        levels = Counter(case.level for _, case in self.cases if HARD_TAG in case.tags)
        drawn = sum(DRAWN_TAG in case.tags for _, case in self.cases)
        judged = len(self.cases) - len(self.own_values) - levels.total() - drawn
        if drawn == len(self.cases):
            yield f"{drawn} cases have a drawn node"
            return
        yield f"{judged} cases of onnx have expected values and bounds of the reference"
        hard = levels[Level.MUST]
        strict = levels[Level.SHOULD]
        yield f"{hard} further cases have the same models with hard values, and {strict} of level should"
        yield f"{drawn} cases have a drawn node; --opset all writes drawn nodes of every version"
        for reasons, what in (
            (self.own_values, "keep onnx's outputs"),
            (self.left_out, "are left out"),
            (self.without_hard, "have no further case with hard values"),
        ):
            if reasons:
                yield f"{len(reasons)} cases of onnx {what}"
                yield from (f"  {count} {reason}" for reason, count in Counter(reasons.values()).most_common())

    def added_files(self) -> dict[str, bytes]:
        """Return the files that the corpus has besides its cases: onnx's licence, and its notice with the summary."""
        metadata = distribution(installed_name("onnx"))
        texts = {name: metadata.read_text(f"licenses/{name}") or metadata.read_text(name) for name in _LICENCE_FILES}
        notice = [
            f"The models and inputs are those of the node tests of onnx {onnx.__version__} (https://onnx.ai).",
            "The licence of onnx is in the file LICENSE. The inputs of cases with the tag hard, all cases with the",
            "tag drawn, and all the expected values and bounds, were computed by onnx-conformance.",
            "",
            *self.summary(),
            "",
            "Cases with an output of onnx outside of the bound:",
            *self._tagged(DIFFERS_TAG),
            "",
            "Cases with a bound wider than the tolerance of onnx's runner:",
            *self._tagged(WIDER_TAG),
            "",
            "Cases that keep onnx's outputs:",
            *_listed(self.own_values),
            "",
            "Cases that are left out:",
            *_listed(self.left_out),
            "",
            "Cases without a further case with hard values:",
            *_listed(self.without_hard),
            "",
            "The notice of onnx:",
            "",
            (texts["NOTICE"] or "").rstrip(),
        ]
        return {"LICENSE": (texts["LICENSE"] or "").encode(), "NOTICE": ("\n".join(notice) + "\n").encode()}

    def _tagged(self, tag: str) -> list[str]:
        return [f"  {case.id}" for _, case in self.cases if tag in case.tags] or ["  none"]


_LICENCE_FILES = ("LICENSE", "NOTICE")


def _listed(reasons: Mapping[str, str]) -> list[str]:
    return [f"  {name}: {reason}" for name, reason in sorted(reasons.items())] or ["  none"]


def operators_by_case(given_cases: Iterable[Any]) -> dict[str, str]:
    """Return the operator that each node case of onnx tests, by the name of the case."""
    operators: dict[str, str] = {}
    for given in given_cases:
        operators[given.name] = _operator(given, operators)
    return operators


def define_onnx_cases(
    given_cases: Collection[Any],
    progress: Callable[[str], None] = lambda _: None,
    chosen: Collection[str] | None = None,
    earlier: EarlierAnswers | None = None,
) -> OnnxCases:
    """Return node cases of onnx with the answers of the reference.

    Args:
        given_cases: the cases, as `node_cases` returns them.
        progress: is called with the name of each case.
        chosen: the operators whose cases are returned, or None for all.
        earlier: the answers of the corpus that is replaced; None if all are computed.
    """
    found = OnnxCases()
    earlier = earlier or EarlierAnswers()
    operators = operators_by_case(given_cases)
    models = {given.name: given.model for given in given_cases}
    for own in given_cases:
        operator = operators[own.name]
        if chosen is not None and operator not in chosen:
            continue
        progress(own.name)
        try:
            given, data_sets = _with_tensors(own)
            _check_not_random(own.model)
        except Unsupported as reason:
            found.left_out[own.name] = str(reason)
            continue
        whole = _operator_model(given, models)
        try:
            answers = [
                earlier.find_or(
                    given.name,
                    partial(CaseComputation.of, given.model, inputs),
                    partial(answers_of_model, given.model, inputs, outputs, whole=whole),
                )
                for inputs, outputs in data_sets
            ]
        except Unsupported as reason:
            found.own_values[given.name] = str(reason)
            answers = []
        found.cases.append((GENERATOR, _case(given, operator, data_sets, answers)))
        if not answers:
            continue
        try:
            found.cases += [(GENERATOR, case) for case in _hard_cases(given, operator, whole, data_sets[0][0], earlier)]
        except Unsupported as reason:
            found.without_hard[given.name] = str(reason)
    return found


def _hard_cases(
    given: Any, operator: str, whole: onnx.ModelProto | None, inputs: Sequence[Array], earlier: EarlierAnswers
) -> list[Case]:
    """Return the case with the model of a case of onnx and hard values of its inputs.

    A second case has level `should`: the data sets with an element that only the bounds of this level determine.

    Args:
        given: the case of onnx.
        operator: its operator.
        whole: the model with the operator itself, if that of the case has its function body.
        inputs: the inputs that onnx has; those that are not free keep their elements.
        earlier: the answers of the corpus that is replaced.

    Raises:
        Unsupported: no input is free, or the reference has no answer for hard values.
    """
    model = given.model
    failure = Unsupported("no input is free")
    if any(map(subgraphs_of, model.graph.node)):
        raise Unsupported("the model has subgraphs")
    fed = dict(zip(fed_input_names(model.graph, len(inputs)), inputs, strict=True))
    constants = {name: array for name, array in initializer_arrays(model.graph).items() if name not in fed}
    found: dict[Level, list[tuple[tuple[Array, ...], list[Answer]]]] = {Level.MUST: [], Level.SHOULD: []}
    left = MAX_CASE_ELEMENTS
    for hard in hard_data_sets(part_of_model(model, constants, fed)):
        values = tuple(hard.values())
        try:
            make = partial(CaseComputation.of, model, values)
            compute = partial(answers_of_model, model, values, whole=whole)
            answers = earlier.find_or(_hard_id(given, Level.MUST), make, compute)
            check_outputs(model, answers)
        except Unsupported as reason:
            failure = reason
            continue
        left -= sum(array.size for array in (*values, *(answer.expected for answer in answers)))
        if found[Level.MUST] and left < 0:
            break
        found[Level.MUST].append((values, answers))
        if open_elements := _open_elements(answers):
            compute = partial(answers_of_model, model, values, level=Level.SHOULD)
            strict = earlier.find_or(_hard_id(given, Level.SHOULD), make, compute)
            if _open_elements(strict) < open_elements:
                found[Level.SHOULD].append((values, strict))
    if not found[Level.MUST]:
        raise failure
    return [_hard_case(given, operator, level, data_sets) for level, data_sets in found.items() if data_sets]


def _open_elements(answers: Sequence[Answer]) -> int:
    return sum(int(np.isinf(answer.bound).sum()) for answer in answers if answer.bound is not None)


def _hard_id(given: Any, level: Level) -> str:
    """Return the id of the case with hard values in the model of a case of onnx."""
    return f"{given.name}_hard" if level is Level.MUST else f"{given.name}_hard_should"


def _hard_case(
    given: Any, operator: str, level: Level, data_sets: Sequence[tuple[tuple[Array, ...], list[Answer]]]
) -> Case:
    every = [answer for _, answers in data_sets for answer in answers]
    tags = [operator, "onnx", *data_types(given.model, operator, every), HARD_TAG]
    if any(_is_wider(answer, given) for answer in every):
        tags.append(WIDER_TAG)
    return Case(
        _hard_id(given, level),
        f"{operator} gives what its specification states for hard values in the model of {given.name} of onnx",
        level,
        (),
        tuple(tags),
        given.model.SerializeToString(deterministic=True),
        tuple(values for values, _ in data_sets),
        answers=tuple(tuple(answers) for _, answers in data_sets),
        full_check_exception=model_violation(given.model, shapes=True) or "",
    )


def check_outputs(model: onnx.ModelProto, answers: Sequence[Answer]) -> None:
    """Check that outputs for hard values can be in a corpus.

    Raises:
        Unsupported: an output has another shape than the model declares, because the shape depends on elements.
    """
    for value, answer in zip(model.graph.output, answers, strict=True):
        try:
            DeclaredInput.of(value).check(answer.expected.dtype, answer.expected.shape)
        except ValueError:
            raise Unsupported("a shape depends on elements of the inputs") from None


def _with_tensors(given: Any) -> tuple[Any, list[tuple[list[Array], list[Array]]]]:
    """Return a case of onnx with arrays as inputs and outputs of its data sets.

    A model with sequences or optionals gets the nodes that make them from tensors, and take them apart.

    Raises:
        Unsupported: a value cannot be in a corpus.
    """
    data_sets = [(list(map(array_of_value, one)), list(map(array_of_value, other))) for one, other in given.data_sets]
    if all(isinstance(value, np.ndarray) for pair in data_sets for values in pair for value in values):
        return given, data_sets
    if len(data_sets) > 1:
        raise Unsupported("it has several data sets with sequences or optionals")
    model, inputs, outputs = with_tensors(given.model, *data_sets[0])
    made = SimpleNamespace(name=given.name, model=model, rtol=given.rtol, atol=given.atol)
    return made, [(inputs, outputs)]


def _check_not_random(model: onnx.ModelProto) -> None:
    """Raise `Unsupported` if the outputs of a model are random, or the model decodes a compressed image."""
    operators = {node.op_type for node in all_nodes(model)}
    if RANDOM_OPERATORS & operators:
        raise Unsupported("an output is random")
    if "ImageDecoder" in operators:
        raise Unsupported("ImageDecoder depends on a library for images")
    # the third input of Dropout selects the training mode
    if any(node.op_type == "Dropout" and len(node.input) > 2 for node in model.graph.node):
        raise Unsupported("Dropout in training mode is random")


def answers_of_model(
    model: onnx.ModelProto,
    inputs: Sequence[Array],
    outputs: Sequence[Array] | None = None,
    level: Level = Level.MUST,
    whole: onnx.ModelProto | None = None,
) -> list[Answer]:
    """Return the answers of the reference for the outputs of a case.

    Args:
        model: the model.
        inputs: its inputs.
        outputs: onnx's outputs, which are the expected values of elements that the specification leaves open; None if
            onnx has none for these inputs.
        level: the level of the bounds.
        whole: the model with an operator whose function body `model` is: a runtime may compute it in one kernel.

    Raises:
        Unsupported: the reference has no answer, or none for more than half of the elements of an output.
    """
    has_doubles = any(each.type.tensor_type.elem_type == onnx.TensorProto.DOUBLE for each in model.graph.output)
    strict = without_strict_bounds() if level is Level.MUST else nullcontext()
    with quiet_evaluation(), strict, with_portable_bits(enabled=has_doubles):
        expected = enclose_outputs(model, inputs)
        if level is Level.SHOULD:
            expected = [each.should or each if isinstance(each, Enclosure) else each for each in expected]
        elif whole is not None:
            expected = _admit_kernel(expected, whole, inputs)
        centres = [None] * len(expected) if outputs is None else _exact_doubles(model, inputs, expected)
        given = outputs or repeat(None, len(expected))
        return [_answer(*each) for each in zip(expected, centres, given, strict=True)]


def _admit_kernel(expected: Sequence[Tensor], whole: onnx.ModelProto, inputs: Sequence[Array]) -> list[Tensor]:
    """Return outputs of a function body with bounds that admit those of the operator itself."""
    try:
        others = enclose_outputs(whole, inputs)
    except Unsupported:
        return list(expected)
    return [
        replace(each, error=hull(each, other).error)
        if isinstance(each, Enclosure) and isinstance(other, Enclosure) and each.shape == other.shape
        else each
        for each, other in zip(expected, others, strict=True)
    ]


def _exact_doubles(model: onnx.ModelProto, inputs: Sequence[Array], expected: Sequence[Tensor]) -> Sequence[Any]:
    """Return the outputs of exact arithmetic if an output has doubles, and else nothing for each output.

    The value of an enclosure is computed in double, so its last bits depend on the machine. Rounded to a narrower type
    they do not.
    """
    doubles = [each for each in expected if isinstance(each, Enclosure) and each.dtype == np.float64]
    shapes = [*(each.shape for each in doubles), *(array.shape for array in inputs)]
    if not doubles or max(map(prod, shapes)) > MAX_ORACLE_ELEMENTS:
        return [None] * len(expected)
    for compute in (evaluate, _round_each_node):
        try:
            return compute(model, inputs)
        except (Unsupported, ConformanceError, *EVALUATION_ERRORS):
            continue
    return [None] * len(expected)


def _round_each_node(model: onnx.ModelProto, inputs: Sequence[Array]) -> list[Any]:
    """Return the outputs of a model, with the results of each node correctly rounded.

    Raises:
        Unsupported: a node has no exact value.
    """

    def compute(scope: NodeScope, node: onnx.NodeProto, values: Mapping[str, Any]) -> list[Array]:
        return round_each_node(scope, node, [values.get(name) for name in node.input])

    return outputs_of_model(compute, model, inputs)


def _answer(tensor: Any, exact: Any, given: Array | None) -> Answer:
    """Return the answer of an output.

    Raises:
        Unsupported: most elements are not determined.
    """
    if given is not None and (tensor.dtype != given.dtype or tensor.shape != given.shape):
        raise Unsupported("onnx's output has another type or shape")
    answer = answer_of(tensor, given=given, exact=exact)
    if answer.bound is not None and 2 * int(np.isinf(answer.bound).sum()) > answer.bound.size:
        raise Unsupported("most elements are not determined")
    return answer


def _case(
    given: Any, operator: str, data_sets: Sequence[tuple[list[Array], list[Array]]], answers: Sequence[list[Answer]]
) -> Case:
    kinds: list[str] = []
    if not answers:
        kinds.append(VALUE_TAG)
        answers = [
            [Answer(output, _tolerance(output, given) if is_floating(output.dtype) else None) for output in outputs]
            for _, outputs in data_sets
        ]
    else:
        outputs_of_onnx = [output for _, outputs in data_sets for output in outputs]
        pairs = list(zip(chain.from_iterable(answers), outputs_of_onnx, strict=True))
        if not all(_is_acceptable(answer, output) for answer, output in pairs):
            kinds.append(DIFFERS_TAG)
        if any(_is_wider(answer, given) for answer, _ in pairs):
            kinds.append(WIDER_TAG)
    if isinstance(given, SimpleNamespace):
        kinds.append(TENSORS_TAG)
    tags = [operator, "onnx", *data_types(given.model, operator, list(chain.from_iterable(answers))), *kinds]
    return Case(
        given.name,
        f"{operator} gives the outputs of {given.name} of onnx",
        Level.SHOULD if VALUE_TAG in tags else Level.MUST,
        (),
        tuple(dict.fromkeys(tags)),
        given.model.SerializeToString(deterministic=True),
        tuple(tuple(inputs) for inputs, _ in data_sets),
        answers=tuple(map(tuple, answers)),
        full_check_exception=model_violation(given.model, shapes=True) or "",
    )


_EXPANDED = re.compile(r"(.*)_expanded(_ver\d+)?")
"""Name of a case whose model is the function body of the operator of another case."""


def _operator_model(given: Any, models: Mapping[str, onnx.ModelProto]) -> onnx.ModelProto | None:
    """Return the model of the operator whose function body a case has, if both have the same inputs and outputs."""
    match = _EXPANDED.fullmatch(given.name)
    whole = models.get(match[1]) if match else None
    return whole if whole is not None and _names(whole.graph) == _names(given.model.graph) else None


def _names(graph: onnx.GraphProto) -> list[list[str]]:
    return [[value.name for value in values] for values in (graph.input, graph.output)]


def _operator(given: Any, operators: Mapping[str, str]) -> str:
    """Return the operator that a case tests.

    Args:
        given: the case.
        operators: the operators of the cases before it, by name.
    """
    if (match := _EXPANDED.fullmatch(given.name)) and match[1] in operators:
        return operators[match[1]]
    return str(given.model.graph.node[0].op_type)


def _tolerance(expected: Array, given: Any) -> Array:
    """Return the tolerance of onnx's runner, which compares with `numpy.testing.assert_allclose`."""
    with np.errstate(all="ignore"):
        tolerance = given.atol + given.rtol * np.abs(expected.astype(np.float64))
    return np.where(np.isfinite(tolerance), tolerance, 0.0)


def _is_wider(answer: Answer, given: Any) -> bool:
    """Return whether the bound of an element is wider than the tolerance of onnx's runner, or infinite."""
    return answer.bound is not None and bool((answer.bound > _tolerance(answer.expected, given)).any())


def _is_acceptable(answer: Answer, own: Array) -> bool:
    expected: Any = answer.expected
    if answer.bound is not None:
        expected = Enclosure(answer.expected.astype(np.float64), answer.bound, answer.expected.dtype)
    return expected.dtype == own.dtype and expected.shape == own.shape and bool(admissible_mask(own, expected).all())
