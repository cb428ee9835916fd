"""Enclosures of Resize and Upsample, axis by axis."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import floor, prod
from typing import TYPE_CHECKING

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import format_of
from conformance.exact.reference.enclosures.regions import cubic_weights, nearest_elements
from conformance.exact.reference.formulas.elementwise import tensor
from conformance.exact.reference.formulas.linear import distinct_axes
from conformance.exact.reference.numbers import portable
from conformance.exact.reference.numbers.enclosure import (
    Enclosure,
    admit,
    hull,
    is_strict,
    known_elements,
    leave_to_readings,
)
from conformance.exact.reference.tolerances import TIE_DISTANCE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Node, NodeEnclosure
    from conformance.exact.reference.numbers.enclosure import Tensor


def _sizes_and_scales(
    node: Node, inputs: Sequence[Tensor], shape: Sequence[int]
) -> tuple[list[int], list[float], list[float]]:
    """Return, for the axes that are resized, the sizes of the output, the scales, and the scales of the aspect ratio.

    The page states two scales if `keep_aspect_ratio_policy` adjusts the sizes: the quotient of both lengths, and the
    scale that all axes share.
    """
    if _is_legacy(node):
        given = inputs[1] if len(inputs) > 1 else None
        scales = [float(each) for each in (node.attributes["scales"] if given is None else known_elements(given))]
        return [int(size * scale) for size, scale in zip(shape, scales, strict=True)], scales, scales
    sizes = inputs[3] if len(inputs) > 3 else None
    if isinstance(sizes, np.ndarray) and sizes.size:
        if inputs[2] is not None and inputs[2].shape != (0,):
            raise Unsupported("Resize with scales and sizes")
        wanted = [int(size) for size in sizes]
        policy = node.attributes.get("keep_aspect_ratio_policy", "stretch")
        ratios = [new / old for new, old in zip(wanted, shape, strict=True)]
        if policy == "stretch":
            return wanted, ratios, ratios
        shared = min(ratios) if policy == "not_larger" else max(ratios)
        wanted = [floor(shared * old + 0.5) for old in shape]
        return wanted, [new / old for new, old in zip(wanted, shape, strict=True)], [shared] * len(wanted)
    scales = [float(scale) for scale in known_elements(inputs[2])]
    parts = _regions(node, inputs, len(scales))
    if any(end - start != 1 for start, end in parts):
        raise Unsupported("Resize that crops by scales: the page and onnx's shape inference state different sizes")
    return [int(np.floor(size * scale)) for size, scale in zip(shape, scales, strict=True)], scales, scales


_CROP = "tf_crop_and_resize"

_OF_LENGTHS = frozenset({"align_corners", "pytorch_half_pixel", _CROP})
"""The coordinate transformations whose formulas have the resized length."""


_LEGACY_COORDINATES = ("asymmetric", "half_pixel", "align_corners")
"""Readings of a page without a coordinate transformation; runtimes have each of them for linear interpolation."""


def _is_legacy(node: Node) -> bool:
    """Return whether a node has no coordinate transformation: Upsample, and Resize of opset 10."""
    return node.op_type == "Upsample" or node.opset < 11


def _regions(node: Node, inputs: Sequence[Tensor], count: int) -> list[tuple[float, float]]:
    """Return the normalized start and end of the region of each axis."""
    if node.attributes.get("coordinate_transformation_mode") != _CROP:
        return [(0.0, 1.0)] * count
    roi = known_elements(inputs[1]).astype(np.float64).tolist()
    return list(zip(roi[:count], roi[count:], strict=True))


def _coordinates(mode: str, scale: float, old: int, new: int, region: tuple[float, float], length: float) -> Array:
    """Return the coordinates in the input of the coordinates of the output.

    Args:
        mode: the attribute `coordinate_transformation_mode`.
        scale: the scale of the axis.
        old: its size in the input.
        new: its size in the output.
        region: the normalized start and end of the region that is cropped.
        length: the size in the output that the formulas of `_OF_LENGTHS` have, perhaps with a fraction.

    Raises:
        Unsupported: the mode is unknown.
    """
    x = np.arange(new, dtype=np.float64)
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and length > 1):
        return (x + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        return old / 2 * (1 - new / (scale * old)) + (x + 0.5) / scale - 0.5
    if mode == "asymmetric":
        return x / scale
    if mode == "align_corners" and length > 1:
        return x * ((old - 1) / (length - 1))
    if mode == _CROP:
        start, end = region
        if length > 1:
            return start * (old - 1) + x * (end - start) * (old - 1) / (length - 1)
        return 0 * x + 0.5 * (start + end) * (old - 1)
    if mode in ("pytorch_half_pixel", "align_corners"):
        return 0 * x
    raise Unsupported(f"Resize with {mode}")


_NEAREST: Mapping[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _resize(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose Resize with all modes, and Upsample. Elements of other types than floats are moved."""
    if isinstance(inputs[0], np.ndarray):
        return nearest_elements(_resize, node, inputs)
    X = tensor(inputs[0])
    given = node.attributes
    axes = distinct_axes(given.get("axes", range(len(X.shape))), len(X.shape))
    sizes, scales, shared = _sizes_and_scales(node, inputs, [X.shape[axis] for axis in axes])
    regions = _regions(node, inputs, len(axes))
    lengths = [X.shape[axis] * scale for axis, scale in zip(axes, scales, strict=True)]
    if given.get("coordinate_transformation_mode") in _OF_LENGTHS and lengths != sizes and node.opset >= 11:
        in_length = partial(_resize_axes, node, X, axes, sizes, scales, regions)
        return [leave_to_readings("fraction of a length", in_length, [sizes, lengths])]
    if _is_legacy(node) and given.get("mode", "nearest") == "nearest" and any(scale % 1 for scale in scales):
        rounded = partial(_resize_axes, node, X, axes, sizes, scales, regions, None)
        return [leave_to_readings("rounding of nearest", rounded, ["floor", *sorted(_NEAREST.keys() - {"floor"})])]
    if _is_legacy(node) and given.get("mode", "nearest") == "linear" and any(scale != 1 for scale in scales):
        placed = partial(_resize_axes, node, X, axes, sizes, scales, regions, None, "floor")
        return [leave_to_readings("coordinates of linear", placed, _LEGACY_COORDINATES)]
    given_form, shared_form = (partial(_resize_axes, node, X, axes, sizes, each, regions) for each in (scales, shared))
    return [given_form() if shared == scales else admit("Resize", given=given_form, shared=shared_form)]


