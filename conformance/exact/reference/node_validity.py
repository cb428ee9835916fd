"""Validation of a model against the schemas and the pages of the tested operators.

The `reference` backend validates every model before it runs the model. The oracle does not validate models.
Types and shapes are checked only if the model declares them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto

from conformance.base.verdicts import Unsupported
from conformance.exact.models.graphs import (
    ARGMAX_DEFAULTS,
    called_name,
    constant_names,
    function_name,
    is_operator,
    normal_domain,
)
from conformance.exact.reference.nodes import attribute_values
from conformance.exact.reference.operators.training_optimizers import (
    TRAINING_DOMAINS,
    TRAINING_OPTIMIZERS,
    TrainingOptimizer,
    find_training_optimizer,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


FLOAT_TYPES = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE})
COUNT_TYPES = frozenset({TensorProto.INT64})

MONOTONE_ATTRIBUTES: Mapping[str, Sequence[str]] = {
    "Log": (),
    "Exp": (),
    "Sqrt": (),
    "Softmax": ("axis",),
    "LogSoftmax": ("axis",),
}
"""The monotone operators before an ArgMax, each with its attributes."""

ELEMENTWISE_FUNCTIONS = frozenset(name for name, attributes in MONOTONE_ATTRIBUTES.items() if not attributes)

OPSET_WITHOUT_CONSUMED_INPUTS = 6
"""The first opset in which Log, Exp and Sqrt have no attribute `consumed_inputs`."""

NON_NUMERIC_TYPES = frozenset({TensorProto.BOOL, TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.COMPLEX128})


class InvalidModelError(ValueError):
    """A model violates the schema or the page of an operator, or its nodes are not connected correctly."""


@dataclass(frozen=True)
class DeclaredType:
    """The type and shape that a model declares for a tensor.

    Attributes:
        type: the element type, a number of `TensorProto.DataType`.
        shape: the shape; None if a dimension is unknown.
    """

    type: int
    shape: tuple[int, ...] | None


@dataclass(frozen=True)
class NodeContext:
    """A node with the declarations that apply to it.

    Attributes:
        node: the node.
        opsets: the version of each imported domain; the main domain has the empty name.
        tensors: the declared type of each graph input and initializer.
    """

    node: onnx.NodeProto
    opsets: Mapping[str, int]
    tensors: Mapping[str, DeclaredType]

    def error(self, problem: str) -> InvalidModelError:
        return InvalidModelError(f"{self.node.op_type} {problem}")


def check_model(model: onnx.ModelProto) -> None:
    """Check the connections in the main graph, and every node that is not a call of a model-local function.

    Raises:
        InvalidModelError: the attributes, operands, results, types or shapes of a node violate its schema or page.
        Unsupported: the training domain has no such version or no such operator.
    """
    if problem := wiring_error(model):
        raise InvalidModelError(problem)
    opsets = {normal_domain(opset.domain): opset.version for opset in model.opset_import}
    tensors = _declared_types(model.graph)
    functions = set(map(function_name, model.functions))
    for node in model.graph.node:
        context = NodeContext(node, opsets, tensors)
        if called_name(node) in functions:
            continue
        if node.domain in TRAINING_DOMAINS:
            _check_optimizer(context)
        elif is_operator(node, "ArgMax"):
            _check_argmax(context)
        elif is_operator(node, *MONOTONE_ATTRIBUTES):
            _check_attributes(context, _monotone_attributes(context))
            _check_arity(context)


def _declared_types(graph: onnx.GraphProto) -> dict[str, DeclaredType]:
    tensors = {
        value.name: DeclaredType(value.type.tensor_type.elem_type, _shape(value.type.tensor_type))
        for value in graph.input
    }
    constants = {tensor.name: DeclaredType(tensor.data_type, tuple(tensor.dims)) for tensor in graph.initializer}
    return {**tensors, **constants}


def _shape(type: onnx.TypeProto.Tensor) -> tuple[int, ...] | None:
    if not type.HasField("shape") or not all(dim.HasField("dim_value") for dim in type.shape.dim):
        return None
    return tuple(dim.dim_value for dim in type.shape.dim)


def _check_optimizer(context: NodeContext) -> None:
    domain = context.node.domain
    version = context.opsets.get(context.node.domain)
    if version is None:
        raise context.error(f"is an operator of the domain {domain}, which the model does not import")
    if all(version != optimizer.version for optimizer in TRAINING_OPTIMIZERS.values() if optimizer.domain == domain):
        raise Unsupported(f"{domain} has no version {version}")
    signature = find_training_optimizer(domain, context.node.op_type)
    if signature is None:
        raise Unsupported(f"{domain} has no operator {context.node.op_type}")
    types = dict.fromkeys([*signature.defaults, *signature.required], AttributeProto.FLOAT)
    _check_attributes(
        context, types | dict.fromkeys(signature.allowed_values, AttributeProto.STRING), signature.required
    )
    _check_text_attributes(context, signature)
    _check_operands(context, signature, _check_tensor_count(context, signature))


def _check_text_attributes(context: NodeContext, signature: TrainingOptimizer) -> None:
    given = attribute_values(context.node.attribute)
    for name, choices in signature.allowed_values.items():
        if name in given and given[name] not in choices:
            raise context.error(f"requires the {name} {' or '.join(choices)}, not {given[name]!r}")


def _check_attributes(context: NodeContext, types: Mapping[str, int], required: Sequence[str] = ()) -> None:
    given = {attribute.name: attribute for attribute in context.node.attribute}
    if missing := [name for name in required if name not in given]:
        raise context.error(f"requires the attribute {missing[0]}")
    for name, attribute in given.items():
        if name not in types:
            raise context.error(f"has no attribute {name}")
        if attribute.type != types[name]:
            wanted, found = (AttributeProto.AttributeType.Name(type) for type in (types[name], attribute.type))
            raise context.error(f"requires {name} of type {wanted}, not {found}")


def _check_tensor_count(context: NodeContext, signature: TrainingOptimizer) -> int:
    """Return how many tensors a training optimizer's node optimizes, after a check of its input and output counts."""
    groups = len(signature.operands)
    results = len(signature.results)
    inputs = context.node.input
    outputs = context.node.output
    count, rest = divmod(len(inputs) - 2, groups)
    if count < 1 or rest or not all(inputs):
        raise context.error(f"takes R, T and {groups} operands for every tensor, not {len(inputs)} inputs")
    if not 1 <= len(outputs) <= results * count:  # the schema allows leaving out the last outputs
        raise context.error(f"has {results * count} outputs for {len(inputs)} inputs, not {len(outputs)}")
    return count


