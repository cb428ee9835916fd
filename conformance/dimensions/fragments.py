"""What a context is built around and of: nodes with their operands and results, and parts of graphs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import onnx
from onnx import helper

from conformance.generation.models import declared
from conformance.models.arrays import tensor_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.models.arrays import Array


@dataclass(frozen=True)
class Fragment:
    """The nodes that a context is built around; they hold no graphs.

    Attributes:
        nodes: in topological order.
        operands: what they take, by name.
        results: what they give, by name, each an array of its type and shape whose elements mean nothing.
        opsets: version by domain of what they import.
        carried: of results the operand whose place they take in the next iteration of a loop.
        again: the same nodes with other attributes, for a second call.
    """

    nodes: tuple[onnx.NodeProto, ...]
    operands: Mapping[str, Array]
    results: Mapping[str, Array]
    opsets: Mapping[str, int]
    carried: Mapping[str, str] = field(default_factory=dict)
    again: tuple[onnx.NodeProto, ...] = ()

    def inside(self, names: Mapping[str, str]) -> list[onnx.NodeProto]:
        """The nodes with these names for others; what they give has names of its own, as a graph within one needs."""
        given = {name: f"{name}_inside" for node in self.nodes for name in node.output if name}
        return [renamed(node, {**given, **names}) for node in self.nodes]


@dataclass(frozen=True)
class Part:
    """Nodes with the constants that they bring along, for any graph to hold.

    Attributes:
        given: what leaves the graph, by name, each an array of its type and shape.
    """

    nodes: Sequence[onnx.NodeProto] = ()
    initializers: Sequence[onnx.TensorProto] = ()
    sparse: Sequence[onnx.SparseTensorProto] = ()
    given: Mapping[str, Array] = field(default_factory=dict)

    def graph(self, name: str, inputs: Mapping[str, Array] | None = None) -> onnx.GraphProto:
        """A graph of these nodes alone, with these inputs."""
        return helper.make_graph(
            list(self.nodes),
            name,
            [declared(*named) for named in (inputs or {}).items()],
            [declared(*named) for named in self.given.items()],
            list(self.initializers),
            sparse_initializer=list(self.sparse),
        )


def joined(parts: Iterable[Part]) -> Part:
    """One part after the other; all that any gives leaves the graph."""
    each = list(parts)
    return Part(
        [node for part in each for node in part.nodes],
        [tensor for part in each for tensor in part.initializers],
        [tensor for part in each for tensor in part.sparse],
        {name: array for part in each for name, array in part.given.items()},
    )


def renamed(node: onnx.NodeProto, names: Mapping[str, str]) -> onnx.NodeProto:
    """A node that holds no graph, with other names of what it takes and gives."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.input[:] = [names.get(name, name) for name in node.input]
    copy.output[:] = [names.get(name, name) for name in node.output]
    return copy


def constant(name: str, array: Array) -> onnx.NodeProto:
    """A node that gives an array."""
    return helper.make_node("Constant", [], [name], value=tensor_of(array, name))
