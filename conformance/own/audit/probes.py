"""Probes: each distinct node of a model runs alone on hard values, and is judged.

The values of a user seldom have ties, NaN, infinities, zeros of both signs, subnormal numbers or large numbers. The
hard values come from the declaration of the operator. Indices take other valid values, also negative ones. Constants,
and operands that are shapes or axes, keep the values of the model. Nodes are distinct if they differ in the operator,
an attribute, the number of outputs, or an operand (type, shape, whether it is a constant).
A node with subgraphs, or a call of a function, takes other branches, numbers of steps and ordinary numbers.
"""

from __future__ import annotations

import math
from collections import ChainMap
from dataclasses import dataclass, field, replace
from itertools import chain, product
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs
from onnx import helper

from conformance.base.jobs.job import limit_evaluation
from conformance.base.verdicts import Level, Unsupported, Verdict
from conformance.exact.declarations.exact_sums import WITH_LONG_AXES, exact_sums, probed_terms, short_mean
from conformance.exact.declarations.hard_values import free_operands, hard_elements, hard_numbers_of, input_places
from conformance.exact.models.arrays import element_count, is_computed, type_name, type_number
from conformance.exact.models.graphs import (
    has_nodes_inside,
    is_operator,
    main_opset,
    names_taken_by,
    with_inferred_types,
)
from conformance.exact.models.input_files import DeclaredInput, initializer_arrays, required_input_names
from conformance.exact.models.model_building import array_value_info
from conformance.exact.reference.node_enclosures import NodeScope, enclose
from conformance.exact.reference.oracle import EVALUATION_ERRORS
from conformance.own.audit.node_verdicts import JudgedNode, ModelJudge, NodeVerdict, judge_last, judge_nodes
from conformance.own.graphs.cutting import GraphParts, complete_part, part_of
from conformance.own.graphs.intermediate_values import ExposedValues, Exposure, SubjectRefused, run_each
from conformance.own.graphs.nested_nodes import control_variants, drawn_numbers, has_few_steps
from conformance.own.graphs.tensor_borders import with_tensors
from conformance.run.results.records import OutputEvidence

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    import onnx

    from conformance.exact.declarations.declaration_tables import Rule
    from conformance.exact.models.arrays import Array
    from conformance.subjects.calling.subject_names import Subject

PROBED_ELEMENTS = 64
MAX_REPETITIONS = 8
"""Elements that an operand should have in all probes of one mode, and how often probes are repeated at most."""

MAX_PROBED_ELEMENTS = 2**14
"""Maximum number of elements of the operands and results of a node that is probed."""

MAX_PROBED_OPERANDS = 2**12
"""Maximum number of operands of all probes of a node that has more than a hundred operands; two probes always run."""

DRAWS_OF_PROBES = 4
"""Number of draws for each probe of a node with nodes inside: a condition within can depend on them."""

MAX_NESTED_BYTES = 2**20
"""Maximum size of the subgraphs of a node that is probed."""

MAX_SUMMED_ELEMENTS = 2**20
"""Maximum number of elements of the operands and results of a sum that is probed with exact sums."""

MAX_SCORED_ELEMENTS = 2**16
"""Maximum number of elements of the operands and results of an Attention that is probed with large scores."""

MAX_STAND_IN_ELEMENTS = 2**40
"""Number of elements from which an inferred shape is not used; stand-ins take no memory."""


@dataclass(frozen=True)
class ProbedNode:
    """The judgement of a distinct node on hard values.

    Attributes:
        node: the judgement of the worst probe; its number and its name are those of the first such node. `noticed` is
            the smallest one of all probes whose results have a relative error, and `level` the strictest one.
        numbers: the numbers of the nodes of the model that are equal to it.
        probes: the number of probes that were judged.
        values: the operands and results of the worst probe by name.
        model_runs: the number of models that were run.
    """

    node: JudgedNode
    numbers: Sequence[int]
    probes: int
    values: Mapping[str, Array] = field(default_factory=dict)
    model_runs: int = 0

    @property
    def nodes(self) -> int:
        """The number of nodes of the model that are equal to it."""
        return len(self.numbers)


