"""Walks a graph made of the suite's operators in any number system, from the serialised model alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import numpy_helper

from conformance.reference.adagrad import adagrad
from conformance.reference.adam import adam
from conformance.reference.argmax import argmax
from conformance.reference.momentum import momentum
from conformance.reference.nodes import (
    Evaluation,
    Node,
    Unsupported,
    attribute_values,
    given_attributes,
    optimizer_attributes,
    resolved,
)
from conformance.reference.primitives import PRIMITIVES
from conformance.reference.signatures import ARGMAX_DEFAULTS, OPTIMIZERS, TRAINING, softmax_default_axis
from conformance.reference.softmax import coerced, log_softmax, softmax
from conformance.reference.systems import NumberSystem, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from conformance.arrays import Array

__all__ = ["FORMULAS", "Evaluation", "Graph", "Node", "Unsupported", "Value"]

FORMULAS: Mapping[str, Callable[..., Any]] = {"Adam": adam, "Momentum": momentum, "Adagrad": adagrad}
MAIN_DOMAINS = {"", "ai.onnx"}


@dataclass(frozen=True)
class Graph:
    """A graph, or a function's body, ready to be walked.

    Attributes:
        inputs: names of the inputs that a run must feed.
        outputs: names of the outputs, in order.
        nodes: in the model's order, which ONNX requires to be topological.
        initializers: constants by name.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[tuple[Node, Evaluation], ...]
    initializers: Mapping[str, Array] = field(default_factory=dict)

    @classmethod
    def of(cls, model: onnx.ModelProto) -> Graph:
        """Read a model.

        Raises:
            Unsupported: it is made of other operators, or of initializers stored outside of it.
        """
        graph = model.graph
        if any(tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in graph.initializer):
            raise Unsupported("an initializer is stored outside of the model")
        initializers = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
        functions = {(function.domain, function.name): function for function in model.functions}
        return cls(
            inputs=tuple(value.name for value in graph.input if value.name not in initializers),
            outputs=tuple(value.name for value in graph.output),
            nodes=_Scope.of(model.opset_import, functions).read(graph.node),
            initializers=initializers,
        )

    def run(self, inputs: Sequence[Array], system: NumberSystem) -> list[Value]:
        """The outputs for these inputs.

        Raises:
            Unsupported: the inputs are not those of the graph.
        """
        return self.walk([system.entering(array) for array in inputs], system)

    def walk(self, inputs: Sequence[Value], system: NumberSystem) -> list[Value]:
        """The outputs for inputs that are numbers of the system.

        Raises:
            Unsupported: the inputs are not those of the graph.
        """
        if len(inputs) != len(self.inputs):
            raise Unsupported(f"the graph has {len(self.inputs)} inputs, not {len(inputs)}")
        values = {name: system.entering(array) for name, array in self.initializers.items()}
        values.update(zip(self.inputs, inputs, strict=True))
        for node, evaluation in self.nodes:
            results = evaluation(node, [values[name] for name in node.inputs], system)
            values.update(zip(node.outputs, results, strict=False))
        return [values[name] for name in self.outputs]


@dataclass(frozen=True)
class _Scope:
    """Where nodes stand: the opsets and the functions that their operators are of, and the attributes of the call."""

    opsets: Mapping[str, int]
    functions: Mapping[tuple[str, str], onnx.FunctionProto]
    attributes: Mapping[str, onnx.AttributeProto] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        imports: Iterable[onnx.OperatorSetIdProto],
        functions: Mapping[tuple[str, str], onnx.FunctionProto],
        attributes: Mapping[str, onnx.AttributeProto] | None = None,
    ) -> _Scope:
        return cls({opset.domain: opset.version for opset in imports}, functions, attributes or {})

    def read(self, nodes: Iterable[onnx.NodeProto]) -> tuple[tuple[Node, Evaluation], ...]:
        return tuple(self._read(node) for node in nodes)

    def _read(self, proto: onnx.NodeProto) -> tuple[Node, Evaluation]:
        attributes = list(resolved(proto.attribute, self.attributes))
        values = attribute_values(attributes)
        opset = self.opsets.get(proto.domain, self.opsets.get("ai.onnx", 0))
        function = self.functions.get((proto.domain, proto.op_type))
        evaluation: Evaluation | None = None
        if proto.domain == TRAINING and proto.op_type in OPTIMIZERS:
            evaluation, values = _optimizer, optimizer_attributes(proto.op_type, values)
        elif proto.domain in MAIN_DOMAINS:
            evaluation = _EVALUATIONS.get(proto.op_type)
        if function is not None:
            evaluation = _overridden(evaluation, self._body(function, attributes))
        if evaluation is None:
            raise Unsupported(f"there is no operator {proto.domain or 'ai.onnx'}.{proto.op_type} in this reference")
        return Node(proto.op_type, tuple(proto.input), tuple(proto.output), values, opset), evaluation

    def _body(self, function: onnx.FunctionProto, call: Iterable[onnx.AttributeProto]) -> Graph:
        """A function's body for one call; no function may call itself, so it is not among those its body can call."""
        others = {key: other for key, other in self.functions.items() if other is not function}
        inside = _Scope.of(function.opset_import, others, given_attributes(function, call))
        return Graph(tuple(function.input), tuple(function.output), inside.read(function.node))


