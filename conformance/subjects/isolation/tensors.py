"""Values in messages, and tensors in files: raw elements, little-endian, in row-major order.

A message has the elements of a small tensor in base64, and those of a tensor of strings as texts. A large tensor of
numbers is in a file, for harnesses that support it. A sequence or a map consists of such messages.
The suite writes an input with `write_tensor`. The harness writes an output, which the suite reads with
`take_tensor`, which also renames the file. The harness writes the next output into the renamed file, because the memory
of this file is already allocated.
"""

from __future__ import annotations

import os
from binascii import a2b_base64
from contextlib import suppress
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.base.files.atomic_write import read_regular_into, storage_errors
from conformance.exact.models.arrays import dtype_of, type_name, type_number, value_byte_count
from conformance.subjects.calling.harness import (
    PACKED_ALIGNMENT,
    READ_SUFFIX,
    pack_elements,
    text_array,
    value_message,
    write_elements,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.exact.models.arrays import Array, Value


@cache
def _dtype(name: str) -> np.dtype[Any]:
    return dtype_of(type_number(name))


def encode_value(name: str, value: Value) -> dict[str, Any]:
    """Return the message of a value with all its elements.

    Raises:
        ValueError: the value has no ONNX type.
    """
    message = value_message(value)
    if message is None:
        raise ValueError(f"a {getattr(value, 'dtype', type(value).__name__)} is not a value of an ONNX type")
    return {**message, "name": name}


def decode_value(message: Mapping[str, Any], limit: int | None = None) -> Value:
    """Return the value of a message that satisfies its schema; arrays are new and writable.

    Args:
        message: the message.
        limit: largest size of the elements in bytes, or None for no limit.

    Raises:
        ValueError: the elements are not encoded as they must be, are too many, or do not match type and shape. The text
            is a predicate: "has data that is not base64".
    """
    if "sequence" in message:
        parts = []
        for each in message["sequence"]:
            parts.append(decode_value(each, limit))
            limit = None if limit is None else limit - value_byte_count(parts[-1])
        return parts
    if "map" in message:
        keys, values = (decode_value(message["map"][part], limit) for part in ("keys", "values"))
        if keys.shape != values.shape or keys.ndim != 1:
            raise ValueError(f"is a map with keys of shape {list(keys.shape)} and values of shape {list(values.shape)}")
        return dict(zip(keys.tolist(), values.tolist(), strict=True))
    if "empty" in message:
        return None
    return _decode_texts(message, limit) if message["dtype"] == "string" else _decode_elements(message, limit)


def _decode_texts(message: Mapping[str, Any], limit: int | None) -> Array:
    texts = message.get("texts", ())
    try:
        count = sum(len(text.encode()) for text in texts)
    except UnicodeError:
        raise ValueError("has a text that is not Unicode") from None
    if limit is not None and count > limit:
        raise ValueError(f"has more than {limit} bytes")
    if len(texts) != prod(message["shape"]):
        raise ValueError(f"has {len(texts)} texts, which does not match the shape {list(message['shape'])}")
    array: Array = text_array(texts, message["shape"])
    return array


def _decode_elements(message: Mapping[str, Any], limit: int | None) -> Array:
    dtype = _dtype(message["dtype"])
    try:
        data = a2b_base64(message.get("data", ""), strict_mode=True)
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
        ValueError: ONNX has no such element type, or the array contains objects.
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
