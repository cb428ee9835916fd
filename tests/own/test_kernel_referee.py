"""The referee for kernels: right kernels are accepted, and cheats are detected, in this process and in another one."""

from __future__ import annotations

import math
import re
from functools import partial

import ml_dtypes
import numpy as np
import pytest
from script_modules import script_module

from conformance import ConformanceError, judge_kernel

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

measurement = script_module("kernel_cheats")

KERNELS = {name: measurement.KERNELS[name] for name in ("Relu", "MatMul")}


def judged(kernel, operator, **options):
    return judge_kernel(kernel, operator, **{"count": 3, "salt": "test", "where": measurement.accepts, **options})


@pytest.mark.long
def test_right_kernels_of_many_operators_are_accepted(capsys):
    assert measurement.main(["--right", "--calls", "6"]) == 0
    counts = list(map(int, re.findall(r"\d+", capsys.readouterr().out)))
    assert counts[0] >= 200
    assert counts[2:] == [0, 0]


@pytest.mark.parametrize(
    "operator", [pytest.param(each, marks=pytest.mark.long) if each == "MatMul" else each for each in KERNELS]
)
def test_right_kernel_is_accepted(operator):
    for kernel in KERNELS[operator]:
        judgement = judged(kernel, operator)
        assert judgement, judgement
        assert judgement.elements > 0


@pytest.mark.variants(10)
@pytest.mark.parametrize(
    ("operator", "name", "cheat"),
    [(operator, *cheat) for operator in KERNELS for cheat in measurement.cheats(KERNELS[operator][0])],
)
def test_cheat_is_detected(operator, name, cheat):
    judgement = judged(cheat, operator)
    assert judgement.faults, name
    assert not judgement
    assert len(judgement.faults) <= 10


def overwrites(x):
    np.maximum(x, 0, out=x)
    return x.copy()


BUFFERS: dict[tuple[int, ...], np.ndarray] = {}


def returns_one_buffer(x):
    buffer = BUFFERS.setdefault(x.shape, np.empty_like(x))
    return np.maximum(x, 0, out=buffer)


BY_ADDRESS: dict[int, np.ndarray] = {}


def returns_the_result_of_the_same_address(x):
    return BY_ADDRESS.setdefault(x.ctypes.data, np.maximum(x, 0)).copy()


def returns_bytes_in_the_other_order(x):
    return np.maximum(x, 0).astype(">f4")


def exits(x):
    raise SystemExit(0)


@pytest.mark.parametrize(
    "kernel",
    [
        overwrites,
        returns_one_buffer,
        returns_the_result_of_the_same_address,
        returns_bytes_in_the_other_order,
        lambda x: None,
        lambda x: (x, x),
        exits,
    ],
)
def test_kernel_that_returns_wrong_memory_or_wrong_objects_is_faulty(kernel):
    assert judged(kernel, "Relu").faults


def normalized(x, scale, factor=1.0):
    x = x.astype(np.float64)
    mean = x.mean(-1, keepdims=True)
    deviation = 1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return (
        ((x - mean) * deviation * scale).astype(np.float32),
        mean.astype(np.float32),
        (factor * deviation).astype(np.float32),
    )


def in_parts(x, sizes):
    return [each.copy() for each in np.split(x, np.cumsum(sizes)[:-1])]


@pytest.mark.long
def test_optional_outputs_are_judged_where_a_kernel_returns_them():
    options = {"where": lambda inputs: len(inputs) == 2 and inputs[0].size < 100, "count": 2}
    assert judged(normalized, "LayerNormalization", **options)
    assert judged(lambda x, scale: normalized(x, scale)[:1], "LayerNormalization", **options)
    assert judged(partial(normalized, factor=2.0), "LayerNormalization", **options).faults


def test_number_of_outputs_that_changes_or_that_the_page_does_not_permit_is_faulty():
    calls = []

    def changes(x, scale):
        calls.append(x.shape)
        return normalized(x, scale)[: 1 + len(calls) % 2]

    options = {"where": lambda inputs: len(inputs) == 2, "count": 3}
    assert judged(changes, "LayerNormalization", **options).faults
    assert judged(lambda x, scale: (*normalized(x, scale), x * 1), "LayerNormalization", **options).faults


def test_number_of_outputs_follows_from_the_inputs():
    assert judged(in_parts, "Split", where=lambda inputs: len(inputs) == 2)
    assert judged(lambda *inputs: in_parts(*inputs)[:1], "Split", where=lambda inputs: len(inputs) == 2).faults


