"""Arrays and their ONNX element types: the names by which cases and reports call them, and tensors in messages.

A bfloat16 array is one of `ml_dtypes`, whatever the installed onnx makes of such a tensor: onnx 1.18 has no arithmetic
for it.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import ml_dtypes
import numpy as np
import onnx
from onnx import numpy_helper

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


BFLOAT16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)


@cache
def type_name(dtype: np.dtype[Any]) -> str:
    """ONNX's name of an element type, in lower case, as in `tensor(float)`.

    Raises:
        KeyError: ONNX has no such element type.
    """
    if dtype == BFLOAT16:
        return "bfloat16"
    return str(onnx.TensorProto.DataType.Name(onnx.helper.np_dtype_to_tensor_dtype(dtype))).lower()


@cache
def type_number(name: str) -> int:
    """The number in `TensorProto.DataType` of a type's lower-case name."""
    return int(onnx.TensorProto.DataType.Value(name.upper()))


@cache
def dtype_of(elem_type: int) -> np.dtype[Any]:
    """The NumPy type of an element type given by its number in `TensorProto.DataType`."""
    if elem_type == onnx.TensorProto.BFLOAT16:
        return BFLOAT16
    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(elem_type))


def array_of(tensor: onnx.TensorProto) -> Array:
    """A tensor's elements.

    Raises:
        ValueError: they are stored outside of the message, or are not as many as its shape says.
    """
    array = numpy_helper.to_array(tensor)
    return array.view(BFLOAT16) if tensor.data_type == onnx.TensorProto.BFLOAT16 else array


def tensor_of(array: Array, name: str = "") -> onnx.TensorProto:
    """A tensor with these elements as raw bytes; text has none."""
    if array.dtype != BFLOAT16:
        return numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
    raw = array.view(np.uint16).astype("<u2").tobytes()
    return onnx.TensorProto(name=name, data_type=onnx.TensorProto.BFLOAT16, dims=array.shape, raw_data=raw)


def objects(elements: Iterable[Any], shape: Sequence[int]) -> Array:
    """An array of arbitrary objects, in row-major order."""
    return np.fromiter(elements, dtype=object, count=prod(shape)).reshape(shape)
