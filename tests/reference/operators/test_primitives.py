"""The primitive operators and functions: exact values by fractions and mpmath, enclosure of other evaluations."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_node_models import TYPES, computed, f32, judged, numbers
from onnx import helper
from reference_models import excess, law, model_of, nearest

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
@law
@given(a=numbers, b=positive)
def test_arithmetic_is_rounded_once(op_type, dtype, a, b):
    answer = judged(op_type, dtype(a), dtype(b))
    assert answer.expected == nearest(EXACTLY[op_type](Fraction(a), Fraction(b)), dtype)
    assert excess(answer, computed(op_type, dtype(a), dtype(b))) <= 1


@pytest.mark.parametrize("op_type", ["Add", "Sub", "Mul", "Div"])
def test_operands_broadcast(op_type):
    a, b = f32([1, 2, 4]), np.array([[0.5], [2]], np.float32)
    expected = {"Add": a + b, "Sub": a - b, "Mul": a * b, "Div": a / b}[op_type]
    assert judged(op_type, a, b).expected.tolist() == computed(op_type, a, b).tolist() == expected.tolist()


@law
@given(positive)
def test_a_square_root_is_rounded_once(a):
    with mpmath.workprec(200):
        assert judged("Sqrt", np.float64(a)).expected == float(mpmath.sqrt(mpmath.mpf(a)))


@law
@given(base=st.floats(0.5, 1.5, width=32), exponent=st.integers(1, 200))
@pytest.mark.parametrize("exponent_dtype", [np.float32, np.int64])
def test_a_power_is_rounded_once(exponent_dtype, base, exponent):
    answer = judged("Pow", np.float32(base), exponent_dtype(exponent))
    assert answer.expected == nearest(Fraction(base) ** exponent, np.float32)
    looped = np.float32(1)
    for _ in range(exponent):
        looped *= np.float32(base)
    assert excess(answer, looped) <= 1


def test_a_power_admits_an_exponent_that_the_type_rounds():
    base, exponent = np.float32(1 - 2**-20), 2**24 + 1
    answer = judged("Pow", base, np.int64(exponent))
    assert excess(answer, np.float32(float(base) ** exponent)) <= 1
    assert excess(answer, np.float32(float(base) ** float(np.float32(exponent)))) <= 1


@pytest.mark.parametrize("exponent", [0.0, -1.0, 0.5, np.nan, np.inf])
def test_a_power_other_than_of_a_count_is_unsupported(exponent):
    with pytest.raises(Unsupported, match="exponent"):
        judged("Pow", f32(2), f32(exponent))


def test_a_cast_to_float_is_rounded_once():
    values = [0.1, 1 + 2**-24, 1e300, -0.0]
    answer = judged("Cast", np.array(values), dtype=np.float32, to=onnx.TensorProto.FLOAT)
    with np.errstate(over="ignore"):
        assert answer.expected.tolist() == np.array(values).astype(np.float32).tolist()


def test_a_cast_to_double_is_exact():
    answer = judged("Cast", f32(0.1, 3e-45, np.inf), dtype=np.float64, to=onnx.TensorProto.DOUBLE)
    assert (answer.expected.tolist(), answer.bound.any()) == (f32(0.1, 3e-45, np.inf).astype(float).tolist(), False)


@pytest.mark.parametrize("dtype", TYPES)
def test_a_cast_of_integers_admits_what_computes_on_with_all_their_bits(dtype):
    count = np.array([3, 2**24 + 1, 2**53 + 1, -(2**63)])
    answer = judged("Cast", count, dtype=dtype, to=TYPES[dtype])
    assert answer.expected.tolist() == count.astype(dtype).tolist()
    assert answer.bound[[0, 3]].tolist() == [0, 0]


def test_a_cast_to_an_integer_drops_the_fraction():
    answer = judged("Cast", f32(1.5, -1.5, 3), dtype=np.int64, to=onnx.TensorProto.INT64)
    assert answer.expected.tolist() == [1, -1, 3]


def test_a_cast_of_text_is_unsupported():
    with pytest.raises(Unsupported, match="text"):
        judged("Cast", np.array(["1"], dtype=object), dtype=np.int64, to=onnx.TensorProto.INT64)


def test_integers_stay_integers():
    answer = judged("Add", np.array([2**62]), np.array([1]))
    assert (answer.expected.tolist(), answer.expected.dtype, answer.bound) == ([2**62 + 1], np.int64, None)
    assert judged("Where", np.array([True]), np.array([2**62 + 1]), np.array([0]), dtype=np.int64).expected == [
        2**62 + 1
    ]


def test_where_drops_what_it_does_not_choose():
    answer = judged(
        "Where", np.array([True, False]), f32(1, np.nan), f32(np.inf, 2), dtype=np.float32, level=Level.MUST
    )
    assert (answer.expected.tolist(), answer.unsettled) == ([1, 2], None)


@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_less_compares_exactly(dtype):
    a, b = np.array([1, 2, 3], dtype), np.array(2, dtype)
    assert judged("Less", a, b, dtype=bool).expected.tolist() == [True, False, False]


def test_a_comparison_that_rounding_decides_is_unsupported():
    named = {"A": f32(0.1), "B": f32(0.2), "C": f32(0.3)}
    nodes = [helper.make_node("Add", ["A", "B"], ["S"]), helper.make_node("Less", ["S", "C"], ["Y"])]
    with pytest.raises(Unsupported, match="rounding"):
        answers(model_of(nodes, named, {"Y": onnx.TensorProto.BOOL}), list(named.values()), Level.MUST)


def test_relu_of_a_number_near_zero_encloses_both_sides():
    named = {"A": f32(0.1, 0.1), "B": f32(3, 3), "C": f32(-0.3, -0.30000001)}
    nodes = [
        helper.make_node("Mul", ["A", "B"], ["P"]),
        helper.make_node("Add", ["P", "C"], ["S"]),
        helper.make_node("Relu", ["S"], ["Y"]),
    ]
    model = model_of(nodes, named, {"Y": onnx.TensorProto.FLOAT})
    answer = answers(model, list(named.values()), Level.MUST)[0]
    evaluations = [f32(0.1) * f32(3) + named["C"], (named["A"].astype(float) * 3 + named["C"]).astype(np.float32)]
    assert all(excess(answer, np.maximum(value, 0)) <= 1 for value in evaluations)


def test_relu_and_neg_round_nothing():
    values = f32(0.1, -0.1, 0, np.inf, -np.inf)
    relu, neg = judged("Relu", values), judged("Neg", values)
    assert (relu.expected.tolist(), relu.bound.any()) == (f32(0.1, 0, 0, np.inf, 0).tolist(), False)
    assert (neg.expected.tobytes(), neg.bound.any()) == ((-values).tobytes(), False)
