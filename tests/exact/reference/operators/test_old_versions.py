"""First versions of operators have the meaning of their pages, which NumPy computes here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from one_node_models import enclose_operator

from conformance.base.verdicts import Unsupported
from conformance.exact.reference.numbers.enclosure import Enclosure, admissible_mask

RANDOM = np.random.default_rng(0)
A = RANDOM.standard_normal((2, 3, 4)).astype(np.float32)
B = RANDOM.uniform(0.5, 2, 3).astype(np.float32)
X = RANDOM.standard_normal((2, 3, 4, 5)).astype(np.float32)
WHOLE = RANDOM.integers(0, 3, (2, 3, 4)).astype(np.int32)
FIRST = np.array([0, 1, 2], np.int32)
AT_1 = {"broadcast": 1, "axis": 1}
PER_ELEMENT = [RANDOM.uniform(0.5, 2, (3, 4, 5)).astype(np.float32) for _ in range(4)]
ALPHA, GAMMA = (float(np.float32(each)) for each in (1.6732, 1.0507))
ONE, TWO = np.array(1, np.float32), np.array(2, np.float32)


def column(b: Any) -> Any:
    return b[:, np.newaxis]


def halves(x: Any) -> Any:
    return np.concatenate([x[..., :1], (x[..., 1:] + x[..., :-1]) / 2], -1)


def two_steps(x: Any) -> Any:
    sums = x.astype(float) @ x[0, 0]
    first = np.tanh(sums[0])
    return np.stack([first, np.tanh(sums[1] + 2 * first)])[:, None, :, None].astype(np.float32)


CASES: list[tuple[str, int, list[Any], dict[str, Any], Any]] = [
    ("Add", 1, [A, B], AT_1, A + column(B)),
    ("Add", 6, [A, A[0, 0]], {"broadcast": 1}, A + A[0, 0]),
    ("Sub", 6, [A, B], AT_1, A - column(B)),
    ("Mul", 6, [A, B], AT_1, A * column(B)),
    ("Div", 6, [A, B], AT_1, A / column(B)),
    ("Add", 6, [WHOLE, FIRST], AT_1, WHOLE + column(FIRST)),
    ("Pow", 1, [np.abs(A), B], AT_1, np.power(np.abs(A).astype(float), column(B)).astype(np.float32)),
    ("And", 1, [A > 0, B > 1], AT_1, (A > 0) & column(B > 1)),
    ("Or", 1, [A > 0, B > 1], AT_1, (A > 0) | column(B > 1)),
    ("Xor", 1, [A > 0, B > 1], AT_1, (A > 0) ^ column(B > 1)),
    ("Greater", 1, [A, B], AT_1, column(B) < A),
    ("Less", 1, [A, B], AT_1, column(B) > A),
    ("Equal", 1, [WHOLE, FIRST], AT_1, column(FIRST) == WHOLE),
    ("PRelu", 1, [X, B], {}, np.where(X < 0, X * B[:, None, None], X)),
    ("PRelu", 6, [X, B[:1]], {}, np.where(X < 0, X * B[0], X)),
    ("Cast", 1, [X], {"to": "INT32"}, X.astype(np.int32)),
    ("Add", 1, [A, ONE], {"broadcast": 1, "consumed_inputs": [0, 0]}, A + ONE),
    ("AveragePool", 1, [A[:1, :1]], {"kernel_shape": [2], "pads": [1, 0]}, halves(A[:1, :1])),
    ("Clip", 1, [A], {"min": -0.5, "consumed_inputs": [0]}, np.maximum(A, np.float32(-0.5))),
    ("Concat", 1, [A, A], {}, np.concatenate([A, A], 1)),
    ("Dropout", 1, [X], {"is_test": 1}, X),
    ("Dropout", 6, [X], {"is_test": 1}, X),
    (
        "GlobalLpPool",
        1,
        [np.abs(X)],
        {"p": 1.0},
        X.astype(float).__abs__().sum((2, 3), keepdims=True).astype(np.float32),
    ),
    ("OneHot", 9, [np.array([-1, 1]), np.array(2), B[:2]], {}, B[[[0, 0], [0, 1]]]),
    ("Pad", 1, [A], {"paddings": [0, 0, 1, 0, 2, 1]}, np.pad(A, [(0, 0), (0, 2), (1, 1)])),
    ("Reshape", 1, [A], {"shape": [0, -1], "consumed_inputs": [0]}, A.reshape(2, -1)),
    ("RNN", 1, [A, A[:1, :1], TWO.reshape(1, 1, 1)], {"hidden_size": 1, "output_sequence": 1}, two_steps(A)),
    ("Selu", 1, [A], {}, (GAMMA * np.where(A > 0, A, ALPHA * np.expm1(A.astype(float)))).astype(np.float32)),
    ("Split", 1, [A], {"axis": 1, "split": [3]}, A),
    ("Tile", 1, [A, TWO, ONE], {}, np.concatenate([A, A], 1)),
    ("TopK", 1, [A], {"k": 2}, np.sort(A, -1)[..., :-3:-1]),
    ("Upsample", 1, [X], {"width_scale": 2.0, "height_scale": 3.0}, X.repeat(3, 2).repeat(2, 3)),
    ("Upsample", 1, [WHOLE[None]], {"width_scale": 2.0, "height_scale": 3.0}, WHOLE[None].repeat(3, 2).repeat(2, 3)),
    ("Upsample", 7, [X], {"scales": [1.0, 1.0, 3.0, 2.0]}, X.repeat(3, 2).repeat(2, 3)),
]


def enclose(op_type: str, opset: int, inputs: list[Any], attributes: dict[str, Any]) -> Any:
    return enclose_operator(op_type, *inputs, opset=opset, **attributes)[0]


@pytest.mark.parametrize(("op_type", "opset", "inputs", "attributes", "wanted"), CASES, ids=[case[0] for case in CASES])
def test_first_versions_have_the_results_of_their_pages(
    op_type: str, opset: int, inputs: list[Any], attributes: dict[str, Any], wanted: Any
) -> None:
    result = enclose(op_type, opset, inputs, attributes)
    assert (result.dtype, tuple(result.shape)) == (wanted.dtype, wanted.shape)
    assert admissible_mask(wanted, result).all()
    changed = ~wanted if wanted.dtype.kind == "b" else (wanted * 2 + 1).astype(wanted.dtype)
    assert not admissible_mask(changed, result).all()


@pytest.mark.parametrize("opset", [1, 6, 7])
def test_batch_normalization_with_parameters_of_each_element(opset: int) -> None:
    scale, bias, mean, variance = (each.astype(float) for each in PER_ELEMENT)
    wanted = scale * (X.astype(float) - mean) / np.sqrt(variance + float(np.float32(1e-5))) + bias
    Y = enclose("BatchNormalization", opset, [X, *PER_ELEMENT], {"spatial": 0, "is_test": 1})
    assert isinstance(Y, Enclosure)
    assert admissible_mask(wanted.astype(np.float32), Y).all()
    assert not admissible_mask((wanted + 0.001).astype(np.float32), Y).any()


def test_one_hot_of_a_negative_index_below_version_11_is_open() -> None:
    result = enclose("OneHot", 9, [np.array([-1, 1]), np.array(2), B[:2]], {})
    assert result.unspecified.tolist() == [[True, True], [False, False]]


@pytest.mark.parametrize(("start", "end", "opset"), [(2, 2**31 - 1, 10), (-9, -9, 12)])
def test_slice_backwards_from_or_to_a_place_outside_is_judged_from_the_page_on_that_states_it(
    start: int, end: int, opset: int
) -> None:
    inputs = [A[0], *(np.array([number]) for number in (start, end, 0, -1))]
    with pytest.raises(Unsupported):
        enclose("Slice", opset, inputs, {})
    assert len(enclose("Slice", 13, inputs, {})) == (start < 0)


def test_clip_of_an_infinity_below_version_11_limits_it_to_the_largest_float() -> None:
    largest = np.finfo(np.float32).max
    for dtype, wanted in ((np.float16, np.inf), (np.float32, largest), (np.float64, float(largest))):
        result = enclose("Clip", 6, [np.array([np.inf], dtype)], {})
        assert admissible_mask(np.array([wanted], dtype), result.should or result).all()


def test_tile_of_a_fraction_is_not_judged() -> None:
    with pytest.raises(Unsupported):
        enclose("Tile", 1, [A, np.array(1.5, np.float32), ONE], {})


@pytest.mark.parametrize(("opset", "dtype"), [(7, np.float32), (10, np.bool_)])
def test_dropout_below_version_12_has_any_mask(opset: int, dtype: Any) -> None:
    mask = enclose_operator("Dropout", X, opset=opset, outputs=2)[1]
    assert mask.dtype == dtype
    assert all(admissible_mask(np.full(X.shape, kept, dtype), mask).all() for kept in (0, 1))