def probe_nodes(
    model: onnx.ModelProto,
    exposed: ExposedValues,
    subject: Subject,
    count: int,
    progress: Callable[[str], None] = lambda _: None,
) -> list[ProbedNode]:
    """Run each distinct small node of a model alone on hard values, and judge it.

    Args:
        model: the model.
        exposed: the values that the subject computed.
        subject: the backend.
        count: the number of probes of each node.
        progress: is called with a text for the user.
    """
    if not count:
        return []
    groups: dict[Any, list[int]] = {}
    unprobed: dict[Any, list[int]] = {}
    parts = GraphParts(model)
    shown, exposed = exposed, _with_stand_ins(parts, exposed)
    free: dict[Any, frozenset[int]] = {}
    for number, node in enumerate(model.graph.node):
        hidden = {name for name in node.input if name and name not in shown.values and name in exposed.values}
        configuration = None
        names: set[str] = set()
        is_known = all(name in exposed.values for name in (*names_taken_by(node), *filter(None, node.output)))
        if is_known and has_nodes_inside(model, node):
            is_small = _is_small(node, exposed, MAX_PROBED_ELEMENTS) and node.ByteSize() <= MAX_NESTED_BYTES
            if not hidden and is_small and has_few_steps(model, node, exposed.values):
                configuration = _configuration(node, exposed)
                names = {name for name in names_taken_by(node) if not _is_constant(name, exposed)}
        elif is_known:
            limit = MAX_SUMMED_ELEMENTS if is_operator(node, *WITH_LONG_AXES) else MAX_PROBED_ELEMENTS
            limit = MAX_SCORED_ELEMENTS if is_operator(node, "Attention") else limit
            if _is_small(node, exposed, limit):
                configuration = _configuration(node, exposed)
                key = (configuration, *map([*node.input].index, node.input))  # most nodes of a model are like others
                if key not in free:
                    free[key] = _free_places(main_opset(model), node, exposed)
                names = {node.input[place] for place in free[key]}
            elif hidden:
                names = {*_free_operands(main_opset(model), node, exposed)}
        if configuration is not None and names and hidden <= names:
            groups.setdefault(configuration, []).append(number)
        elif _is_hidden(node, exposed) or not hidden <= names:
            kind = (node.domain, node.op_type, _attributes(node))
            unprobed.setdefault(kind, []).append(number)
    reason = "the subject hides a value of the node, and hard values cannot replace it"
    found = [
        ProbedNode(_unjudged(numbers[0], model.graph.node[numbers[0]], reason), numbers, 0)
        for numbers in unprobed.values()
    ]
    for place, numbers in enumerate(groups.values()):
        progress(f"{place} of {len(groups)} distinct nodes probed")
        probed = _probe(parts, exposed, subject, numbers, count)
        if probed is not None:
            found.append(probed)
    for number, node in enumerate(model.graph.node):
        if is_operator(node, "SequenceMap") and has_few_steps(model, node, {}):
            probed = _probe_sequences(model, shown, subject, number, count)
            if probed is not None:
                found.append(probed)
    return sorted(found, key=lambda each: each.node.number)


def _with_stand_ins(parts: GraphParts, exposed: ExposedValues) -> ExposedValues:
    """Return exposed values in which zeros of the same type and shape stand for hidden values.

    A probe runs a node alone, and gives it other elements; so it needs only the types and shapes. A hidden value whose
    type or shape cannot be inferred stays hidden.
    """
    stand_ins: dict[str, Array] = {}
    known: Any = exposed.values
    values = ChainMap(stand_ins, known)
    for number, node in enumerate(parts.model.graph.node):
        if not _is_hidden(node, exposed) or not all(name in values for name in names_taken_by(node)):
            continue
        single = parts.cut([number], values)
        for value in with_inferred_types(single.model).graph.output if single is not None else ():
            declared = DeclaredInput.of(value)
            shape = tuple(size for size in declared.shape or () if size is not None)
            is_known = declared.shape == shape and value.name not in exposed.values
            if is_known and declared.dtype is not None and math.prod(shape) < MAX_STAND_IN_ELEMENTS:
                stand_ins[value.name] = np.broadcast_to(np.zeros((), declared.dtype), shape)
    return replace(exposed, values=values, ways={**exposed.ways, **dict.fromkeys(stand_ins, Exposure.STAND_IN)})


