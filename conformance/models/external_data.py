"""External data: tensors of a model whose elements are in other files of its folder, mapped into memory when needed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import onnx

from conformance.models.arrays import dtype_of
from conformance.models.graphs import all_graphs
from conformance.models.inputs import dense_array, tensor_elements

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conformance.models.arrays import Array


def external_tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Yield the tensors of a model that are in external data: initializers and attributes, also of subgraphs."""
    for graph in all_graphs(model):
        tensors = [*graph.initializer]
        for node in graph.node:
            for attribute in node.attribute:
                tensors += [attribute.t] if attribute.HasField("t") else attribute.tensors
        yield from (tensor for tensor in tensors if tensor.data_location == onnx.TensorProto.EXTERNAL)


def map_external_tensor(tensor: onnx.TensorProto, folder: Path) -> Array:
    """Return the elements of a tensor in external data, mapped into memory; they cannot be changed.

    Args:
        tensor: the tensor.
        folder: the folder of the model.

    Raises:
        ValueError: the file is outside of the folder, is not a file, or lacks elements, or the type is packed.
        OSError: the file cannot be read.
    """
    entries = {entry.key: entry.value for entry in tensor.external_data}
    root = folder.resolve()
    file = (root / entries.get("location", "")).resolve()
    if not file.is_relative_to(root):
        raise ValueError(f"{entries.get('location')} is outside of the folder of the model")
    if not file.is_file():
        raise ValueError(f"{entries.get('location')} is not a file")
    dtype, shape = dtype_of(tensor.data_type), tuple(tensor.dims)
    if dtype.kind == "O" or tensor.data_type in _PACKED:
        raise ValueError(f"{tensor.name} has elements that cannot be mapped")
    offset, size = int(entries.get("offset", "0") or 0), math.prod(shape) * dtype.itemsize
    if min(offset, *shape, 0) < 0 or offset + size > file.stat().st_size:
        raise ValueError(f"{entries.get('location')} is too short for {tensor.name}")
    if not size:
        return np.empty(shape, dtype)
    return np.asarray(np.memmap(file, np.uint8, "r", offset, (size,))).view(dtype).reshape(shape)


_PACKED = {
    number
    for name, number in onnx.TensorProto.DataType.items()
    if name in {"INT4", "UINT4", "INT2", "UINT2", "FLOAT4E2M1"}
}
"""Element types of which several elements share a byte."""


def initializer_arrays_in(graph: onnx.GraphProto, folder: Path | None) -> dict[str, Array]:
    """Return the initializers of a graph by name; those in external data are mapped into memory.

    Args:
        graph: the graph.
        folder: the folder of external data; None if the graph has none.

    Raises:
        Unsupported: an initializer is in external data without a folder, or a sparse one cannot be converted.
        ValueError: external data cannot be used; see `map_external_tensor`.
        OSError: a file cannot be read.
    """
    dense = {
        tensor.name: map_external_tensor(tensor, folder)
        if folder is not None and tensor.data_location == onnx.TensorProto.EXTERNAL
        else tensor_elements(tensor)
        for tensor in graph.initializer
    }
    return {**dense, **{tensor.values.name: dense_array(tensor) for tensor in graph.sparse_initializer}}