def _resize_axes(
    node: Node,
    X: Enclosure,
    axes: Sequence[int],
    sizes: Sequence[int],
    scales: Sequence[float],
    regions: Sequence[tuple[float, float]],
    lengths: Sequence[float] | None = None,
    rounding: str = "floor",
    legacy_coordinates: str = "asymmetric",
) -> Enclosure:
    given = node.attributes
    is_legacy = _is_legacy(node)
    coordinates = legacy_coordinates if is_legacy else given.get("coordinate_transformation_mode", "half_pixel")
    rounding = rounding if is_legacy else given.get("nearest_mode", "round_prefer_floor")
    mode = given.get("mode", "nearest")
    fill = float(given.get("extrapolation_value", 0.0))
    outside = np.zeros([1] * len(X.shape), dtype=bool)
    doubtful = outside
    reached = X.magnitude
    limit = float(format_of(X.dtype).largest) * 2.0**-8  # kernels also sum up rows of weight 0, which may overflow
    for axis, new, scale, region, length in zip(axes, sizes, scales, regions, lengths or sizes, strict=True):
        old = X.shape[axis]
        is_kept = new == old and scale == 1 and coordinates != _CROP
        if is_kept and (mode == "nearest" or (X.magnitude < limit).all()):
            continue
        x = _coordinates(coordinates, scale, old, new, region, length)
        if coordinates == _CROP:
            shape = [-1 if each == axis else 1 for each in range(len(X.shape))]
            distance = np.maximum(-x, x - (old - 1))
            outside = outside | (distance > 0).reshape(shape)
            doubtful = doubtful | ((np.abs(distance) < TIE_DISTANCE) & (x != 0) & (x != old - 1)).reshape(shape)
        if mode == "nearest":
            X = _nearest(X, axis, x, _NEAREST[rounding])
        elif mode == "linear" and not given.get("antialias", 0):
            X = _linear(X, axis, x)
        else:
            X, reached = _filtered(node, X, axis, x, scale, reached)
    if mode == "cubic":  # a sum along another axis first may overflow
        overflows = (reached > float(format_of(X.dtype).largest)) & np.isfinite(X.value)
        X = replace(X, error=np.where(overflows, np.inf, X.error))
    if not outside.any() and not doubtful.any():
        return X
    value = np.where(outside, X.constant(fill).value, X.value)
    error = np.where(outside, 0.0, X.error)
    return replace(X, value=value, error=np.where(doubtful, np.inf, error), terms=None)


