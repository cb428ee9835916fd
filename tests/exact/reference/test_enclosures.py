"""Enclosures contain what correct implementations return, and little else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import array_of
from conformance.exact.reference.enclosures import ENCLOSURES, enclose_node, is_supported
from conformance.exact.reference.nodes import Node, attribute_values
from conformance.exact.reference.numbers import portable
from conformance.exact.reference.numbers.enclosure import Enclosure, without_strict_bounds

if TYPE_CHECKING:
    from collections.abc import Sequence


def make_node(op_type: str, count: int = 1, *, opset: int = 20, outputs: int = 1, **attributes: Any) -> Node:
    return Node(
        op_type, tuple(f"i{k}" for k in range(count)), tuple(f"o{k}" for k in range(outputs)), attributes, opset
    )


def is_within(actual: Any, tensor: Any) -> bool:
    """Return whether every element of an output is admissible."""
    actual = np.asarray(actual)
    if not isinstance(tensor, Enclosure):
        same = (
            tensor == actual if actual.dtype.kind != "f" else (tensor == actual) | (np.isnan(tensor) & np.isnan(actual))
        )
        return tensor.shape == actual.shape and bool(np.all(same))
    if tensor.shape != actual.shape:
        return False
    with np.errstate(all="ignore"):
        value = actual.astype(np.float64)
        near = np.abs(value - tensor.value) <= tensor.error
    return bool(np.all(near | (value == tensor.value) | (np.isnan(value) & np.isnan(tensor.value))))


def as_array(tensor: Any) -> Any:
    return array_of(tensor) if isinstance(tensor, onnx.TensorProto) else np.asarray(tensor)


LITERAL_OUTPUTS = {
    "test_averagepool_2d_ceil_last_window_starts_on_pad",
    "test_gridsample_bicubic",
    "test_roialign_aligned_false",
    "test_roialign_aligned_true",
}
"""Cases of onnx whose expected outputs are written with four digits only."""


@pytest.mark.long
def test_onnx_node_cases_are_within_the_enclosures(onnx_node_cases: Sequence[Any]) -> None:
    judged, outside = set(), []
    for case in onnx_node_cases:
        nodes = case.model.graph.node
        opset = case.model.opset_import[0].version
        if len(nodes) != 1 or case.name in LITERAL_OUTPUTS:
            continue
        proto = nodes[0]
        node = Node(
            proto.op_type,
            tuple(proto.input),
            tuple(proto.output),
            attribute_values(proto.attribute),
            opset,
            proto.domain,
        )
        if not is_supported(node):
            continue
        for inputs, outputs in case.data_sets:
            given_inputs = iter(inputs)
            arrays = [as_array(next(given_inputs)) if name else None for name in proto.input]
            try:
                with np.errstate(all="ignore"):
                    results = enclose_node(node, arrays)
            except (Unsupported, ValueError, KeyError, TypeError):
                continue
            named = [tensor for tensor, name in zip(results, proto.output, strict=False) if name]
            judged.add(proto.op_type)
            outside += [
                case.name
                for tensor, output in zip(named, outputs, strict=True)
                if not is_within(as_array(output), tensor)
            ]
    assert outside == []
    without_case = {"GlobalLpPool", "GroupNormalization", "Upsample", "Swish", "RMSNormalization", "Multinomial"}
    without_case |= {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
    without_case |= {"MaxRoiPool", "SimplifiedLayerNormalization"}  # the last one of ONNX Runtime
    assert set(ENCLOSURES) - judged <= without_case


def test_sum_in_any_order_is_within_the_bound() -> None:
    random = np.random.default_rng(5)
    X = (random.standard_normal((4, 300)) * 10.0 ** random.integers(-4, 4, (4, 300))).astype(np.float32)
    (tensor,) = enclose_node(make_node("ReduceSum", 1, keepdims=0, axes=[1], opset=11), [X])
    for order in range(50):
        total = np.zeros(4, np.float32)
        for column in np.random.default_rng(order).permutation(300):
            total = total + X[:, column]
        assert is_within(total, tensor)


@pytest.mark.parametrize(
    ("op_type", "arrays", "attributes", "fault"),
    [
        ("Softmax", [(3, 7)], {"axis": -1}, lambda Y: Y * np.float32(1.00001)),
        ("Conv", [(1, 3, 8, 8), (4, 3, 3, 3)], {}, lambda Y: Y + np.float32(1e-3)),
        ("Conv", [(1, 3, 8, 8), (4, 3, 3, 3)], {"strides": [2, 2]}, lambda Y: Y + np.float32(1e-4)),
        ("MatMul", [(4, 16), (16, 4)], {}, lambda Y: Y + np.float32(1e-4)),
        ("Gelu", [(50,)], {"approximate": "tanh"}, lambda Y: Y * np.float32(1.0001)),
        ("Erf", [(50,)], {}, lambda Y: Y * np.float32(1.00001)),
        (
            "AveragePool",
            [(1, 1, 4, 4)],
            {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]},
            lambda Y: Y * np.float32(2 / 3),
        ),
    ],
)
def test_faulty_output_is_outside_of_the_bound(op_type: str, arrays: Any, attributes: Any, fault: Any) -> None:
    random = np.random.default_rng(1)
    inputs = [random.standard_normal(shape).astype(np.float32) for shape in arrays]
    (tensor,) = enclose_node(make_node(op_type, len(inputs), **attributes), inputs)
    assert isinstance(tensor, Enclosure)
    right = tensor.value.astype(np.float32)
    assert is_within(right, tensor)
    assert not is_within(fault(right), tensor)


def compose(steps: Sequence[tuple[Node, Any]]) -> Enclosure:
    """Return the enclosure of the last of some nodes; None in the place of an operand is the result before it."""
    result: Any = None
    with np.errstate(all="ignore"):
        for node, operands in steps:
            result = enclose_node(node, [result if operand is None else operand for operand in operands])[0]
    assert isinstance(result, Enclosure)
    return result


def products(X: Any, W: Any, start: Any) -> Any:
    """Return the dot products of one row with some columns in float, added one by one to a first term."""
    total = np.broadcast_to(start, W.shape[1:]).astype(np.float32)
    for x, w in zip(X[0], W, strict=True):
        total = total + x * w
    return total[None]


@pytest.mark.parametrize("op_type", ["Gemm", "Conv"])
def test_bias_as_first_term_is_within_the_bound(op_type: str) -> None:
    random = np.random.default_rng(2)
    X, W = (random.standard_normal(shape).astype(np.float32) * 1e-3 for shape in ((1, 400), (400, 50)))
    B = (random.standard_normal(50) + 100).astype(np.float32)
    arrays = [X, W, B] if op_type == "Gemm" else [X[..., None], W.T[..., None], B]
    (tensor,) = enclose_node(make_node(op_type, 3), arrays)
    assert isinstance(tensor, Enclosure)
    result = products(X, W, B)
    assert is_within(result if op_type == "Gemm" else result[..., None], tensor)


def test_factor_and_summand_folded_into_a_convolution_are_within_the_composed_bound() -> None:
    random = np.random.default_rng(4)
    X, W = (random.standard_normal(shape).astype(np.float32) * 1e-4 for shape in ((1, 30), (30, 5000)))
    b, s = (random.standard_normal(5000).astype(np.float32) * np.float32(scale) for scale in (1e-7, 1.0))
    c = (random.standard_normal(5000)).astype(np.float32)
    steps = [(make_node("Gemm", 3), [X, W, b]), (make_node("Mul", 2), [None, s]), (make_node("Add", 2), [None, c])]
    tensor = compose(steps)
    folded = b * s + c
    assert is_within(products(X, W * s, np.float32(0)) + folded, tensor)
    assert is_within(products(X, W * s, folded), tensor)
    assert not is_within(products(X, W * s, folded) + b * np.float32(1e4), tensor)


def test_variance_of_moments_is_within_the_composed_bound() -> None:
    X = (np.random.default_rng(6).standard_normal((40, 64)) * 0.1 + 30).astype(np.float32)
    average = make_node("ReduceMean", 1, axes=[1], keepdims=1, opset=13)
    mean = enclose_node(average, [X])[0]
    variance = compose(
        [(make_node("Sub", 2), [X, mean]), (make_node("Pow", 2), [None, np.float32(2)]), (average, [None])]
    )
    means = X.mean(axis=1, keepdims=True, dtype=np.float32)
    moments = (X * X).mean(axis=1, keepdims=True, dtype=np.float32) - means * means
    assert is_within(moments, variance)
    assert np.all(variance.error < 0.1)


def test_square_of_a_mean_has_the_error_of_the_mean() -> None:
    X = np.random.default_rng(6).standard_normal((40, 640)).astype(np.float32)
    average = make_node("ReduceMean", 1, axes=[1], keepdims=1, opset=13)
    mean = enclose_node(average, [X])[0]
    square = enclose_node(make_node("Mul", 2), [mean, mean])[0]
    assert is_within(X.mean(axis=1, keepdims=True, dtype=np.float32) ** 2, square)
    assert np.all(square.error < 2.1 * np.abs(mean.value) * mean.error + mean.error**2 + 1e-7 * square.value)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceMean", "MatMul"])
def test_sum_of_both_signs_has_the_bound_of_its_largest_partial_sum(operator: str, dtype: Any) -> None:
    count = 1000
    X = np.random.default_rng(8).standard_normal((50, count)).astype(dtype)
    ordered = -np.sort(-X, axis=1)
    node = make_node(operator, 1, axes=[1], keepdims=1, opset=12) if operator != "MatMul" else make_node("MatMul", 2)
    total = enclose_node(node, [X] if operator != "MatMul" else [X, np.ones((count, 1), dtype)])[0]
    divisor = dtype(count if operator == "ReduceMean" else 1)
    for terms in (ordered, ordered[:, ::-1], X):
        added = np.add.accumulate(terms, axis=1, dtype=dtype)[:, -1:] / divisor
        assert is_within(added.astype(dtype), total)
    means = np.zeros((50, 1), dtype)
    for place in range(count):
        means = means + (X[:, place : place + 1] - means) / dtype(place + 1)
    assert operator != "ReduceMean" or is_within(means, total)
    unit = float(np.finfo(dtype).eps) / 2
    magnitudes = np.abs(X.astype(np.float64)).sum(axis=1, keepdims=True) / float(divisor)
    if dtype is np.float32:
        assert np.all(total.error < 0.6 * count * unit * magnitudes)


def test_sum_of_inexact_numbers_among_zeros_has_the_roundings_of_the_numbers() -> None:
    X = np.zeros((4, 4096), np.float32)
    X[:, :2] = 1.5
    root = enclose_node(make_node("Sqrt"), [X])[0]
    total = enclose_node(make_node("ReduceSum", 1, axes=[1], keepdims=1, opset=12), [root])[0]
    assert is_within(np.sqrt(X).sum(axis=1, keepdims=True), total)
    assert np.all(total.error < 8 * 2.0**-23 * total.value)


def test_element_that_may_overflow_is_not_determined() -> None:
    X = np.array([np.finfo(np.float32).max, 1.0], np.float32)
    (tensor,) = enclose_node(make_node("Add", 2), [X, np.array([1e31, 1.0], np.float32)])
    assert isinstance(tensor, Enclosure)
    assert np.isinf(tensor.error).tolist() == [True, False]


def test_operator_without_reference_is_unsupported() -> None:
    with pytest.raises(Unsupported):
        enclose_node(make_node("ImageDecoder"), [np.zeros(4, np.uint8)])


def test_decision_on_inexact_input_is_unsupported() -> None:
    X = Enclosure(np.array([0.0, 1e-9]), np.full(2, 1e-8), np.dtype(np.float32))
    with pytest.raises(Unsupported):
        enclose_node(make_node("ArgMax", 1, axis=0), [X])


@pytest.mark.parametrize(("op_type", "extreme"), [("ArgMax", 1.0), ("ArgMin", -1.0)])
def test_extreme_of_a_long_inexact_row_is_decided(op_type: str, extreme: float) -> None:
    X = np.zeros(66_001)
    X[-1] = extreme
    (index,) = enclose_node(make_node(op_type, 1, axis=0), [Enclosure(X, np.full(X.shape, 1e-8), np.dtype(np.float32))])
    assert index.tolist() == [66_000]


def test_slice_with_start_before_first_element_backwards_returns_first_element() -> None:
    X = np.arange(5, dtype=np.float32)
    starts, ends, axes, steps = (np.array([number], np.int64) for number in (-100, -200, 0, -1))
    assert enclose_node(make_node("Slice", 5), [X, starts, ends, axes, steps])[0].tolist() == [0.0]


@pytest.mark.parametrize(("axis", "expected"), [(1, [[0.0], [6.0], [10.0]]), (0, [[0.0], [10.0], [5.0]])])
def test_gather_elements_with_smaller_indices_has_shape_of_indices(axis: int, expected: Any) -> None:
    X = np.arange(15, dtype=np.float32).reshape(3, 5)
    indices = np.array([[0], [1], [0]] if axis else [[0], [2], [1]])
    assert enclose_node(make_node("GatherElements", 2, axis=axis), [X, indices])[0].tolist() == expected


def test_mod_of_integers_has_sign_of_divisor() -> None:
    A = np.array([3, 1234567890, 999999999, 1999999993, 1500000001, 2147483647, -7, 16777217], np.int64)
    (result,) = enclose_node(make_node("Mod", 2), [A, np.full(8, 13, np.int64)])
    assert result.tolist() == [number % 13 for number in A.tolist()]


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("weight", [np.nan, np.inf])
def test_conv_leaves_open_where_padding_meets_a_weight_that_is_not_finite(groups: int, weight: float) -> None:
    X = np.ones((1, 2, 4), np.float32)
    W = np.ones((2, 2 // groups, 3), np.float32)
    W[1, 0, 0] = weight
    (Y,) = enclose_node(make_node("Conv", 2, group=groups, pads=[1, 0]), [X, W])
    assert isinstance(Y, Enclosure)
    assert Y.unspecified is not None
    np.testing.assert_array_equal(np.argwhere(Y.unspecified), [[0, 1, 0]])


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("masked", [0, 5])
def test_mean_weighted_by_shares_admits_numerators_that_differ_and_little_else(dtype: Any, masked: int) -> None:
    random = np.random.default_rng(masked)
    numerators, relative = np.exp(random.normal(size=(4, 12))), float(np.finfo(dtype).eps) * 20
    numerators[:, :masked] = 0
    matrix = random.uniform(1, 2, size=(12, 6)).astype(dtype)
    E = Enclosure(numerators, numerators * relative, np.dtype(dtype))
    shares = E.divided_by_sum([-1])
    mean = shares.dot(Enclosure.exact(matrix), portable.matmul, 12)
    exact = matrix.astype(np.float64)
    for sign in (-1, 1):
        farthest = numerators[..., np.newaxis] * (1 + sign * relative * np.sign(exact - mean.value[:, np.newaxis]))
        changed = (farthest * exact).sum(1) / farthest.sum(1)
        assert (np.abs(changed - mean.value) <= mean.error).all()
    one_by_one = np.add.accumulate((shares.value.astype(dtype)[..., np.newaxis] * matrix), axis=1, dtype=dtype)[:, -1]
    assert is_within(one_by_one, mean)
    alone = Enclosure(shares.value, shares.error, shares.dtype).dot(Enclosure.exact(matrix), portable.matmul, 12)
    assert (mean.error < alone.error * 0.6).all()


@pytest.mark.parametrize("flushed", [(), (0,), (1,), (0, 1)])
@pytest.mark.parametrize("op_type", ["MatMul", "Gemm", "Add"])
def test_enclosure_contains_the_result_with_any_operands_flushed(op_type: str, flushed: tuple[int, ...]) -> None:
    tiny, large = np.float32(2**-140), np.float32(2**120)
    given = [np.array([[tiny, large]]), np.array([[large], [-tiny]])]
    if op_type == "Add":
        given = [np.array([[tiny]]), np.array([[-tiny]])]
    kept = [np.where(np.abs(X) < 1, 0, X) if place in flushed else X for place, X in enumerate(given)]
    result = kept[0] + kept[1] if op_type == "Add" else kept[0] @ kept[1]
    (enclosure,) = enclose_node(make_node(op_type, 2), given)
    assert is_within(result, enclosure)
    assert not is_within(result + (3 * tiny * large if op_type != "Add" else 1), enclosure)


def test_enclose_node_with_a_subnormal_scalar_returns_a_truth_value() -> None:
    (result,) = enclose_node(make_node("IsNaN", 1), [np.array(1e-40, np.float32)])
    assert not result


def test_sum_of_many_subnormal_operands_is_open_only_where_they_matter() -> None:
    tiny = np.float32(1e-39)
    given = [np.array([tiny * (-1) ** place, 2**-60, 1], np.float32) for place in range(200)]
    (enclosure,) = enclose_node(make_node("Sum", len(given)), given)
    assert isinstance(enclosure, Enclosure)
    assert is_within(np.array([100 * tiny, 200 * 2**-60, 200], np.float32), enclosure)
    assert not is_within(np.array([0, 200 * 2**-60, 201], np.float32), enclosure)
    assert not is_within(np.array([0, 201 * 2**-60, 200], np.float32), enclosure)


def test_bounds_of_level_should_of_a_long_chain_need_no_deep_recursion() -> None:
    (result,) = enclose_node(make_node("Tanh"), [np.array([0.5], np.float32)])
    for _ in range(300):
        (result,) = enclose_node(make_node("Tanh"), [result])
    assert isinstance(result, Enclosure)
    assert result.should is not None
    assert 0 < result.should.error[0] < np.inf


def test_bounds_of_level_must_alone_are_the_same() -> None:
    X = np.float32([0.1, 0.2])
    (both,) = enclose_node(make_node("Sigmoid"), [X])
    with without_strict_bounds():
        (must,) = enclose_node(make_node("Sigmoid"), [X])
    assert (both.error == must.error).all()
    assert must.should is None
    assert both.should is not None


@pytest.mark.parametrize(
    ("op_type", "x", "wrong"),
    [
        ("Exp", np.float32(-100), -5e-39),
        ("Exp", np.float16(-16), -3e-5),
        ("Softplus", np.float32(-100), -1e-8),
        ("Softplus", np.float16(-16), -3e-5),
    ],
)
def test_function_without_negative_results_may_be_flushed_but_keeps_its_sign(op_type: str, x: Any, wrong: Any) -> None:
    (enclosure,) = enclose_node(make_node(op_type), [np.array([x])])
    assert all(is_within(np.array([each], x.dtype), enclosure) for each in (0.0, -wrong, np.exp(x)))
    assert not is_within(np.array([wrong], x.dtype), enclosure)
