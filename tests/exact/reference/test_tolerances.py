"""Verdicts of the reference on single nodes that a correct runtime, or a wrong one, computes.

Exact values come from rational numbers, from mpmath, or from numbers that the operator's page states.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import pytest
from batches import for_each
from one_node_models import enclose_operator

from conformance.base.verdicts import Level, Unsupported
from conformance.exact.judgement.distances import find_distances
from conformance.exact.models.arrays import dtype_of, object_array
from conformance.exact.reference.enclosures import enclose_node, has_signed_zeros
from conformance.exact.reference.node_enclosures import answer_of
from conformance.exact.reference.nodes import Node
from conformance.exact.reference.numbers import elementary
from conformance.exact.reference.numbers.enclosure import Enclosure, admissible_mask
from conformance.exact.reference.tolerances import FORMS, FORMS_AT_MUST, FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

F, D, H = np.float32, np.float64, np.float16
INF, NAN = np.inf, np.nan


enclose = partial(enclose_operator, opset=20)


def passes(actual: Any, tensor: Any, level: Level = Level.MUST) -> bool:
    """Return whether an output is admissible at a level."""
    actual = np.asarray(actual)
    assert actual.dtype == tensor.dtype
    assert actual.shape == tuple(tensor.shape)
    strict = isinstance(tensor, Enclosure) and level is Level.SHOULD and tensor.should is not None
    return bool(admissible_mask(actual, tensor.should if strict else tensor).all())


def unspecified(tensor: Any) -> list[bool]:
    """Return for each element whether the specification leaves it open."""
    mask = tensor.unspecified if isinstance(tensor, Enclosure) else None
    return [False] * int(np.prod(tensor.shape)) if mask is None else np.ravel(mask).tolist()


RANDOM = np.random.default_rng(7)


# Formulas and attributes


def test_batch_normalization_may_multiply_the_deviation_by_the_scale_first() -> None:
    X, scale, zero, variance = (np.full((1, 1) if each == 1e30 else 1, each, F) for each in (1e30, 1e10, 0, 1e20))
    (tensor,) = enclose("BatchNormalization", X, scale, zero, zero, variance)
    assert passes(np.full((1, 1), INF, F), tensor)
    (tensor,) = enclose("BatchNormalization", X, np.ones(1, F), zero, zero, np.ones(1, F))
    assert not passes(np.full((1, 1), INF, F), tensor)


def test_layer_normalization_is_open_where_a_variance_of_two_halves_overflows() -> None:
    X = np.array([[1e-22, -1.5e19, 2e-22], [1, 2, 3]], F)
    (tensor, *_) = enclose("LayerNormalization", X, np.ones(3, F))
    assert np.isinf(tensor.error).tolist() == [[True] * 3, [False] * 3]


def test_product_of_zero_is_open_where_factors_before_it_overflow() -> None:
    X = np.concatenate([np.full(2, 1e38, F), np.ones(300, F), np.zeros(1, F)]).astype(dtype_of(16))
    (tensor,) = enclose("CumProd", X, np.array(0, np.int64), opset=26)
    assert np.isinf(tensor.error[-1])


def test_product_that_overflows_in_one_order_is_open_and_one_that_always_overflows_is_infinite() -> None:
    (Y,) = enclose("ReduceProd", np.array([[1e200, 1e200, 1e-200], [1e200, 1e200, 2.0]]), np.array([1]))
    assert passes([[1e200], [INF]], Y)
    assert not passes([[1e200], [1e300]], Y)


def test_regressor_is_open_where_the_power_of_a_kernel_overflows() -> None:
    attributes = {
        "n_supports": 1,
        "support_vectors": [0.1],
        "coefficients": [-0.3],
        "rho": [0.5],
        "kernel_type": "POLY",
        "kernel_params": [1.0, 0.0, 2.0],
    }
    node = Node("SVMRegressor", ("i",), ("o",), attributes, 1, "ai.onnx.ml")
    (Y,) = enclose_node(node, [np.array([[-2.7819036e20], [1.0]], F)])
    assert passes(F([[-INF], [0.497]]), Y)
    assert not passes(F([[-INF], [0.496]]), Y)


def test_transposed_convolution_with_an_infinite_weight_may_multiply_it_by_zeros_between_elements() -> None:
    X = np.ones((1, 1, 1, 2), F)
    (Y,) = enclose("ConvTranspose", X, F([[[[INF, 1]]]]), strides=[1, 2])
    for row in ([INF, 1, INF, 1], [INF, NAN, INF, NAN]):
        assert passes(F([[[row]]]), Y)
    (Z,) = enclose("ConvTranspose", X, F([[[[2, 1]]]]), strides=[1, 2])
    assert not passes(F([[[[2, NAN, 2, 1]]]]), Z)


def test_shrink_of_a_large_integer_contains_the_arithmetic_in_double() -> None:
    (Y,) = enclose("Shrink", np.array([5122429869860142]), lambd=0.25, bias=1.0)
    assert passes([5122429869860141], Y)


def test_mean_variance_normalization_adds_epsilon_to_the_deviation() -> None:
    X = (RANDOM.normal(0, 1, (2, 3, 4, 5)) * 1e-3).astype(F)
    (tensor,) = enclose("MeanVarianceNormalization", X)
    centred = X.astype(D) - X.astype(D).mean(axis=(0, 2, 3), keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=(0, 2, 3), keepdims=True))
    assert passes((centred / deviation).astype(F), tensor)
    assert passes((centred / (deviation + 1e-9)).astype(F), tensor)
    assert not passes((centred / np.sqrt(deviation**2 + 1e-9)).astype(F), tensor)


def test_top_k_unsorted_leaves_the_order_open() -> None:
    X = np.array([3, 1, 5, 4, 2], F)
    values, indices = enclose("TopK", X, np.array([3]), outputs=2, sorted=0, axis=0)
    assert passes(np.array([3, 5, 4], F), values)
    assert passes(np.array([0, 2, 3]), indices)
    assert not passes(np.array([1, 5, 4], F), values)
    assert unspecified(values) == [True] * 3
    values, indices = enclose("TopK", X, np.array([3]), outputs=2, axis=0)
    assert (values.tolist(), indices.tolist()) == ([5, 4, 3], [2, 3, 0])


@pytest.mark.parametrize("factor", ["alpha", "beta"])
def test_gemm_with_factor_zero_and_nan_has_nan_at_should(factor: str) -> None:
    A, B, C = np.ones((1, 2), F), np.ones((2, 2), F), np.array([NAN, 1], F)
    operands = [A, B, C] if factor == "beta" else [A, B * C, np.full(2, 2, F)]
    (tensor,) = enclose("Gemm", *operands, **{factor: 0.0})
    skipped, written = np.array([[2, 2]], F), np.array([[NAN, 2]], F)
    assert passes(skipped, tensor)
    assert passes(written, tensor)
    assert passes(written, tensor, Level.SHOULD)
    assert not passes(skipped, tensor, Level.SHOULD)


def test_clip_without_maximum_permits_the_largest_number_for_infinity() -> None:
    (tensor,) = enclose("Clip", np.array([INF, 1, -2], F), np.array(0, F))
    largest = np.finfo(F).max
    assert passes(np.array([largest, 1, 0], F), tensor)
    assert passes(np.array([INF, 1, 0], F), tensor)
    assert not passes(np.array([largest, 1, -2], F), tensor)


@pytest.mark.parametrize(("opset", "scale"), [(18, [2, 3]), (21, [2, 2, 3, 3])])
def test_group_normalization_takes_scale_per_group_below_opset_21(opset: int, scale: list[float]) -> None:
    X = RANDOM.normal(0, 1, (2, 4, 3)).astype(F)
    given = np.array(scale, F)
    (tensor,) = enclose("GroupNormalization", X, given, given * 0, opset=opset, num_groups=2)
    groups = X.astype(D).reshape(2, 2, -1)
    centred = groups - groups.mean(-1, keepdims=True)
    Y = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + float(F(1e-5)))
    assert passes((Y.reshape(2, 4, 3) * np.array([2, 2, 3, 3])[:, None]).astype(F), tensor)
    with pytest.raises(Unsupported, match="invalid"):
        enclose("GroupNormalization", X, given, given * 0, opset=39 - opset, num_groups=2)


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_space_to_depth_inverts_depth_to_space(mode: str) -> None:
    X = np.arange(32, dtype=F).reshape(1, 2, 4, 4)
    (deep,) = enclose("SpaceToDepth", X, blocksize=2, mode=mode)
    (back,) = enclose("DepthToSpace", deep, blocksize=2, mode=mode)
    assert back.tolist() == X.tolist()


def test_average_pool_at_opset_19_takes_the_elements_apart_by_the_dilations() -> None:
    X = np.arange(9, dtype=F).reshape(1, 1, 3, 3)
    (tensor,) = enclose("AveragePool", X, opset=19, kernel_shape=[2, 2], dilations=[2, 2])
    assert passes(F([[[[4]]]]), tensor)
    with pytest.raises(Unsupported, match="dilations"):
        enclose("AveragePool", X, opset=18, kernel_shape=[2, 2], dilations=[2, 2])


def test_hard_swish_below_minus_three_is_zero() -> None:
    (tensor,) = enclose("HardSwish", F([-4, 1]))
    assert passes(F([0, 4 / 6]), tensor)
    assert not passes(F([-4 / 6, 4 / 6]), tensor)


# Types


def test_layer_normalization_statistics_have_the_stash_type() -> None:
    X = RANDOM.normal(0, 1, (2, 8)).astype(H)
    Y, mean, inverse = enclose("LayerNormalization", X, np.ones(8, H), outputs=3)
    assert [each.dtype for each in (Y, mean, inverse)] == [np.dtype(each) for each in (H, F, F)]
    exact = X.astype(D).mean(-1, keepdims=True)
    assert passes(exact.astype(F), mean)
    assert not passes(exact.astype(H).astype(F), mean)


def test_layer_normalization_mean_beside_infinity_may_be_nan() -> None:
    _, mean = enclose("LayerNormalization", np.array([[np.inf, 1], [2, 4]], F), np.ones(2, F), outputs=2)
    assert passes(np.array([[np.nan], [3]], F), mean)
    assert not passes(np.array([[np.nan], [4]], F), mean)


def test_layer_normalization_in_float16_rejects_zeros() -> None:
    X, scale = (RANDOM.normal(0, 1, shape).astype(H) for shape in ((4, 768), 768))
    (tensor,) = enclose("LayerNormalization", X, scale)
    centred = X.astype(D) - X.astype(D).mean(-1, keepdims=True)
    Y = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + float(F(1e-5))) * scale.astype(D)
    assert passes(Y.astype(H), tensor, Level.SHOULD)
    assert not passes(np.zeros_like(X), tensor)
    assert not passes((Y * 1.01).astype(H), tensor)


@pytest.mark.parametrize("op_type", ["RMSNormalization", "GroupNormalization"])
def test_normalization_with_float_stash_type_rejects_a_result_of_float16_statistics(op_type: str) -> None:
    X = (RANDOM.normal(0, 1, (1, 4, 600)) + 30).astype(H)
    if op_type == "RMSNormalization":
        X -= H(25)
        (tensor,) = enclose(op_type, X, np.ones(600, H), opset=23)
        total = np.zeros((1, 4, 1), H)
        for k in range(600):
            total = total + X[..., k : k + 1] * X[..., k : k + 1]
        wrong = X / np.sqrt(total / H(600)) * H(1.01)
    else:
        (tensor,) = enclose(op_type, X, np.ones(4, H), np.zeros(4, H), opset=21, num_groups=4)
        wrong = (X - X.mean(-1, keepdims=True, dtype=H)) / np.sqrt(X.var(-1, keepdims=True, dtype=H)) * H(1.02)
    assert not passes(wrong.astype(H), tensor, Level.SHOULD)
    assert np.isfinite(tensor.error).all()


def test_layer_normalization_with_wider_scale_is_refused() -> None:
    with pytest.raises(Unsupported, match="broadcast"):
        enclose("LayerNormalization", np.ones((1, 3, 1, 1), F), np.ones((3, 1, 3), F), axis=1)


# Special values


def test_thresholded_relu_of_minus_infinity_is_zero() -> None:
    (result,) = enclose("ThresholdedRelu", np.array([-INF, NAN, -1, 2], F))
    assert result.tolist() == [0, 0, 0, 2]


def test_reduce_log_sum_exp_of_infinities_is_the_infinity() -> None:
    X = np.array([[-INF, -INF], [INF, 1], [-INF, 3]], F)
    (tensor,) = enclose("ReduceLogSumExp", X, np.array([1]), keepdims=0)
    assert tensor.value.tolist() == [-INF, INF, 3]
    assert tensor.error[:2].tolist() == [0, 0]


@pytest.mark.parametrize("op_type", ["MatMul", "Gemm", "Conv", "ReduceSum", "CumSum"])
def test_sum_with_infinity_and_overflow_is_undetermined(op_type: str) -> None:
    a, b = np.array([[-INF, 3e38]], F), np.array([[1], [10]], F)
    arrays = {"MatMul": [a, b], "Gemm": [a, b], "Conv": [a[:, :, None], b.T[:, :, None]]}.get(op_type)
    if arrays is None:
        arrays = [np.array([[-INF, 3e38, 3e38]], F), np.array([1] if op_type == "ReduceSum" else 1)]
    (tensor,) = enclose(op_type, *arrays)
    last = np.ravel(tensor.error)[-1]
    assert last == INF
    (tensor,) = enclose("MatMul", np.array([[-INF, 3]], F), b)
    assert (tensor.value.item(), tensor.error.item()) == (-INF, 0)


@pytest.mark.parametrize(("op_type", "zero", "sign"), [("Neg", 0.0, True), ("Abs", -0.0, False), ("Sqrt", -0.0, True)])
def test_sign_of_zero_is_that_of_ieee(op_type: str, zero: float, sign: bool) -> None:
    (tensor,) = enclose(op_type, np.full(2, zero, F))
    value = tensor.value if isinstance(tensor, Enclosure) else tensor
    assert np.signbit(value).tolist() == [sign] * 2
    assert has_signed_zeros(Node(op_type, ("x",), ("y",), {}, 20))
    wrong = np.full(2, 0.0 if sign else -0.0, F)
    assert admissible_mask(wrong, tensor).all()
    assert not admissible_mask(wrong, tensor, has_signed_zeros=True).any()


def test_softmax_beside_infinity_may_be_its_limit_at_must() -> None:
    X = np.array([[INF, 1, 2]], F)
    (tensor,) = enclose("LogSoftmax", X, axis=1)
    assert passes(np.array([[NAN, -INF, -INF]], F), tensor)
    assert not passes(np.array([[NAN, -INF, -INF]], F), tensor, Level.SHOULD)
    assert passes(np.full((1, 3), NAN, F), tensor, Level.SHOULD)


# Integers and narrow types


@pytest.mark.parametrize(
    ("op_type", "arrays", "mask"),
    [
        ("Abs", [np.array([-128, -3], np.int8)], [True, False]),
        ("Neg", [np.array([-128, -3], np.int8)], [True, False]),
        ("Add", [np.array([127, 1], np.int8), np.array([1, 1], np.int8)], [True, False]),
        ("Sub", [np.array([0, 2], np.uint8), np.array([1, 1], np.uint8)], [True, False]),
        ("Mul", [np.array([2**62, 3]), np.array([4, 2])], [True, False]),
        ("Pow", [np.array([10, 3], np.int32), np.array([10, 2], np.int32)], [True, False]),
        ("ReduceSum", [np.array([[100, 100], [1, 2]], np.int8), np.array([1])], [True, False]),
        ("ReduceL2", [np.array([[52000, 52000], [3, 4]], np.uint32), np.array([1])], [True, False]),
    ],
)
def test_integer_overflow_is_unspecified(op_type: str, arrays: list[Any], mask: list[bool]) -> None:
    (tensor,) = enclose(op_type, *arrays)
    assert unspecified(tensor) == mask
    assert np.ravel(tensor.error)[~np.array(mask)].tolist() == [0]


@pytest.mark.parametrize(("op_type", "second"), [("Add", [2**62, 2]), ("Div", [0, 1])])
def test_integers_beside_an_unspecified_one_keep_all_bits(op_type: str, second: list[int]) -> None:
    (tensor,) = enclose(op_type, np.array([2**62, 2**53 + 1]), np.array(second))
    assert unspecified(tensor) == [True, False]
    right = 2**53 + (3 if op_type == "Add" else 1)
    assert passes(np.array([0, right]), tensor)
    assert not passes(np.array([0, right - 1]), tensor)
    assert find_distances(np.array([0, right - 1]), tensor).shares.tolist() == [0, np.inf]
    assert answer_of(tensor).expected.tolist()[1] == right


@pytest.mark.parametrize("value", [1 + 2.0**-24, 0.0, 1.0])
def test_answer_of_value_with_other_last_bit_has_same_bytes(value: float) -> None:
    answers = [
        answer_of(Enclosure(np.array([value + shift]), np.array([2.0**-20 + shift]), np.dtype(np.float32)))
        for shift in (0.0, 2.0**-52, -(2.0**-52))
    ]
    assert len({each.expected.tobytes() + np.asarray(each.bound).tobytes() for each in answers}) == 1


def test_quotient_of_integers_is_rounded_toward_zero_and_its_overflow_is_unspecified() -> None:
    A, B = np.array([-128, -128, -7, 7, -6], np.int8), np.array([-1, 3, 2, -2, 2], np.int8)
    (tensor,) = enclose("Div", A, B)
    assert unspecified(tensor) == [True, False, False, False, False]
    assert tensor.value[1:].tolist() == [-42, -3, -3, -3]
    (result,) = enclose("Div", np.array([2**63 - 1, -(2**63)]), np.array([2, 3]))
    assert result.tolist() == [2**62 - 1, -((2**63) // 3)]


def test_mean_of_large_integers_is_exact() -> None:
    (result,) = enclose("ReduceMean", np.array([[2**60 + 1, 2**60 + 3]]), np.array([1]))
    assert result.tolist() == [[2**60 + 2]]
    (tensor,) = enclose("ReduceMean", np.array([[2**60 + 1, 2**60 + 2], [4, 4]]), np.array([1]))
    assert (tensor.dtype, unspecified(tensor)) == (np.dtype(np.int64), [True, False])


def test_mean_of_equal_integers_is_the_integer_and_its_overflow_is_unspecified() -> None:
    (tensor,) = enclose("ReduceMean", np.array([2**31 - 1, 2**31 - 1], np.int32), opset=13)
    assert (tensor.value.item(), unspecified(tensor)) == (2**31 - 1, [True])
    (result,) = enclose("ReduceMean", np.array([4, 6], np.int32), opset=13)
    assert (result.item(), result.dtype) == (5, np.dtype(np.int32))


@pytest.mark.parametrize(
    ("op_type", "arrays", "exact"),
    [
        ("Mean", [np.array([60000], H), np.array([50000], H)], 55000),
        ("Sum", [np.array([60000], H), np.array([50000], H), np.array([-60000], H)], 50000),
        ("ReduceL2", [np.array([300, 400], H), np.array([0])], 500),
        ("ReduceMean", [np.array([60000, 50000], H), np.array([0])], 55000),
    ],
)
def test_intermediate_overflow_in_float16_permits_the_exact_result(op_type: str, arrays: Any, exact: float) -> None:
    (tensor,) = enclose(op_type, *arrays)
    right, infinite = np.array([exact], H), np.array([INF], H)
    assert passes(right, tensor)
    assert passes(infinite, tensor)
    assert passes(right, tensor, Level.SHOULD)
    assert not passes(infinite, tensor, Level.SHOULD)


def test_overflow_of_the_result_is_infinite() -> None:
    (tensor,) = enclose("Add", np.array([3e38], F), np.array([3e38], F))
    assert (tensor.value.item(), tensor.error.item()) == (INF, 0)


@pytest.mark.parametrize(("dtype", "value"), [(np.int8, 300.0), (np.uint8, -1.0), (np.int64, 2.0**63), (np.int32, NAN)])
def test_cast_out_of_range_is_unspecified(dtype: Any, value: float) -> None:
    import onnx

    to = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    (tensor,) = enclose("Cast", np.array([value, 7.9]), to=to)
    assert unspecified(tensor) == [True, False]
    assert (tensor.value[1], tensor.error[1], tensor.dtype) == (7, 0, np.dtype(dtype))


# Forms


def instance_normalization_folded(X: Any, scale: Any, bias: Any) -> Any:
    mean = X.mean((2, 3), keepdims=True, dtype=F)
    variance = ((X - mean) ** 2).mean((2, 3), keepdims=True, dtype=F)
    a = scale[None, :, None, None] / np.sqrt(variance + F(1e-5))
    return X * a + (bias[None, :, None, None] - mean * a)


def test_folded_instance_normalization_is_admissible() -> None:
    for seed in range(20):
        random = np.random.default_rng(seed)
        X = random.normal(0, 1, (1, 16, 3, 3)).astype(F)
        scale, bias = (random.uniform(-1, 1, 16) * 0.01).astype(F), random.uniform(-1, 1, 16).astype(F)
        (tensor,) = enclose("InstanceNormalization", X, scale, bias)
        Y = instance_normalization_folded(X, scale, bias)
        assert passes(Y, tensor, Level.SHOULD)
        assert not passes(Y * F(1.001), tensor)


FORMS_IN_THE_TYPE: list[tuple[str, dict[str, Any], Any, Callable[[Any], Any]]] = [
    ("Mish", {}, F, lambda x: x * (((F(1) + np.exp(x)) ** 2 - F(1)) / ((F(1) + np.exp(x)) ** 2 + F(1)))),
    ("HardSwish", {}, F, lambda x: x * np.minimum(np.maximum(x + F(3), F(0)), F(6)) / F(6)),
    ("HardSwish", {}, D, lambda x: x * np.maximum(0, np.minimum(1, D(F(1 / 6)) * x + 0.5))),
    (
        "Gelu",
        {"approximate": "tanh"},
        D,
        lambda x: 0.5 * x * (1 + np.tanh(D(F(0.7978845608)) * (x + D(F(0.044715)) * x**3))),
    ),
    ("LeakyRelu", {}, H, lambda x: np.where(x < 0, H(0.01) * x, x)),
    ("LeakyRelu", {}, H, lambda x: np.where(x < 0, F(0.01) * x.astype(F), x.astype(F)).astype(H)),
    ("Sigmoid", {}, F, lambda x: F(0.5) * (F(1) + np.tanh(F(0.5) * x))),
    ("Selu", {}, F, lambda x: F(1.050701) * np.where(x > 0, x, F(1.6732632) * np.exp(x) - F(1.6732632))),
    ("Celu", {"alpha": 2.0}, F, lambda x: np.maximum(F(0), x) + np.minimum(F(0), F(2) * (np.exp(x / F(2)) - F(1)))),
]


@pytest.mark.parametrize(("op_type", "attributes", "dtype", "form"), FORMS_IN_THE_TYPE)
def test_form_in_the_type_is_admissible(op_type: str, attributes: Any, dtype: Any, form: Any) -> None:
    X = RANDOM.normal(0, 6, 2000).astype(dtype)
    (tensor,) = enclose(op_type, X, **attributes)
    Y = np.asarray(form(X))
    assert Y.dtype == dtype
    assert passes(Y, tensor)
    assert not passes((Y.astype(D) * 1.01).astype(dtype), tensor)


def test_square_by_power_function_is_admissible() -> None:
    X = RANDOM.uniform(1, 300, 3000).astype(F)
    (tensor,) = enclose("Pow", X, np.array([2], F))
    assert passes(X * X, tensor)
    assert passes(np.exp2(F(2) * np.log2(X)), tensor)
    assert not passes(X * X * F(1.0001), tensor)


def test_power_of_minus_infinity_with_exponent_one_half_is_infinity() -> None:
    (tensor,) = enclose("Pow", np.array([-INF, 4], F), np.array([0.5], F))
    assert passes(np.array([INF, 2], F), tensor, Level.SHOULD)
    assert not passes(np.array([NAN, 2], F), tensor, Level.SHOULD)
    assert passes(np.array([NAN, 2], F), tensor)


# Bounds


def test_matrix_product_with_768_terms_rejects_64_ulp_at_should() -> None:
    A, B = RANDOM.normal(0, 1, (4, 768)).astype(F), RANDOM.uniform(0, 1, (768, 4)).astype(F)
    A = np.abs(A)
    (tensor,) = enclose("MatMul", A, B)
    exact = A.astype(D) @ B.astype(D)
    total = np.zeros((4, 4), F)
    for k in range(768):
        total = total + A[:, k, None] * B[k]
    assert passes(total, tensor, Level.SHOULD)
    assert not passes((exact + 64 * np.spacing(exact.astype(F))).astype(F), tensor, Level.SHOULD)


def test_float16_matrix_product_with_4096_terms_rejects_zeros_at_should() -> None:
    A, B = RANDOM.uniform(-1, 1, (2, 4096)).astype(H), RANDOM.normal(0, 0.02, (4096, 16)).astype(H)
    (tensor,) = enclose("MatMul", A, B)
    assert passes((A.astype(F) @ B.astype(F)).astype(H), tensor, Level.SHOULD)
    assert not passes(np.zeros((2, 16), H), tensor, Level.SHOULD)


def test_mean_of_100000_elements_is_within_40_ulp_at_should() -> None:
    X = RANDOM.uniform(0, 1, 100_000).astype(F)
    (tensor,) = enclose("ReduceMean", X, np.array([0]), keepdims=0)
    mean = np.array(np.add.reduce(X.reshape(100, 1000).sum(0), dtype=F) / F(1e5), F)
    exact = float(sum(map(Fraction, X.tolist())) / 100_000)
    assert passes(mean, tensor, Level.SHOULD)
    assert passes(np.array(exact, F), tensor, Level.SHOULD)
    assert not passes(np.array(exact * (1 + 2e-4), F), tensor, Level.SHOULD)
    assert tensor.should.error < tensor.error / 50


def test_layer_normalization_without_epsilon_is_outside_at_should() -> None:
    X = RANDOM.normal(0, 1, (8, 768)).astype(F)
    (tensor,) = enclose("LayerNormalization", X, np.ones(768, F))
    centred = X.astype(D) - X.astype(D).mean(-1, keepdims=True)
    variance = (centred**2).mean(-1, keepdims=True)
    assert passes((centred / np.sqrt(variance + float(F(1e-5)))).astype(F), tensor, Level.SHOULD)
    assert not passes((centred / np.sqrt(variance)).astype(F), tensor, Level.SHOULD)


@pytest.mark.parametrize("op_type", ["Add", "Sub", "Mul"])
def test_double_arithmetic_rejects_two_ulp(op_type: str) -> None:
    A, B = RANDOM.uniform(1, 2, (2, 100))
    (tensor,) = enclose(op_type, A, B)
    Y = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}[op_type](A, B)
    assert passes(Y, tensor)
    assert not admissible_mask(Y + 2 * np.spacing(np.abs(Y)), tensor).any()


# Elements that the specification leaves open

X_NAN = np.array([[1, NAN, 3], [2, 5, 4]], F)


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes", "mask"),
    [
        ("ArgMax", [X_NAN], {"axis": 1, "keepdims": 0}, [True, False]),
        ("ArgMin", [X_NAN], {"axis": 1}, [True, False]),
        ("Hardmax", [X_NAN], {"axis": 1}, [True] * 3 + [False] * 3),
        ("TopK", [X_NAN, np.array([1])], {"axis": 1}, [True, False]),
        ("ReduceMax", [X_NAN, np.array([1])], {}, [True, False]),
        ("ReduceMin", [X_NAN, np.array([1])], {"keepdims": 0}, [True, False]),
        ("Max", [X_NAN, X_NAN[1:]], {}, [False, True] + [False] * 4),
        ("Min", [X_NAN, X_NAN[1:]], {}, [False, True] + [False] * 4),
        ("Sign", [X_NAN], {}, [False, True] + [False] * 4),
        ("Clip", [X_NAN[1], np.array(NAN, F)], {}, [True] * 3),
        ("GlobalMaxPool", [X_NAN[None]], {}, [True, False]),
        ("MaxPool", [X_NAN[None]], {"kernel_shape": [2]}, [True, True, False, False]),
        ("ReduceMean", [np.zeros((2, 0), F), np.array([1])], {"keepdims": 0}, [True, True]),
    ],
)
def test_result_that_the_page_leaves_open_is_unspecified(
    op_type: str, inputs: Sequence[Any], attributes: Any, mask: list[bool]
) -> None:
    tensor = enclose(op_type, *inputs, outputs=2 if op_type == "TopK" else 1, **attributes)[0]
    assert unspecified(tensor) == mask
    assert np.ravel(tensor.error)[~np.array(mask)].tolist() == [0] * mask.count(False)


def test_index_of_nan_stays_below_the_number_of_elements() -> None:
    (tensor,) = enclose("ArgMax", X_NAN, axis=1, keepdims=0)
    assert [passes(np.array([index, 1]), tensor) for index in (-1, 0, 1, 2, 3)] == [False, True, True, True, False]


# Tables


MPMATH: dict[str, tuple[Callable[[Any], Any], tuple[float, float]]] = {
    "Exp": (mpmath.exp, (-80, 80)),
    "Log": (mpmath.log, (1e-3, 1e4)),
    "Sqrt": (mpmath.sqrt, (1e-3, 1e4)),
    "Tanh": (mpmath.tanh, (-9, 9)),
    "Erf": (mpmath.erf, (-4, 4)),
    "Sin": (mpmath.sin, (-300, 300)),
    "Cos": (mpmath.cos, (-300, 300)),
    "Tan": (mpmath.tan, (-1.5, 1.5)),
    "Asin": (mpmath.asin, (-1, 1)),
    "Acos": (mpmath.acos, (-1, 1)),
    "Atan": (mpmath.atan, (-90, 90)),
    "Sinh": (mpmath.sinh, (-80, 80)),
    "Cosh": (mpmath.cosh, (-80, 80)),
    "Asinh": (mpmath.asinh, (-90, 90)),
    "Acosh": (mpmath.acosh, (1, 90)),
    "Atanh": (mpmath.atanh, (-0.99, 0.99)),
    "Sigmoid": (lambda x: 1 / (1 + mpmath.exp(-x)), (-80, 80)),
    "Softplus": (lambda x: mpmath.log(1 + mpmath.exp(x)), (-80, 80)),
    "Softsign": (lambda x: x / (1 + abs(x)), (-90, 90)),
    "Mish": (lambda x: x * mpmath.tanh(mpmath.log(1 + mpmath.exp(x))), (-20, 20)),
    "Gelu": (lambda x: x * mpmath.ncdf(x), (-5, 5)),
    "HardSwish": (lambda x: x * max(0, min(1, x / 6 + mpmath.mpf(1) / 2)), (-9, 9)),
    "Reciprocal": (lambda x: 1 / x, (1e-3, 1e4)),
}


@pytest.mark.parametrize("dtype", [F, D, H])
@for_each("op_type", MPMATH)
def test_function_contains_the_value_of_mpmath_at_both_levels(op_type: str, dtype: Any) -> None:
    function, (low, high) = MPMATH[op_type]
    X = np.random.default_rng(3).uniform(low, high, 60).astype(dtype)
    X = np.clip(X, dtype(low), dtype(high)) if dtype is not H or op_type not in ("Exp", "Sinh", "Cosh") else X % 9
    (tensor,) = enclose(op_type, X)
    with mpmath.workprec(300):
        exact = [function(mpmath.mpf(float(x))) for x in X]
    for level in (tensor, tensor.should):
        distances = [abs(value - mpmath.mpf(float(centre))) for value, centre in zip(exact, level.value, strict=True)]
        assert all(float(d) <= error for d, error in zip(distances, level.error, strict=True))
    assert np.isfinite(tensor.should.error).all()


def test_bound_of_should_is_not_above_the_opencl_limit_by_more_than_one_ulp() -> None:
    assert [name for name, row in FUNCTIONS.items() if not row.should <= row.must <= row.opencl + 2] == []
    assert all({*forms} <= FORMS[name].keys() for name, forms in FORMS_AT_MUST.items())


def test_sum_of_random_fractions_is_within_both_bounds() -> None:
    for count in (2, 17, 300):
        X = (RANDOM.standard_normal((3, count)) * 10.0 ** RANDOM.integers(-4, 4, (3, count))).astype(F)
        (tensor,) = enclose("ReduceSum", X, np.array([1]), keepdims=0)
        exact = [sum(map(Fraction, row)) for row in X.tolist()]
        for level in (tensor, tensor.should):
            assert all(
                abs(Fraction(v) - e) <= Fraction(b) for v, e, b in zip(level.value, exact, level.error, strict=True)
            )
        total = np.zeros(3, F)
        for column in RANDOM.permutation(count):
            total = total + X[:, column]
        assert passes(total, tensor, Level.SHOULD)


# Functions and constants of a type


@pytest.mark.parametrize(
    ("op_type", "function", "ulps"), [("Tanh", mpmath.tanh, 2), ("Erf", mpmath.erf, 4), ("Exp", mpmath.exp, 2)]
)
def test_functions_of_float16_have_the_limits_of_half_precision(
    op_type: str, function: Callable[[float], Any], ulps: int
) -> None:
    X = np.linspace(-3, 3, 100).astype(H)
    (tensor,) = enclose(op_type, X)
    exact = np.array([float(function(float(x))) for x in X])
    near, far = (np.nextafter(exact.astype(H), H(INF)), exact.astype(H) + 2 * (ulps + 1) * np.spacing(exact.astype(H)))
    assert passes(exact.astype(H), tensor, Level.SHOULD)
    assert passes(near.astype(H), tensor)
    visible = np.abs(exact) > 2.0**-8
    assert not admissible_mask(far.astype(H), tensor)[visible].any()


def test_gelu_in_double_has_no_constant_in_float() -> None:
    X = RANDOM.normal(0, 1, 50)
    (tensor,) = enclose("Gelu", X)
    wanted = np.array([float(x * (1 + mpmath.erf(x / mpmath.sqrt(2))) / 2) for x in X])
    narrow = np.array([x * (1 + mpmath.erf(x * float(F(0.5**0.5)))) / 2 for x in X], D)
    assert passes(wanted, tensor)
    assert admissible_mask(narrow, tensor).mean() < 0.1


def test_integers_divided_by_zero_are_open_and_others_are_not() -> None:
    A, B = np.int32([7, -7, 7]), np.int32([2, 2, 0])
    for op_type, wanted in (("Div", [3, -3]), ("Mod", [1, 1])):
        (tensor,) = enclose(op_type, A, B)
        assert unspecified(tensor) == [False, False, True]
        assert tensor.value[:2].tolist() == wanted


def test_softmax_does_not_count_the_error_of_the_largest_element() -> None:
    X = Enclosure(np.array([[0.0, 1.0]]), np.full((1, 2), 1e-4), np.dtype(F))
    (tensor,) = enclose("Softmax", X)
    assert (tensor.error < 2.1e-4 * tensor.value).all()


def test_thresholded_relu_of_nan_is_zero_for_the_oracle_too() -> None:
    from one_node_models import reference_output

    assert reference_output("ThresholdedRelu", F([NAN, -INF, 2.0])).tolist() == [0.0, 0.0, 2.0]


def test_a_whole_power_of_an_inexact_negative_base_has_a_bound() -> None:
    X = Enclosure(np.array([-2.0, 0.0, 1.5]), np.full(3, 0.25), np.dtype(F))
    for exponent in (0.0, 1.0, 3.0, 4.0):
        (tensor,) = enclose("Pow", X, F(exponent).reshape(()))
        for base in (X.value - 0.25, X.value, X.value + 0.25):
            assert (np.abs(base**exponent - tensor.value) <= tensor.error + 1e-300).all()
    assert (tensor.error[[0, 2]] < [26, 10]).all()


def test_a_window_that_overflows_beside_an_infinity_is_undetermined() -> None:
    big = 3.39e38
    X = F([0, -big, 1, -big, 0, -big, 0, 0, INF]).reshape(1, 1, 3, 3)
    (tensor,) = enclose("AveragePool", X, kernel_shape=[3, 3])
    assert np.isinf(tensor.error).all()


def test_tanh_near_the_smallest_normal_number_may_lose_digits_at_must() -> None:
    (tensor,) = enclose("Tanh", F([1.739e-38, 0.5]))
    lost = F([1.739e-38, mpmath.tanh(0.5)]) + F([80 * 2.0**-149, 0])
    assert passes(lost, tensor)
    assert not passes(lost, tensor, Level.SHOULD)


@pytest.mark.parametrize("name", ["atan", "erf"])
@for_each("x", ["0", "1e-30", "-0.1", "0.5", "-1", "3.75", "12", "-1e9"])
def test_function_of_a_decimal_has_all_digits(name: str, x: str) -> None:
    with localcontext(prec=60):
        (found,) = getattr(elementary, name)(object_array([Decimal(x)], (1,)))
    with mpmath.workprec(400):
        exact = getattr(mpmath, name)(mpmath.mpf(x))
        assert abs(mpmath.mpf(str(found)) - exact) <= abs(exact) * mpmath.mpf(10) ** -57