def _filtered(node: Node, X: Enclosure, axis: int, x: Array, scale: float, reached: Array) -> tuple[Enclosure, Array]:
    """Return sums of neighbours, weighted by the triangle or cubic kernel of distances, and limits of partial sums.

    With `antialias`, a kernel is as wide as the scale requires. Places outside of the tensor have the elements of its
    border, or no weight with `exclude_outside`. The page does not state whether neighbours of weight 0 take part, so
    elements near an infinity or NaN are undetermined.
    """
    given = node.attributes
    size = X.shape[axis]
    unbounded = ~np.isfinite(X.magnitude)
    if unbounded.any():
        X, reached = X.moved(lambda v: np.where(unbounded, 0, v)), np.where(unbounded, 0, reached)
    factor = float(given.get("cubic_coeff_a", -0.75))
    far = (FAR_CUBIC_AT_SHOULD if is_strict() else FAR_CUBIC) * abs(factor)
    stretch = min(scale, 1.0) if given.get("antialias", 0) else 1.0
    reach = int(np.ceil((2 if given["mode"] == "cubic" else 1) / stretch))

    def weigh(x: Array) -> Array:
        """Return matrices for coordinates: weights, magnitudes, what roundings relate to, neighbours."""
        places = np.floor(x).astype(int)[:, np.newaxis] + np.arange(-reach, reach + 2)
        distances = np.abs(x[:, np.newaxis] - places) * stretch
        if given["mode"] == "cubic":
            weights = cubic_weights(distances, factor)
            related = np.where(weights != 0, np.where(distances < 1, NEAR_CUBIC, far), 0.0)
        else:
            related = weights = np.maximum(0.0, 1 - distances)
        if given.get("exclude_outside", 0):
            weights = np.where((places >= 0) & (places < size), weights, 0.0)
        matrix = np.zeros((4, x.size, size))
        clipped = np.clip(places, 0, size - 1)
        for part, each in zip(matrix, (weights, np.abs(weights), related, np.ones_like(weights)), strict=True):
            np.add.at(part, (np.arange(x.size)[:, np.newaxis], clipped), each)
        matrix[:3] /= weights.sum(axis=1, keepdims=True)
        return matrix

    def combine(matrix: Array, values: Array) -> Array:
        moved = np.moveaxis(values, axis, 0)
        sums = portable.matmul(matrix, moved.reshape(len(moved), prod(moved.shape[1:])))
        return np.moveaxis(sums.reshape(len(matrix), *moved.shape[1:]), 0, axis)

    # a coordinate has a few roundings in float, and a weight as many as its polynomial
    shift = COORDINATE_ROUNDINGS * 2.0**-24 * (np.abs(x) + 1)
    W, magnitudes, related, is_near = weigh(x)
    with np.errstate(all="ignore"):
        value = combine(W, X.value)
        total = combine(magnitudes, X.magnitude)
        moved = [np.abs(combine(weigh(x + sign * shift)[0] - W, X.value)) for sign in (-1, 1)]
        spread = (
            combine(magnitudes, X.error)
            + 1.5 * np.maximum(*moved)
            + combine(related, X.magnitude) * WEIGHT_ROUNDINGS * 2.0**-24
        )
        Y, reached = (
            X.from_terms(value, total, spread, 2 * reach + 2),
            combine(np.maximum(magnitudes, is_near), reached),
        )
    if unbounded.any():
        Y = replace(Y, error=np.where(combine(is_near, unbounded) > 0, np.inf, Y.error))
    return Y, reached


