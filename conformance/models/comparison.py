"""Compare ONNX models and tensors by content.

Three comparisons are provided. `copy_with_raw_tensors` removes differences in how tensors are stored.
`first_difference` reports the first field in which two messages differ. `canonical_form` describes what a graph
computes, regardless of node order and of the names of intermediate values.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar

import onnx
from google.protobuf.message import Message  # type: ignore[import-untyped]
from onnx import AttributeProto, TensorProto, numpy_helper

from conformance.models.arrays import array_of, tensor_of
from conformance.models.types import MAIN_DOMAINS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


M = TypeVar("M", bound=Message)
TYPED_DATA_FIELDS = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data")
"""Fields of `TensorProto` that can store numeric elements instead of `raw_data`."""


def copy_with_raw_tensors(message: M) -> M:
    """Return a copy of a message in which every tensor stores its numbers in `raw_data`.

    Tensors that cannot be read are copied unchanged.
    """
    copy: M = type(message)()
    copy.CopyFrom(message)
    convert_tensors_to_raw(copy)
    return copy


def convert_tensors_to_raw(message: Message) -> None:
    """Move the numbers of every tensor in a message to `raw_data`, in place. Skip unreadable tensors."""
    if isinstance(message, TensorProto):
        _store(message)
        return
    for descriptor, content in message.ListFields():
        if descriptor.message_type is not None:
            for entry in content if hasattr(content, "extend") else [content]:
                convert_tensors_to_raw(entry)


def _store(tensor: TensorProto) -> None:
    if tensor.data_location == TensorProto.DEFAULT:
        tensor.ClearField("data_location")  # DEFAULT is the value of an absent field
    if not any(getattr(tensor, field) for field in TYPED_DATA_FIELDS) or tensor.data_location == TensorProto.EXTERNAL:
        return
    try:
        raw = tensor_of(array_of(tensor)).raw_data
    except (KeyError, TypeError, ValueError, NotImplementedError):
        return
    for field in TYPED_DATA_FIELDS:
        tensor.ClearField(field)
    tensor.raw_data = raw


MAX_VALUE_LENGTH = 60
"""Number of characters of a value that a difference quotes."""


def first_difference(before: Message, after: Message) -> str | None:
    """Describe the first field that differs, such as `graph.node[1].input[0] changed from 'Y' to 'X'`.

    Return None if the messages are equal.
    """
    if before == after:
        return None
    return next(_differences(before, after, ""), "the content differs")


def _differences(before: Any, after: Any, path: str) -> Iterator[str]:
    for field in before.DESCRIPTOR.fields:
        old, new = getattr(before, field.name), getattr(after, field.name)
        where = f"{path}.{field.name}" if path else field.name
        if hasattr(old, "extend"):  # a repeated field, in every version of protobuf
            yield from _list_differences(list(old), list(new), where)
        elif field.message_type is not None:
            if before.HasField(field.name) != after.HasField(field.name):
                yield f"{where} is {'removed' if before.HasField(field.name) else 'new'}"
            elif before.HasField(field.name):
                yield from _differences(old, new, where)
        elif old != new:
            yield f"{where} changed from {_shorten(old)} to {_shorten(new)}"


def _list_differences(old: list[Any], new: list[Any], where: str) -> Iterator[str]:
    if len(old) != len(new):
        yield f"{where} has {len(new)} entries instead of {len(old)}"
        return
    for number, (one, other) in enumerate(zip(old, new, strict=True)):
        if hasattr(one, "DESCRIPTOR"):
            yield from _differences(one, other, f"{where}[{number}]")
        elif one != other:
            yield f"{where}[{number}] changed from {_shorten(one)} to {_shorten(other)}"


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[:MAX_VALUE_LENGTH]}…"


@dataclass(frozen=True)
class CanonicalForm:
    """Description of what a graph computes. Two graphs with equal forms compute the same values in the same way.

    Attributes:
        nodes: number of occurrences of each node, by digest. The digest of a node covers its operator, its attributes
            and, recursively, the nodes that compute its inputs.
        outputs: for each graph output in order, its name and the source of its value: the digest of the node with the
            number of the node's output, or the name of an input or initializer.
    """

    nodes: Counter[str]
    outputs: tuple[str, ...]


def canonical_form(model: onnx.ModelProto) -> CanonicalForm:
    """Return the canonical form of a model's main graph. Graph inputs and outputs are identified by name."""
    graph = model.graph
    known = {value.name: f"input {value.name}" for value in graph.input}
    nodes, outputs = _graph_keys(graph, known)
    return CanonicalForm(nodes, tuple(f"{value.name} {key}" for value, key in zip(graph.output, outputs, strict=True)))


