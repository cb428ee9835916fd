"""ArgMax: the index of the largest element along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from conformance.models.arrays import Array


def argmax(largest: Array, *, axis: int, keepdims: int, select_last_index: int) -> Array:
    """The first or last index at which `largest` holds.

    Args:
        largest: for every element, whether it is a maximum along the axis (bool, the data's shape).
        axis: the axis to reduce; negative counts from the last.
        keepdims: whether the axis is kept with size 1.
        select_last_index: which of several maxima counts, the first or the last.

    Returns:
        Indices (int64), of the data's shape with the axis reduced.
    """
    if select_last_index:
        index = largest.shape[axis] - 1 - np.argmax(np.flip(largest, axis), axis=axis)
    else:
        index = np.argmax(largest, axis=axis)
    index = np.asarray(index, dtype=np.int64)
    return np.expand_dims(index, axis) if keepdims else index
