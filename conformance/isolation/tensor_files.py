"""Large tensors in files, for harnesses that support it: raw elements, little-endian, in row-major order.

The suite writes an input with `write_tensor`; the harness maps it with `map_tensor`. The harness writes an output with
`overwrite_tensor`; the suite reads it with `take_tensor`, which also renames the file. The harness writes the next
output into the renamed file, because the memory of this file is already allocated.
"""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.files.atomic_write import read_regular_into, storage_errors
from conformance.models.arrays import dtype_of, type_name, type_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.models.arrays import Array

FILE_THRESHOLD_BYTES = 2**20
"""Size from which a tensor goes to a file instead of into the message."""

READ_SUFFIX = ".read"
"""Suffix that the suite appends to the name of an output file after reading it."""


def write_tensor(path: str, name: str, array: Array) -> dict[str, Any]:
    """Write a tensor to a new file, and return its message.

    Raises:
        KeyError: ONNX has no such element type.
        ValueError: ONNX has no such element type, or the array holds objects.
        StorageError: the file system cannot hold the file.
        OSError: the file cannot be written for another reason.
    """
    message = _message(path, name, array)
    with suppress(FileNotFoundError):
        os.unlink(path)  # noqa: PTH108
    with storage_errors(path):
        _write(path, os.O_EXCL, array)
    return message


def overwrite_tensor(path: str, name: str, array: Array) -> dict[str, Any]:
    """Write an output tensor to a file, and return its message. A harness calls this function.

    If the suite has renamed an earlier output file, that file is overwritten and renamed back.

    Raises:
        KeyError, ValueError: as for `write_tensor`.
        OSError: the file cannot be written.
    """
    message = _message(path, name, array)
    with suppress(FileNotFoundError):
        os.rename(f"{path}{READ_SUFFIX}", path)  # noqa: PTH104
    _write(path, 0, array)
    return message


def _message(path: str, name: str, array: Array) -> dict[str, Any]:
    return {"name": name, "dtype": type_name(array.dtype), "shape": array.shape, "file": path}


def _write(path: str, flags: int, array: Array) -> None:
    rest = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    size = len(rest)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | flags, 0o644)
    with os.fdopen(descriptor, "wb", buffering=0) as stream:
        while rest:
            rest = rest[stream.write(rest) :]
        stream.truncate(size)


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
    dtype, shape = dtype_of(type_number(message["dtype"])), message["shape"]
    size = prod(shape) * dtype.itemsize
    if message["file"] != path:
        raise ValueError("is in a file that was not requested")
    if size > limit:
        raise ValueError(f"has more than {limit} bytes")
    content = np.empty(size, np.uint8)
    try:
        length = read_regular_into(path, content.data)
        os.rename(path, f"{path}{READ_SUFFIX}")  # noqa: PTH104
    except OSError as error:
        raise ValueError(f"has a file that cannot be read ({error.strerror})") from None
    if length != size:
        type = f"{message['dtype']} of shape {list(shape)}"
        raise ValueError(f"has a file of {length} bytes, which does not match {type}")
    return content.view(dtype).reshape(shape)


def map_tensor(message: Mapping[str, Any]) -> Array:
    """Map the file of an input into memory; return a writable array, whose changes are not written to the file."""
    with open(message["file"], "rb") as stream:  # noqa: PTH123
        content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
    return np.frombuffer(content, dtype_of(type_number(message["dtype"]))).reshape(message["shape"])


def is_unchanged(message: Mapping[str, Any], array: Array) -> bool:
    """Return whether a mapped array still has the elements of its file."""
    given, seen = map_tensor(message).reshape(-1).view(np.uint8), array.reshape(-1).view(np.uint8)
    word = np.uint64 if given.size % 8 == 0 else np.uint8
    return bool(np.array_equal(given.view(word), seen.view(word)))