def tensor_digest(tensor: onnx.TensorProto) -> str:
    """Return a digest of a tensor's type, shape and elements."""
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        return _digest(tensor.SerializeToString(deterministic=True))
    try:
        content = numpy_helper.to_array(tensor)
        elements = repr(content.tolist()).encode() if content.dtype == object else content.tobytes()
    except (KeyError, ValueError, TypeError, NotImplementedError):  # KeyError: a type newer than onnx
        elements = tensor.SerializeToString(deterministic=True)
    return _digest(f"{tensor.data_type} {list(tensor.dims)}".encode() + elements)


def _graph_keys(graph: onnx.GraphProto, known: Mapping[str, str]) -> tuple[Counter[str], list[str]]:
    values = {**known, **{tensor.name: f"initializer {tensor.name}" for tensor in graph.initializer}}
    values.update((tensor.values.name, f"sparse {tensor.values.name}") for tensor in graph.sparse_initializer)
    nodes: Counter[str] = Counter()
    for node in graph.node:
        key = _node_digest(node, values)
        nodes[key] += 1
        values.update((name, f"{key}:{place}") for place, name in enumerate(node.output) if name)
    return nodes, [values.get(value.name, f"free {value.name}") for value in graph.output]


def _node_digest(node: onnx.NodeProto, values: Mapping[str, str]) -> str:
    domain = "" if node.domain in MAIN_DOMAINS else node.domain
    attributes = sorted((attribute.name, _attribute_key(attribute, values)) for attribute in node.attribute)
    inputs = [values.get(name, f"free {name}") if name else "" for name in node.input]
    outputs = [bool(name) for name in node.output]
    return _digest(repr((domain, node.op_type, node.overload, attributes, inputs, outputs)).encode())


def _attribute_key(attribute: onnx.AttributeProto, values: Mapping[str, str]) -> str:
    if attribute.ref_attr_name:
        return f"reference {attribute.ref_attr_name}"
    if attribute.type in {AttributeProto.GRAPH, AttributeProto.GRAPHS}:
        held = [attribute.g] if attribute.type == AttributeProto.GRAPH else attribute.graphs
        return repr([_subgraph_digest(graph, values) for graph in held])
    if attribute.type == AttributeProto.TENSOR:
        return tensor_digest(attribute.t)
    copy = onnx.AttributeProto()
    copy.CopyFrom(attribute)
    copy.doc_string = ""
    return _digest(copy.SerializeToString(deterministic=True))


def _subgraph_digest(graph: onnx.GraphProto, values: Mapping[str, str]) -> str:
    """Return a digest of what a subgraph computes. Inputs of the subgraph are identified by position.

    Args:
        graph: the subgraph.
        values: the sources of the values of enclosing graphs, by name.
    """
    known = {**values, **{value.name: f"parameter {place}" for place, value in enumerate(graph.input)}}
    nodes, outputs = _graph_keys(graph, known)
    tensors = sorted(_tensor_digests(graph.initializer))
    return _digest(repr((len(graph.input), sorted(nodes.items()), outputs, tensors)).encode())


def _tensor_digests(tensors: Iterable[onnx.TensorProto]) -> list[tuple[str, str]]:
    return [(tensor.name, tensor_digest(tensor)) for tensor in tensors]


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()
