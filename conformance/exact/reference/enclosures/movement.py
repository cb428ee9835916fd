"""Operators that copy, select or replace elements at places that integers or booleans give.

Each function takes a node and arrays, and is applied to the values and to the bounds of an enclosure alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import dtype_of, is_computed
from conformance.exact.reference.formulas.linear import distinct_axes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Node


def zeros(shape: Sequence[int], dtype: Any) -> Array:
    """Return a tensor of zeros.

    Raises:
        Unsupported: the elements are strings, for which a page that writes zeros states no result.
    """
    if np.dtype(dtype).kind == "O":
        raise Unsupported("zeros among strings")
    return np.zeros(shape, dtype)


def _trilu(node: Node, arrays: Sequence[Any]) -> list[Array]:
    X = arrays[0]
    k = int(arrays[1].item()) if len(arrays) > 1 and arrays[1] is not None else 0
    rows, columns = X.shape[-2:]
    distance = np.arange(columns) - np.arange(rows)[:, np.newaxis]
    is_kept = distance >= k if node.attributes.get("upper", 1) else distance <= k
    return [np.where(is_kept, X, zeros((), X.dtype))]


def _reverse_sequence(node: Node, arrays: Sequence[Any]) -> list[Array]:
    X, lengths = arrays
    batch_axis = node.attributes.get("batch_axis", 1)
    time_axis = node.attributes.get("time_axis", 0)
    sequences = np.moveaxis(X, (batch_axis, time_axis), (0, 1))
    reversed_sequences = sequences.copy()
    for sequence, source, length in zip(reversed_sequences, sequences, lengths, strict=True):
        sequence[:length] = source[:length][::-1]
    return [np.moveaxis(reversed_sequences, (0, 1), (batch_axis, time_axis))]


def _compress(node: Node, arrays: Sequence[Any]) -> list[Array]:
    X, condition = arrays
    axis = node.attributes.get("axis")
    X, axis = (X.reshape(-1), 0) if axis is None else (X, axis)
    return [np.take(X, np.flatnonzero(condition), axis)]


def _tensor_scatter(node: Node, arrays: Sequence[Any]) -> list[Array]:
    cache, update, *given = arrays
    axis = node.attributes.get("axis", -2) % cache.ndim
    if not axis:
        raise Unsupported("TensorScatter along the axis of samples")
    starts = given[0] if given and given[0] is not None else np.zeros(cache.shape[0], np.int64)
    present = np.moveaxis(cache, axis, 1).copy()
    size = cache.shape[axis]
    for row, part, start in zip(present, np.moveaxis(update, axis, 1), starts, strict=True):
        places = int(start) + np.arange(update.shape[axis])
        if node.attributes.get("mode", "linear") == "circular":
            places %= size
        if len(set(places.tolist())) < len(places):
            raise Unsupported("TensorScatter writes an element twice")
        if ((places < 0) | (places >= size)).any():
            raise Unsupported("TensorScatter writes outside of the cache")
        row[places] = part
    return [np.moveaxis(present, 1, axis)]


def _center_crop_pad(node: Node, arrays: Sequence[Any]) -> list[Array]:
    X, shape = arrays
    axes = distinct_axes(node.attributes.get("axes", range(X.ndim)), X.ndim)
    for axis, size in zip(axes, shape.tolist(), strict=True):
        old = X.shape[axis]
        if size <= old:
            start = (old - size) // 2
            X = X[(slice(None),) * axis + (slice(start, start + size),)]
        else:
            before = (size - old) // 2
            padded = zeros((*X.shape[:axis], size, *X.shape[axis + 1 :]), X.dtype)
            padded[(slice(None),) * axis + (slice(before, before + old),)] = X
            X = padded
    return [X]


def _max_unpool(node: Node, arrays: Sequence[Any]) -> list[Array]:
    X = arrays[0]
    places = arrays[1]
    kernel = node.attributes["kernel_shape"]
    steps = node.attributes.get("strides", [1] * len(kernel))
    pads = node.attributes.get("pads", [0] * 2 * len(kernel))
    low = pads[: len(kernel)]
    high = pads[len(kernel) :]
    sizes = [
        (size - 1) * step + width - before - after
        for size, step, width, before, after in zip(X.shape[2:], steps, kernel, low, high, strict=True)
    ]
    shape = (*X.shape[:2], *sizes)
    if len(arrays) > 2 and arrays[2] is not None and tuple(arrays[2].tolist()) != shape:
        raise Unsupported("MaxUnpool with another output_shape than that of the pooling")
    flat = np.zeros(int(np.prod(shape)), X.dtype)
    if len(np.unique(places)) < places.size or ((places < 0) | (places >= flat.size)).any():
        raise Unsupported("MaxUnpool writes an element twice, or outside")
    flat[places.reshape(-1)] = X.reshape(-1)
    return [flat.reshape(shape)]


def _eye_like(node: Node, arrays: Sequence[Any]) -> list[Array]:
    rows, columns = arrays[0].shape
    dtype = dtype_of(node.attributes["dtype"]) if "dtype" in node.attributes else arrays[0].dtype
    return [np.eye(rows, columns, k=node.attributes.get("k", 0)).astype(dtype)]


def _unique(node: Node, arrays: Sequence[Any]) -> list[Array]:
    """Return unique elements or slices, their first places, the place of each element among them, and counts."""
    X = arrays[0]
    axis = node.attributes.get("axis")
    if is_computed(X.dtype) and np.isnan(X.astype(np.float64)).any():
        raise Unsupported("Unique of NaN")
    sortable = X.astype(np.float64) if is_computed(X.dtype) else X
    _, first, inverse, counts = np.unique(
        sortable, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    inverse = inverse.reshape(-1)
    if not node.attributes.get("sorted", 1):
        order = np.argsort(first)
        first, counts, inverse = first[order], counts[order], np.argsort(order)[inverse]
    Y = X.reshape(-1)[first] if axis is None else np.take(X, first, axis)
    return [Y, *(part.astype(np.int64) for part in (first, inverse, counts))]


# Scatter


def scatter_places(node: Node, shape: tuple[int, ...], indices: Array) -> tuple[Array, ...]:
    """Return the places in the first input to which ScatterND or ScatterElements writes, one array for each axis.

    Raises:
        Unsupported: an index is out of bounds.
    """
    if node.op_type == "ScatterND":
        places = list(np.moveaxis(indices, -1, 0))
        axes = list(range(len(places)))
    else:
        axis = node.attributes.get("axis", 0) % len(shape)
        places = list(np.indices(indices.shape, sparse=False))
        places[axis] = indices
        axes = [axis]
    for axis in axes:
        size = shape[axis]
        if ((places[axis] < -size) | (places[axis] >= size)).any():
            raise Unsupported(f"an index of {node.op_type} is out of bounds")
        places[axis] = places[axis] % size
    return tuple(places)


def scatter_counts(node: Node, shape: tuple[int, ...], indices: Array) -> Array:
    """Return how often ScatterND or ScatterElements writes to each element."""
    counts = np.zeros(shape, np.int64)
    np.add.at(counts, scatter_places(node, shape, indices), 1)
    return counts


def _scatter(node: Node, arrays: Sequence[Any]) -> list[Array]:
    """Return a copy with replaced elements, or with integers that are combined exactly.

    Raises:
        Unsupported: an integer is too large for its type, or an element is replaced twice.
    """
    data, indices, updates = arrays
    places = scatter_places(node, data.shape, indices)
    reduction = node.attributes.get("reduction", "none")
    if reduction == "none":
        if (scatter_counts(node, data.shape, indices) > 1).any():
            raise Unsupported(f"{node.op_type} writes an element twice")
        result = data.copy()
        result[places] = updates
        return [result]
    result = data.astype(object)
    {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[reduction].at(
        result, places, updates.astype(object)
    )
    if data.dtype.kind in "iu" and result.size:
        limits = np.iinfo(data.dtype)
        if not limits.min <= result.min() <= result.max() <= limits.max:
            raise Unsupported(f"{node.op_type} of integers overflows")
    return [result.astype(data.dtype)]


ELEMENT_MOVEMENTS: Mapping[str, Callable[[Node, Sequence[Any]], list[Array]]] = {
    "Trilu": _trilu,
    "ReverseSequence": _reverse_sequence,
    "Compress": _compress,
    "TensorScatter": _tensor_scatter,
    "CenterCropPad": _center_crop_pad,
    "MaxUnpool": _max_unpool,
}
"""Operators whose outputs have elements of their inputs, or zeros, in positions that do not depend on numbers."""

SCATTERS = ("ScatterND", "ScatterElements", "Scatter")
"""Operators that write at places that indices give. `Scatter` is the name of ScatterElements below opset 11."""

ELEMENT_DECISIONS: Mapping[str, Callable[[Node, Sequence[Any]], list[Array]]] = {
    "EyeLike": _eye_like,
    "Unique": _unique,
    **dict.fromkeys(SCATTERS, _scatter),
}
"""Operators of known elements."""
