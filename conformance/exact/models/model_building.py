"""Functions that generators use to build models and input data.

Models have fixed IR and opset versions, and data are computed without a random number library. So the bytes of a model
and of its data do not depend on the installed onnx and NumPy.
"""

from __future__ import annotations

from hashlib import sha256
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import onnx
from onnx import helper

from conformance.exact.models.arrays import Array, tensor_of, type_name, type_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


DimensionSize: TypeAlias = "int | str | None"
"""Size of a dimension: a number, a symbolic name, or None if unknown."""
Size = TypeVar("Size", int, DimensionSize)
IR_VERSION = 8
"""Default IR version of generated models."""


def array_value_info(name: str, array: Array) -> onnx.ValueInfoProto:
    """Return the declaration of a graph input or output with the type and shape of an array."""
    return helper.make_tensor_value_info(name, type_number(type_name(array.dtype)), array.shape)


def make_value_info(name: str, type: str, shape: Sequence[DimensionSize]) -> onnx.ValueInfoProto:
    """Return the declaration of a graph input or output.

    Args:
        name: name of the value.
        type: lower-case name of the ONNX element type.
        shape: sizes of the dimensions.
    """
    return helper.make_tensor_value_info(name, type_number(type), shape)


def make_ordered_node(
    op_type: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    attributes: Mapping[str, Any],
    domain: str | None = None,
) -> onnx.NodeProto:
    """Return a node whose attributes have the given order; `onnx.helper.make_node` sorts them."""
    node = helper.make_node(op_type, inputs, outputs, domain=domain)
    node.attribute.extend(helper.make_attribute(*each) for each in attributes.items())
    return node


def argmax_shape(shape: Sequence[Size], axis: int, keepdims: int) -> list[Size]:
    """Return the shape of ArgMax's output for an input of this shape."""
    axis %= len(shape)
    sizes: list[Size] = list(shape)
    sizes[axis : axis + 1] = [1] if keepdims else []
    return sizes


def build_model(
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
    """Build a model and serialise it.

    Args:
        name: name of the graph.
        nodes: nodes in topological order.
        inputs: graph inputs.
        outputs: graph outputs.
        opsets: opset version by domain.
        initializers: constants by name.
        functions: model-local functions.
        ir_version: IR version of the model.
        value_info: declarations of intermediate values.
        sparse: sparse initializers.
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


SPLITMIX64_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
"""The difference of two states of the generator SplitMix64 (Steele, Lea and Flood, 2014)."""


BLOCK_ELEMENTS = 2**20
"""Number of pseudo-random numbers that are computed together, which takes 50 bytes for each of them."""


def pseudo_random_array(name: str, shape: Sequence[int], dtype: Any, low: float = -2.0, high: float = 2.0) -> Array:
    """Return pseudo-random numbers in [low, high) that depend only on `name` and use all bits of the type.

    `high - low` must be a power of two. Then only the final conversion to `dtype` rounds.
    """
    seed = np.uint64(int.from_bytes(sha256(name.encode()).digest()[:8], "big"))
    numbers = np.empty(prod(shape), dtype)
    for start in range(0, numbers.size, BLOCK_ELEMENTS):
        block = numbers[start : start + BLOCK_ELEMENTS]
        with np.errstate(over="ignore"):
            counters = np.arange(start + 1, start + 1 + block.size, dtype=np.uint64) * SPLITMIX64_INCREMENT + seed
        block[...] = (low + unit_fractions(splitmix64(counters)) * (high - low)).astype(dtype)
    return numbers.reshape(tuple(shape))


def splitmix64(x: Array) -> Array:
    """Return the output function of SplitMix64 for each element: bits of which each depends on all given bits."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def unit_fractions(bits: Array) -> Array:
    """Return a number from 0 to less than 1 for 64 bits; it has the first 53 of them."""
    return np.asarray((bits >> np.uint64(11)).astype(np.float64) * 2.0**-53)
