"""ArgMax: ties, near ties after a function, and the shapes that `axis` and `keepdims` give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from indexed_models import acceptable, oracle_indices
from reference_models import both_levels, oracle_answer

from conformance.base.verdicts import Level, Unsupported
from conformance.exact.models.arrays import BFLOAT16_DTYPE


@pytest.mark.parametrize(
    "dtype", [np.float16, np.float32, np.float64, np.int8, np.uint8, np.int32, np.int64, np.uint64]
)
@pytest.mark.parametrize("places", [(1, 3), (33_000, 66_000)])
def test_argmax_tie_obeys_select_last_index(dtype, places):
    X = np.zeros(places[-1] + 2, dtype)
    X[[*places]] = 5
    answers = (oracle_answer("ArgMax", X, select_last_index=last, keepdims=0) for last in (0, 1))
    assert tuple(answer.expected.item() for answer in answers) == places


@pytest.mark.parametrize("select_last_index", [0, 1])
def test_argmax_exact_tie_accepts_one_index(select_last_index):
    answer = oracle_answer(
        "ArgMax", np.array([1, 5, 5], np.float32), select_last_index=select_last_index, level=Level.MUST
    )
    assert (answer.choices, answer.bound) == (None, None)


@pytest.mark.parametrize(("select_last_index", "index"), [(0, 0), (1, 1)])
def test_argmax_zeros_of_both_signs_tie(select_last_index, index):
    X = np.array([-0.0, 0.0, -1.0], np.float32)
    assert oracle_answer("ArgMax", X, select_last_index=select_last_index, keepdims=0).expected.item() == index


def test_argmax_bfloat16_tie_takes_first_index():
    X = np.array([1, 5, 2, 5]).astype(BFLOAT16_DTYPE)
    assert oracle_answer("ArgMax", X, select_last_index=1, keepdims=0).expected.item() == 3


@pytest.mark.parametrize(("select_last_index", "index"), [(0, 0), (1, 2)])
def test_argmax_tie_after_relu_is_exact(select_last_index, index):
    answer = oracle_indices(np.array([-1.0, -2.0, -3.0], np.float32), "Relu", select_last_index=select_last_index)
    assert (answer.expected.item(), answer.choices) == (index, None)


def test_argmax_of_input_distinguishes_subnormals():
    answer = oracle_answer("ArgMax", np.array([0.0, 1e-45], np.float32), keepdims=0, level=Level.MUST)
    assert (answer.expected.item(), answer.choices) == (1, None)


@pytest.mark.parametrize(
    "X", [[2**53, 2**53 + 1], [-(2**53) - 1, -(2**53)], [2**62, 2**62 + 1], [2**63 - 2, 2**63 - 1]], ids=str
)
def test_argmax_distinguishes_large_integers(X):
    assert oracle_answer("ArgMax", np.array(X, np.int64), keepdims=0).expected.item() == 1


def test_argmax_distinguishes_large_unsigned_integers():
    X = np.array([1, 2**64 - 2, 2**64 - 1], np.uint64)
    assert oracle_answer("ArgMax", X, keepdims=0).expected.item() == 2


CLOSE = np.float32(2)
CLOSER = np.nextafter(CLOSE, np.float32(3))
NEAR = {
    "Exp": [np.float32(1e-9), np.float32(2e-9), np.float32(-5)],
    "Log": [np.float32(1e30), np.nextafter(np.float32(1e30), np.float32(np.inf)), np.float32(1)],
    "Sqrt": [CLOSE, CLOSER, np.float32(1)],
    "Softmax": [np.float32(0), np.float32(1e-9), np.float32(-5)],
    "LogSoftmax": [np.float32(0), np.float32(1e-9), np.float32(-5)],
}
SETTLED = ("Sqrt", Level.SHOULD)
"""The functions whose result in the tensor's type is correctly rounded: IEEE 754 requires it for a square root."""
CLEAR = [1.0, 2.0, 1.5]


def indices_after(function, X, level):
    attributes = {"axis": 0} if function.endswith("Softmax") else None
    return acceptable(oracle_indices(X, function, level=level, function_attributes=attributes))


@pytest.mark.parametrize(
    ("function", "level"),
    [(function, level) for function in NEAR for level in (Level.MUST, Level.SHOULD) if (function, level) != SETTLED],
)
def test_argmax_near_tie_accepts_both_indices(function, level):
    assert indices_after(function, np.array(NEAR[function]), level) == [0, 1]


@both_levels
@pytest.mark.parametrize("function", NEAR)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_argmax_clear_maximum_accepts_one_index(function, dtype, level):
    assert indices_after(function, np.array(CLEAR, dtype), level) == [1]


