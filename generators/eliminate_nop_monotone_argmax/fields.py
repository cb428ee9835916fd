"""Every field of a model is set, by the table of `conformance.passes.fields`: a case for each message and place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import AttributeProto, helper

from conformance.dimensions.blocks import constant, function
from conformance.dimensions.field_parts import (
    DEVICES,
    OVERLOADS,
    Parts,
    annotate,
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
from generators.eliminate_nop_monotone_argmax.scenario import (
    FIRES,
    SHAPE,
    ScenarioGraph,
    argmax,
    fires,
    index_of,
    pair,
    producer,
    scenario,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.corpus.case import Case, Rewrite

FAMILY = "fields"
IR_VERSION = 11
"""The first that has all of the fields."""
OPSETS = {"": 21, "acme": 1}
IN_WORDS = {Place.MAIN: "the main graph", Place.SUBGRAPH: "a subgraph", Place.FUNCTION: "a function's body"}
PARTS: Mapping[str, tuple[Callable[[Sequence[int]], Parts], Sequence[Place]]] = {
    "GraphProto": (graph_parts, EVERYWHERE[:2]),
    "NodeProto": (node_parts, EVERYWHERE),
    "ValueInfoProto": (value_parts, EVERYWHERE),
    "TensorProto": (tensor_parts, EVERYWHERE),
    "AttributeProto": (attribute_parts, EVERYWHERE),
}
"""Messages, with what makes the parts that have all of their fields, and the places that they stand in."""


def cases() -> Iterator[Case]:
    """The model and a function as wholes, and what stands in graphs and bodies, in each place."""
    yield _model()
    yield _function()
    for message, (parts, places) in PARTS.items():
        for place in places:
            yield _in_place(message, place, parts(SHAPE[1:] if place is Place.SUBGRAPH else SHAPE))


def _in_place(message: str, place: Place, parts: Parts) -> Case:
    graph, rewrite = {Place.MAIN: _in_main, Place.SUBGRAPH: _in_scan, Place.FUNCTION: _in_function}[place](parts)

    def touch(model: onnx.ModelProto) -> None:
        if place is Place.MAIN:
            _hold(model.graph, parts)
        if message == "NodeProto":
            model.configuration.add(name=DEVICES, num_devices=2)
        for at, entry in list(placed(model)):
            if at is place and GROUPS.get(name := type(entry).__name__, name) == message:
                say_all(entry)

    title = f"Every field of {message} in {IN_WORDS[place]} is after the pass what it was before"
    return _case(f"{snake(message)}_{place}", title, rewrite, graph, touch)


def _in_main(parts: Parts) -> tuple[ScenarioGraph, Rewrite]:
    nodes = [*pair(), *parts.nodes]
    return _graph(nodes, [index_of(SHAPE), parts.output], parts.functions), FIRES


def _in_scan(parts: Parts) -> tuple[ScenarioGraph, Rewrite]:
    """The body of a Scan over the rows of X, which has inputs as well as outputs."""
    nodes = [producer("Exp", axis=0), argmax(result="inner", axis=0), *parts.nodes]
    row, inner = declared_as("X", "float", SHAPE[1:]), declared_as("inner", "int64", [])
    body = helper.make_graph(nodes, "body", [row], [inner, parts.output])
    _hold(body, parts)
    scan = helper.make_node("Scan", ["rows"], ["index", "all"], num_scan_inputs=1, body=body)
    every = onnx.ValueInfoProto()
    every.CopyFrom(parts.output)
    every.name = "all"
    every.type.tensor_type.shape.dim.insert(0, onnx.TensorShapeProto.Dimension(dim_value=SHAPE[0]))
    rows = declared_as("rows", "float", SHAPE)
    graph = _graph([scan], [index_of(SHAPE), every], parts.functions, [rows])
    return graph, fires("index/body/Y")


def _in_function(parts: Parts) -> tuple[ScenarioGraph, Rewrite]:
    """The body of a function that is called beside the pair; one of its attributes goes on to a node of it."""
    constants = [helper.make_node("Constant", [], [tensor.name], value=tensor) for tensor in parts.initializers]
    handed_on = helper.make_node("Softmax", ["X"], ["handed_on"])
    handed_on.attribute.add(name="axis", ref_attr_name="along", type=AttributeProto.INT)
    body = function(
        "Body",
        [*constants, handed_on, *parts.nodes],
        ["X"],
        [parts.output.name, "handed_on"],
        attributes=["along"],
        opset=21,
    )
    body.opset_import.append(helper.make_opsetid("acme", 1))
    body.value_info.extend(parts.value_info)
    call = helper.make_node("Body", ["X"], [parts.output.name, "shares"], domain="acme", along=1)
    nodes, shares = [*pair(), call], declared_as("shares", "float", SHAPE)
    return _graph(nodes, [index_of(SHAPE), parts.output, shares], [*parts.functions, body]), FIRES


def _hold(graph: onnx.GraphProto, parts: Parts) -> None:
    graph.initializer.extend(parts.initializers)
    graph.sparse_initializer.extend(parts.sparse)
    graph.value_info.extend(parts.value_info)


def _model() -> Case:
    """All that a model says outside of its graph."""

    def touch(model: onnx.ModelProto) -> None:
        say_all(model)
        model.producer_name, model.producer_version = "a converter", "1.2.3+local"
        model.domain, model.model_version = "org.example.models", 2**40 + 1
        model.configuration.add(name=DEVICES, num_devices=2, device=["a", "b"])
        annotate(model.graph, "X")
        train(model)

    call = helper.make_node("Same", ["X"], ["Z"], domain="acme", overload="fast")
    graph = _graph([*pair(), call], [index_of(SHAPE), declared_as("Z", "float", SHAPE)], OVERLOADS)
    return _case("model", "Every field of ModelProto is after the pass what it was before", FIRES, graph, touch)


def _function() -> Case:
    """A function of attributes with and without defaults, which are not those of the operator."""
    nodes = [
        helper.make_node("LeakyRelu", ["A"], ["B0"]),
        constant("zero", np.array(0, dtype=np.float32)),
        helper.make_node("Add", ["B0", "zero"], ["B1"]),
        helper.make_node("ReduceMax", ["B1"], ["B"]),
    ]
    nodes[0].attribute.add(name="alpha", ref_attr_name="slope", type=AttributeProto.FLOAT)
    nodes[3].attribute.add(name="keepdims", ref_attr_name="kept", type=AttributeProto.INT)
    body = function("Largest", nodes, attributes=["kept"], overload="sloping", opset=21)
    body.attribute_proto.append(helper.make_attribute("slope", 0.5))
    body.value_info.append(declared_as("B1", "float", SHAPE))
    say_all(body)
    call = helper.make_node("Largest", ["N"], ["Z"], domain="acme", overload="sloping", kept=0)
    graph = _graph(
        [*pair(), helper.make_node("Neg", ["X"], ["N"]), call], [index_of(SHAPE), declared_as("Z", "float", [])], [body]
    )
    return _case("function", "Every field of FunctionProto is after the pass what it was before", FIRES, graph)


def _graph(
    nodes: Sequence[onnx.NodeProto],
    outputs: Sequence[onnx.ValueInfoProto],
    functions: Sequence[onnx.FunctionProto],
    inputs: Sequence[onnx.ValueInfoProto] = (),
) -> ScenarioGraph:
    return ScenarioGraph(
        nodes, inputs=inputs, outputs=outputs, opsets=OPSETS, functions=functions, ir_version=IR_VERSION
    )


def _case(
    name: str,
    title: str,
    rewrite: Rewrite,
    graph: ScenarioGraph,
    touch: Callable[[onnx.ModelProto], None] | None = None,
) -> Case:
    clauses = ("preservation", "exp")
    return scenario(FAMILY, name, title, clauses, rewrite, graph, touch=touch, check="preservation")