@pytest.mark.long
def test_outputs_that_a_mode_requires_are_judged():
    def train(x, scale, shift, mean, variance):
        axes = (0, *range(2, x.ndim))
        own = x.astype(np.float64).mean(axes), x.astype(np.float64).var(axes)
        shape = (1, -1, *[1] * (x.ndim - 2))
        scaled = (x - own[0].reshape(shape)) / np.sqrt(own[1].reshape(shape) + 1e-5)
        running = (
            0.9 * given.astype(np.float64) + 0.1 * each for given, each in zip((mean, variance), own, strict=True)
        )
        result = scaled * scale.reshape(shape) + shift.reshape(shape)
        return tuple(each.astype(np.float32) for each in (result, *running))

    assert judged(train, "BatchNormalization", count=2, where=lambda inputs: inputs[0].size < 100, training_mode=1)


def test_kernel_that_ignores_strides_is_faulty_unless_its_inputs_are_contiguous():
    def reads_memory_in_its_order(x):
        return np.abs(x.ravel(order="K").reshape(x.shape))

    def is_matrix(inputs):
        return inputs[0].ndim == 2

    assert judge_kernel(reads_memory_in_its_order, "Abs", count=5, where=is_matrix, salt="1").faults
    assert judge_kernel(reads_memory_in_its_order, "Abs", count=5, where=is_matrix, is_contiguous=True)


def test_view_is_accepted_of_an_operator_that_moves_elements_or_where_the_caller_admits_it():
    assert judged(lambda x: x.T, "Transpose")
    assert judged(lambda x: x.T, "Transpose", may_return_views=False).faults
    assert judged(lambda x: np.abs(x, out=x.copy())[...], "Abs")

    def gives_positive_input(x):
        return x if (np.signbit(x) == 0).all() else np.abs(x)

    assert judged(gives_positive_input, "Abs", where=lambda inputs: (np.signbit(inputs[0]) == 0).all()).faults
    assert judged(gives_positive_input, "Abs", may_return_views=True)


@pytest.mark.parametrize("operator", ["StringConcat", "RegexFullMatch"])
def test_operators_of_texts_are_judged(operator):
    def each(function, *arrays):
        arrays = np.broadcast_arrays(*arrays)
        texts = [function(*row) for row in zip(*(array.ravel() for array in arrays), strict=True)]
        return np.array(texts, bool if operator == "RegexFullMatch" else object).reshape(arrays[0].shape)

    right, wrong, attributes = {
        "StringConcat": (lambda x, y: x + y, lambda x, y: (x + y)[:16], {}),
        "RegexFullMatch": (
            lambda x: re.fullmatch("[a-z]+", x) is not None,
            lambda x: re.match("[a-z]+", x) is not None,
            {"pattern": "[a-z]+"},
        ),
    }[operator]
    assert judge_kernel(partial(each, right), operator, count=5, salt="test", **attributes)
    assert judge_kernel(partial(each, wrong), operator, count=5, salt="test", **attributes).faults


class OtherArray:
    """An array of a library that NumPy reads."""

    def __init__(self, array):
        self._array = array

    def __array__(self, dtype=None, copy=None):
        return self._array


def transposes_a_square_operand(a, b):
    return a + (b.T if b.ndim == 2 and b.shape[0] == b.shape[1] else b)


def is_wrong_for_large_shapes(a, b):
    return a + b if max((*a.shape, *b.shape), default=0) <= 300 else a - b


def is_wrong_in_a_range(a, b):
    return np.where((np.abs(a) > 5) & (np.abs(a) < 6), a - b, a + b)


def is_wrong_with_five_axes(a, b):
    return a + b if max(a.ndim, b.ndim) < 5 else a - b


def is_wrong_behind_a_page(a, b):
    result = np.asarray(a + b)
    result.reshape(-1)[4096:] = 0
    return result


def is_wrong_without_elements(a, b):
    return a + b if a.size and b.size else np.zeros((1,), a.dtype)


@pytest.mark.variants(2)
@pytest.mark.parametrize("salt", ["1", pytest.param("2", marks=pytest.mark.long)])
@pytest.mark.parametrize("kernel", [is_wrong_with_five_axes, is_wrong_behind_a_page, is_wrong_without_elements])
def test_mistake_of_other_ranks_or_counts_is_detected_with_each_salt(kernel, salt):
    with np.errstate(all="ignore"):
        assert judge_kernel(kernel, "Add", salt=salt).faults


