"""Enclosures of a node's outputs, also of nodes with subgraphs and of training optimizers.

A subgraph is evaluated node by node, with composed bounds. Its nodes count as judged together.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import zip_longest
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from conformance.base.errors import ConformanceError
from conformance.base.jobs.job import limit_evaluation
from conformance.base.verdicts import Level, Unsupported
from conformance.exact.models.arrays import (
    element_count,
    element_distances,
    is_floating,
    object_array,
    type_name,
    type_number,
)
from conformance.exact.models.graphs import (
    MAIN_DOMAINS,
    called_name,
    copy_of,
    function_name,
    names_taken_by,
    normal_domain,
    subgraphs_of,
)
from conformance.exact.models.input_files import inferred_output_shapes, initializer_arrays
from conformance.exact.reference.enclosures import enclose_node, is_supported
from conformance.exact.reference.enclosures.earlier_texts import readings_of, with_reading
from conformance.exact.reference.enclosures.exact import COPYING
from conformance.exact.reference.enclosures.machine_learning import MAP_OPERATORS
from conformance.exact.reference.enclosures.open_elements import leave_large_states_open, leave_masked_values_open
from conformance.exact.reference.enclosures.sequences import EnclosureTensors
from conformance.exact.reference.nodes import (
    TOO_LARGE,
    Node,
    attribute_values,
    call_attributes,
    check_operands,
    resolve_references,
)
from conformance.exact.reference.numbers.enclosure import Enclosure, as_tensor, current_reading, known_elements, read_as
from conformance.exact.reference.operators.control_flow import CONTROL_FLOW
from conformance.exact.reference.operators.sequences import SEQUENCE_OPERATORS
from conformance.exact.reference.operators.training_optimizers import TRAINING_DOMAINS, TRAINING_OPTIMIZERS
from conformance.exact.reference.oracle import EVALUATION_ERRORS, Answer, answers, evaluate
from conformance.exact.reference.tolerances import FUNCTION_OPERATORS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.numbers.enclosure import Tensor, TensorOrSequence

MAX_OUTPUT_ELEMENTS = 2**26
"""Maximum number of elements of the outputs of a node, and of the computed values of a model that are alive together.

The reference needs some 40 bytes for an element."""

MAX_COPIED_BYTES = 2**31
"""Maximum size of the outputs of a node of `COPYING` whose operands are known, and whose outputs were returned."""

MAX_MADE_ELEMENTS = 2**24
"""Maximum number of elements of the outputs of a node of `MADE_BY_FORMULAS`; the reference needs 180 bytes for each."""

MAX_INNER_NODES = 20_000
MAX_INNER_ELEMENTS = 2**26
"""Maximum number of nodes that are evaluated in the subgraphs and the function body of a node, and of the elements of
their outputs."""

SIZED_BY_VALUES = frozenset({
    "AffineGrid", "AveragePool", "BlackmanWindow", "CenterCropPad", "Col2Im", "ConstantOfShape", "Conv",
    "ConvInteger", "ConvTranspose", "DFT", "DeformConv", "Expand", "HammingWindow", "HannWindow", "LpPool",
    "MaxPool", "MaxRoiPool", "MaxUnpool", "MelWeightMatrix", "OneHot", "Pad", "QLinearConv", "RandomNormal",
    "RandomUniform", "Range", "Resize", "RoiAlign", "STFT", "Tile", "Upsample",
})  # fmt: skip
"""Operators whose outputs can have more elements than all products of elements of operands."""

MADE_BY_FORMULAS = frozenset(("AffineGrid", "BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix"))
"""Operators of `SIZED_BY_VALUES` whose outputs are computed from a few numbers."""

MAX_OPTIMIZER_ELEMENTS = 2000
"""Maximum number of elements of an operand of a training optimizer that is judged, because the exact oracle is slow."""


@dataclass(frozen=True)
class NodeScope:
    """The scope of a node: everything on which its evaluation depends, besides its inputs.

    Attributes:
        opsets: the version of each imported domain; the main domain has the empty name.
        model: the model.
        exact_attributes: numbers that attributes have in place of those of type float, which the model stores.
    """

    opsets: Mapping[str, int]
    model: onnx.ModelProto
    exact_attributes: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, model: onnx.ModelProto) -> NodeScope:
        """Return the scope of the main graph's nodes."""
        return cls({normal_domain(entry.domain): entry.version for entry in model.opset_import}, model)

    def node(self, proto: onnx.NodeProto) -> Node:
        """Return a node in the form that the reference takes.

        Raises:
            Unsupported: the node's domain is not imported.
        """
        version = self.opsets.get(normal_domain(proto.domain))
        if version is None:
            raise Unsupported(f"the model does not import {proto.domain or 'ai.onnx'}")
        inputs = tuple(proto.input)
        outputs = tuple(proto.output)
        attributes = {**attribute_values(proto.attribute), **self.exact_attributes}
        return Node(proto.op_type, inputs, outputs, attributes, version, proto.domain)


