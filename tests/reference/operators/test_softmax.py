"""Softmax, LogSoftmax and other functions before ArgMax: their axes, and bounds that contain native results."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_models import error_in_bounds, oracle_answer

from conformance.verdicts import Level

CUBE = np.log(np.arange(1, 9, dtype=np.float64)).reshape(2, 2, 2)


def softmax_over(X, axes):
    powers = np.exp(X)
    return powers / powers.sum(axis=axes, keepdims=True)


@pytest.mark.parametrize(
    ("opset", "attributes", "axes"),
    [
        (13, {}, (2,)),
        (13, {"axis": 1}, (1,)),
        (13, {"axis": 0}, (0,)),
        (13, {"axis": -3}, (0,)),
        (12, {}, (1, 2)),
        (12, {"axis": 0}, (0, 1, 2)),
        (12, {"axis": 1}, (1, 2)),
        (12, {"axis": 2}, (2,)),
        (11, {"axis": -1}, (2,)),
        (11, {"axis": -2}, (1, 2)),
        (1, {}, (1, 2)),
    ],
)
@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax"])
def test_softmax_reduces_axes_of_its_opset(op_type, opset, attributes, axes):
    expected = softmax_over(CUBE, axes)
    answer = oracle_answer(op_type, CUBE, opset=opset, **attributes)
    np.testing.assert_allclose(answer.expected, expected if op_type == "Softmax" else np.log(expected), rtol=1e-14)


def test_coerced_softmax_keeps_shape():
    assert oracle_answer("Softmax", CUBE, opset=12).expected.shape == CUBE.shape


def test_softmax_of_large_elements_is_not_nan():
    answer = oracle_answer("Softmax", np.array([1000.0, 1000.0], np.float32))
    assert answer.expected.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@given(data=st.data())
def test_softmax_bound_contains_native_result(op_type, dtype, data):
    width = np.dtype(dtype).itemsize * 8
    X = np.array(data.draw(st.lists(st.floats(-8, 8, width=width), min_size=1, max_size=20)), dtype)
    shifted = X - X.max()
    powers = np.exp(shifted)
    total = np.add.accumulate(powers)[-1]
    Y = powers / total if op_type == "Softmax" else shifted - np.log(total)
    assert error_in_bounds(oracle_answer(op_type, X, level=Level.MUST), Y) <= 1


@pytest.mark.parametrize("op_type", ["Exp", "Log", "Sqrt"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@given(data=st.data())
def test_function_bound_contains_native_result(op_type, dtype, data):
    width = np.dtype(dtype).itemsize * 8
    first, last = (-8, 8) if op_type == "Exp" else (2.0**-10, 2.0**10)
    X = np.array(data.draw(st.lists(st.floats(first, last, width=width), min_size=1, max_size=20)), dtype)
    Y = {"Exp": np.exp, "Log": np.log, "Sqrt": np.sqrt}[op_type](X)
    assert error_in_bounds(oracle_answer(op_type, X, level=Level.MUST), Y) <= 1
