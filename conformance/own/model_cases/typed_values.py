"""Types, shapes and small known elements of the values of a model, without a run of the model.

Shape inference of onnx determines types and shapes, node by node. The reference computes values that have known
operands and few elements, because shapes depend on them. With inputs of the user, the reference computes all values.
"""

from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass, replace
from itertools import repeat
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import onnx
from onnx import helper

from conformance.base.errors import ModelError
from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import (
    MAX_RANK,
    Array,
    check_shape,
    element_byte_count,
    is_text,
    tensor_of,
    type_name,
    type_number,
)
from conformance.exact.models.external_data import initializer_arrays_in
from conformance.exact.models.graphs import (
    MAIN_DOMAINS,
    attribute_graphs,
    infer_shapes,
    is_operator,
    names_taken_by,
    subgraphs_of,
)
from conformance.exact.models.input_files import DeclaredInput, required_inputs
from conformance.exact.reference.node_enclosures import NodeScope, enclose
from conformance.exact.reference.nodes import attribute_values
from conformance.exact.reference.numbers.enclosure import Enclosure
from conformance.exact.reference.operators.data_movement import place_along
from conformance.exact.reference.operators.sequences import SEQUENCE_OPERATORS
from conformance.exact.reference.oracle import EVALUATION_ERRORS, quiet_evaluation
from conformance.own.graphs.model_inputs import PARTS_OF_SHAPES, exceeds_input
from conformance.own.graphs.nested_nodes import FIRST_SCAN_WITHOUT_BATCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from conformance.own.graphs.reading import LoadedModel

MAX_GIVEN_ELEMENTS = 2**24
"""Largest number of elements of an operand whose values follow from inputs of the user."""

MAX_KNOWN_ELEMENTS = 2**10
"""Maximum number of elements of a value that is computed because shapes may depend on it."""

MAX_TEXT_BYTES = 2**20
"""Maximum size of texts that are computed."""

MAX_DEPTH = 20
"""Maximum depth of nested subgraphs."""

SEQUENCE_LENGTHS = (0, 1, 3)
"""The lengths of the sequences of a SequenceMap in cases."""

MAX_STACKED_STEPS = 2**16
"""Maximum number of steps of a Loop or a Scan whose results have a case."""


