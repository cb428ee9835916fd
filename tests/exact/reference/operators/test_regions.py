"""Operators that sample between pixels agree with loops over the elements, and with exact determinants."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from math import ceil, floor
from typing import Any

import numpy as np
import pytest
from one_node_models import assert_close, enclose_operator, f32
from onnxruntime_nodes import run

from conformance.base.verdicts import Unsupported
from conformance.exact.reference.numbers.enclosure import admissible_mask


def enclose(op_type: str, *inputs: Any, opset: int = 22, **attributes: Any) -> Any:
    return enclose_operator(op_type, *inputs, opset=opset, **attributes)[0]


def reflect(x: float, low: float, high: float) -> float:
    while not low <= x <= high:
        x = 2 * low - x if x < low else 2 * high - x
    return x


def pixel(image: Any, y: int, x: int, padding: str, align: bool) -> float:
    height, width = image.shape
    if padding == "zeros" and not (0 <= y < height and 0 <= x < width):
        return 0.0
    if padding == "reflection":
        edge = 0.0 if align else 0.5
        y, x = int(reflect(y, -edge, height - 1 + edge)), int(reflect(x, -edge, width - 1 + edge))
    return float(image[min(max(y, 0), height - 1), min(max(x, 0), width - 1)])


def keys(distance: float) -> float:
    d, a = abs(distance), -0.75
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0.0


WEIGHTS = {"linear": (lambda d: max(0.0, 1 - abs(d)), 1), "cubic": (keys, 2)}


@pytest.mark.parametrize("mode", ["linear", "cubic", "nearest"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [0, 1])
def test_grid_sample_is_the_weighted_sum_of_neighbours(mode: str, padding: str, align: int) -> None:
    random = np.random.default_rng(align)
    X = random.standard_normal((1, 1, 4, 5)).astype(np.float32)
    grid = random.uniform(-1.6, 1.6, (1, 3, 4, 2)).astype(np.float32)
    wanted = np.zeros((1, 1, 3, 4))
    for row, column in np.ndindex(3, 4):
        gx, gy = (float(g) for g in grid[0, row, column])
        x, y = (((g + 1) / 2 * (size - 1)) if align else ((g + 1) * size - 1) / 2 for g, size in ((gx, 5), (gy, 4)))
        if mode == "nearest":
            wanted[0, 0, row, column] = pixel(X[0, 0], round(y), round(x), padding, bool(align))
            continue
        weight, reach = WEIGHTS[mode]
        for i in range(floor(y) - reach + 1, floor(y) + reach + 1):
            for j in range(floor(x) - reach + 1, floor(x) + reach + 1):
                factor = weight(y - i) * weight(x - j)
                wanted[0, 0, row, column] += factor * pixel(X[0, 0], i, j, padding, bool(align))
    Y = enclose("GridSample", X, grid, mode=mode, padding_mode=padding, align_corners=align)
    if Y.unspecified is None:
        assert_close(Y, wanted)
    else:  # a place outside may have the border's value, too
        assert (mode, padding) == ("cubic", "border")
        assert (np.abs(Y.value - wanted) <= Y.error).all()


def test_grid_sample_of_a_grid_with_nan_is_open() -> None:
    grid = np.array([[[[np.nan, 0.0], [0.0, 0.0]]]], np.float32)
    assert enclose("GridSample", np.ones((1, 1, 2, 2), np.float32), grid).unspecified.tolist() == [[[[True, False]]]]


def bilinear(image: Any, y: float, x: float) -> float:
    height, width = image.shape
    if y < -1 or y > height or x < -1 or x > width:
        return 0.0
    y, x = min(max(y, 0.0), height - 1.0), min(max(x, 0.0), width - 1.0)
    return sum(max(0.0, 1 - abs(y - i)) * max(0.0, 1 - abs(x - j)) * image[i, j] for i, j in np.ndindex(height, width))


@pytest.mark.parametrize(("half", "ratio"), [(True, 2), (True, 0), (False, 3), (False, 0)])
def test_roi_align_is_the_mean_of_samples(half: bool, ratio: int) -> None:
    random = np.random.default_rng(ratio)
    X = random.uniform(0.5, 1.5, (2, 1, 6, 7)).astype(np.float32)
    rois = np.array([[0.3, 0.7, 5.9, 4.3], [1.1, -1.7, 9.3, 6.2]], np.float32)
    wanted = np.zeros((2, 1, 2, 3))
    for number, (x1, y1, x2, y2) in enumerate(rois.astype(float) * 0.75):
        height, width = (max(y2 - y1, 0 if half else 1), max(x2 - x1, 0 if half else 1))
        many = [ratio or ceil(size / count) for size, count in ((height, 2), (width, 3))]
        for row, column in np.ndindex(2, 3):
            samples = [
                bilinear(
                    X[number, 0].astype(float),
                    y1 - 0.5 * half + height / 2 * (row + (i + 0.5) / many[0]),
                    x1 - 0.5 * half + width / 3 * (column + (j + 0.5) / many[1]),
                )
                for i, j in np.ndindex(*many)
            ]
            wanted[number, 0, row, column] = np.mean(samples)
    mode = "half_pixel" if half else "output_half_pixel"
    given = {"coordinate_transformation_mode": mode, "output_height": 2, "output_width": 3, "spatial_scale": 0.75}
    assert_close(enclose("RoiAlign", X, rois, np.array([0, 1]), sampling_ratio=ratio, **given), wanted)


def test_overflow_of_a_partial_result_is_admissible_in_regions() -> None:
    X, zero, half = f32([[[3e38, 3e38]]]), np.zeros((1, 2, 1, 1), np.float32), f32([[[0.5]]])
    samples = enclose("RoiAlign", X, f32([0, 0, 1, 0]), np.array([0]), sampling_ratio=2)
    product = enclose("DeformConv", X[..., :1], f32([[[2]]]), zero, None, half)
    for result in (samples, product):
        assert admissible_mask(np.full((1, 1, 1, 1), np.inf, np.float32), result).all()
    assert not admissible_mask(f32([[[np.inf]]]), enclose("DeformConv", half, half, zero, None, half)).any()


def test_deform_conv_samples_at_moved_positions() -> None:
    random = np.random.default_rng(2)
    X, W = (random.standard_normal(shape).astype(np.float32) for shape in ((1, 2, 5, 5), (2, 1, 2, 2)))
    offset = random.uniform(-0.8, 0.8, (1, 8, 3, 3)).astype(np.float32)
    mask, B = random.uniform(0.5, 1, (1, 4, 3, 3)).astype(np.float32), np.array([0.5, -0.5], np.float32)
    wanted = np.zeros((1, 2, 3, 3))
    for channel, row, column in np.ndindex(2, 3, 3):
        total = float(B[channel])
        for tap, (i, j) in enumerate(np.ndindex(2, 2)):
            y = 2 * row - 1 + i + float(offset[0, 2 * tap, row, column])
            x = 2 * column - 1 + j + float(offset[0, 2 * tap + 1, row, column])
            value = sum(
                max(0.0, 1 - abs(y - a)) * max(0.0, 1 - abs(x - b)) * float(X[0, channel, a, b])
                for a, b in np.ndindex(5, 5)
            )
            total += value * float(mask[0, tap, row, column]) * float(W[channel, 0, i, j])
        wanted[0, channel, row, column] = total
    given = {"strides": [2, 2], "pads": [1, 1, 1, 1], "group": 2, "kernel_shape": [2, 2]}
    assert_close(enclose("DeformConv", X, W, offset, B, mask, **given), wanted)


def test_col2im_adds_overlapping_blocks() -> None:
    random = np.random.default_rng(3)
    image = np.zeros((1, 2, 6, 7))
    columns = random.standard_normal((1, 2 * 6, 3 * 3)).astype(np.float32)
    for channel, i, j, row, column in np.ndindex(2, 2, 3, 3, 3):
        y, x = 2 * row + 2 * i - 1, 2 * column + j
        if 0 <= y < 6 and 0 <= x < 7:
            image[0, channel, y, x] += columns[0, channel * 6 + i * 3 + j, row * 3 + column]
    given = {"strides": [2, 2], "dilations": [2, 1], "pads": [1, 0, 0, 0]}
    assert_close(enclose("Col2Im", columns, np.array([6, 7]), np.array([2, 3]), **given), image)


@pytest.mark.parametrize("size", [1, 2, 4, 5])
def test_det_is_the_signed_sum_of_products(size: int) -> None:
    X = np.random.default_rng(size).standard_normal((3, size, size)).astype(np.float32)
    wanted = []
    for matrix in X:
        total = Fraction(0)
        for order in permutations(range(size)):
            sign = (-1) ** sum(a > b for k, a in enumerate(order) for b in order[k + 1 :])
            product = Fraction(sign)
            for row, column in enumerate(order):
                product *= Fraction(float(matrix[row, column]))
            total += product
        wanted.append(float(total))
    assert_close(enclose("Det", X), np.array(wanted))


def test_non_max_suppression_keeps_boxes_that_overlap_little() -> None:
    boxes = np.array([[[0, 0, 2, 2], [0, 0, 2, 1.5], [3, 3, 1, 1], [5, 5, 6, 6]]], np.float32)
    scores = np.array([[[0.5, 0.75, 0.25, 0.125], [0.1, 0.2, 0.3, 0.4]]], np.float32)
    given = [np.array([most]) for most in (3, 2)]
    selected = enclose("NonMaxSuppression", boxes, scores, given[0], np.float32([0.5]), np.float32([0.15]))
    assert selected.tolist() == [[0, 0, 1], [0, 0, 2], [0, 1, 3], [0, 1, 2], [0, 1, 1]]
    assert enclose("NonMaxSuppression", boxes, scores, given[1], np.float32([0.99])).tolist() == [
        [0, 0, 1],
        [0, 0, 0],
        [0, 1, 3],
        [0, 1, 2],
    ]


def test_non_max_suppression_of_equal_scores_is_not_judged() -> None:
    boxes, scores = np.zeros((1, 2, 4), np.float32), np.ones((1, 1, 2), np.float32)
    with pytest.raises(Unsupported):
        enclose("NonMaxSuppression", boxes, scores, np.array([2]))


def largest_of_cell(plane: Any, region: Any, cell: tuple[int, int], grid: tuple[int, int], scale: Fraction) -> float:
    """Return the largest pixel of a cell by exact arithmetic; 0 without a pixel."""
    ranges = []
    for axis, (low, high) in enumerate(((region[1], region[3]), (region[0], region[2]))):
        first, last = (floor(Fraction(float(each)) * scale + Fraction(1, 2)) for each in (low, high))
        size = Fraction(max(last - first + 1, 1), grid[axis])
        ends = floor(cell[axis] * size), ceil((cell[axis] + 1) * size)
        ranges.append(range(*(min(max(first + each, 0), plane.shape[axis]) for each in ends)))
    return max((float(plane[y, x]) for y in ranges[0] for x in ranges[1]), default=0.0)


@pytest.mark.parametrize(("grid", "scale"), [((2, 2), 1.0), ((3, 4), 1.0), ((4, 2), 0.2)])
def test_max_roi_pool_returns_the_largest_pixel_of_each_cell(grid: tuple[int, int], scale: float) -> None:
    X = np.random.default_rng(0).standard_normal((2, 2, 9, 9)).astype(np.float32)
    regions = np.float32([[0, 1, 1, 6, 8], [1, 0, 0, 8, 8], [0, 5, 5, 4, 4], [1, -3, 1, 20, 3], [0, 40, 40, 50, 50]])
    given = {"pooled_shape": list(grid), "spatial_scale": scale}
    expected = enclose("MaxRoiPool", X, regions, **given)
    wanted = np.zeros(expected.shape, np.float32)
    for (number, channel, *cell), _ in np.ndenumerate(wanted):
        plane = X[int(regions[number, 0]), channel]
        wanted[number, channel, *cell] = largest_of_cell(plane, regions[number, 1:], cell, grid, Fraction(scale))
    assert admissible_mask(wanted, expected).all()
    assert admissible_mask(run("", "MaxRoiPool", [X, regions], **given)[0], expected).all()
    assert np.mean(admissible_mask(wanted + np.float32(0.001), expected)) < 0.2


def test_max_roi_pool_of_a_corner_between_two_pixels_is_open() -> None:
    region = np.float32([[0, 1.5, 0, 3, 3]])
    assert enclose("MaxRoiPool", np.ones((1, 1, 5, 5), np.float32), region, pooled_shape=[1, 1]).unspecified.all()


def test_grid_sample_whose_sum_along_one_axis_overflows_is_undetermined() -> None:
    X = np.ones((1, 1, 2, 2), np.float32)
    X[0, 0, 0, 0] = -np.finfo(np.float32).max
    grid = np.float32([[[[-3, 0]]]])
    given = {"mode": "cubic", "padding_mode": "border"}
    assert np.isinf(enclose("GridSample", X, grid, **given).error).all()
    assert np.isfinite(enclose("GridSample", X / 100, grid, **given).error).all()
