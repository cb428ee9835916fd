"""Enclosures of pooling and of Resize."""

from __future__ import annotations

from math import ceil, prod
from typing import TYPE_CHECKING

import numpy as np

from conformance.reference.enclosures.linear import (
    dilations,
    explicit_pads,
    extents,
    integers,
    mean,
    strides,
    tensor,
    windows,
)
from conformance.reference.numbers.enclosure import Enclosure, admit, dot
from conformance.reference.numbers.precision import format_of, is_computed
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.models.arrays import Array
    from conformance.reference.nodes import Node, NodeEnclosure
    from conformance.reference.numbers.enclosure import Tensor


def _pads(node: Node, X: Enclosure, kernel: Sequence[int]) -> list[tuple[int, int]]:
    """Return the padding of a pooling; with `ceil_mode` a last incomplete window gets padding at its end."""
    pads = explicit_pads(node, X.shape[2:], kernel)
    if not node.attributes.get("ceil_mode", 0):
        return pads
    steps, result = strides(node, len(kernel)), []
    for size, (low, high), extent, step in zip(X.shape[2:], pads, extents(node, kernel), steps, strict=True):
        count = ceil((size + low + high - extent) / step) + 1
        if (count - 1) * step >= size + low:  # a window that starts in the padding at the end does not count
            count -= 1
        result.append((low, max(high, (count - 1) * step + extent - size - low)))
    return result