@pytest.mark.parametrize(("level", "indices"), [(Level.MUST, [0, 2]), (Level.SHOULD, [0])])
def test_argmax_of_overflowing_exp_depends_on_level(level, indices):
    assert acceptable(oracle_indices(np.array([100.0, 1.0, 200.0], np.float32), "Exp", level=level)) == indices


def test_argmax_of_underflowing_exp_accepts_each_index():
    assert acceptable(oracle_indices(np.array([-300.0, -200.0], np.float32), "Exp")) == [0, 1]


@pytest.mark.parametrize("function", ["Exp", "Sqrt", "Log", "Softmax", "LogSoftmax"])
@given(data=st.data())
def test_argmax_accepts_index_of_numpy_in_float(function, data):
    first, last = (2.0**-126, 2.0**100) if function in {"Sqrt", "Log"} else (-80.0, 80.0)
    first_value = data.draw(st.floats(first, last, width=32))
    steps = data.draw(st.lists(st.integers(-4, 4), min_size=1, max_size=4))
    X = np.array(
        [first_value, *(first_value + step * np.spacing(np.float32(first_value)) for step in steps)], np.float32
    )
    with np.errstate(all="ignore"):
        powers = np.exp(X - X.max())
        Y = {
            "Exp": lambda: np.exp(X),
            "Sqrt": lambda: np.sqrt(np.abs(X)),
            "Log": lambda: np.log(np.abs(X)),
            "Softmax": lambda: powers / powers.sum(),
            "LogSoftmax": lambda: X - X.max() - np.log(powers.sum()),
        }[function]()
    attributes = {"axis": 0} if function.endswith("Softmax") else None
    given_X = np.abs(X) if function in {"Sqrt", "Log"} else X
    assert np.argmax(Y) in acceptable(oracle_indices(given_X, function, function_attributes=attributes))


@both_levels
@given(row=st.lists(st.floats(-50, 50, width=32), min_size=1, max_size=5))
def test_argmax_after_softmax_accepts_first_exact_maximum(level, row):
    answer = oracle_indices(np.array(row, np.float32), "Softmax", level=level, function_attributes={"axis": 0})
    assert row.index(max(row)) in acceptable(answer)


def test_argmax_expected_index_is_acceptable():
    X = np.array([[0, 1e-9, -5], [1, 2, 3]], np.float32)
    answer = oracle_indices(X, "Softmax", function_attributes={"axis": 1}, axis=1)
    assert np.take_along_axis(answer.choices, answer.expected[:, np.newaxis], axis=1).all()


def test_argmax_choices_are_separate_per_element():
    X = np.array([[0, 1e-9, -5], [1, 2, 3]], np.float32)
    answer = oracle_indices(X, "Softmax", function_attributes={"axis": 1}, axis=1)
    assert answer.choices.tolist() == [[True, True, False], [False, False, True]]


@pytest.mark.parametrize(("axis", "keepdims", "shape"), [(0, 0, (3,)), (0, 1, (1, 3)), (1, 0, (2,)), (-1, 1, (2, 1))])
def test_argmax_choices_have_one_more_axis(axis, keepdims, shape):
    answer = oracle_indices(np.zeros((2, 3), np.float32), "Exp", axis=axis, keepdims=keepdims)
    near = oracle_indices(np.full((2, 3), 0.1, np.float32), "Exp", axis=axis, keepdims=keepdims)
    assert (answer.expected.shape, near.choices.shape) == (shape, (*shape, (2, 3)[axis]))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_argmax_axis_and_keepdims_equal_numpy(axis, keepdims):
    X = np.array([[[3, 9], [1, 7]], [[8, 2], [6, 5]], [[4, 0], [11, 10]]], np.float32)
    answer = oracle_answer("ArgMax", X, axis=axis, keepdims=keepdims)
    assert answer.expected.tolist() == np.argmax(X, axis=axis, keepdims=bool(keepdims)).tolist()


def test_argmax_defaults_reduce_and_keep_first_axis():
    answer = oracle_answer("ArgMax", np.array([[1, 5], [2, 3]], np.float32))
    assert (answer.expected.tolist(), answer.expected.dtype) == ([[1, 0]], np.int64)


def test_argmax_over_axis_of_size_1_is_zero():
    assert oracle_answer("ArgMax", np.array([[7.0], [8.0]], np.float32), axis=1).expected.tolist() == [[0], [0]]


def test_argmax_with_other_empty_axis_is_empty():
    assert oracle_answer("ArgMax", np.zeros((0, 3), np.float32), axis=1, keepdims=0).expected.shape == (0,)


def test_argmax_over_empty_axis_is_unsupported():
    with pytest.raises(Unsupported):
        oracle_answer("ArgMax", np.zeros((0, 3), np.float32), axis=0)
