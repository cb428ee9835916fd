"""Operators of com.microsoft contain the results of their formulas in double or in fractions, and little else."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from onnxruntime_nodes import enclose

from conformance.exact.reference.numbers.enclosure import Enclosure, admissible_mask

if TYPE_CHECKING:
    from collections.abc import Callable

DOMAIN = "com.microsoft"
RANDOM = np.random.default_rng(1)


def numbers(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def assert_contains(tensor: Any, exact: Any) -> None:
    """Assert that exact results are admissible at both levels, and that results with an error of 1e-3 are not."""
    assert isinstance(tensor, Enclosure)
    rounded = np.asarray(exact).astype(tensor.dtype)
    for level in (tensor, tensor.should or tensor):
        assert admissible_mask(rounded, level).all()
    assert not admissible_mask((rounded + 0.001 * (1 + np.abs(rounded))).astype(tensor.dtype), tensor).any()


def gelu(x: Any) -> Any:
    return x * np.vectorize(lambda each: (1 + math.erf(each / math.sqrt(2))) / 2)(x)


def fast_gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(0.797885 * x + 0.035677 * x**3))


def leaky_relu(x: Any) -> Any:
    return np.where(x < 0, 0.125 * x, x)


def attention(*operands: Any) -> Any:
    q, k, v = (each.reshape(1, -1, 2, 4) for each in operands)
    weights = np.exp(np.einsum("bqhd,bkhd->bhqk", q, k) / 2)
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("bhqk,bkhd->bqhd", weights, v).reshape(1, -1, 8)


def layer_normalization(x: Any, gamma: Any, beta: Any) -> Any:
    deviation = x - x.mean(-1, keepdims=True)
    return deviation / np.sqrt((deviation**2).mean(-1, keepdims=True) + 0.001) * gamma + beta


def rms_normalization(x: Any, gamma: Any) -> Any:
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 0.001) * gamma


SQUARE = {"transA": 1, "transB": 1, "alpha": 0.25}
ROW = (3, 8)

CASES: list[tuple[str, list[tuple[int, ...]], dict[str, Any], Callable[..., Any]]] = [
    ("FusedMatMul", [(2, 4, 3), (2, 5, 4)], SQUARE, lambda a, b: 0.25 * np.einsum("nkm,nok->nmo", a, b)),
    ("FusedMatMul", [(3, 2, 4), (2, 4, 5)], {"transBatchA": 1}, lambda a, b: np.einsum("mnk,nko->nmo", a, b)),
    (
        "FusedMatMulActivation",
        [ROW, (8, 2)],
        {"activation": "Tanh", "alpha": 0.5},
        lambda a, b: np.tanh(0.5 * np.einsum("mk,ko->mo", a, b)),
    ),
    (
        "FusedGemm",
        [(4, 3), (5, 4), (5,)],
        SQUARE | {"beta": 2.0, "activation": "LeakyRelu", "activation_alpha": 0.125},
        lambda a, b, c: leaky_relu(0.25 * np.einsum("km,ok->mo", a, b) + 2 * c),
    ),
    ("Gelu", [ROW], {}, gelu),
    ("BiasGelu", [ROW, (8,)], {}, lambda x, b: gelu(x + b)),
    ("FastGelu", [ROW], {}, fast_gelu),
    ("FastGelu", [ROW, (8,)], {}, lambda x, b: fast_gelu(x + b)),
    ("QuickGelu", [ROW], {"alpha": 1.5}, lambda x: x / (1 + np.exp(-1.5 * x))),
    (
        "SkipLayerNormalization",
        [ROW, ROW, (8,), (8,), (8,)],
        {"epsilon": 0.001},
        lambda x, skip, gamma, beta, bias: layer_normalization(x + skip + bias, gamma, beta),
    ),
    (
        "SkipSimplifiedLayerNormalization",
        [ROW, ROW, (8,), (8,)],
        {"epsilon": 0.001},
        lambda x, skip, gamma, bias: rms_normalization(x + skip + bias, gamma),
    ),
    ("MultiHeadAttention", [(1, 3, 8), (1, 4, 8), (1, 4, 8)], {"num_heads": 2}, attention),
]


@pytest.mark.parametrize(("op_type", "shapes", "attributes", "formula"), CASES, ids=[case[0] for case in CASES])
def test_results_of_formulas_in_double_are_admissible(
    op_type: str, shapes: list[tuple[int, ...]], attributes: dict[str, Any], formula: Callable[..., Any]
) -> None:
    inputs = [numbers(*shape) for shape in shapes]
    assert_contains(
        enclose(DOMAIN, op_type, inputs, **attributes)[0], formula(*(each.astype(float) for each in inputs))
    )


@pytest.mark.parametrize(("bits", "has_zeros"), [(4, False), (4, True), (8, False), (8, True)])
def test_matmul_of_weights_in_blocks_is_a_sum_of_fractions(bits: int, *, has_zeros: bool) -> None:
    rows, columns, block = 2, 40, 16
    count, per_byte = 3, 8 // bits
    x, scales = numbers(1, columns), numbers(rows, count)
    packed = RANDOM.integers(0, 256, (rows, count, block // per_byte), np.uint8)
    zeros = RANDOM.integers(0, 256, (rows, -(-count // per_byte)), np.uint8) if has_zeros else None

    def element(row: Any, place: int) -> int:
        return int(row[place // per_byte]) >> bits * (place % per_byte) & (2**bits - 1)

    exact = []
    for row in range(rows):
        total = Fraction(0)
        for k in range(columns):
            zero = 2 ** (bits - 1) if zeros is None else element(zeros[row], k // block)
            weight = element(packed[row, k // block], k % block) - zero
            total += Fraction(float(x[0, k])) * weight * Fraction(float(scales[row, k // block]))
        exact.append(float(total))
    given = [x, packed, scales] if zeros is None else [x, packed, scales, zeros]
    sizes = {"K": columns, "N": rows, "bits": bits, "block_size": block}
    assert_contains(enclose(DOMAIN, "MatMulNBits", given, **sizes)[0], [exact])


@pytest.mark.parametrize("op_type", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_quantized_sum_and_product_are_the_nearest_steps_of_fractions(op_type: str, dtype: Any) -> None:
    limits = np.iinfo(dtype)
    a, b = (RANDOM.integers(limits.min, limits.max + 1, (3, 40)).astype(dtype) for _ in range(2))
    scales, zeros = [np.float32(each) for each in (0.02, 0.05, 0.07)], [dtype(each) for each in (20, 3, 99)]
    inputs = [a, scales[0], zeros[0], b, scales[1], zeros[1], scales[2], zeros[2]]
    (Y,) = enclose(DOMAIN, op_type, [np.asarray(each) for each in inputs])
    exact = []
    for p, q in zip(a.flat, b.flat, strict=True):
        first, second = (
            (int(each) - int(zero)) * Fraction(float(scale))
            for each, zero, scale in zip((p, q), zeros, scales, strict=False)
        )
        result = first + second if op_type == "QLinearAdd" else first * second
        exact.append(min(max(result / Fraction(float(scales[2])) + 99, limits.min), limits.max))
    nearest = np.array([round(each) for each in exact]).reshape(a.shape)
    is_tie = np.array([abs(abs(each - round(each)) - Fraction(1, 2)) < Fraction(1, 1000) for each in exact])
    assert admissible_mask(nearest.astype(dtype), Y).all()
    for step in (-1, 1):
        moved = np.clip(nearest + step, limits.min, limits.max)
        is_other = (moved != nearest) & ~is_tie.reshape(a.shape)
        assert not admissible_mask(moved.astype(dtype), Y)[is_other].any()