COORDINATE_ROUNDINGS = 4
"""Roundings of a coordinate, relative to the coordinate plus 1."""

WEIGHT_ROUNDINGS = 4
"""Roundings of a weight: relative to a weight of the triangle, or to the terms of the cubic kernel, which cancel."""

NEAR_CUBIC = 1.25
FAR_CUBIC = 10.0
FAR_CUBIC_AT_SHOULD = 3.0
"""Magnitudes to which the roundings of a cubic weight relate, at a distance below 1 and above, there times |a|.

The roundings of ((a d - 5 a) d + 8 a) d - 4 a are at most 40 |a| units for a distance d up to 2. The standard deviation
of their sum is at most 11 |a| units, if they are independent, which is the limit of level `should`."""


def _nearest(X: Enclosure, axis: int, x: Array, rounding: Callable[[Array], Array]) -> Enclosure:
    old = X.shape[axis]
    places = [np.clip(rounding(x + shift), 0, old - 1).astype(int) for shift in (0.0, -TIE_DISTANCE, TIE_DISTANCE)]
    is_exact = np.equal(x, np.round(x * 4096) / 4096)  # a coordinate with few digits is computed exactly
    doubtful = (places[1] != places[2]) & ~is_exact
    first, *others = (
        X.moved(lambda v, at=np.where(doubtful, place, places[0]): np.take(v, at, axis))  # type: ignore[misc]  # noqa: B008
        for place in (places[1:] if doubtful.any() else places[:1])
    )
    return hull(first, *others) if others else first


def _linear(X: Enclosure, axis: int, x: Array) -> Enclosure:
    """Interpolate along one axis. The weight has the rounding error of a coordinate in float."""
    old = X.shape[axis]
    x = np.clip(x, 0, old - 1)
    below = np.floor(x).astype(int)
    weight = x - below
    shape = [-1 if each == axis else 1 for each in range(len(X.shape))]
    before, first, second, after = (
        X.moved(lambda v, p=np.clip(places, 0, old - 1): np.take(v, p, axis))  # type: ignore[misc]  # noqa: B008
        for places in (below - 1, below, below + 1, below + 2)
    )
    error_of_weight = 4 * (np.abs(x) + 1) * 2.0**-24
    w = Enclosure(weight.reshape(shape), error_of_weight.reshape(shape), X.dtype)
    Y = admit(
        "Interpolation",
        written=lambda: (1.0 - w) * first + w * second,
        lerp=lambda: first + w * (second - first),
    )
    is_low, is_first, is_second, is_high = (~np.isfinite(each.magnitude) for each in (before, first, second, after))
    is_on_first = w.value <= w.error
    is_on_second = 1 - w.value <= w.error
    is_open = ((is_low | is_second) & is_on_first) | ((is_first | is_high) & is_on_second)
    return Y.leave_open(is_open, "neighbour of weight 0")


RESIZE_ENCLOSURES: Mapping[str, NodeEnclosure] = {"Resize": _resize, "Upsample": _resize}
