"""If, Loop and Scan around nodes that capture what they need, in any order and to any depth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from onnx import helper

from conformance.dimensions.blocks import constant, if_node
from conformance.generation.models import declared_as

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx

    from conformance.models.arrays import Array

Kind = Literal["If", "Loop", "Scan"]
ATTRIBUTE = {"If": "then_branch", "Loop": "body", "Scan": "body"}
"""Where each has the graph that is looked at."""

TICK = np.zeros((1,), dtype=np.float32)


def driven() -> list[onnx.NodeProto]:
    """What makes the containers of the main graph and of graphs in it go: each runs its graph once."""
    return [
        constant("turns", np.array(1, dtype=np.int64)),
        constant("yes", np.array(True)),
        constant("ticks", TICK),
    ]


@dataclass(frozen=True)
class Contained:
    """Nodes of a graph and the value that they give.

    Attributes:
        type: the value's, by its ONNX name in lower case.
        path: what comes before the names of the nodes that are innermost, as in `Rewrite`.
    """

    nodes: Sequence[onnx.NodeProto]
    output: str
    shape: Sequence[int]
    type: str = "int64"
    path: str = ""

    def within(self, kind: Kind, number: int = 1, other: Sequence[onnx.NodeProto] = ()) -> Contained:
        """The same in a container, which gives it with a dimension more, but for If.

        Args:
            number: tells the names in it from those of other containers.
            other: what the other branch of an If has, whose last node gives the output; a constant by default.
        """
        result, path = f"{self.output}_{number}", f"{self.output}_{number}/{ATTRIBUTE[kind]}/{self.path}"
        shown = declared_as(self.output, self.type, self.shape)
        if kind == "If":
            filling: Array = np.zeros(
                self.shape, dtype={"int64": np.int64, "bool": np.bool_, "float": np.float32}[self.type]
            )
            nodes = [*(other or [constant(f"{result}_else", filling)])]
            then = helper.make_graph(self.nodes, f"then_{number}", [], [shown])
            otherwise = declared_as(nodes[-1].output[0], self.type, self.shape)
            graph = helper.make_graph(nodes, f"else_{number}", [], [otherwise])
            return Contained([if_node("yes", result, then, graph)], result, self.shape, self.type, path)
        if kind == "Loop":
            node = self._loop(number, shown, result)
        else:
            tick = declared_as(f"tick_{number}", "float", [])
            body = helper.make_graph(self.nodes, f"body_{number}", [tick], [shown])
            node = helper.make_node("Scan", ["ticks"], [result], num_scan_inputs=1, body=body)
        return Contained([node], result, [1, *self.shape], self.type, path)

    def _loop(self, number: int, shown: onnx.ValueInfoProto, result: str) -> onnx.NodeProto:
        inputs = [declared_as(f"turn_{number}", "int64", []), declared_as(f"more_{number}", "bool", [])]
        on = helper.make_node("Identity", [f"more_{number}"], [f"on_{number}"])
        outputs = [declared_as(f"on_{number}", "bool", []), shown]
        body = helper.make_graph([on, *self.nodes], f"body_{number}", inputs, outputs)
        return helper.make_node("Loop", ["turns", "yes"], [result], body=body)


def contained(inner: Contained, kinds: Sequence[Kind]) -> Contained:
    """Nodes in containers, the outermost first."""
    for number, kind in enumerate(reversed(kinds), 1):
        inner = inner.within(kind, number)
    return inner