class LiveValues(dict[str, Any]):
    """The values of a model by name while its nodes are evaluated in turn.

    A value is dropped after its last use. The computed values that are alive together have a maximum size.

    Args:
        given: values that are not computed.
        nodes: the nodes.
        kept: names of values that are not dropped.
    """

    def __init__(self, given: Mapping[str, Any], nodes: Sequence[onnx.NodeProto], kept: Iterable[str]) -> None:
        super().__init__(given)
        self._last_use = {name: number for number, node in enumerate(nodes) for name in names_taken_by(node)}
        self._last_use |= dict.fromkeys(kept, len(nodes))
        self._sizes: dict[str, int] = {}
        self._live = 0

    def add(self, name: str, value: Any, size: int | None = None) -> None:
        """Add a computed value.

        Args:
            name: its name.
            value: the value.
            size: the number of its elements; None to count them.

        Raises:
            Unsupported: the computed values are too large.
        """
        size = element_count(value) if size is None else size
        if self._live + size > MAX_OUTPUT_ELEMENTS:
            raise Unsupported(f"{TOO_LARGE}: with {name}, more than {MAX_OUTPUT_ELEMENTS:,} elements are kept")
        self[name] = value
        self._sizes[name] = size
        self._live += size

    def drop(self, number: int, node: onnx.NodeProto) -> None:
        """Drop the values that no node after a node takes."""
        for name in (*names_taken_by(node), *node.output):
            if self._last_use.get(name, -1) <= number:
                self.pop(name, None)
                self._live -= self._sizes.pop(name, 0)


@dataclass
class _Work:
    """The nodes in the subgraphs and the function body of a node that can still be evaluated."""

    nodes: int = MAX_INNER_NODES
    elements: int = MAX_INNER_ELEMENTS

    def spend(self, elements: int) -> None:
        """Count the evaluation of an inner node.

        Raises:
            Unsupported: too many nodes or elements were evaluated.
        """
        self.nodes -= 1
        self.elements -= elements
        if min(self.nodes, self.elements) < 0:
            raise Unsupported(f"{TOO_LARGE}: {MAX_INNER_NODES:,} nodes or {MAX_INNER_ELEMENTS:,} elements are inside")


_work: ContextVar[_Work | None] = ContextVar("_work", default=None)


def enclose(
    scope: NodeScope, proto: onnx.NodeProto, values: Mapping[str, TensorOrSequence], *, are_returned: bool = False
) -> list[TensorOrSequence]:
    """Return enclosures of the outputs of a node. A sequence is a list of tensors or maps.

    Args:
        scope: the scope of the node.
        proto: the node.
        values: the values of its inputs, and of the values that its subgraphs capture, by name.
        are_returned: whether an implementation returned the outputs, so that there is memory for a copy.

    Raises:
        Unsupported: there is no reference, an input is unknown, or the outputs are too large.
    """
    check_operands(proto)
    if missing := [name for name in proto.input if name and name not in values]:
        raise Unsupported(f"the value of {missing[0]} is not known")
    given = [values[name] if name else None for name in proto.input]
    work = _work.get()
    if work is not None:
        _check_output_sizes(scope, proto, given)
        results = _enclose(scope, proto, given, values)
        work.spend(element_count(results))
        return results
    token = _work.set(_Work())
    try:
        with limit_evaluation():
            _check_output_sizes(scope, proto, given, is_copied=are_returned and is_copying(proto, given))
            return _enclose(scope, proto, given, values)
    finally:
        _work.reset(token)


def is_copying(proto: onnx.NodeProto, given: Iterable[Any]) -> bool:
    """Return whether the evaluation of a node on some operands takes little more memory than a copy of its outputs."""
    is_known = all(each is None or isinstance(each, np.ndarray) for each in given)
    return is_known and proto.domain in MAIN_DOMAINS and proto.op_type in COPYING


