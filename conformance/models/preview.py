"""Models and tensors as a person reads them: for case.json, results and reports."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import numpy as np
from google.protobuf.message import Message  # type: ignore[import-untyped]
from onnx import GraphProto, SparseTensorProto, TensorProto, helper

from conformance.boundary.decoding import Count, Integer
from conformance.models import formats
from conformance.models.arrays import Array, type_name
from conformance.models.feeds import fed_inputs

if TYPE_CHECKING:
    import onnx


SHOWN = 8
"""How many elements of a tensor are shown; the rest is counted."""


class Preview(TypedDict):
    """A tensor as a person reads it: its first elements in decimal and, for floating point, in hex."""

    name: str
    type: str
    shape: list[Count]
    values: list[str]
    hex: NotRequired[list[str]]
    elided: Count


class NodeSummary(TypedDict):
    """One node of a graph."""

    op_type: str
    domain: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Integer | float | str]


class ValueSummary(TypedDict):
    """The declared name, type and shape of a graph's input or output."""

    name: str
    type: str
    shape: list[Integer | str]


class ModelSummary(TypedDict):
    """A model as a person reads it."""

    ir_version: Integer
    opset_imports: dict[str, Integer]
    inputs: list[ValueSummary]
    outputs: list[ValueSummary]
    nodes: list[NodeSummary]


def preview(name: str, array: Array) -> Preview:
    """A tensor's first elements, in decimal digits that determine them and in hex."""
    shown = array.flat[:SHOWN]
    summary: Preview = {
        "name": name,
        "type": type_name(array.dtype),
        "shape": list(array.shape),
        "values": [decimal(element) for element in shown],
        "elided": array.size - len(shown),
    }
    if type_name(array.dtype) in formats.BY_NAME:
        summary["hex"] = [hexadecimal(element) for element in shown]
    return summary


def decimal(element: Any) -> str:
    """The shortest decimal that rounds to this element of a tensor, and to no other."""
    format = formats.BY_NAME.get(type_name(element.dtype))
    if format is None:
        return str(element)
    value = float(element)
    if format is formats.DOUBLE or not math.isfinite(value):
        return repr(value)
    texts = (f"{value:.{digits}g}" for digits in range(1, 18))
    return next(text for text in texts if format.rounded(Decimal(text)) == value)


def alternatives(acceptable: Array) -> str:
    """The indices at which `acceptable` holds (bool, one axis), in words."""
    return " or ".join(str(index) for index in np.flatnonzero(acceptable))


def hexadecimal(element: Any) -> str:
    """The bits of an element of a tensor."""
    size = element.dtype.itemsize
    return f"0x{int(np.asarray(element).view(f'u{size}')):0{2 * size}x}"


def model_summary(model: onnx.ModelProto) -> ModelSummary:
    """A model's interface and nodes."""
    return {
        "ir_version": model.ir_version,
        "opset_imports": {opset.domain or "ai.onnx": opset.version for opset in model.opset_import},
        "inputs": [_value(value) for value in fed_inputs(model.graph)],
        "outputs": [_value(value) for value in model.graph.output],
        "nodes": [_node(node) for node in model.graph.node],
    }


def _node(node: onnx.NodeProto) -> NodeSummary:
    return {
        "op_type": node.op_type,
        "domain": node.domain or "ai.onnx",
        "inputs": list(node.input),
        "outputs": list(node.output),
        "attributes": {attribute.name: _attribute(attribute) for attribute in node.attribute},
    }


def _attribute(proto: onnx.AttributeProto) -> Any:
    value = helper.get_attribute_value(proto)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, float):
        return decimal(np.float32(value))
    if isinstance(value, GraphProto):
        return _graph(value)
    if isinstance(value, SparseTensorProto):
        return f"sparse {TensorProto.DataType.Name(value.values.data_type).lower()}{list(value.dims)}"
    if isinstance(value, list) and value and isinstance(value[0], Message):
        return f"[{', '.join(_graph(item) if isinstance(item, GraphProto) else str(item) for item in value)}]"
    return value if isinstance(value, int) else str(value)


def _graph(graph: onnx.GraphProto) -> str:
    """A subgraph on one line: what comes in, its nodes in order, and what goes out."""
    nodes = (f"{', '.join(node.output)} = {node.op_type}({', '.join(node.input)})" for node in graph.node)
    inputs, outputs = (", ".join(value.name for value in values) for values in (graph.input, graph.output))
    return f"({inputs}) → {'; '.join(nodes)} → ({outputs})"


def _value(value: onnx.ValueInfoProto) -> ValueSummary:
    tensor = _element(value.type).tensor_type
    return {
        "name": value.name,
        "type": _type(value.type),
        "shape": [_size(dim) for dim in tensor.shape.dim],
    }


def _type(type: onnx.TypeProto) -> str:
    """A tensor's element type; of a sequence or an optional, that of what it holds, in parentheses."""
    kind = type.WhichOneof("value")
    if kind in ("sequence_type", "optional_type"):
        return f"{kind.removesuffix('_type')}({_type(getattr(type, kind).elem_type)})"
    return str(TensorProto.DataType.Name(type.tensor_type.elem_type)).lower()


def _element(type: onnx.TypeProto) -> onnx.TypeProto:
    """The innermost type of sequences and optionals."""
    kind = type.WhichOneof("value")
    return _element(getattr(type, kind).elem_type) if kind in ("sequence_type", "optional_type") else type


def _size(dim: onnx.TensorShapeProto.Dimension) -> int | str:
    return dim.dim_value if dim.HasField("dim_value") else dim.dim_param or "?"
