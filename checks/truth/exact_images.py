"""Exact formulas of convolutions, pools, resizing, and sampling between pixels."""

from __future__ import annotations

from copy import copy
from itertools import product
from math import ceil, floor, prod
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np

from .exact_node import NoFormula, objects, sum_of_products
from .exact_tables import dequantized, quantized_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from .exact_node import Node

ZERO = mpmath.mpf(0)


class Windows:
    """The places of the windows of a convolution or pool along each axis."""

    def __init__(self, node: Node, sizes: Sequence[int], kernel: Sequence[int]) -> None:
        rank = len(sizes)
        self.sizes, self.kernel = sizes, kernel
        self.steps, self.gaps = (node.get(name, [1] * rank) for name in ("strides", "dilations"))
        pads, mode = node.get("pads", [0] * 2 * rank), node.get("auto_pad", "NOTSET")
        self.before, self.after = list(pads[:rank]), list(pads[rank:])
        extents = [(size - 1) * gap + 1 for size, gap in zip(kernel, self.gaps, strict=True)]
        self.counts = []
        for axis, (size, extent, step) in enumerate(zip(sizes, extents, self.steps, strict=True)):
            if mode.startswith("SAME"):
                total = max(0, (ceil(size / step) - 1) * step + extent - size)
                small, large = total // 2, total - total // 2
                pair = (small, large) if mode == "SAME_UPPER" else (large, small)
                self.before[axis], self.after[axis] = pair
            elif mode == "VALID":
                self.before[axis] = self.after[axis] = 0
            free = size + self.before[axis] + self.after[axis] - extent
            count = (ceil if node.get("ceil_mode", 0) else floor)(free / step) + 1
            # a window that begins after the tensor and its padding in front is left out
            is_late = node.get("ceil_mode", 0) and (count - 1) * step >= size + self.before[axis]
            self.counts.append(count - bool(is_late))

    def places(self) -> Iterator[tuple[int, ...]]:
        """Yield the place of each window."""
        return product(*map(range, self.counts))

    def taps(self, place: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], bool, bool]]:
        """Yield each tap of a window, its place in the tensor, and whether it is in the tensor, and in the padding."""
        for tap in product(*map(range, self.kernel)):
            at = tuple(
                index * step - pad + each * gap
                for index, step, pad, each, gap in zip(place, self.steps, self.before, tap, self.gaps, strict=True)
            )
            is_inside = all(0 <= each < size for each, size in zip(at, self.sizes, strict=True))
            is_padded = all(each < size + pad for each, size, pad in zip(at, self.sizes, self.after, strict=True))
            yield tap, at, is_inside, is_padded


def _pooled(reduce: Callable[[Node, list[Any], int], Any]) -> Callable[[Node], Any]:
    """Return the formula of a pool, from a function of the elements of a window and the number with padding."""

    def formula(node: Node) -> Any:
        x = node.inputs[0]
        windows = Windows(node, x.shape[2:], node.get("kernel_shape", x.shape[2:]))
        y = np.empty((*x.shape[:2], *windows.counts), object)
        for place in windows.places():
            taps = list(windows.taps(place))
            inside = [at for _, at, is_inside, _ in taps if is_inside]
            count = sum(is_padded for *_, is_padded in taps)
            for n, c in np.ndindex(x.shape[:2]):
                y[(n, c, *place)] = reduce(node, [x[(n, c, *at)] for at in inside], count)
        return y

    return formula


def _average(node: Node, terms: list[Any], count: int) -> Any:
    return mpmath.fsum(terms) / (count if node.get("count_include_pad", 0) else len(terms)) if terms else None


def _quantized_average(node: Node) -> Any:
    """Return the average of a quantized tensor, in ONNX Runtime's domain."""
    if node.get("channels_last", 0):
        raise NoFormula("QLinearAveragePool with the channels last")
    wide = copy(node)
    wide.inputs = [dequantized(node, 0)]
    return quantized_by(node, 3, _pooled(_average)(wide))


def _norm(node: Node, terms: list[Any], _: int) -> Any:
    p = node.get("p", 2)
    return mpmath.fsum(abs(each) ** p for each in terms) ** (mpmath.mpf(1) / p)


def _largest(terms: Sequence[Any]) -> Any:
    """Return the largest number; None with NaN, for which the pages have no rule."""
    return None if not terms or any(map(mpmath.isnan, terms)) else max(terms)


