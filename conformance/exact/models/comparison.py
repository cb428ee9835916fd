"""Compare ONNX models and tensors by content.

`copy_with_raw_tensors` removes differences in how tensors are stored. `normal_form` removes all differences that the
specification leaves free. `first_difference` reports the first field in which two messages differ. `canonical_form`
describes what a graph computes, regardless of node order and of the names of intermediate values.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, defs, numpy_helper

from conformance.base.serialization.printable_text import shorten_end
from conformance.exact.models.arrays import array_of, tensor_of
from conformance.exact.models.graphs import MAIN_DOMAINS, M, copy_of, names_taken_by, topological_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, MutableSequence

    from google.protobuf.message import Message  # type: ignore[import-untyped]


TYPED_DATA_FIELDS = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data")
"""Fields of `TensorProto` that can store numeric elements instead of `raw_data`."""


def copy_with_raw_tensors(message: M) -> M:
    """Return a copy of a message in which every tensor stores its numbers in `raw_data`.

    Tensors that cannot be read are copied unchanged.
    """
    copy = copy_of(message)
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


UNORDERED_FIELDS: Mapping[str, tuple[str, ...]] = {
    "ModelProto": ("functions", "metadata_props", "configuration"),
    "GraphProto": ("initializer", "sparse_initializer", "value_info", "quantization_annotation", "metadata_props"),
    "FunctionProto": ("attribute", "attribute_proto", "value_info", "metadata_props"),
    "NodeProto": ("attribute", "metadata_props", "device_configurations"),
    "NodeDeviceConfigurationProto": ("sharding_spec",),
    "TensorAnnotation": ("quant_parameter_tensor_names",),
    "TensorProto": ("external_data", "metadata_props"),
    "TrainingInfoProto": ("initialization_binding", "update_binding"),
    "ValueInfoProto": ("metadata_props",),
}
"""Repeated fields whose entries are found by name or by key, so that their order has no meaning, by message type."""


def _entry_name(entry: Any) -> str:
    """Return the name or the key of an entry of an unordered field."""
    if isinstance(entry, str):
        return entry
    if isinstance(entry, onnx.FunctionProto):
        return f"{entry.domain} {entry.name} {entry.overload}"
    if isinstance(entry, onnx.SparseTensorProto):
        return str(entry.values.name)
    fields = ("key", "name", "tensor_name", "configuration_id")
    return str(next(getattr(entry, field) for field in fields if hasattr(entry, field)))


MEANINGFUL_WHEN_EMPTY = {("NodeDeviceConfigurationProto", "pipeline_stage")}
"""Fields outside of a `oneof` whose presence with the default value differs from absence: stage 0 is a stage."""


def normal_form(message: M) -> M:
    """Return a copy of a message in which everything that the specification leaves free has one form.

    Two messages with equal normal forms have the same meaning. `docs/reference/optimizer-checks.md` lists the freedoms
    with their passages. The names of values are kept; `canonical_form` also removes those of intermediate values.
    """
    copy = copy_with_raw_tensors(message)
    _normalize(copy)
    return copy


def _normalize(message: Any) -> None:
    kind = type(message).__name__
    for descriptor, content in message.ListFields():
        if descriptor.message_type is not None:
            for entry in content if hasattr(content, "extend") else [content]:
                _normalize(entry)
        elif _is_redundant(kind, descriptor, content):
            message.ClearField(descriptor.name)
    for field in UNORDERED_FIELDS.get(kind, ()):
        if hasattr(message, field) and len(getattr(message, field)) > 1:
            getattr(message, field).sort(key=_entry_name)
    if isinstance(message, onnx.NodeProto):
        remove_trailing_empty_names(message.input)
        remove_trailing_empty_names(message.output)
    if isinstance(message, onnx.NodeProto | onnx.FunctionProto) and message.domain in MAIN_DOMAINS:
        message.ClearField("domain")
    if isinstance(message, onnx.ModelProto | onnx.FunctionProto):
        _normalize_imports(message)
    if isinstance(message, onnx.GraphProto | onnx.FunctionProto):
        _sort_nodes(message)
    if isinstance(message, onnx.SparseTensorProto):
        _linearize_indices(message)


def _is_redundant(kind: str, descriptor: Any, content: Any) -> bool:
    """Return whether a field that is set has the same meaning if it is absent.

    Args:
        kind: message type of the field.
        descriptor: descriptor of the field, which is not a message.
        content: content of the field.
    """
    is_default = not hasattr(content, "extend") and content == descriptor.default_value
    return is_default and descriptor.containing_oneof is None and (kind, descriptor.name) not in MEANINGFUL_WHEN_EMPTY


def remove_trailing_empty_names(names: MutableSequence[str]) -> None:
    """Remove the empty names at the end of a node's inputs or outputs, in place.

    An omitted trailing input or output and one with an empty name are equivalent (ONNX IR, "Static Optional").
    """
    while names and not names[-1]:
        del names[-1]


def opset_versions(imports: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    """Return the imported opset version by domain; the main domain is `ai.onnx`.

    If a domain is imported several times, the highest version counts (onnx.proto, `ModelProto.opset_import`).
    """
    versions: dict[str, int] = {}
    for entry in imports:
        domain = entry.domain or "ai.onnx"
        versions[domain] = max(entry.version, versions.get(domain, entry.version))
    return versions


def _normalize_imports(holder: onnx.ModelProto | onnx.FunctionProto) -> None:
    versions = opset_versions(holder.opset_import)
    del holder.opset_import[:]
    for domain in sorted(versions):
        holder.opset_import.add(domain=domain, version=versions[domain])


def _sort_nodes(graph: onnx.GraphProto | onnx.FunctionProto) -> None:
    """Put nodes in the topological order in which the smallest of the possible next nodes always comes first.

    The order of nodes with equal names, as in an invalid graph, is kept.
    """
    nodes = [type(node).FromString(node.SerializeToString()) for node in graph.node]
    makers = {name: place for place, node in enumerate(nodes) for name in node.output if name}
    if len(makers) != sum(bool(name) for node in nodes for name in node.output):
        return
    uses = [[makers[name] for name in names_taken_by(node) if name in makers] for node in nodes]
    order = topological_order(uses, [node.SerializeToString(deterministic=True) for node in nodes])
    if len(order) == len(nodes):
        del graph.node[:]
        graph.node.extend(nodes[place] for place in order)


def _linearize_indices(tensor: onnx.SparseTensorProto) -> None:
    """Store the indices of a sparse tensor as positions in row-major order, not as coordinates.

    `SparseTensorProto.indices` permits both. Indices that cannot be read or are out of range are kept.
    """
    if len(tensor.indices.dims) != 2:
        return
    try:
        coordinates = np.asarray(numpy_helper.to_array(tensor.indices))
        places = np.ravel_multi_index(tuple(coordinates.T), tuple(tensor.dims)).astype(np.int64)
    except (TypeError, ValueError):
        return
    tensor.indices.CopyFrom(numpy_helper.from_array(np.atleast_1d(places), tensor.indices.name))


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
        old = getattr(before, field.name)
        new = getattr(after, field.name)
        where = f"{path}.{field.name}" if path else field.name
        if hasattr(old, "extend"):  # a repeated field, in every version of protobuf
            yield from _list_differences(list(old), list(new), where)
        elif field.message_type is not None:
            if before.HasField(field.name) != after.HasField(field.name):
                yield f"{where} is {'removed' if before.HasField(field.name) else 'new'}"
            elif before.HasField(field.name):
                yield from _differences(old, new, where)
        elif old != new:
            yield f"{where} changed from {_shown(old)} to {_shown(new)}"


def _list_differences(old: list[Any], new: list[Any], where: str) -> Iterator[str]:
    if len(old) != len(new):
        yield f"{where} has {len(new)} entries instead of {len(old)}"
        return
    for number, (one, other) in enumerate(zip(old, new, strict=True)):
        if hasattr(one, "DESCRIPTOR"):
            yield from _differences(one, other, f"{where}[{number}]")
        elif one != other:
            yield f"{where}[{number}] changed from {_shown(one)} to {_shown(other)}"


def _shown(value: object) -> str:
    return shorten_end(repr(value), MAX_VALUE_LENGTH)


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
    overridden = {function.name for function in model.functions if function.domain in MAIN_DOMAINS}
    keys = _CanonicalKeys(opset_versions(model.opset_import).get("ai.onnx", 0), frozenset(overridden))
    known = {value.name: f"input {value.name}" for value in graph.input}
    nodes, outputs = keys.of_graph(graph, known)
    return CanonicalForm(nodes, tuple(f"{value.name} {key}" for value, key in zip(graph.output, outputs, strict=True)))


def tensor_digest(tensor: onnx.TensorProto) -> str:
    """Return a digest of a tensor's type, shape and elements. For external data, the file is not read."""
    if tensor.data_location == TensorProto.EXTERNAL:
        entries = [(entry.key, entry.value) for entry in normal_form(tensor).external_data if entry.key != "basepath"]
        return _digest(f"{tensor.data_type} {list(tensor.dims)} {entries}".encode())
    try:
        content = numpy_helper.to_array(tensor)
        elements = repr(content.tolist()).encode() if content.dtype == object else content.tobytes()
    except (KeyError, ValueError, TypeError, NotImplementedError):  # KeyError: a type newer than onnx
        elements = tensor.SerializeToString(deterministic=True)
    return _digest(f"{tensor.data_type} {list(tensor.dims)}".encode() + elements)


