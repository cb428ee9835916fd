"""Definitions that compute: primitives, reductions, quantization and function operators."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import permutations
from typing import Any

import mpmath
import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_node_models import TYPES, X, enclose_operator, f32, numbers, oracle_answers, reference_output
from onnx import TensorProto, helper
from reference_models import both_levels, build_model, error_in_bounds, nearest

from conformance.base.verdicts import Level, Unsupported
from conformance.exact.reference.numbers.enclosure import Enclosure, admissible_mask
from conformance.exact.reference.oracle import answers

# Arithmetic, comparisons and casts: exact values, and bounds that contain other evaluations.


positive = st.floats(0.0009765625, 1024, width=32)
EXACTLY = {"Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b, "Div": lambda a, b: a / b}


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


def test_cast_of_fraction_to_four_bits_is_truncated_or_nearest_at_must_and_nearest_even_at_should():
    (Y,) = enclose_operator("Cast", f32(2.5, 2.6, -0.6), opset=25, to=TensorProto.INT4)
    rounded = [np.array(y, np.int8).astype("int4") for y in ([2, 2, 0], [2, 3, -1], [3, 3, -1], [4, 4, 1])]
    assert [admissible_mask(y, Y).tolist() for y in rounded] == [[True] * 3] * 3 + [[False] * 3]
    assert [admissible_mask(y, Y.should).all() for y in rounded] == [False, True, False, False]


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


# Sums, matrix products and reductions: the bounds contain every order of summation.


def sums(values, add=np.add):
    """Return a sum computed in every order, pairwise, and in double."""
    for order in permutations(values):
        total = order[0]
        for value in order[1:]:
            total = add(total, value)
        yield total
    yield add(add(*values[:2]), add(*values[2:4])) if len(values) == 4 else total
    yield np.float32(sum(map(float, values)))


@both_levels
@given(st.lists(numbers, min_size=1, max_size=5))
def test_sum_bound_contains_every_order(level, values):
    values = f32(*values)
    answer = oracle_answers("ReduceSum", values, level=level, keepdims=0)
    assert answer.expected == nearest(sum(map(Fraction, map(float, values))), np.float32)
    assert max(error_in_bounds(answer, total) for total in sums(values)) <= 1


def test_cancelling_sum_bound_depends_on_magnitudes():
    values = f32(2**24, 1, -(2**24), 1)
    answer = oracle_answers("ReduceSum", values, keepdims=0)
    assert answer.expected == 2
    assert {float(total) for total in sums(values)} >= {0.0, 1.0, 2.0}
    assert answer.bound <= 4 * 2**-24 * float(np.abs(values).sum())


def test_sum_overflowing_in_some_order_is_indeterminate():
    assert oracle_answers("ReduceSum", f32(3e38, -3e38, 3e38)).indeterminacy


@pytest.mark.parametrize("values", [[np.inf, 1, 2], [-np.inf, 1, 2], [np.inf, -np.inf, 1], [np.nan, 1, 2]])
def test_sum_with_infinity_or_nan_is_determinate(values):
    answer = oracle_answers("ReduceSum", f32(*values), level=Level.MUST, keepdims=0)
    assert not answer.indeterminacy
    with np.errstate(invalid="ignore"):
        assert all(np.array_equal(answer.expected, total, equal_nan=True) for total in sums(f32(*values)))


@both_levels
@given(st.integers(0, 2**32))
def test_matmul_bound_contains_every_order_and_fma(level, seed):
    random = np.random.default_rng(seed)
    A, B = (random.standard_normal(shape).astype(np.float32) for shape in ((2, 5), (5, 3)))
    answer = oracle_answers("MatMul", A, B, level=level)
    exact = [
        [sum(Fraction(float(A[i, k])) * Fraction(float(B[k, j])) for k in range(5)) for j in range(3)] for i in range(2)
    ]
    assert answer.expected.tolist() == [[nearest(value, np.float32) for value in row] for row in exact]
    for order in permutations(range(5)):
        total = np.zeros((2, 3), np.float32)
        fused = np.zeros((2, 3), np.float32)
        for k in order:
            product = np.outer(A[:, k], B[k])
            total = total + product
            fused = (fused + np.outer(A[:, k].astype(float), B[k].astype(float))).astype(np.float32)
        assert max(error_in_bounds(answer, total), error_in_bounds(answer, fused), error_in_bounds(answer, A @ B)) <= 1
    assert error_in_bounds(answer, reference_output("MatMul", A, B)) <= 1


def test_matmul_broadcasts_batches():
    A, B = np.arange(12, dtype=np.float32).reshape(2, 2, 3), np.arange(6, dtype=np.float32).reshape(3, 2)
    assert oracle_answers("MatMul", A, B).expected.tolist() == (A @ B).tolist()


def test_matmul_over_empty_axis_is_zero():
    answer = oracle_answers("MatMul", np.ones((2, 0), np.float32), np.ones((0, 3), np.float32))
    assert answer.expected.tolist() == np.zeros((2, 3)).tolist()


def test_matmul_of_vector_has_no_axis_of_vector():
    answer = oracle_answers("MatMul", f32(1, 2), np.array([[1, 3], [5, 7]], np.float32))
    assert answer.expected.tolist() == [11, 17]


@pytest.mark.parametrize("axes", [[0], [1], [-1], [0, 2], [2, 0], None])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_reduce_sum_reduces_axes(axes, keepdims):
    expected = X.mean(axis=tuple(axes) if axes else None, keepdims=bool(keepdims))
    options = {"axes": axes} if axes else {}
    for result in (oracle_answers("ReduceMean", X, keepdims=keepdims, **options).expected,
                   reference_output("ReduceMean", X, keepdims=keepdims, **options)):  # fmt: skip
        np.testing.assert_array_equal(result, expected)
    given = [np.array(axes)] if axes else []
    totals = X.sum(axis=tuple(axes) if axes else None, keepdims=bool(keepdims))
    np.testing.assert_array_equal(oracle_answers("ReduceSum", X, *given, keepdims=keepdims).expected, totals)


def test_sum_over_empty_axis_is_zero():
    assert oracle_answers("ReduceSum", np.ones((0, 2), np.float32), np.array([0]), keepdims=0).expected.tolist() == [
        0,
        0,
    ]


class TestNormalizations:
    X = np.array([[1, -2, 4], [0.5, 3, -1]], np.float32)

    @staticmethod
    def expected(op_type, *inputs, opset, **attributes):
        """Return the expected output of a node with these inputs."""
        names = [f"X{number}" for number in range(len(inputs))]
        node = helper.make_node(op_type, names, ["Y"], **attributes)
        model = build_model([node], dict(zip(names, inputs, strict=True)), {"Y": TensorProto.FLOAT}, opset=opset)
        return answers(model, list(inputs), Level.SHOULD)[0].expected

    @pytest.mark.parametrize("axis", [0, -1])
    @pytest.mark.parametrize("p", [1, 2])
    def test_lp_normalization_divides_by_norm(self, axis, p):
        answer = self.expected("LpNormalization", self.X, opset=13, axis=axis, p=p)
        expected = self.X / np.linalg.norm(self.X.astype(np.float64), p, axis, keepdims=True)
        np.testing.assert_allclose(answer, expected, rtol=1e-6)

    def test_lp_normalization_of_zeros_is_zero(self):
        answer = self.expected("LpNormalization", np.zeros((1, 3), np.float32), opset=13)
        assert answer.tolist() == [[0, 0, 0]]

    def test_layer_normalization_standardizes_rows(self):
        scale = np.array([2, 1, 0.5], np.float32)
        answer = self.expected("LayerNormalization", self.X, scale, opset=17)
        wide = self.X.astype(np.float64)
        expected = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * scale
        np.testing.assert_allclose(answer, expected, rtol=1e-5)

    def test_batch_normalization_uses_given_statistics(self):
        scale, bias, mean, variance = (
            np.array(row, np.float32) for row in ([2, 1, 3], [0, 1, 2], [1, 0, 2], [4, 1, 9])
        )
        answer = self.expected("BatchNormalization", self.X, scale, bias, mean, variance, opset=15)
        expected = (self.X - mean) / np.sqrt(variance + 1e-5) * scale + bias
        np.testing.assert_allclose(answer, expected, rtol=1e-5, atol=1e-6)


# Quantized tensors contain the results of fractions of integers, and no other step.


enclose = partial(enclose_operator, opset=25)


def should(tensor: Any) -> Any:
    return (tensor.should or tensor) if isinstance(tensor, Enclosure) else tensor


def fractions(array: Any) -> Any:
    return np.vectorize(Fraction, otypes=[object])(np.asarray(array).astype(np.float64))


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.mark.parametrize(
    ("name", "low", "high"), [("uint8", 0, 255), ("int4", -8, 7), ("uint2", 0, 3), ("int16", -32768, 32767)]
)
def test_quantize_linear_rounds_to_even_and_saturates(
    name: str, low: int, high: int, random: np.random.Generator
) -> None:
    dtype = onnx.helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, name.upper()))
    X = np.round(random.standard_normal((3, 40)) * high).astype(np.float32) / 4
    scale, zero = np.array([0.5, 1.0, 0.3], np.float32), np.array([1, 0, 2]).astype(dtype)
    quotient = fractions(X) / fractions(scale)[:, np.newaxis]
    exact = [[round(q) for q in row] for row in quotient]
    wanted = np.clip(np.array(exact) + zero.astype(int)[:, np.newaxis], low, high)
    (tensor,) = enclose("QuantizeLinear", X, scale, zero, axis=0)
    assert tensor.dtype == dtype
    assert admissible_mask(wanted.astype(dtype), should(tensor)).all()
    inside = (wanted > low) & (wanted < high)
    others = np.where(inside, wanted + 1, wanted).astype(dtype)
    assert admissible_mask(others, tensor)[inside].mean() < 0.2
    assert not admissible_mask(others, tensor)[:2][inside[:2]].any()  # the scales are powers of two


def test_quantize_linear_of_a_tie_that_a_scale_decides_admits_both_steps_at_must_only() -> None:
    X, scale = np.array([0.35, 0.349], np.float32), np.array(0.1, np.float32)
    (tensor,) = enclose("QuantizeLinear", X, scale, np.array(0, np.uint8))
    assert [bool(admissible_mask(np.array([step, step], np.uint8), tensor)[0]) for step in (2, 3, 4, 5)] == [
        False, True, True, False,
    ]  # fmt: skip
    assert [bool(admissible_mask(np.array([step, step], np.uint8), tensor)[1]) for step in (2, 3, 4)] == [
        False, True, False,
    ]  # fmt: skip


def test_quantize_linear_of_blocks_takes_the_scale_of_each_block() -> None:
    X = np.array([[1, 2, 3, 4, 5]], np.float32)
    scale = np.array([[1.0, 0.5, 0.25]], np.float32)
    (tensor,) = enclose("QuantizeLinear", X, scale, axis=1, block_size=2)
    assert tensor.tolist() == [[1, 2, 6, 8, 20]]


def test_quantize_linear_of_nan_is_open() -> None:
    (tensor,) = enclose("QuantizeLinear", np.array([np.nan, 1], np.float32), np.array(1, np.float32))
    assert tensor.unspecified.tolist() == [True, False]


def test_quantize_linear_of_an_inexact_tensor_is_an_interval_of_steps() -> None:
    X = Enclosure(np.array([10.4, 10.5]), np.array([0.05, 0.05]), np.dtype(np.float32))
    (tensor,) = enclose("QuantizeLinear", X, np.array(1, np.float32), np.array(100, np.uint8))
    assert admissible_mask(np.array([110, 110], np.uint8), tensor).all()
    assert admissible_mask(np.array([111, 111], np.uint8), tensor).tolist() == [False, True]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_dequantize_linear_contains_the_exact_product(dtype: Any, random: np.random.Generator) -> None:
    X = random.integers(0, 256, (3, 20)).astype(np.uint8)
    scale, zero = random.random(3).astype(dtype) + dtype(0.1), np.array([3, 128, 255], np.uint8)
    exact = (fractions(X) - fractions(zero)[:, np.newaxis]) * fractions(scale)[:, np.newaxis]
    (tensor,) = enclose("DequantizeLinear", X, scale, zero, axis=0)
    assert all(
        abs(Fraction(value) - product) <= Fraction(error)
        for value, error, product in zip(tensor.value.flat, tensor.error.flat, exact.flat, strict=True)
    )
    changed = (exact.astype(np.float64) * 1.01).astype(dtype)
    assert not admissible_mask(changed, tensor)[exact != 0].any()


@pytest.mark.parametrize(("axis", "blocks", "is_part_first"), [(0, 4, False), (1, 4, True), (1, 0, True)])
def test_dequantize_linear_of_a_large_tensor_is_that_of_its_parts(
    axis: int, blocks: int, is_part_first: bool, random: np.random.Generator
) -> None:
    X = random.integers(-128, 128, (256, 256)).astype(np.int8)
    shape = (256,) if not blocks else tuple(blocks if each == axis else 256 for each in range(2))
    scale = (random.random(shape) * 60000).astype(np.float16)
    attributes = {"axis": axis, **({"block_size": 256 // blocks} if blocks else {})}
    (whole,) = enclose("DequantizeLinear", X, scale, opset=21, **attributes)
    places = (slice(5, 9), slice(None)) if is_part_first else (slice(None), slice(5, 9))
    (part,) = enclose("DequantizeLinear", X[places], scale[places] if blocks else scale, opset=21, **attributes)
    assert np.isinf(part.value).any()
    assert whole.value[places].tolist() == part.value.tolist()
    assert whole.error[places].tolist() == part.error.tolist()


def test_integer_products_equal_sums_of_python_integers(random: np.random.Generator) -> None:
    A, B = random.integers(0, 256, (3, 5)).astype(np.uint8), random.integers(-128, 128, (5, 2)).astype(np.int8)
    zero = np.array([7, -3], np.int8)
    wanted = (A.astype(object) - 12) @ (B.astype(object) - zero.astype(object))
    (tensor,) = enclose("MatMulInteger", A, B, np.array(12, np.uint8), zero)
    assert tensor.dtype == np.int32
    assert tensor.tolist() == wanted.tolist()


def test_qlinear_matmul_contains_the_rounded_exact_quotient(random: np.random.Generator) -> None:
    A, B = (random.integers(0, 256, shape).astype(np.uint8) for shape in ((4, 6), (6, 5)))
    scales = [np.array(x, np.float32) for x in (0.02, 0.03, 0.9)]
    zeros = [np.array(x, np.uint8) for x in (120, 130, 128)]
    sums = (A.astype(object) - 120) @ (B.astype(object) - 130)
    factor = Fraction(scales[0].item()) * Fraction(scales[1].item()) / Fraction(scales[2].item())
    wanted = np.clip(np.vectorize(lambda x: round(x * factor) + 128)(sums), 0, 255).astype(np.uint8)
    (tensor,) = enclose("QLinearMatMul", A, scales[0], zeros[0], B, scales[1], zeros[1], scales[2], zeros[2])
    assert admissible_mask(wanted, should(tensor)).all()
    assert not admissible_mask(wanted + np.uint8(1), tensor).any()


def test_qlinear_matmul_rounds_an_exact_tie_to_even() -> None:
    half, zeros = np.float32(0.5), [np.uint8(each) for each in (0, 0, 128)]
    a, b = np.uint8([[1, 3]]), np.uint8([[1], [0]])
    given = (a, half, zeros[0], b, half, zeros[1], half, zeros[2])
    (tensor,) = enclose("QLinearMatMul", *map(np.asarray, given))
    assert np.asarray(tensor).tolist() == [[128]]


def test_qlinear_conv_with_a_tie_admits_both_steps() -> None:
    X, W = np.array([[[[5]]]], np.uint8), np.array([[[[1]]]], np.uint8)
    one, zero = np.array(1, np.float32), np.array(0, np.uint8)
    (tensor,) = enclose("QLinearConv", X, one, zero, W, one, zero, np.array(2, np.float32), zero)
    admitted = [bool(admissible_mask(np.full((1, 1, 1, 1), step, np.uint8), tensor).all()) for step in (1, 2, 3, 4)]
    assert admitted == [False, True, True, False]


def test_qlinear_conv_has_a_scale_and_a_zero_point_for_each_output_channel() -> None:
    X, W = np.array([[[[5]]]], np.uint8), np.array([[[[3]]], [[[4]]]], np.uint8)
    one, zero = np.array(1, np.float32), np.array(0, np.uint8)
    scales, zeros = np.array([1, 2], np.float32), np.array([1, 2], np.uint8)
    (tensor,) = enclose("QLinearConv", X, one, zero, W, scales, zeros, one, zero)
    assert np.asarray(tensor).tolist() == [[[[10]], [[20]]]]


def test_dynamic_quantize_linear_contains_the_formula_of_the_page(random: np.random.Generator) -> None:
    X = random.standard_normal(50).astype(np.float32)
    high, low = max(0, Fraction(X.max().item())), min(0, Fraction(X.min().item()))
    scale = (high - low) / 255
    zero = min(max(round(-low / scale), 0), 255)
    wanted = [min(max(round(Fraction(x) / scale) + zero, 0), 255) for x in X.tolist()]
    Y, y_scale, y_zero = enclose("DynamicQuantizeLinear", X, outputs=3)
    assert abs(Fraction(y_scale.value.item()) - scale) <= Fraction(y_scale.error.item())
    assert int(np.asarray(y_zero if isinstance(y_zero, np.ndarray) else y_zero.value)) == zero
    assert admissible_mask(np.array(wanted, np.uint8), Y).all()
