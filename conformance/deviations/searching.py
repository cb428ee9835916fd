"""What can be done about a kernel that searches along an axis: to what it looks at, and to what it takes of ties."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conformance.deviations.twists import answering

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.deviations.deviation import Kernel, Twist
    from conformance.models.arrays import Array
    from conformance.reference.nodes import Node


def along(node: Node, X: Array) -> tuple[Array, int]:
    """The data with the axis to reduce last, and that axis."""
    axis = node.attributes.get("axis", 0) % X.ndim
    return np.moveaxis(X, axis, -1), axis


def reduced(node: Node, values: Array, axis: int) -> Array:
    """Values for every slice, with the axis of size 1 that the node keeps."""
    return np.expand_dims(values, axis) if node.attributes.get("keepdims", 1) else values


def looking_at(part: Callable[[Array], Array]) -> Twist:
    """Only a part of each slice is looked at; what is not is as small as the type allows."""

    def twist(kernel: Kernel) -> Kernel:
        def run(node: Node, inputs: list[Array]) -> list[Array]:
            slices, axis = along(node, inputs[0])
            seen = part(np.arange(slices.shape[-1]))
            if seen.all() or not seen.any():
                return kernel(node, inputs)
            least = -np.inf if slices.dtype.kind == "f" else np.iinfo(slices.dtype).min
            hidden = np.where(seen, slices, np.asarray(least, slices.dtype))
            return kernel(node, [np.moveaxis(hidden, -1, axis), *inputs[1:]])

        return run

    return twist


def preferring(rank: Callable[[Array], Array]) -> Twist:
    """Of equal maxima, where the first is asked for, the one whose place ranks lowest is given."""

    def answer(node: Node, inputs: list[Array], outputs: list[Array]) -> list[Array]:
        slices, axis = along(node, inputs[0])
        if node.attributes.get("select_last_index", 0) or not slices.size:
            return outputs
        order = rank(np.arange(slices.shape[-1]))
        largest = slices == slices.max(axis=-1, keepdims=True)
        index = np.where(largest, order, order.max() + 1).argmin(axis=-1)
        return [reduced(node, index.astype(np.int64), axis)]

    return answering(answer)
