"""Operators that copy, select, convert or multiply elements agree with the loops of their pages."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from one_node_models import enclose_operator

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import dtype_of, type_number
from conformance.exact.reference.numbers.enclosure import Enclosure, admissible_mask

SMALL_TYPES = (
    *("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"),
    *("float4e2m1", "float6e2m3", "float6e3m2"),
)
WHOLE = np.array([[-3, 4]], np.int32)


enclose = partial(enclose_operator, opset=28)


def elements(tensor: Any) -> Any:
    return tensor.value if isinstance(tensor, Enclosure) else tensor


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(5)


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes", "wanted"),
    [
        ("Resize", [WHOLE, np.float32([]), np.float32([1, 2])], {"mode": "nearest"}, [[-3, -3, 4, 4]]),
        ("GridSample", [WHOLE[None, None], np.zeros((1, 1, 1, 2)) + 0.5], {"mode": "nearest"}, [[[[4]]]]),
        ("GridSample", [WHOLE[None, None], np.zeros((1, 1, 1, 2)) + 3], {"mode": "nearest"}, [[[[0]]]]),
        ("Col2Im", [WHOLE.repeat(2, 0)[None], np.array([1, 3]), np.array([1, 2])], {}, [[[[-3, 1, 4]]]]),
        ("PRelu", [WHOLE, np.int32([2])], {}, [[-6, 4]]),
        ("Dropout", [WHOLE.astype(dtype_of(type_number("float8e5m2")))], {}, [[-3, 4]]),
    ],
)
def test_elements_of_other_types_are_moved_multiplied_or_added_exactly(
    op_type: str, inputs: list[Any], attributes: dict[str, Any], wanted: Any
) -> None:
    Y = enclose(op_type, *inputs, **attributes)[0]
    assert isinstance(Y, np.ndarray)
    assert (Y.dtype, Y.astype(int).tolist()) == (inputs[0].dtype, wanted)
    if op_type in ("Resize", "GridSample"):
        with pytest.raises(Unsupported):
            enclose(op_type, inputs[0].astype(bool), *inputs[1:], mode="linear")


@pytest.mark.parametrize("name", SMALL_TYPES)
def test_cast_to_small_float_equals_another_conversion(name: str, random: np.random.Generator) -> None:
    dtype = dtype_of(type_number(name))
    largest = float(ml_dtypes.finfo(dtype).max)
    X = (random.standard_normal(2000) * random.choice([1e-3, 0.1, 2, largest / 4], 2000)).astype(np.float32)
    X = np.clip(X, -largest, largest)
    (tensor,) = enclose("Cast", X, to=type_number(name))
    assert tensor.dtype == dtype
    found, wanted = elements(tensor), X.astype(dtype).astype(np.float64)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
    assert tensor.is_exact


@pytest.mark.parametrize(
    ("name", "saturate", "expected"),
    [
        ("float8e4m3fn", 1, [448, -448, 448, -448]),
        ("float8e4m3fn", 0, [np.nan] * 4),
        ("float8e4m3fnuz", 0, [np.nan] * 4),
        ("float8e5m2", 1, [57344, -57344, 57344, -57344]),
        ("float8e5m2", 0, [np.inf, -np.inf, np.inf, -np.inf]),
        ("float8e5m2fnuz", 1, [57344, -57344, 57344, -57344]),
    ],
)
def test_cast_out_of_range_follows_the_table_of_the_page(name: str, saturate: int, expected: list[float]) -> None:
    X = np.array([1e6, -1e6, np.inf, -np.inf], np.float32)
    (tensor,) = enclose("Cast", X, to=type_number(name), saturate=saturate)
    np.testing.assert_array_equal(elements(tensor), expected)


@pytest.mark.parametrize("name", ["float8e4m3fnuz", "float8e5m2fnuz"])
def test_cast_of_infinity_is_open_where_the_pages_contradict_each_other(name: str) -> None:
    X = np.array([1e6, np.inf, -np.inf, 1], np.float32)
    (old,), (new,) = (enclose("Cast", X, to=type_number(name), opset=opset) for opset in (23, 24))
    assert old.unspecified.tolist() == [False, True, True, False]
    assert not np.any(new.unspecified)


def test_pad_by_a_default_that_the_type_does_not_have_is_not_judged() -> None:
    X = np.ones(2, dtype_of(type_number("float8e8m0")))
    with pytest.raises(Unsupported):
        enclose("Pad", X, np.array([1, 0]))
    (tensor,) = enclose("Pad", X, np.array([1, 0]), np.array(2, X.dtype))
    assert tensor.astype(np.float64).tolist() == [2, 1, 1]


@pytest.mark.parametrize(
    ("mode", "expected"), [("up", [2, 4, 4, 4]), ("down", [2, 2, 2, 2]), ("nearest", [2, 2, 4, 4])]
)
def test_cast_to_power_of_two_rounds_by_mode(mode: str, expected: list[float]) -> None:
    X = np.array([2, 2.5, 3, 3.5], np.float32)
    (tensor,) = enclose("Cast", X, to=type_number("float8e8m0"), round_mode=mode)
    assert elements(tensor).tolist() == expected


def test_cast_to_int4_keeps_the_lower_bits() -> None:
    X = np.arange(-40, 40, dtype=np.int16)
    (tensor,) = enclose("Cast", X, to=type_number("int4"))
    assert tensor.astype(np.int64).tolist() == [(int(x) + 8) % 16 - 8 for x in X]


def test_cast_like_equals_cast() -> None:
    X = np.array([1.5, -2.5, 1e30], np.float32)
    (like,) = enclose("CastLike", X, np.zeros(0, np.float16))
    (plain,) = enclose("Cast", X, to=onnx.TensorProto.FLOAT16)
    assert like.dtype == plain.dtype
    np.testing.assert_array_equal(like.value, plain.value)


@pytest.mark.parametrize(("source", "target"), [("int4", "float4e2m1"), ("uint4", "int4"), ("float", "uint32")])
def test_bit_cast_there_and_back_is_the_identity(source: str, target: str) -> None:
    X = np.arange(7).astype(onnx.helper.tensor_dtype_to_np_dtype(type_number(source)))
    (Y,) = enclose("BitCast", X, to=type_number(target))
    (Z,) = enclose("BitCast", Y, to=type_number(source))
    assert Y.dtype == onnx.helper.tensor_dtype_to_np_dtype(type_number(target))
    np.testing.assert_array_equal(X.astype(np.float64), Z.astype(np.float64))


def test_bit_shift_beyond_all_bits_is_open_below_opset_28() -> None:
    X, Y = np.array([200, 3], np.uint8), np.array([8, 1], np.uint8)
    (old,), (new,) = (enclose("BitShift", X, Y, opset=opset, direction="RIGHT") for opset in (11, 28))
    assert old.unspecified.tolist() == [True, False]
    assert new.tolist() == [0, 1]
    (signed,) = enclose("BitShift", np.array([-5, -5], np.int8), np.array([1, 100], np.int8), direction="RIGHT")
    assert signed.tolist() == [-3, -1]


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max"])
def test_scatter_elements_equals_the_loop_of_the_page(reduction: str, random: np.random.Generator) -> None:
    functions = {"none": lambda _, b: b, "add": lambda a, b: a + b, "mul": lambda a, b: a * b, "max": max}
    data, updates = random.standard_normal((3, 4)), random.standard_normal((2, 4))
    indices = np.array([[0, 1, -1, 0], [1, 2, 0, 0 if reduction != "none" else 1]])
    expected = [[Fraction(x) for x in row] for row in data.tolist()]
    for i, j in np.ndindex(indices.shape):
        row = int(indices[i, j])
        expected[row][j] = functions[reduction](expected[row][j], Fraction(updates[i, j]))
    (tensor,) = enclose("ScatterElements", data, indices, updates, reduction=reduction)
    wanted = np.array([[float(x) for x in row] for row in expected])
    assert admissible_mask(wanted, tensor).all()
    assert not admissible_mask(wanted * 1.01, tensor).any()


def test_scatter_to_one_place_twice_is_open() -> None:
    data, indices, updates = np.zeros(3, np.float32), np.array([[1], [1]]), np.array([5, 6], np.float32)
    (tensor,) = enclose("ScatterND", data, indices, updates)
    assert tensor.unspecified.tolist() == [False, True, False]
    with pytest.raises(Unsupported):
        enclose("ScatterND", data, np.array([[3], [0]]), updates)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_products_contain_the_exact_product(dtype: Any, random: np.random.Generator) -> None:
    X = (random.standard_normal((40, 9)) * 2).astype(dtype)
    exact = [prod(map(Fraction, row)) for row in X.tolist()]
    (tensor,) = enclose("ReduceProd", X, np.array([1]), keepdims=0)
    (cumulative,) = enclose("CumProd", X, np.array(1))
    for each in (tensor, cumulative.moved(lambda x: x[:, -1])):
        assert all(
            abs(Fraction(value) - product) <= Fraction(error)
            for value, error, product in zip(each.value.tolist(), each.error.tolist(), exact, strict=True)
        )
        assert admissible_mask(np.zeros(40, dtype), each).mean() < 0.1  # a product of float16 may underflow


def test_product_whose_order_decides_an_overflow_is_undetermined() -> None:
    X = np.array([[1e30, 1e30, 1e-30], [1e30, 1e30, 1e30], [0, 2, 3], [np.inf, 2, 3]], np.float32)
    (tensor,) = enclose("ReduceProd", X, np.array([1]), keepdims=0)
    assert tensor.error.tolist() == [np.inf, 0, 0, 0]
    assert tensor.value[1:].tolist() == [np.inf, 0, np.inf]
    X = np.array([[0, 1e200, 1e200], [np.inf, 1e-200, 1e-200], [np.inf, 0, 1e200]])
    assert enclose("ReduceProd", X, np.array([1]), keepdims=0)[0].error.tolist() == [np.inf, np.inf, 0]


def test_product_that_underflows_may_be_zero_and_product_with_zero_is_zero() -> None:
    X = np.array([[1e-30, 1e-30], [0, 1e-30]], np.float32)
    (tensor,) = enclose("ReduceProd", X, np.array([1]), keepdims=0)
    assert admissible_mask(np.zeros(2, np.float32), tensor).all()
    assert not admissible_mask(np.full(2, 1e-37, np.float32), tensor).any()


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
        ("ii->i", [(3, 3)]),
        ("ii", [(3, 3)]),
        ("...i,...i", [(2, 1, 3), (1, 4, 3)]),
        ("b...ij,b...jk->b...ik", [(2, 2, 3, 4), (2, 2, 4, 2)]),
        ("i->", [(5,)]),
        ("ab->ba", [(2, 3)]),
    ],
)
def test_einsum_contains_the_exact_sums(equation: str, shapes: list[Any], random: np.random.Generator) -> None:
    arrays = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
    exact = [np.vectorize(Fraction, otypes=[object])(array.astype(np.float64)) for array in arrays]
    wanted = np.asarray(np.einsum(equation, *exact), dtype=object).astype(np.float64)
    (tensor,) = enclose("Einsum", *arrays, equation=equation)
    near = np.abs(tensor.value - wanted) <= tensor.error + 2.0**-52 * np.abs(wanted)
    assert tensor.shape == wanted.shape
    assert near.all()
    assert not admissible_mask((wanted * 1.01).astype(np.float32), tensor).any()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_range_contains_products_and_sums(dtype: Any) -> None:
    start, limit, delta = (np.array(x, dtype) for x in (1.0, 9.3, 0.3))
    (tensor,) = enclose("Range", start, limit, delta, opset=20)
    written = np.array([start + dtype(i) * delta for i in range(tensor.shape[0])], dtype)
    added, total = [], start
    for _ in written:
        added.append(total)
        total = dtype(total + delta)
    assert tensor.shape == (28,)
    for form in (written, np.array(added, dtype)):
        assert admissible_mask(form, tensor).all()
    assert not admissible_mask((written * 1.01).astype(dtype), tensor)[1:].any() or dtype is np.float16


def test_max_pool_indices_of_equal_elements_are_open() -> None:
    X = np.array([[[[1, 5, 5, 2], [0, 1, 2, 9]]]], np.float32)
    pooled, places = enclose("MaxPool", X, outputs=2, kernel_shape=[2, 2], strides=[1, 1])
    assert pooled.value.tolist() == [[[[5, 5, 9]]]]
    assert places.unspecified.tolist() == [[[[False, True, False]]]]
    assert (places.value[0, 0, 0, 0], places.value[0, 0, 0, 2]) == (1, 7)
    assert admissible_mask(np.array([[[[1, 2, 7]]]]), places).all()
    assert not admissible_mask(np.array([[[[2, 2, 6]]]]), places).all()


def test_unique_in_order_of_occurrence_equals_the_example_of_the_page() -> None:
    X = np.array([2, 1, 1, 3, 4, 3], np.float32)
    results = enclose("Unique", X, outputs=4, sorted=0)
    assert [result.tolist() for result in results] == [[2, 1, 3, 4], [0, 1, 3, 4], [0, 1, 1, 2, 3, 2], [1, 2, 2, 1]]


def test_reverse_sequence_equals_the_example_of_the_page() -> None:
    X = np.arange(16, dtype=np.float32).reshape(4, 4).T.copy()
    (tensor,) = enclose("ReverseSequence", X, np.array([4, 3, 2, 1]), time_axis=0, batch_axis=1)
    assert elements(tensor).tolist() == [[3, 6, 9, 12], [2, 5, 8, 13], [1, 4, 10, 14], [0, 7, 11, 15]]


def test_movement_of_an_inexact_tensor_moves_the_bounds() -> None:
    X = Enclosure(np.arange(6.0).reshape(2, 3), np.full((2, 3), 0.5), np.dtype(np.float32))
    (lower,) = enclose("Trilu", X, upper=0)
    assert lower.value.tolist() == [[0, 0, 0], [3, 4, 0]]
    assert lower.error.tolist() == [[0.5, 0, 0], [0.5, 0.5, 0]]
    (kept,) = enclose("Compress", X, np.array([False, True]), axis=1)
    assert (kept.value.tolist(), kept.error.tolist()) == ([[1], [4]], [[0.5], [0.5]])
    (eye,) = enclose("EyeLike", X, k=1)
    assert eye.tolist() == [[0, 1, 0], [0, 0, 1]]


def test_modulo_of_floats_has_the_sign_of_the_divisor(random: np.random.Generator) -> None:
    A, B = (random.standard_normal(200).astype(np.float32) for _ in range(2))
    exact = [
        Fraction(a) - (Fraction(a) / Fraction(b)).__floor__() * Fraction(b)
        for a, b in zip(A.tolist(), B.tolist(), strict=True)
    ]
    (tensor,) = enclose("Mod", A, B)
    assert admissible_mask(np.array([float(x) for x in exact], np.float32), tensor.should).all()
    assert not admissible_mask(np.array([float(x) * 1.01 for x in exact], np.float32), tensor.should).any()
    (infinite,) = enclose("Mod", np.array([-1, 1], np.float32), np.array([np.inf, np.inf], np.float32))
    assert infinite.value.tolist() == [np.inf, 1]


def test_errors_of_a_large_exact_tensor_take_no_memory_and_its_magnitudes_are_those_of_a_small_one() -> None:
    numbers = np.resize(np.array([-2.5, 0.0, np.inf, np.nan], np.float32), 2**17)
    large, small = Enclosure.exact(numbers), Enclosure.exact(numbers[:4])
    assert large.error.strides == (0,)
    assert np.array_equal(large.magnitude[:4], small.magnitude, equal_nan=True)
    with np.errstate(all="ignore"):
        assert np.array_equal((large + large).error[:4], (small + small).error, equal_nan=True)
