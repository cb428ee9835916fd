"""Large tensors in files, for harnesses that support it: raw elements, little-endian, in row-major order.

The suite writes an input with `write_tensor`. The harness writes an output, which the suite reads with
`take_tensor`, which also renames the file. The harness writes the next output into the renamed file, because the memory
of this file is already allocated.
"""

from __future__ import annotations

import os
from contextlib import suppress
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.files.atomic_write import read_regular_into, storage_errors
from conformance.models.arrays import dtype_of, type_name, type_number
from conformance.subjects.harness import READ_SUFFIX, write_elements

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.models.arrays import Array


def write_tensor(path: str, name: str, array: Array) -> dict[str, Any]:
    """Write a tensor to a new file, and return its message.

    Raises:
        KeyError: ONNX has no such element type.
        ValueError: ONNX has no such element type, or the array holds objects.
        StorageError: the file system cannot hold the file.
        OSError: the file cannot be written for another reason.
    """
    message = {"name": name, "dtype": type_name(array.dtype), "shape": array.shape, "file": path}
    with suppress(FileNotFoundError):
        os.unlink(path)  # noqa: PTH108
    with storage_errors(path):
        write_elements(path, os.O_EXCL, array)
    return message


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
