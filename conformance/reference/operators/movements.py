"""Operators that move elements and compute nothing, in any number system."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.reference.numbers.values import Value
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.models.arrays import Array
    from conformance.reference.nodes import Evaluation, Node
    from conformance.reference.numbers.values import NumberSystem


def integers(value: Value) -> list[int]:
    """A shape, axes or the like."""
    return [int(element) for element in value.elements.flat]


def moved(value: Value, movement: Callable[[Array], Array]) -> Value:
    """A tensor whose elements, and what may stand for them, are in other places."""
    places = movement(np.arange(value.elements.size).reshape(value.elements.shape))
    elements = value.elements.reshape(-1)[places]
    if value.choices is None:
        return Value(np.asarray(elements, dtype=value.elements.dtype), value.dtype)
    return Value(elements, value.dtype, value.choices.reshape(value.elements.size, -1)[places])


def joined(values: Sequence[Value], axis: int) -> Value:
    """Tensors side by side along an axis."""
    elements = np.concatenate([value.elements for value in values], axis=axis)
    return Value(elements, values[0].dtype, _joined_choices(values, axis))


def stacked(values: Sequence[Value], axis: int = 0) -> Value:
    """Tensors of one shape along a new axis."""
    return joined([moved(value, lambda X: np.expand_dims(X, axis)) for value in values], axis)


def slices(value: Value, axis: int) -> list[Value]:
    """The tensors that lie side by side along an axis, without it."""
    places = range(value.elements.shape[axis])
    return [moved(value, partial(np.take, indices=place, axis=axis)) for place in places]


def _joined_choices(values: Sequence[Value], axis: int) -> Array | None:
    """Choices side by side, each over as many indices as the widest has; what has no choice has its own index only."""
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


def _movement(formula: Callable[..., Array], node: Node, inputs: list[Value], _: NumberSystem) -> list[Value]:
    """What the node's attributes and further inputs say of where the elements of its first go."""
    arguments = [None if value.is_absent else integers(value) for value in inputs[1:]]
    return [moved(inputs[0], partial(_applied, formula, arguments, node.attributes))]


def _applied(formula: Callable[..., Array], arguments: Sequence[Any], attributes: Mapping[str, Any], X: Array) -> Array:
    return formula(X, *arguments, **attributes)


def _reshaped(X: Array, shape: Sequence[int], *, allowzero: int = 0) -> Array:
    return X.reshape([X.shape[axis] if size == 0 and not allowzero else size for axis, size in enumerate(shape)])


def _expanded(X: Array, shape: Sequence[int]) -> Array:
    return np.broadcast_to(X, np.broadcast_shapes(X.shape, tuple(shape)))


def _transposed(X: Array, *, perm: Sequence[int] | None = None) -> Array:
    return X.transpose(perm)


def _flattened(X: Array, *, axis: int = 1) -> Array:
    place = axis if axis >= 0 else axis + X.ndim
    return X.reshape(prod(X.shape[:place]), prod(X.shape[place:]))


def _squeezed(X: Array, axes: Sequence[int] | None = None) -> Array:
    """The axes are an attribute below opset 13, an input since; by default all of size 1."""
    return np.squeeze(X, tuple(axes) if axes is not None else None)


def _unsqueezed(X: Array, axes: Sequence[int]) -> Array:
    return np.expand_dims(X, tuple(axes))


def _sliced(
    X: Array,
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
) -> Array:
    places = [slice(None)] * X.ndim
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        axis, step = axes[number] if axes else number, steps[number] if steps else 1
        stop = None if step < 0 and end < -X.shape[axis] else end
        places[axis] = slice(start, stop, step)
    return X[tuple(places)]


def _tiled(X: Array, repeats: Sequence[int]) -> Array:
    return np.tile(X, tuple(repeats))


def _gather(node: Node, inputs: list[Value], _: NumberSystem) -> list[Value]:
    X, indices = inputs
    if indices.choices is not None:
        raise Unsupported("rounding decides which elements are gathered")
    return [moved(X, partial(np.take, indices=indices.elements, axis=node.attributes.get("axis", 0)))]


def _split(node: Node, inputs: list[Value], _: NumberSystem) -> list[Value]:
    axis, X = node.attributes.get("axis", 0), inputs[0]
    sizes = integers(inputs[1]) if len(inputs) > 1 else node.attributes.get("split")
    if sizes is None:
        step = -(-X.elements.shape[axis] // len(node.outputs))
        ends = [step * (number + 1) for number in range(len(node.outputs) - 1)]
    else:
        ends = list(np.cumsum(sizes)[:-1])
    return [moved(X, partial(_part, ends=ends, number=number, axis=axis)) for number in range(len(node.outputs))]


def _part(X: Array, *, ends: Sequence[int], number: int, axis: int) -> Array:
    return np.split(X, ends, axis=axis)[number]


def _concat(node: Node, inputs: list[Value], _: NumberSystem) -> list[Value]:
    return [joined(inputs, node.attributes.get("axis", 1))]


def _shape(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    shape = inputs[0].elements.shape[node.attributes.get("start", 0) : node.attributes.get("end")]
    return [system.entering(np.array(shape, dtype=np.int64))]


def _identity(_: Node, inputs: list[Value], __: NumberSystem) -> list[Value]:
    return inputs


def _dropout(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """Inference: what comes in goes out, and the mask keeps everything."""
    training = len(inputs) > 2 and not inputs[2].is_absent and bool(inputs[2].elements.item())
    if training or (node.opset < 7 and not node.attributes.get("is_test", 0)):
        raise Unsupported("Dropout in training mode is random")
    kept = np.ones(inputs[0].elements.shape, dtype=bool)
    return [inputs[0], system.entering(kept) if node.opset >= 10 else Value(kept, inputs[0].dtype)]


MOVEMENTS: Mapping[str, Evaluation] = {
    "Identity": _identity,
    "Dropout": _dropout,
    "Reshape": partial(_movement, _reshaped),
    "Expand": partial(_movement, _expanded),
    "Transpose": partial(_movement, _transposed),
    "Flatten": partial(_movement, _flattened),
    "Squeeze": partial(_movement, _squeezed),
    "Unsqueeze": partial(_movement, _unsqueezed),
    "Slice": partial(_movement, _sliced),
    "Tile": partial(_movement, _tiled),
    "Gather": _gather,
    "Split": _split,
    "Concat": _concat,
    "Shape": _shape,
}
