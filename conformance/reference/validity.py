"""Whether a model keeps to the schemas and the prose of the suite's operators, as far as it declares types and shapes.

The oracle does not ask: its cases are valid. The `reference` backend does, since it computes no model that is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto

from conformance.models.signatures import ARGMAX_DEFAULTS
from conformance.reference.nodes import attribute_values
from conformance.reference.operators.training import (
    DOMAINS,
    TRAINING_OPTIMIZERS,
    TrainingOptimizer,
    training_optimizer_of,
)
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


FLOATS = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE})
COUNTS = frozenset({TensorProto.INT64})
MONOTONE: Mapping[str, Sequence[str]] = {
    "Log": (),
    "Exp": (),
    "Sqrt": (),
    "Softmax": ("axis",),
    "LogSoftmax": ("axis",),
}
"""The operators that may stand before ArgMax, each with its attributes."""
ELEMENTWISE = frozenset(name for name, attributes in MONOTONE.items() if not attributes)
FIRST_WITHOUT_CONSUMED_INPUTS = 6
"""From this opset on Log, Exp and Sqrt have no attribute `consumed_inputs`."""
NO_NUMBERS = frozenset({TensorProto.BOOL, TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.COMPLEX128})


class InvalidModel(ValueError):
    """The model is none: a node in it is not what its operator's schema and page demand."""


@dataclass(frozen=True)
class DeclaredType:
    """What a model says of a tensor: its type, and its shape unless a dimension is open."""

    type: int
    shape: tuple[int, ...] | None


@dataclass(frozen=True)
class _Place:
    """A node and what is declared around it."""

    node: onnx.NodeProto
    opsets: Mapping[str, int]
    tensors: Mapping[str, DeclaredType]

    def refuse(self, what: str) -> InvalidModel:
        return InvalidModel(f"{self.node.op_type} {what}")


def check(model: onnx.ModelProto) -> None:
    """Look at how the main graph is joined, and at every node of it that is no call of a function of the model's own.

    Raises:
        InvalidModel: an operator's attributes, operands, results, types or shapes are not its schema's or its page's.
        Unsupported: it is of a version, or of a name, that the training domain does not have.
    """
    if fault := miswired(model):
        raise InvalidModel(fault)
    opsets = {opset.domain: opset.version for opset in model.opset_import}
    tensors, functions = _declared(model.graph), {(function.domain, function.name) for function in model.functions}
    for node in model.graph.node:
        place = _Place(node, opsets, tensors)
        if (node.domain, node.op_type) in functions:
            continue
        if node.domain in DOMAINS:
            _check_optimizer(place)
        elif node.domain in {"", "ai.onnx"} and node.op_type == "ArgMax":
            _check_argmax(place)
        elif node.domain in {"", "ai.onnx"} and node.op_type in MONOTONE:
            _check_attributes(place, _attributes_of_monotone(place))
            _check_arity(place)


def _declared(graph: onnx.GraphProto) -> dict[str, DeclaredType]:
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


def _check_optimizer(place: _Place) -> None:
    domain, version = place.node.domain, place.opsets.get(place.node.domain)
    if version is None:
        raise place.refuse(f"is of the domain {domain}, of which the model imports no version")
    if all(version != optimizer.version for optimizer in TRAINING_OPTIMIZERS.values() if optimizer.domain == domain):
        raise Unsupported(f"{domain} has no version {version}")
    signature = training_optimizer_of(domain, place.node.op_type)
    if signature is None:
        raise Unsupported(f"{domain} has no operator {place.node.op_type}")
    types = dict.fromkeys([*signature.defaults, *signature.required], AttributeProto.FLOAT)
    _check_attributes(place, types | dict.fromkeys(signature.choices, AttributeProto.STRING), signature.required)
    _check_choices(place, signature)
    _check_operands(place, signature, _check_counts(place, signature))


def _check_choices(place: _Place, signature: TrainingOptimizer) -> None:
    given = attribute_values(place.node.attribute)
    for name, choices in signature.choices.items():
        if name in given and given[name] not in choices:
            raise place.refuse(f"has the {name}s {' and '.join(choices)}, not {given[name]!r}")


def _check_attributes(place: _Place, types: Mapping[str, int], required: Sequence[str] = ()) -> None:
    given = {attribute.name: attribute for attribute in place.node.attribute}
    if missing := [name for name in required if name not in given]:
        raise place.refuse(f"lacks the required attribute {missing[0]}")
    for name, attribute in given.items():
        if name not in types:
            raise place.refuse(f"has no attribute {name}")
        if attribute.type != types[name]:
            wanted, found = (AttributeProto.AttributeType.Name(type) for type in (types[name], attribute.type))
            raise place.refuse(f"has {name} as {found}, not {wanted}")


