"""Tensors in messages and in files: raw elements, little-endian, in row-major order.

A message has the elements of a small tensor in base64. A large tensor is in a file, for harnesses that support it.
The suite writes an input with `write_tensor`. The harness writes an output, which the suite reads with
`take_tensor`, which also renames the file. The harness writes the next output into the renamed file, because the memory
of this file is already allocated.
"""

from __future__ import annotations

import os
from binascii import a2b_base64, b2a_base64
from contextlib import suppress
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.base.files.atomic_write import read_regular_into, storage_errors
from conformance.exact.models.arrays import dtype_of, type_name, type_number
from conformance.subjects.calling.harness import PACKED_ALIGNMENT, READ_SUFFIX, pack_elements, write_elements

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.exact.models.arrays import Array


@cache
def _dtype(name: str) -> np.dtype[Any]:
    return dtype_of(type_number(name))


def encode_tensor(name: str, array: Array) -> dict[str, Any]:
    """Return the message of a tensor, with its elements in base64.

    Raises:
        KeyError: ONNX has no such element type.
        ValueError: ONNX has no such element type, or the protocol does not support it (strings and objects).
    """
    if array.dtype.hasobject:
        raise ValueError("the protocol has no strings and no objects")
    data = b2a_base64(array.tobytes(), newline=False).decode("ascii")
    return {"name": name, "dtype": type_name(array.dtype), "shape": array.shape, "data": data}


def decode_tensor(message: Mapping[str, Any], limit: int | None = None) -> Array:
    """Return the tensor of a message that satisfies its schema, as a new writable array.

    Args:
        message: the message.
        limit: largest size of the elements in bytes, or None for no limit.

    Raises:
        ValueError: the data is not base64, is too long, or its length does not match type and shape. The text is a
            predicate: "has data that is not base64".
    """
    dtype = _dtype(message["dtype"])
    try:
        data = a2b_base64(message["data"], strict_mode=True)
    except ValueError as error:
        raise ValueError(f"has data that is not base64 ({error})") from None
    if limit is not None and len(data) > limit:
        raise ValueError(f"has more than {limit} bytes")
    shape = message["shape"]
    if len(data) != prod(shape) * dtype.itemsize:
        type = f"{message['dtype']} of shape {list(shape)}"
        raise ValueError(f"has {len(data)} bytes of data, which does not match {type}")
    return np.frombuffer(data, dtype).reshape(shape).copy()


def write_tensor(path: str, name: str, array: Array) -> dict[str, Any]:
    """Write a tensor to a new file, and return its message.

    Raises:
        KeyError: ONNX has no such element type.
        ValueError: ONNX has no such element type, or the array holds objects.
        StorageError: the file system cannot hold the file.
        OSError: the file cannot be written for another reason.
    """
    message = {"name": name, "dtype": type_name(array.dtype), "shape": array.shape, "file": path}
    _write_new(path, array)
    return message


def write_packed(path: str, named: Sequence[tuple[str, Array]]) -> list[dict[str, Any]]:
    """Write several tensors to one new file, and return their messages.

    Raises:
        KeyError, ValueError, StorageError, OSError: as for `write_tensor`.
    """
    messages = [{"name": name, "dtype": type_name(array.dtype), "shape": array.shape} for name, array in named]
    content, offsets = pack_elements([array for _, array in named])
    _write_new(path, content)
    return [{**message, "file": path, "offset": offset} for message, offset in zip(messages, offsets, strict=True)]


def _write_new(path: str, array: Array) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)  # noqa: PTH108
    with storage_errors(path):
        write_elements(path, os.O_EXCL, array)


def take_tensor(message: Mapping[str, Any], path: str, limit: int) -> Array:
    """Read the tensor of a message that satisfies its schema into a new array, and rename its file.

    Args:
        message: the message.
        path: path that the message must name.
        limit: largest size in bytes that is read, for all remaining outputs of the answer.

    Raises:
        ValueError: the message names another file, or the file cannot be read or has the wrong size. The text is a
            predicate: "has more than 10 bytes".
    """
    return take_packed([{**message, "offset": 0}], path, limit, padding=0)[0]


def take_packed(
    messages: Sequence[Mapping[str, Any]], path: str, limit: int, padding: int = PACKED_ALIGNMENT - 1
) -> list[Array]:
    """Read tensors that share a file, and rename the file. The tensors share memory.

    Args:
        messages: the messages of all tensors in the file, which satisfy their schema and have an offset.
        path: as for `take_tensor`.
        limit: as for `take_tensor`.
        padding: largest number of bytes after the last tensor.

    Raises:
        ValueError: as for `take_tensor`.
    """
    types = [_dtype(message["dtype"]) for message in messages]
    sizes = [prod(message["shape"]) * dtype.itemsize for message, dtype in zip(messages, types, strict=True)]
    end = max(message["offset"] + size for message, size in zip(messages, sizes, strict=True))
    if any(message["file"] != path for message in messages):
        raise ValueError("is in a file that was not requested")
    if max(sum(sizes), end) > limit:
        raise ValueError(f"has more than {limit} bytes")
    content = np.empty(end, np.uint8)
    try:
        length = read_regular_into(path, content.data)
        os.rename(path, f"{path}{READ_SUFFIX}")  # noqa: PTH104
    except OSError as error:
        raise ValueError(f"has a file that cannot be read ({error.strerror})") from None
    if not end <= length <= end + padding:
        described = " and ".join(f"{message['dtype']} of shape {list(message['shape'])}" for message in messages[:2])
        raise ValueError(f"has a file of {length} bytes, which does not match {described}")
    return [
        content[message["offset"] : message["offset"] + size].view(dtype).reshape(message["shape"])
        for message, dtype, size in zip(messages, types, sizes, strict=True)
    ]