def _max_pool(node: Node) -> list[Any]:
    x = node.inputs[0]
    y = _pooled(lambda _, terms, __: _largest(terms))(node)
    windows, indices = Windows(node, x.shape[2:], node.get("kernel_shape", ())), np.empty(y.shape, object)
    order = "F" if node.get("storage_order", 0) else "C"
    for n, c, *place in np.ndindex(y.shape):
        found = [at for _, at, is_inside, _ in windows.taps(place) if is_inside and x[(n, c, *at)] == y[(n, c, *place)]]
        base = (n * x.shape[1] + c) * prod(x.shape[2:])
        at = np.ravel_multi_index(found[0], x.shape[2:], order=order) if len(found) == 1 else None  # type: ignore[call-overload]
        indices[(n, c, *place)] = None if at is None else base + int(at)
    return [y, indices]


def _conv(node: Node) -> Any:
    x, w = node.inputs[:2]
    windows, own = Windows(node, x.shape[2:], w.shape[2:]), len(w) // node.get("group", 1)
    y = np.empty((len(x), len(w), *windows.counts), object)
    for place in windows.places():
        taps = [(tap, at) for tap, at, is_inside, _ in windows.taps(place) if is_inside]
        for n, m in np.ndindex(y.shape[:2]):
            first, bias = m // own * w.shape[1], ZERO if node.input(2) is None else node.input(2)[m]
            pairs = [(x[(n, first + c, *at)], w[(m, c, *tap)]) for tap, at in taps for c in range(w.shape[1])]
            y[(n, m, *place)] = sum_of_products(pairs) + bias
    return y


