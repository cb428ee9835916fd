"""Operators on sequences and optionals, for tensors of any kind: those of a number system, and enclosures.

An optional with an element is the element itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import onnx

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import has_element_type
from conformance.exact.reference.numbers.number_system import ABSENT, Value
from conformance.exact.reference.operators.data_movement import concatenate, move_elements, place_along

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Evaluation, Node
    from conformance.exact.reference.numbers.number_system import NumberSystem

V = TypeVar("V")


class Tensors(Protocol[V]):
    """The values that sequences and control flow hold and move, of one kind.

    Attributes:
        absent: the value of an input that is left out, and of an empty optional.
    """

    @property
    def absent(self) -> V:
        """The value of an input that is left out, and of an empty optional."""

    def constant(self, array: Array) -> V:
        """Return a tensor with known elements."""

    def known(self, value: V) -> Array:
        """Return the elements of a tensor; raise `Unsupported` if rounding decides them."""

    def sequence(self, items: Iterable[V]) -> V:
        """Return a sequence."""

    def items(self, value: V) -> Sequence[V] | None:
        """Return the items of a sequence; None if the value is a tensor."""

    def size(self, value: V, axis: int) -> int:
        """Return the size of an axis of a tensor."""

    def take(self, value: V, index: int | slice, axis: int) -> V:
        """Return the slice of a tensor at an index along an axis."""

    def join(self, values: Sequence[V], axis: int, *, stacks: bool) -> V:
        """Return tensors stacked along a new axis, or joined along an axis that they have."""


def _items(tensors: Tensors[V], value: V) -> list[V]:
    items = tensors.items(value)
    if items is None:
        raise Unsupported("an operand is no sequence")
    return list(items)


def _optional(tensors: Tensors[V], inputs: Sequence[V], number: int) -> V:
    return inputs[number] if len(inputs) > number else tensors.absent


def _position(tensors: Tensors[V], given: V, default: int, positions: range) -> int:
    position = default if given is tensors.absent else int(tensors.known(given).item())
    if position not in positions:
        size = -positions.start
        raise Unsupported(f"a sequence of {size} elements has no position {position}")
    return position


def _empty(tensors: Tensors[V], node: Node, _: Sequence[V]) -> V:
    if not has_element_type(node.attributes.get("dtype", onnx.TensorProto.FLOAT)):
        raise Unsupported("SequenceEmpty of an element type that does not exist")
    return tensors.sequence(())


def _insert(tensors: Tensors[V], _: Node, inputs: Sequence[V]) -> V:
    items = _items(tensors, inputs[0])
    positions = range(-len(items), len(items) + 1)
    items.insert(_position(tensors, _optional(tensors, inputs, 2), len(items), positions), inputs[1])
    return tensors.sequence(items)


def _erase(tensors: Tensors[V], _: Node, inputs: Sequence[V]) -> V:
    items = _items(tensors, inputs[0])
    positions = range(-len(items), len(items))
    del items[_position(tensors, _optional(tensors, inputs, 1), len(items) - 1, positions)]
    return tensors.sequence(items)


def _at(tensors: Tensors[V], _: Node, inputs: Sequence[V]) -> V:
    items = _items(tensors, inputs[0])
    return items[_position(tensors, inputs[1], 0, range(-len(items), len(items)))]


def _length(tensors: Tensors[V], _: Node, inputs: Sequence[V]) -> V:
    return tensors.constant(np.array(len(_items(tensors, inputs[0])), dtype=np.int64))


def _concatenate(tensors: Tensors[V], node: Node, inputs: Sequence[V]) -> V:
    items = _items(tensors, inputs[0])
    if not items:
        raise Unsupported("ConcatFromSequence of no tensors")
    return tensors.join(items, node.attributes["axis"], stacks=bool(node.attributes.get("new_axis", 0)))


def _split(tensors: Tensors[V], node: Node, inputs: Sequence[V]) -> V:
    X = inputs[0]
    axis = node.attributes.get("axis", 0)
    given = _optional(tensors, inputs, 1)
    size = tensors.size(X, axis)
    if given is tensors.absent:
        keeps = bool(node.attributes.get("keepdims", 1))
        return tensors.sequence(tensors.take(X, slice(k, k + 1) if keeps else k, axis) for k in range(size))
    sizes = tensors.known(given)
    lengths = [int(each) for each in sizes.flat]
    if sizes.shape == ():
        if lengths[0] < 1:
            raise Unsupported("SplitToSequence in parts of no elements")
        lengths = [min(lengths[0], size - start) for start in range(0, size, lengths[0])]
    if sum(lengths) != size or min(lengths, default=0) < 0:
        raise Unsupported("SplitToSequence in parts that do not add up to the tensor")
    ends = np.cumsum(lengths).tolist()
    parts = zip(ends, lengths, strict=True)
    return tensors.sequence(tensors.take(X, slice(end - length, end), axis) for end, length in parts)


def _get_element(tensors: Tensors[V], _: Node, inputs: Sequence[V]) -> V:
    if inputs[0] is tensors.absent:
        raise Unsupported("OptionalGetElement of an empty optional")
    return inputs[0]


def _has_element(tensors: Tensors[V], _: Node, inputs: Sequence[V]) -> V:
    return tensors.constant(np.array(_optional(tensors, inputs, 0) is not tensors.absent))


SEQUENCE_OPERATORS: Mapping[str, Callable[[Tensors[Any], Node, Sequence[Any]], Any]] = {
    "SequenceConstruct": lambda tensors, _, inputs: tensors.sequence(inputs),
    "SequenceEmpty": _empty,
    "SequenceInsert": _insert,
    "SequenceErase": _erase,
    "SequenceAt": _at,
    "SequenceLength": _length,
    "ConcatFromSequence": _concatenate,
    "SplitToSequence": _split,
    "Optional": lambda tensors, _, inputs: _optional(tensors, inputs, 0),
    "OptionalHasElement": _has_element,
    "OptionalGetElement": _get_element,
}
"""The operators of sequences and optionals, by op_type; Identity is one for every value."""


class SequenceValue(Value, frozen=True):
    """A sequence of values.

    Attributes:
        items: the values in order.
    """

    items: tuple[Value, ...] = ()


def make_sequence(items: Iterable[Value]) -> SequenceValue:
    """Return a sequence of values."""
    return SequenceValue(np.empty(0, dtype=bool), np.dtype(bool), items=tuple(items))


@dataclass(frozen=True)
class ValueTensors:
    """Tensors and sequences of a number system."""

    system: NumberSystem
    absent: Value = ABSENT

    def constant(self, array: Array) -> Value:
        return self.system.from_array(array)

    def known(self, value: Value) -> Array:
        return self.system.exact_elements(value)

    def sequence(self, items: Iterable[Value]) -> Value:
        return make_sequence(items)

    def items(self, value: Value) -> Sequence[Value] | None:
        return value.items if isinstance(value, SequenceValue) else None

    def size(self, value: Value, axis: int) -> int:
        return int(value.elements.shape[axis])

    def take(self, value: Value, index: int | slice, axis: int) -> Value:
        return move_elements(value, lambda X: X[place_along(axis, X.ndim, index)])

    def join(self, values: Sequence[Value], axis: int, *, stacks: bool) -> Value:
        expanded = (move_elements(value, lambda X: np.expand_dims(X, axis)) for value in values)
        return concatenate([*expanded] if stacks else values, axis)


def _evaluation(operator: Callable[[Tensors[Value], Node, Sequence[Value]], Value]) -> Evaluation:
    return lambda node, inputs, system: [operator(ValueTensors(system), node, inputs)]


SEQUENCES: Mapping[str, Evaluation] = {name: _evaluation(each) for name, each in SEQUENCE_OPERATORS.items()}
"""The operators on sequences and optionals of a number system, by op_type."""
