"""Where a value is used: in its own graph, as an output, in graphs inside of nodes, and by training information."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnx import AttributeProto

if TYPE_CHECKING:
    from collections.abc import Iterator

    import onnx


@dataclass(frozen=True)
class Scope:
    """A graph in its place.

    Attributes:
        model: what it is in.
        graph: the main graph or one inside of a node.
        path: what comes before the names of its values: empty in the main graph, else ending in a slash.
    """

    model: onnx.ModelProto
    graph: onnx.GraphProto
    path: str = ""

    def inner(self) -> Iterator[Scope]:
        """The graphs that this one's nodes hold, directly."""
        for node in self.graph.node:
            for attribute, graph in held_graphs(node):
                first = node.output[0] if node.output else ""
                yield Scope(self.model, graph, f"{self.path}{first}/{attribute}/")

    def walk(self) -> Iterator[Scope]:
        """The graph and all inside of it, each before those inside of it."""
        yield self
        for scope in self.inner():
            yield from scope.walk()

    def producer(self, name: str) -> onnx.NodeProto | None:
        """The node of this very graph that a value is an output of."""
        return next((node for node in self.graph.node if name and name in node.output), None)

    def uses(self, name: str) -> int:
        """How often a value of this graph is used: by nodes, as output, in inner graphs, by training information."""
        return uses_here(self.graph, name) + captures(self.graph, name) + self.training_uses(name)

    def training_uses(self, name: str) -> int:
        """How often training information uses a value; its graphs are joined to the main one, so they see its values.

        Bindings count too: they name values of the joined graph.
        """
        if self.path:
            return 0
        count = 0
        for info in self.model.training_info:
            count += free_uses(info.initialization, name) + free_uses(info.algorithm, name)
            bindings = (*info.initialization_binding, *info.update_binding)
            count += sum(name in {binding.key, binding.value} for binding in bindings)
        return count


def held_graphs(node: onnx.NodeProto) -> Iterator[tuple[str, onnx.GraphProto]]:
    """The graphs that a node's attributes hold, with the attribute's name; of several in one, with their number."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH or attribute.HasField("g"):
            yield attribute.name, attribute.g
        for number, graph in enumerate(attribute.graphs):
            yield f"{attribute.name}[{number}]", graph


def uses_here(graph: onnx.GraphProto, name: str) -> int:
    """How often a graph's own nodes take a value, and the graph itself gives it out."""
    taken = sum(list(node.input).count(name) for node in graph.node)
    return taken + [value.name for value in graph.output].count(name)


def captures(graph: onnx.GraphProto, name: str) -> int:
    """How often the graphs inside of a graph's nodes, at any depth, use a value of it."""
    return sum(free_uses(inner, name) for node in graph.node for _, inner in held_graphs(node))


def free_uses(graph: onnx.GraphProto, name: str, *, deep: bool = True) -> int:
    """How often an inner graph uses a value from outside of it; a value of its own with that name is another one.

    Args:
        deep: look into the graphs inside of it as well.
    """
    own = {value.name for value in (*graph.input, *graph.initializer)}
    own.update(tensor.values.name for tensor in graph.sparse_initializer)
    count = 0
    for node in graph.node:
        if name in own:
            return count
        count += list(node.input).count(name)
        count += sum(free_uses(inner, name) for _, inner in held_graphs(node)) if deep else 0
        own.update(node.output)
    outputs = [value.name for value in graph.output] if name not in own else []
    return count + outputs.count(name)
