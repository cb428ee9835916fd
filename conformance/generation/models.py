"""Models with pinned IR version and opsets, so that their bytes do not depend on the installed onnx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import onnx
from ml_dtypes import bfloat16
from onnx import helper

from conformance.models.arrays import Array, tensor_of, type_name, type_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Size: TypeAlias = "int | str | None"
"""Of a dimension: how many, a symbol, or open."""
IR_VERSION = 8
TYPES: Mapping[Any, str] = {
    np.float32: "float",
    np.float64: "double",
    np.float16: "float16",
    bfloat16: "bfloat16",
}


def declared(name: str, array: Array) -> onnx.ValueInfoProto:
    """A graph input or output of an array's type and shape."""
    return helper.make_tensor_value_info(name, type_number(type_name(array.dtype)), array.shape)


def declared_as(name: str, type: str, shape: Sequence[Size]) -> onnx.ValueInfoProto:
    """A graph input or output of a type given by its ONNX name in lower case.

    Args:
        shape: sizes, names of symbolic dimensions, and None for open ones.
    """
    return helper.make_tensor_value_info(name, type_number(type), shape)


def argmax_shape(shape: Sequence[Size], axis: int, keepdims: int) -> list[Size]:
    """The shape of ArgMax's output."""
    axis %= len(shape)
    return [*shape[:axis], *([1] if keepdims else []), *shape[axis + 1 :]]


def model(
    name: str,
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    opsets: Mapping[str, int],
    initializers: Mapping[str, Array] | None = None,
    functions: Sequence[onnx.FunctionProto] = (),
    ir_version: int = IR_VERSION,
    value_info: Sequence[onnx.ValueInfoProto] = (),
    sparse: Sequence[onnx.SparseTensorProto] = (),
) -> bytes:
    """A serialised model of these nodes.

    Args:
        opsets: version by domain.
        initializers: constants by name.
        functions: model-local ones.
        value_info: what the model says of intermediate tensors.
        sparse: sparse constants.
    """
    constants = [tensor_of(array, name) for name, array in (initializers or {}).items()]
    graph = helper.make_graph(
        nodes, name, inputs, outputs, constants, value_info=list(value_info), sparse_initializer=list(sparse)
    )
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    proto = helper.make_model(
        graph, functions=functions, producer_name="onnx-conformance", ir_version=ir_version, opset_imports=imports
    )
    return bytes(proto.SerializeToString(deterministic=True))