def _check_output_sizes(
    scope: NodeScope, proto: onnx.NodeProto, given: Sequence[TensorOrSequence], *, is_copied: bool = False
) -> None:
    """Check that the outputs that a node will have are not too large, before they are computed.

    Raises:
        Unsupported: they are.
    """
    most = prod(max(1, element_count(each)) for each in given)
    if most <= MAX_OUTPUT_ELEMENTS and proto.op_type not in SIZED_BY_VALUES:
        return
    if any(each is not None and not isinstance(each, (np.ndarray, Enclosure)) for each in given):
        return
    known = {name: as_tensor(each) for name, each in zip(proto.input, given, strict=True)}
    model = _single(scope, proto, known)
    shapes = inferred_output_shapes(model, {name: each for name, each in known.items() if isinstance(each, np.ndarray)})
    size = sum(map(prod, shapes.values()))
    most = MAX_MADE_ELEMENTS if proto.op_type in MADE_BY_FORMULAS else MAX_OUTPUT_ELEMENTS
    if is_copied:
        most = MAX_COPIED_BYTES // max(each.dtype.itemsize for each in given if isinstance(each, np.ndarray))
    if size > most:
        raise Unsupported(f"{TOO_LARGE}: its outputs have {size:,} elements, more than {most:,}")


def _enclose(
    scope: NodeScope,
    proto: onnx.NodeProto,
    given: Sequence[TensorOrSequence],
    values: Mapping[str, TensorOrSequence],
) -> list[TensorOrSequence]:
    if proto.domain in MAIN_DOMAINS:
        if proto.op_type in CONTROL_FLOW:
            return _enclose_control_flow(scope, proto, given, values)
        if proto.op_type in SEQUENCE_OPERATORS:
            return [SEQUENCE_OPERATORS[proto.op_type](EnclosureTensors(), scope.node(proto), given)]
        if proto.op_type == "Identity" and not isinstance(given[0], (Enclosure, np.ndarray)):
            return [*given]
    if (function := _local_function(scope, proto)) is not None:
        return _enclose_local_call(scope, proto, function, given)
    if proto.domain == "ai.onnx.ml" and proto.op_type in MAP_OPERATORS:
        return MAP_OPERATORS[proto.op_type](scope.node(proto), given)
    return [*_enclose_tensors(scope, proto, [as_tensor(each) for each in given])]


def enclose_by_any_text(
    scope: NodeScope, proto: onnx.NodeProto, values: Mapping[str, TensorOrSequence]
) -> list[TensorOrSequence]:
    """Return enclosures of the outputs of a node that contain the results by each text of its page.

    An element on which the texts differ is open. Arguments and errors are those of `enclose`.
    """
    results = enclose(scope, proto, values)
    for reading in readings_of(scope.node(proto)) if proto.domain in MAIN_DOMAINS else ():
        with read_as(reading):
            others = enclose(scope, proto, values)
        results = [with_reading(min(reading), *pair) for pair in zip(results, others, strict=True)]
    return results


def evaluate_nodes(
    nodes: Iterable[onnx.NodeProto],
    values: Mapping[str, Any],
    compute: Callable[[onnx.NodeProto, Mapping[str, Any]], Iterable[Any]],
) -> dict[str, Any]:
    """Return values by name with the results of nodes, which are evaluated in turn.

    Args:
        nodes: the nodes in topological order.
        values: the values that the nodes take from elsewhere, by name.
        compute: returns the results of a node from the values by name.
    """
    known = dict(values)
    for node in nodes:
        known.update((name, each) for name, each in zip(node.output, compute(node, known), strict=False) if name)
    return known


def outputs_of_model(
    compute: Callable[..., Sequence[Any]], model: onnx.ModelProto, inputs: Sequence[Any]
) -> list[TensorOrSequence]:
    """Return the outputs of a model.

    Args:
        compute: returns the results of a node in its scope, from the values by name, such as `enclose`.
        model: the model.
        inputs: its inputs.
    """
    given = (value.name for value in model.graph.input)
    scope = NodeScope.of(model)
    nodes = model.graph.node
    outputs = [value.name for value in model.graph.output]
    values = LiveValues(
        {**initializer_arrays(model.graph), **dict(zip(given, inputs, strict=False))}, nodes, kept=outputs
    )
    for number, node in enumerate(nodes):
        for name, each in zip(node.output, compute(scope, node, values), strict=False):
            if name:
                values.add(name, each)
        values.drop(number, node)
    return [values[name] for name in outputs]


