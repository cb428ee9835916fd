"""Tensors as the protocol carries them: a name, an element type, a shape, and the elements in base64."""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.models.arrays import dtype_of, type_name, type_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.models.arrays import Array


@cache
def _dtype(name: str) -> np.dtype[Any]:
    return dtype_of(type_number(name))


def encoded(name: str, array: Array) -> dict[str, Any]:
    """A tensor's message.

    Raises:
        KeyError: ONNX has no such element type.
        ValueError: likewise, or the protocol has not, as of strings.
    """
    if array.dtype.hasobject:
        raise ValueError("the protocol has no strings and no objects")
    data = b2a_base64(array.tobytes(), newline=False).decode("ascii")
    return {"name": name, "dtype": type_name(array.dtype), "shape": array.shape, "data": data}


def decoded(message: Mapping[str, Any]) -> Array:
    """The tensor of a message that satisfies its schema: a writable array of its own.

    Raises:
        ValueError: its data is not base64, or not as long as its type and shape say; the text is one sentence's end.
    """
    dtype = _dtype(message["dtype"])
    try:
        data = a2b_base64(message["data"], strict_mode=True)
    except ValueError as error:
        raise ValueError(f"has data that is not base64 ({error})") from None
    shape = message["shape"]
    if len(data) != prod(shape) * dtype.itemsize:
        raise ValueError(
            f"has {len(data)} bytes of data, which is not what {message['dtype']} of shape {list(shape)} has"
        )
    return np.frombuffer(data, dtype).reshape(shape).copy()
