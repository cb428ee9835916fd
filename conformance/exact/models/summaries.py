"""Short, readable descriptions of models and tensors for case.json, results and reports."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from google.protobuf.message import Message  # type: ignore[import-untyped]
from onnx import GraphProto, SparseTensorProto, TensorProto, helper

from conformance.base.serialization.decoding import Count, Integer, StoredRecord
from conformance.base.serialization.printable_text import shorten_middle
from conformance.exact.models import arrays
from conformance.exact.models.arrays import Array, item_type, type_name
from conformance.exact.models.input_files import required_inputs

if TYPE_CHECKING:
    import onnx


MAX_SHOWN_ELEMENTS = 8
"""Number of elements that a preview lists."""


class TensorPreview(StoredRecord):
    """The first elements of a tensor, in decimal and, for floating-point types, in hexadecimal.

    `elided` is the number of elements that are left out.
    """

    name: str
    type: str
    shape: list[Count]
    values: list[str]
    elided: Count
    hex: list[str] | None = None


class NodeSummary(StoredRecord):
    """Operator, inputs, outputs and attributes of a node."""

    op_type: str
    domain: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Integer | float | str]


class ValueSummary(StoredRecord):
    """Declared name, type and shape of a graph input or output."""

    name: str
    type: str
    shape: list[Integer | str]


class ModelSummary(StoredRecord):
    """Versions, interface and nodes of a model's main graph."""

    ir_version: Integer
    opset_imports: dict[str, Integer]
    inputs: list[ValueSummary]
    outputs: list[ValueSummary]
    nodes: list[NodeSummary]


def tensor_preview(name: str, array: Array) -> TensorPreview:
    """Return a preview of a tensor, with enough decimal digits to identify each element."""
    shown = array.flat[:MAX_SHOWN_ELEMENTS]
    has_hex = type_name(array.dtype) in arrays.FLOAT_FORMATS
    return TensorPreview(
        name,
        type_name(array.dtype),
        list(array.shape),
        values=[shortest_decimal(element) for element in shown],
        elided=array.size - len(shown),
        hex=[hex_bits(element) for element in shown] if has_hex else None,
    )


MAX_TEXT_LENGTH = 100
"""Maximum number of characters of a text in a preview."""


def shortest_decimal(element: Any) -> str:
    """Return the shortest decimal that identifies an element among all values of its type; a text is quoted."""
    if isinstance(element, str):
        return shorten_middle(repr(element), MAX_TEXT_LENGTH)
    format = arrays.FLOAT_FORMATS.get(type_name(element.dtype))
    if format is None:
        return str(element)
    value = float(element)
    if format is arrays.DOUBLE or not math.isfinite(value):
        return repr(value)
    fewest = 1
    if format is arrays.FLOAT:
        # NumPy's shortest text has at most as many digits as are needed, and is faster than to try each number.
        fewest = sum(map(str.isdigit, np.format_float_scientific(element, trim="-").partition("e")[0]))
    texts = (f"{value:.{digits}g}" for digits in range(fewest, 18))
    return next(text for text in texts if format.round_to_nearest(Decimal(text)) == value)


def format_true_indices(acceptable: Array) -> str:
    """Return the indices at which a boolean vector is true, joined by "or"."""
    return " or ".join(str(index) for index in np.flatnonzero(acceptable))


def hex_bits(element: Any) -> str:
    """Return the bits of an element in hexadecimal, such as `0x3f800000`."""
    size = element.dtype.itemsize
    return f"0x{int(np.asarray(element).view(f'u{size}')):0{2 * size}x}"


def model_summary(model: onnx.ModelProto) -> ModelSummary:
    """Return the summary of a model."""
    return ModelSummary(
        ir_version=model.ir_version,
        opset_imports={opset.domain or "ai.onnx": opset.version for opset in model.opset_import},
        inputs=[_value(value) for value in required_inputs(model.graph)],
        outputs=[_value(value) for value in model.graph.output],
        nodes=[_node(node) for node in model.graph.node],
    )


def _node(node: onnx.NodeProto) -> NodeSummary:
    return NodeSummary(
        op_type=node.op_type,
        domain=node.domain or "ai.onnx",
        inputs=list(node.input),
        outputs=list(node.output),
        attributes={attribute.name: _attribute(attribute) for attribute in node.attribute},
    )


def _attribute(proto: onnx.AttributeProto) -> Any:
    value = helper.get_attribute_value(proto)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, float):
        return shortest_decimal(np.float32(value))
    if isinstance(value, GraphProto):
        return _graph(value)
    if isinstance(value, SparseTensorProto):
        return f"sparse {TensorProto.DataType.Name(value.values.data_type).lower()}{list(value.dims)}"
    if isinstance(value, list) and value and isinstance(value[0], Message):
        return f"[{', '.join(_graph(item) if isinstance(item, GraphProto) else str(item) for item in value)}]"
    return value if isinstance(value, int) else str(value)


def _graph(graph: onnx.GraphProto) -> str:
    """Return a subgraph as one line of text: inputs, nodes in order, outputs."""
    nodes = (f"{', '.join(node.output)} = {node.op_type}({', '.join(node.input)})" for node in graph.node)
    inputs, outputs = (", ".join(value.name for value in values) for values in (graph.input, graph.output))
    return f"({inputs}) → {'; '.join(nodes)} → ({outputs})"


def _value(value: onnx.ValueInfoProto) -> ValueSummary:
    tensor = item_type(value.type).tensor_type
    return ValueSummary(value.name, _type(value.type), [_size(dim) for dim in tensor.shape.dim])


def _type(type: onnx.TypeProto) -> str:
    """Return a type's name without its shape, such as `float` or `sequence(float)`."""
    kind = type.WhichOneof("value")
    if kind in ("sequence_type", "optional_type"):
        return f"{kind.removesuffix('_type')}({_type(getattr(type, kind).elem_type)})"
    return str(TensorProto.DataType.Name(type.tensor_type.elem_type)).lower()


def _size(dim: onnx.TensorShapeProto.Dimension) -> int | str:
    return dim.dim_value if dim.HasField("dim_value") else dim.dim_param or "?"
