"""Operators of com.microsoft contain what ONNX Runtime returns and what their formulas give, and little else."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from onnxruntime_nodes import assert_agrees, enclose, run

from conformance.base.verdicts import Unsupported
from conformance.exact.reference.formulas.recurrent import in_eight_bits
from conformance.exact.reference.numbers.enclosure import Enclosure, admissible_mask

DOMAIN = "com.microsoft"
RANDOM = np.random.default_rng(0)


def numbers(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def steps(*shape: int, dtype: Any = np.uint8) -> Any:
    limits = np.iinfo(dtype)
    return RANDOM.integers(limits.min, limits.max + 1, shape).astype(dtype)


S, Z, M = np.float32(0.02), np.uint8(120), np.float32(0.05)
X = numbers(2, 3, 8)
HEADS = {"num_heads": 2}
MASK = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
CACHE = numbers(2, 2, 4, 4), numbers(2, 2, 4, 4)
QKV = numbers(1, 3, 64), numbers(1, 3, 32), numbers(1, 3, 32)
GROWING = numbers(1, 2, 4, 16), numbers(1, 2, 4, 16)
LENGTHS = np.full(1, 6, np.int32)
GROUPS = {"num_heads": 4, "kv_num_heads": 2}
WIDE_ANGLES = np.cos(numbers(16, 8)), np.sin(numbers(16, 8))
ANGLES = np.cos(numbers(16, 2)), np.sin(numbers(16, 2))

BLOCKS = {"block_size": 16, "quantize_axis": 1, "gather_axis": 0}

CASES: list[tuple[str, list[Any], int, dict[str, Any]]] = [
    ("FusedConv", [numbers(1, 2, 5, 5), numbers(3, 2, 3, 3), numbers(3)], 1, {"activation": "Relu"}),
    (
        "FusedConv",
        [numbers(1, 2, 5, 5), numbers(2, 2, 3, 3), None, numbers(1, 2, 5, 5)],
        1,
        {"activation": "HardSigmoid", "activation_params": [0.25, 0.5], "pads": [1, 1, 1, 1]},
    ),
    ("FusedGemm", [numbers(3, 4), numbers(4, 2), numbers(2)], 1, {"activation": "Tanh"}),
    ("FusedGemm", [numbers(3, 4), numbers(4, 2), numbers(2)], 1, {"activation": "Elu", "activation_alpha": 0.5}),
    ("FusedMatMul", [numbers(2, 4, 3), numbers(2, 4, 5)], 1, {"transA": 1, "alpha": 0.25}),
    ("FusedMatMul", [numbers(3, 2, 4), numbers(2, 4, 5)], 1, {"transBatchA": 1}),
    ("Gelu", [X], 1, {}),
    ("BiasGelu", [X, numbers(8)], 1, {}),
    ("FastGelu", [X, numbers(8)], 1, {}),
    ("QuickGelu", [X], 1, {}),
    ("SkipLayerNormalization", [X, numbers(2, 3, 8), numbers(8), numbers(8), numbers(8)], 4, {"epsilon": 1e-5}),
    ("SkipSimplifiedLayerNormalization", [X, numbers(2, 3, 8), numbers(8)], 4, {"epsilon": 1e-5}),
    (
        "EmbedLayerNormalization",
        [*(np.int32([each]) for each in ([0, 2], [1, 0])), *(numbers(k, 8) for k in (4, 3, 2)), numbers(8), numbers(8)],
        2,
        {},
    ),
    ("Attention", [X, numbers(8, 24), numbers(24), MASK], 1, HEADS),
    ("Attention", [X, numbers(8, 24), numbers(24), None, numbers(2, 2, 2, 5, 4)], 2, HEADS | {"unidirectional": 1}),
    ("MultiHeadAttention", [X, numbers(2, 4, 8), numbers(2, 4, 8), numbers(24)], 1, HEADS),
    ("MultiHeadAttention", [X, X, X, None, None, numbers(1, 1, 3, 7), *CACHE], 3, HEADS | {"scale": 0.25}),
    ("MultiHeadAttention", [X, X, X, None, MASK], 1, HEADS),
    ("GroupQueryAttention", [*QKV, *GROWING, LENGTHS, np.int32(7), *WIDE_ANGLES], 3, GROUPS | {"do_rotary": 1}),
    ("GroupQueryAttention", [*QKV, *GROWING, LENGTHS, np.int32(7)], 3, GROUPS | {"softcap": 2.0}),
    ("GroupQueryAttention", [*QKV, *GROWING, LENGTHS, np.int32(7)], 3, GROUPS | {"local_window_size": 2}),
    (
        "GroupQueryAttention",
        [numbers(2, 3, 128), None, None, None, None, np.full(2, 2, np.int32), np.int32(3), *WIDE_ANGLES],
        3,
        GROUPS | {"do_rotary": 1, "rotary_interleaved": 1},
    ),
    ("GroupQueryAttention", [*QKV, *GROWING, LENGTHS, np.int32(7), *[None] * 4, numbers(4)], 3, GROUPS),
    ("RotaryEmbedding", [X, np.array([[0, 1, 2], [5, 6, 7]]), *ANGLES], 1, {"interleaved": 1}),
    ("RotaryEmbedding", [numbers(2, 2, 3, 4), np.array([3]), *ANGLES], 1, {}),
    ("QuantizeLinear", [X, M, Z], 1, {}),
    ("DequantizeLinear", [steps(2, 9), S, Z], 1, {}),
    ("QLinearAdd", [steps(3, 40), S, Z, steps(40), M, np.uint8(3), np.float32(0.07), np.uint8(99)], 1, {}),
    ("QLinearMul", [steps(3, 40), S, Z, steps(40), M, np.uint8(3), np.float32(0.07), np.uint8(99)], 1, {}),
    ("QLinearLeakyRelu", [steps(3, 40), S, Z, M, np.uint8(99)], 1, {"alpha": 0.25}),
    ("QLinearSigmoid", [steps(3, 40), S, Z, np.float32(1 / 256), np.uint8(0)], 1, {}),
    ("QLinearSoftmax", [steps(3, 9), M, Z, np.float32(1 / 256), np.uint8(0)], 1, {"opset": 13}),
    (
        "QLinearAveragePool",
        [steps(1, 2, 6, 6), S, Z, S, np.uint8(99)],
        1,
        {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]},
    ),
    ("QLinearWhere", [steps(3, 9) > 99, steps(3, 9), S, Z, steps(9), M, np.uint8(3), M, np.uint8(99)], 1, {}),
    ("QLinearGlobalAveragePool", [steps(1, 4, 5, 5), S, Z, S, np.uint8(99)], 1, {}),
    ("QLinearConcat", [S, Z, steps(2, 3), M, np.uint8(7), steps(2, 4), S, Z], 1, {"axis": 1}),
    ("MatMulIntegerToFloat", [steps(3, 9), steps(9, 4), S, M, Z, np.uint8(3), numbers(4)], 1, {}),
    ("DynamicQuantizeMatMul", [X, steps(8, 5), S, Z, numbers(5)], 1, {}),
    (
        "QGemm",
        [steps(3, 9), S, Z, steps(9, 4, dtype=np.int8) // 2, M, np.int8(3), steps(4, dtype=np.int8).astype(np.int32)],
        1,
        {},
    ),
    ("QAttention", [steps(2, 3, 8), steps(8, 24), numbers(24), S, M, None, Z, np.uint8(3)], 1, HEADS),
    ("MatMulNBits", [numbers(3, 32), steps(5, 2, 8), numbers(5, 2)], 1, {"K": 32, "N": 5, "bits": 4, "block_size": 16}),
    (
        "MatMulNBits",
        [numbers(3, 40), steps(5, 2, 32), numbers(5, 2), steps(5, 2), None, numbers(5)],
        1,
        {"K": 40, "N": 5, "bits": 8, "block_size": 32},
    ),
    (
        "MatMulNBits",
        [numbers(3, 32), steps(5, 2, 0), numbers(5, 2), None, None, numbers(5)],
        1,
        {"K": 32, "N": 5, "bits": 4, "block_size": 16},
    ),
    ("MatMulBnb4", [numbers(3, 32), steps(80), numbers(10)], 1, {"K": 32, "N": 5, "block_size": 16, "quant_type": 1}),
    ("GatherBlockQuantized", [steps(6, 32), np.array([[1, 3]]), numbers(6, 2)], 1, BLOCKS | {"bits": 8}),
    ("GatherBlockQuantized", [steps(6, 32), np.array([[-7, 3, 6]]), numbers(6, 2)], 1, BLOCKS | {"bits": 8}),
    ("GatherBlockQuantized", [steps(6, 16), np.array([[1, 3]]), numbers(6, 2), steps(6, 1)], 1, BLOCKS | {"bits": 4}),
    (
        "QEmbedLayerNormalization",
        [
            *(np.int32([each]) for each in ([0, 2], [1, 0])),
            *(steps(k, 8) for k in (4, 3, 2)),
            *(steps(8), steps(8), None),
            *([S] * 5 + [Z] * 5),
        ],
        2,
        {},
    ),
    (
        "QLinearConv",
        [steps(1, 5, 5, 2), S, Z, steps(3, 2, 3, 3), S, Z, np.float32(0.5), np.uint8(99)],
        1,
        {"channels_last": 1},
    ),
    ("ExpandDims", [X, np.int32(1)], 1, {}),
    ("GatherND", [X, np.array([[1, 2], [0, -1]])], 1, {}),
    ("GridSample", [numbers(1, 2, 3, 4), numbers(1, 2, 2, 2)], 1, {"align_corners": 1, "padding_mode": "border"}),
    ("Pad", [X, np.array([[0, 1, 2, 0, -1, 0]]), np.float32(0.5)], 1, {}),
    ("Trilu", [X, np.array(1)], 1, {"upper": 0}),
    ("NhwcMaxPool", [steps(1, 5, 5, 2)], 1, {"kernel_shape": [2, 2]}),
]


@pytest.mark.parametrize(("op_type", "inputs", "outputs", "attributes"), CASES, ids=[case[0] for case in CASES])
def test_outputs_of_onnxruntime_are_admissible_and_changed_ones_are_not(
    op_type: str, inputs: list[Any], outputs: int, attributes: dict[str, Any]
) -> None:
    assert_agrees(DOMAIN, op_type, inputs, outputs, **attributes)


def test_packed_operands_of_attention_have_the_results_of_separate_ones() -> None:
    packed, mask = numbers(2, 3, 2, 3, 4), np.array([[1, 1, 0], [1, 1, 1]], np.int32)
    parts = [packed[:, :, :, k].reshape(2, 3, 8) for k in range(3)]
    wanted = enclose(DOMAIN, "MultiHeadAttention", [*parts, None, mask], **HEADS)[0]
    for given in ([packed, None, None, None, mask], [parts[0], packed[:, :, :, 1:], None, None, mask]):
        np.testing.assert_array_equal(enclose(DOMAIN, "MultiHeadAttention", given, **HEADS)[0].value, wanted.value)


def test_masked_keys_that_are_not_far_below_others_are_not_judged() -> None:
    for op_type, given in (
        ("MultiHeadAttention", [X, X, X, None, MASK]),
        ("Attention", [X, numbers(8, 24), numbers(24), MASK]),
    ):
        with pytest.raises(Unsupported):
            enclose(DOMAIN, op_type, given, **HEADS, mask_filter_value=-1.0)


def test_a_query_without_a_key_is_open() -> None:
    mask = np.array([[0, 0, 0], [1, 1, 1]], np.int32)
    Y = enclose(DOMAIN, "MultiHeadAttention", [X, X, X, None, mask], **HEADS)[0]
    assert Y.unspecified[0].all()
    assert not Y.unspecified[1].any()


def test_rows_of_a_buffer_behind_the_tokens_are_open() -> None:
    buffers = [numbers(1, 2, 9, 16) for _ in range(2)]
    present = enclose(DOMAIN, "GroupQueryAttention", [*QKV, *buffers, LENGTHS, np.array(7, np.int32)], 3, **GROUPS)[1]
    np.testing.assert_array_equal(present.value[:, :, :4], buffers[0][:, :, :4])
    assert present.unspecified[0, 0, :, 0].tolist() == [False] * 7 + [True] * 2


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("is_per_gate", [False, True])
def test_dynamic_quantize_lstm_contains_the_lstm_of_its_weights(direction: str, *, is_per_gate: bool) -> None:
    count = 1 + (direction != "forward")
    x, w, r, bias = numbers(4, 2, 5), steps(count, 5, 12), steps(count, 3, 12), numbers(count, 24)
    shape = (count, 12) if is_per_gate else (count,)
    parameters = [RANDOM.uniform(0.001, 0.002, shape).astype(np.float32), np.full(shape, 128, np.uint8)]
    model = {"hidden_size": 3, "direction": direction}
    given = [x, w, r, bias, None, None, None, None, *parameters, *parameters]
    expected = enclose(DOMAIN, "DynamicQuantizeLSTM", given, 3, **model)
    factors, points = (each.reshape(count, 1, -1).astype(float) for each in parameters)
    plain = [np.swapaxes((each - points) * factors, 1, 2).astype(np.float32) for each in (w, r)]
    for actual in (
        run(DOMAIN, "DynamicQuantizeLSTM", given, 3, **model),
        run("", "LSTM", [x, *plain, bias], 3, **model),
    ):
        for array, tensor in zip(actual, expected, strict=True):
            assert admissible_mask(array, tensor).all()
            assert not admissible_mask(array + np.float32(0.1), tensor).any()


@pytest.mark.parametrize(("is_inner", "shape"), [(0, (5, 4)), (1, (2, 1, 4))])
def test_bias_softmax_is_the_softmax_of_a_sum(is_inner: int, shape: tuple[int, ...]) -> None:
    data, bias = numbers(2, 5, 4).astype(float), numbers(2, 4) if is_inner else numbers(5, 4)
    (Y,) = enclose(DOMAIN, "BiasSoftmax", [data.astype(np.float32), bias], axis=2, is_inner_broadcast=is_inner)
    wanted = np.exp(data + bias.reshape(shape))
    wanted /= wanted.sum(2, keepdims=True)
    assert admissible_mask(wanted.astype(np.float32), Y).all()
    assert not admissible_mask((wanted * 1.0001).astype(np.float32), Y).any()


def test_operators_with_channels_last_have_the_results_of_those_with_channels_first() -> None:
    x, w, z = numbers(1, 2, 5, 5), numbers(3, 2, 3, 3), numbers(1, 3, 3, 3)
    (wanted,) = enclose(DOMAIN, "FusedConv", [x, w, None, z], activation="Relu")
    moved = [np.moveaxis(x, 1, -1), w, None, np.moveaxis(z, 1, -1)]
    (Y,) = enclose(DOMAIN, "NhwcFusedConv", moved, activation="Relu")
    np.testing.assert_array_equal(np.moveaxis(Y.value, -1, 1), wanted.value)


def test_qlinear_reduce_mean_quantizes_the_mean() -> None:
    x = np.array([[10, 12, 20]], np.uint8)
    (Y,) = enclose(DOMAIN, "QLinearReduceMean", [np.asarray(each) for each in (x, S, Z, S, Z)], axes=[1], keepdims=0)
    assert np.asarray(Y).tolist() == [14]


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
def test_cdist_contains_the_distances_of_exact_arithmetic(metric: str) -> None:
    A, B = numbers(4, 7), numbers(3, 7)
    (Y,) = enclose(DOMAIN, "CDist", [A, B], metric=metric)
    rows, columns = ([[Fraction(float(x)) for x in row] for row in X] for X in (A, B))
    squares = [[sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) for b in columns] for a in rows]
    exact = np.array(squares, dtype=float)
    exact = np.sqrt(exact) if metric == "euclidean" else exact
    for array in (exact.astype(np.float32), *run(DOMAIN, "CDist", [A, B], metric=metric)):
        assert admissible_mask(array, Y).all()
    assert not admissible_mask((exact * 1.0001).astype(np.float32), Y).any()


def test_unique_returns_elements_in_the_order_in_which_they_occur() -> None:
    given = np.array([2, 1, 1, 3, 4, 3], np.float32)
    for outputs in (enclose(DOMAIN, "Unique", [given], 3), run(DOMAIN, "Unique", [given], 3)):
        assert [np.asarray(Y).tolist() for Y in outputs] == [[2, 1, 3, 4], [0, 1, 1, 2, 3, 2], [1, 2, 2, 1]]


def test_unfold_tensor_returns_slices_along_a_new_last_axis() -> None:
    given, wanted = np.arange(7, dtype=np.float32), [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
    (Y,) = enclose(DOMAIN, "UnfoldTensor", [given], size=3, step=2)
    assert Y.value.tolist() == wanted == run(DOMAIN, "UnfoldTensor", [given], size=3, step=2)[0].tolist()


@pytest.mark.parametrize(("size", "forbidden"), [(1, {0, 1, 2}), (2, {1}), (3, {1}), (4, set()), (8, set())])
def test_ngram_repeat_block_forbids_tokens_that_repeat_an_ngram(size: int, forbidden: set[int]) -> None:
    ids, scores = np.array([[1, 0, 1, 2, 0, 1, 0]]), numbers(1, 4)
    for Y in (
        enclose(DOMAIN, "NGramRepeatBlock", [ids, scores], ngram_size=size)[0].value,
        *run(DOMAIN, "NGramRepeatBlock", [ids, scores], ngram_size=size),
    ):
        assert set(np.flatnonzero(np.isneginf(Y[0])).tolist()) == forbidden


@pytest.mark.parametrize("zero", [0.0, 17.5, 100.4999, 254.5, 255.0])
def test_numbers_in_eight_bits_are_at_most_half_a_step_away(zero: float) -> None:
    x = ((np.linspace(0, 255, 2001) - zero) * 0.37).astype(np.float32)
    low, high = np.minimum(x.min(), 0), np.maximum(x.max(), 0)
    scale = np.float32((high - low) / np.float32(255))
    offset = np.rint(-low / scale)
    quantized = (np.clip(np.rint(x / scale) + offset, 0, 255) - offset) * float(scale)
    error = in_eight_bits(Enclosure.exact(x)).error
    assert (np.abs(quantized - x) <= error).all()
    assert error.max() <= 0.501 * scale
