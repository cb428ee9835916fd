"""Operators that say where elements stand in order, in any number system: ArgMax, ArgMin, TopK, Hardmax."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conformance.models.signatures import ARGMAX_DEFAULTS, softmax_default_axis
from conformance.reference.numbers.values import Value
from conformance.reference.operators.argmax import argmax
from conformance.reference.operators.movements import integers, moved
from conformance.reference.operators.softmax import coerced
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.models.arrays import Array
    from conformance.reference.nodes import Evaluation, Node
    from conformance.reference.numbers.values import NumberSystem


def _argmax(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    attributes = {**ARGMAX_DEFAULTS, **node.attributes}
    X, axis = inputs[0], attributes["axis"]
    if not X.elements.ndim or not X.elements.shape[axis]:
        raise Unsupported(f"{node.op_type} over an axis without elements has no answer")
    largest = system.largest(X, axis)
    index = argmax(system.winners(X, axis, largest), **attributes)
    choices = _choices(largest & system.uncertain(X), largest, index, axis, keepdims=bool(attributes["keepdims"]))
    return [Value(index, index.dtype, choices)]


def _choices(uncertain: Array, largest: Array, index: Array, axis: int, *, keepdims: bool) -> Array | None:
    """Which indices are acceptable, where rounding decides; what is certain, ties included, leaves one index."""
    if not uncertain.any():
        return None
    choices, doubtful = np.moveaxis(largest, axis, -1), np.moveaxis(uncertain, axis, -1).any(axis=-1, keepdims=True)
    if keepdims:
        axis %= largest.ndim
        choices, doubtful = np.expand_dims(choices, axis), np.expand_dims(doubtful, axis)
    return np.where(doubtful, choices, index[..., np.newaxis] == np.arange(largest.shape[axis]))


def _argmin(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """ArgMax in the opposite order."""
    return _argmax(node, [_reversed(inputs[0], system)], system)


def _reversed(X: Value, system: NumberSystem) -> Value:
    """The bits of an integer inverted, since not every one has a negative."""
    return system.monotone(lambda elements: ~elements if elements.dtype.kind in "iu" else -elements, X)


def _top_k(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    axis = node.attributes.get("axis", -1)
    count = integers(inputs[1])[0] if len(inputs) > 1 else node.attributes["k"]
    if not 0 <= count <= inputs[0].elements.shape[axis]:
        raise Unsupported(f"{node.op_type} of {count} elements of {inputs[0].elements.shape[axis]}")
    return list(system.ranked(inputs[0], axis, count, largest=bool(node.attributes.get("largest", 1))))


def _hardmax(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """1 at the first maximum, 0 elsewhere; along one axis since opset 13, over coerced matrices below it."""
    X, axis = inputs[0], node.attributes.get("axis", softmax_default_axis(node.opset))
    shape = X.elements.shape
    if node.opset < 13:
        X, axis = moved(X, lambda elements: coerced(elements, axis)), 1
    largest = system.largest(X, axis)
    if (largest & system.uncertain(X)).any():
        raise Unsupported("rounding decides which element is the largest")
    place = argmax(largest, axis=axis, keepdims=1, select_last_index=0)
    hard = np.zeros(X.elements.shape, dtype=X.dtype)
    np.put_along_axis(hard, place, X.dtype.type(1), axis)
    return [system.entering(hard.reshape(shape))]


INDICES: Mapping[str, Evaluation] = {"ArgMax": _argmax, "ArgMin": _argmin, "TopK": _top_k, "Hardmax": _hardmax}