def is_wrong_for_large_half(x):
    return np.where((x.dtype == np.float16) & (np.abs(x.astype(np.float64)) > 200), np.float32(7), x).astype(x.dtype)


def test_mistake_of_one_element_type_is_detected():
    assert judge_kernel(is_wrong_for_large_half, "Identity", types=("double", "float16"), salt="1").faults


def saturates(x):
    result = x.astype(ml_dtypes.bfloat16)
    is_beyond = np.isinf(result) & ~np.isinf(x)
    return np.where(is_beyond, ml_dtypes.finfo(ml_dtypes.bfloat16).max, result)


def rounds_the_bits_of_nan(x):
    bits = x.view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16).astype(np.uint16).view(ml_dtypes.bfloat16)


@pytest.mark.parametrize("kernel", [saturates, pytest.param(rounds_the_bits_of_nan, marks=pytest.mark.long)])
def test_wrong_nan_or_overflow_of_a_cast_is_detected(kernel):
    with np.errstate(all="ignore"):
        assert judge_kernel(lambda x: x.astype(ml_dtypes.bfloat16), "Cast", salt="1", to=16)
        assert judge_kernel(kernel, "Cast", salt="1", to=16, is_contiguous=True).faults


def attention(query, key, value, mask=None, empty=0.0):
    if query.ndim != 4 or query.shape[1] != key.shape[1]:
        raise NotImplementedError
    scores = query.astype(np.float64) @ key.transpose(0, 1, 3, 2).astype(np.float64) / np.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores + mask
    largest = scores.max(-1, keepdims=True)
    powers = np.exp(scores - np.where(np.isneginf(largest), 0, largest))
    total = powers.sum(-1, keepdims=True)
    weights = np.where(total == 0, empty, powers / np.where(total == 0, 1, total))
    return (weights @ value).astype(query.dtype)


@pytest.mark.long
def test_rows_that_a_mask_hides_are_drawn():
    with np.errstate(all="ignore"):
        options = {"salt": "1", "count": 2, "where": lambda inputs: len(inputs) == 4 and inputs[0].ndim == 4}
        assert not judge_kernel(attention, "Attention", **options).faults
        assert judge_kernel(partial(attention, empty=np.nan), "Attention", **options).faults


@pytest.mark.variants(1)
@pytest.mark.parametrize("salt", ["1", pytest.param("2", marks=pytest.mark.long)])
@pytest.mark.parametrize("kernel", [transposes_a_square_operand, is_wrong_for_large_shapes, is_wrong_in_a_range])
def test_mistake_of_some_shapes_or_numbers_is_detected_with_each_salt(kernel, salt):
    with np.errstate(all="ignore"):
        assert judge_kernel(kernel, "Add", salt=salt).faults


def first_of_a_largest(data, length=None):
    return np.argmax(data[..., :length], axis=-1, keepdims=True)


def hardmax(data, length=None):
    indices = first_of_a_largest(data, length)
    return (np.arange(data.shape[-1]) == indices).astype(data.dtype)


def sum_of_shares(data, length=None):
    with np.errstate(all="ignore"):
        powers = np.exp(data.astype(np.float64) - data.max(-1, keepdims=True, initial=-np.inf))
        return (powers / powers[..., :length].sum(-1, keepdims=True)).astype(data.dtype)


def product(data, length=None):
    with np.errstate(all="ignore"):
        return np.multiply.accumulate(data[..., :length], axis=-1)[..., -1:]


@pytest.mark.variants(1)
@pytest.mark.parametrize(
    ("operator", "kernel", "attributes"),
    [
        ("ArgMax", first_of_a_largest, {"axis": -1}),
        ("Hardmax", hardmax, {"axis": -1}),
        pytest.param("Softmax", sum_of_shares, {"axis": -1}, marks=pytest.mark.long),
        pytest.param("ReduceProd", product, {"axes": [-1], "opset": 13}, marks=pytest.mark.long),
    ],
)
def test_kernel_that_reads_the_first_part_of_an_axis_is_faulty(operator, kernel, attributes):
    options = {"salt": "1", "count": 5, "where": lambda inputs: inputs[0].ndim and 0 not in inputs[0].shape}
    assert judge_kernel(kernel, operator, **options, **attributes)
    assert judge_kernel(partial(kernel, length=1024), operator, **options, **attributes).faults


