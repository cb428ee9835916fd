"""Joins two models into one: the graph of one stands after the other's, under names of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.models.graphs import held_graphs

if TYPE_CHECKING:
    import onnx

SHAPE = (2, 3)
"""Of what graphs that are joined to a draw's are given."""


def join(model: onnx.ModelProto, other: onnx.ModelProto, word: str) -> None:
    """Put the graph of a model after another's, with the word before each of its names."""
    prefix_names(other.graph, f"{word}_")
    for field in ("node", "input", "output", "initializer", "sparse_initializer", "value_info"):
        getattr(model.graph, field).extend(getattr(other.graph, field))
    model.functions.extend(other.functions)
    imported = {entry.domain for entry in model.opset_import}
    model.opset_import.extend(entry for entry in other.opset_import if entry.domain not in imported and entry.domain)


def prefix_names(graph: onnx.GraphProto, prefix: str) -> None:
    """Put a prefix before every name of a value in a graph and in those that its nodes hold."""
    for named in (*graph.input, *graph.output, *graph.initializer, *graph.value_info):
        named.name = prefix + named.name
    for sparse in graph.sparse_initializer:
        sparse.values.name = prefix + sparse.values.name
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [prefix + name if name else "" for name in names]
        for _, held in held_graphs(node):
            prefix_names(held, prefix)
