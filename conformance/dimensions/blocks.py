"""Nodes that scenarios are made of besides the five operators: constants, subgraphs and what holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx import helper, numpy_helper

from conformance.generation.models import declared_as

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx

    from conformance.generation.models import Size
    from conformance.models.arrays import Array


def constant(name: str, array: Array) -> onnx.NodeProto:
    """A Constant that gives a value."""
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array))


def branch(
    name: str, nodes: Sequence[onnx.NodeProto], outputs: Sequence[str], shape: Sequence[Size], type: str = "bool"
) -> onnx.GraphProto:
    """A branch of If: a graph without inputs whose outputs are all of one type and shape."""
    return helper.make_graph(nodes, name, [], [declared_as(output, type, shape) for output in outputs])


def if_node(condition: str, result: str, then: onnx.GraphProto, otherwise: onnx.GraphProto) -> onnx.NodeProto:
    """An If with one output."""
    return helper.make_node("If", [condition], [result], then_branch=then, else_branch=otherwise)


def function(
    name: str,
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[str] = ("A",),
    outputs: Sequence[str] = ("B",),
    domain: str = "acme",
    attributes: Sequence[str] = (),
    opset: int = 13,
    **rest: Any,
) -> onnx.FunctionProto:
    """A function of the model's own."""
    return helper.make_function(
        domain, name, inputs, outputs, nodes, [helper.make_opsetid("", opset)], attributes, **rest
    )
