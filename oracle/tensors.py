"""Tensors of numbers, and how ONNX's messages store them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from onnx import TensorProto

from oracle.formats import FLOATS, UNSIGNED, WIDTHS, decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    import numpy.typing as npt
    from onnx import SparseTensorProto

    Elements: TypeAlias = "npt.NDArray[np.object_]"


@dataclass(frozen=True)
class Tensor:
    """An element type and elements of any shape; elements of a type that is not computed with stay bits."""

    type: int
    elements: Elements

    @property
    def shape(self) -> tuple[int, ...]:
        return self.elements.shape

    @property
    def rank(self) -> int:
        return self.elements.ndim

    def integers(self) -> list[int]:
        """The elements of a tensor of integers, in order. Raises NotImplementedError where one may be several."""
        if any(isinstance(element, frozenset) for element in self.elements.ravel()):
            raise NotImplementedError("The second oracle does not follow an index that may be several.")
        return [int(element) for element in self.elements.ravel()]

    def scalar(self) -> Any:
        """The only element. Raises ValueError where there are several."""
        return self.elements.item()

    def at(self, place: tuple[int, ...]) -> Any:
        """The element, or the row of elements, at a place."""
        return self.elements[place]

    def with_elements(self, elements: Elements) -> Tensor:
        """Other elements of the same type."""
        return Tensor(self.type, elements)


Value: TypeAlias = "Tensor | list[Tensor] | None"
"""A tensor, a sequence of tensors, or the absence of an optional's element."""


def elements_of(items: Iterable[Any], shape: Sequence[int]) -> Elements:
    """An array of Python objects of this shape."""
    listed = list(items)
    flat = np.empty(len(listed), dtype=object)
    flat[:] = listed
    return flat.reshape(tuple(shape))


def each(function: Callable[..., Any], *operands: Elements) -> Elements:
    """The function of the elements at each place, broadcast as NumPy does.

    Of elements that are the same objects, as where a tensor was tiled, it is asked once.
    """
    together = np.broadcast_arrays(*operands)
    columns = [array.ravel().tolist() for array in together]
    objects = list(zip(*(map(id, column) for column in columns), strict=True))
    asked = dict(zip(objects, zip(*columns, strict=True), strict=True))
    results = {key: function(*items) for key, items in asked.items()}
    return elements_of(map(results.__getitem__, objects), together[0].shape)


def distinct(items: Sequence[Any]) -> list[Any]:
    """The items without those that are the same object as an earlier one."""
    return list(dict(zip(map(id, items), items, strict=True)).values())


def scalar(type_: int, element: Any) -> Tensor:
    """A tensor of rank 0."""
    return Tensor(type_, elements_of([element], ()))


def int64(items: Iterable[int], shape: Sequence[int]) -> Tensor:
    """A tensor of 64-bit integers."""
    return Tensor(TensorProto.INT64, elements_of(items, shape))


def tensor_of(message: TensorProto, folder: Path) -> Tensor:
    """What the message holds; external data are read from this folder."""
    shape = tuple(message.dims)
    return Tensor(message.data_type, elements_of(_decoded(message, folder, math.prod(shape)), shape))


def bits_of(message: TensorProto, folder: Path) -> list[int]:
    """The bits of each element of a message whose type is computed with."""
    width = WIDTHS[message.data_type] // 8
    data = _stored(message, folder)
    if data is not None:
        return [int.from_bytes(data[at : at + width], "little") for at in range(0, len(data), width)]
    return [_bits(message.data_type, item) for item in _field(message)]


def dense(message: SparseTensorProto, folder: Path) -> Tensor:
    """A sparse tensor with its zeros; its indices are positions, or a row of coordinates for each value."""
    values = tensor_of(message.values, folder)
    shape = tuple(message.dims)
    elements = elements_of([decode(values.type, 0)] * math.prod(shape), shape)
    indices = tensor_of(message.indices, folder)
    for at, value in enumerate(values.elements):
        row = indices.elements[at]
        place = tuple(int(i) for i in row) if indices.rank == 2 else np.unravel_index(int(row), shape)
        elements[place] = value
    return Tensor(values.type, elements)


def _decoded(message: TensorProto, folder: Path, count: int) -> list[Any]:
    if message.data_type == TensorProto.STRING:
        return list(message.string_data)
    if message.data_type not in WIDTHS:
        return [None] * count
    bits = bits_of(message, folder)
    if len(bits) != count:
        raise ValueError(f"The tensor {message.name!r} has {len(bits)} elements where its shape has {count}.")
    return [decode(message.data_type, item) for item in bits]


def _stored(message: TensorProto, folder: Path) -> bytes | None:
    if message.data_location == TensorProto.EXTERNAL:
        entries = {entry.key: entry.value for entry in message.external_data}
        start = int(entries.get("offset", "0"))
        place = (folder / entries["location"]).resolve()
        if not place.is_relative_to(folder.resolve()):
            raise ValueError(f"The tensor {message.name!r} has its data outside of the case's folder.")
        data = place.read_bytes()
        return bytes(data[start : start + int(entries["length"])] if "length" in entries else data[start:])
    return bytes(message.raw_data) if message.HasField("raw_data") else None


def _field(message: TensorProto) -> list[Any]:
    """What the typed field that stores elements of this type holds."""
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