WITH_STATES = frozenset({"GRU", "RNN"})
"""Recurrent operators whose output Y has the whole state after each step."""


def enclose_steps(
    scope: NodeScope, proto: onnx.NodeProto, values: Mapping[str, TensorOrSequence], states: Array
) -> list[TensorOrSequence]:
    """Return enclosures of the outputs of a node of `WITH_STATES`, each step from the state returned before it.

    The bounds of many steps from the first state can be larger than the results.

    Args:
        scope: the scope of the node.
        proto: the node.
        values: the values of its inputs by name.
        states: the output Y that an implementation returned.
    """
    step = copy_of(proto)
    step.input.extend([*[""] * (8 - len(proto.input)), proto.output[0]])
    return enclose(scope, step, {**values, proto.output[0]: Enclosure.rounding_of(states)})


def _enclose_tensors(scope: NodeScope, proto: onnx.NodeProto, inputs: Sequence[Tensor]) -> list[Tensor]:
    if proto.domain in TRAINING_DOMAINS and proto.op_type in TRAINING_OPTIMIZERS:
        return _enclose_optimizer(scope, proto, inputs)
    node = scope.node(proto)
    if not is_supported(node) and (function := _schema_function(node, proto, inputs)) is not None:
        results = _enclose_function(scope, proto, _earlier_body(node, proto, function), inputs)
        if node.op_type == "Attention":
            return leave_masked_values_open(node, inputs, results)
        return leave_large_states_open(node, inputs, results) if node.op_type == "LinearAttention" else results
    return enclose_node(node, inputs)


def _schema_function(node: Node, proto: onnx.NodeProto, inputs: Sequence[Tensor]) -> onnx.FunctionProto | None:
    """Return the function body of a node's schema; None if it has none, or is not in `FUNCTION_OPERATORS`."""
    domain = normal_domain(node.domain)
    if (domain, node.op_type) not in FUNCTION_OPERATORS:
        return None
    if reason := _contradiction(node, [() if each is None else each.shape for each in inputs]):
        raise Unsupported(f"{node.op_type} with {reason}")
    schema: Any = onnx.defs.get_schema(node.op_type, max_inclusive_version=node.opset, domain=domain)
    if schema.has_context_dependent_function:
        version = _newest(schema.context_dependent_function_opset_versions, node.opset)
        types = [_type_of(tensor) for tensor in inputs]
        text = schema.get_context_dependent_function_with_opset_version(version, proto.SerializeToString(), types)
    else:
        text = schema.get_function_with_opset_version(_newest(schema.function_opset_versions, node.opset))
    return onnx.FunctionProto.FromString(text) if text else None


MASK_ORDER = "order of mask and softcap"
"""The row of `ERRATA` on the scores of Attention."""

_BYPASSED: Mapping[str, tuple[Sequence[str], int]] = {
    "alignment of the causal mask": (("RowPlusOff", "RangeRow2DPast"), 0),
    "rows that are masked": (("SoftmaxOutSafe",), 2),
}
"""The nodes of the function body of Attention that a text adds: the results, and the place of the operand before."""


def _earlier_body(node: Node, proto: onnx.NodeProto, function: onnx.FunctionProto) -> onnx.FunctionProto:
    """Return the body of a function by the text that the block of `read_as` reads."""
    if node.op_type != "Attention":
        return function
    body = function
    if MASK_ORDER in current_reading():
        body = _with_mask_before_softcap(node, proto, body) or body
    for name, (results, place) in _BYPASSED.items():
        if name in current_reading():
            body = _without_node(body, results, place) or body
    return body


def _without_node(function: onnx.FunctionProto, results: Sequence[str], place: int) -> onnx.FunctionProto | None:
    """Return a function body in which a node returns one of its operands; None if the body has no such node."""
    body = copy_of(function)
    node = next((each for each in body.node if each.output[0] in results), None)
    if node is None:
        return None
    operand = node.input[place]
    node.op_type = "Identity"
    del node.input[:]
    node.input.append(operand)
    return body