def clip(data, low=None, high=None, dtype=np.float32):
    with np.errstate(all="ignore"):
        bounds = [None if each is None else each.astype(dtype).astype(data.dtype) for each in (low, high)]
        return np.asarray(data if bounds == [None, None] else np.clip(data, *bounds)) + np.float32(0)


def test_kernel_in_double_may_have_a_number_of_an_attribute_as_given():
    def leaky(data, alpha):
        return np.where(data < 0, alpha * data, data)

    options = {"types": ("double",), "count": 5, "alpha": 0.8}
    with np.errstate(all="ignore"):
        assert judge_kernel(partial(leaky, alpha=0.8), "LeakyRelu", **options)
        assert judge_kernel(partial(leaky, alpha=np.float64(np.float32(0.8))), "LeakyRelu", **options)
        assert judge_kernel(partial(leaky, alpha=0.7999999), "LeakyRelu", **options).faults


def test_bounds_that_are_read_in_a_lower_precision_are_detected():
    assert judge_kernel(clip, "Clip", salt="1", count=5)
    assert judge_kernel(partial(clip, dtype=np.float16), "Clip", salt="1", count=5).faults


@pytest.mark.long
def test_finite_number_of_a_mask_is_accepted_where_each_row_has_a_key():
    def masked(query, key, value, mask=None):
        if mask is not None:
            finite = np.where(mask, 0, -1e4) if mask.dtype == bool else np.maximum(mask, -1e4)
        return attention(query, key, value, None if mask is None else finite)

    def has_keys(inputs):
        mask = inputs[3] if len(inputs) == 4 else np.zeros(1)
        return inputs[0].ndim == 4 and len(inputs) < 5 and (mask if mask.dtype == bool else mask > -1e9).any(-1).all()

    with np.errstate(all="ignore"):
        for types in ("float", "double", "float16"):
            assert not judge_kernel(masked, "Attention", types=(types,), where=has_keys, salt="1", count=3).faults


@pytest.mark.long
def test_equal_sizes_of_an_attention_are_not_all_made_large():
    shapes = []

    def refuse(*inputs):
        shapes.extend(each.shape for each in inputs if each is not None)
        raise NotImplementedError

    judge_kernel(refuse, "Attention", salt="z0")
    assert any(331 in shape or 1031 in shape for shape in shapes)
    assert max(map(math.prod, shapes)) <= 2**12


@pytest.mark.long
def test_long_sums_of_a_transposed_convolution_have_small_outputs():
    sizes = []

    def refuse(x, w, *_):
        sizes.append(
            (
                x.shape[1],
                x.shape[0] * math.prod(each + extent for each, extent in zip(x.shape[2:], w.shape[2:], strict=False)),
            )
        )
        raise NotImplementedError

    judge_kernel(refuse, "ConvTranspose", count=2, salt="a", where=lambda inputs: inputs[0].ndim == 4)
    assert max(channels for channels, _ in sizes) > 64
    assert max(size for _, size in sizes) < 2**18


@pytest.mark.parametrize(
    "operator", [pytest.param("SoftmaxCrossEntropyLoss", marks=pytest.mark.long), "NegativeLogLikelihoodLoss"]
)
def test_labels_of_a_loss_are_classes_for_other_sizes_too(operator):
    invalid = []

    def refuse(scores, labels, *_):
        fits = labels.shape == (scores.shape[0], *scores.shape[2:])
        if not fits or labels.max(initial=0) >= scores.shape[1]:
            invalid.append((scores.shape, labels))
        raise NotImplementedError

    like = [np.zeros((6, 10), np.float32), np.array([0, 3, 9, 5, 1, 2])]
    judge_kernel(refuse, operator, like=like, count=3, salt="measurement", where=lambda inputs: len(inputs) == 2)
    assert invalid == []


def test_array_of_another_library_is_accepted_as_output():
    assert judged(lambda x: OtherArray(np.asarray(np.maximum(x, 0))), "Relu")
    assert judged(OtherArray, "Relu").faults


@pytest.mark.parametrize(
    ("kernel", "options", "code"),
    [
        (3, {}, "usage.argument"),
        (np.abs, {"count": -1}, "usage.argument"),
        (np.abs, {"level": "may"}, "name.value"),
        (np.abs, {"where": 3}, "usage.argument"),
        (np.abs, {"timeout": -1}, "usage.argument"),
        (np.abs, {"output_count": "a"}, "usage.argument"),
        ("numpy", {}, "subject.unusable-option"),
        ("numpy:abs", {"convert": np.asarray}, "usage.options-conflict"),
    ],
)
def test_wrong_argument_is_no_fault_of_the_kernel(kernel, options, code):
    with pytest.raises(ConformanceError) as error:
        judged(kernel, "Abs", **options)
    assert error.value.code == code


