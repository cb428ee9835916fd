"""Graphs in their places: the main one and those inside of nodes, and what each says of its values."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from conformance.models.connections import Connections, free_uses
from conformance.models.graphs import held_graphs
from conformance.models.signatures import MAIN_DOMAINS

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
        around: the scope that holds it; None for the main graph.
    """

    model: onnx.ModelProto
    graph: onnx.GraphProto
    path: str = ""
    around: Scope | None = field(default=None, repr=False)

    def inner(self) -> Iterator[Scope]:
        """The graphs that this one's nodes hold, directly."""
        for node in self.graph.node:
            for attribute, graph in held_graphs(node):
                yield Scope(self.model, graph, f"{self.path_of(node)}/{attribute}/", self)

    def walk(self) -> Iterator[Scope]:
        """The graph and all inside of it, each before those inside of it."""
        yield self
        for scope in self.inner():
            yield from scope.walk()

    def path_of(self, node: onnx.NodeProto) -> str:
        """The first value that a node of it makes, by path."""
        return f"{self.path}{node.output[0] if node.output else ''}"

    @cached_property
    def connections(self) -> Connections:
        """How its nodes are joined: as long as the graph changes through them alone."""
        return Connections(self.graph)

    def changed(self) -> None:
        """The graph was changed otherwise: its connections, and those of the graphs around it, are to be read anew."""
        self.__dict__.pop("connections", None)
        if self.around is not None:
            self.around.changed()

    @cached_property
    def overridden(self) -> frozenset[str]:
        """The names of ONNX's own operators that functions of the model stand in place of."""
        if self.around is not None:
            return self.around.overridden
        return frozenset(function.name for function in self.model.functions if function.domain in MAIN_DOMAINS)

    def producer(self, name: str) -> onnx.NodeProto | None:
        """The node of this very graph that a value is an output of."""
        return self.connections.producer(name)

    def uses(self, name: str) -> int:
        """How often a value of this graph is used: by nodes, as output, in inner graphs, by training information."""
        return self.connections.uses(name) + self.training_uses(name)

    def training_uses(self, name: str) -> int:
        """How often training information uses a value; its graphs are joined to the main one, so they see its values.

        Bindings count too: they name values of the joined graph.
        """
        return 0 if self.path else self._used_in_training[name]

    @cached_property
    def _used_in_training(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for info in self.model.training_info:
            counts += free_uses(info.initialization) + free_uses(info.algorithm)
            for binding in (*info.initialization_binding, *info.update_binding):
                counts.update({binding.key, binding.value})
        return counts
