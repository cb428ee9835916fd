"""The constants of a model: initializers and the operator Constant, dense and sparse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from conformance.models.arrays import array_of
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.models.arrays import Array
    from conformance.reference.nodes import Node
    from conformance.reference.numbers.values import NumberSystem, Value

MOST_ELEMENTS = 1 << 24
"""A sparse tensor that stands for more is not for this reference."""


def initializers_of(graph: onnx.GraphProto) -> dict[str, Array]:
    """A graph's initializers by name.

    Raises:
        Unsupported: one is stored outside of the model.
    """
    dense = {tensor.name: tensor_of(tensor) for tensor in graph.initializer}
    return {**dense, **{tensor.values.name: dense_of(tensor) for tensor in graph.sparse_initializer}}


def tensor_of(tensor: onnx.TensorProto) -> Array:
    """A tensor's elements, or its bytes if the installed onnx is older than its type, with which nothing computes then.

    Raises:
        Unsupported: they are stored outside of the model.
    """
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raise Unsupported("a tensor is stored outside of the model")
    if tensor.data_type not in helper.get_all_tensor_dtypes():
        return np.frombuffer(tensor.raw_data, dtype=np.uint8)
    return array_of(tensor)


def dense_of(sparse: onnx.SparseTensorProto) -> Array:
    """A sparse tensor's elements, zeros included; indices count elements, or are rows of coordinates.

    Raises:
        Unsupported: it is too large, or its indices are not in it.
    """
    values, indices, shape = tensor_of(sparse.values), tensor_of(sparse.indices), tuple(sparse.dims)
    if np.prod(shape, dtype=object) > MOST_ELEMENTS:
        raise Unsupported(f"a sparse tensor of shape {list(shape)}")
    dense = np.zeros(shape, dtype=values.dtype)
    try:
        dense[np.unravel_index(indices, shape) if indices.ndim == 1 else tuple(indices.T)] = values
    except (IndexError, ValueError) as error:
        raise Unsupported(f"a sparse tensor whose indices are not in it: {error}") from None
    return dense


def constant(node: Node, _: list[Value], system: NumberSystem) -> list[Value]:
    """The operator Constant, which has one attribute of several kinds."""
    ((name, value),) = node.attributes.items()
    if name not in _KINDS:
        raise Unsupported(f"Constant with the attribute {name}")
    return [system.entering(np.asarray(value, dtype=_KINDS[name]))]


_KINDS: Mapping[str, Any] = {
    "value": None,
    "sparse_value": None,
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_int": np.int64,
    "value_ints": np.int64,
    "value_string": object,
    "value_strings": object,
}
