"""Enclosures of operators that sample images between pixels, and NonMaxSuppression.

An operator samples at coordinates that it computes from its operands. A coordinate has the rounding error of a few
operations; the sampled value changes with it, by the differences of neighbouring pixels.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product
from math import ceil, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import format_of
from conformance.exact.reference.enclosures.casts import through_float
from conformance.exact.reference.enclosures.movement import zeros
from conformance.exact.reference.formulas.elementwise import tensor
from conformance.exact.reference.formulas.linear import (
    dilations,
    explicit_pads,
    integers,
    optional_tensor,
    stack,
    strides,
    window_places,
)
from conformance.exact.reference.nodes import check_steps
from conformance.exact.reference.numbers import portable
from conformance.exact.reference.numbers.enclosure import Enclosure, admit, between, current_reading
from conformance.exact.reference.tolerances import ROUNDINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Node, NodeEnclosure
    from conformance.exact.reference.numbers.enclosure import Tensor

    Taps = Callable[[Array, int], tuple[Array, Array, Array]]


def _roundoff(*operands: Enclosure) -> float:
    """Return the largest unit of roundoff of some operands."""
    return max(float(format_of(each.dtype).unit_roundoff) for each in operands)


# Sampling with the weights of neighbouring pixels


def _neighbours(mode: str) -> Callable[[Array], tuple[Array, Array]]:
    """Return the function that gives the neighbours of coordinates along one axis and their weights (…, count)."""

    def linear(x: Array) -> tuple[Array, Array]:
        below = np.floor(x)
        return np.stack([below, below + 1], -1), np.stack([1 - (x - below), x - below], -1)

    def cubic(x: Array) -> tuple[Array, Array]:
        places = np.floor(x)[..., np.newaxis] + np.arange(-1, 3)
        return places, cubic_weights(np.abs(x[..., np.newaxis] - places))

    def nearest(x: Array) -> tuple[Array, Array]:
        return np.rint(x)[..., np.newaxis], np.ones((*x.shape, 1))

    return {"linear": linear, "cubic": cubic, "nearest": nearest}[mode]


def cubic_weights(distances: Array, a: float = -0.75) -> Array:
    """Return the weights of the cubic convolution with the coefficient `a` (Keys, 1981)."""
    near = ((a + 2) * distances - (a + 3)) * distances**2 + 1
    far = ((distances - 5) * distances + 8) * distances * a - 4 * a
    return np.asarray(np.where(distances <= 1, near, np.where(distances < 2, far, 0.0)))


def _taps(mode: str, padding: str = "zeros", *, is_aligned: bool = False) -> Taps:
    """Return the function that gives the indices of the neighbours along an axis, their weights and which exist."""
    neighbours = _neighbours(mode)

    def find(x: Array, size: int) -> tuple[Array, Array, Array]:
        places, weights = neighbours(np.clip(x, -(2.0**50), 2.0**50))
        indices = places.astype(np.int64)
        is_inside = np.ones(indices.shape, dtype=bool)
        if padding == "zeros":
            is_inside = (indices >= 0) & (indices < size)
        elif padding == "reflection":
            period = max(1, 2 * (size - 1) if is_aligned else 2 * size)
            indices = indices % period
            indices = np.where(indices >= size, period - indices - (not is_aligned), indices)
        return np.clip(indices, 0, size - 1), weights, is_inside

    return find


def _interpolate(values: Array, x: Sequence[Array], taps: Taps, *, magnitudes: bool = False) -> Array:
    """Return weighted sums of neighbours (N, C, output sizes) of values (N, C, sizes)."""
    found = [taps(each, size) for each, size in zip(x, values.shape[2:], strict=True)]
    batch = np.arange(values.shape[0]).reshape(-1, *[1] * (x[0].ndim - 1))
    last = np.moveaxis(values, 1, -1)
    total = np.zeros((*x[0].shape, values.shape[1]))
    for choice in product(*(range(weights.shape[-1]) for _, weights, _ in found)):
        parts = [(i[..., k], w[..., k], m[..., k]) for (i, w, m), k in zip(found, choice, strict=True)]
        weight = np.prod([w for _, w, _ in parts], axis=0)
        is_inside = np.all([m for *_, m in parts], axis=0)
        weight = np.where(is_inside, np.abs(weight) if magnitudes else weight, 0.0)[..., np.newaxis]
        pixels = last[(batch, *(i for i, *_ in parts))]
        total += np.where(is_inside[..., np.newaxis], weight * pixels, 0.0)
    return np.moveaxis(total, -1, 1)


def _with_weights(taps: Taps, change: Callable[[Array], Array]) -> Taps:
    def find(x: Array, size: int) -> tuple[Array, Array, Array]:
        indices, weights, is_inside = taps(x, size)
        return indices, change(weights), is_inside

    return find


def _has_weightless_infinity(X: Enclosure, x: Sequence[Array], taps: Taps) -> Array:
    """Return whether a neighbour of weight 0 is infinite or NaN. The page does not state whether it takes part."""
    special = (~np.isfinite(X.value)).astype(np.float64)
    every = _interpolate(special, x, _with_weights(taps, np.ones_like))
    return every > _interpolate(special, x, _with_weights(taps, lambda w: (w != 0).astype(np.float64)))


def sample(X: Enclosure, x: Sequence[Array], errors: Sequence[Array], taps: Taps) -> Enclosure:
    """Return a tensor sampled at coordinates.

    Args:
        X: the tensor (N, C, sizes).
        x: the coordinates along each axis, each (N, output sizes).
        errors: the errors of the coordinates.
        taps: the neighbours of a coordinate along an axis and their weights.

    Returns:
        The samples (N, C, output sizes). A sample at a coordinate that is not finite is open.
    """
    is_known = np.all([np.isfinite(each) for each in x], axis=0)
    x = [np.where(is_known, each, 0.0) for each in x]
    value = _interpolate(X.value, x, taps)
    spread = np.zeros_like(value)
    for signs in product((-1, 0, 1), repeat=len(x)):
        shifted = [each + sign * error for each, sign, error in zip(x, signs, errors, strict=True)]
        spread = np.maximum(spread, np.abs(_interpolate(X.value, shifted, taps) - value))
    magnitudes = _interpolate(X.magnitude, x, taps, magnitudes=True)
    if X.dtype.itemsize == 8:  # products of two weights and a small number are 0 in one order only
        is_read = _interpolate(np.sign(X.magnitude), x, _with_weights(taps, lambda w: (w != 0).astype(np.float64)))
        magnitudes = np.where(is_read > 0, np.maximum(magnitudes, np.nextafter(0, 1)), magnitudes)
    error = spread + _interpolate(X.error, x, taps, magnitudes=True)
    count = taps(np.zeros(1), 4)[1].shape[-1]
    if count == 4:  # a polynomial of the distance, whose terms cancel
        reached = _interpolate(X.magnitude, x, _with_weights(taps, np.ones_like))
        error = error + ROUNDINGS["weight of a cubic interpolation"] * _roundoff(X) * reached
        # a sum along one axis may overflow before the other axis has a negative weight
        error = np.where(reached > float(format_of(X.dtype).largest), np.inf, error)
    result = Enclosure(value, error, X.dtype)
    if count > 1:
        result = X.from_terms(value, magnitudes, np.nan_to_num(error, nan=np.inf), count ** len(x) + 4 * len(x))
        is_sum = np.isfinite(magnitudes) & ~_has_weightless_infinity(X, x, taps)
        result = replace(result, error=np.where(is_sum, result.error, np.inf))
    return result.leave_open(~is_known[:, np.newaxis], "position of a sample")


_GRID_MODES: Mapping[str, str] = {"bilinear": "linear", "bicubic": "cubic"}
"""The names of modes below opset 20."""


def _grid_sample(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose GridSample. The grid has the coordinate of the last axis first, from -1 to 1."""
    if isinstance(inputs[0], np.ndarray):
        return nearest_elements(_grid_sample, node, inputs)
    X = tensor(inputs[0])
    grid = tensor(inputs[1])
    given = node.attributes
    is_aligned = bool(node.attributes.get("align_corners", 0))
    rounding = ROUNDINGS["position of a sample"] * _roundoff(X, grid)
    mode = given.get("mode", "linear")
    x = []
    errors = []
    for axis, size in enumerate(X.shape[2:]):
        g, error = (part[..., -1 - axis] for part in (grid.value, grid.error))
        x.append((g + 1) / 2 * (size - 1) if is_aligned else ((g + 1) * size - 1) / 2)
        errors.append(rounding * ((np.abs(g) + 1) * size + 1) + error * size / 2)
    taps = _taps(_GRID_MODES.get(mode, mode), given.get("padding_mode", "zeros"), is_aligned=is_aligned)
    Y = sample(X, x, errors, taps)
    if mode not in ("cubic", "bicubic") or given.get("padding_mode") != "border":
        return [Y]
    # the page gives the border's value to a place outside; kernels give it to each neighbour outside
    inside = sample(X, [np.clip(each, 0, size - 1) for each, size in zip(x, X.shape[2:], strict=True)], errors, taps)
    return [Y.with_readings("neighbours beyond the border", [inside])]