def _check_counts(place: _Place, signature: TrainingOptimizer) -> int:
    """How many tensors a node optimizes."""
    groups, results = len(signature.operands), len(signature.results)
    inputs, outputs = place.node.input, place.node.output
    count, rest = divmod(len(inputs) - 2, groups)
    if count < 1 or rest or not all(inputs):
        raise place.refuse(f"takes R, T and {groups} operands for every tensor, not {len(inputs)} inputs")
    if not 1 <= len(outputs) <= results * count:  # the schema allows that the last ones have no name
        raise place.refuse(f"gives {results * count} outputs for {len(inputs)} inputs, not {len(outputs)}")
    return count


def _check_operands(place: _Place, signature: TrainingOptimizer, count: int) -> None:
    R, T, *operands = place.node.input
    for name, told, types in (("R", R, FLOATS), ("T", T, COUNTS)):
        _check_type(place, name, told, types)
        shape = _shape_of(place, told)
        if shape is not None and np.prod(shape) != 1:
            raise place.refuse(f"takes a scalar as {name}, not a tensor of shape {list(shape)}")
    for number in range(count):
        shapes = []
        for name, told in zip(signature.operands, operands[number::count], strict=True):
            _check_type(place, name, told, FLOATS)
            shapes.append(_shape_of(place, told))
        _check_shapes(place, signature.operands, shapes)


def _check_type(place: _Place, name: str, told: str, types: frozenset[int]) -> None:
    if told in place.tensors and place.tensors[told].type not in types:
        admitted = " or ".join(sorted(_type_name(type) for type in types))
        raise place.refuse(f"takes {name} of type {admitted}, not {_type_name(place.tensors[told].type)}")


def _type_name(type: int) -> str:
    return str(TensorProto.DataType.Name(type)).lower()


def _shape_of(place: _Place, name: str) -> tuple[int, ...] | None:
    return place.tensors[name].shape if name in place.tensors else None


def _check_shapes(place: _Place, names: Sequence[str], shapes: Sequence[tuple[int, ...] | None]) -> None:
    """Every operand of a tensor must be of its shape, or at least fit into it."""
    X = shapes[0]
    for name, shape in zip(names, shapes, strict=True):
        if X is not None and shape is not None and not _fits(shape, X):
            raise place.refuse(f"has {name} of shape {list(shape)} beside X of shape {list(X)}")


def _fits(shape: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, whole) == whole
    except ValueError:
        return False


def _check_argmax(place: _Place) -> None:
    node, opset = place.node, place.opsets.get(place.node.domain, place.opsets.get("ai.onnx", 0))
    known = [name for name in ARGMAX_DEFAULTS if opset >= 12 or name != "select_last_index"]
    _check_attributes(place, dict.fromkeys(known, AttributeProto.INT))
    _check_arity(place)
    data = place.tensors.get(node.input[0])
    if data is None:
        return
    if data.type in NO_NUMBERS:
        raise place.refuse(f"takes data of a numeric type, not {_type_name(data.type)}")
    axis = attribute_values(node.attribute).get("axis", 0)
    if data.shape and not -len(data.shape) <= axis < len(data.shape):
        raise place.refuse(f"has the axis {axis} for a tensor of rank {len(data.shape)}")


def _attributes_of_monotone(place: _Place) -> dict[str, int]:
    """The attributes of an operator that may stand before ArgMax; some said once which inputs they overwrite."""
    types = dict.fromkeys(MONOTONE[place.node.op_type], int(AttributeProto.INT))
    opset = place.opsets.get(place.node.domain, place.opsets.get("ai.onnx", 0))
    if place.node.op_type in ELEMENTWISE and opset < FIRST_WITHOUT_CONSUMED_INPUTS:
        types["consumed_inputs"] = AttributeProto.INTS
    return types


def _check_arity(place: _Place) -> None:
    inputs, outputs = len(place.node.input), len(place.node.output)
    if inputs != 1 or outputs != 1:
        raise place.refuse(f"has one input and one output, not {inputs} and {outputs}")


def miswired(model: onnx.ModelProto) -> str | None:
    """What is wrong with how the nodes of the main graph are joined, or None; captures are not looked at."""
    return next(_wiring_faults(model), None)


def _wiring_faults(model: onnx.ModelProto) -> Iterator[str]:
    graph = model.graph
    if not model.opset_import:
        yield "the model imports no opset"
    given = {"", *(value.name for value in graph.input), *(tensor.name for tensor in graph.initializer)}
    given |= {tensor.values.name for tensor in graph.sparse_initializer}
    for node in graph.node:
        yield from (f"nothing before {node.op_type} gives its input {name}" for name in node.input if name not in given)
        for name in filter(None, node.output):
            if name in given:
                yield f"{node.op_type} gives {name}, which is given already"
            given.add(name)
    yield from (f"nothing gives the output {value.name}" for value in graph.output if value.name not in given)
