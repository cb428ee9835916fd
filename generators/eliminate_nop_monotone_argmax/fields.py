"""Cases that set every field of the ONNX messages: one case for each message type and scope.

`conformance.corpus.factors.message_fields` lists the fields. The pass must keep all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper

from conformance.corpus.factors.message_fields import (
    OVERLOADED_FUNCTIONS,
    PARTS_BY_MESSAGE,
    ExtraNodes,
    MessageScope,
    add_quantization_annotations,
    add_training_info,
    constant_node,
    fill_messages,
    fill_model,
    filled_function,
    snake_case,
)
from conformance.exact.models.model_building import make_value_info
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
    from collections.abc import Callable, Iterator, Sequence

    from conformance.corpus.cases.case import Case, Rewrite

FAMILY = "fields"
IR_VERSION = 11
"""First IR version that has all of the fields."""
OPSETS = {"": 21, "acme": 1}
SCOPE_PHRASES = {
    MessageScope.MAIN: "the main graph",
    MessageScope.SUBGRAPH: "a subgraph",
    MessageScope.FUNCTION: "a function's body",
}


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
            parts.add_tensors_to(model.graph)
        fill_messages(model, message, scope)

    title = f"Every field of {message} in {SCOPE_PHRASES[scope]} is the same after the pass"
    return _case(f"{snake_case(message)}_{scope}", title, rewrite, graph, modify)


def _main_graph_parts(parts: ExtraNodes) -> tuple[ScenarioGraph, Rewrite]:
    nodes = [*pair(), *parts.nodes]
    return _graph(nodes, [index_info(SHAPE), parts.output], parts.functions), APPLIES


def _scan_parts(parts: ExtraNodes) -> tuple[ScenarioGraph, Rewrite]:
    """Return a graph with the extra nodes in the body of a Scan over the rows of X, and the effect of the pass."""
    nodes = [producer("Exp", axis=0), argmax(result="inner", axis=0), *parts.nodes]
    row = make_value_info("X", "float", SHAPE[1:])
    inner = make_value_info("inner", "int64", [])
    body = helper.make_graph(nodes, "body", [row], [inner, parts.output])
    parts.add_tensors_to(body)
    scan = helper.make_node("Scan", ["rows"], ["index", "all"], num_scan_inputs=1, body=body)
    rows = make_value_info("rows", "float", SHAPE)
    graph = _graph([scan], [index_info(SHAPE), parts.stacked_output(SHAPE[0])], parts.functions, [rows])
    return graph, applies_to("index/body/Y")


def _function_parts(parts: ExtraNodes) -> tuple[ScenarioGraph, Rewrite]:
    """Return a graph with the extra nodes in the body of a function, and the effect of the pass."""
    call, body = parts.as_function()
    nodes = [*pair(), call]
    shares = make_value_info("shares", "float", SHAPE)
    return _graph(nodes, [index_info(SHAPE), parts.output, shares], [*parts.functions, body]), APPLIES


def _model() -> Case:
    """Define a case that sets all fields of the model outside of its graph."""

    def modify(model: onnx.ModelProto) -> None:
        fill_model(model)
        add_quantization_annotations(model.graph, "X")
        add_training_info(model)

    call = helper.make_node("Same", ["X"], ["Z"], domain="acme", overload="fast")
    graph = _graph([*pair(), call], [index_info(SHAPE), make_value_info("Z", "float", SHAPE)], OVERLOADED_FUNCTIONS)
    return _case("model", "Every field of ModelProto is the same after the pass", APPLIES, graph, modify)


def _function() -> Case:
    """Define a case with a function that has attributes with and without defaults."""
    zero = constant_node("zero", np.array(0, dtype=np.float32))
    body = filled_function([zero, helper.make_node("Add", ["B0", "zero"], ["B1"])], SHAPE)
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
