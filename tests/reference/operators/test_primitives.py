"""Arithmetic, comparisons and casts: exact values, and bounds that contain other evaluations."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_node_models import TYPES, f32, numbers, oracle_answers, reference_output
from onnx import helper
from reference_models import build_model, error_in_bounds, nearest

from conformance.reference.oracle import answers
from conformance.verdicts import Level, Unsupported

positive = st.floats(0.0009765625, 1024, width=32)
EXACTLY = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": lambda a, b: a / b,
}


@pytest.mark.parametrize("op_type", EXACTLY)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(a=numbers, b=positive)
def test_arithmetic_is_rounded_once(op_type, dtype, a, b):
    answer = oracle_answers(op_type, dtype(a), dtype(b))
    assert answer.expected == nearest(EXACTLY[op_type](Fraction(a), Fraction(b)), dtype)
    assert error_in_bounds(answer, reference_output(op_type, dtype(a), dtype(b))) <= 1


@pytest.mark.parametrize("op_type", ["Add", "Sub", "Mul", "Div"])
def test_arithmetic_broadcasts_operands(op_type):
    a, b = f32([1, 2, 4]), np.array([[0.5], [2]], np.float32)
    expected = {"Add": a + b, "Sub": a - b, "Mul": a * b, "Div": a / b}[op_type]
    assert (
        oracle_answers(op_type, a, b).expected.tolist() == reference_output(op_type, a, b).tolist() == expected.tolist()
    )


@given(positive)
def test_sqrt_is_rounded_once(a):
    with mpmath.workprec(200):
        assert oracle_answers("Sqrt", np.float64(a)).expected == float(mpmath.sqrt(mpmath.mpf(a)))


@given(base=st.floats(0.5, 1.5, width=32), exponent=st.integers(1, 200))
@pytest.mark.parametrize("exponent_dtype", [np.float32, np.int64])
def test_pow_is_rounded_once(exponent_dtype, base, exponent):
    answer = oracle_answers("Pow", np.float32(base), exponent_dtype(exponent))
    assert answer.expected == nearest(Fraction(base) ** exponent, np.float32)
    looped = np.float32(1)
    for _ in range(exponent):
        looped *= np.float32(base)
    assert error_in_bounds(answer, looped) <= 1


def test_pow_accepts_rounded_exponent():
    base, exponent = np.float32(1 - 2**-20), 2**24 + 1
    answer = oracle_answers("Pow", base, np.int64(exponent))
    assert error_in_bounds(answer, np.float32(float(base) ** exponent)) <= 1
    assert error_in_bounds(answer, np.float32(float(base) ** float(np.float32(exponent)))) <= 1


@pytest.mark.parametrize("exponent", [0.0, -1.0, 0.5, np.nan, np.inf])
def test_pow_with_other_exponent_is_unsupported(exponent):
    with pytest.raises(Unsupported, match="exponent"):
        oracle_answers("Pow", f32(2), f32(exponent))


def test_cast_to_float_is_rounded_once():
    values = [0.1, 1 + 2**-24, 1e300, -0.0]
    answer = oracle_answers("Cast", np.array(values), dtype=np.float32, to=onnx.TensorProto.FLOAT)
    with np.errstate(over="ignore"):
        assert answer.expected.tolist() == np.array(values).astype(np.float32).tolist()


def test_cast_to_double_is_exact():
    answer = oracle_answers("Cast", f32(0.1, 3e-45, np.inf), dtype=np.float64, to=onnx.TensorProto.DOUBLE)
    assert (answer.expected.tolist(), answer.bound.any()) == (f32(0.1, 3e-45, np.inf).astype(float).tolist(), False)


@pytest.mark.parametrize("dtype", TYPES)
def test_cast_of_integers_accepts_unrounded_value(dtype):
    count = np.array([3, 2**24 + 1, 2**53 + 1, -(2**63)])
    answer = oracle_answers("Cast", count, dtype=dtype, to=TYPES[dtype])
    assert answer.expected.tolist() == count.astype(dtype).tolist()
    assert answer.bound[[0, 3]].tolist() == [0, 0]


def test_cast_to_integer_truncates():
    answer = oracle_answers("Cast", f32(1.5, -1.5, 3), dtype=np.int64, to=onnx.TensorProto.INT64)
    assert answer.expected.tolist() == [1, -1, 3]


def test_cast_of_string_is_unsupported():
    with pytest.raises(Unsupported, match="string"):
        oracle_answers("Cast", np.array(["1"], dtype=object), dtype=np.int64, to=onnx.TensorProto.INT64)


def test_integer_arithmetic_stays_integer():
    answer = oracle_answers("Add", np.array([2**62]), np.array([1]))
    assert (answer.expected.tolist(), answer.expected.dtype, answer.bound) == ([2**62 + 1], np.int64, None)
    assert oracle_answers("Where", np.array([True]), np.array([2**62 + 1]), np.array([0]), dtype=np.int64).expected == [
        2**62 + 1
    ]


def test_op_where_ignores_unselected_operand():
    answer = oracle_answers(
        "Where", np.array([True, False]), f32(1, np.nan), f32(np.inf, 2), dtype=np.float32, level=Level.MUST
    )
    assert (answer.expected.tolist(), answer.indeterminacy) == ([1, 2], None)


@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_less_compares_exactly(dtype):
    a, b = np.array([1, 2, 3], dtype), np.array(2, dtype)
    assert oracle_answers("Less", a, b, dtype=bool).expected.tolist() == [True, False, False]


def test_comparison_decided_by_rounding_is_unsupported():
    named = {"A": f32(0.1), "B": f32(0.2), "C": f32(0.3)}
    nodes = [helper.make_node("Add", ["A", "B"], ["S"]), helper.make_node("Less", ["S", "C"], ["Y"])]
    with pytest.raises(Unsupported, match="rounding"):
        answers(build_model(nodes, named, {"Y": onnx.TensorProto.BOOL}), list(named.values()), Level.MUST)


def test_relu_near_zero_encloses_both_sides():
    named = {"A": f32(0.1, 0.1), "B": f32(3, 3), "C": f32(-0.3, -0.30000001)}
    nodes = [
        helper.make_node("Mul", ["A", "B"], ["P"]),
        helper.make_node("Add", ["P", "C"], ["S"]),
        helper.make_node("Relu", ["S"], ["Y"]),
    ]
    model = build_model(nodes, named, {"Y": onnx.TensorProto.FLOAT})
    answer = answers(model, list(named.values()), Level.MUST)[0]
    evaluations = [f32(0.1) * f32(3) + named["C"], (named["A"].astype(float) * 3 + named["C"]).astype(np.float32)]
    assert all(error_in_bounds(answer, np.maximum(value, 0)) <= 1 for value in evaluations)


def test_relu_and_neg_are_exact():
    values = f32(0.1, -0.1, 0, np.inf, -np.inf)
    relu, neg = oracle_answers("Relu", values), oracle_answers("Neg", values)
    assert (relu.expected.tolist(), relu.bound.any()) == (f32(0.1, 0, 0, np.inf, 0).tolist(), False)
    assert (neg.expected.tobytes(), neg.bound.any()) == ((-values).tobytes(), False)