def nearest_elements(function: NodeEnclosure, node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Return computed integers, or the elements of any type that the nearest neighbor has; 0 outside of the tensor.

    Raises:
        Unsupported: the operator computes elements, or rounding of a coordinate decides one.
    """
    X = inputs[0]
    assert isinstance(X, np.ndarray)
    mode = node.attributes.get("mode", "linear" if node.op_type == "GridSample" else "nearest")
    if mode != "nearest" or "extrapolation_value" in node.attributes:
        if X.dtype.kind in "iu":
            return through_float(function, node, inputs)
        raise Unsupported(f"{node.op_type} of {X.dtype} that computes elements")
    places = Enclosure.exact(np.arange(1, X.size + 1, dtype=np.float64).reshape(X.shape))
    moved = tensor(function(node, [places, *inputs[1:]])[0])
    if not moved.is_exact:
        raise Unsupported("rounding of a coordinate decides an element")
    outside = zeros((1,), X.dtype) if (moved.value == 0).any() else X.reshape(-1)[:1]
    return [np.concatenate([outside, X.reshape(-1)])[moved.value.astype(int)]]


def _max_roi_pool(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose MaxRoiPool: the largest element of each cell of a region (Girshick 2015, Fast R-CNN).

    The corners of a region are rounded to pixels, which belong to the region. A cell has all pixels that it touches. A
    region is open where rounding decides a corner.
    """
    X = tensor(inputs[0])
    rois = tensor(inputs[1])
    if not rois.is_exact or not np.isin(rois.value[:, 0], np.arange(X.shape[0])).all():
        raise Unsupported("MaxRoiPool of regions that are not known, or of an image that does not exist")
    scale = float(node.attributes.get("spatial_scale", 1.0))
    grid = node.attributes["pooled_shape"]
    shape = (len(rois.value), X.shape[1], *grid)
    low, high, error, is_unspecified = (np.zeros(shape) for _ in range(4))
    for number, (image, left, top, right, bottom) in enumerate(rois.value):
        rows = _cells(top * scale, bottom * scale, grid[0], X.shape[2])
        columns = _cells(left * scale, right * scale, grid[1], X.shape[3])
        is_unspecified[number] = not rows
        is_unspecified[number] += not columns
        for (i, row), (j, column) in product(enumerate(rows), enumerate(columns)):
            for result, k in ((low, 0), (high, 1)):
                cell = (int(image), slice(None), row[k], column[k])
                pixels = X.value[cell].reshape(X.shape[1], -1)
                result[number, :, i, j] = pixels.max(axis=1) if pixels.size else 0.0
                error[number, :, i, j] = X.error[cell].max(initial=0.0)
                is_unspecified[number, :, i, j] += np.isnan(pixels).any(axis=1)
    largest = between(low, high, X.dtype)
    return [
        Enclosure(largest.value, largest.error + error, X.dtype).leave_open(is_unspecified > 0, "empty region", "NaN")
    ]


def _cells(start: float, end: float, count: int, size: int) -> list[tuple[slice, slice]]:
    """Return the smallest and the largest range of pixels of each cell along an axis; none if rounding decides an end.

    Args:
        start: the first coordinate.
        end: the last coordinate.
        count: the number of cells.
        size: the number of pixels of the image.
    """
    ends = np.array([start, end])
    if not np.isfinite(ends).all() or (np.abs(ends - np.floor(ends) - 0.5) <= 2.0**-20 * (1 + np.abs(ends))).any():
        return []
    first, last = np.rint(ends).astype(np.int64).tolist()
    width = max(last - first + 1, 1)
    cells = []
    for k in range(count):
        low = k * width // count
        high = -(-(k + 1) * width // count)
        # the size of a cell is rounded, so that the border of a cell at a pixel may lie before or behind it
        is_rounded = width % count > 0
        ranges = (
            (low, high),
            (
                low - (is_rounded and k > 0 and k * width % count == 0),
                high + (is_rounded and (k + 1) * width % count == 0),
            ),
        )
        below, above = (slice(*(min(max(first + each, 0), size) for each in part)) for part in ranges)
        cells.append((below, above))
    return cells


def _deform_conv(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose DeformConv: the convolution of samples between pixels, each multiplied by its mask."""
    X, W, offset = (tensor(given) for given in inputs[:3])
    B = optional_tensor(inputs, 3)
    mask = optional_tensor(inputs, 4)
    batch, channels, *sizes = X.shape
    outputs, _, *kernel = W.shape
    groups, offset_groups = (node.attributes.get(name, 1) for name in ("group", "offset_group"))
    rank = len(sizes)
    count = prod(kernel)
    result = offset.shape[2:]
    pads = explicit_pads(node, sizes, kernel)
    shifts = offset.moved(lambda o: o.reshape(batch * offset_groups, count, rank, *result))
    x = []
    errors = []
    rounding = ROUNDINGS["position of a sample"] * _roundoff(X, offset)
    for axis in range(rank):
        grid = np.arange(result[axis]) * strides(node, rank)[axis] - pads[axis][0]
        places = grid.reshape([-1 if each == axis else 1 for each in range(rank)])
        taps = np.indices(kernel)[axis].reshape(-1, *[1] * rank) * dilations(node, rank)[axis]
        x.append(places + taps + shifts.value[:, :, axis])
        errors.append(shifts.error[:, :, axis] + rounding * np.abs(x[-1]))
    split = X.moved(lambda v: v.reshape(batch * offset_groups, channels // offset_groups, *sizes))
    columns = sample(split, x, errors, _taps("linear"))
    pairs = np.maximum(columns.magnitude, 1.0)
    if mask is not None:
        factors = mask.moved(lambda m: m.reshape(batch * offset_groups, 1, count, *result))
        columns, pairs = columns * factors, pairs * np.maximum(factors.magnitude, 1.0)
    columns = columns.moved(lambda c: c.reshape(batch, groups, channels // groups, count, -1))
    weights = W.moved(lambda w: w.reshape(groups, outputs // groups, channels // groups, count))
    convolve = partial(portable.einsum, "ngckp,gock->ngop")
    Y = columns.dot(weights, convolve, channels // groups * count)
    if mask is not None:  # a product of two of the three factors may overflow
        reached = convolve(pairs.reshape(columns.shape), np.maximum(weights.magnitude, 1.0))
        Y = Y.undetermined(np.isfinite(Y.value) & (reached > float(format_of(X.dtype).largest)))
    Y = Y.moved(lambda y: y.reshape(batch, outputs, *result))
    return [Y if B is None else Y.plus(B.moved(lambda b: b.reshape(-1, *[1] * rank)), is_fused=True)]


def _col2im(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose Col2Im: the sums of all elements of columns that belong to a pixel."""
    X = inputs[0]
    sizes = integers(inputs[1])
    block = integers(inputs[2])
    rank = len(sizes)
    steps = strides(node, rank)
    gaps = dilations(node, rank)
    pads = explicit_pads(node, sizes, block)
    padded = [size + low + high for size, (low, high) in zip(sizes, pads, strict=True)]
    counts = [
        (size - (width - 1) * gap - 1) // step + 1
        for size, width, gap, step in zip(padded, block, gaps, steps, strict=True)
    ]

    def put(x: Array) -> Array:
        columns = x.reshape(x.shape[0], -1, prod(block), *counts)
        image = np.zeros((*columns.shape[:2], *padded))
        for number, place in enumerate(window_places(block, gaps, counts, steps)):
            image[place] += columns[:, :, number]
        part = tuple(slice(low, low + size) for (low, _), size in zip(pads, sizes, strict=True))
        return image[(slice(None), slice(None), *part)]

    if isinstance(X, np.ndarray):
        if X.dtype.kind not in "iu" or put(np.abs(X.astype(np.float64))).max(initial=0) > min(
            np.iinfo(X.dtype).max, 2**53
        ):
            raise Unsupported("Col2Im of integers whose sum overflows, or of elements that are no numbers")
        return [put(X).astype(X.dtype)]
    X = tensor(X)
    return [X.from_terms(put(X.value), put(X.magnitude), put(X.error), prod(block))]


# Regions


def _axis_samples(
    start: float, length: float, size: int, count: int, samples: int, error: float
) -> tuple[Array, Array]:
    """Return the weights of all pixels of an axis for each sample of each bin, and the errors of the weights.

    A sample beyond -1 or the size has no weight; other samples outside are those of the border.
    """
    x = start + (np.arange(count * samples) // samples + (np.arange(count * samples) % samples + 0.5) / samples) * (
        length / count
    )
    inside = np.clip(x, 0, size - 1)
    distance = np.abs(inside[:, np.newaxis] - np.arange(size))
    is_sampled = (x >= -1) & (x <= size)
    is_near_limit = np.minimum(np.abs(x + 1), np.abs(x - size)) <= error
    weights = np.maximum(0.0, 1 - distance)
    errors = np.where(is_near_limit[:, np.newaxis], weights, 0.0) + error * (distance < 1 + error)
    return weights * is_sampled[:, np.newaxis], errors


def _roi_align(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose RoiAlign: the mean, or the largest, of samples in each bin of each region.

    The page does not state whether `max` takes the largest sample, or the largest weighted pixel. A region with a
    negative size, or with bins of no samples, is left open.
    """
    X = tensor(inputs[0])
    rois = tensor(inputs[1])
    batch = integers(inputs[2])
    given = node.attributes
    sizes = X.shape[2:]
    counts = [given.get("output_height", 1), given.get("output_width", 1)]
    scale = float(given.get("spatial_scale", 1.0))
    wanted = given.get("sampling_ratio", 0)
    is_half = node.opset >= 16 and given.get("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    if not rois.is_exact or wanted < 0:
        raise Unsupported("RoiAlign of regions that are not known, or with a negative sampling_ratio")
    u = _roundoff(X, rois)
    results = []
    is_unspecified = []
    for roi, image in zip(rois.value, batch, strict=True):
        matrices = []
        spreads = []
        samples = []
        malformed = False
        for size, count, start, end in zip(sizes, counts, roi[[1, 0]], roi[[3, 2]], strict=True):
            length = float(end * scale - start * scale)
            malformed |= length < 0 or not np.isfinite(length)
            length = length if is_half else max(length, 1.0)
            ratio = length / count if np.isfinite(length) else 1.0
            number = wanted or max(0, ceil(ratio))
            doubt = ROUNDINGS["number of samples in RoiAlign"] * u * max(1.0, ratio)
            if not wanted and ratio % 1 and abs(ratio - round(ratio)) < doubt:
                raise Unsupported("rounding decides the number of samples of RoiAlign")
            error = ROUNDINGS["place in RoiAlign"] * u * (abs(start * scale) + abs(end * scale) + 1)
            malformed |= not number
            check_steps(8 * count * number * size * len(batch))  # about as many arrays of this size are made
            W, spread = _axis_samples(start * scale - 0.5 * is_half, length, size, count, max(1, number), error)
            matrices.append(W * (number > 0))
            spreads.append(spread)
            samples.append(max(1, number))
        part = X.moved(lambda v, i=image: v[i])  # type: ignore[misc]
        pool = _largest_samples if given.get("mode", "avg") == "max" else _mean_samples
        if pool is _largest_samples:
            check_steps(prod(part.shape) * prod(counts) * prod(samples))
        results.append(pool(part, matrices, spreads, counts, samples))
        is_unspecified.append(malformed)
    if not results:
        return [X.moved(lambda v: np.zeros((0, v.shape[1], *counts)))]
    return [stack(results, 0).leave_open(np.array(is_unspecified).reshape(-1, 1, 1, 1), "empty region")]


def _mean_samples(
    X: Enclosure, W: Sequence[Array], E: Sequence[Array], counts: Sequence[int], samples: Sequence[int]
) -> Enclosure:
    w, e = (
        [each.reshape(count, many, -1).sum(axis=1) for each, count, many in zip(parts, counts, samples, strict=True)]
        for parts in (W, E)
    )

    def combine(rows: Array, pixels: Array, columns: Array) -> Array:
        return portable.matmul(portable.matmul(rows, pixels), columns.T) / prod(samples)

    magnitudes = combine(w[0], X.magnitude, w[1])
    error = combine(w[0], X.error, w[1])
    error = error + combine(e[0], X.magnitude, w[1] + e[1]) + combine(w[0], X.magnitude, e[1])
    finite = combine(w[0], np.where(np.isfinite(X.magnitude), X.magnitude, 0), w[1]) * prod(samples)
    return X.from_terms(combine(w[0], X.value, w[1]), magnitudes, error, 4 * prod(samples) + 6, finite=finite)


def _largest_samples(
    X: Enclosure, W: Sequence[Array], E: Sequence[Array], counts: Sequence[int], samples: Sequence[int]
) -> Enclosure:
    def reduce(pixels: Array) -> Array:
        shape = (X.shape[0], counts[0], samples[0], counts[1], samples[1])
        return np.asarray(pixels.reshape(shape).max(axis=(2, 4)))

    magnitudes = W[0] @ X.magnitude @ W[1].T
    error = W[0] @ X.error @ W[1].T + E[0] @ X.magnitude @ (W[1] + E[1]).T + W[0] @ X.magnitude @ E[1].T
    sums = X.from_terms(portable.matmul(portable.matmul(W[0], X.value), W[1].T), magnitudes, error, 10)
    # the largest weighted pixel: a neighbour with the weight 0 has the product 0
    products = np.full(sums.shape, -np.inf)
    for row, column in product(range(X.shape[1]), range(X.shape[2])):
        weight = W[0][:, row, np.newaxis] * W[1][:, column]
        weighted = weight * X.value[:, row, column, np.newaxis, np.newaxis]
        products = np.where(weight > 0, np.maximum(products, weighted), products)
    is_between = [(each.max(axis=1) < 1) & (each.max(axis=1) > 0) for each in W]
    has_zero = ~(is_between[0][:, np.newaxis] & is_between[1])
    products = np.where(has_zero, np.maximum(products, 0.0), products)
    largest = Enclosure(reduce(products), reduce(sums.error), X.dtype)
    found = Enclosure(reduce(sums.value), reduce(sums.error), X.dtype)
    return admit("RoiAlign", sample=lambda: found, product=lambda: largest)


# NonMaxSuppression


def non_max_suppression(node: Node, arrays: Sequence[Any]) -> list[Array]:
    """Return the selected boxes: those with the largest scores that overlap no selected box too much.

    Raises:
        Unsupported: rounding, or the order of equal scores, decides the result.
    """
    boxes, scores = arrays[:2]
    options = [*arrays[2:], None, None, None]
    given = [None if each is None or not each.size else float(each.reshape(-1)[0]) for each in options]
    most = int(given[0] or 0)
    bound = given[1] or 0.0
    least = given[2]
    if most < 0 or not 0 <= bound <= 1:
        raise Unsupported("NonMaxSuppression of less than 0 boxes, or with a threshold outside of [0, 1]")
    drops_equal = "overlap that is the threshold" in current_reading()
    corners = _corners(boxes.astype(np.float64), is_centred=bool(node.attributes.get("center_point_box", 0)))
    selected = []
    for image, box in enumerate(corners):
        overlaps, is_exact = _overlaps(box)
        for kind, score in enumerate(scores[image].astype(np.float64)):
            order = np.argsort(-score, kind="stable")
            if least is not None:
                if (score == least).any():
                    raise Unsupported("NonMaxSuppression with a score that is the threshold")
                order = order[score[order] > least]
            if np.isnan(score).any() or len(np.unique(score[order])) < len(order):
                raise Unsupported("NonMaxSuppression with equal scores")
            kept: list[int] = []
            for each in order:
                if len(kept) == most:
                    break
                found = overlaps[each, kept]
                if np.any((np.abs(found - bound) < 2.0**-20) & ~is_exact[each, kept]):
                    raise Unsupported("rounding decides which boxes NonMaxSuppression suppresses")
                if not np.any(found > bound) and not (drops_equal and np.any(found == bound)):
                    kept.append(int(each))
            selected += [(image, kind, each) for each in kept]
    return [np.array(selected, np.int64).reshape(-1, 3)]


def _corners(boxes: Array, *, is_centred: bool) -> Array:
    first = boxes[..., :2]
    second = boxes[..., 2:]
    if is_centred:
        first, second = first - second / 2, first + second / 2
    return np.concatenate([np.minimum(first, second), np.maximum(first, second)], axis=-1)


def _overlaps(boxes: Array) -> tuple[Array, Array]:
    """Return the intersection over the union of each pair of boxes, and whether only the quotient rounds in float.

    A box without an area has the intersection 0.
    """

    def areas(boxes: Array) -> tuple[Array, Array]:
        low = boxes[:, np.newaxis]
        high = boxes[np.newaxis]
        sides = np.minimum(low[..., 2:], high[..., 2:]) - np.maximum(low[..., :2], high[..., :2])
        common = np.prod(np.maximum(sides, 0), axis=-1)
        area = np.prod(boxes[:, 2:] - boxes[:, :2], axis=-1)
        return common, area[:, np.newaxis] + area - common

    (common, union) = areas(boxes)
    narrow = areas(boxes.astype(np.float32))
    with np.errstate(all="ignore"):
        overlaps = np.where(common > 0, common / union, 0.0)
    return overlaps, (narrow[0] == common) & (narrow[1] == union)


REGION_ENCLOSURES: Mapping[str, NodeEnclosure] = {
    "GridSample": _grid_sample,
    "RoiAlign": _roi_align,
    "MaxRoiPool": _max_roi_pool,
    "DeformConv": _deform_conv,
    "Col2Im": _col2im,
}