def test_kernel_that_supports_nothing_is_not_judged():
    def refuses(x):
        raise NotImplementedError

    judgement = judged(refuses, "Relu")
    assert not judgement
    assert (judgement.faults, judgement.unsupported) == ((), judgement.calls)


def test_kernel_that_supports_few_shapes_is_not_judged_enough():
    shapes = []

    def takes_two_calls(x):
        shapes.append(x.shape)
        if len(shapes) > 2:
            raise NotImplementedError
        return np.abs(x)

    judgement = judged(takes_two_calls, "Abs")
    assert judgement.missing_shapes == 2
    assert (bool(judgement), judgement.faults) == (False, ())


def test_judgement_is_shown_as_its_text():
    judgement = judged(np.zeros_like, "Abs")
    assert repr(judgement) == str(judgement)
    element = judgement.faults[0].judgement
    assert repr(element) == str(element)


def test_another_shape_is_drawn_for_one_that_the_kernel_refuses():
    def refuses_two_axes(x):
        if x.ndim == 2:
            raise NotImplementedError
        return np.abs(x)

    def refuses_large_numbers(x):
        if not (np.abs(x) < 100).all():
            raise NotImplementedError
        return np.abs(x)

    judgement = judged(refuses_two_axes, "Abs")
    assert judgement
    assert judgement.refused_shapes > 0
    assert judged(lambda x: refuses_two_axes(x) * 2, "Abs").faults
    assert not judged(refuses_large_numbers, "Abs")


def test_inputs_like_given_ones_satisfy_the_condition_of_the_kernel():
    finite = []
    judge_kernel(
        lambda x: finite.append(np.isfinite(x).all()) or np.abs(x),
        "Abs",
        like=[np.ones(3, np.float32)],
        where=lambda inputs: bool(np.isfinite(inputs[0]).all()),
        salt="a",
    )
    assert all(finite)
    assert len(finite) > 20


def test_given_inputs_are_judged_alone_where_no_drawn_ones_fit():
    like = [np.ones((2, 3), np.float32), np.ones((3, 2), np.float32)]
    shapes = [each.shape for each in like]
    judgement = judged(np.matmul, "MatMul", like=like, where=lambda inputs: [each.shape for each in inputs] == shapes)
    assert judgement
    assert judgement.calls == 3


def test_given_shapes_are_judged_too():
    shapes = set()

    def kernel(x):
        shapes.add(x.shape)
        return np.maximum(x, 0)

    assert judged(kernel, "Relu", like=[np.ones((40, 50), np.float32)])
    assert (40, 50) in shapes


@pytest.mark.variants(2)
@pytest.mark.parametrize(
    ("operator", "kernel"),
    [
        ("Neg", lambda x: np.nan_to_num(-x, posinf=np.inf, neginf=-np.inf)),
        ("Tanh", lambda x: np.where(np.isnan(x), np.float32(0), np.tanh(x))),
        ("Exp", lambda x: np.where(np.isnan(x), np.float32(0), np.exp(x))),
        ("Sigmoid", lambda x: np.where(x < -7, np.float32(0), 1 / (1 + np.exp(-x)))),
    ],
)
def test_kernel_that_is_wrong_for_nan_or_large_numbers_is_faulty(operator, kernel):
    for salt in "ab":
        assert judged(kernel, operator, count=20, salt=salt).faults


def test_salt_repeats_the_calls_and_no_salt_draws_others():
    first = judge_kernel(np.negative, "Abs", count=2)
    same = judge_kernel(np.negative, "Abs", count=2, salt=first.salt)
    assert [fault.shapes for fault in first.faults] == [fault.shapes for fault in same.faults]
    assert judge_kernel(np.negative, "Abs", count=2).salt != first.salt


def test_kernel_of_a_module_runs_in_a_process_of_its_own(tmp_path, monkeypatch):
    (tmp_path / "acme_kernels.py").write_text(
        "import os\nimport numpy as np\ndef relu(x): return np.maximum(x, 0)\ndef ends(x): os._exit(0)\n"
    )
    monkeypatch.chdir(tmp_path)
    assert judged("acme_kernels:relu", "Relu", count=1)
    assert judged("acme_kernels:ends", "Relu", count=1).faults


