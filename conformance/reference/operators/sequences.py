"""Sequences and optionals of tensors, in any number system. An empty optional is an absent value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from conformance.reference.numbers.values import ABSENT, Value
from conformance.reference.operators.movements import joined, moved, slices, stacked
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from conformance.reference.nodes import Evaluation, Node
    from conformance.reference.numbers.values import NumberSystem


@dataclass(frozen=True)
class SequenceValue(Value):
    """A sequence of values.

    Attributes:
        items: the values in order.
    """

    items: tuple[Value, ...] = ()


def sequence(items: Iterable[Value]) -> SequenceValue:
    """A sequence of these values."""
    return SequenceValue(np.empty(0, dtype=bool), np.dtype(bool), items=tuple(items))


def _items(value: Value) -> tuple[Value, ...]:
    if not isinstance(value, SequenceValue):
        raise Unsupported("a tensor stands where a sequence is asked for")
    return value.items


def _place(value: Value, items: tuple[Value, ...], system: NumberSystem) -> int:
    place = int(system.certain(value).item())
    if not -len(items) <= place <= len(items):
        raise Unsupported(f"a sequence of {len(items)} has no place {place}")
    return place if place >= 0 else place + len(items)


def _constructed(_: Node, inputs: list[Value], __: NumberSystem) -> list[Value]:
    return [sequence(inputs)]


def _empty(_: Node, __: list[Value], ___: NumberSystem) -> list[Value]:
    return [sequence(())]


def _at(_: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    items = _items(inputs[0])
    place = _place(inputs[1], items, system)
    if place == len(items):
        raise Unsupported(f"a sequence of {len(items)} has no element {place}")
    return [items[place]]


def _inserted(_: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    items = _items(inputs[0])
    place = _place(inputs[2], items, system) if len(inputs) > 2 and not inputs[2].is_absent else len(items)
    return [sequence([*items[:place], inputs[1], *items[place:]])]


def _erased(_: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    items = _items(inputs[0])
    place = _place(inputs[1], items, system) if len(inputs) > 1 and not inputs[1].is_absent else len(items) - 1
    return [sequence([*items[:place], *items[place + 1 :]])]


def _length(_: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    return [system.entering(np.array(len(_items(inputs[0])), dtype=np.int64))]


def _concatenated(node: Node, inputs: list[Value], _: NumberSystem) -> list[Value]:
    join = stacked if node.attributes.get("new_axis", 0) else joined
    return [join(_items(inputs[0]), node.attributes["axis"])]


def _split(node: Node, inputs: list[Value], _: NumberSystem) -> list[Value]:
    """One by one, the axis kept unless `keepdims` says otherwise."""
    if len(inputs) > 1 and not inputs[1].is_absent:
        raise Unsupported("SplitToSequence by sizes")
    axis = node.attributes.get("axis", 0)
    parts = slices(inputs[0], axis)
    if node.attributes.get("keepdims", 1):
        parts = [moved(part, lambda X: np.expand_dims(X, axis)) for part in parts]
    return [sequence(parts)]


def _optional(_: Node, inputs: list[Value], __: NumberSystem) -> list[Value]:
    return [inputs[0] if inputs else ABSENT]


def _element(_: Node, inputs: list[Value], __: NumberSystem) -> list[Value]:
    if inputs[0].is_absent:
        raise Unsupported("an empty optional has no element")
    return [inputs[0]]


def _has_element(_: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    return [system.entering(np.array(bool(inputs) and not inputs[0].is_absent))]


SEQUENCES: Mapping[str, Evaluation] = {
    "SequenceConstruct": _constructed,
    "SequenceEmpty": _empty,
    "SequenceAt": _at,
    "SequenceInsert": _inserted,
    "SequenceErase": _erased,
    "SequenceLength": _length,
    "ConcatFromSequence": _concatenated,
    "SplitToSequence": _split,
    "Optional": _optional,
    "OptionalGetElement": _element,
    "OptionalHasElement": _has_element,
}
