"""Where an operand comes from: a table of builders, each of which gives a value of a name to the nodes that take it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import onnx
from onnx import helper

from conformance.dimensions.fragments import Part
from conformance.models.arrays import tensor_of, type_name, type_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from conformance.models.arrays import Array

    Stored: TypeAlias = Callable[[Array, str], onnx.TensorProto]

PADDING = 77
"""What surrounds a part of something: a value that no operand has, and that shows in every result."""


@dataclass(frozen=True)
class Supply:
    """An operand's way into the graph.

    Attributes:
        fed: graph inputs with their values.
        overridable: initializers that are graph inputs as well, so that a run need not feed them.
        before: what stands before the nodes that take the operand, for any graph to hold.
    """

    fed: Mapping[str, Array] = field(default_factory=dict)
    overridable: tuple[onnx.TensorProto, ...] = ()
    before: Part = field(default_factory=Part)


def raw(array: Array, name: str) -> onnx.TensorProto:
    """A tensor whose elements are bytes."""
    return tensor_of(array, name)


def typed(array: Array, name: str) -> onnx.TensorProto:
    """A tensor whose elements are numbers: in float_data, double_data or int64_data; of 16-bit floats their bits."""
    if array.dtype.itemsize == 2 and array.dtype.kind not in "iu":
        bits = array.reshape(-1).view(np.uint16).tolist()
        return onnx.TensorProto(
            name=name, data_type=type_number(type_name(array.dtype)), dims=array.shape, int32_data=bits
        )
    return helper.make_tensor(name, type_number(type_name(array.dtype)), array.shape, array.flatten().tolist())


STORED: Mapping[str, Stored] = {"raw": raw, "typed": typed}
"""How constants hold their elements."""


def _input(name: str, array: Array, _: Stored) -> Supply:
    return Supply({name: array})


def _initializer(name: str, array: Array, stored: Stored) -> Supply:
    return Supply(before=Part(initializers=[stored(array, name)]))


def _overridable(name: str, array: Array, stored: Stored) -> Supply:
    return Supply(overridable=(stored(array, name),))


def _constant(name: str, array: Array, stored: Stored) -> Supply:
    return Supply(before=Part([helper.make_node("Constant", [], [name], value=stored(array, name))]))


def _rearranged(name: str, array: Array, stored: Stored) -> Supply:
    """A Transpose, which a runtime may make a view with other strides; of a scalar a Reshape."""
    whole = f"{name}_rearranged"
    if array.ndim:
        node = helper.make_node("Transpose", [whole], [name])
        return Supply({whole: np.ascontiguousarray(array.T)}, before=Part([node]))
    shape = stored(np.zeros(0, dtype=np.int64), f"{name}_shape")
    node = helper.make_node("Reshape", [whole, shape.name], [name])
    return Supply({whole: array.reshape(1)}, before=Part([node], [shape]))


def _part(name: str, array: Array, stored: Stored) -> Supply:
    """A Slice of something larger, which a runtime may make a view with an offset; of a scalar a Gather."""
    whole = f"{name}_whole"
    if not array.ndim:
        place = stored(np.array(2, dtype=np.int64), f"{name}_place")
        values = np.array([PADDING, PADDING, array, PADDING], dtype=array.dtype)
        return Supply({whole: values}, before=Part([helper.make_node("Gather", [whole, place.name], [name])], [place]))
    ends = {
        "starts": np.ones(array.ndim, dtype=np.int64),
        "ends": np.array([size + 1 for size in array.shape], dtype=np.int64),
    }
    constants = [stored(numbers, f"{name}_{word}") for word, numbers in ends.items()]
    node = helper.make_node("Slice", [whole, *(tensor.name for tensor in constants)], [name])
    return Supply({whole: np.pad(array, 1, constant_values=PADDING)}, before=Part([node], constants))


ORIGINS: Mapping[str, Callable[[str, Array, Stored], Supply]] = {
    "input": _input,
    "initializer": _initializer,
    "overridable": _overridable,
    "constant": _constant,
    "rearranged": _rearranged,
    "part": _part,
}
"""By word."""
