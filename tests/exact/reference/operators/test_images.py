"""Pooling, LRN and Resize agree with loops over the elements in double."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from one_node_models import assert_close, enclose_operator


def enclose(op_type: str, *inputs: Any, opset: int = 22, **attributes: Any) -> Any:
    (tensor,) = enclose_operator(op_type, *inputs, opset=opset, **attributes)
    return tensor


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(4)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_lp_pool_is_the_norm_of_each_window(p: int, random: np.random.Generator) -> None:
    X = random.standard_normal((1, 2, 5, 6)).astype(np.float32)
    padded = np.pad(X.astype(float), [(0, 0), (0, 0), (1, 0), (0, 1)])
    wanted = np.zeros((1, 2, 2, 6))
    for channel, row, column in np.ndindex(2, 2, 6):
        window = padded[0, channel, 2 * row : 2 * row + 3, column : column + 2]
        wanted[0, channel, row, column] = (np.abs(window) ** p).sum() ** (1 / p)
    assert_close(enclose("LpPool", X, p=p, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 0, 1]), wanted)
    whole = (np.abs(X.astype(float)) ** p).sum((2, 3), keepdims=True) ** (1 / p)
    assert_close(enclose("GlobalLpPool", X, p=p), whole)


@pytest.mark.parametrize("operator", ["LpPool", "MaxPool"])
@pytest.mark.parametrize("mode", ["VALID", "NOTSET"])
def test_pool_without_room_for_a_window_has_no_elements(operator: str, mode: str) -> None:
    X = np.ones((1, 1, 6, 4), np.float32)
    tensor = enclose(operator, X, kernel_shape=[2, 3], strides=[2, 2], dilations=[2, 2], auto_pad=mode)
    assert tuple(tensor.shape) == (1, 1, 2, 0)


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("operator", ["LpPool", "GlobalLpPool"])
def test_norm_of_numbers_that_are_not_finite_is_determined(operator: str, p: int) -> None:
    kernel = {"kernel_shape": [3]} if operator == "LpPool" else {}
    for special, wanted in ((np.nan, np.nan), (-np.inf, np.inf)):
        tensor = enclose(operator, np.float32([[[1.1, special, 3.3]]]), p=p, **kernel)
        np.testing.assert_array_equal(tensor.value, [[[wanted]]])
        assert not tensor.error.any()
    overflows = enclose(operator, np.float32([[[1.1, -np.inf, 3e38]]]), p=3, **kernel)
    np.testing.assert_array_equal(overflows.value, [[[np.inf]]])


def test_resize_nearest_at_a_doubtful_coordinate_is_one_of_two_neighbours() -> None:
    X = np.arange(8, dtype=np.float32)
    tensor = enclose(
        "Resize", X, None, np.float32([0.6]), coordinate_transformation_mode="asymmetric", nearest_mode="floor"
    )
    assert tensor.value.tolist() == [0, 1, 3, 4]
    assert tensor.error.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(("size", "given"), [(1, {"beta": 0.5}), (3, {"beta": 0.5}), (4, {})])
def test_lrn_divides_by_the_squares_of_neighbouring_channels(size: int, given: Any, random: Any) -> None:
    X = random.standard_normal((2, 5, 3)).astype(np.float32)
    wanted = np.zeros(X.shape)
    for n, c, d in np.ndindex(*X.shape):
        region = X[n, max(0, c - (size - 1) // 2) : min(4, c + -(-(size - 1) // 2)) + 1, d].astype(float)
        wanted[n, c, d] = X[n, c, d] / (1.5 + 0.25 / size * (region**2).sum()) ** given.get("beta", 0.75)
    assert_close(enclose("LRN", X, size=size, alpha=0.25, bias=1.5, **given), wanted)


def cubic(distance: float, a: float) -> float:
    """Return the weight of the cubic convolution of Keys at a distance."""
    if distance <= 1:
        return (a + 2) * distance**3 - (a + 3) * distance**2 + 1
    return a * distance**3 - 5 * a * distance**2 + 8 * a * distance - 4 * a if distance < 2 else 0.0


@pytest.mark.parametrize(("outside", "a"), [(0, -0.75), (1, -0.5)])
def test_resize_cubic_weighs_four_neighbours(outside: int, a: float, random: np.random.Generator) -> None:
    X, scale = random.standard_normal((1, 1, 6)).astype(np.float32), 1.5
    wanted = np.zeros((1, 1, 9))
    for place in range(9):
        x = (place + 0.5) / scale - 0.5
        taps = [int(np.floor(x)) + offset for offset in (-1, 0, 1, 2)]
        weights = np.array([cubic(abs(x - tap), a) * (not outside or 0 <= tap < 6) for tap in taps])
        values = np.array([X[0, 0, min(max(tap, 0), 5)] for tap in taps], float)
        wanted[0, 0, place] = (weights * values).sum() / weights.sum()
    scales = np.array([1, 1, scale], np.float32)
    assert_close(enclose("Resize", X, None, scales, mode="cubic", exclude_outside=outside, cubic_coeff_a=a), wanted)


def test_resize_with_antialias_averages_all_elements_under_the_triangle(random: np.random.Generator) -> None:
    X, scale = random.standard_normal((1, 1, 12)).astype(np.float32), 0.25
    tensor = enclose("Resize", X, None, np.array([1, 1, scale], np.float32), mode="linear", antialias=1)
    x = (1 + 0.5) / scale - 0.5
    weights = np.array([max(0.0, 1 - abs(place - x) * scale) for place in range(12)])
    wanted = (weights * X[0, 0]).sum() / weights.sum()
    assert abs(tensor.value[0, 0, 1] - wanted) <= tensor.error[0, 0, 1] < 1e-4


def test_resize_crop_takes_the_region_and_the_extrapolation_value() -> None:
    X = np.arange(5, dtype=np.float32).reshape(1, 1, 5)
    roi, sizes = np.array([0, 0, 0.5, 1, 1, 1.5], np.float32), np.array([1, 1, 5])
    tensor = enclose(
        "Resize", X, roi, None, sizes, mode="linear", coordinate_transformation_mode="tf_crop_and_resize",
        extrapolation_value=-7.0,
    )  # fmt: skip
    assert tensor.value.tolist() == [[[2, 3, 4, -7, -7]]]


@pytest.mark.parametrize(("policy", "expected"), [("not_larger", (3, 6)), ("not_smaller", (5, 10))])
def test_resize_keeps_the_aspect_ratio(policy: str, expected: tuple[int, int]) -> None:
    X = np.zeros((1, 1, 2, 4), np.float32)
    tensor = enclose("Resize", X, None, None, np.array([5, 6]), axes=[2, 3], keep_aspect_ratio_policy=policy)
    assert tensor.shape[2:] == expected


def test_max_unpool_writes_elements_to_their_indices() -> None:
    X, places = np.array([[[[1, 2], [3, 4]]]], np.float32), np.array([[[[5, 7], [13, 15]]]])
    tensor = enclose("MaxUnpool", X, places, kernel_shape=[2, 2], strides=[2, 2])
    assert {index: float(x) for index, x in enumerate(np.ravel(tensor)) if x} == {5: 1, 7: 2, 13: 3, 15: 4}


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER"])
def test_conv_transpose_with_auto_pad_cuts_half_of_the_surplus(mode: str, random: np.random.Generator) -> None:
    X, W = random.standard_normal((1, 1, 4)).astype(np.float32), random.standard_normal((1, 1, 5)).astype(np.float32)
    whole = np.zeros(11)
    for place, tap in product(range(4), range(5)):
        whole[2 * place + tap] += float(X[0, 0, place]) * float(W[0, 0, tap])
    start = 1 if mode == "SAME_UPPER" else 2
    wanted = whole[start : start + 8].reshape(1, 1, 8)
    assert_close(enclose("ConvTranspose", X, W, strides=[2], auto_pad=mode), wanted)


def test_cubic_resize_that_may_overflow_along_another_axis_is_undetermined() -> None:
    X = np.ones((1, 1, 4, 4), np.float32)
    X[0, 0, 1:3] = [[3e38, 3e38, -3e38, 3e38], [-3e38, -3e38, 3e38, -3e38]]
    scales = np.array([1, 1, 1.5, 1.5], np.float32)
    tensor = enclose("Resize", X, None, scales, mode="cubic", cubic_coeff_a=-0.75)
    rows = np.abs(tensor.value[0, 0]) < 1e38
    assert np.isinf(tensor.error[0, 0][rows]).any()


def test_cubic_resize_whose_first_axis_overflows_is_undetermined() -> None:
    X = np.ones((1, 1, 4, 4), np.float32)
    X[0, 0, 1, 0] = 3.3e38
    tensor = enclose("Resize", X, None, np.array([1, 1, 2, 2], np.float32), mode="cubic")
    assert np.isfinite(tensor.value[0, 0, 0, 0])
    assert np.isinf(tensor.error[0, 0, 0, 0])
    assert np.isfinite(tensor.error[0, 0, 7, 7])


def test_lrn_beside_an_infinite_channel_admits_a_running_sum() -> None:
    X = np.array([[np.inf, 1, 1, 1, 1]], np.float32).reshape(1, 5, 1)
    tensor = enclose("LRN", X, size=1)
    assert np.isinf(tensor.error[0, 1:]).all()


@pytest.mark.parametrize("place", [0, 2])
def test_linear_resize_beside_nan_of_weight_zero_is_undetermined(place: int) -> None:
    X = np.arange(3, dtype=np.float64).reshape(3, 1)
    X[place] = np.nan
    scales = np.array([1, 2], np.float32)
    tensor = enclose("Resize", X, None, scales, mode="linear", coordinate_transformation_mode="asymmetric")
    assert np.isinf(tensor.error[1]).all()
    assert not np.isinf(tensor.error[2 - place, 0])


def test_lp_normalization_of_doubles_whose_squares_underflow_is_undetermined() -> None:
    tensor = enclose("LpNormalization", np.array([[1e-200, 0.0], [3.0, 4.0]]))
    assert np.isinf(tensor.error[0]).all()
    assert (tensor.error[1] < 1e-15).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, 3e38])
def test_cubic_resize_beside_an_element_of_weight_zero_is_undetermined(value: float) -> None:
    X = np.ones((1, 1, 4, 6), np.float32)
    X[0, 0, :, 0] = [1, value, value, 1]
    tensor = enclose("Resize", X, None, np.array([1, 1, 2, 1], np.float32), mode="cubic")
    assert np.isinf(tensor.error[0, 0, 3, :2]).all()
    assert np.isfinite(tensor.error[0, 0, 3, 5])


def test_cubic_resize_admits_weights_that_round_each_term_of_their_polynomial() -> None:
    X = np.array([[[0, 0, 0, 0, 1e30, 0, 0, 0]]], np.float32)
    tensor = enclose("Resize", X, None, np.array([1, 1, 1.25], np.float32), mode="cubic")
    a, one = np.float32(-0.75), np.float32(1)
    for place, x in enumerate((np.arange(10, dtype=np.float32) + one / 2) / np.float32(1.25) - one / 2):
        d = np.abs(x - 4)
        if 1 < d < 2:
            weight = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
            assert abs(float(weight) * float(X[0, 0, 4]) - tensor.value[0, 0, place]) <= tensor.error[0, 0, place]
    assert (tensor.error < 4e24).all()
