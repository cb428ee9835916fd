"""Tensors of numbers, and how to read them from ONNX's protobuf messages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from onnx import TensorProto

from checks.oracle.formats import FLOATS, UNSIGNED, WIDTHS, decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    import numpy.typing as npt
    from onnx import SparseTensorProto

    Elements: TypeAlias = "npt.NDArray[np.object_]"


@dataclass(frozen=True)
class Tensor:
    """A tensor: its element type and an array of its elements. Elements of a type without arithmetic are None."""

    type: int
    elements: Elements

    @property
    def shape(self) -> tuple[int, ...]:
        return self.elements.shape

    @property
    def rank(self) -> int:
        return self.elements.ndim

    def integers(self) -> list[int]:
        """Return the elements of an integer tensor. Raise NotImplementedError if an element is a set of integers."""
        if any(isinstance(element, frozenset) for element in self.elements.ravel()):
            raise NotImplementedError(
                "The second oracle does not compute with an index that has several acceptable values."
            )
        return [int(element) for element in self.elements.ravel()]

    def scalar(self) -> Any:
        """Return the only element. Raise ValueError if there are several."""
        return self.elements.item()

    def element(self, place: tuple[int, ...]) -> Any:
        """Return the element, or the row of elements, at an index."""
        return self.elements[place]

    def with_elements(self, elements: Elements) -> Tensor:
        """Return a tensor of the same type with other elements."""
        return Tensor(self.type, elements)


Value: TypeAlias = "Tensor | list[Tensor] | None"
"""A tensor, a sequence of tensors, or None for an empty optional."""


def object_array(items: Iterable[Any], shape: Sequence[int]) -> Elements:
    """Return an array of Python objects with a given shape."""
    listed = list(items)
    flat = np.empty(len(listed), dtype=object)
    flat[:] = listed
    return flat.reshape(tuple(shape))


def map_elements(function: Callable[..., Any], *operands: Elements) -> Elements:
    """Apply a function to the corresponding elements of arrays, which are broadcast as in NumPy.

    The function is called once for elements that are the same objects, for example after a Tile.
    """
    together = np.broadcast_arrays(*operands)
    columns = [array.ravel().tolist() for array in together]
    objects = list(zip(*(map(id, column) for column in columns), strict=True))
    asked = dict(zip(objects, zip(*columns, strict=True), strict=True))
    results = {key: function(*items) for key, items in asked.items()}
    return object_array(map(results.__getitem__, objects), together[0].shape)


def distinct_objects(items: Sequence[Any]) -> list[Any]:
    """Return the items without repeated objects."""
    return list(dict(zip(map(id, items), items, strict=True)).values())


def scalar_tensor(type_: int, element: Any) -> Tensor:
    """Return a tensor of rank 0."""
    return Tensor(type_, object_array([element], ()))


def int64_tensor(items: Iterable[int], shape: Sequence[int]) -> Tensor:
    """Return a tensor of 64-bit integers."""
    return Tensor(TensorProto.INT64, object_array(items, shape))


def tensor_of(message: TensorProto, folder: Path) -> Tensor:
    """Return the tensor of a message. External data are read from a folder."""
    shape = tuple(message.dims)
    return Tensor(message.data_type, object_array(_decode(message, folder, math.prod(shape)), shape))


def bits_of(message: TensorProto, folder: Path) -> list[int]:
    """Return the bits of each element of a message. Its type must have arithmetic."""
    width = WIDTHS[message.data_type] // 8
    data = _stored_bytes(message, folder)
    if data is not None:
        return [int.from_bytes(data[at : at + width], "little") for at in range(0, len(data), width)]
    return [_bits(message.data_type, item) for item in _typed_field(message)]


def dense_tensor(message: SparseTensorProto, folder: Path) -> Tensor:
    """Return a sparse tensor with its zeros. Its indices are linear, or one row of coordinates per value."""
    values = tensor_of(message.values, folder)
    shape = tuple(message.dims)
    elements = object_array([decode(values.type, 0)] * math.prod(shape), shape)
    indices = tensor_of(message.indices, folder)
    for at, value in enumerate(values.elements):
        row = indices.elements[at]
        place = tuple(int(i) for i in row) if indices.rank == 2 else np.unravel_index(int(row), shape)
        elements[place] = value
    return Tensor(values.type, elements)


def _decode(message: TensorProto, folder: Path, count: int) -> list[Any]:
    if message.data_type == TensorProto.STRING:
        return list(message.string_data)
    if message.data_type not in WIDTHS:
        return [None] * count
    bits = bits_of(message, folder)
    if len(bits) != count:
        raise ValueError(f"The tensor {message.name!r} has {len(bits)} elements, but its shape requires {count}.")
    return [decode(message.data_type, item) for item in bits]


def _stored_bytes(message: TensorProto, folder: Path) -> bytes | None:
    if message.data_location == TensorProto.EXTERNAL:
        entries = {entry.key: entry.value for entry in message.external_data}
        start = int(entries.get("offset", "0"))
        place = (folder / entries["location"]).resolve()
        if not place.is_relative_to(folder.resolve()):
            raise ValueError(f"The tensor {message.name!r} stores its data outside the folder of the case.")
        data = place.read_bytes()
        return bytes(data[start : start + int(entries["length"])] if "length" in entries else data[start:])
    return bytes(message.raw_data) if message.HasField("raw_data") else None


def _typed_field(message: TensorProto) -> list[Any]:
    """Return the typed field that stores elements of the message's type."""
    fields: dict[int, Iterable[Any]] = {
        TensorProto.FLOAT: message.float_data,
        TensorProto.DOUBLE: message.double_data,
        TensorProto.INT64: message.int64_data,
        TensorProto.UINT32: message.uint64_data,
        TensorProto.UINT64: message.uint64_data,
    }
    return list(fields.get(message.data_type, message.int32_data))


def _bits(type_: int, item: float) -> int:
    if type_ in {TensorProto.FLOAT, TensorProto.DOUBLE}:
        width = FLOATS[type_].bits
        return int(np.array(item, f"float{width}").view(f"uint{width}"))
    if type_ in UNSIGNED or type_ in FLOATS:
        return int(item)
    return int(item) & ((1 << WIDTHS[type_]) - 1)