def _max_pool(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    given = inputs[0]
    assert given is not None
    X = given if isinstance(given, Enclosure) else Enclosure.exact(given)
    kernel = node.attributes["kernel_shape"]
    pads = _pads(node, X, kernel)

    def largest(x: Array, fill: float) -> Array:
        return np.asarray(np.max(windows(x, node, kernel, pads, fill), axis=0))

    error = np.zeros(1) if X.is_exact else largest(X.error, 0.0)
    value = largest(X.value, -np.inf)
    result: Tensor = Enclosure(value, np.broadcast_to(error, value.shape), X.dtype).leave_open(np.isnan(value))
    if not is_computed(X.dtype):
        result = value.astype(X.dtype)
    if len(node.outputs) < 2 or not node.outputs[1]:
        return [result]
    return [result, _places_of_largest(node, X, kernel, pads)]


def _places_of_largest(node: Node, X: Enclosure, kernel: Sequence[int], pads: Sequence[tuple[int, int]]) -> Tensor:
    """Return the places of the largest elements in the flattened tensor; the page decides between no equal elements.

    The page does not state either how the column-major order counts several matrices.
    """
    if not X.is_exact:
        raise Unsupported("rounding of an input decides the indices of MaxPool")
    is_column_major = bool(node.attributes.get("storage_order", 0))
    counts = np.arange(prod(X.shape[2:]), dtype=np.float64).reshape(X.shape[2:], order="F" if is_column_major else "C")
    planes = np.arange(prod(X.shape[:2]), dtype=np.float64).reshape(*X.shape[:2], *[1] * len(kernel))
    elements, places = (
        np.asarray(windows(array, node, kernel, pads, -np.inf)) for array in (X.value, planes * counts.size + counts)
    )
    is_largest = (elements == elements.max(axis=0)) & (places >= 0)
    low, high = (
        extreme(np.where(is_largest, places, fill), axis=0) for extreme, fill in ((np.min, np.inf), (np.max, -np.inf))
    )
    is_open = low != high
    if is_column_major and planes.size > 1:
        is_open = np.ones_like(is_open)
    is_open |= np.isnan(elements).any(axis=0)
    low, high = np.where(is_open, 0, low), np.where(is_open, X.value.size - 1, high)
    if not is_open.any():
        return low.astype(np.int64)
    return Enclosure((low + high) / 2, (high - low) / 2, np.dtype(np.int64), unspecified=is_open)


def _average_pool(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X, kernel = tensor(inputs[0]), node.attributes["kernel_shape"]
    if any(gap != 1 for gap in dilations(node, len(kernel))) and node.opset < 19:
        raise Unsupported("AveragePool with dilations below opset 19")
    pads = _pads(node, X, kernel)
    declared = explicit_pads(node, X.shape[2:], kernel)

    def total(x: Array) -> Array:
        return np.asarray(np.sum(windows(x, node, kernel, pads, 0.0), axis=0))

    sums = X.from_terms(total(X.value), total(X.magnitude), total(X.error), prod(kernel))
    counted = np.ones(X.shape[2:])[np.newaxis, np.newaxis]
    if node.attributes.get("count_include_pad", 0):
        counted = np.pad(counted, [(0, 0), (0, 0), *declared], constant_values=1.0)
        pads = [(0, high - given) for (_, high), (_, given) in zip(pads, declared, strict=True)]
    count = np.asarray(np.sum(windows(counted, node, kernel, pads, 0.0), axis=0))
    return [sums / Enclosure(count, np.zeros_like(count), X.dtype)]


def _global_average_pool(_: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = tensor(inputs[0])
    return [mean(X, range(2, len(X.shape)))]


def _global_max_pool(_: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = tensor(inputs[0])
    result = X.extreme(range(2, len(X.shape)), largest=True, keepdims=True)
    return [result.leave_open(np.isnan(result.value))]


def _affine_grid(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose AffineGrid: the products of matrices with the positions of all pixels, the last axis first.

    The page states no position of a single pixel along an axis whose centre is both corners.
    """
    theta, sizes = tensor(inputs[0]), integers(inputs[1])[2:]
    is_aligned = bool(node.attributes.get("align_corners", 0))
    axes = [(2 * np.arange(size) - (size - 1)) / max(1, size - 1 if is_aligned else size) for size in map(float, sizes)]
    positions = np.stack([*reversed(np.meshgrid(*axes, indexing="ij")), np.ones(sizes)], -1)
    # a position is a start plus steps, with up to four roundings of numbers below 1
    error = np.full(positions.shape, 4 * float(format_of(theta.dtype).unit_roundoff))
    grid = dot(
        theta, Enclosure(positions, error, theta.dtype), lambda a, b: np.einsum("nij,...j->n...i", a, b), len(sizes) + 1
    )
    return [grid.leave_open(np.full(grid.shape, is_aligned and 1 in sizes))]


# Resize


def _sizes_and_scales(node: Node, inputs: Sequence[Tensor], shape: tuple[int, ...]) -> tuple[list[int], list[float]]:
    """Return the sizes of the output and the scale of each axis."""
    if node.op_type == "Upsample" or node.opset < 11:
        given = inputs[1] if len(inputs) > 1 else None
        scales = [float(s) for s in node.attributes["scales"]] if given is None else list(tensor(given).value)
        return [int(size * scale) for size, scale in zip(shape, scales, strict=True)], scales
    if "axes" in node.attributes or node.attributes.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise Unsupported("Resize with axes or with keep_aspect_ratio_policy")
    sizes = inputs[3] if len(inputs) > 3 else None
    if isinstance(sizes, np.ndarray) and sizes.size:
        wanted = [int(size) for size in sizes]
        return wanted, [new / old for new, old in zip(wanted, shape, strict=True)]
    scales = [float(scale) for scale in tensor(inputs[2]).value]
    return [int(np.floor(size * scale)) for size, scale in zip(shape, scales, strict=True)], scales


def _coordinates(mode: str, scale: float, old: int, new: int) -> Array | None:
    """Return the coordinates in the input of the coordinates of the output; None for an unknown mode.

    Args:
        mode: the attribute `coordinate_transformation_mode`.
        scale: the scale of the axis.
        old: its size in the input.
        new: its size in the output.
    """
    x = np.arange(new, dtype=np.float64)
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and new > 1):
        return (x + 0.5) / scale - 0.5
    if mode == "asymmetric":
        return x / scale
    if mode == "align_corners" and new > 1:
        return x * ((old - 1) / (new - 1))
    return 0 * x if mode in ("pytorch_half_pixel", "align_corners") else None


_NEAREST: Mapping[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}

TIE_DISTANCE = 2.0**-12
"""Distance from a change of `nearest_mode` within which rounding of a coordinate decides."""


def _resize(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose Resize with the modes nearest and linear, and Upsample."""
    X, given = tensor(inputs[0]), node.attributes
    sizes, scales = _sizes_and_scales(node, inputs, X.shape)
    is_legacy = node.op_type == "Upsample" or node.opset < 11
    coordinates = "asymmetric" if is_legacy else given.get("coordinate_transformation_mode", "half_pixel")
    rounding = "floor" if is_legacy else given.get("nearest_mode", "round_prefer_floor")
    mode = given.get("mode", "nearest")
    if mode not in ("nearest", "linear") or given.get("antialias", 0):
        raise Unsupported(f"Resize with mode {mode} or antialias")
    for axis, (new, scale) in enumerate(zip(sizes, scales, strict=True)):
        old = X.shape[axis]
        if new == old and scale == 1:
            continue
        if coordinates == "align_corners" and scale * old != new and new != old:
            raise Unsupported("Resize with align_corners to a size that the scale does not give exactly")
        x = _coordinates(coordinates, scale, old, new)
        if x is None:
            raise Unsupported(f"Resize with {coordinates}")
        X = _nearest(X, axis, x, _NEAREST[rounding]) if mode == "nearest" else _linear(X, axis, x)
    return [X]


def _nearest(X: Enclosure, axis: int, x: Array, rounding: Callable[[Array], Array]) -> Enclosure:
    old = X.shape[axis]
    places = [np.clip(rounding(x + shift), 0, old - 1).astype(int) for shift in (0.0, -TIE_DISTANCE, TIE_DISTANCE)]
    is_exact = np.equal(x, np.round(x * 4096) / 4096)  # a coordinate with few digits is computed exactly
    doubtful = (places[1] != places[2]) & ~is_exact
    Y = X.moved(lambda v: np.take(v, places[0], axis))
    if doubtful.any():
        mask = doubtful.reshape([-1 if each == axis else 1 for each in range(len(X.shape))])
        Y = Enclosure(Y.value, np.where(mask, np.inf, Y.error), Y.dtype)
    return Y


def _linear(X: Enclosure, axis: int, x: Array) -> Enclosure:
    """Interpolate along one axis. The weight has the rounding error of a coordinate in float."""
    old = X.shape[axis]
    x = np.clip(x, 0, old - 1)
    below = np.floor(x).astype(int)
    weight = x - below
    shape = [-1 if each == axis else 1 for each in range(len(X.shape))]
    first, second = (
        X.moved(lambda v, p=places: np.take(v, p, axis))  # type: ignore[misc]
        for places in (below, np.minimum(below + 1, old - 1))
    )
    error_of_weight = 4 * (np.abs(x) + 1) * 2.0**-24
    w = Enclosure(weight.reshape(shape), error_of_weight.reshape(shape), X.dtype)
    return admit(
        "Interpolation",
        written=lambda: (1.0 - w) * first + w * second,
        lerp=lambda: first + w * (second - first),
    )


IMAGE_ENCLOSURES: Mapping[str, NodeEnclosure] = {
    "MaxPool": _max_pool,
    "AveragePool": _average_pool,
    "GlobalAveragePool": _global_average_pool,
    "GlobalMaxPool": _global_max_pool,
    "AffineGrid": _affine_grid,
    "Resize": _resize,
    "Upsample": _resize,
}
