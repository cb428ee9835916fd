"""Arrays and their ONNX element types: the names by which cases and reports call them."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import onnx

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


@cache
def type_name(dtype: np.dtype[Any]) -> str:
    """ONNX's name of an element type, in lower case, as in `tensor(float)`.

    Raises:
        KeyError: ONNX has no such element type.
    """
    return str(onnx.TensorProto.DataType.Name(onnx.helper.np_dtype_to_tensor_dtype(dtype))).lower()


def type_number(name: str) -> int:
    """The number in `TensorProto.DataType` of a type's lower-case name."""
    return int(onnx.TensorProto.DataType.Value(name.upper()))


@cache
def dtype_of(elem_type: int) -> np.dtype[Any]:
    """The NumPy type of an element type given by its number in `TensorProto.DataType`."""
    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(elem_type))


def objects(elements: Iterable[Any], shape: Sequence[int]) -> Array:
    """An array of arbitrary objects, in row-major order."""
    return np.fromiter(elements, dtype=object, count=prod(shape)).reshape(shape)
