"""Operators on sequences and optionals, in any number system.

An optional with an element is the element itself. An empty optional is the value `ABSENT`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from conformance.reference.numbers.number_system import ABSENT, Value
from conformance.reference.operators.data_movement import concatenate, move_elements, slices, stack
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from conformance.reference.nodes import Evaluation, Node
    from conformance.reference.numbers.number_system import NumberSystem


@dataclass(frozen=True)
class SequenceValue(Value):
    """A sequence of values.

    Attributes:
        items: the values in order.
    """

    items: tuple[Value, ...] = ()


def make_sequence(items: Iterable[Value]) -> SequenceValue:
    """Return a sequence of values."""
    return SequenceValue(np.empty(0, dtype=bool), np.dtype(bool), items=tuple(items))


def _items(value: Value) -> tuple[Value, ...]:
    if not isinstance(value, SequenceValue):
        raise Unsupported("an operator needs a sequence, but its input is a tensor")
    return value.items


def _position(value: Value, items: tuple[Value, ...], system: NumberSystem) -> int:
    position = int(system.exact_elements(value).item())
    if not -len(items) <= position <= len(items):
        raise Unsupported(f"a sequence of {len(items)} elements has no position {position}")
    return position if position >= 0 else position + len(items)


def _construct(_: Node, inputs: list[Value], __: NumberSystem) -> list[Value]:
    return [make_sequence(inputs)]


def _empty(_: Node, __: list[Value], ___: NumberSystem) -> list[Value]:
    return [make_sequence(())]


def _at(_: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    items = _items(inputs[0])
    position = _position(inputs[1], items, system)
    if position == len(items):
        raise Unsupported(f"a sequence of {len(items)} elements has no element {position}")
    return [items[position]]


def _insert(_: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    items = _items(inputs[0])
    position = _position(inputs[2], items, system) if len(inputs) > 2 and not inputs[2].is_absent else len(items)
    return [make_sequence([*items[:position], inputs[1], *items[position:]])]


def _erase(_: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    items = _items(inputs[0])
    position = _position(inputs[1], items, system) if len(inputs) > 1 and not inputs[1].is_absent else len(items) - 1
    return [make_sequence([*items[:position], *items[position + 1 :]])]


def _length(_: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    return [system.from_array(np.array(len(_items(inputs[0])), dtype=np.int64))]


def _concatenate(node: Node, inputs: list[Value], _: NumberSystem) -> list[Value]:
    join = stack if node.attributes.get("new_axis", 0) else concatenate
    return [join(_items(inputs[0]), node.attributes["axis"])]


def _split(node: Node, inputs: list[Value], _: NumberSystem) -> list[Value]:
    """Evaluate SplitToSequence into slices of size 1; `keepdims=0` removes the axis."""
    if len(inputs) > 1 and not inputs[1].is_absent:
        raise Unsupported("SplitToSequence has an input of sizes")
    axis = node.attributes.get("axis", 0)
    parts = slices(inputs[0], axis)
    if node.attributes.get("keepdims", 1):
        parts = [move_elements(part, lambda X: np.expand_dims(X, axis)) for part in parts]
    return [make_sequence(parts)]


def _optional(_: Node, inputs: list[Value], __: NumberSystem) -> list[Value]:
    return [inputs[0] if inputs else ABSENT]


def _get_element(_: Node, inputs: list[Value], __: NumberSystem) -> list[Value]:
    if inputs[0].is_absent:
        raise Unsupported("an empty optional has no element")
    return [inputs[0]]


def _has_element(_: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    return [system.from_array(np.array(bool(inputs) and not inputs[0].is_absent))]


SEQUENCES: Mapping[str, Evaluation] = {
    "SequenceConstruct": _construct,
    "SequenceEmpty": _empty,
    "SequenceAt": _at,
    "SequenceInsert": _insert,
    "SequenceErase": _erase,
    "SequenceLength": _length,
    "ConcatFromSequence": _concatenate,
    "SplitToSequence": _split,
    "Optional": _optional,
    "OptionalGetElement": _get_element,
    "OptionalHasElement": _has_element,
}