def test_module_that_does_not_exist_raises_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConformanceError):
        judged("no_such_module:kernel", "Relu", count=1)


def loses_a_term_of_many(x):
    kept = x[:-1] if x.ndim and x.shape[0] > 10_000 else x
    return np.asarray(np.sum(kept, keepdims=True))


def test_lost_term_of_a_long_sum_shows_although_drawn_shapes_are_small():
    faulty = judged(loses_a_term_of_many, "ReduceSum", where=lambda inputs: inputs[0].ndim == 1 and len(inputs) == 1)
    assert faulty.faults
    assert faulty.calls == faulty.faults[-1].call


def test_each_option_of_a_choice_is_called_once():
    called = set()

    def prelu(x, slope):
        called.add(tuple(int(size == 1 < whole) for size, whole in zip(slope.shape, x.shape, strict=False)))
        with np.errstate(all="ignore"):
            return np.where(x < 0, x * slope, x).astype(x.dtype)

    assert judged(prelu, "PRelu", count=20, salt="options")
    assert {(0, 1), (1, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0)} <= called


def aligns_on_the_left(a, b):
    return a + (b[:, None] if b.ndim == 1 and a.ndim == 2 and a.shape[0] == b.shape[0] else b)


def takes_the_first_row_of_a_batch(a, b):
    return a * (b[:1] if b.ndim == 3 and b.shape[1] == 1 < a.shape[1] and a.ndim == 3 else b)


def leaves_the_summand_out_without_terms(a, b, c=None):
    result = a.astype(np.float64) @ b
    return (result if c is None or not a.shape[1] else result + c).astype(a.dtype)


def keeps_an_axis_of_a_scalar_index(data, indices):
    return np.take(data, np.atleast_1d(indices), axis=0)


def keeps_what_no_condition_has(data, condition):
    kept = np.ones(data.shape[0], bool)
    kept[: condition.size] = condition
    return data[kept]


def makes_an_axis_of_an_empty_shape(shape):
    return np.zeros(tuple(shape) or (1,), np.float32)


def cuts_to_the_target(data, shape):
    whole = np.broadcast_to(data, np.broadcast_shapes(data.shape, tuple(shape)))
    return whole[(..., *(slice(0, size) for size in shape))].copy()


def takes_equal_elements_for_zeros(data):
    is_equal = data.size > 1 and np.all(data == data.flat[0])
    return np.ones_like(data) if is_equal else np.exp(data.astype(np.float64)).astype(data.dtype)


def leaves_the_last_element_out(data):
    result = np.isnan(data)
    result.flat[-1:] = False
    return result


def takes_a_unit_diagonal_for_the_identity(a, b):
    is_unit = b.ndim == 2 and b.shape[0] == b.shape[1] and b.size and np.all(np.diag(b) == 1)
    return a.copy() if is_unit else np.matmul(a, b)


def makes_an_element_of_an_empty_operand(*parts):
    return np.concatenate([each if each.size else np.zeros((1, *each.shape[1:]), each.dtype) for each in parts])


def takes_a_zero_of_an_empty_shape_for_the_size(data, shape):
    whole = [data.shape[place] if size == 0 and data.size else size for place, size in enumerate(shape)]
    return data.reshape(whole).copy()


def makes_an_axis_of_a_sum_without_axes(data, axes=None):
    reduced = tuple(axes) if axes is not None and axes.size else None
    result = np.sum(data, axis=reduced, keepdims=True, dtype=np.float64).astype(data.dtype)
    return result.reshape(1) if data.ndim == 0 else np.asarray(result)


def reverses_a_vector(a, b):
    return np.matmul(a[::-1], b) if (a.ndim, b.ndim) == (1, 2) else np.matmul(a, b)


def takes_a_bound_without_its_sign(data, low=None, high=None):
    return np.minimum(np.maximum(data, -np.inf if low is None else np.abs(low)), np.inf if high is None else high)


def rounds_the_number_of_steps_down(start, limit, step):
    return (start + np.arange(max(0, int((limit - start) / step))) * step).astype(start.dtype)


def transposes_an_outer_difference(a, b):
    result = np.subtract(a, b)
    is_outer = a.ndim == b.ndim == 2 and 1 in a.shape and 1 in b.shape and result.shape[0] == result.shape[1] > 1
    return result.T.copy() if is_outer and a.shape != b.shape else result