def _with_mask_before_softcap(
    node: Node, proto: onnx.NodeProto, function: onnx.FunctionProto
) -> onnx.FunctionProto | None:
    """Return the function body of Attention by the text before the erratum; None if no result depends on it.

    The body adds the bias after softcap. Before the erratum, the bias is added to the scores, and softcap follows.
    """
    given = node.attributes
    mode = given.get("qk_matmul_output_mode", 0) if len(proto.output) > 3 and proto.output[3] else 0
    if mode != 1 and not given.get("softcap"):
        return None
    body = copy_of(function)
    makers = {name: number for number, each in enumerate(body.node) for name in each.output}
    scores = "QKAttnCast"
    bias = "AttnBiasT"
    sum_name = "QKAttnWeightSoftcap"
    if not {scores, bias, sum_name} <= makers.keys():
        return None  # the body of another onnx
    masked = "EarlierMaskedScores"
    nodes = list(map(copy_of, body.node))
    nodes[makers[sum_name]].op_type = "Identity"
    del nodes[makers[sum_name]].input[1:]
    place = 1 + max(makers[scores], makers[bias])
    for each in nodes[place:]:
        is_output = each.output[0] == function.output[3]
        if not is_output:
            each.input[:] = [masked if name == scores else name for name in each.input]
        elif mode == 1:
            each.input[:] = [masked]
    addition = onnx.helper.make_node("Add", [scores, bias], [masked])
    del body.node[:]
    body.node.extend([*nodes[:place], addition, *nodes[place:]])
    return body


def _contradiction(node: Node, shapes: Sequence[tuple[int, ...]]) -> str:
    """Return an attribute or shapes that the page forbids, or computes in another way than the function body."""
    given = node.attributes
    if node.op_type == "Attention" and given.get("scale", 1.0) < 0:
        return "a negative scale, of which the function body takes the square root"
    if node.op_type == "SwiGLU" and shapes[0] != shapes[1]:
        return "operands of two shapes"
    if node.op_type == "RotaryEmbedding":
        size = shapes[0][-1] if len(shapes[0]) == 4 else shapes[0][-1] // given.get("num_heads", 1)
        if {2 * shape[-1] for shape in shapes[1:3]} != {given.get("rotary_embedding_dim", 0) or size}:
            return "a cache that does not have half of the rotated elements"
    return ""


def _newest(versions: Sequence[int], opset: int) -> int:
    """Return the newest version of a function body that a model may have; the oldest one if all are newer."""
    return max((version for version in versions if version <= opset), default=min(versions))


def _type_of(tensor: Tensor) -> bytes:
    if tensor is None:
        return bytes(onnx.TypeProto().SerializeToString())
    element = onnx.TensorProto.DataType.Value(type_name(tensor.dtype).upper())
    return bytes(onnx.helper.make_tensor_type_proto(element, tensor.shape).SerializeToString())


def _enclose_function(
    scope: NodeScope, proto: onnx.NodeProto, function: onnx.FunctionProto, inputs: Sequence[Tensor]
) -> list[Tensor]:
    """Evaluate the function body of an operator's schema node by node, with composed bounds."""
    inner, nodes = _body(scope, proto, function)

    def compute(node: onnx.NodeProto, values: Mapping[str, TensorOrSequence]) -> list[TensorOrSequence]:
        try:
            results = enclose(inner, node, values)
        except (ValueError, IndexError) as error:  # bodies of some versions do not fit every shape
            raise Unsupported(f"the function body of {proto.op_type} fails at {node.op_type}") from error
        operands = [values.get(name) for name in node.input]
        return [_without_overflow(result, operands) for result in results]

    given = {**dict.fromkeys(function.input), **dict(zip(function.input, inputs, strict=False))}
    values = evaluate_nodes(nodes, given, compute)
    return [as_tensor(values.get(name)) for name, _ in zip(function.output, proto.output, strict=False)]


def _body(
    scope: NodeScope, proto: onnx.NodeProto, function: onnx.FunctionProto
) -> tuple[NodeScope, list[onnx.NodeProto]]:
    """Return the nodes of a function body with the attributes of a node, and their scope."""
    schema = onnx.defs.get_schema(
        proto.op_type,
        max_inclusive_version=scope.node(proto).opset,
        domain=normal_domain(proto.domain),
    )
    defaults = {name: each.default_value for name, each in schema.attributes.items() if each.default_value.name}
    given = {**defaults, **{attribute.name: attribute for attribute in proto.attribute}}
    imports = {normal_domain(entry.domain): entry.version for entry in function.opset_import}
    nodes = []
    for each in function.node:
        node = copy_of(each)
        del node.attribute[:]
        node.attribute.extend(resolve_references(each.attribute, given))
        nodes.append(node)
    return NodeScope({**scope.opsets, **imports}, scope.model), nodes