def _overridden(operator: Evaluation | None, body: Graph) -> Evaluation:
    """A model-local function; where it bears an operator's name, its body or the operator.

    Which of the two has priority is left to each runtime (onnx.proto, ModelProto.functions): one that has the operator
    may run it, one that has not runs the body. Both are right if they agree, so both are evaluated, the answer
    encloses both, and no `must` case may rest on a model in which they contradict each other.
    """

    def evaluation(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
        results = body.walk(inputs, system)
        if operator is None:
            return results
        return [system.either(*pair) for pair in zip(results, operator(node, inputs, system), strict=True)]

    return evaluation


def _optimizer(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """Operands come grouped (all X, all G, …), and so do results; the formula runs on one tensor at a time."""
    R, T, *operands = inputs
    groups = len(OPTIMIZERS[node.op_type].operands)
    count, rest = divmod(len(operands), groups)
    if rest:
        raise Unsupported(f"{node.op_type} takes R, T and {groups} operands per tensor, not {len(inputs)} inputs")
    formula = FORMULAS[node.op_type]
    by_tensor = [system.optimizer(formula, R, T, operands[i::count], node.attributes) for i in range(count)]
    return [results[place] for place in range(len(OPTIMIZERS[node.op_type].results)) for results in by_tensor]


def _elementwise(formula: Callable[[Array], Array], _: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    return [system.elementwise(formula, inputs[0])]


def _softmax(formula: Callable[..., Array], node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    axis = node.attributes.get("axis", softmax_default_axis(node.opset))
    if node.opset >= 13:
        return [system.elementwise(partial(formula, axis=axis), inputs[0])]
    return [system.elementwise(lambda X: formula(coerced(X, axis), axis=1).reshape(X.shape), inputs[0])]


def _argmax(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    attributes = {**ARGMAX_DEFAULTS, **node.attributes}
    X, axis = inputs[0], attributes["axis"]
    if not X.elements.ndim or not X.elements.shape[axis]:
        raise Unsupported("ArgMax over an axis without elements has no answer")
    largest = system.largest(X, axis)
    index = argmax(largest, **attributes)
    choices = _choices(largest & system.uncertain(X), largest, index, axis, keepdims=bool(attributes["keepdims"]))
    return [Value(index, index.dtype, choices)]


def _choices(uncertain: Array, largest: Array, index: Array, axis: int, *, keepdims: bool) -> Array | None:
    """Which indices are acceptable, where rounding decides; what is certain, ties included, leaves one index."""
    if not uncertain.any():
        return None
    choices, doubtful = np.moveaxis(largest, axis, -1), np.moveaxis(uncertain, axis, -1).any(axis=-1, keepdims=True)
    if keepdims:
        axis %= largest.ndim
        choices, doubtful = np.expand_dims(choices, axis), np.expand_dims(doubtful, axis)
    return np.where(doubtful, choices, index[..., np.newaxis] == np.arange(largest.shape[axis]))


def _concat(node: Node, inputs: list[Value], _: NumberSystem) -> list[Value]:
    axis = node.attributes["axis"]
    elements = np.concatenate([value.elements for value in inputs], axis=axis)
    return [Value(elements, inputs[0].dtype, _joined_choices(inputs, axis))]


def _joined_choices(inputs: list[Value], axis: int) -> Array | None:
    """Choices side by side, each over as many indices as the widest has; what has no choice has its own index only."""
    if all(value.choices is None for value in inputs):
        return None
    widest = 1 + max(value.elements.max(initial=0) for value in inputs)
    widest = max([widest, *(value.choices.shape[-1] for value in inputs if value.choices is not None)])
    parts = []
    for value in inputs:
        own = value.elements[..., np.newaxis] == np.arange(widest)
        if value.choices is not None:
            own[..., :] = False
            own[..., : value.choices.shape[-1]] = value.choices
        parts.append(own)
    return np.concatenate(parts, axis=axis % inputs[0].elements.ndim)


_EVALUATIONS: Mapping[str, Evaluation] = {
    **PRIMITIVES,
    "ArgMax": _argmax,
    "Concat": _concat,
    "Exp": partial(_elementwise, np.exp),
    "Log": partial(_elementwise, np.log),
    "Softmax": partial(_softmax, softmax),
    "LogSoftmax": partial(_softmax, log_softmax),
}