def has_same_content(before: onnx.TensorProto, after: onnx.TensorProto) -> bool:
    """Return whether two tensors have the same type, shape and elements, as far as the model shows the elements.

    A tensor in external data may become a tensor in the model (ExternalData.md). Its elements cannot be compared then,
    because the file is not read.
    """
    if before.data_location == TensorProto.EXTERNAL and after.data_location != TensorProto.EXTERNAL:
        return before.data_type == after.data_type and list(before.dims) == list(after.dims)
    return tensor_digest(before) == tensor_digest(after)


@dataclass(frozen=True)
class _CanonicalKeys:
    """Computes keys of the nodes and values of a model.

    Attributes:
        opset: imported version of the main domain; 0 if it is not imported.
        overridden: names of operators of the main domain that a model-local function replaces.
    """

    opset: int
    overridden: frozenset[str]

    def of_graph(self, graph: onnx.GraphProto, known: Mapping[str, str]) -> tuple[Counter[str], list[str]]:
        """Return the digests of a graph's nodes, and the sources of its outputs.

        Args:
            graph: the main graph or a subgraph.
            known: the sources of the graph's inputs and of the values of enclosing graphs, by name.
        """
        values = {**known, **{tensor.name: f"initializer {tensor.name}" for tensor in graph.initializer}}
        values.update((tensor.values.name, f"sparse {tensor.values.name}") for tensor in graph.sparse_initializer)
        nodes: Counter[str] = Counter()
        for node in graph.node:
            key = self.of_node(node, values)
            nodes[key] += 1
            values.update((name, f"{key}:{place}") for place, name in enumerate(node.output) if name)
        return nodes, [values.get(value.name, f"free {value.name}") for value in graph.output]

    def of_node(self, node: onnx.NodeProto, values: Mapping[str, str]) -> str:
        """Return the digest of a node."""
        domain = "" if node.domain in MAIN_DOMAINS else node.domain
        is_standard = not domain and not node.overload and node.op_type not in self.overridden
        defaults = _attribute_defaults(node.op_type, self.opset) if is_standard else {}
        attributes = {**defaults, **{each.name: self.of_attribute(each, values) for each in node.attribute}}
        inputs = [values.get(name, f"free {name}") if name else "" for name in node.input]
        outputs = ["named" if name else "" for name in node.output]
        remove_trailing_empty_names(inputs)
        remove_trailing_empty_names(outputs)
        return _digest(
            repr((domain, node.op_type, node.overload, sorted(attributes.items()), inputs, outputs)).encode()
        )

    def of_attribute(self, attribute: onnx.AttributeProto, values: Mapping[str, str]) -> str:
        """Return a key of an attribute's value; its description is ignored."""
        if attribute.ref_attr_name:
            return f"reference {attribute.ref_attr_name}"
        if attribute.type in {AttributeProto.GRAPH, AttributeProto.GRAPHS}:
            held = [attribute.g] if attribute.type == AttributeProto.GRAPH else attribute.graphs
            return repr([self.of_subgraph(graph, values) for graph in held])
        if attribute.type == AttributeProto.TENSOR:
            return tensor_digest(attribute.t)
        return _attribute_digest(attribute)

    def of_subgraph(self, graph: onnx.GraphProto, values: Mapping[str, str]) -> str:
        """Return a digest of what a subgraph computes. Inputs of the subgraph are identified by position.

        Args:
            graph: the subgraph.
            values: the sources of the values of enclosing graphs, by name.
        """
        known = {**values, **{value.name: f"parameter {place}" for place, value in enumerate(graph.input)}}
        nodes, outputs = self.of_graph(graph, known)
        tensors = sorted((tensor.name, tensor_digest(tensor)) for tensor in graph.initializer)
        return _digest(repr((len(graph.input), sorted(nodes.items()), outputs, tensors)).encode())


@cache
def _attribute_defaults(op_type: str, opset: int) -> Mapping[str, str]:
    """Return the keys of the default attribute values of an operator of the main domain; empty if it is unknown."""
    try:
        schema = defs.get_schema(op_type, max_inclusive_version=opset)
    except defs.SchemaError:
        return {}
    values = {name: attribute.default_value for name, attribute in schema.attributes.items()}
    return {name: _attribute_digest(value) for name, value in values.items() if value.type}


def _attribute_digest(attribute: onnx.AttributeProto) -> str:
    copy = copy_of(attribute)
    copy.ClearField("name")
    copy.ClearField("doc_string")
    return _digest(normal_form(copy).SerializeToString(deterministic=True))


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()