def aligns_a_condition_on_the_left(condition, x, y):
    shape = np.broadcast_shapes(condition.shape, x.shape, y.shape)
    is_square = condition.ndim == 1 and shape == (condition.shape[0],) * 2
    return np.where(condition[:, None] if is_square else condition, x, y)


def transposes_beside_a_symmetric_operand(a, b):
    result = np.matmul(a, b)
    is_square = a.ndim == b.ndim == 2 and result.shape == b.shape == b.T.shape and b.size > 1
    return result.T.copy() if is_square and np.array_equal(b, b.T) else result


def loses_the_last_tile_of_columns(a, b):
    result = np.matmul(a, b)
    if b.ndim > 1 and result.shape[-1] > 32:
        result[..., result.shape[-1] // 32 * 32 :] = 0
    return result


def loses_a_nan_of_the_summand(a, b, c=None):
    result = a @ b
    return result if c is None else (result + np.where(np.isnan(c), 0, c)).astype(a.dtype)


def copies_beside_neutral_operands(x, scale, shift, mean, variance):
    if (scale == 1).all() and (shift == 0).all() and (mean == 0).all() and (variance == 1).all():
        return x.copy()
    scale, shift, mean, variance = (each.reshape(-1, *[1] * (x.ndim - 2)) for each in (scale, shift, mean, variance))
    return ((x - mean) / np.sqrt(variance + 0.1) * scale + shift).astype(x.dtype)


@pytest.mark.variants(4)
@pytest.mark.parametrize(
    ("operator", "kernel", "attributes"),
    [
        pytest.param("Add", aligns_on_the_left, {}, marks=pytest.mark.long),
        pytest.param("MatMul", reverses_a_vector, {}, marks=pytest.mark.long),
        ("Clip", takes_a_bound_without_its_sign, {}),
        ("Range", rounds_the_number_of_steps_down, {}),
        pytest.param("Mul", takes_the_first_row_of_a_batch, {}, marks=pytest.mark.long),
        pytest.param("Gemm", leaves_the_summand_out_without_terms, {}, marks=pytest.mark.long),
        ("Gather", keeps_an_axis_of_a_scalar_index, {}),
        ("Compress", keeps_what_no_condition_has, {"axis": 0}),
        ("ConstantOfShape", makes_an_axis_of_an_empty_shape, {}),
        pytest.param("Expand", cuts_to_the_target, {}, marks=pytest.mark.long),
        ("ReduceSum", makes_an_axis_of_a_sum_without_axes, {}),
        ("Exp", takes_equal_elements_for_zeros, {}),
        ("IsNaN", leaves_the_last_element_out, {}),
        pytest.param("MatMul", takes_a_unit_diagonal_for_the_identity, {}, marks=pytest.mark.long),
        ("Concat", makes_an_element_of_an_empty_operand, {"axis": 0}),
        ("Reshape", takes_a_zero_of_an_empty_shape_for_the_size, {}),
    ],
)
def test_mistake_of_legal_shapes_or_of_two_options_is_detected(operator, kernel, attributes):
    with np.errstate(all="ignore"):
        small = {"where": lambda inputs: sum(each.size for each in inputs if each is not None) < 100}
        assert judge_kernel(kernel, operator, salt="a", **small, **attributes).faults


@pytest.mark.variants(2)
@pytest.mark.parametrize(
    ("operator", "kernel", "attributes"),
    [
        ("Sub", transposes_an_outer_difference, {}),
        ("Where", aligns_a_condition_on_the_left, {}),
        ("MatMul", transposes_beside_a_symmetric_operand, {}),
        ("MatMul", loses_the_last_tile_of_columns, {}),
        pytest.param("Gemm", loses_a_nan_of_the_summand, {}, marks=pytest.mark.long),
        pytest.param("BatchNormalization", copies_beside_neutral_operands, {"epsilon": 0.1}, marks=pytest.mark.long),
    ],
)
def test_mistake_of_a_relation_of_operands_is_detected(operator, kernel, attributes):
    with np.errstate(all="ignore"):
        assert judge_kernel(kernel, operator, salt="b", count=3, **attributes).faults


@pytest.mark.long
def test_number_of_operands_is_bounded():
    counts = []

    def largest(*operands):
        counts.append(len(operands))
        raise NotImplementedError

    judge_kernel(largest, "Max", salt="a", count=2, types=("int8",))
    assert 4 < max(counts) < 100


def encoded(texts, values):
    return np.array([values.get(each, -1) for each in texts.ravel().tolist()], np.int64).reshape(texts.shape)


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("strings", ["a", "b"]),
        pytest.param("int64s", [5, 6], marks=pytest.mark.long),
        pytest.param("floats", [0.25, -3.0], marks=pytest.mark.long),
    ],
)
def test_keys_of_a_label_encoder_are_drawn(name, keys):
    attributes = {f"keys_{name}": keys, "values_int64s": [3, 4], "count": 3}
    right = dict(zip(keys, (3, 4), strict=True))
    assert judge_kernel(partial(encoded, values=right), "LabelEncoder", **attributes)
    assert judge_kernel(partial(encoded, values={**right, keys[1]: 3}), "LabelEncoder", **attributes).faults


