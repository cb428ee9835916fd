"""Random valid models around ArgMax, as a hypothesis strategy: small, so that what is found can be read.

Operators of the pass and others in chains, values with several uses, results without a use, values that are graph
outputs, two ArgMax on one value, missing and negative axes, opsets on both sides of 13, and If nodes up to two deep
whose branches capture what is outside.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import onnx
from hypothesis import strategies as st
from onnx import TensorProto, helper

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Drawn: TypeAlias = tuple[list[onnx.NodeProto], list["Value"]]

FIVE = ("Log", "Exp", "Sqrt", "Softmax", "LogSoftmax")
UNARY = ("Log", "Exp", "Sqrt", "Relu", "Neg", "Abs", "Identity", "Tanh")
ALONG_AXIS = ("Softmax", "LogSoftmax", "Hardmax")
OPSETS = (11, 12, 13, 17, 20)
TYPES = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16)
MOST_NODES = 6
DEEPEST = 2


@dataclass(frozen=True)
class Value:
    """A value of a graph."""

    name: str
    type: int
    shape: tuple[int, ...]

    @property
    def info(self) -> onnx.ValueInfoProto:
        """Its declaration."""
        return helper.make_tensor_value_info(self.name, self.type, self.shape)


@dataclass
class Drawing:
    """A model being drawn.

    Attributes:
        draw: hypothesis' own.
        names: how many values have been named.
    """

    draw: Callable
    opset: int
    data: Value
    names: int = 0
    taken: Value = field(default_factory=lambda: Value("taken", TensorProto.BOOL, ()))

    def fresh(self, type: int, shape: tuple[int, ...]) -> Value:
        """A value with a name of its own."""
        self.names += 1
        return Value(f"v{self.names}", type, shape)

    def axis(self) -> int | None:
        """An axis of the data, or None to leave it out."""
        rank = len(self.data.shape)
        return self.draw(st.one_of(st.sampled_from([rank - 1, 0, -1]), st.none(), st.integers(-rank, rank - 1)))

    def body(self, outside: list[Value], depth: int, most: int) -> tuple[list[onnx.NodeProto], list[Value]]:
        """Some nodes, and the values that they make."""
        nodes: list[onnx.NodeProto] = []
        made: list[Value] = []
        kinds = [self.chain, self.unary, self.argmax, self.along_axis] + [self.branches] * (depth < DEEPEST)
        for _ in range(self.draw(st.integers(1, most))):
            more, values = self.draw(st.sampled_from(kinds))([*outside, *made], depth)
            nodes += more
            made += values
        return nodes, made

    def chain(self, seen: list[Value], _: int) -> Drawn:
        """Up to three operators, mostly of the pass, and an ArgMax, mostly along one axis."""
        nodes, values, axis = [], [self.source(seen)], self.draw(st.integers(-1, len(self.data.shape) - 1))
        for op_type in self.draw(st.lists(st.sampled_from(FIVE * 2 + ("Relu", "Neg")), min_size=1, max_size=3)):
            along = {"axis": self.draw(st.sampled_from([axis, axis, 0, -1]))} if op_type in ALONG_AXIS else {}
            result = self.fresh(self.data.type, self.data.shape)
            nodes.append(helper.make_node(op_type, [values[-1].name], [result.name], **along))
            values.append(result)
        result = self.fresh(TensorProto.INT64, self.reduced(axis, 1))
        nodes.append(helper.make_node("ArgMax", [values[-1].name], [result.name], axis=axis))
        return nodes, [*values[1:], result]

    def reduced(self, axis: int, keepdims: int) -> tuple[int, ...]:
        """The shape of indices along an axis."""
        shape = list(self.data.shape)
        shape[axis : axis + 1 or None] = [1] if keepdims else []
        return tuple(shape)

    def source(self, seen: list[Value]) -> Value:
        """A value of the data's type and shape; a late one more often, so that chains come about."""
        fitting = [value for value in seen if (value.type, value.shape) == (self.data.type, self.data.shape)]
        return self.draw(st.sampled_from([fitting[-1], *reversed(fitting)]))

    def unary(self, seen: list[Value], _: int) -> Drawn:
        """An elementwise operator."""
        result = self.fresh(self.data.type, self.data.shape)
        node = helper.make_node(self.draw(st.sampled_from(UNARY)), [self.source(seen).name], [result.name])
        return [node], [result]

    def along_axis(self, seen: list[Value], _: int) -> Drawn:
        """An operator with an axis."""
        result, axis = self.fresh(self.data.type, self.data.shape), self.axis()
        op_type = self.draw(st.sampled_from(ALONG_AXIS))
        if self.opset < 13 and len(self.data.shape) == 1:
            axis = axis or 0  # the default, 1, is no axis of a vector
        attributes = {} if axis is None else {"axis": axis}
        return [helper.make_node(op_type, [self.source(seen).name], [result.name], **attributes)], [result]

    def argmax(self, seen: list[Value], _: int) -> Drawn:
        """An ArgMax, or now and then an ArgMin."""
        source, axis = self.source(seen), self.axis()
        keepdims = self.draw(st.sampled_from([None, 0, 1]))
        attributes = {"axis": axis, "keepdims": keepdims}
        if self.opset >= 12:
            attributes["select_last_index"] = self.draw(st.sampled_from([None, 0, 1]))
        result = self.fresh(TensorProto.INT64, self.reduced(axis or 0, 1 if keepdims is None else keepdims))
        op_type = self.draw(st.sampled_from(["ArgMax", "ArgMax", "ArgMax", "ArgMin"]))
        given = {name: value for name, value in attributes.items() if value is not None}
        return [helper.make_node(op_type, [source.name], [result.name], **given)], [result]

    def branches(self, seen: list[Value], depth: int) -> Drawn:
        """An If with a result of the data's type and shape."""
        graphs = {}
        for branch in ("then_branch", "else_branch"):
            nodes, made = self.body(seen, depth + 1, 3)
            last = self.fresh(self.data.type, self.data.shape)
            nodes.append(helper.make_node("Neg", [self.source([*seen, *made]).name], [last.name]))
            graphs[branch] = helper.make_graph(nodes, f"{branch}_{last.name}", [], [last.info])
        result = self.fresh(self.data.type, self.data.shape)
        return [helper.make_node("If", [self.taken.name], [result.name], **graphs)], [result]


@st.composite
def models(draw: Callable) -> onnx.ModelProto:
    """A valid model from X and a flag to some of the values that it makes."""
    shape = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=4)))
    drawing = Drawing(draw, draw(st.sampled_from(OPSETS)), Value("X", draw(st.sampled_from(TYPES)), shape))
    nodes, made = drawing.body([drawing.data], 0, MOST_NODES)
    outputs = draw(st.lists(st.sampled_from(made), min_size=1, max_size=3, unique=True))
    inputs = [drawing.data.info, drawing.taken.info]
    graph = helper.make_graph(nodes, "random", inputs, [value.info for value in outputs])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", drawing.opset)], ir_version=8)
