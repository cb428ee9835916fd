"""Operators of sequences and optionals. A sequence is a list of tensors; an empty optional is `None`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from conformance.reference.formulas.linear import integers
from conformance.reference.numbers.enclosure import Enclosure, Tensor, move
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.reference.nodes import Node

TensorOrSequence: TypeAlias = "Tensor | list[Tensor]"
"""The value of an input or output of a node."""


def as_tensor(value: TensorOrSequence) -> Tensor:
    """Return a value that is a tensor, or `None`.

    Raises:
        Unsupported: the value is a sequence.
    """
    if isinstance(value, list):
        raise Unsupported("an operand is a sequence, and no tensor")
    return value


def stack(parts: Sequence[Tensor], axis: int, *, joins: bool = False) -> Tensor:
    """Return tensors stacked along a new axis, or joined along an axis that they have."""
    combine = np.concatenate if joins else np.stack
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    if len(arrays) == len(parts):
        return np.asarray(combine(arrays, axis))
    enclosures = [Enclosure.exact(part) if isinstance(part, np.ndarray) else part for part in parts]
    values, errors = (
        combine([getattr(each, name) for each in enclosures if each is not None], axis) for name in ("value", "error")
    )
    return Enclosure(values, errors, next(each.dtype for each in enclosures if each is not None))


def take(X: Tensor, index: int | slice, axis: int) -> Tensor:
    """Return the slice of a tensor at an index along an axis."""
    assert X is not None
    place = (slice(None),) * (axis % len(X.shape)) + (index,)
    return move(X, lambda x: x[place])


def _items(value: TensorOrSequence) -> list[Tensor]:
    if not isinstance(value, list):
        raise Unsupported("an operand is no sequence")
    return value


def _position(inputs: Sequence[TensorOrSequence], number: int, default: int, size: int) -> int:
    given = inputs[number] if len(inputs) > number else None
    position = default if given is None else integers(as_tensor(given))[0]
    if not -size <= position < max(size, default + 1):
        raise Unsupported(f"a sequence of {size} elements has no position {position}")
    return position


def _insert(_: Node, inputs: Sequence[TensorOrSequence]) -> list[TensorOrSequence]:
    items = list(_items(inputs[0]))
    given = inputs[2] if len(inputs) > 2 else None
    position = len(items) if given is None else integers(as_tensor(given))[0]
    if not -len(items) <= position <= len(items):
        raise Unsupported(f"a sequence of {len(items)} elements has no position {position}")
    items.insert(position, as_tensor(inputs[1]))
    return [items]


def _erase(_: Node, inputs: Sequence[TensorOrSequence]) -> list[TensorOrSequence]:
    items = list(_items(inputs[0]))
    del items[_position(inputs, 1, len(items) - 1, len(items))]
    return [items]


def _at(_: Node, inputs: Sequence[TensorOrSequence]) -> list[TensorOrSequence]:
    items = _items(inputs[0])
    return [items[_position(inputs, 1, 0, len(items))]]


def _concatenate(node: Node, inputs: Sequence[TensorOrSequence]) -> list[TensorOrSequence]:
    items = _items(inputs[0])
    if not items:
        raise Unsupported("ConcatFromSequence of no tensors")
    return [stack(items, node.attributes["axis"], joins=not node.attributes.get("new_axis", 0))]


def _split(node: Node, inputs: Sequence[TensorOrSequence]) -> list[TensorOrSequence]:
    X, axis, given = as_tensor(inputs[0]), node.attributes.get("axis", 0), inputs[1] if len(inputs) > 1 else None
    assert X is not None
    size = X.shape[axis]
    if given is None:
        keeps = bool(node.attributes.get("keepdims", 1))
        return [[take(X, slice(k, k + 1) if keeps else k, axis) for k in range(size)]]
    sizes = as_tensor(given)
    lengths = integers(sizes)
    if sizes is not None and sizes.shape == ():
        if lengths[0] < 1:
            raise Unsupported("SplitToSequence in parts of no elements")
        lengths = [min(lengths[0], size - start) for start in range(0, size, lengths[0])]
    if sum(lengths) != size or min(lengths, default=0) < 0:
        raise Unsupported("SplitToSequence in parts that do not add up to the tensor")
    ends = np.cumsum(lengths).tolist()
    return [[take(X, slice(end - length, end), axis) for end, length in zip(ends, lengths, strict=True)]]


def _get_element(_: Node, inputs: Sequence[TensorOrSequence]) -> list[TensorOrSequence]:
    if inputs[0] is None:
        raise Unsupported("OptionalGetElement of an empty optional")
    return [inputs[0]]


SEQUENCE_OPERATORS: Mapping[str, Callable[[Node, Sequence[TensorOrSequence]], list[TensorOrSequence]]] = {
    "SequenceConstruct": lambda _, inputs: [[as_tensor(each) for each in inputs]],
    "SequenceEmpty": lambda _, __: [[]],
    "SequenceInsert": _insert,
    "SequenceErase": _erase,
    "SequenceAt": _at,
    "SequenceLength": lambda _, inputs: [np.asarray(len(_items(inputs[0])), np.int64)],
    "ConcatFromSequence": _concatenate,
    "SplitToSequence": _split,
    "Optional": lambda _, inputs: [inputs[0] if inputs else None],
    "OptionalHasElement": lambda _, inputs: [np.asarray(bool(inputs) and inputs[0] is not None)],
    "OptionalGetElement": _get_element,
}
"""The operators of sequences and optionals, by op_type; Identity is one for every value."""