def round_each_node(scope: NodeScope, proto: onnx.NodeProto, inputs: Sequence[Array | None]) -> list[Array]:
    """Return the outputs of a node with every step correctly rounded, so that they have the same bits on any machine.

    Args:
        scope: the scope of the node.
        proto: the node.
        inputs: its inputs.

    Raises:
        Unsupported: the node, or a node of its function body, has no exact value.
    """
    if proto.domain in MAIN_DOMAINS and proto.op_type == "Einsum":
        return [_exact_einsum(scope.node(proto).attributes["equation"], [each for each in inputs if each is not None])]
    if proto.domain in MAIN_DOMAINS and proto.op_type == "ReduceLogSumExp":
        steps = [onnx.helper.make_node(name, ["X"], ["Y"]) for name in ("Exp", "ReduceSum", "Log")]
        steps[1].input.extend(f"axes{place}" for place, _ in enumerate(inputs[1:]))
        steps[1].attribute.extend(proto.attribute)
        (powers,) = round_each_node(scope, steps[0], inputs[:1])
        return round_each_node(scope, steps[2], round_each_node(scope, steps[1], [powers, *inputs[1:]]))
    known = [each for each in inputs if each is not None]
    try:
        single = _single(scope, proto, dict(zip(proto.input, known, strict=True)))
        return [each for each in evaluate(single, known) if isinstance(each, np.ndarray)]
    except (Unsupported, ConformanceError, *EVALUATION_ERRORS):
        function = None if is_supported(scope.node(proto)) else _schema_function(scope.node(proto), proto, inputs)
    if function is None:
        values = dict(zip(proto.input, inputs, strict=False))
        return [
            known_elements(as_tensor(each))
            for each in enclose(scope, proto, {n: v for n, v in values.items() if v is not None})
        ]
    inner, nodes = _body(scope, proto, function)
    computed = evaluate_nodes(
        nodes,
        dict(zip(function.input, inputs, strict=False)),
        lambda node, values: round_each_node(inner, node, [values.get(name) for name in node.input]),
    )
    return [array for name in function.output if (array := computed.get(name)) is not None]


def _exact_einsum(equation: str, arrays: Sequence[Array]) -> Array:
    """Return sums of products of finite numbers, exact and rounded once."""
    if any(array.dtype.kind != "f" or not np.isfinite(array).all() for array in arrays):
        raise Unsupported("Einsum of other elements than finite numbers")
    numbers = [object_array(map(Fraction, array.astype(np.float64).flat), array.shape) for array in arrays]
    sums = np.asarray(np.einsum(equation, *numbers), object)
    return object_array(map(float, sums.flat), sums.shape).astype(arrays[0].dtype)


def _without_overflow(result: TensorOrSequence, inputs: Sequence[TensorOrSequence]) -> TensorOrSequence:
    """Return a value inside of a function body, in which an overflow may be a number of another evaluation.

    An infinity that comes from an infinite operand stays one, such as that of a mask.
    """
    if not isinstance(result, Enclosure) or not np.isinf(result.value).any():
        return result
    given = [as_tensor(each) for each in inputs]
    operands = [tensor.value if isinstance(tensor, Enclosure) else tensor for tensor in given if tensor is not None]
    is_given = [np.isinf(each) for each in operands if each.dtype.kind == "f"]
    try:
        masks = [np.broadcast_to(each, result.shape) for each in is_given]
    except ValueError:
        masks = [np.full(result.shape, each.any()) for each in is_given]
    return _leave_infinities_open(result, masks)


def _leave_infinities_open(result: Enclosure, kept: Sequence[Array]) -> Enclosure:
    """Return a tensor whose infinities are undetermined, at both levels, except where a mask keeps them."""
    error = np.where(np.logical_or.reduce([~np.isinf(result.value), *kept]), result.error, np.inf)
    is_same = result.compute_should is None
    should = None if is_same else lambda: result.should and _leave_infinities_open(result.should, kept)
    return replace(result, error=error, compute_should=should)


