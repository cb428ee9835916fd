"""Cases that set every field of the ONNX messages: one case for each message type and scope.

`conformance.passes.fields` lists the fields. The pass must keep all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import AttributeProto, helper

from conformance.factors.message_fields import (
    DEVICE_CONFIGURATION,
    OVERLOADED_FUNCTIONS,
    ExtraNodes,
    add_quantization_annotations,
    add_training_info,
    attribute_parts,
    constant_node,
    fill_annotations,
    graph_parts,
    make_function,
    node_parts,
    tensor_parts,
    value_parts,
)
from conformance.generation.models import make_value_info
from conformance.passes.fields import CASE_MESSAGES, IN_GRAPHS, MessageScope, iter_messages, snake_case
from generators.eliminate_nop_monotone_argmax.pass_scenario import (
    APPLIES,
    SHAPE,
    ScenarioGraph,
    applies_to,
    argmax,
    index_info,
    pair,
    producer,
    scenario,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.corpus.case import Case, Rewrite

FAMILY = "fields"
IR_VERSION = 11
"""First IR version that has all of the fields."""
OPSETS = {"": 21, "acme": 1}
SCOPE_PHRASES = {
    MessageScope.MAIN: "the main graph",
    MessageScope.SUBGRAPH: "a subgraph",
    MessageScope.FUNCTION: "a function's body",
}
PARTS_BY_MESSAGE: Mapping[str, tuple[Callable[[Sequence[int]], ExtraNodes], Sequence[MessageScope]]] = {
    "GraphProto": (graph_parts, IN_GRAPHS[:2]),
    "NodeProto": (node_parts, IN_GRAPHS),
    "ValueInfoProto": (value_parts, IN_GRAPHS),
    "TensorProto": (tensor_parts, IN_GRAPHS),
    "AttributeProto": (attribute_parts, IN_GRAPHS),
}
"""For each message type, the function that builds parts with all of its fields, and the scopes of the parts."""


def cases() -> Iterator[Case]:
    """Yield cases for the model, for a function, and for each message type in each scope."""
    yield _model()
    yield _function()
    for message, (parts, scopes) in PARTS_BY_MESSAGE.items():
        for scope in scopes:
            yield _scope_case(message, scope, parts(SHAPE[1:] if scope is MessageScope.SUBGRAPH else SHAPE))


def _scope_case(message: str, scope: MessageScope, parts: ExtraNodes) -> Case:
    graph, rewrite = {
        MessageScope.MAIN: _main_graph_parts,
        MessageScope.SUBGRAPH: _scan_parts,
        MessageScope.FUNCTION: _function_parts,
    }[scope](parts)

    def modify(model: onnx.ModelProto) -> None:
        if scope is MessageScope.MAIN:
            _add_parts(model.graph, parts)
        if message == "NodeProto":
            model.configuration.add(name=DEVICE_CONFIGURATION, num_devices=2)
        for entry_scope, entry in list(iter_messages(model)):
            if entry_scope is scope and CASE_MESSAGES.get(name := type(entry).__name__, name) == message:
                fill_annotations(entry)

    title = f"Every field of {message} in {SCOPE_PHRASES[scope]} is the same after the pass"
    return _case(f"{snake_case(message)}_{scope}", title, rewrite, graph, modify)


def _main_graph_parts(parts: ExtraNodes) -> tuple[ScenarioGraph, Rewrite]:
    nodes = [*pair(), *parts.nodes]
    return _graph(nodes, [index_info(SHAPE), parts.output], parts.functions), APPLIES


def _scan_parts(parts: ExtraNodes) -> tuple[ScenarioGraph, Rewrite]:
    """Return a graph with the extra nodes in the body of a Scan over the rows of X, and the effect of the pass."""
    nodes = [producer("Exp", axis=0), argmax(result="inner", axis=0), *parts.nodes]
    row, inner = make_value_info("X", "float", SHAPE[1:]), make_value_info("inner", "int64", [])
    body = helper.make_graph(nodes, "body", [row], [inner, parts.output])
    _add_parts(body, parts)
    scan = helper.make_node("Scan", ["rows"], ["index", "all"], num_scan_inputs=1, body=body)
    every = onnx.ValueInfoProto()
    every.CopyFrom(parts.output)
    every.name = "all"
    every.type.tensor_type.shape.dim.insert(0, onnx.TensorShapeProto.Dimension(dim_value=SHAPE[0]))
    rows = make_value_info("rows", "float", SHAPE)
    graph = _graph([scan], [index_info(SHAPE), every], parts.functions, [rows])
    return graph, applies_to("index/body/Y")


def _function_parts(parts: ExtraNodes) -> tuple[ScenarioGraph, Rewrite]:
    """Return a graph with the extra nodes in the body of a function, and the effect of the pass.

    A node of the body uses an attribute of the function.
    """
    constants = [helper.make_node("Constant", [], [tensor.name], value=tensor) for tensor in parts.initializers]
    handed_on = helper.make_node("Softmax", ["X"], ["handed_on"])
    handed_on.attribute.add(name="axis", ref_attr_name="along", type=AttributeProto.INT)
    body = make_function(
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
    nodes, shares = [*pair(), call], make_value_info("shares", "float", SHAPE)
    return _graph(nodes, [index_info(SHAPE), parts.output, shares], [*parts.functions, body]), APPLIES


def _add_parts(graph: onnx.GraphProto, parts: ExtraNodes) -> None:
    graph.initializer.extend(parts.initializers)
    graph.sparse_initializer.extend(parts.sparse)
    graph.value_info.extend(parts.value_info)


def _model() -> Case:
    """Define a case that sets all fields of the model outside of its graph."""

    def modify(model: onnx.ModelProto) -> None:
        fill_annotations(model)
        model.producer_name, model.producer_version = "a converter", "1.2.3+local"
        model.domain, model.model_version = "org.example.models", 2**40 + 1
        model.configuration.add(name=DEVICE_CONFIGURATION, num_devices=2, device=["a", "b"])
        add_quantization_annotations(model.graph, "X")
        add_training_info(model)

    call = helper.make_node("Same", ["X"], ["Z"], domain="acme", overload="fast")
    graph = _graph([*pair(), call], [index_info(SHAPE), make_value_info("Z", "float", SHAPE)], OVERLOADED_FUNCTIONS)
    return _case("model", "Every field of ModelProto is the same after the pass", APPLIES, graph, modify)


def _function() -> Case:
    """Define a case with a function that has attributes with and without defaults."""
    nodes = [
        helper.make_node("LeakyRelu", ["A"], ["B0"]),
        constant_node("zero", np.array(0, dtype=np.float32)),
        helper.make_node("Add", ["B0", "zero"], ["B1"]),
        helper.make_node("ReduceMax", ["B1"], ["B"]),
    ]
    nodes[0].attribute.add(name="alpha", ref_attr_name="slope", type=AttributeProto.FLOAT)
    nodes[3].attribute.add(name="keepdims", ref_attr_name="kept", type=AttributeProto.INT)
    body = make_function("Largest", nodes, attributes=["kept"], overload="sloping", opset=21)
    body.attribute_proto.append(helper.make_attribute("slope", 0.5))
    body.value_info.append(make_value_info("B1", "float", SHAPE))
    fill_annotations(body)
    call = helper.make_node("Largest", ["N"], ["Z"], domain="acme", overload="sloping", kept=0)
    graph = _graph(
        [*pair(), helper.make_node("Neg", ["X"], ["N"]), call],
        [index_info(SHAPE), make_value_info("Z", "float", [])],
        [body],
    )
    return _case("function", "Every field of FunctionProto is the same after the pass", APPLIES, graph)


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
    modify: Callable[[onnx.ModelProto], None] | None = None,
) -> Case:
    clauses = ("preservation", "exp")
    return scenario(FAMILY, name, title, clauses, rewrite, graph, modify=modify, check="preservation")