def _is_hidden(node: onnx.NodeProto, exposed: ExposedValues) -> bool:
    """Return whether the subject hides a result of a node."""
    return any(exposed.ways.get(name) is Exposure.HIDDEN and name not in exposed.values for name in node.output if name)


def _is_small(node: onnx.NodeProto, exposed: ExposedValues, limit: int) -> bool:
    """Return whether a node has operands and results of at most so many elements, and no others than tensors."""
    names = [*names_taken_by(node), *filter(None, node.output)]
    arrays: list[Any] = [exposed.values[name] for name in names]
    return all(isinstance(array, np.ndarray) for array in arrays) and (sum(array.size for array in arrays) <= limit)


def _configuration(node: onnx.NodeProto, exposed: ExposedValues) -> tuple[Any, ...]:
    """Return what distinguishes nodes: operator, attributes, and type, shape and source of each operand."""
    operands = [
        (exposed.values[name].dtype.str, exposed.values[name].shape, _is_constant(name, exposed)) if name else None
        for name in (*node.input, *(each for each in names_taken_by(node) if each not in node.input))
    ]
    return node.domain, node.op_type, _attributes(node), tuple(operands), len(node.output)


def _attributes(node: onnx.NodeProto) -> tuple[bytes, ...]:
    return tuple(sorted(attribute.SerializeToString(deterministic=True) for attribute in node.attribute))


def _is_constant(name: str, exposed: ExposedValues) -> bool:
    return exposed.ways.get(name, Exposure.CONSTANT) is Exposure.CONSTANT


def _free_places(opset: int, node: onnx.NodeProto, exposed: ExposedValues) -> frozenset[int]:
    """Return the places of the operands that may have other elements, which follow from the node's configuration."""
    found = _free_operands(opset, node, exposed)
    return frozenset(place for place, name in enumerate(node.input) if name in found)


def _free_operands(opset: int, node: onnx.NodeProto, exposed: ExposedValues) -> dict[str, str | Rule]:
    constants = {name for name in node.input if _is_constant(name, exposed)}
    return free_operands(node, opset, exposed.values, constants)


def _probe(
    parts: GraphParts, exposed: ExposedValues, subject: Subject, numbers: Sequence[int], count: int
) -> ProbedNode | None:
    """Run the first of some equal nodes on hard values; None if it has none, or cannot be a model of its own."""
    model = parts.model
    number = numbers[0]
    node = model.graph.node[numbers[0]]
    single = parts.cut([number], exposed.values)
    if single is None:
        return None
    probes = _probes_of(model, node, exposed, single.inputs, count)
    if not probes:
        return None
    try:
        values = _probed_values(single.model, subject, probes)
    except SubjectRefused as refusal:
        return _refused_probe(number, node, numbers, refusal)
    own = {name: exposed.values[name] for name in names_taken_by(node) if name in exposed.values}
    if not has_nodes_inside(model, node):
        free = _free_operands(main_opset(model), node, exposed)
        values += _short_means(parts, exposed, subject, number, free.keys())
    try:
        with limit_evaluation():
            judged = [(judge_last(model, [number], exposed, {**own, **each}), each) for each in values]
    except Unsupported as error:
        return ProbedNode(_unjudged(number, node, f"on hard values, {error}"), numbers, 0, model_runs=1)
    outputs = [value.name for value in single.model.graph.output]
    return _summary(judged, numbers, outputs, {**exposed.values, **own}, own)


