"""Quantized tensors contain the results of fractions of integers, and no other step."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import onnx
import pytest

from conformance.reference.enclosures import enclose_node
from conformance.reference.nodes import Node
from conformance.reference.numbers.enclosure import Enclosure, admissible_mask


def enclose(op_type: str, *inputs: Any, opset: int = 25, outputs: int = 1, **attributes: Any) -> list[Any]:
    names = tuple(f"i{k}" for k in range(len(inputs))), tuple(f"o{k}" for k in range(outputs))
    return enclose_node(Node(op_type, *names, attributes, opset), list(inputs))


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