@dataclass(frozen=True)
class TypedValue:
    """A value of a model.

    Attributes:
        dtype: its element type.
        shape: its shape.
        array: its elements; None if they are not known.
        is_constant: whether it is an initializer or a Constant.
        is_given: whether its elements depend on inputs of the user.
        is_optional: whether it is the element of an optional.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    array: Array | None = None
    is_constant: bool = False
    is_given: bool = False
    is_optional: bool = False

    @classmethod
    def of(cls, array: Array, **properties: bool) -> TypedValue:
        """Return a value whose elements are known."""
        return cls(array.dtype, array.shape, array, **properties)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def type(self) -> onnx.TypeProto:
        """Its type, without a shape."""
        tensor = helper.make_tensor_type_proto(type_number(type_name(self.dtype)), None)
        return helper.make_optional_type_proto(tensor) if self.is_optional else tensor

    @property
    def value(self) -> TypedValue:
        """The tensor itself."""
        return self


@dataclass(frozen=True)
class TypedSequence:
    """A sequence of a model.

    Attributes:
        items: its tensors.
        is_optional: whether it is the element of an optional.
        first: an example of its tensors if it has none.
    """

    items: tuple[TypedValue, ...]
    is_optional: bool = False
    first: TypedValue | None = None
    is_constant = False
    is_given = False

    def of_length(self, length: int) -> TypedSequence:
        """Return a sequence of another length, whose tensors are those of this one in turn."""
        items = tuple(self.items[place % len(self.items)] for place in range(length))
        return replace(self, items=items, first=self.items[0])

    @property
    def type(self) -> onnx.TypeProto:
        """Its type, without the shape of its tensors; it has a tensor or an example."""
        (first, *_) = (*self.items, *filter(None, [self.first]))
        sequence = helper.make_sequence_type_proto(first.type)
        return helper.make_optional_type_proto(sequence) if self.is_optional else sequence

    @property
    def value(self) -> list[TypedValue]:
        """The tensors as a list."""
        return list(self.items)


Typed: TypeAlias = TypedValue | TypedSequence
"""A value of a model."""

Given: TypeAlias = TypedValue | dict[Any, Any]
"""An input of a model that is a tensor or a map."""


class TypedTensors:
    """Types and shapes of tensors and sequences, for the operators of sequences; see `sequences.Tensors`."""

    absent: Any = None

    def constant(self, array: Array) -> Any:
        return TypedValue.of(array)

    def known(self, value: Any) -> Array:
        """Return the elements of a tensor; position 0 for one that is not known."""
        if value.array is None and value.shape:
            raise Unsupported("the elements of an operand are not known")
        return np.zeros((), value.dtype) if value.array is None else np.asarray(value.array)

    def sequence(self, items: Iterable[Any]) -> Any:
        return TypedSequence(tuple(items))

    def items(self, value: Any) -> Sequence[Any] | None:
        return value.items if isinstance(value, TypedSequence) else None

    def size(self, value: Any, axis: int) -> int:
        return int(value.shape[axis])

    def take(self, value: Any, index: int | slice, axis: int) -> Any:
        return self._moved([value], lambda array: array[place_along(axis, array.ndim, index)])

    def join(self, values: Sequence[Any], axis: int, *, stacks: bool) -> Any:
        join = np.stack if stacks else np.concatenate
        return self._moved(values, lambda *arrays: join(arrays, axis))

    @staticmethod
    def _moved(values: Sequence[TypedValue], move: Callable[..., Array]) -> TypedValue:
        """Return the result of an operator that only moves elements."""
        is_known = all(each.array is not None for each in values)
        arrays = [each.array if is_known else np.broadcast_to(np.zeros((), each.dtype), each.shape) for each in values]
        found = np.asarray(move(*arrays), values[0].dtype)  # one text of an array of texts is no array
        given = any(each.is_given for each in values)
        return TypedValue(found.dtype, found.shape, found if is_known else None, is_given=given)


@dataclass(frozen=True)
class TypedGraph:
    """A graph with the values that its nodes can take.

    Attributes:
        graph: the main graph or a subgraph.
        values: the values of the graph and of the graphs around it, by name.
    """

    graph: onnx.GraphProto
    values: Mapping[str, Typed]

    @property
    def faults(self) -> int:
        """The number of nodes that make an empty tensor of others, or a value without a known shape."""
        return sum(map(self._has_fault, self.graph.node))

    def _has_fault(self, node: onnx.NodeProto) -> bool:
        taken = {name: self.values.get(name) for name in names_taken_by(node)}
        made = [self.values.get(name) for name in node.output if name]
        if is_operator(node, *PARTS_OF_SHAPES) or None in taken.values():
            return False
        shapes = {name: each.shape for name, each in taken.items() if isinstance(each, TypedValue)}
        is_empty = any(map(_is_empty, made)) and not any(map(_is_empty, taken.values()))
        contradicts = self._loses_elements(node) or _differs_in_batch(node, shapes)
        return None in made or is_empty or contradicts or exceeds_input(node, shapes)

    def _loses_elements(self, node: onnx.NodeProto) -> bool:
        """Return whether a Reshape has a shape with another number of elements, such as of windows of uneven parts."""
        names = (*node.input[:1], *node.output) if is_operator(node, "Reshape") else ()
        ends = map(self.values.get, names)
        return len({each.size for each in ends if isinstance(each, TypedValue)}) > 1


def _differs_in_batch(node: onnx.NodeProto, shapes: Mapping[str, Sequence[int]]) -> bool:
    """Return whether an initial state of a recurrent node has another batch than its sequence."""
    if not is_operator(node, "GRU", "LSTM", "RNN"):
        return False
    axis = 0 if any(each.name == "layout" and each.i for each in node.attribute) else 1
    found = [shapes.get(name, ()) for name in (node.input[0], *node.input[5:7])]
    return len({shape[axis] for shape in found if len(shape) == RECURRENT_RANK}) > 1


RECURRENT_RANK = 3
"""The rank of the sequence and of the states of a recurrent node."""


def _lacks_inference(node: onnx.NodeProto, opsets: Mapping[str, int]) -> bool:
    """Return whether onnx infers no shapes for an operator of the main domain that has a function body."""
    try:
        schema: Any = onnx.defs.get_schema(node.op_type, opsets.get("", 0), "")
    except onnx.defs.SchemaError:
        return False
    has_body = schema.has_function or schema.has_context_dependent_function
    return has_body and not schema.has_type_and_shape_inference_function


def _is_empty(value: Typed | None) -> bool:
    return isinstance(value, TypedValue) and not value.size


def typed_graphs(
    model: LoadedModel, inputs: Sequence[Given], progress: Callable[[str], None] = lambda _: None
) -> list[TypedGraph]:
    """Return the main graph and the subgraphs of a model with their values; a value without a known shape is left out.

    Args:
        model: the model.
        inputs: its inputs without initializer.
        progress: is called with a text for the user.
    """
    graph = model.prepared.graph
    try:
        arrays = initializer_arrays_in(graph, model.data_folder)
    except Unsupported as reason:
        raise ModelError("no-cases.model", path=model.path, reason=reason) from None
    values: ChainMap[str, Typed] = ChainMap(
        {name: TypedValue.of(array, is_constant=True) for name, array in arrays.items()}
    )
    given = {value.name: each for value, each in zip(required_inputs(graph), inputs, strict=True)}
    values |= {name: each for name, each in given.items() if isinstance(each, TypedValue)}
    maps = {name: each for name, each in given.items() if isinstance(each, dict)}
    found: list[TypedGraph] = []
    _Walk(NodeScope.of(model.prepared), found, progress, maps).walk(graph, values, 0)
    return found


@dataclass(frozen=True)
class _Walk:
    """The walk over the graphs of a model, which adds each to `found`."""

    scope: NodeScope
    found: list[TypedGraph]
    progress: Callable[[str], None]
    maps: Mapping[str, dict[Any, Any]]

    def walk(self, graph: onnx.GraphProto, values: ChainMap[str, Typed], depth: int) -> list[Typed | None]:
        """Add the values of a graph's nodes to `values`, and return the graph's outputs; None for an unknown one."""
        self.found.append(TypedGraph(graph, values))
        declared = {value.name: _typed_value(value) for value in (*graph.value_info, *graph.output)}
        for number, node in enumerate(graph.node):
            if depth == 0 and number % 50 == 0:
                self.progress(f"shapes of {number} of {len(graph.node)} nodes")
            results = self._results(node, values, depth) or [declared.get(name) for name in node.output]
            values.update((name, each) for name, each in zip(node.output, results, strict=False) if name and each)
        return [values.get(value.name) for value in graph.output]

    def _results(self, node: onnx.NodeProto, known: ChainMap[str, Typed], depth: int) -> Sequence[Typed | None]:
        if subgraphs_of(node):
            results = self._control_flow(node, known, depth) if depth < MAX_DEPTH else []
            given = {name: known.get(name) for name in names_taken_by(node)}
            arrays = {
                name: each for name, each in given.items() if isinstance(each, TypedValue) and each.array is not None
            }
            is_given = len(arrays) == len(given) and any(each.is_given for each in arrays.values())
            return (self._computed(node, arrays) if is_given else []) or results
        if not self.maps.keys().isdisjoint(node.input):
            return [TypedValue(each.dtype, each.shape) for each in self._enclosed(node, {}, is_given=True)]
        if any(name not in known for name in names_taken_by(node)):
            return []
        taken = {name: known[name] for name in names_taken_by(node)}
        values = {name: each for name, each in taken.items() if isinstance(each, TypedValue)}
        if is_operator(node, "Constant"):
            constants = self._enclosed(node, values, is_given=True)
            return [replace(each, is_constant=True, is_given=False) for each in constants]
        is_plain = len(values) == len(taken) and not any(each.is_optional for each in values.values())
        if is_operator(node, *SEQUENCE_OPERATORS) or (is_operator(node, "Identity") and not is_plain):
            return self._of_sequences(node, taken)
        if not is_plain:
            return []
        found: list[TypedValue | None] = [*self._computed(node, values)] or infer(self.scope.model, [node], values)
        if all(found) or (node.domain in MAIN_DOMAINS and not _lacks_inference(node, self.scope.opsets)):
            return found
        zeros = {name: TypedValue.of(_zeros_of(values[name])) for name in names_taken_by(node)}
        results = self._enclosed(node, zeros, is_given=True)  # onnx infers no shapes for some operators
        return [TypedValue(each.dtype, each.shape) for each in results]

    def _of_sequences(self, node: onnx.NodeProto, taken: Mapping[str, Typed]) -> list[Typed]:
        """Return the result of an operator of sequences and optionals; an empty list if it is not known."""
        inputs = [taken[name] if name else None for name in node.input]
        try:
            found: Any = (
                inputs[0]
                if node.op_type == "Identity"
                else SEQUENCE_OPERATORS[node.op_type](TypedTensors(), self.scope.node(node), inputs)
            )
        except (Unsupported, *EVALUATION_ERRORS):
            return []
        is_optional = node.op_type == "Optional" or (node.op_type == "Identity" and found.is_optional)
        is_known = found is not None and (isinstance(found, TypedValue) or bool(found.items))
        return [replace(found, is_optional=is_optional)] if is_known else []

    def _computed(self, node: onnx.NodeProto, values: Mapping[str, TypedValue]) -> list[TypedValue]:
        """Return the results of a node if its operands are known: few elements, or values on inputs of the user."""
        taken = [values[name] for name in names_taken_by(node)]
        if is_operator(node, "Shape", "Size"):  # only the shape counts; numbers of another type would be examined
            taken = [TypedValue.of(np.broadcast_to(False, each.shape)) for each in taken]
            return self._enclosed(node, dict(zip(node.input, taken, strict=True)), is_given=False)
        is_given = any(value.is_given for value in taken)
        limit = MAX_GIVEN_ELEMENTS if is_given else MAX_KNOWN_ELEMENTS
        if any(each.array is None or each.size > limit or _is_long(each.array) for each in taken):
            return []
        return self._enclosed(node, values, is_given=is_given)

    def _enclosed(self, node: onnx.NodeProto, values: Mapping[str, TypedValue], *, is_given: bool) -> list[TypedValue]:
        """Return the results of a node by the reference; an empty list if it has none."""
        arrays: dict[str, Any] = {**{name: each.array for name, each in values.items()}, **self.maps}
        try:
            with quiet_evaluation():
                results = enclose(self.scope, node, arrays)
        except Unsupported:
            return []
        centres = []
        for each in results:
            if not isinstance(each, (Enclosure, np.ndarray)) or len(each.shape) > MAX_RANK:
                return []
            centres.append(each.value.astype(each.dtype) if isinstance(each, Enclosure) else each)
        if not is_given and sum(array.size for array in centres) > MAX_KNOWN_ELEMENTS:
            return [TypedValue(array.dtype, array.shape) for array in centres]
        return [TypedValue.of(array, is_given=is_given) for array in centres]

    def _control_flow(self, node: onnx.NodeProto, values: ChainMap[str, Typed], depth: int) -> Sequence[Typed | None]:
        """Walk the subgraphs of a node, and return its results.

        The states of a Loop have their shapes after its first step. A Loop whose number of steps is not known has
        `COUNT` steps.
        """
        graphs = dict(attribute_graphs(node))
        if node.op_type == "If":
            condition = values.get(node.input[0])
            known = condition.array if isinstance(condition, TypedValue) else None
            taken = ["then_branch", "else_branch"] if known is None else [f"{'then' if known.all() else 'else'}_branch"]
            outputs = [self.walk(graphs[name], values.new_child(), depth + 1) for name in taken]
            return [_common(each) for each in zip(*outputs, strict=False)]
        states: list[Typed | None] = []
        for body in graphs.values():
            given = [*_body_inputs(node, values)]
            inner = values.new_child()
            inner.update((each.name, value) for each, value in zip(body.input, given, strict=False) if value)
            states = self.walk(body, inner, depth + 1)
        if node.op_type == "SequenceMap":
            first = values.get(node.input[0])
            count = len(first.items) if isinstance(first, TypedSequence) else 0
            tensors = [each if isinstance(each, TypedValue) else None for each in states]
            return [TypedSequence((each,) * count) if each and count else None for each in tensors]
        if node.op_type == "Loop":
            return _loop_results(node, states[1:], values)
        return _scan_results(node, states, values) if self.scope.opsets.get("", 0) >= FIRST_SCAN_WITHOUT_BATCH else []


def _loop_results(
    node: onnx.NodeProto, made: Sequence[Typed | None], values: Mapping[str, Typed]
) -> list[Typed | None]:
    """Return the results of a Loop: its states, and the values of each step.

    Args:
        node: the node.
        made: the outputs of its body without the condition.
        values: the values outside by name.
    """
    trips = values.get(node.input[0])
    array = trips.array if isinstance(trips, TypedValue) else None
    steps = COUNT if array is None or array.size != 1 else int(array.item())
    count = len(node.input) - 2
    return [*made[:count], *(_stacked(each, steps, 0) for each in made[count:])]


def _scan_results(
    node: onnx.NodeProto, made: Sequence[Typed | None], values: Mapping[str, Typed]
) -> list[Typed | None]:
    """Return the results of a Scan: its states, and the values of each step. For the arguments see `_loop_results`."""
    attributes = attribute_values(node.attribute)
    count = attributes.get("num_scan_inputs", 0)
    first = values.get(node.input[-count]) if count else None
    axis = attributes.get("scan_input_axes", [0])[0]
    if not isinstance(first, TypedValue) or not -len(first.shape) <= axis < len(first.shape):
        return []
    states = len(node.input) - count
    axes = attributes.get("scan_output_axes", [0] * (len(made) - states))
    steps = first.shape[axis]
    return [*made[:states], *(_stacked(each, steps, place) for each, place in zip(made[states:], axes, strict=False))]


def _stacked(value: Typed | None, steps: int, axis: int) -> TypedValue | None:
    """Return the values of all steps as one value; None if that of a step is not known, or if its rank is the limit."""
    if not isinstance(value, TypedValue) or not 0 <= steps <= MAX_STACKED_STEPS or len(value.shape) == MAX_RANK:
        return None
    place = axis % (len(value.shape) + 1)
    return TypedValue(value.dtype, (*value.shape[:place], steps, *value.shape[place:]))


def _is_long(array: Array) -> bool:
    """Return whether texts are so long that no further text is computed of them: they can double with each node."""
    return is_text(array.dtype) and element_byte_count(array) > MAX_TEXT_BYTES


def _zeros_of(value: TypedValue) -> Array:
    """Return zeros, or empty texts, of the type and shape of a value."""
    return np.full(value.shape, "", object) if is_text(value.dtype) else np.zeros(value.shape, value.dtype)


def _common(values: Sequence[Typed | None]) -> Typed | None:
    """Return a value that may be each of some values; None if their types or shapes differ."""
    if len(values) == 1:
        return values[0]
    found = [each if isinstance(each, TypedValue) else None for each in values]
    first = found[0]
    if any(each is None or first is None or (each.dtype, each.shape) != (first.dtype, first.shape) for each in found):
        return None
    return None if first is None else TypedValue(first.dtype, first.shape)


def _body_inputs(node: onnx.NodeProto, values: Mapping[str, Typed]) -> Iterator[Typed | None]:
    """Yield the values of the inputs of the body of a Loop, a Scan or a SequenceMap, with any elements.

    A sequence has the length that it has before the first step.
    """
    given = [values.get(name) for name in node.input]
    if node.op_type == "SequenceMap":
        given = [each.items[0] if isinstance(each, TypedSequence) else each for each in given]
    plain = [TypedValue(each.dtype, each.shape) if isinstance(each, TypedValue) else each for each in given]
    if node.op_type == "SequenceMap":
        yield from plain
        return
    if node.op_type == "Loop":
        yield TypedValue(np.dtype(np.int64), ())
        yield TypedValue(np.dtype(bool), ())
        yield from plain[2:]
        return
    if node.op_type == "Scan":
        attributes = attribute_values(node.attribute)
        count = attributes.get("num_scan_inputs", 0)
        yield from plain[: len(plain) - count]
        axes = attributes.get("scan_input_axes", repeat(0))
        for each, axis in zip(plain[len(plain) - count :], axes, strict=False):
            if not isinstance(each, TypedValue) or not each.shape:
                yield None
                continue
            place = axis % len(each.shape)
            yield replace(each, shape=(*each.shape[:place], *each.shape[place + 1 :]))


COUNTED = ("Compress", "NonMaxSuppression", "NonZero", "Unique")
"""Operators whose numbers of results depend on values."""

COUNT = 2
"""The number of results of such a node for the nodes that take them."""


def infer(
    model: onnx.ModelProto, nodes: Sequence[onnx.NodeProto], values: Mapping[str, TypedValue]
) -> list[TypedValue | None]:
    """Return types and shapes of the results of nodes; None for a result whose shape is not known.

    Args:
        model: the model, whose imports count.
        nodes: the nodes, in their order.
        values: the values of their operands. Known elements count, because shapes may depend on them.
    """
    names = [name for node in nodes for name in node.output]
    part = onnx.ModelProto(ir_version=model.ir_version, opset_import=model.opset_import, functions=model.functions)
    part.graph.name = "part"
    part.graph.node.extend(nodes)
    for name in dict.fromkeys(name for node in nodes for name in names_taken_by(node) if name in values):
        value = values[name]
        part.graph.input.append(helper.make_tensor_value_info(name, type_number(type_name(value.dtype)), value.shape))
        if value.array is not None and value.size <= MAX_KNOWN_ELEMENTS and value.dtype.kind != "O":
            part.graph.initializer.append(tensor_of(value.array, name))
    part.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name)
    try:
        inferred = infer_shapes(part, strict_mode=True, data_prop=True)
    except Exception:  # noqa: BLE001 - onnx raises errors of several kinds
        return [None for _ in names]
    known = {value.name: value for value in (*inferred.graph.value_info, *inferred.graph.output)}
    counted = {name for node in nodes if is_operator(node, *COUNTED) for name in node.output}
    for name in counted & known.keys():
        for size in known[name].type.tensor_type.shape.dim:
            if not size.HasField("dim_value"):
                size.dim_value = COUNT
    return [_typed_value(known[name]) if name in known else None for name in names]


def _typed_value(value: onnx.ValueInfoProto) -> TypedValue | None:
    """Return the type and shape of a declaration; None if a size is open."""
    declared = DeclaredInput.of(value)
    shape = tuple(size for size in declared.shape or () if size is not None)
    if declared.dtype is None or declared.shape != shape:
        return None
    try:
        check_shape(shape)
    except ValueError:
        return None
    return TypedValue(declared.dtype, shape)


def sequence_variants(nodes: Iterable[onnx.NodeProto], values: Mapping[str, Typed]) -> Iterator[Mapping[str, Typed]]:
    """Yield the values of a model with sequences of other lengths before and after a SequenceMap.

    Args:
        nodes: the nodes of a case.
        values: the values of the model by name.
    """
    names = {name for node in nodes if is_operator(node, "SequenceMap") for name in (*node.input, *node.output)}
    known = {name: values[name] for name in names if name in values}
    sequences = {name: each for name, each in known.items() if isinstance(each, TypedSequence)}
    for length in SEQUENCE_LENGTHS if sequences else ():
        if all(len(each.items) != length for each in sequences.values()):
            yield ChainMap({name: each.of_length(length) for name, each in sequences.items()}, dict(values))
