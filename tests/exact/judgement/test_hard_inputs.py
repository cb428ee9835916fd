"""Hard inputs of operators: they are reproducible, fit the arguments, and have hard elements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from conformance import ConformanceError, evaluate, hard_inputs, judge, judge_kernel, nodes


def test_inputs_of_one_salt_are_equal_and_of_others_differ():
    first, same, other = (list(hard_inputs("MatMul", count=4, salt=salt)) for salt in ("a", "a", "b"))
    assert [[each.tobytes() for each in inputs] for inputs in first] == [
        [each.tobytes() for each in inputs] for inputs in same
    ]
    assert [[each.tobytes() for each in inputs] for inputs in first] != [
        [each.tobytes() for each in inputs] for inputs in other
    ]


def test_inputs_have_the_types_and_fulfil_the_condition():
    for inputs in hard_inputs("Add", count=2, types=("float16",), where=lambda inputs: inputs[0].ndim == 2):
        assert {each.dtype for each in inputs} == {np.dtype(np.float16)}
        assert inputs[0].ndim == 2


def test_condition_is_drawn_beside_the_types():
    for condition, first, second in hard_inputs(
        "Where", count=3, types=["float"], where=lambda x: x[1].dtype.kind == "f"
    ):
        assert condition.dtype == bool
        assert {first.dtype, second.dtype} == {np.dtype(np.float32)}


def test_shapes_follow_from_attributes_and_their_defaults():
    ranks = {inputs[0].ndim for inputs in hard_inputs("LayerNormalization", count=12, types=("float",))}
    assert max(ranks) > 1
    for inputs in hard_inputs("Concat", count=4, axis=-1):
        assert judge("Concat", inputs, [np.concatenate(inputs, axis=-1)], axis=-1)


@pytest.mark.parametrize("operator", ["Conv", "ConvTranspose", "Gemm"])
def test_shapes_fit_the_defaults_of_the_attributes(operator):
    for inputs in hard_inputs(operator, count=12, types=["float"], where=lambda inputs: inputs[0].dtype == np.float32):
        shapes = [each.shape for each in inputs if each is not None]
        if operator == "Gemm":
            assert shapes[0][1] == shapes[1][0]
            assert len(shapes) == 2 or np.broadcast_shapes(shapes[2], (shapes[0][0], shapes[1][1]))
        else:
            channels, filters = (1, 0) if operator == "Conv" else (0, 1)
            assert shapes[0][1] == shapes[1][channels]
            assert len(shapes) == 2 or shapes[2] == (shapes[1][filters],)


def test_inputs_like_others_have_their_shapes_and_hard_elements():
    x = np.ones((30, 20), np.float32)
    found = list(hard_inputs("Softmax", count=8, like=[x], axis=-1))
    assert {(inputs[0].shape, inputs[0].dtype) for inputs in found} == {(x.shape, x.dtype)}
    assert any(np.isnan(inputs[0]).any() for inputs in found)
    assert any(np.isinf(inputs[0]).any() for inputs in found)


@pytest.mark.parametrize(
    ("operator", "options", "code"),
    [
        ("NoSuch", {}, "usage.operator-not-declared"),
        ("Relu", {"where": lambda _: False}, "usage.no-hard-inputs"),
        ("Gelu", {"opset": 13}, "usage.no-hard-inputs"),
        ("Softmax", {"types": ("float32",)}, "name.element-type"),
        ("Softmax", {"types": (1,)}, "usage.argument"),
        ("Softmax", {"types": ("int32",)}, "usage.types-not-taken"),
        ("Softmax", {"axis": "last"}, "usage.argument"),
        ("Softmax", {"axs": 1}, "name.attribute"),
    ],
)
def test_inputs_that_cannot_be_drawn_raise_an_error(operator, options, code):
    with pytest.raises(ConformanceError) as error:
        list(hard_inputs(operator, **options))
    assert error.value.code == code


@settings(max_examples=10, deadline=None)
@given(nodes("Gemm"))
def test_strategy_draws_calls_that_can_be_evaluated(call):
    outputs = evaluate("Gemm", call.inputs, opset=call.opset, output_count=call.output_count, **call.attributes)
    assert len(outputs) == call.output_count


def rounded_to_tf32(array):
    return ((array.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


def product(A, B, order):
    total = np.zeros((A.shape[0], B.shape[1]), A.dtype)
    for place in order:
        total += A[:, place, None] * B[place]
    return total


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_exact_sums_admit_every_order_of_addition(dtype):
    orders = (range(200), range(199, -1, -1), np.random.default_rng(0).permutation(200))
    for A, B in hard_inputs("MatMul", like=[np.zeros((5, 200), dtype), np.zeros((200, 4), dtype)], count=4):
        with np.errstate(all="ignore"):
            assert all(not judge("MatMul", [A, B], [product(A, B, order)]).is_wrong for order in orders)


@pytest.mark.parametrize(
    "fault",
    [
        lambda A, B: A[:, :-1] @ B[:-1],
        lambda A, B: rounded_to_tf32(A) @ B,
        lambda A, B: A @ rounded_to_tf32(B),
    ],
)
def test_exact_sums_show_a_lost_term_and_fewer_digits(fault):
    like = [np.zeros((5, 4096), np.float32), np.zeros((4096, 4), np.float32)]
    given = list(hard_inputs("MatMul", like=like, count=4))[1:]
    assert any(judge("MatMul", each, [fault(*each)]).is_wrong for each in given)


def test_inputs_of_attention_have_scores_whose_exponentials_overflow_in_float():
    like = [np.zeros((1, 2, 5, 16), np.float32)] * 3
    with np.errstate(all="ignore"):
        scores = [Q @ K.swapaxes(-1, -2) / 4 for Q, K, _ in hard_inputs("Attention", like=like, count=4, opset=23)]
    assert any(89 < each.min() <= each.max() < 1000 for each in scores)


def has_sizes_of_an_rnn(hidden, directions):
    def check(x, w, r, b=None, lengths=None, h=None):
        state = (directions, x.shape[1], hidden)
        assert w.shape == (directions, hidden, x.shape[2])
        assert r.shape == (directions, hidden, hidden)
        assert h is None or h.shape == state
        assert lengths is None or (lengths.shape == (x.shape[1],) and 1 <= lengths.min() <= lengths.max() <= x.shape[0])

    return check


def has_different_indices(axis):
    def check(data, indices, updates):
        size = data.shape[axis]
        assert (-size <= indices).all()
        assert (indices < size).all()
        in_order = np.sort(indices % size, axis=axis)
        assert (np.diff(in_order, axis=axis) > 0).all()
        assert updates.shape == indices.shape

    return check


def has_different_rows(data, indices, updates):
    rows = (indices % np.array(data.shape[: indices.shape[-1]])).reshape(-1, indices.shape[-1])
    assert len({*map(tuple, rows.tolist())}) == len(rows)


def has_no_negative_pads(data, pads, value=None, axes=None):
    assert (pads >= 0).all()


def has_windows_of(shape):
    def check(x, w, b=None):
        assert w.shape[2:] == shape

    return check


def has_windows_inside(x, w, b=None):
    assert all(size + 2 >= window for size, window in zip(x.shape[2:], w.shape[2:], strict=True))


def has_caches_of(size):
    def check(x, cosines, sines, positions=None):
        assert cosines.shape[-1] == sines.shape[-1] == size

    return check


def has_caches_of_heads(x, cos, sin, positions):
    assert x.ndim != 4 or {2 * cos.shape[-1], 2 * sin.shape[-1]} == {x.shape[-1]}


def has_different_places(x, places):
    assert len({*places.ravel().tolist()}) == places.size


def has_small_matrices(x):
    assert x.shape[-1] <= 8


def has_terms(i, ij, j):
    assert i.shape + j.shape == ij.shape


VALID = [
    pytest.param(
        "RNN", {"hidden_size": 7, "direction": "bidirectional"}, has_sizes_of_an_rnn(7, 2), marks=pytest.mark.long
    ),
    ("ScatterElements", {"axis": 1}, has_different_indices(1)),
    ("ScatterElements", {"axis": -1, "reduction": "none"}, has_different_indices(-1)),
    pytest.param("ScatterND", {"reduction": "none"}, has_different_rows, marks=pytest.mark.long),
    pytest.param("Pad", {"mode": "reflect"}, has_no_negative_pads, marks=pytest.mark.long),
    ("Conv", {"kernel_shape": [4, 2], "group": 2}, has_windows_of((4, 2))),
    ("Conv", {"strides": [2, 2], "pads": [1, 1, 1, 1]}, has_windows_inside),
    ("RotaryEmbedding", {"interleaved": 1, "rotary_embedding_dim": 4}, has_caches_of(2)),
    pytest.param("RotaryEmbedding", {}, has_caches_of_heads, marks=pytest.mark.long),
    ("MaxUnpool", {"kernel_shape": [2, 2], "strides": [2, 2]}, has_different_places),
    ("Det", {}, has_small_matrices),
    ("Einsum", {"equation": "i,ij,j->"}, has_terms),
]


@pytest.mark.variants(4)
@pytest.mark.parametrize(("operator", "attributes", "check"), VALID)
def test_inputs_are_valid_for_given_attributes_also_with_other_sizes(operator, attributes, check):
    calls = []

    def refuse(*inputs):
        calls.append([None if each is None else each.copy() for each in inputs])
        raise NotImplementedError

    judge_kernel(refuse, operator, count=1, types=("float",), salt="2", **attributes)
    assert len(calls) > 20
    for inputs in calls:
        check(*inputs)


@pytest.mark.parametrize(
    ("operator", "options", "accepts"),
    [
        ("DequantizeLinear", {"types": ["int8", "uint8"]}, lambda inputs: True),
        ("QLinearMatMul", {"types": ["uint8"]}, lambda inputs: True),
        ("Resize", {"mode": "linear", "coordinate_transformation_mode": "align_corners"}, lambda each: len(each) == 4),
        ("Resize", {"mode": "nearest", "types": ["float16"]}, lambda each: len(each) == 4),
        ("Equal", {}, lambda inputs: inputs[0].dtype.kind in "OUT"),
        ("Cast", {"to": 1}, lambda inputs: inputs[0].dtype.kind in "OUT"),
    ],
)
def test_legal_types_attributes_and_inputs_are_drawn(operator, options, accepts):
    found = list(hard_inputs(operator, count=2, where=accepts, **options))
    assert len(found) == 2


@pytest.mark.parametrize("operator", ["RNN", "GRU", "LSTM"])
def test_lengths_of_sequences_fit_the_layout_beside_other_attributes(operator):
    drawn = [*hard_inputs(operator, count=12, salt="x", hidden_size=3, layout=1, clip=0.8)]
    given = [(inputs[0], inputs[4]) for inputs in drawn if len(inputs) > 4 and inputs[4] is not None]
    assert given
    assert all(lengths.shape == (x.shape[0],) and lengths.max() <= x.shape[1] for x, lengths in given)


def test_inputs_without_axes_are_arrays():
    drawn = [*hard_inputs("ReduceMax", count=30, like=[np.array(2.0)])]
    assert {type(inputs[0]) for inputs in drawn} == {np.ndarray}


def test_masks_of_attention_differ_by_sample_and_head():
    inputs = [*hard_inputs("Attention", count=60, salt="masks")]
    four = [each for each in inputs if each[0].ndim == 4 and len(each) == 4]
    assert {each[3].dtype for each in four} > {np.dtype(bool)}
    masks = [each[3] for each in inputs if len(each) > 3 and each[3] is not None]
    shapes = {each.shape[:-2] for each in masks}
    assert {(2, 1), (1, 2), (1, 4)} & shapes
    assert any(len(each) == 2 and min(each) > 1 for each in shapes)
    assert all(each.ndim in (2, 3, 4) for each in masks)


@pytest.mark.long
def test_scores_that_masks_hide_keep_their_size():
    largest = []

    def refuse(query, key, value, mask=None, past_key=None, *_):
        largest.extend(np.abs(each).max(initial=0) for each in (query, key, past_key) if each is not None)
        raise NotImplementedError

    judge_kernel(refuse, "Attention", count=1, salt="1", where=lambda inputs: len(inputs) == 6)
    assert max(largest) < 100
