"""Walks a graph made of the suite's operators in any number system, from the serialised model alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import onnx
from onnx import helper, numpy_helper

from conformance.reference.adagrad import adagrad
from conformance.reference.adam import adam
from conformance.reference.argmax import argmax
from conformance.reference.momentum import momentum
from conformance.reference.signatures import ARGMAX_DEFAULTS, OPTIMIZERS, TRAINING, softmax_default_axis
from conformance.reference.softmax import coerced, log_softmax, softmax
from conformance.reference.systems import NumberSystem, Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.arrays import Array

FORMULAS: Mapping[str, Callable[..., Any]] = {"Adam": adam, "Momentum": momentum, "Adagrad": adagrad}
MAIN_DOMAINS = {"", "ai.onnx"}


class Unsupported(Exception):
    """The model has an operator, attribute or shape that is outside of this reference."""


@dataclass(frozen=True)
class Node:
    """A node as its operator's evaluation sees it: attributes resolved, the opset of its domain known."""

    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    opset: int


Evaluation: TypeAlias = Callable[[Node, list[Value], NumberSystem], list[Value]]


@dataclass(frozen=True)
class Graph:
    """A graph ready to be walked.

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
        opsets = {opset.domain: opset.version for opset in model.opset_import}
        graph = model.graph
        if any(tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in graph.initializer):
            raise Unsupported("an initializer is stored outside of the model")
        initializers = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
        return cls(
            inputs=tuple(value.name for value in graph.input if value.name not in initializers),
            outputs=tuple(value.name for value in graph.output),
            nodes=tuple(_read_node(node, opsets) for node in graph.node),
            initializers=initializers,
        )

    def run(self, inputs: Sequence[Array], system: NumberSystem) -> list[Value]:
        """The outputs for these inputs.

        Raises:
            Unsupported: the inputs are not those of the graph.
        """
        if len(inputs) != len(self.inputs):
            raise Unsupported(f"the graph has {len(self.inputs)} inputs, not {len(inputs)}")
        feeds = {**self.initializers, **dict(zip(self.inputs, inputs, strict=True))}
        values = {name: system.entering(array) for name, array in feeds.items()}
        for node, evaluation in self.nodes:
            results = evaluation(node, [values[name] for name in node.inputs], system)
            values.update(zip(node.outputs, results, strict=False))
        return [values[name] for name in self.outputs]


def _read_node(proto: onnx.NodeProto, opsets: Mapping[str, int]) -> tuple[Node, Evaluation]:
    attributes = {attribute.name: _attribute(attribute) for attribute in proto.attribute}
    evaluation: Evaluation
    if proto.domain == TRAINING and proto.op_type in OPTIMIZERS:
        evaluation, attributes = _optimizer, _optimizer_attributes(proto.op_type, attributes)
    elif proto.domain in MAIN_DOMAINS and proto.op_type in _EVALUATIONS:
        evaluation = _EVALUATIONS[proto.op_type]
    else:
        raise Unsupported(f"there is no operator {proto.domain or 'ai.onnx'}.{proto.op_type} in this reference")
    opset = opsets.get(proto.domain, opsets.get("ai.onnx", 0))
    return Node(proto.op_type, tuple(proto.input), tuple(proto.output), attributes, opset), evaluation


def _attribute(proto: onnx.AttributeProto) -> Any:
    value = helper.get_attribute_value(proto)
    return value.decode() if isinstance(value, bytes) else value


def _optimizer_attributes(op_type: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes with the schema's defaults, floats as the float32 values that the model holds."""
    signature = OPTIMIZERS[op_type]
    missing = [name for name in signature.required if name not in given]
    unknown = [name for name in given if name not in {*signature.required, *signature.defaults}]
    if missing or unknown:
        raise Unsupported(f"{op_type} lacks {missing} or does not know {unknown}")
    values = {**{name: float(np.float32(value)) for name, value in signature.defaults.items()}, **given}
    return {name: values[name] for name in (*signature.required, *signature.defaults)}


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
    "ArgMax": _argmax,
    "Concat": _concat,
    "Exp": partial(_elementwise, np.exp),
    "Log": partial(_elementwise, np.log),
    "Sqrt": partial(_elementwise, np.sqrt),
    "Relu": partial(_elementwise, lambda X: np.where(X > 0, X, 0)),
    "Softmax": partial(_softmax, softmax),
    "LogSoftmax": partial(_softmax, log_softmax),
}