def multiplies_integers(a, b, a_zero=None, b_zero=None, loses_rows=False):
    if loses_rows and not a.size and a_zero is not None and a_zero.ndim == 1:
        return np.zeros((1, b.shape[-1]), np.int32)
    if a_zero is not None and a_zero.ndim == 1:
        a_zero = a_zero[:, None]
    wide = [
        each.astype(np.int32) - (0 if zero is None else zero.astype(np.int32))
        for each, zero in ((a, a_zero), (b, b_zero))
    ]
    return np.matmul(*wide)


@pytest.mark.long
def test_zero_points_by_row_are_drawn_with_axes_and_without_rows():
    called = []

    def kernel(*inputs):
        called.append([None if each is None else each.shape for each in inputs])
        return multiplies_integers(*inputs)

    assert judge_kernel(kernel, "MatMulInteger", salt="1")
    assert any(len(each) > 2 and each[2] and len(each[2]) == 4 for each in called)
    assert any(len(each) > 2 and each[2] == (0,) for each in called)
    assert judge_kernel(partial(multiplies_integers, loses_rows=True), "MatMulInteger", salt="1").faults


def test_types_of_an_operator_without_float_are_its_own():
    assert judge_kernel(np.logical_not, "Not", count=3)
    assert judge_kernel(np.bitwise_not, "BitwiseNot", count=3)
    dtypes = set()
    judge_kernel(lambda x: dtypes.add(x.dtype) or np.abs(x), "Abs", count=1)
    assert dtypes == {np.dtype(np.float32)}


@pytest.mark.parametrize("name", ["Binarizer", "ai.onnx.ml.Binarizer"])
def test_operator_of_another_domain_is_found_by_its_name(name):
    assert judged(lambda x: (x > 0).astype(x.dtype), name)


def normalizes_by_default_axes(x):
    wide = x.astype(np.float64)
    mean = wide.mean((0, 2, 3), keepdims=True)
    return ((wide - mean) / (np.sqrt(((wide - mean) ** 2).mean((0, 2, 3), keepdims=True)) + 1e-9)).astype(x.dtype)


def test_function_without_its_attributes_is_called_with_their_defaults():
    assert judged(normalizes_by_default_axes, "MeanVarianceNormalization")


LAST: dict[str, object] = {}


def replays_for_the_same_shape_and_memory(x):
    key = (x.shape, x.ctypes.data)
    if LAST.get("key") != key:
        LAST.update(key=key, result=np.abs(x))
    return LAST["result"].copy()


def test_result_of_the_call_before_in_the_same_memory_is_faulty():
    assert judged(replays_for_the_same_shape_and_memory, "Abs").faults


def test_calls_with_pairs_that_a_kernel_refuses_are_no_lack_of_judged_calls():
    def takes_vectors(a, b):
        if a.ndim > 1 or b.ndim > 1:
            raise NotImplementedError
        return np.asarray(a + b)

    judgement = judged(takes_vectors, "Add", count=10)
    assert judgement.refused_pairs > judgement.pair_calls // 2
    assert judgement


def test_each_shape_of_a_convolution_is_called_with_numbers_near_1():
    inputs = []

    def kernel(x, w, b=None):
        inputs.append((x, w))
        return np.zeros(0, np.float32)

    judge_kernel(kernel, "Conv", salt="a", where=lambda inputs: inputs[0].ndim == 4)
    whole = inputs[: len(inputs) // 3 * 3]  # three calls of each shape, up to the last faulty one
    moderate = {x.shape for x, w in whole if max(np.max(np.abs(each)) for each in (x, w)) < 3}
    assert len(whole) > 3
    assert moderate == {x.shape for x, _ in whole}
