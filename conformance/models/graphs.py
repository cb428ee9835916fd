"""Walks the graphs of a model, whatever they are inside of, and finds its training optimizers."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from onnx import AttributeProto, TensorProto

if TYPE_CHECKING:
    from collections.abc import Iterator

    import onnx


def graphs_of(model: onnx.ModelProto) -> list[onnx.GraphProto]:
    """The graphs of a model that are in no other: the main one first, then those of training information."""
    return [model.graph, *(graph for info in model.training_info for graph in (info.initialization, info.algorithm))]


def nodes_of(graph: onnx.GraphProto | onnx.FunctionProto) -> Iterator[onnx.NodeProto]:
    """All nodes of a graph or function, those of inner graphs included."""
    for node in graph.node:
        yield node
        for inner in inner_graphs(node):
            yield from nodes_of(inner)


def held_graphs(node: onnx.NodeProto) -> Iterator[tuple[str, onnx.GraphProto]]:
    """The graphs that a node's attributes hold, with the attribute's name; of several in one, with their number."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH or attribute.HasField("g"):
            yield attribute.name, attribute.g
        for number, graph in enumerate(attribute.graphs):
            yield f"{attribute.name}[{number}]", graph


def inner_graphs(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    """The graphs that a node holds: the bodies of If, Loop and Scan."""
    return [graph for _, graph in held_graphs(node)]


def all_nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """All nodes of a model, those of its functions included."""
    return chain(*map(nodes_of, graphs_of(model)), *map(nodes_of, model.functions))


def has_external_data(model: onnx.ModelProto) -> bool:
    """Whether some tensor of a model is stored outside of it; where, is not looked at."""
    nodes = list(all_nodes(model))
    graphs = chain(graphs_of(model), *map(inner_graphs, nodes))
    constants = ((attribute.t, *attribute.tensors) for node in nodes for attribute in node.attribute)
    tensors = chain(*(graph.initializer for graph in graphs), *constants)
    return any(tensor.data_location == TensorProto.EXTERNAL for tensor in tensors)


def names_in(model: onnx.ModelProto) -> set[str]:
    """Every name of a value or node in a model's graphs."""
    names: set[str] = set()
    for graph in graphs_of(model):
        names |= _names_of(graph)
    return names


def _names_of(graph: onnx.GraphProto) -> set[str]:
    values = chain(graph.input, graph.output, graph.value_info, graph.initializer, graph.node)
    sparse = (tensor.values.name for tensor in graph.sparse_initializer)
    names = {*(value.name for value in values), *sparse}
    for node in graph.node:
        names.update(node.input, node.output, *map(_names_of, inner_graphs(node)))
    return names
