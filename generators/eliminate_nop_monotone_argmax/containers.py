"""Helpers that put nodes into *containers*: the operators If, Loop and Scan, nested in any order and to any depth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from onnx import helper

from conformance.corpus.factors.message_fields import constant_node, if_node
from conformance.exact.models.model_building import make_value_info

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx

    from conformance.exact.models.arrays import Array

ContainerType = Literal["If", "Loop", "Scan"]
BODY_ATTRIBUTES = {"If": "then_branch", "Loop": "body", "Scan": "body"}
"""Attribute with the relevant subgraph, by operator."""

TICK = np.zeros((1,), dtype=np.float32)
"""Input of Scan that makes it run its body once."""


def container_inputs() -> list[onnx.NodeProto]:
    """Return nodes that compute the inputs of all containers: condition, trip count and Scan input.

    With these inputs, each body runs once.
    """
    return [
        constant_node("turns", np.array(1, dtype=np.int64)),
        constant_node("yes", np.array(True)),
        constant_node("ticks", TICK),
    ]


@dataclass(frozen=True)
class ContainedNodes:
    """Nodes, possibly nested in containers, and the value that they compute.

    Attributes:
        nodes: nodes in topological order.
        output: name of the value.
        shape: shape of the value.
        type: lower-case ONNX name of the value's element type.
        path: prefix of the paths of values in the innermost container, as in `Rewrite`.
    """

    nodes: Sequence[onnx.NodeProto]
    output: str
    shape: Sequence[int]
    type: str = "int64"
    path: str = ""

    def put_into(self, kind: ContainerType, number: int = 1, other: Sequence[onnx.NodeProto] = ()) -> ContainedNodes:
        """Nest the nodes in a container. Loop and Scan add a dimension to the value.

        Args:
            kind: operator of the container.
            number: suffix that makes the names in the container unique.
            other: nodes of the else_branch of an If. The last node computes its output. Default: a constant.
        """
        result = f"{self.output}_{number}"
        path = f"{self.output}_{number}/{BODY_ATTRIBUTES[kind]}/{self.path}"
        shown = make_value_info(self.output, self.type, self.shape)
        if kind == "If":
            filling: Array = np.zeros(
                self.shape, dtype={"int64": np.int64, "bool": np.bool_, "float": np.float32}[self.type]
            )
            nodes = [*(other or [constant_node(f"{result}_else", filling)])]
            then = helper.make_graph(self.nodes, f"then_{number}", [], [shown])
            otherwise = make_value_info(nodes[-1].output[0], self.type, self.shape)
            graph = helper.make_graph(nodes, f"else_{number}", [], [otherwise])
            return ContainedNodes([if_node("yes", result, then, graph)], result, self.shape, self.type, path)
        if kind == "Loop":
            node = self._loop(number, shown, result)
        else:
            tick = make_value_info(f"tick_{number}", "float", [])
            body = helper.make_graph(self.nodes, f"body_{number}", [tick], [shown])
            node = helper.make_node("Scan", ["ticks"], [result], num_scan_inputs=1, body=body)
        return ContainedNodes([node], result, [1, *self.shape], self.type, path)

    def _loop(self, number: int, shown: onnx.ValueInfoProto, result: str) -> onnx.NodeProto:
        inputs = [make_value_info(f"turn_{number}", "int64", []), make_value_info(f"more_{number}", "bool", [])]
        on = helper.make_node("Identity", [f"more_{number}"], [f"on_{number}"])
        outputs = [make_value_info(f"on_{number}", "bool", []), shown]
        body = helper.make_graph([on, *self.nodes], f"body_{number}", inputs, outputs)
        return helper.make_node("Loop", ["turns", "yes"], [result], body=body)


def nest_in_containers(inner: ContainedNodes, kinds: Sequence[ContainerType]) -> ContainedNodes:
    """Nest nodes in several containers. `kinds` lists the outermost container first."""
    for number, kind in enumerate(reversed(kinds), 1):
        inner = inner.put_into(kind, number)
    return inner
