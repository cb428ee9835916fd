"""Types, shapes and small known elements of the values of a model, without a run of the model.

Shape inference of onnx determines types and shapes, node by node. The reference computes values that have known
operands and few elements, because shapes depend on them. With inputs of the user, the reference computes all values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import repeat
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from conformance.base.errors import ModelError
from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import MAX_RANK, Array, check_shape, is_text, tensor_of, type_name, type_number
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
from conformance.exact.reference.oracle import quiet_evaluation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.own.graphs.reading import LoadedModel

MAX_GIVEN_ELEMENTS = 2**24
"""Largest number of elements of an operand whose values follow from inputs of the user."""

MAX_KNOWN_ELEMENTS = 2**10
"""Maximum number of elements of a value that is computed because shapes may depend on it."""

MAX_DEPTH = 20
"""Maximum depth of nested subgraphs."""


@dataclass(frozen=True)
class TypedValue:
    """A value of a model.

    Attributes:
        dtype: its element type.
        shape: its shape.
        array: its elements; None if they are not known.
        is_constant: whether it is an initializer or a Constant.
        is_given: whether its elements depend on inputs of the user.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    array: Array | None = None
    is_constant: bool = False
    is_given: bool = False

    @classmethod
    def of(cls, array: Array, **properties: bool) -> TypedValue:
        """Return a value whose elements are known."""
        return cls(array.dtype, array.shape, array, **properties)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)


@dataclass(frozen=True)
class TypedGraph:
    """A graph with the values that its nodes can take.

    Attributes:
        graph: the main graph or a subgraph.
        values: the values of the graph and of the graphs around it, by name.
    """

    graph: onnx.GraphProto
    values: Mapping[str, TypedValue]


def typed_graphs(
    model: LoadedModel, inputs: Sequence[TypedValue], progress: Callable[[str], None] = lambda _: None
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
    values = {name: TypedValue.of(array, is_constant=True) for name, array in arrays.items()}
    values |= {value.name: given for value, given in zip(required_inputs(graph), inputs, strict=True)}
    found: list[TypedGraph] = []
    _Walk(NodeScope.of(model.prepared), found, progress).walk(graph, values, 0)
    return found


@dataclass(frozen=True)
class _Walk:
    """The walk over the graphs of a model, which adds each to `found`."""

    scope: NodeScope
    found: list[TypedGraph]
    progress: Callable[[str], None]

    def walk(self, graph: onnx.GraphProto, values: dict[str, TypedValue], depth: int) -> list[TypedValue | None]:
        """Add the values of a graph's nodes to `values`, and return the graph's outputs; None for an unknown one."""
        self.found.append(TypedGraph(graph, values))
        for number, node in enumerate(graph.node):
            if depth == 0 and number % 50 == 0:
                self.progress(f"shapes of {number} of {len(graph.node)} nodes")
            results = self._results(node, values, depth)
            values.update((name, each) for name, each in zip(node.output, results, strict=False) if name and each)
        return [values.get(value.name) for value in graph.output]

    def _results(self, node: onnx.NodeProto, values: Mapping[str, TypedValue], depth: int) -> list[TypedValue | None]:
        if is_operator(node, "Constant"):
            constants = self._enclosed(node, values, is_given=True)
            return [replace(each, is_constant=True, is_given=False) for each in constants]
        if subgraphs_of(node):
            return self._control_flow(node, values, depth) if depth < MAX_DEPTH else []
        taken = [values.get(name) for name in names_taken_by(node)]
        if any(value is None for value in taken):
            return []
        found: list[TypedValue | None] = [*self._computed(node, values)] or infer(self.scope.model, [node], values)
        if node.domain in MAIN_DOMAINS or all(found):
            return found
        zeros = {name: TypedValue.of(_zeros_of(values[name])) for name in names_taken_by(node)}
        results = self._enclosed(node, zeros, is_given=True)  # onnx infers no shapes for some operators of ai.onnx.ml
        return [TypedValue(each.dtype, each.shape) for each in results]

    def _computed(self, node: onnx.NodeProto, values: Mapping[str, TypedValue]) -> list[TypedValue]:
        """Return the results of a node if its operands are known: few elements, or values on inputs of the user."""
        taken = [values[name] for name in names_taken_by(node)]
        if is_operator(node, "Shape", "Size"):  # only the shape counts
            taken = [TypedValue.of(np.broadcast_to(np.zeros((), each.dtype), each.shape)) for each in taken]
            return self._enclosed(node, dict(zip(node.input, taken, strict=True)), is_given=False)
        is_given = any(value.is_given for value in taken)
        limit = MAX_GIVEN_ELEMENTS if is_given else MAX_KNOWN_ELEMENTS
        if any(each.array is None or each.size > limit or is_text(each.dtype) for each in taken):
            return []  # texts can double with each node
        return self._enclosed(node, values, is_given=is_given)

    def _enclosed(self, node: onnx.NodeProto, values: Mapping[str, TypedValue], *, is_given: bool) -> list[TypedValue]:
        """Return the results of a node by the reference; an empty list if it has none."""
        arrays: dict[str, Any] = {name: values[name].array for name in names_taken_by(node)}
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

    def _control_flow(
        self, node: onnx.NodeProto, values: Mapping[str, TypedValue], depth: int
    ) -> list[TypedValue | None]:
        """Walk the subgraphs of a node, and return its results.

        A Loop keeps the shapes of its states. Results of a Scan are not known.
        """
        graphs = dict(attribute_graphs(node))
        if node.op_type == "If":
            condition = values.get(node.input[0])
            known = condition.array if condition is not None else None
            taken = ["then_branch", "else_branch"] if known is None else [f"{'then' if known.all() else 'else'}_branch"]
            outputs = [self.walk(graphs[name], dict(values), depth + 1) for name in taken]
            return [_common(each) for each in zip(*outputs, strict=False)]
        states: list[TypedValue | None] = []
        for body in graphs.values():
            given = [*_body_inputs(node, values)]
            inner = dict(values)
            inner.update((each.name, value) for each, value in zip(body.input, given, strict=False) if value)
            states = self.walk(body, inner, depth + 1)
        return states[1 : len(node.input) - 1] if node.op_type == "Loop" else []


def _zeros_of(value: TypedValue) -> Array:
    """Return zeros, or empty texts, of the type and shape of a value."""
    return np.full(value.shape, "", object) if is_text(value.dtype) else np.zeros(value.shape, value.dtype)


def _common(values: Sequence[TypedValue | None]) -> TypedValue | None:
    """Return a value that may be each of some values; None if their types or shapes differ."""
    first = values[0]
    if any(each is None or first is None or (each.dtype, each.shape) != (first.dtype, first.shape) for each in values):
        return None
    return first if len(values) == 1 or first is None else TypedValue(first.dtype, first.shape)


def _body_inputs(node: onnx.NodeProto, values: Mapping[str, TypedValue]) -> Iterator[TypedValue | None]:
    """Yield the values of the inputs of the body of a Loop or a Scan, with any elements."""
    given = [values.get(name) for name in node.input]
    plain = [None if each is None else TypedValue(each.dtype, each.shape, is_given=each.is_given) for each in given]
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
            if each is None or not each.shape:
                yield None
                continue
            place = axis % len(each.shape)
            yield replace(each, shape=(*each.shape[:place], *each.shape[place + 1 :]))


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
    part = onnx.ModelProto(ir_version=model.ir_version, opset_import=model.opset_import)
    part.graph.name = "part"
    part.graph.node.extend(nodes)
    for name in dict.fromkeys(name for node in nodes for name in node.input if name in values):
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