def _conv_transpose(node: Node) -> Any:
    x, w = node.inputs[:2]
    rank, groups = x.ndim - 2, node.get("group", 1)
    if (mode := node.get("auto_pad", "NOTSET")) != "NOTSET" and not node.get("output_shape", None):
        raise NoFormula("ConvTranspose with another size")
    steps, gaps, added = (node.get(k, [d] * rank) for k, d in (("strides", 1), ("dilations", 1), ("output_padding", 0)))
    full = [
        (size - 1) * step + (k - 1) * gap + 1 + extra
        for size, step, k, gap, extra in zip(x.shape[2:], steps, w.shape[2:], gaps, added, strict=True)
    ]
    pads = node.get("pads", [0] * 2 * rank)
    if wanted := node.get("output_shape", None):
        totals = [size - result for size, result in zip(full, wanted[-rank:], strict=True)]
        if min(totals) < 0:
            raise NoFormula("ConvTranspose with a negative padding")
        is_small_first = (mode == "SAME_UPPER") == (node.opset >= 11)
        starts = [total // 2 if is_small_first else total - total // 2 for total in totals]
        pads = [*starts, *(total - start for total, start in zip(totals, starts, strict=True))]
    shape = [size - low - high for size, low, high in zip(full, pads[:rank], pads[rank:], strict=True)]
    own, each_in = w.shape[1], x.shape[1] // groups
    y = np.full((len(x), own * groups, *shape), ZERO, object)
    for at, tap in product(np.ndindex(x.shape[2:]), np.ndindex(w.shape[2:])):
        place = tuple(a * s + t * g - p for a, s, t, g, p in zip(at, steps, tap, gaps, pads[:rank], strict=True))
        if all(0 <= each < size for each, size in zip(place, shape, strict=True)):
            for n, c, m in product(range(len(x)), range(x.shape[1]), range(own)):
                y[(n, c // each_in * own + m, *place)] += x[(n, c, *at)] * w[(c, m, *tap)]
    return y if node.input(2) is None else y + node.input(2).reshape(-1, *[1] * rank)


# Sampling


def _interpolated(x: Any, parts: Sequence[Sequence[tuple[int | None, Any]]]) -> Any:
    """Return the sum of pixels, weighted along each axis; None if a pixel without weight is infinite or NaN.

    Args:
        x: the pixels of one channel.
        parts: the indices and weights of each axis; no index is outside, where the pixels are 0.
    """
    terms = []
    for choice in product(*parts):
        weight, at = mpmath.fprod(w for _, w in choice), [i for i, _ in choice]
        if None not in at:
            pixel = x[tuple(at)]
            if not weight and not mpmath.isfinite(pixel):
                return None
            terms.append(weight * pixel if weight else ZERO)
    return mpmath.fsum(terms)


def _linear(at: Any, *, is_border: bool, size: int) -> list[tuple[int | None, Any]]:
    below = int(mpmath.floor(at))
    places = [min(max(i, 0), size - 1) if is_border else i if 0 <= i < size else None for i in (below, below + 1)]
    return list(zip(places, (1 - (at - below), at - below), strict=True))


def _cubic(distance: Any, a: Any) -> Any:
    d = abs(distance)
    if d <= 1:
        return ((a + 2) * d - (a + 3)) * d * d + 1
    return (((d - 5) * d + 8) * d - 4) * a if d < 2 else ZERO


def _is_near_tie(at: Any) -> bool:
    """Return whether rounding of a coordinate in float decides between two pixels."""
    return bool(abs(at - mpmath.floor(at) - 0.5) < 1e-4)


def _grid_sample(node: Node) -> Any:
    x, grid = node.inputs
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(node.get("mode", "linear"), node.get("mode", "linear"))
    padding, is_aligned, sizes = node.get("padding_mode", "zeros"), node.get("align_corners", 0), x.shape[2:]
    y = np.empty((*x.shape[:2], *grid.shape[1:-1]), object)

    def place(index: int, size: int) -> int | None:
        if padding == "border":
            return min(max(index, 0), size - 1)
        if padding == "reflection":
            period = max(1, 2 * (size - 1) if is_aligned else 2 * size)
            index %= period
            return index if index < size else period - index - (0 if is_aligned else 1)
        return index if 0 <= index < size else None

    for n, *out in np.ndindex(y.shape[:1] + y.shape[2:]):
        parts: list[Any] = []
        for axis, size in enumerate(sizes):
            g = grid[(n, *out, len(sizes) - 1 - axis)]
            at = (g + 1) / 2 * (size - 1) if is_aligned else ((g + 1) * size - 1) / 2
            if not mpmath.isfinite(at) or abs(at) > 1000 or (mode == "nearest" and _is_near_tie(at)):
                break
            if mode == "cubic" and padding == "border" and not 0 <= at <= size - 1:
                break
            low = int(mpmath.floor(at))
            if mode == "nearest":
                parts.append([(place(int(mpmath.nint(at)), size), mpmath.mpf(1))])
            elif mode == "linear":
                parts.append([(place(low + k, size), 1 - abs(at - low - k)) for k in (0, 1)])
            else:
                parts.append([(place(low + k, size), _cubic(at - low - k, mpmath.mpf(-0.75))) for k in (-1, 0, 1, 2)])
        for c in range(x.shape[1]):
            y[(n, c, *out)] = _interpolated(x[n, c], parts) if len(parts) == len(sizes) else None
    return y


def _coordinate(mode: str, x: int, scale: Any, old: int, new: int) -> Any:
    """Return the coordinate in the tensor of a place of a resized axis, as in the table of the page."""
    if mode == "asymmetric":
        return x / scale
    if mode == "align_corners":
        return ZERO if new == 1 else mpmath.mpf(x) * (old - 1) / (new - 1)
    if mode == "pytorch_half_pixel" and new == 1:
        return ZERO
    shift = ZERO
    if mode == "half_pixel_symmetric":
        shift = mpmath.mpf(old) / 2 * (1 - new / (scale * old))
    elif mode not in ("half_pixel", "pytorch_half_pixel"):
        raise NoFormula(f"Resize with {mode}")
    return shift + (x + mpmath.mpf(0.5)) / scale - mpmath.mpf(0.5)


NEAREST: Mapping[str, Callable[[Any], Any]] = {
    "round_prefer_floor": lambda x: mpmath.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: mpmath.floor(x + 0.5),
    "floor": mpmath.floor,
    "ceil": mpmath.ceil,
}


def _resize(node: Node) -> Any:
    x = node.inputs[0]
    if {"keep_aspect_ratio_policy", "antialias"} & set(node.attributes) or x.ndim == 0:
        raise NoFormula("Resize that keeps the ratio, or with antialias")
    is_old = node.operator == "Upsample" or node.opset < 11
    axes = [axis % x.ndim for axis in node.get("axes", range(x.ndim))]
    mode, nearest = node.get("mode", "nearest"), "floor" if is_old else node.get("nearest_mode", "round_prefer_floor")
    given = node.input(1 if is_old else 2)
    scales = list(node.get("scales", [])) if given is None else list(given.reshape(-1))
    if "height_scale" in node.attributes:  # the first version of Upsample
        scales = [1.0, 1.0, node.number("height_scale", 1.0), node.number("width_scale", 1.0)]
        mode = mode.removeprefix("bi")
    sizes = [] if node.input(3) is None else [int(each) for each in node.input(3)]
    places = []
    for number, axis in enumerate(axes):
        old = x.shape[axis]
        scale = mpmath.mpf(sizes[number]) / old if sizes else mpmath.mpf(scales[number])
        new = sizes[number] if sizes else int(mpmath.floor(old * scale))
        coordinates = "asymmetric" if is_old else node.get("coordinate_transformation_mode", "half_pixel")
        if coordinates == "align_corners" and not is_old and new != old * scale:
            raise NoFormula("Resize to a length with a fraction")
        if coordinates == "tf_crop_and_resize":
            start, end = (mpmath.mpf(node.inputs[1][number + part * len(axes)]) for part in (0, 1))
            steps = [each / mpmath.mpf(new - 1) for each in range(new)] if new > 1 else [mpmath.mpf(1) / 2]
            at = [(start + each * (end - start)) * (old - 1) for each in steps]
            if min(at) < 0 or max(at) > old - 1:
                raise NoFormula("Resize of places outside of the tensor")
            places.append([_resized_taps(node, each, old, mode, nearest) for each in at])
            continue
        found = (_coordinate(coordinates, each, scale, old, new) for each in range(new))
        places.append([_resized_taps(node, at, old, mode, nearest) for at in found])
    y = np.empty([len(places[axes.index(axis)]) if axis in axes else x.shape[axis] for axis in range(x.ndim)], object)
    for out in np.ndindex(y.shape):
        parts = [
            places[axes.index(axis)][out[axis]] if axis in axes else [(out[axis], mpmath.mpf(1))]
            for axis in range(x.ndim)
        ]
        y[out] = None if None in parts else _interpolated(x, parts)
    return y


def _resized_taps(node: Node, at: Any, old: int, mode: str, nearest: str) -> Any:
    """Return the indices and weights of a coordinate; None where rounding decides the nearest pixel."""
    low = int(mpmath.floor(at))
    if mode == "nearest":
        is_dyadic = at * 4096 == mpmath.nint(at * 4096)
        near, far = (NEAREST[nearest](at + shift) for shift in (-1e-4, 1e-4))
        return (
            None
            if near != far and not is_dyadic
            else [(min(max(int(NEAREST[nearest](at)), 0), old - 1), mpmath.mpf(1))]
        )
    if mode == "linear":
        return _linear(min(max(at, ZERO), mpmath.mpf(old - 1)), is_border=True, size=old)
    taps = [(low + k, _cubic(at - low - k, node.number("cubic_coeff_a", -0.75))) for k in (-1, 0, 1, 2)]
    if node.get("exclude_outside", 0):
        taps = [(i, w) for i, w in taps if 0 <= i < old]
        total = mpmath.fsum(w for _, w in taps)
        taps = [(i, w / total) for i, w in taps]
    return [(min(max(i, 0), old - 1), w) for i, w in taps]


def _deform_conv(node: Node) -> Any:
    x, w, offset = node.inputs[:3]
    mask, kernel, rank = node.input(4), w.shape[2:], x.ndim - 2
    groups, own = node.get("offset_group", 1), len(w) // node.get("group", 1)
    windows = Windows(node, x.shape[2:], kernel)
    y = np.empty((len(x), len(w), *windows.counts), object)
    offsets = offset.reshape(len(x), groups, prod(kernel), rank, *offset.shape[2:])
    masks = None if mask is None else mask.reshape(len(x), groups, prod(kernel), *mask.shape[2:])
    for place in windows.places():
        taps = list(windows.taps(place))
        for n, m in np.ndindex(y.shape[:2]):
            terms = [ZERO if node.input(3) is None else node.input(3)[m]]
            for number, (tap, at, *_) in enumerate(taps):
                for c in range(w.shape[1]):
                    channel = m // own * w.shape[1] + c
                    group = channel // (x.shape[1] // groups)
                    moved = [a + offsets[(n, group, number, axis, *place)] for axis, a in enumerate(at)]
                    if not all(mpmath.isfinite(each) and abs(each) < 1000 for each in moved):
                        raise NoFormula("DeformConv at a place far away")
                    pairs = zip(moved, x.shape[2:], strict=True)
                    sample = _interpolated(x[n, channel], [_linear(a, is_border=False, size=s) for a, s in pairs])
                    factor = 1 if masks is None else masks[(n, group, number, *place)]
                    terms.append(None if sample is None else sample * factor * w[(m, c, *tap)])
            y[(n, m, *place)] = None if None in terms else mpmath.fsum(terms)
    return y


def _roi_align(node: Node) -> Any:
    x, rois, images = node.inputs
    if node.get("mode", "avg") != "avg":
        raise NoFormula("RoiAlign of maxima")
    default = "output_half_pixel" if node.opset < 16 else "half_pixel"
    is_half = node.get("coordinate_transformation_mode", default) == "half_pixel"
    scale, ratio = node.number("spatial_scale", 1.0), node.get("sampling_ratio", 0)
    counts = (node.get("output_height", 1), node.get("output_width", 1))
    y = np.empty((len(rois), x.shape[1], *counts), object)
    for r, roi in enumerate(rois):
        start, end = ([roi[k] * scale - (mpmath.mpf(0.5) if is_half else 0) for k in pair] for pair in ((1, 0), (3, 2)))
        lengths = [e - s if is_half else max(e - s, mpmath.mpf(1)) for s, e in zip(start, end, strict=True)]
        cells = [length / count for length, count in zip(lengths, counts, strict=True)]
        if not all(map(mpmath.isfinite, [*start, *cells])) or max(map(abs, [*start, *cells])) > 1000 or min(cells) <= 0:
            raise NoFormula("RoiAlign of a large region")
        each = [ratio if ratio > 0 else int(mpmath.ceil(cell)) for cell in cells]
        for out in np.ndindex(*counts):
            samples = [
                [
                    _roi_taps(s + cell * (k + (i + mpmath.mpf(0.5)) / many), size)
                    for s, cell, k, i, many, size in zip(start, cells, out, inner, each, x.shape[2:], strict=True)
                ]
                for inner in np.ndindex(*each)
            ]
            for c in range(x.shape[1]):
                found = [_interpolated(x[int(images[r]), c], parts) for parts in samples]
                y[(r, c, *out)] = None if None in found or not found else mpmath.fsum(found) / len(found)
    return y


def _roi_taps(at: Any, size: int) -> list[tuple[int | None, Any]]:
    if at < -1 or at > size:
        return [(None, mpmath.mpf(1))]
    return _linear(min(max(at, ZERO), mpmath.mpf(size - 1)), is_border=True, size=size)


def _max_roi_pool(node: Node) -> Any:
    """Compute MaxRoiPool as in Fast R-CNN (Girshick 2015): rounded corners that belong to the region."""
    x, rois = node.inputs
    scale, counts = node.number("spatial_scale", 1.0), node.get("pooled_shape", ())
    y = np.empty((len(rois), x.shape[1], *counts), object)
    for r, (image, *corners) in enumerate(rois):
        scaled = [corner * scale for corner in corners]
        if any(_is_near_tie(each) for each in scaled):
            continue
        left, top, right, bottom = (int(mpmath.nint(each)) for each in scaled)
        for out in np.ndindex(*counts):
            parts = []
            for first, last, k, count, size in zip((top, left), (bottom, right), out, counts, x.shape[2:], strict=True):
                length = max(last - first + 1, 1)
                low, high = first + k * length // count, first - (-(k + 1) * length // count)
                parts.append(range(min(max(low, 0), size), min(max(high, 0), size)))
            for c in range(x.shape[1]):
                pixels = [x[(int(image), c, *at)] for at in product(*parts)]
                y[(r, c, *out)] = _largest(pixels) if pixels else ZERO
    return y


IMAGE_FORMULAS: Mapping[str, Callable[[Node], Any]] = {
    "AveragePool": _pooled(_average),
    "LpPool": _pooled(_norm),
    "MaxPool": _max_pool,
    "GlobalMaxPool": lambda node: objects(
        [
            _largest(list(row))
            for row in node.inputs[0]
            .reshape(*node.inputs[0].shape[:2], -1)
            .reshape(-1, int(np.prod(node.inputs[0].shape[2:])))
        ],
        (*node.inputs[0].shape[:2], *[1] * (node.inputs[0].ndim - 2)),
    ),
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "DeformConv": _deform_conv,
    "GridSample": _grid_sample,
    "QLinearAveragePool": _quantized_average,
    "Resize": _resize,
    "Upsample": _resize,
    "RoiAlign": _roi_align,
    "MaxRoiPool": _max_roi_pool,
}
"""The formula of each operator, as on its page."""
