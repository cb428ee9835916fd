"""The constants of a model: initializers, and what tensors in attributes hold, dense and sparse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper

from conformance.models.arrays import array_of
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from conformance.models.arrays import Array


MOST_ELEMENTS = 1 << 24
"""A sparse tensor that stands for more is not for this reference."""


def initializers_of(graph: onnx.GraphProto) -> dict[str, Array]:
    """A graph's initializers by name.

    Raises:
        Unsupported: one is stored outside of the model.
    """
    dense = {tensor.name: elements_of(tensor) for tensor in graph.initializer}
    return {**dense, **{tensor.values.name: dense_of(tensor) for tensor in graph.sparse_initializer}}


def elements_of(tensor: onnx.TensorProto) -> Array:
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
    values, indices, shape = elements_of(sparse.values), elements_of(sparse.indices), tuple(sparse.dims)
    if np.prod(shape, dtype=object) > MOST_ELEMENTS:
        raise Unsupported(f"a sparse tensor of shape {list(shape)}")
    dense = np.zeros(shape, dtype=values.dtype)
    try:
        dense[np.unravel_index(indices, shape) if indices.ndim == 1 else tuple(indices.T)] = values
    except (IndexError, ValueError) as error:
        raise Unsupported(f"a sparse tensor whose indices are not in it: {error}") from None
    return dense