def _check_operands(context: NodeContext, signature: TrainingOptimizer, count: int) -> None:
    R, T, *operands = context.node.input
    for name, operand, types in (("R", R, FLOAT_TYPES), ("T", T, COUNT_TYPES)):
        _check_type(context, name, operand, types)
        shape = _shape_of(context, operand)
        if shape is not None and np.prod(shape) != 1:
            raise context.error(f"takes a scalar as {name}, not a tensor of shape {list(shape)}")
    for number in range(count):
        shapes = []
        for name, operand in zip(signature.operands, operands[number::count], strict=True):
            _check_type(context, name, operand, FLOAT_TYPES)
            shapes.append(_shape_of(context, operand))
        _check_shapes(context, signature.operands, shapes)


def _check_type(context: NodeContext, name: str, operand: str, types: frozenset[int]) -> None:
    if operand in context.tensors and context.tensors[operand].type not in types:
        admitted = " or ".join(sorted(_type_name(type) for type in types))
        raise context.error(f"takes {name} of type {admitted}, not {_type_name(context.tensors[operand].type)}")


def _type_name(type: int) -> str:
    return str(TensorProto.DataType.Name(type)).lower()


def _shape_of(context: NodeContext, name: str) -> tuple[int, ...] | None:
    return context.tensors[name].shape if name in context.tensors else None


def _check_shapes(context: NodeContext, names: Sequence[str], shapes: Sequence[tuple[int, ...] | None]) -> None:
    """Raise InvalidModelError unless each operand (X, G, state) has the shape of its tensor or broadcasts to it."""
    X = shapes[0]
    for name, shape in zip(names, shapes, strict=True):
        if X is not None and shape is not None and not _can_broadcast(shape, X):
            raise context.error(f"has {name} of shape {list(shape)}, which does not fit X of shape {list(X)}")


def _can_broadcast(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


def _check_argmax(context: NodeContext) -> None:
    node = context.node
    opset = context.opsets.get(normal_domain(context.node.domain), 0)
    known = [name for name in ARGMAX_DEFAULTS if opset >= 12 or name != "select_last_index"]
    _check_attributes(context, dict.fromkeys(known, AttributeProto.INT))
    _check_arity(context)
    data = context.tensors.get(node.input[0])
    if data is None:
        return
    if data.type in NON_NUMERIC_TYPES:
        raise context.error(f"takes data of a numeric type, not {_type_name(data.type)}")
    axis = attribute_values(node.attribute).get("axis", 0)
    if data.shape and not -len(data.shape) <= axis < len(data.shape):
        raise context.error(f"has the axis {axis} for a tensor of rank {len(data.shape)}")


def _monotone_attributes(context: NodeContext) -> dict[str, int]:
    """Return the attribute types of a monotone operator by name, including `consumed_inputs` of old opsets."""
    types = dict.fromkeys(MONOTONE_ATTRIBUTES[context.node.op_type], int(AttributeProto.INT))
    opset = context.opsets.get(normal_domain(context.node.domain), 0)
    if context.node.op_type in ELEMENTWISE_FUNCTIONS and opset < OPSET_WITHOUT_CONSUMED_INPUTS:
        types["consumed_inputs"] = AttributeProto.INTS
    return types


def _check_arity(context: NodeContext) -> None:
    inputs = len(context.node.input)
    outputs = len(context.node.output)
    if inputs != 1 or outputs != 1:
        raise context.error(f"has one input and one output, not {inputs} and {outputs}")


def wiring_error(model: onnx.ModelProto) -> str | None:
    """Return the first error in the connections between nodes of the main graph, or None.

    Subgraphs are not checked.
    """
    return next(_wiring_errors(model), None)


def _wiring_errors(model: onnx.ModelProto) -> Iterator[str]:
    graph = model.graph
    if not model.opset_import:
        yield "the model imports no opset"
    known = {"", *(value.name for value in graph.input), *constant_names(graph)}
    for node in graph.node:
        yield from (
            f"no node before {node.op_type} computes its input {name}" for name in node.input if name not in known
        )
        for name in filter(None, node.output):
            if name in known:
                yield f"{node.op_type} computes {name}, which already exists"
            known.add(name)
    yield from (f"no node computes the output {value.name}" for value in graph.output if value.name not in known)
