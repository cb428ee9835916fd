"""Says of a model all that its messages can say of themselves, where one that has every field is among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
from onnx import helper

from conformance.dimensions.blocks import function
from conformance.dimensions.field_parts import (
    DEVICES,
    OVERLOADS,
    Parts,
    attribute_parts,
    graph_parts,
    node_parts,
    say_all,
    tensor_parts,
    train,
    value_parts,
)
from conformance.generation.models import declared_as
from conformance.passes.fields import EVERYWHERE, GROUPS, Place, placed, snake
from conformance.search.joining import SHAPE, join

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ALL_FIELDS = {"ir_version": 11, "": 21}
"""The oldest versions that have every field of a message."""

PARTS: Mapping[str, tuple[Callable[[Sequence[int]], Parts], Sequence[Place]]] = {
    "GraphProto": (graph_parts, EVERYWHERE[:2]),
    "NodeProto": (node_parts, EVERYWHERE),
    "ValueInfoProto": (value_parts, EVERYWHERE),
    "TensorProto": (tensor_parts, EVERYWHERE),
    "AttributeProto": (attribute_parts, EVERYWHERE),
}
"""Messages, with what makes the parts that have all of their fields, and the places that they stand in."""


def _fields(message: str, place: Place) -> Callable[[onnx.ModelProto], None]:
    """Says all that such messages can say in a place, of one that has each field among them."""

    def touch(model: onnx.ModelProto) -> None:
        _raise_versions(model)
        parts = PARTS[message][0](SHAPE[1:] if place is Place.SUBGRAPH else SHAPE)
        made = {Place.MAIN: _in_main, Place.SUBGRAPH: _in_scan, Place.FUNCTION: _in_function}[place](parts)
        join(model, made, f"fields_{snake(message)}")
        if message == "NodeProto":
            model.configuration.add(name=DEVICES, num_devices=2)
        for at, entry in list(placed(model)):
            if at is place and GROUPS.get(name := type(entry).__name__, name) == message:
                say_all(entry)

    return touch


def _raise_versions(model: onnx.ModelProto) -> None:
    """Have versions in which every field may be said."""
    model.ir_version = ALL_FIELDS["ir_version"]
    for holder in (model, *model.functions):
        for entry in holder.opset_import:
            entry.version = ALL_FIELDS.get(entry.domain, entry.version)


def _model_of(graph: onnx.GraphProto, functions: Sequence[onnx.FunctionProto]) -> onnx.ModelProto:
    opsets = [helper.make_opsetid("", ALL_FIELDS[""]), helper.make_opsetid("acme", 1)]
    return helper.make_model(graph, functions=list(functions), opset_imports=opsets)


def _in_main(parts: Parts) -> onnx.ModelProto:
    graph = helper.make_graph(list(parts.nodes), "g", [declared_as("X", "float", SHAPE)], [parts.output])
    _hold(graph, parts)
    return _model_of(graph, parts.functions)


def _in_scan(parts: Parts) -> onnx.ModelProto:
    """The body of a Scan over the rows of X."""
    body = helper.make_graph(list(parts.nodes), "body", [declared_as("X", "float", SHAPE[1:])], [parts.output])
    _hold(body, parts)
    every = onnx.ValueInfoProto()
    every.CopyFrom(parts.output)
    every.name = "all"
    every.type.tensor_type.shape.dim.insert(0, onnx.TensorShapeProto.Dimension(dim_value=SHAPE[0]))
    scan = helper.make_node("Scan", ["X_rows"], ["all"], num_scan_inputs=1, body=body)
    return _model_of(helper.make_graph([scan], "g", [declared_as("X_rows", "float", SHAPE)], [every]), parts.functions)


def _in_function(parts: Parts) -> onnx.ModelProto:
    """The body of a function; one of its attributes goes on to a node of it."""
    constants = [helper.make_node("Constant", [], [tensor.name], value=tensor) for tensor in parts.initializers]
    handed_on = helper.make_node("Softmax", ["X"], ["handed_on"])
    handed_on.attribute.add(name="axis", ref_attr_name="along", type=onnx.AttributeProto.INT)
    nodes, results = [*constants, handed_on, *parts.nodes], [parts.output.name, "handed_on"]
    body = function("Body", nodes, ["X"], results, attributes=["along"], opset=ALL_FIELDS[""])
    body.opset_import.append(helper.make_opsetid("acme", 1))
    body.value_info.extend(parts.value_info)
    call = helper.make_node("Body", ["X"], [parts.output.name, "shares"], domain="acme", along=1)
    outputs = [parts.output, declared_as("shares", "float", SHAPE)]
    graph = helper.make_graph([call], "g", [declared_as("X", "float", SHAPE)], outputs)
    return _model_of(graph, [*parts.functions, body])


def _hold(graph: onnx.GraphProto, parts: Parts) -> None:
    graph.initializer.extend(parts.initializers)
    graph.sparse_initializer.extend(parts.sparse)
    graph.value_info.extend(parts.value_info)


def _said_of_the_model(model: onnx.ModelProto) -> None:
    _raise_versions(model)
    say_all(model)
    model.producer_name, model.producer_version = "a converter", "1.2.3+local"
    model.domain, model.model_version = "org.example.models", 2**40 + 1
    model.configuration.add(name=DEVICES, num_devices=2, device=["a", "b"])
    train(model)


def _said_of_a_function(model: onnx.ModelProto) -> None:
    _raise_versions(model)
    nodes = [
        helper.make_node("LeakyRelu", ["A"], ["B0"]),
        helper.make_node("Neg", ["B0"], ["B1"]),
        helper.make_node("ReduceMax", ["B1"], ["B"]),
    ]
    nodes[0].attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    nodes[2].attribute.add(name="keepdims", ref_attr_name="kept", type=onnx.AttributeProto.INT)
    body = function("Largest", nodes, attributes=["kept"], overload="sloping", opset=ALL_FIELDS[""])
    body.attribute_proto.append(helper.make_attribute("slope", 0.5))
    body.value_info.append(declared_as("B1", "float", SHAPE))
    say_all(body)
    call = helper.make_node("Largest", ["X"], ["Z"], domain="acme", overload="sloping", kept=0)
    graph = helper.make_graph([call], "g", [declared_as("X", "float", SHAPE)], [declared_as("Z", "float", [])])
    join(model, _model_of(graph, [*OVERLOADS, body]), "function")


FIELDS_SAID: Mapping[str, Callable[[onnx.ModelProto], None]] = {
    **{
        f"fields_{snake(message)}_{place}": _fields(message, place)
        for message, (_, places) in PARTS.items()
        for place in places
    },
    "fields_model": _said_of_the_model,
    "fields_function": _said_of_a_function,
}
"""What says them, by word."""
