"""Large models: many pairs of Exp and ArgMax, one long chain, functions that double in size."""

from __future__ import annotations

from itertools import pairwise

from onnx import ModelProto, TensorProto, helper

OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)]


def double_identity(shape):
    """Return a model with Identity of double."""
    X, Y = (helper.make_tensor_value_info(name, TensorProto.DOUBLE, shape) for name in "XY")
    graph = helper.make_graph([helper.make_node("Identity", ["X"], ["Y"])], "identity", [X], [Y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def _model(nodes, outputs, functions=()):
    X = helper.make_tensor_value_info("X", TensorProto.FLOAT, [4])
    indices = [helper.make_tensor_value_info(name, TensorProto.INT64, [1]) for name in outputs]
    graph = helper.make_graph(nodes, "g", [X], indices)
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=8, functions=functions)


def exp(source: str, target: str):
    return helper.make_node("Exp", [source], [target])


def argmax(source: str, target: str):
    return helper.make_node("ArgMax", [source], [target], axis=0)


def pairs(count: int) -> ModelProto:
    """Return a model with many ArgMax nodes, each after an Exp of its own."""
    names = [str(number) for number in range(count)]
    nodes = [node for name in names for node in (exp("X", f"E{name}"), argmax(f"E{name}", name))]
    model = _model(nodes, names)
    model.graph.value_info.extend(helper.make_tensor_value_info(f"E{name}", TensorProto.FLOAT, [4]) for name in names)
    return model


def chain(length: int) -> ModelProto:
    """Return a model with one ArgMax after a number of Sqrt."""
    names = ["X", *(f"S{number}" for number in range(length))]
    nodes = [helper.make_node("Sqrt", [before], [after]) for before, after in pairwise(names)]
    return _model([*nodes, argmax(names[-1], "index")], ["index"])


def doubling(count: int) -> ModelProto:
    """Return a model whose functions each call the previous function twice."""
    functions = [_twice("Sqrt", "", 0), *(_twice(f"f{number - 1}", "acme", number) for number in range(1, count))]
    call = helper.make_node(f"f{count - 1}", ["X"], ["Y"], domain="acme")
    sites = [exp("Y", "E"), argmax("E", "index")]
    return _model([call, *sites], ["index"], functions)


def recursive() -> ModelProto:
    """Return a model with two functions that call each other."""
    functions = [_twice("f1", "acme", 0), _twice("f0", "acme", 1)]
    return _model([helper.make_node("f0", ["X"], ["Y"], domain="acme"), argmax("Y", "index")], ["index"], functions)


def _twice(op_type, domain, number):
    nodes = [helper.make_node(op_type, [a], [b], domain=domain) for a, b in (("a", "b"), ("b", "c"))]
    return helper.make_function("acme", f"f{number}", ["a"], ["c"], nodes, OPSETS)
