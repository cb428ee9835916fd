"""Random small models with If, Loop, Scan and functions, whose scopes have equal names and capture values.

Every value is a float[2]. A graph takes each operand from the values that are visible at this place, and names its own
values from a small pool, so that names of one scope come again in others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

POOL = tuple("abcdefgh")
DEEPEST = 2
OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)]


def value(name: str, shape: Sequence[int] = (2,), type: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, type, list(shape))


def sparse(name: str, numbers: Sequence[float] = (0.5,)) -> onnx.SparseTensorProto:
    """Return a float[2] whose first element is set."""
    values = helper.make_tensor(name, TensorProto.FLOAT, [1], list(numbers))
    return helper.make_sparse_tensor(values, helper.make_tensor("", TensorProto.INT64, [1], [0]), [2])


@dataclass
class Scope:
    """A graph that is drawn: its nodes, and the values that are visible there."""

    random: Random
    visible: list[str]
    depth: int = 0
    functions: tuple[str, ...] = ()
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    own: list[str] = field(default_factory=list)

    def new(self) -> str:
        used = {*self.own, *self.visible}
        free = [name for name in POOL if name not in used] or [f"{POOL[0]}{len(used)}"]
        self.own.append(self.random.choice(free))
        return self.own[-1]

    def free(self, place: int) -> str:
        """Return a name that no visible value has."""
        used = {*self.own, *self.visible}
        return ([name for name in POOL if name not in used] + ["first", "second"])[place]

    def take(self) -> str:
        return self.random.choice(self.visible)

    def add(self, op_type: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: object) -> None:
        self.nodes.append(helper.make_node(op_type, inputs, outputs, **attributes))
        self.visible = [*(name for name in self.visible if name not in outputs), *outputs]

    def fill(self, count: int) -> None:
        for _ in range(count):
            kinds = ["unary", "unary", "binary", *(["call"] if self.functions else [])]
            if self.depth < DEEPEST:
                kinds += ["if", "loop", "scan"]
            kind = self.random.choice(kinds)
            if kind == "unary":
                self.add(self.random.choice(["Neg", "Abs", "Tanh"]), [self.take()], [self.new()])
            elif kind == "binary":
                self.add("Sub", [self.take(), self.take()], [self.new()])
            elif kind == "call":
                taken = [self.take(), self.take()]
                given = {"slope": self.random.choice([0.25, 3.0])} if self.random.random() < 0.5 else {}
                self.add(self.random.choice(self.functions), taken, [self.new()], domain="acme", **given)
            else:
                getattr(self, f"add_{kind}")()

    def body(self, inputs: Sequence[onnx.ValueInfoProto], results: int, *, is_loop: bool = False) -> onnx.GraphProto:
        """Return a subgraph that captures values of this graph."""
        names = [each.name for each in inputs if each.type.tensor_type.elem_type == TensorProto.FLOAT]
        inner = Scope(self.random, list(self.visible), self.depth + 1, self.functions)
        inner.own = [each.name for each in inputs]
        inner.visible = [*(name for name in inner.visible if name not in names), *names]
        constants, sparses = [], []
        if self.random.random() < 0.5:
            constant = inner.new()
            kept = self.random.choice([constants, sparses])
            tensor = numpy_helper.from_array(np.array([1.5, -0.5], np.float32), constant)
            kept.append(tensor if kept is constants else sparse(constant))
            inner.visible.append(constant)
        inner.fill(self.random.randint(1, 2))
        outputs = []
        for _ in range(results):
            outputs.append(inner.new())
            inner.add("Abs", [inner.take()], outputs[-1:])
        declared = [value(name) for name in outputs]
        if is_loop:
            inner.nodes.append(helper.make_node("Identity", [f"go{self.depth}"], [f"goes{inner.depth}"]))
            declared.insert(0, value(f"goes{inner.depth}", (), TensorProto.BOOL))
        graph = helper.make_graph(inner.nodes, "body", list(inputs), declared, constants)
        graph.sparse_initializer.extend(sparses)
        return graph

    def add_if(self) -> None:
        branches = {name: self.body([], 1) for name in ("then_branch", "else_branch")}
        self.add("If", [self.random.choice(["yes", "no"])], [self.new()], **branches)

    def add_loop(self) -> None:
        inputs = [
            value(f"i{self.depth}", (), TensorProto.INT64),
            value(f"go{self.depth}", (), TensorProto.BOOL),
            value(self.free(0)),
        ]
        body = self.body(inputs, 2, is_loop=True)
        state, rows = self.new(), f"rows{len(self.nodes)}_{self.depth}"
        self.nodes.append(helper.make_node("Loop", ["two", "yes", self.take()], [state, rows], body=body))
        self.visible = [*(name for name in self.visible if name != state), state]
        self.sum(rows)

    def add_scan(self) -> None:
        inputs = [value(self.free(0)), value(self.free(1))]
        body = self.body(inputs, 2)
        place = f"{len(self.nodes)}_{self.depth}"
        state, rows, stacked = self.new(), f"rows{place}", f"stacked{place}"
        taken = self.take()
        self.nodes.append(helper.make_node("Concat", [taken, self.take()], [f"{stacked}_flat"], axis=0))
        self.nodes.append(helper.make_node("Reshape", [f"{stacked}_flat", "square"], [stacked]))
        node = helper.make_node("Scan", [self.take(), stacked], [state, rows], body=body, num_scan_inputs=1)
        self.nodes.append(node)
        self.visible = [*(name for name in self.visible if name != state), state]
        self.sum(rows)

    def sum(self, rows: str) -> None:
        self.add("ReduceSum", [rows, "zero"], [self.new()], keepdims=0)


def _function(random: Random, name: str, functions: tuple[str, ...]) -> onnx.FunctionProto:
    """Return a function of x and y with an attribute `slope`, whose default is 0.5, and subgraphs."""
    scope = Scope(random, ["x", "y"], DEEPEST - 1, functions)
    constants = {"yes": True, "no": False, "two": np.int64(2), "zero": np.array([0]), "square": np.array([2, 2])}
    for constant, number in constants.items():
        tensor = numpy_helper.from_array(np.asarray(number), constant)
        scope.nodes.append(helper.make_node("Constant", [], [constant], value=tensor))
    scope.fill(1)
    scope.add("LeakyRelu", [scope.take()], ["r"])
    scope.nodes[-1].attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    scope.fill(1)
    scope.add("Sub", ["r", scope.take()], ["result"])
    function = helper.make_function("acme", name, ["x", "y"], ["result"], scope.nodes, OPSETS)
    function.attribute_proto.append(helper.make_attribute("slope", 0.5))
    return function


def nested_model(random: Random) -> onnx.ModelProto:
    """Return a model from X to all values that its main graph computes."""
    functions = [_function(random, "F", ()), _function(random, "G", ("F",))]
    scope = Scope(random, ["X"], functions=("F", "G"))
    scope.fill(random.randint(2, 4))
    outputs = [name for name in scope.own if any(name in node.output for node in scope.nodes)]
    constants = {"yes": True, "no": False, "two": np.int64(2), "zero": np.array([0]), "square": np.array([2, 2])}
    tensors = [numpy_helper.from_array(np.asarray(number), name) for name, number in constants.items()]
    graph = helper.make_graph(scope.nodes, "g", [value("X")], [value(name) for name in outputs], tensors)
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=9, functions=functions)
