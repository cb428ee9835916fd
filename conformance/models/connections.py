"""How the nodes of a graph are joined: which one makes each value and how often each is used, without a search."""

from __future__ import annotations

from bisect import bisect, insort
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from conformance.models.graphs import held_graphs

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, MutableSequence, Sequence

    import onnx


def uses_here(graph: onnx.GraphProto) -> Counter[str]:
    """How often a graph's own nodes take each value, and the graph itself gives it out."""
    taken = Counter(name for node in graph.node for name in node.input)
    taken.update(value.name for value in graph.output)
    return taken


def captures(graph: onnx.GraphProto) -> Counter[str]:
    """How often the graphs inside of a graph's nodes, at any depth, use each value of it."""
    counts: Counter[str] = Counter()
    for node in graph.node:
        for _, inner in held_graphs(node):
            counts.update(free_uses(inner))
    return counts


def free_uses(graph: onnx.GraphProto, *, deep: bool = True) -> Counter[str]:
    """How often an inner graph uses each value from outside of it; a value of its own with that name is another one.

    Args:
        deep: look into the graphs inside of it as well.
    """
    own = {value.name for value in (*graph.input, *graph.initializer)}
    own.update(tensor.values.name for tensor in graph.sparse_initializer)
    counts: Counter[str] = Counter()
    for node in graph.node:
        counts.update(name for name in node.input if name not in own)
        for _, inner in held_graphs(node) if deep else ():
            counts.update({name: count for name, count in free_uses(inner).items() if name not in own})
        own.update(node.output)
    counts.update(value.name for value in graph.output if value.name not in own)
    return counts


class Connections:
    """How the nodes of one graph are joined, kept true while the graph is changed by the methods here.

    To read a graph takes a step for each of its nodes and edges, and to remove a node a few steps, however many there
    are.
    """

    def __init__(self, graph: onnx.GraphProto) -> None:
        self.nodes: Sequence[onnx.NodeProto] = list(graph.node)
        self._places = {id(node): place for place, node in enumerate(self.nodes)}
        self._makers: dict[str, list[onnx.NodeProto]] = defaultdict(list)
        for node in self.nodes:
            for name in dict.fromkeys(node.output):
                self._makers[name].append(node)
        self._uses = uses_here(graph) + captures(graph)
        self._node_field = _Shrinking(graph.node, id)
        self._notes = (
            _Shrinking(graph.value_info, lambda value: value.name),
            _Shrinking(graph.quantization_annotation, lambda note: note.tensor_name),
        )

    def producer(self, name: str) -> onnx.NodeProto | None:
        """The first node that a value is an output of."""
        makers = self._makers.get(name) if name else None
        return makers[0] if makers else None

    def uses(self, name: str) -> int:
        """How often a value is used: by nodes, as output, in inner graphs."""
        return self._uses[name]

    def is_made_between(self, name: str, first: onnx.NodeProto, last: onnx.NodeProto) -> bool:
        """Whether a node after the first and before the last has an output of this name."""
        start, end = self._places[id(first)], self._places[id(last)]
        return any(start < self._places[id(maker)] < end for maker in self._makers.get(name, ()))

    def feed(self, node: onnx.NodeProto, name: str) -> None:
        """Give a node another first input."""
        self._uses[node.input[0]] -= 1
        self._uses[name] += 1
        node.input[0] = name

    def remove(self, node: onnx.NodeProto) -> None:
        """Take a node without graphs out of the graph."""
        self._uses.subtract(node.input)
        for name in dict.fromkeys(node.output):
            self._makers[name] = [maker for maker in self._makers[name] if maker is not node]
        self._node_field.take_out(id(node))

    def forget(self, name: str) -> None:
        """Take out what the graph says of a value: its type and its quantization."""
        for field in self._notes:
            field.take_out(name)


class _Shrinking:
    """A repeated field whose entries are taken out one by one, each found by the place that it had at first."""

    def __init__(self, entries: MutableSequence[Any], key: Callable[[Any], Hashable]) -> None:
        self._entries = entries
        self._places: dict[Hashable, list[int]] = defaultdict(list)
        for place, entry in enumerate(entries):
            self._places[key(entry)].append(place)
        self._gone: list[int] = []

    def take_out(self, key: Hashable) -> None:
        for place in self._places.pop(key, ()):
            del self._entries[place - bisect(self._gone, place)]
            insort(self._gone, place)
