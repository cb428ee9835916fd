"""Operators that move elements without arithmetic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from checks.oracle.calls import Call
    from checks.oracle.tensors import Tensor


def _concat(call: Call, *operands: Tensor) -> Tensor:
    parts = [operand.elements for operand in operands]
    return operands[0].with_elements(np.concatenate(parts, axis=call.attributes["axis"]))


def _expand(call: Call, x: Tensor, shape: Tensor) -> Tensor:
    target = np.broadcast_shapes(x.shape, tuple(shape.integers()))
    return x.with_elements(np.broadcast_to(x.elements, target).copy())


def _flatten(call: Call, x: Tensor) -> Tensor:
    axis = call.attributes["axis"]
    axis += x.rank if axis < 0 else 0
    return x.with_elements(x.elements.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


def _gather(call: Call, x: Tensor, indices: Tensor) -> Tensor:
    axis = call.attributes["axis"]
    places = np.array(indices.integers(), dtype=np.int64).reshape(indices.shape)
    return x.with_elements(np.asarray(np.take(x.elements, places, axis=axis), object))


def _reshape(call: Call, x: Tensor, shape: Tensor) -> Tensor:
    """Reshape a tensor. A size of 0 keeps the dimension unless `allowzero` is set; -1 is inferred."""
    keeps = not call.attributes.get("allowzero", 0)
    target = [x.shape[at] if size == 0 and keeps else size for at, size in enumerate(shape.integers())]
    return x.with_elements(x.elements.reshape(target))


def _slice(
    call: Call, x: Tensor, starts: Tensor, ends: Tensor, axes: Tensor | None = None, steps: Tensor | None = None
) -> Tensor:
    """Slice axes from start to end. The corpus has no negative step with an end before the first element."""
    count = len(starts.integers())
    places = axes.integers() if axes else range(count)
    ranges = [slice(None)] * x.rank
    for axis, *numbers in zip(
        places, starts.integers(), ends.integers(), steps.integers() if steps else [1] * count, strict=True
    ):
        ranges[axis] = slice(*numbers)
    return x.with_elements(x.elements[tuple(ranges)])


def _split(call: Call, x: Tensor, sizes: Tensor | None = None) -> tuple[Tensor, ...]:
    """Split a tensor along the axis into parts of given sizes, or into as many equal parts as there are outputs."""
    given = call.integers("split", sizes)
    parts = len(call.node.output) if given is None else np.cumsum(given)[:-1]
    pieces = np.split(x.elements, parts, axis=call.attributes["axis"])
    return tuple(map(x.with_elements, pieces))


def _squeeze(call: Call, x: Tensor, axes: Tensor | None = None) -> Tensor:
    """Remove axes of size 1: the given axes, or all if they are omitted."""
    given = call.integers("axes", axes)
    return x.with_elements(np.squeeze(x.elements, None if given is None else tuple(given)))


def _tile(call: Call, x: Tensor, repeats: Tensor) -> Tensor:
    return x.with_elements(np.tile(x.elements, repeats.integers()))


def _transpose(call: Call, x: Tensor) -> Tensor:
    return x.with_elements(np.transpose(x.elements, call.attributes.get("perm")))


def _unsqueeze(call: Call, x: Tensor, axes: Tensor | None = None) -> Tensor:
    return x.with_elements(np.expand_dims(x.elements, tuple(call.integers("axes", axes) or ())))


OPERATORS = {
    "Concat": _concat,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "Reshape": _reshape,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
