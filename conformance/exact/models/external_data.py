"""External data: tensors of a model whose elements are in other files of its folder, mapped into memory when needed."""

from __future__ import annotations

import math
import mmap
import os
import re
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import onnx
from onnx.helper import get_all_tensor_dtypes, make_tensor_value_info

from conformance.base.errors import ModelError
from conformance.base.files.atomic_write import open_below
from conformance.exact.models.arrays import Array, check_shape, dtype_of, element_type_text
from conformance.exact.models.graphs import all_tensors, copy_of
from conformance.exact.models.input_files import initializer_arrays, tensor_elements

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path


def external_tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Yield the tensors of a model that are in external data."""
    return (tensor for tensor in all_tensors(model) if tensor.data_location == onnx.TensorProto.EXTERNAL)


def load_external_data(model: onnx.ModelProto, folder: Path) -> None:
    """Load the tensors of a model that are in external data, in place.

    Raises:
        ModelError: a tensor cannot be read; see `external_bytes`.
    """
    for tensor in external_tensors(model):
        load_tensor(tensor, external_bytes(tensor, folder))


def load_tensor(tensor: onnx.TensorProto, content: Array) -> None:
    """Store the bytes of a tensor in external data in the tensor itself."""
    tensor.raw_data = content.tobytes()
    tensor.data_location = onnx.TensorProto.DEFAULT
    del tensor.external_data[:]


def move_to_file(tensors: Iterable[onnx.TensorProto], file: Path) -> None:
    """Write the elements of tensors to a new file, and let the tensors refer to it, in place.

    Each tensor begins at a page of memory, so that a runtime can map it.

    Args:
        tensors: tensors with `raw_data`.
        file: the file, in the folder that becomes the folder of the external data.
    """
    with file.open("xb") as stream:
        for tensor in tensors:
            offset = -stream.tell() % _PAGE_BYTES + stream.tell()
            stream.seek(offset)
            entries = {"location": file.name, "offset": str(offset), "length": str(stream.write(tensor.raw_data))}
            tensor.ClearField("raw_data")
            tensor.data_location = onnx.TensorProto.EXTERNAL
            for key, value in entries.items():
                tensor.external_data.add(key=key, value=value)


_PAGE_BYTES = 4096


def without_external_data(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a model in which the initializers in external data are inputs, as onnx's checker needs it.

    It is the model itself if none of its initializers is in external data.
    """
    if all(tensor.data_location != onnx.TensorProto.EXTERNAL for tensor in model.graph.initializer):
        return model
    copy = copy_of(model)
    declared = {value.name for value in model.graph.input}
    for place in range(len(copy.graph.initializer) - 1, -1, -1):
        tensor = copy.graph.initializer[place]
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            if tensor.name not in declared:
                copy.graph.input.append(make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
            del copy.graph.initializer[place]
    return copy


def map_external_tensor(tensor: onnx.TensorProto, folder: Path) -> Array:
    """Return the elements of a tensor in external data, mapped into memory; they cannot be changed.

    Elements that share a byte are written to a temporary file, with a byte for each.

    Args:
        tensor: the tensor.
        folder: the folder of the model.

    Raises:
        ModelError: the file cannot be used; see `external_bytes`.
    """
    content = external_bytes(tensor, folder)
    if is_packed(tensor):
        try:
            content = mapped_bytes(part.view(np.uint8) for part in _unpacked_parts(tensor, content))
        except OSError as error:
            raise _unreadable(tensor, error.strerror or error) from None
    return content.view(dtype_of(tensor.data_type)).reshape(tuple(tensor.dims))


def _unpacked_parts(tensor: onnx.TensorProto, content: Array) -> Iterator[Array]:
    """Yield the elements of a tensor of packed elements, in parts whose elements fill whole bytes."""
    bits = _bits_of(tensor)
    count = math.prod(tensor.dims)
    for start in range(0, content.size, _PART_BYTES):
        part = content[start : start + _PART_BYTES]
        size = min(part.size * 8 // bits, count - start * 8 // bits)
        yield tensor_elements(onnx.TensorProto(data_type=tensor.data_type, dims=[size], raw_data=part.tobytes()))


_PART_BYTES = 3 * 2**20


def mapped_bytes(parts: Iterable[Array]) -> Array:
    """Return bytes that are mapped from a temporary file, which ends with the last array that shares them.

    Args:
        parts: the bytes, in parts.

    Raises:
        OSError: the file cannot be written.
    """
    with TemporaryFile() as file:
        for part in parts:
            file.write(part.data)
        file.flush()
        size = file.tell()
        return (
            np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
            if size
            else np.empty(0, np.uint8)
        )


def is_packed(tensor: onnx.TensorProto) -> bool:
    """Return whether several elements of a tensor share a byte."""
    return _type_of(tensor) in _PACKED_BITS


def external_bytes(tensor: onnx.TensorProto, folder: Path) -> Array:
    """Return the bytes of a tensor in external data, mapped into memory; they cannot be changed.

    The file must be a regular file below the folder that has no other name, and no part of its path may be a link.

    Args:
        tensor: the tensor.
        folder: the folder of the model.

    Raises:
        ModelError: the file is not such a file, or the entries of the tensor contradict its shape or the file.
    """
    entries = {entry.key: entry.value for entry in tensor.external_data}
    try:
        size = _size_of(tensor, entries)
        offset = _number(entries, "offset", 0)
        with open_below(folder, entries.get("location", "")) as stream:
            if os.fstat(stream.fileno()).st_nlink != 1:
                raise ValueError("the file has a second name")  # noqa: TRY301 - one message
            return _map(stream, offset, size)
    except (ValueError, OSError) as error:
        raise _unreadable(tensor, error.strerror if isinstance(error, OSError) and error.strerror else error) from None


def _unreadable(tensor: onnx.TensorProto, reason: object) -> ModelError:
    return ModelError("external-data", name=tensor.name, reason=str(reason).rstrip(". "))


def _size_of(tensor: onnx.TensorProto, entries: Mapping[str, str]) -> int:
    """Return the number of bytes that the type and shape of a tensor need.

    Raises:
        ValueError: the length in the entries is another number.
    """
    size = needed_bytes(tensor)
    if _number(entries, "length", size) != size:
        raise ValueError(f"its length is {entries['length']}, and its type and shape need {size} bytes")
    return size


def needed_bytes(tensor: onnx.TensorProto) -> int:
    """Return the number of bytes that the type and shape of a tensor need.

    Raises:
        ValueError: the shape is impossible, or elements of the type cannot be in a file.
    """
    check_shape(tensor.dims)
    size: int = (math.prod(tensor.dims) * _bits_of(tensor) + 7) // 8
    return size


def _map(stream: BinaryIO, offset: int, size: int) -> Array:
    """Map a part of an open file into memory.

    Raises:
        ValueError: the file is too short.
    """
    if offset + size > os.fstat(stream.fileno()).st_size:
        raise ValueError("it is too short")
    if not size:
        return np.empty(0, np.uint8)
    return np.asarray(np.memmap(stream, np.uint8, "r", offset, (size,)))


def _number(entries: Mapping[str, str], key: str, default: int) -> int:
    text = entries.get(key, "")
    if not re.fullmatch("[0-9]{0,18}", text, re.ASCII):
        raise ValueError(f"its {key} is not a number")
    return int(text) if text else default


def _bits_of(tensor: onnx.TensorProto) -> int:
    """Return the number of bits of an element.

    Raises:
        ValueError: the elements are strings, or of an unknown type.
    """
    if is_packed(tensor):
        return _PACKED_BITS[_type_of(tensor)]
    if tensor.data_type not in get_all_tensor_dtypes() or dtype_of(tensor.data_type).kind == "O":
        raise ValueError(f"elements of type {_type_of(tensor)} cannot be in a file")
    return dtype_of(tensor.data_type).itemsize * 8


def _type_of(tensor: onnx.TensorProto) -> str:
    return element_type_text(tensor.data_type)


_PACKED_BITS = {"int4": 4, "uint4": 4, "float4e2m1": 4, "int2": 2, "uint2": 2, "float6e2m3": 6, "float6e3m2": 6}
"""Bits of an element, by type, if several elements share a byte."""


def initializer_arrays_in(graph: onnx.GraphProto, folder: Path | None) -> dict[str, Array]:
    """Return the initializers of a graph by name; those in external data are mapped into memory.

    Args:
        graph: the graph.
        folder: the folder of external data; None if the graph has none.

    Raises:
        Unsupported: an initializer is in external data without a folder, or a sparse one cannot be converted.
        ModelError: external data cannot be used; see `map_external_tensor`.
    """

    def read(tensor: onnx.TensorProto) -> Array:
        if folder is None or tensor.data_location != onnx.TensorProto.EXTERNAL:
            return tensor_elements(tensor)
        return map_external_tensor(tensor, folder)

    return initializer_arrays(graph, read)