def _probe_sequences(
    model: onnx.ModelProto, exposed: ExposedValues, subject: Subject, number: int, count: int
) -> ProbedNode | None:
    """Run a SequenceMap alone on ordinary numbers; None if an operand is not known, is too large, or has no items.

    Its sequences are made from tensors and taken apart in the model that runs, so that also its values are tensors.
    """
    node = model.graph.node[number]
    judge = ModelJudge(model, exposed)
    given = {name: judge.value_of(name) for name in names_taken_by(node)}
    if any(value is None for value in given.values()) or sum(map(element_count, given.values())) > MAX_PROBED_ELEMENTS:
        return None
    try:
        with limit_evaluation(), np.errstate(all="ignore"):
            expected = enclose(NodeScope.of(model), node, given)
    except (Unsupported, *EVALUATION_ERRORS):
        return None
    part = part_of(model, node.name or node.op_type, [number])
    held = {name: value for name, value in given.items() if name in exposed.values and _is_constant(name, exposed)}
    complete_part(part, {}, held, {})
    free = {name: _as_known(value) for name, value in given.items() if name not in held}
    results = {name: _as_known(each) for name, each in zip(node.output, expected, strict=True) if name}
    if not results or not all(each for each in (*free.values(), *results.values()) if isinstance(each, list)):
        return None
    part.graph.input.extend(_declared(*each) for each in free.items())
    part.graph.output.extend(_declared(*each) for each in results.items())
    single, inputs, _ = with_tensors(part, [*free.values()], [*results.values()])
    named = dict(zip(required_input_names(single.graph), inputs, strict=True))
    draws = [{**named, **drawn_numbers(named, each)} for each in range(count * DRAWS_OF_PROBES)]
    try:
        values = _probed_values(single, subject, draws)
    except SubjectRefused as refusal:
        return _refused_probe(number, node, [number], refusal)
    constants = initializer_arrays(single.graph)
    ways = dict.fromkeys(constants, Exposure.CONSTANT)
    judged = []
    for each in values:
        items = judge_nodes(single, ExposedValues({**constants, **each}, ways, []))
        worst = max((one for one in items if one.op_type == "SequenceAt" or one.fault_rank), key=_rank)
        whole = _unjudged(number, node, "")
        own = {"number": number, "name": whole.name, "op_type": node.op_type, "domain": node.domain, "together": ()}
        judged.append((structs.replace(worst, segment=(), **own), dict[str, Any]()))
    return _summary(judged, [number], (), {}, {})


def _as_known(value: Any) -> Any:
    """Return a tensor, or zeros of the type and shape of one that is not exposed, or a sequence of such tensors."""
    if isinstance(value, list):
        return [*map(_as_known, value)]
    return value if isinstance(value, np.ndarray) else np.zeros(value.shape, value.dtype)


def _declared(name: str, value: Any) -> onnx.ValueInfoProto:
    """Return the declaration of a tensor, or of a sequence of tensors of any shapes."""
    if not isinstance(value, list):
        return array_value_info(name, value)
    return helper.make_tensor_sequence_value_info(name, type_number(type_name(value[0].dtype)), None)


def _probed_values(model: onnx.ModelProto, subject: Subject, probes: list[dict[str, Array]]) -> list[dict[str, Array]]:
    """Return the inputs and the outputs of the runs of a node alone, by name; for errors see `_run_probes`."""
    ran, results = _run_probes(model, subject, probes)
    made = [value.name for value in model.graph.output]
    return [{**given, **dict(zip(made, outputs, strict=True))} for given, outputs in zip(ran, results, strict=True)]