def _enclose_optimizer(scope: NodeScope, proto: onnx.NodeProto, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Return the answers of the corpus's oracle."""
    arrays = [known_elements(tensor) for tensor in inputs]
    if any(array.size > MAX_OPTIMIZER_ELEMENTS for array in arrays):
        raise Unsupported(f"a tensor of more than {MAX_OPTIMIZER_ELEMENTS} elements of a training optimizer")
    single = _single(scope, proto, dict(zip(proto.input, arrays, strict=True)))
    results = answers(single.SerializeToString(), arrays, Level.MUST)
    return [
        answer.expected
        if answer.bound is None
        else Enclosure(answer.expected.astype(np.float64), answer.bound, answer.expected.dtype)
        for answer in results
    ]


def _single(scope: NodeScope, proto: onnx.NodeProto, operands: Mapping[str, Tensor]) -> onnx.ModelProto:
    """Return a model of a node, with the types and shapes of its operands by name."""
    model = onnx.ModelProto(ir_version=scope.model.ir_version, opset_import=scope.model.opset_import)
    model.graph.node.append(proto)
    model.graph.input.extend(
        onnx.helper.make_tensor_value_info(name, type_number(type_name(each.dtype)), each.shape)
        for name, each in operands.items()
        if each is not None
    )
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in proto.output)
    return model


def _local_function(scope: NodeScope, proto: onnx.NodeProto) -> onnx.FunctionProto | None:
    """Return the function of the model that a node calls; None if it calls none."""
    name = called_name(proto)
    return next((each for each in scope.model.functions if function_name(each) == name), None)


def _enclose_local_call(
    scope: NodeScope, proto: onnx.NodeProto, function: onnx.FunctionProto, inputs: Sequence[TensorOrSequence]
) -> list[TensorOrSequence]:
    """Evaluate a function of the model node by node, with composed bounds; the function must not call itself."""
    given = call_attributes(function, proto.attribute)
    imports = {normal_domain(entry.domain): entry.version for entry in function.opset_import}
    inner = NodeScope(imports, scope.model)

    def compute(node: onnx.NodeProto, known: Mapping[str, TensorOrSequence]) -> list[TensorOrSequence]:
        called = copy_of(node)
        del called.attribute[:]
        called.attribute.extend(resolve_references(node.attribute, given))
        return [each.unrounded() if isinstance(each, Enclosure) else each for each in enclose(inner, called, known)]

    values = evaluate_nodes(function.node, dict(zip_longest(function.input, inputs)), compute)
    return [values.get(name) for name in function.output]


def _run_graph(
    scope: NodeScope, graph: onnx.GraphProto, values: Mapping[str, TensorOrSequence]
) -> list[TensorOrSequence]:
    """Evaluate a subgraph with the values of its inputs and of the enclosing scopes."""

    def compute(node: onnx.NodeProto, known: Mapping[str, TensorOrSequence]) -> list[TensorOrSequence]:
        return [each.unrounded() if isinstance(each, Enclosure) else each for each in enclose(scope, node, known)]

    inner = evaluate_nodes(graph.node, {**values, **initializer_arrays(graph)}, compute)
    if missing := [value.name for value in graph.output if value.name not in inner]:
        raise Unsupported(f"the value of {missing[0]} is not known")
    return [inner[value.name] for value in graph.output]


def _enclose_control_flow(
    scope: NodeScope, proto: onnx.NodeProto, inputs: Sequence[TensorOrSequence], values: Mapping[str, TensorOrSequence]
) -> list[TensorOrSequence]:
    graphs = {attribute.name: attribute.g for attribute in proto.attribute}

    def run(name: str, given: Sequence[TensorOrSequence]) -> list[TensorOrSequence]:
        own = {value.name: each for value, each in zip(graphs[name].input, given, strict=False)}
        return _run_graph(scope, graphs[name], {**values, **own})

    return CONTROL_FLOW[proto.op_type](EnclosureTensors(), scope.node(proto), inputs, run)


def inner_node_count(proto: onnx.NodeProto) -> int:
    """Return the number of nodes in the subgraphs of a node, at any depth."""
    return sum(len(graph.node) + sum(map(inner_node_count, graph.node)) for graph in subgraphs_of(proto))


BOUND_BITS = 10
"""Significant bits of a bound, which is rounded up: the last bits of double arithmetic depend on the machine."""


