"""Operators that create, copy or move elements without arithmetic, in any number system.

An operator moves the elements, which may be numbers of any number system, and their acceptable indices alike.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate, pairwise
from math import prod
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.reference.numbers.number_system import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Evaluation, Node
    from conformance.exact.reference.numbers.number_system import NumberSystem


REPEATED_AXIS = "Slice with a repeated axis"
"""Why a Slice has no result that the page defines."""


def integer_list(value: Value) -> list[int]:
    """Return the elements of a shape, of axes or of any other integer tensor."""
    return [int(element) for element in value.elements.flat]


def move_elements(value: Value, movement: Callable[[Array], Array]) -> Value:
    """Return a tensor with its elements, and their acceptable indices, in other positions."""
    elements = np.array(movement(value.elements), dtype=value.elements.dtype, order="C")
    if value.choices is None:
        return Value(elements, value.dtype)
    positions = movement(np.arange(value.elements.size).reshape(value.elements.shape))
    return Value(elements, value.dtype, value.choices.reshape(value.elements.size, -1)[positions])


def concatenate(values: Sequence[Value], axis: int) -> Value:
    """Return the concatenation of tensors along an axis."""
    elements = np.concatenate([value.elements for value in values], axis=axis)
    return Value(elements, values[0].dtype, _concatenate_choices(values, axis))


def place_along(axis: int, rank: int, index: Any) -> tuple[Any, ...]:
    """Return the place in an array at an index along an axis."""
    return (*[slice(None)] * (axis % rank), index)


def _concatenate_choices(values: Sequence[Value], axis: int) -> Array | None:
    """Return the acceptable indices of the concatenation of tensors; None if no tensor has several acceptable indices.

    A tensor without `choices` has its own elements as the only acceptable indices.
    """
    if all(value.choices is None for value in values):
        return None
    widest = 1 + max(value.elements.max(initial=0) for value in values)
    widest = max([widest, *(value.choices.shape[-1] for value in values if value.choices is not None)])
    parts = []
    for value in values:
        own = value.elements[..., np.newaxis] == np.arange(widest)
        if value.choices is not None:
            own[..., :] = False
            own[..., : value.choices.shape[-1]] = value.choices
        parts.append(own)
    return np.concatenate(parts, axis=axis % values[0].elements.ndim)


def _move(formula: Callable[..., Array], node: Node, inputs: list[Value], _: NumberSystem) -> list[Value]:
    """Evaluate an operator that only moves elements, such as Transpose.

    `formula` takes the elements of the first input, then the other inputs and the attributes.
    """
    arguments = [None if value.is_absent else integer_list(value) for value in inputs[1:]]
    return [move_elements(inputs[0], partial(_apply, formula, arguments, node.attributes))]


def _apply(formula: Callable[..., Array], arguments: Sequence[Any], attributes: Mapping[str, Any], X: Array) -> Array:
    return formula(X, *arguments, **attributes)


def _reshape(
    X: Array,
    shape: Sequence[int],
    *,
    allowzero: int = 0,
    consumed_inputs: Sequence[int] = (),  # noqa: ARG001 - version 1 has it, without an effect
) -> Array:
    return X.reshape([X.shape[axis] if size == 0 and not allowzero else size for axis, size in enumerate(shape)])


def _expand(X: Array, shape: Sequence[int]) -> Array:
    return np.broadcast_to(X, np.broadcast_shapes(X.shape, tuple(shape)))


def _transpose(X: Array, *, perm: Sequence[int] | None = None) -> Array:
    return X.transpose(perm)


def _flatten(X: Array, *, axis: int = 1) -> Array:
    split = axis if axis >= 0 else axis + X.ndim
    return X.reshape(prod(X.shape[:split]), prod(X.shape[split:]))


def _squeeze(X: Array, axes: Sequence[int] | None = None) -> Array:
    """Return X without the given axes, by default without all axes of size 1.

    The axes are an attribute below opset 13 and an input since opset 13.
    """
    return np.squeeze(X, tuple(axes) if axes is not None else None)


def _unsqueeze(X: Array, axes: Sequence[int]) -> Array:
    return np.expand_dims(X, tuple(axes))


def _slice(
    X: Array,
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
    *,
    opset: int,
) -> Array:
    ranges = [slice(None)] * X.ndim
    if axes and len({axis % X.ndim for axis in axes}) < len(axes):
        raise Unsupported(REPEATED_AXIS)
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        axis = axes[i] if axes else i
        step = steps[i] if steps else 1
        size = X.shape[axis]
        # pages below 13 do not state that starts are clamped; that of 10 has the largest integer as the end of any axis
        if step < 0 and ((opset < 13 and start < -size) or (opset < 11 and end >= 2**31 - 1)):
            raise Unsupported(f"a backward slice from or to a place outside of the tensor in opset {opset}")
        stop = None if step < 0 and end < -size else end
        # backwards, a start before the first element means the first element; in Python it means none
        ranges[axis] = slice(max(start, -size) if step < 0 else start, stop, step)
    return X[tuple(ranges)]


def _tile(X: Array, repeats: Sequence[int]) -> Array:
    return np.tile(X, tuple(repeats))


def _gather(node: Node, inputs: list[Value], _: NumberSystem) -> list[Value]:
    X, indices = inputs
    if indices.choices is not None:
        raise Unsupported("rounding decides the indices of a Gather")
    return [move_elements(X, partial(np.take, indices=indices.elements, axis=node.attributes.get("axis", 0)))]


def _split(node: Node, inputs: list[Value], _: NumberSystem) -> list[Value]:
    axis = node.attributes.get("axis", 0)
    X = inputs[0]
    sizes = integer_list(inputs[1]) if len(inputs) > 1 else node.attributes.get("split")
    count = len(node.outputs)
    if sizes is None:
        sizes = [-(-X.elements.shape[axis] // count)] * count
    elif min(sizes, default=0) < 0 or sum(sizes) != X.elements.shape[axis]:
        raise Unsupported("Split in parts that do not add up to the tensor")
    parts = [slice(*ends) for ends in pairwise([0, *accumulate(sizes[:-1]), None])]
    places = (place_along(axis, X.elements.ndim, parts[index]) for index in range(count))
    return [move_elements(X, itemgetter(place)) for place in places]


def _concat(node: Node, inputs: list[Value], _: NumberSystem) -> list[Value]:
    return [concatenate(inputs, node.attributes.get("axis", 1))]


def _shape(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    shape = inputs[0].elements.shape[node.attributes.get("start", 0) : node.attributes.get("end")]
    return [system.from_array(np.array(shape, dtype=np.int64))]


def _identity(_: Node, inputs: list[Value], __: NumberSystem) -> list[Value]:
    return inputs


def _dropout(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """Evaluate Dropout in inference mode: return the input and a mask that keeps every element."""
    training = len(inputs) > 2 and not inputs[2].is_absent and bool(inputs[2].elements.item())
    if training or (node.opset < 7 and not node.attributes.get("is_test", 0)):
        raise Unsupported("Dropout in training mode is random")
    mask = np.ones(inputs[0].elements.shape, dtype=bool)
    return [inputs[0], system.from_array(mask) if node.opset >= 10 else Value(mask, inputs[0].dtype)]


CONSTANT_TYPES: Mapping[str, Any] = {
    "value": None,
    "sparse_value": None,
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_int": np.int64,
    "value_ints": np.int64,
    "value_string": object,
    "value_strings": object,
}
"""The attributes of Constant, each with the type of the result; None for that of the tensor."""


def _constant(node: Node, _: list[Value], system: NumberSystem) -> list[Value]:
    """Return the one attribute of Constant as a tensor."""
    ((name, value),) = node.attributes.items()
    if name not in CONSTANT_TYPES:
        raise Unsupported(f"Constant has the attribute {name}")
    return [system.from_array(np.asarray(value, dtype=CONSTANT_TYPES[name]))]


DATA_MOVEMENT: Mapping[str, Evaluation] = {
    "Constant": _constant,
    "Identity": _identity,
    "Dropout": _dropout,
    "Reshape": partial(_move, _reshape),
    "Expand": partial(_move, _expand),
    "Transpose": partial(_move, _transpose),
    "Flatten": partial(_move, _flatten),
    "Squeeze": partial(_move, _squeeze),
    "Unsqueeze": partial(_move, _unsqueeze),
    "Slice": lambda node, inputs, system: _move(partial(_slice, opset=node.opset), node, inputs, system),
    "Tile": partial(_move, _tile),
    "Gather": _gather,
    "Split": _split,
    "Concat": _concat,
    "Shape": _shape,
}
