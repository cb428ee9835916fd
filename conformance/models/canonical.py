"""Graphs told apart by what they compute: neither the names of inner values nor a harmless order of nodes count."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

import onnx
from onnx import AttributeProto, numpy_helper

from conformance.models.signatures import MAIN_DOMAINS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True)
class Form:
    """What a graph computes.

    Attributes:
        nodes: how often each node occurs, by a key made from its operator, attributes and what its inputs compute.
        outputs: what each output computes, in order.
    """

    nodes: Counter[str]
    outputs: tuple[str, ...]


def form(model: onnx.ModelProto) -> Form:
    """The form of a model's main graph, whose inputs and outputs count by name."""
    graph = model.graph
    known = {value.name: f"input {value.name}" for value in graph.input}
    nodes, outputs = _walked(graph, known)
    return Form(nodes, tuple(f"{value.name} {key}" for value, key in zip(graph.output, outputs, strict=True)))


def same_tensor(one: onnx.TensorProto, other: onnx.TensorProto) -> bool:
    """Whether two tensors hold the same elements, however they are stored."""
    return tensor_key(one) == tensor_key(other)


def tensor_key(tensor: onnx.TensorProto) -> str:
    """A tensor's type, shape and elements."""
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        return _digest(tensor.SerializeToString(deterministic=True))
    try:
        content = numpy_helper.to_array(tensor)
        elements = repr(content.tolist()).encode() if content.dtype == object else content.tobytes()
    except (ValueError, TypeError, NotImplementedError):
        elements = tensor.SerializeToString(deterministic=True)
    return _digest(f"{tensor.data_type} {list(tensor.dims)}".encode() + elements)


def _walked(graph: onnx.GraphProto, known: Mapping[str, str]) -> tuple[Counter[str], list[str]]:
    values = {**known, **{tensor.name: f"initializer {tensor.name}" for tensor in graph.initializer}}
    values.update((tensor.values.name, f"sparse {tensor.values.name}") for tensor in graph.sparse_initializer)
    nodes: Counter[str] = Counter()
    for node in graph.node:
        key = _node(node, values)
        nodes[key] += 1
        values.update((name, f"{key}:{place}") for place, name in enumerate(node.output) if name)
    return nodes, [values.get(value.name, f"free {value.name}") for value in graph.output]


def _node(node: onnx.NodeProto, values: Mapping[str, str]) -> str:
    domain = "" if node.domain in MAIN_DOMAINS else node.domain
    attributes = sorted((attribute.name, _attribute(attribute, values)) for attribute in node.attribute)
    inputs = [values.get(name, f"free {name}") if name else "" for name in node.input]
    outputs = [bool(name) for name in node.output]
    return _digest(repr((domain, node.op_type, node.overload, attributes, inputs, outputs)).encode())


def _attribute(attribute: onnx.AttributeProto, values: Mapping[str, str]) -> str:
    if attribute.ref_attr_name:
        return f"reference {attribute.ref_attr_name}"
    if attribute.type in {AttributeProto.GRAPH, AttributeProto.GRAPHS}:
        held = [attribute.g] if attribute.type == AttributeProto.GRAPH else attribute.graphs
        return repr([_inner(graph, values) for graph in held])
    if attribute.type == AttributeProto.TENSOR:
        return tensor_key(attribute.t)
    copy = onnx.AttributeProto()
    copy.CopyFrom(attribute)
    copy.doc_string = ""
    return _digest(copy.SerializeToString(deterministic=True))


def _inner(graph: onnx.GraphProto, values: Mapping[str, str]) -> str:
    """An inner graph; its inputs count by place."""
    known = {**values, **{value.name: f"parameter {place}" for place, value in enumerate(graph.input)}}
    nodes, outputs = _walked(graph, known)
    tensors = sorted(_stored(graph.initializer))
    return _digest(repr((len(graph.input), sorted(nodes.items()), outputs, tensors)).encode())


def _stored(tensors: Iterable[onnx.TensorProto]) -> list[tuple[str, str]]:
    return [(tensor.name, tensor_key(tensor)) for tensor in tensors]


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()