def _refused_probe(number: int, node: onnx.NodeProto, numbers: Sequence[int], refusal: SubjectRefused) -> ProbedNode:
    """Return the judgement of a node that the subject does not run alone; one with which its process ends is wrong."""
    if refusal.verdict is Verdict.CRASH:
        crashed = structs.replace(_unjudged(number, node, str(refusal)), verdict=NodeVerdict.WRONG, share=np.inf)
        return ProbedNode(crashed, numbers, 1, model_runs=1)
    reason = f"the subject does not run the node alone on hard values: {refusal}"
    return ProbedNode(_unjudged(number, node, reason), numbers, 0, model_runs=1)


def _summary(
    judged: Sequence[tuple[JudgedNode, dict[str, Array]]],
    numbers: Sequence[int],
    outputs: Sequence[str],
    values: Mapping[str, Array],
    own: Mapping[str, Array],
) -> ProbedNode:
    """Return the judgement of some equal nodes on hard values.

    Args:
        judged: the judgement of each probe, and its values by name.
        numbers: the numbers of the nodes.
        outputs: the names of its outputs.
        values: the values of the model.
        own: the operands that the node has in the model.
    """
    worst, given = max(judged, key=lambda each: _rank(each[0]))
    known = {**(values if worst.verdict is NodeVerdict.WRONG else own), **given}
    done = sum(each.verdict is not NodeVerdict.NOT_JUDGED for each, _ in judged)
    compared = [each for each, found in judged if each.elements and _has_numbers(map(found.get, outputs))]
    noticed = min((each.noticed for each in compared), default=math.inf)
    should_noticed = min((each.should_noticed for each in compared), default=math.inf)
    level = Level.MUST if any(each.is_judged_at(Level.MUST) for each, _ in judged) else worst.level
    probed = structs.replace(
        worst,
        level=level,
        noticed=noticed,
        should_noticed=should_noticed,
        outputs=_outputs_of_probes([each for each, _ in judged], worst),
    )
    return ProbedNode(probed, numbers, done, known, 1)


def _outputs_of_probes(judged: Sequence[JudgedNode], worst: JudgedNode) -> tuple[OutputEvidence, ...]:
    """Return the comparisons of all judged probes, each as a data set; only faults as severe as the worst one count."""
    right = [OutputEvidence(0, each.name, each.check) for each in worst.outputs]
    return tuple(
        structs.replace(each, data_set=number)
        for number, node in enumerate(judged)
        if node.verdict is not NodeVerdict.NOT_JUDGED
        for each in (node.outputs if node.fault_rank == worst.fault_rank else right)
    )


