"""Models with pinned IR version and opsets, so that their bytes do not depend on the installed onnx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from conformance.arrays import Array, tensor_of, type_name, type_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

IR_VERSION = 8
TYPES: Mapping[Any, str] = {np.float32: "float", np.float64: "double"}


def declared(name: str, array: Array) -> onnx.ValueInfoProto:
    """A graph input or output of an array's type and shape."""
    return helper.make_tensor_value_info(name, type_number(type_name(array.dtype)), array.shape)


def declared_as(name: str, type: str, shape: Sequence[int]) -> onnx.ValueInfoProto:
    """A graph input or output of a type given by its ONNX name in lower case."""
    return helper.make_tensor_value_info(name, type_number(type), shape)


def model(
    name: str,
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    opsets: Mapping[str, int],
    initializers: Mapping[str, Array] | None = None,
    functions: Sequence[onnx.FunctionProto] = (),
    ir_version: int = IR_VERSION,
) -> bytes:
    """A serialised model of these nodes.

    Args:
        opsets: version by domain.
        initializers: constants by name.
        functions: model-local ones.
    """
    constants = [tensor_of(array, name) for name, array in (initializers or {}).items()]
    graph = helper.make_graph(nodes, name, inputs, outputs, constants)
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    proto = helper.make_model(
        graph, functions=functions, producer_name="onnx-conformance", ir_version=ir_version, opset_imports=imports
    )
    return bytes(proto.SerializeToString(deterministic=True))
