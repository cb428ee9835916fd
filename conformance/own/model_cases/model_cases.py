"""Cases of the distinct nodes and of the fused regions of a user's models.

The expected values and the bounds come from the reference and from the operands that are written. An element that the
specification leaves open has an infinite bound, so no case fails because of it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain, islice, repeat
from math import prod
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import onnx

from conformance.base.errors import ModelError, UsageError
from conformance.base.jobs.job import limit_evaluation
from conformance.base.serialization.printable_text import one_line, shorten_middle
from conformance.base.verdicts import Level, Unsupported
from conformance.corpus.cases.case import MAX_CASE_TENSORS, MODELS_CORPUS, REGION_TAG, Case
from conformance.exact.models.arrays import Array, is_text, type_name
from conformance.exact.models.graphs import (
    MAIN_DOMAINS,
    called_name,
    copy_of,
    has_nodes_inside,
    is_operator,
    iter_nodes,
    names_taken_by,
    subgraphs_of,
)
from conformance.exact.models.input_files import DeclaredInput, required_inputs
from conformance.exact.models.model_validity import model_violation
from conformance.exact.reference.enclosures import OTHER_DOMAINS
from conformance.exact.reference.enclosures.machine_learning import MAP_OPERATORS
from conformance.exact.reference.node_enclosures import NodeScope, answer_of, enclose_by_any_text, evaluate_nodes
from conformance.exact.reference.numbers.enclosure import Enclosure, Tensor
from conformance.exact.reference.oracle import Answer, quiet_evaluation
from conformance.exact.reference.tolerances import NARROW
from conformance.own.graphs.cutting import complete_part
from conformance.own.graphs.fitting_inputs import first_fitting
from conformance.own.graphs.model_inputs import (
    MAX_TRIED_SIZES,
    Shapes,
    check_shape_names,
    chosen_options,
    exceeds_input,
    make_inputs,
    parse_shapes,
    random_texts,
    read_inputs,
    shape_names,
    shape_of_input,
    size_candidates,
)
from conformance.own.graphs.nested_nodes import calls_in, values_of_node
from conformance.own.graphs.tensor_borders import has_other_inputs, with_tensor_inputs
from conformance.own.model_cases.case_operands import Operands
from conformance.own.model_cases.case_reduction import LAST_STEPS, STEPS, Step, reduced_part
from conformance.own.model_cases.earlier_answers import CaseComputation, EarlierAnswers
from conformance.own.model_cases.parts import Part, part_of_nodes
from conformance.own.model_cases.region_cases import PRODUCTS, Regions
from conformance.own.model_cases.typed_values import (
    Given,
    Typed,
    TypedGraph,
    TypedValue,
    sequence_variants,
    typed_graphs,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from conformance.exact.reference.numbers.enclosure import TensorOrSequence
    from conformance.own.graphs.reading import LoadedModel

GENERATOR = "model"
"""Name of the generator in case.json."""

VERSION = "1.0.0"
"""Version of a corpus of models."""

FOLDING_OPERATORS = frozenset(("Add", "BatchNormalization", "Div", "LayerNormalization", "Mul", "Sub", *PRODUCTS))
"""Operators whose constants a runtime may multiply by, or add to, other constants."""

MAX_PLACE_LENGTH = 1000
"""Maximum number of characters of the names of a model and a node in a title."""

MAX_CASE_ELEMENTS = 2**14
"""Number of elements of all operands and results of a case up to which its sizes are not reduced further."""

MAX_LARGE_CASE_ELEMENTS = 2**17
"""Maximum number of elements of a case whose sizes cannot be reduced further."""

MAX_LAST_CASE_ELEMENTS = 2**19
"""Maximum number of elements of a case that has no other one, such as a Reshape whose sizes are products of others."""

MAX_NESTED_BYTES = 2**20
"""Maximum size of the subgraphs of a case, with their constants."""

MAX_SETS_OF_SHAPES = 12
"""Maximum number of data sets with equal shapes of the outputs of a node with nodes inside."""


@dataclass(frozen=True)
class GivenModel:
    """A model of a user with its inputs.

    Attributes:
        model: the model.
        inputs: the inputs without initializer: maps, and types and shapes of tensors, with elements if the user gives
            them.
        chosen: the options that give the sizes of open dimensions that the suite chose, such as `--shape X=2x3`.
    """

    model: LoadedModel
    inputs: tuple[Given, ...]
    chosen: tuple[str, ...] = ()

    @cached_property
    def graphs(self) -> list[TypedGraph]:
        """The graphs of the model with the types and shapes of their values."""
        return typed_graphs(self.model, self.inputs)

    @property
    def faults(self) -> int:
        """The number of nodes for which the sizes may be wrong: a result is empty, or has no shape."""
        return sum(each.faults for each in self.graphs)


def given_models(models: Sequence[LoadedModel], inputs: Path | None, shapes: Sequence[str]) -> list[GivenModel]:
    """Return models with the inputs of a file or folder, or with inputs of the given shapes.

    Args:
        models: the models.
        inputs: the value of `--inputs`.
        shapes: the values of `--shape`.

    Raises:
        UsageError: the rank of an input is missing, the inputs cannot be read, or the options contradict.
    """
    if inputs is not None:
        if len(models) > 1 or shapes:
            raise UsageError("options-conflict.models")
        (model,) = models
        first, *_ = read_inputs(inputs, model.prepared.graph)
        made, (fed,) = with_tensor_inputs(model, [first])
        return [
            GivenModel(
                made,
                tuple(each if isinstance(each, dict) else TypedValue.of(each, is_given=True) for each in fed.arrays),
            )
        ]
    sizes = parse_shapes(shapes)
    check_shape_names((model.prepared.graph for model in models), sizes)
    known = [(model, shape_names(model.prepared.graph)) for model in models]
    return [_with_chosen_sizes(model, {name: sizes[name] for name in sizes if name in names}) for model, names in known]


def _with_chosen_sizes(model: LoadedModel, given: Mapping[str, tuple[int, ...]]) -> GivenModel:
    """Return a model with inputs of given sizes, and of chosen sizes with which its nodes have results."""
    candidates = islice(size_candidates(model.prepared, given), MAX_TRIED_SIZES)
    return first_fitting((_with_sizes(model, given, each) for each in candidates), attrgetter("faults"))


def _with_sizes(model: LoadedModel, given: Mapping[str, tuple[int, ...]], chosen: Shapes) -> GivenModel:
    """Return a model with inputs of given and chosen sizes."""
    sizes = {**given, **chosen}
    if has_other_inputs(model.prepared):
        made, (fed,) = with_tensor_inputs(model, [make_inputs(model.prepared.graph, sizes, 0)])
        inputs = tuple(each if isinstance(each, dict) else TypedValue(each.dtype, each.shape) for each in fed.arrays)
        return GivenModel(made, inputs, chosen_options(model.prepared.graph, given, chosen))
    return GivenModel(model, tuple(_typed_inputs(model, sizes)), chosen_options(model.prepared.graph, given, chosen))


def _typed_inputs(model: LoadedModel, sizes: Mapping[str, tuple[int, ...]]) -> Iterator[TypedValue]:
    for value in required_inputs(model.prepared.graph):
        declared = DeclaredInput.of(value)
        if declared.dtype is None:
            raise UsageError("cannot-make-input.tensor", name=value.name, path=model.path)
        shape = shape_of_input(value, declared, sizes)
        if is_text(declared.dtype):  # shapes depend on texts
            texts = random_texts(f"0/{value.name}", shape, iter_nodes(model.prepared.graph))
            yield TypedValue.of(texts, is_given=True)
        else:
            yield TypedValue(declared.dtype, shape)


@dataclass(frozen=True)
class _Sized:
    """A part with the sizes of its case, its operands, and the answers for the first data set."""

    part: Part
    operands: Operands
    first: Sequence[Answer]


@dataclass
class _Uses:
    """A part of the models.

    Attributes:
        sized: the part as it occurs first.
        place: where it occurs first.
        originals: the parts with the sizes of the models, by configuration.
        count: how often they occur.
    """

    sized: _Sized
    place: str
    originals: dict[str, Part] = field(default_factory=dict)
    count: int = 0


@dataclass
class ModelCases:
    """The cases of models.

    Attributes:
        cases: the cases, each with the name of its generator.
        nodes: the number of nodes of the models, without Constants.
        judged: the number of nodes that have a case.
        left_out: the number of nodes by operator and reason.
        reduced: the original and the new shapes of the operands, by id of the case.
    """

    cases: list[tuple[str, Case]] = field(default_factory=list)
    nodes: int = 0
    judged: int = 0
    left_out: Counter[tuple[str, str]] = field(default_factory=Counter)
    reduced: dict[str, str] = field(default_factory=dict)

    name = MODELS_CORPUS
    """Name of the corpus."""

    version = VERSION
    """Version of the corpus."""

    def summary(self) -> Iterator[str]:
        """Yield lines with the counts."""
        regions = sum(REGION_TAG in case.tags for _, case in self.cases)
        share = 100 * self.judged / max(self.nodes, 1)
        distinct = sum(case.uses > 0 and REGION_TAG not in case.tags for _, case in self.cases)
        yield f"nodes: {distinct} distinct, which stand for {self.judged} of {self.nodes} ({share:.1f} %)"
        yield f"fused regions: {regions}"
        if variants := len(self.cases) - regions - distinct:
            yield f"further cases with sequences of other lengths: {variants}"
        yield f"cases with smaller tensors than the models: {len(self.reduced)}"
        yield f"nodes and regions without a case: {self.left_out.total()}"
        yield from (f"  {count} {operator}: {reason}" for (operator, reason), count in self.left_out.most_common())

    def added_files(self) -> dict[str, bytes]:
        """Return the file of the corpus that lists the cases with smaller tensors, and the nodes without a case."""
        lines = [
            "The cases are made of the nodes of models by onnx-conformance generate --model.",
            "",
            *self.summary(),
            "",
            "Cases with smaller tensors than the models:",
            *([f"  {id}: {text}" for id, text in sorted(self.reduced.items())] or ["  none"]),
        ]
        return {"NOTICE": ("\n".join(lines) + "\n").encode()}


def define_model_cases(
    models: Sequence[GivenModel],
    *,
    has_values: bool = True,
    progress: Callable[[str], None] = lambda _: None,
    earlier: EarlierAnswers | None = None,
) -> ModelCases:
    """Return the cases of models.

    Args:
        models: the models.
        has_values: whether the cases have constants, inputs and names of the user.
        progress: is called with a text for the user.
        earlier: the answers of the corpus that is replaced; None if all are computed.

    Raises:
        ModelError: no node can be a case.
    """
    found = ModelCases()
    earlier = earlier or EarlierAnswers()
    cases: dict[str, _Uses] = {}
    smaller: dict[str, _Sized | Unsupported] = {}
    for given in models:
        for part, place, count in _parts(given, found, progress):
            if part.configuration not in smaller:
                smaller[part.configuration] = _sized(part, earlier, has_values=has_values)
            sized = smaller[part.configuration]
            if isinstance(sized, Unsupported):
                found.left_out.update({(part.operators, str(sized)): count} if count else {})
                continue
            uses = cases.setdefault(sized.part.configuration, _Uses(sized, place))
            uses.originals.setdefault(part.configuration, part)
            uses.count += count
    for number, uses in enumerate(cases.values()):
        progress(f"{number} of {len(cases)} cases computed")
        part = uses.sized.part
        try:
            found.cases.append((GENERATOR, _case(uses, earlier, has_values=has_values)))
        except Unsupported as reason:
            found.left_out.update({(part.operators, str(reason)): uses.count} if uses.count else {})
            continue
        found.judged += 0 if part.is_region else uses.count
        if texts := [text for each in uses.originals.values() if (text := _shapes(each, part))]:
            found.reduced[part.id] = "; ".join(texts)
    progress("")
    if not found.cases:
        names = ", ".join(str(given.model.path) for given in models)
        reasons = "; ".join(reason for _, reason in found.left_out) or "there are no nodes"
        raise ModelError("no-cases.models", names=names, reasons=reasons)
    return found


def _parts(given: GivenModel, found: ModelCases, progress: Callable[[str], None]) -> Iterator[tuple[Part, str, int]]:
    """Yield the nodes, the calls of functions and the regions of a model, and count those that cannot be cases.

    Each part has the place where it occurs, and the number of nodes for which it stands: 0 for a variant of a node.
    """
    progress(f"shapes of {given.model.path.name}")
    graphs = given.graphs
    for graph in graphs:
        nodes = graph.graph.node
        taken = {name for node in nodes for name in names_taken_by(node)} & graph.values.keys()
        regions = Regions(graph.graph, {name for name in taken if graph.values[name].is_constant})
        alone = [(number,) for number, node in enumerate(nodes) if not is_operator(node, "Constant")]
        found.nodes += len(alone)
        for numbers in (*alone, *regions.find()):
            chosen = [nodes[number] for number in numbers]
            yield from _part(given, chosen, graph.values, regions.used_outside(numbers), found)
    for call in calls_in(given.model.original, given.model.prepared):  # its nodes are in the graph that calls it
        names = {*values_of_node(call)}
        values = next((each.values for each in graphs if names <= each.values.keys()), {})
        found.nodes += 1
        yield from _part(given, [call], values, filter(None, call.output), found)


def _part(
    given: GivenModel,
    nodes: Sequence[onnx.NodeProto],
    values: Mapping[str, Typed],
    used: Iterable[str],
    found: ModelCases,
) -> Iterator[tuple[Part, str, int]]:
    """Yield some nodes as a part, also with sequences of other lengths, or count why they cannot be a case."""
    operators = "-".join(node.op_type for node in nodes)
    part = None
    used = list(used)
    if sum(node.ByteSize() for node in nodes if subgraphs_of(node)) > MAX_NESTED_BYTES:
        reason = "its subgraphs are large; their nodes have cases of their own"
    elif len({name for node in nodes for name in values_of_node(node)}) > MAX_CASE_TENSORS:
        reason = _TOO_MANY
    elif (part := part_of_nodes(given.model, nodes, values, used)) is None:
        reason = _why_no_part(nodes, given.model.original)
    if part is None:
        found.left_out[operators, reason] += 1
        return
    node_name = nodes[0].name or next(iter(nodes[0].output), "")
    place = shorten_middle(one_line(f"{given.model.path.stem}, {node_name}"), MAX_PLACE_LENGTH)
    yield part, place, 1
    for other in sequence_variants(nodes, values):
        variant = part_of_nodes(given.model, nodes, other, used)
        if variant is not None:
            yield variant, place, 0


_TOO_MANY = f"a case has at most {MAX_CASE_TENSORS} inputs and outputs"


def _why_no_part(nodes: Sequence[onnx.NodeProto], model: onnx.ModelProto) -> str:
    """Return why the types and shapes of the values of some nodes of a model are not known."""
    if any(node.op_type in MAP_OPERATORS for node in nodes):
        return "it takes or returns a map, and the files of a case have tensors"
    if not all(_has_page(node, model) for node in nodes):
        return "onnx has no schema of the operator, and the suite no reference"
    return "a shape depends on inputs (see --inputs), or is not known after another node"


def _sized(part: Part, earlier: EarlierAnswers, *, has_values: bool) -> _Sized | Unsupported:
    """Return a part with sizes that a case can have, and with its operands; otherwise the reason why it has none."""
    try:
        with limit_evaluation():
            return _choose_sizes(part, earlier, has_values=has_values)
    except Unsupported as reason:
        return reason


_CHOICES: list[tuple[Step | None, int, bool]] = [
    *((step, MAX_CASE_ELEMENTS, True) for step in (None, *STEPS)),
    *((step, MAX_LARGE_CASE_ELEMENTS, True) for step in reversed(STEPS)),
    *((step, MAX_CASE_ELEMENTS, True) for step in LAST_STEPS),
    (None, MAX_LARGE_CASE_ELEMENTS, True),
    *((step, MAX_LARGE_CASE_ELEMENTS, False) for step in (None, *STEPS, *LAST_STEPS)),
    *((step, MAX_LAST_CASE_ELEMENTS, False) for step in reversed(STEPS)),
]
"""The reductions that are tried in turn, each with the largest number of elements, and with whether all pairs of kinds
of hard elements occur: those of a node with many operands are many."""


def _choose_sizes(part: Part, earlier: EarlierAnswers, *, has_values: bool) -> _Sized | Unsupported:
    if len(part.operands) + len(part.results) > MAX_CASE_TENSORS:  # a sequence is made of tensors
        return Unsupported(_TOO_MANY)
    if not has_values and (part.is_nested or any(map(_has_values_in_attributes, part.nodes))):
        return Unsupported("its attributes have values of the model, which --no-values leaves out")
    reason = Unsupported("its tensors are large, and their sizes cannot be reduced")
    if not all(_has_page(node, part.model) for node in part.tested):
        return Unsupported("onnx has no schema of the operator, and the suite no reference")
    made: dict[tuple[str, bool], Operands] = {}  # several steps give the same sizes
    for step, limit, in_pairs in _CHOICES:
        smaller = reduced_part(part, step) if step else part
        if smaller is None or _elements(smaller) > limit:
            continue
        shapes = {**{name: each.shape for name, each in smaller.operands.items()}, **smaller.shapes}
        if any(exceeds_input(node, shapes) for node in smaller.nodes):
            if not step:
                return Unsupported("its window is larger than its input; give other sizes with --shape")
            continue
        try:
            with quiet_evaluation():
                key = (smaller.configuration, in_pairs)
                operands = made.get(key) or Operands(smaller, has_values=has_values, in_pairs=in_pairs)
                made[key] = operands
                if _elements(smaller, operands.data_set_count()) > limit:
                    continue
                ordinary = next(operands.data_sets())
            first = _known_answers(smaller, {**operands.constants, **ordinary}, earlier)
        except Unsupported as problem:
            if not step:
                reason = problem
                break  # smaller tensors have no answer either
            reason = Unsupported(f"with smaller tensors: {problem}")
            continue
        return _Sized(smaller, operands, first)
    return reason


def _has_page(node: onnx.NodeProto, model: onnx.ModelProto) -> bool:
    """Return whether onnx has a schema of the operator of a node, the suite a reference, or the model a function."""
    domain, operator, _ = called_name(node)
    is_known = onnx.defs.has(operator, domain) or operator in OTHER_DOMAINS.get(domain, {})
    return is_known or has_nodes_inside(model, node)


def _has_values_in_attributes(node: onnx.NodeProto) -> bool:
    """Return whether attributes of a node have data of the user, such as the trees of an ensemble, or a vocabulary."""
    if node.domain in MAIN_DOMAINS:
        return node.op_type in {"StringNormalizer", "TfIdfVectorizer"}
    return any(each.floats or each.ints or each.strings or each.HasField("t") for each in node.attribute)


def _elements(part: Part, runs: int = 1) -> int:
    """Return the number of elements of all operands and results of a part; constants count once."""
    constants = sum(value.size for value in part.operands.values() if value.is_constant)
    fed = sum(value.size for value in part.operands.values() if not value.is_constant)
    return constants + runs * (fed + sum(prod(part.shapes[name]) for name in part.results))


def _shapes(part: Part, smaller: Part) -> str:
    """Return the shapes of the operands that differ, as text."""
    pairs = [(name, value.shape, smaller.operands[name].shape) for name, value in part.operands.items()]
    texts = ["x".join(map(str, old)) + " → " + "x".join(map(str, new)) for _, old, new in pairs if old != new]
    return ", ".join(texts)


@limit_evaluation()
def _case(uses: _Uses, earlier: EarlierAnswers, *, has_values: bool) -> Case:
    """Return a part as a case with the data sets for which the reference has an answer.

    Raises:
        Unsupported: there is no such data set.
    """
    part = uses.sized.part
    constants = uses.sized.operands.constants
    with quiet_evaluation():
        data_sets = list(uses.sized.operands.data_sets())
    answered = [(data_sets[0], uses.sized.first)]
    failure: Unsupported | None = None
    for fed in data_sets[1:]:
        try:
            answered.append((fed, _known_answers(part, {**constants, **fed}, earlier)))
        except Unsupported as reason:
            failure = failure or reason
    judged = [(fed, answers) for fed, answers in answered if not all(each.accepts_every_value for each in answers)]
    kept = _of_fitting_shapes(judged, [each.expected.shape for each in uses.sized.first], is_open=part.is_nested)
    if not kept:
        raise failure or Unsupported("the specification leaves all elements open")
    fed, answers = kept[0]
    model = copy_of(part.model)
    model.graph.name = "part"
    model.graph.node.extend(part.nodes)
    results = {name: answer.expected for name, answer in zip(part.results, answers, strict=True)}
    complete_part(model, fed, constants, results)
    _open_sizes(model.graph.input, [[*each.values()] for each, _ in kept])
    _open_sizes(model.graph.output, [[each.expected for each in every] for _, every in kept])
    if part.is_nested and model_violation(model, shapes=True):
        raise Unsupported("a subgraph does not accept these sizes")
    types = data_types(model, part.tested[0].op_type, answers)
    tags = [*dict.fromkeys(node.op_type for node in part.tested), GENERATOR, *types]
    place = f", as in {uses.place}" if has_values else ""
    return Case(
        part.id,
        f"{part.operators} gives what its specification states{place}",
        Level.MUST,
        (),
        tuple(dict.fromkeys([*tags, *([REGION_TAG] if part.is_region else [])])),
        model.SerializeToString(deterministic=True),
        tuple(tuple(fed.values()) for fed, _ in kept),
        answers=tuple(tuple(answers) for _, answers in kept),
        full_check_exception="the node is from a model of a user",
        uses=uses.count,
    )


def _of_fitting_shapes(
    data_sets: Sequence[tuple[dict[str, Array], Sequence[Answer]]], shapes: Sequence[tuple[int, ...]], *, is_open: bool
) -> list[tuple[dict[str, Array], Sequence[Answer]]]:
    """Return the data sets whose outputs fit one declaration.

    Args:
        data_sets: the inputs and answers of each data set.
        shapes: the shapes of the outputs of the case.
        is_open: whether the outputs may have other sizes; then some of the data sets with equal shapes are returned.
    """
    found = []
    counts: Counter[tuple[tuple[int, ...], ...]] = Counter()
    for fed, answers in data_sets:
        own = tuple(each.expected.shape for each in answers)
        has_ranks = list(map(len, own)) == list(map(len, shapes))
        if (is_open and has_ranks and counts[own] < MAX_SETS_OF_SHAPES) or (not is_open and own == tuple(shapes)):
            counts[own] += 1
            found.append((fed, answers))
    return found


def _open_sizes(declared: Iterable[onnx.ValueInfoProto], arrays: Sequence[Sequence[Array]]) -> None:
    """Remove the sizes from the declarations of inputs or outputs that differ between data sets."""
    for value, every in zip(declared, zip(*arrays, strict=True), strict=False):
        for place, dimension in enumerate(value.type.tensor_type.shape.dim):
            if len({each.shape[place] for each in every}) > 1:
                dimension.Clear()


SCHEMA_DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview.training")
"""Domains of operators that have a schema in onnx."""


def data_types(model: onnx.ModelProto, operator: str, answers: Iterable[Answer]) -> list[str]:
    """Return the element type with which a case is tagged: that of the first input that can have several types.

    Without such an input, these are the types of the outputs. ArgMax has the type of its data, and Where the type of X.

    Args:
        model: the model of the case: a node of the operator, or its function body.
        operator: the operator that the case tests.
        answers: the answers of a data set.
    """
    graph = model.graph
    numbers = {value.name: value.type.tensor_type.elem_type for value in graph.input}
    numbers |= {tensor.name: tensor.data_type for tensor in graph.initializer}
    node = next((node for node in graph.node if node.op_type == operator), None)
    names = [value.name for value in graph.input]
    if node is not None and numbers.keys() >= set(filter(None, node.input)):
        names = list(node.input)
    domains = SCHEMA_DOMAINS if node is None else (called_name(node)[0],)
    schema = next((onnx.defs.get_schema(operator, each) for each in domains if onnx.defs.has(operator, each)), None)
    has_several = [len(formal.types) > 1 for formal in schema.inputs] if schema is not None else []
    for name, is_data in zip(names, chain(has_several, repeat(True)), strict=False):
        if is_data and numbers.get(name):
            return [onnx.TensorProto.DataType.Name(numbers[name]).lower()]
    return sorted({type_name(answer.expected.dtype) for answer in answers})


def _known_answers(part: Part, values: Mapping[str, Array], earlier: EarlierAnswers) -> list[Answer]:
    """Return the answers for the results of a part: those of an earlier corpus, or those of `_answers`."""
    make = partial(CaseComputation, part.model, part.nodes, part.results, values)
    return earlier.find_or(part.id, make, partial(_answers, part, values))


def _answers(part: Part, values: Mapping[str, Array]) -> list[Answer]:
    """Return the answers of the reference for the results of a part.

    Raises:
        Unsupported: the reference has no answer.
    """
    scope = NodeScope.of(part.model)
    known: dict[str, Any] = dict(values)
    if part.is_region:
        foldable = {name for node in part.nodes if node.op_type in FOLDING_OPERATORS for name in node.input}
        constants = [name for name, value in part.operands.items() if value.is_constant and name in foldable]
        known |= {name: _folded(known[name]) for name in constants}

    def compute(node: onnx.NodeProto, values: Mapping[str, TensorOrSequence]) -> Iterator[TensorOrSequence]:
        """Yield the results of a node; a fused kernel may have a value within a region before it is rounded."""
        for name, each in zip(node.output, enclose_by_any_text(scope, node, values), strict=False):
            yield each.unrounded() if isinstance(each, Enclosure) and name not in part.results else each

    with quiet_evaluation():
        found = evaluate_nodes(part.nodes, known, compute)
        return [answer_of(found[name]) for name in part.results]


def _folded(array: Array) -> Tensor:
    """Return a constant of a narrow type, which a runtime may multiply by another one and round once more."""
    return Enclosure.rounding_of(array) if type_name(array.dtype) in NARROW else array