def _probes_of(
    model: onnx.ModelProto, node: onnx.NodeProto, exposed: ExposedValues, inputs: Mapping[str, Array], count: int
) -> list[dict[str, Array]]:
    """Return hard values of the inputs of a node that runs alone.

    A node with nodes inside takes each branch, several numbers of steps, and ordinary numbers.
    """
    if has_nodes_inside(model, node):
        shapes = {name: array.shape for name, array in inputs.items()}
        variants = [
            each
            for each in control_variants([node], main_opset(model), inputs)
            if all(array.shape == shapes[name] for name, array in each.items())
        ]
        draws = [drawn_numbers(inputs, number) for number in range(count * DRAWS_OF_PROBES)]
        return [
            {**inputs, **drawn, **each}
            for drawn, each in chain(product([{}, *draws[:1]], variants), product(draws, [{}]))
        ]
    kinds = _free_operands(main_opset(model), node, exposed)
    hard = hard_numbers_of(node, main_opset(model), exposed.values)
    places = input_places(node)
    times = count * _repetitions([inputs[name] for name in kinds if name in inputs])
    times = min(times, max(2, MAX_PROBED_OPERANDS // max(1, len(kinds))))
    probes: list[dict[str, Array]] = [
        {
            name: hard_elements(node, exposed.values, places[name], kinds[name], probe, hard)
            if name in kinds
            else array
            for name, array in inputs.items()
        }
        for probe in range(times if _is_small(node, exposed, MAX_PROBED_ELEMENTS) else 0)
    ]
    return probes + _exact_sums(node, exposed, inputs, kinds.keys())


def _has_numbers(outputs: Iterable[Any]) -> bool:
    """Return whether an output has other elements than floating-point zeros, infinities and NaN."""
    known = [each for each in outputs if each is not None]
    computed = [each.astype(np.float64) for each in known if isinstance(each, np.ndarray) and is_computed(each.dtype)]
    return len(computed) < len(known) or any(np.any(np.isfinite(each) & (each != 0)) for each in computed)


def _run_probes(
    model: onnx.ModelProto, subject: Subject, probes: list[dict[str, Array]]
) -> tuple[list[dict[str, Array]], list[list[Any]]]:
    """Run a node alone on hard values; return the values with which the subject runs it, and its outputs.

    Raises:
        SubjectRefused: its process ends with some values, or it runs the node with none.
    """
    names = required_input_names(model.graph)
    runs = [[given[name] for name in names] for given in probes]
    try:
        return probes, run_each(subject.target, model, runs)
    except SubjectRefused as refusal:
        if not refusal.is_error or len(probes) == 1:
            raise
        refused = refusal
    ran: list[dict[str, Array]] = []
    results: list[list[Any]] = []
    for given, run in zip(probes, runs, strict=True):
        try:
            results += run_each(subject.target, model, [run])
            ran.append(given)
        except SubjectRefused as refusal:
            if not refusal.is_error:
                raise
    if not ran:
        raise refused
    return ran, results


def _exact_sums(
    node: onnx.NodeProto, exposed: ExposedValues, inputs: Mapping[str, Array], free: Container[str]
) -> list[dict[str, Array]]:
    """Return operands of the node alone with which its sums are exact in every order."""
    known = [each for each in (*node.input, *node.output) if each in exposed.values]
    terms = probed_terms(node, {each: np.shape(exposed.values[each]) for each in known})
    own = [name for name in inputs if name in free]
    return exact_sums(node, inputs, own, terms) if node.input[0] in inputs else []


def _short_means(
    parts: GraphParts, exposed: ExposedValues, subject: Subject, number: int, free: Container[str]
) -> list[dict[str, Array]]:
    """Return the values of a mean that runs alone with shorter axes; none if it is no such mean, or does not run."""
    node = parts.model.graph.node[number]
    known = {each: exposed.values[each] for each in (*node.input, *node.output) if each in exposed.values}
    shapes = {name: np.shape(value) for name, value in known.items()}
    operand = short_mean(node, known, probed_terms(node, shapes)) if node.input[0] in free else None
    single = None if operand is None else parts.cut([number], {**known, node.input[0]: operand})
    if single is None:
        return []
    names = required_input_names(single.model.graph)
    try:
        (outputs,) = run_each(subject.target, single.model, [[single.inputs[name] for name in names]])
    except SubjectRefused:
        return []
    made = [value.name for value in single.model.graph.output]
    return [{**single.inputs, **dict(zip(made, outputs, strict=True))}]


def _repetitions(operands: Sequence[Array]) -> int:
    """Return how often the probes are repeated with other elements, so that small operands have each hard number."""
    size = max((array.size for array in operands), default=0)
    return max(1, min(MAX_REPETITIONS, PROBED_ELEMENTS // max(1, size)))


def _unjudged(number: int, node: onnx.NodeProto, reason: str) -> JudgedNode:
    name = node.name or node.output[0]
    return JudgedNode(number, name, NodeVerdict.NOT_JUDGED, reason, op_type=node.op_type, domain=node.domain)


def _rank(node: JudgedNode) -> tuple[int, bool, float]:
    """Return a sort key: a wrong node is worst, then one below level `should`, then one with unspecified elements.

    Of equal verdicts, that of level `must` comes first.
    """
    order = (NodeVerdict.NOT_JUDGED, NodeVerdict.CORRECT, NodeVerdict.UNSPECIFIED, NodeVerdict.WRONG)
    share = node.share if np.isfinite(node.share) else 1e300
    return order.index(node.verdict) * 2 + (node.should_worst is not None), node.level is Level.MUST, share
