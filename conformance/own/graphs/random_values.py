"""The values of a model that differ from run to run because an operator draws random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.exact.models.arrays import array_of
from conformance.exact.models.graphs import is_operator, iter_nodes, names_taken_by, subgraphs_of
from conformance.exact.models.input_files import constant_node_values

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    import onnx

RANDOM_OPERATORS = frozenset(
    ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
)
"""Operators whose pages state a distribution. A seed starts the generator, and the next run continues it."""


def random_values(graph: onnx.GraphProto) -> set[str]:
    """Return the names of the values of a main graph that depend on random numbers."""
    inferring = _false_constants(graph)
    found: set[str] = set()
    for node in graph.node:
        inner = (each for subgraph in subgraphs_of(node) for each in iter_nodes(subgraph))
        is_random = any(_draws(each, inferring) for each in (node, *inner))
        if is_random or not found.isdisjoint(names_taken_by(node)):
            found.update(name for name in node.output if name)
    return found


def _draws(node: onnx.NodeProto, inferring: AbstractSet[str]) -> bool:
    """Return whether a node draws random numbers; Dropout does so in training."""
    if is_operator(node, "Dropout"):
        return len(node.input) > 2 and bool(node.input[2]) and node.input[2] not in inferring
    return is_operator(node, *RANDOM_OPERATORS)


def _false_constants(graph: onnx.GraphProto) -> set[str]:
    """Return the names of the constants of one element that are false; Dropout with one as its mode infers."""
    modes = {each.input[2] for each in iter_nodes(graph) if is_operator(each, "Dropout") and len(each.input) > 2}
    given = {each.name: array_of(each) for each in graph.initializer if each.name in modes}
    values = {**given, **(constant_node_values(graph) if modes else {})}
    return {name for name in modes & values.keys() if not values[name].any()}
