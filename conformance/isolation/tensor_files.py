"""Tensors in files, where a harness takes and gives such: the bytes as they are, little-endian, in row-major order."""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.files.regular import read_regular_into
from conformance.models.arrays import dtype_of, type_name, type_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.models.arrays import Array

LARGE = 2**20
"""Bytes from which on a tensor goes into a file."""


READ = ".read"
"""What the name of a file gets behind it when it was read: the next one is written over it, where there is memory."""


def put(path: str, name: str, array: Array) -> dict[str, Any]:
    """Write a tensor into a new file, and return its message.

    Raises:
        KeyError: ONNX has no such element type.
        ValueError: likewise, or it has objects.
        OSError: the file cannot be written.
    """
    message = _message(path, name, array)
    with suppress(FileNotFoundError):
        os.unlink(path)  # noqa: PTH108
    _write(path, os.O_EXCL, array)
    return message


def put_again(path: str, name: str, array: Array) -> dict[str, Any]:
    """In a harness: write a tensor over the file that was read before, if there is one, and return its message.

    Raises:
        KeyError, ValueError, OSError: as `put` says.
    """
    message = _message(path, name, array)
    with suppress(FileNotFoundError):
        os.rename(f"{path}{READ}", path)  # noqa: PTH104
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


def taken(message: Mapping[str, Any], path: str, largest: int) -> Array:
    """The tensor of a message that satisfies its schema: a writable array of its own. Its file gets another name.

    Args:
        path: where the file has to be.
        largest: bytes of the longest file that is read.

    Raises:
        ValueError: it is another file, cannot be read, or is not as long as it should be; the text is a sentence's end.
    """
    dtype, shape = dtype_of(type_number(message["dtype"])), message["shape"]
    size = prod(shape) * dtype.itemsize
    if message["file"] != path:
        raise ValueError("is in a file that was not asked for")
    if size > largest:
        raise ValueError(f"has more than {largest} bytes")
    content = np.empty(size, np.uint8)
    try:
        length = read_regular_into(path, content.data)
        os.rename(path, f"{path}{READ}")  # noqa: PTH104
    except OSError as error:
        raise ValueError(f"has a file that cannot be read ({error.strerror})") from None
    if length != size:
        type = f"{message['dtype']} of shape {list(shape)}"
        raise ValueError(f"has a file of {length} bytes, which is not what {type} has")
    return content.view(dtype).reshape(shape)


def mapped(message: Mapping[str, Any]) -> Array:
    """In a harness: the tensor of a message, as an array that may be written to, which leaves the file as it is."""
    with open(message["file"], "rb") as stream:  # noqa: PTH123
        content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
    return np.frombuffer(content, dtype_of(type_number(message["dtype"]))).reshape(message["shape"])


def is_as_given(message: Mapping[str, Any], array: Array) -> bool:
    """In a harness: whether an array that was mapped is as it was."""
    given, seen = mapped(message).reshape(-1).view(np.uint8), array.reshape(-1).view(np.uint8)
    word = np.uint64 if given.size % 8 == 0 else np.uint8
    return bool(np.array_equal(given.view(word), seen.view(word)))