DOUBLE_BOUND_BITS = 1
"""Significant bits of the bound of a double, whose error in double arithmetic is itself a few last bits."""

VALUE_BITS = 24
"""Bits of an inexact value below the highest bit of its error: errors of double arithmetic are below them."""

MARGIN = 2.0**-20
"""Part of a bound that is added before it is rounded up, more than an expected value loses with its last bits."""

EXACT_SHARE = 2
"""The distance of an exact value from the value in double counts as this part of the error, which is larger."""


def answer_of(expected: Tensor | list[Tensor], *, given: Array | None = None, exact: Array | None = None) -> Answer:
    """Return the acceptable values of an output.

    Args:
        expected: the enclosure of the output.
        given: a value of the output, for the elements that the specification leaves open.
        exact: the output by exact arithmetic, which is the expected value where the enclosure contains it.

    Raises:
        ValueError: the output is not known, or is a sequence.
    """
    if expected is None or isinstance(expected, list):
        raise ValueError("an output is a sequence, or is not known")
    if not isinstance(expected, Enclosure):
        bound = np.zeros(expected.shape) if is_floating(expected.dtype) else None
        return Answer(_without_signs_of_nan(expected), bound)
    value = np.asarray(expected.value)
    error = np.asarray(expected.error)
    error = np.where(np.isnan(error), np.where(np.isfinite(value), np.inf, 0.0), error)
    is_open = np.isinf(error)
    bits = DOUBLE_BOUND_BITS if expected.dtype == np.float64 else BOUND_BITS
    with np.errstate(all="ignore"):
        if is_floating(expected.dtype):
            value = _without_last_bits(value, error)
            rounded = np.where(is_open & np.isfinite(value), 0, value).astype(expected.dtype)
            if exact is not None and exact.dtype == expected.dtype and exact.shape == expected.shape:
                rounded = np.where(np.abs(exact.astype(np.float64) - value) <= error, exact, rounded)
        else:
            low = np.ceil(value - error)
            high = np.floor(value + error)
            nearest = value if value.dtype == expected.dtype else np.clip(np.rint(value), low, high)
            rounded = np.where(is_open, 0, nearest).astype(expected.dtype)
        if given is not None:
            rounded = np.where(is_open, given, rounded).astype(expected.dtype)
        rounded = _without_signs_of_nan(rounded)
        wide = rounded.astype(np.float64)
        distance = element_distances(wide, value)
        if exact is not None:  # the distance from the value in double depends on the machine, and is small
            distance = np.where(distance <= error / EXACT_SHARE, error / EXACT_SHARE, np.maximum(distance, error))
            distance = distance + error * 2.0**-20  # the sum has no more bits than the bound otherwise, by chance
        if not is_floating(expected.dtype):
            bound = np.where(is_open, np.inf, np.maximum(high - wide, wide - low))
            return Answer(rounded, bound if bound.any() else None)
    return Answer(rounded, np.where(is_open | np.isnan(distance), np.inf, _round_up(distance + error, bits)))


def _without_signs_of_nan(array: Array) -> Array:
    """Return an array with one kind of NaN, whose sign depends on the machine."""
    if not is_floating(array.dtype):
        return array
    is_nan = np.isnan(array)
    return np.where(is_nan, array.dtype.type(np.nan), array) if is_nan.any() else array


def _round_up(bounds: Array, bits: int = BOUND_BITS) -> Array:
    """Return bounds with few significant bits, which are at least the given ones.

    A bound that is a number of few bits becomes larger too, because another machine may compute a larger one.
    """
    mantissa, exponent = np.frexp(bounds * (1 + MARGIN))
    return np.asarray(np.ldexp(np.ceil(np.ldexp(mantissa, bits)), exponent - bits))


def _without_last_bits(value: Array, error: Array) -> Array:
    """Return inexact values as multiples of a small part of their errors.

    The last bits of double arithmetic depend on the machine. They decide about a value in the middle of two numbers of
    the output's type, and about the sign of a sum that is nearly 0.
    """
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(error * (1 + MARGIN))
        exponent = exponent - VALUE_BITS
        rounded = np.ldexp(np.floor(np.ldexp(value, -exponent) + 2 / 3), exponent)  # no number of few bits is near 1/3
    return np.where((error > 0) & np.isfinite(error) & np.isfinite(rounded), rounded, value)
