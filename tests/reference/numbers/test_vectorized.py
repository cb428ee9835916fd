"""Vectorised evaluation has the same bits as evaluation with decimals, and decides almost all elements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_node_models import one_node_model

from conformance.models.arrays import BFLOAT16_DTYPE, FLOAT_FORMATS, type_name
from conformance.reference import oracle
from conformance.reference.numbers import vectorized
from conformance.reference.tolerances import ACCURACY_GRADES
from conformance.verdicts import Level, Unsupported

BINARY = ("Add", "Sub", "Mul", "Div")
TYPES = {type_name(dtype): dtype for dtype in map(np.dtype, (np.float32, np.float16, np.float64, BFLOAT16_DTYPE))}
LEVELS = (Level.MUST, Level.SHOULD)
SIZE = 600
OPERATORS_AND_TYPES = [
    (op_type, name)
    for op_type in sorted(vectorized.OPERATORS)
    for name in TYPES
    if name != "double" or op_type in vectorized.DOUBLE_OPERATORS
]


# Operands


def random_bits(rng, dtype, size):
    bits = rng.integers(0, 2 ** (8 * dtype.itemsize), size, dtype=np.uint64)
    return bits.astype(f"u{dtype.itemsize}").view(dtype)


def special_values(rng, dtype, size):
    format = FLOAT_FORMATS[type_name(dtype)]
    largest, normal, step = map(float, (format.largest, format.smallest_normal, format.smallest_subnormal))
    u = float(format.unit_roundoff)
    positive = [
        *(0.0, 0.5, 1.0, 2.0, 3.0, 100.0, 1e4, 3e4, np.inf, np.nan, largest, largest / 2, normal, step, 3 * step),
        *(1 + 2 * u, 1 - u, normal * (1 + 2 * u), normal * (1 - 2 * u), normal / 2, 0.5 * normal + step),
        *(2.0 ** (format.largest_exponent // 2), 2.0 ** -(format.largest_exponent // 2)),
        *(88.72, 88.73, 87.33, 103.97, 104.0, 11.09, 9.7, 16.6, 17.4, 599.0, 601.0, 800.0, 801.0, 1e3, 2300.0, 6e4),
    ]
    return rng.choice([*positive, *(-value for value in positive)], size).astype(dtype)


def normal_values(rng, dtype, size):
    return rng.standard_normal(size).astype(dtype)


def wide_values(rng, dtype, size):
    exponent = min(FLOAT_FORMATS[type_name(dtype)].largest_exponent, 290)
    magnitudes = rng.uniform(1, 2, size) * 2.0 ** rng.uniform(-exponent - 10, exponent, size)
    return (rng.choice([-1, 1], size) * magnitudes).astype(dtype)


def coarse_values(rng, dtype, size):
    """Values of few bits: sums, products, quotients and roots are often exact, or ties."""
    return (rng.integers(-64, 64, size) / rng.choice([1, 2, 4, 8, 2**10], size)).astype(dtype)


def values_near_one(rng, dtype, size):
    return (1 + rng.standard_normal(size) * 2.0 ** -rng.integers(0, 24, size)).astype(dtype)


KINDS = (random_bits, special_values, normal_values, wide_values, coarse_values, values_near_one)


def draw_operands(op_type, dtype, seed, size=SIZE):
    """Return operands of all kinds, each kind of the first with each kind of the second operand."""
    rng = np.random.default_rng(seed)
    operands = []
    for _ in range(2 if op_type in BINARY else 1):
        with np.errstate(all="ignore"):
            operand = np.concatenate([kind(rng, dtype, size // len(KINDS)) for kind in KINDS])
        operands.append(rng.permutation(operand))
    return operands


# Comparison of both evaluations


@pytest.fixture
def decided(monkeypatch):
    """Use vectorised evaluation for any number of elements; return the list of its results."""
    monkeypatch.setattr(oracle, "MIN_VECTORIZED_ELEMENTS", 1)
    results, evaluate = [], vectorized.evaluate
    monkeypatch.setattr(vectorized, "evaluate", lambda *given: results.append(evaluate(*given)) or results[-1])
    return results


def answer_with_decimals(model, inputs, level, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(oracle, "MIN_VECTORIZED_ELEMENTS", float("inf"))
        return oracle.answers(model, inputs, level)[0]


def bits_of(array):
    return None if array is None else (array.shape, array.dtype, array.tobytes())


def assert_same_answers(op_type, inputs, level, monkeypatch):
    model = one_node_model(op_type, inputs)
    try:
        slow = answer_with_decimals(model, inputs, level, monkeypatch)
    except Unsupported:
        with pytest.raises(Unsupported):
            oracle.answers(model, inputs, level)
        return
    (fast,) = oracle.answers(model, inputs, level)
    for name in ("expected", "bound", "determinate_mask", "choices"):
        assert bits_of(getattr(fast, name)) == bits_of(getattr(slow, name)), name
    assert fast.indeterminacy == slow.indeterminacy


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("op_type", "name"), OPERATORS_AND_TYPES)
def test_vectorised_answer_has_the_bits_of_the_answer_with_decimals(op_type, name, level, decided, monkeypatch):
    operands = draw_operands(op_type, TYPES[name], seed=29)
    assert_same_answers(op_type, operands, level, monkeypatch)
    assert decided[-1] is not None


@pytest.mark.parametrize("op_type", sorted(vectorized.OPERATORS))
@given(data=st.data())
def test_vectorised_answer_for_any_floats_has_the_same_bits(op_type, data):
    count = 2 if op_type in BINARY else 1
    rows = data.draw(st.lists(st.tuples(*[st.floats(width=32)] * count), min_size=1, max_size=8))
    operands = [np.array(column, dtype=np.float32) for column in zip(*rows, strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(oracle, "MIN_VECTORIZED_ELEMENTS", 1)
        for level in LEVELS:
            assert_same_answers(op_type, operands, level, patch)


def sums_near_the_midpoint_of_floats(rng, size):
    """The exact sum is a tie, or differs from it by as little as a float can."""
    a = rng.uniform(1, 2, size).astype(np.float32)
    b = np.float32(2.0**-24) * rng.choice([1, -1, 1 + 2.0**-23, 1 - 2.0**-24, 2.0**-30, 1.5], size).astype(np.float32)
    return [a, b.astype(np.float32)]


def products_near_the_smallest_normal_value(rng, size):
    a = rng.uniform(0.9, 1.1, size).astype(np.float32) * np.float32(2.0**-60)
    return [a, (np.float32(2.0**-66) / (a * np.float32(2.0**60)) * rng.choice([1, 0.9, 1.1], size)).astype(np.float32)]


def products_near_the_overflow_threshold(rng, size):
    a = rng.uniform(0.9, 1.1, size).astype(np.float32) * np.float32(2.0**64)
    return [a, (np.float32(2.0**64) / (a / np.float32(2.0**64)) * rng.choice([1, 1 - 2.0**-24])).astype(np.float32)]


def masked_values(rng, size):
    """The masks of attention: most negative value or minus infinity, added to small numbers."""
    masks = rng.choice([np.finfo(np.float32).min, -np.inf, 0, -1e4, -1e9], size).astype(np.float32)
    return [masks, rng.standard_normal(size).astype(np.float32)]


def quotients_near_the_smallest_normal_value(rng, size):
    return [rng.uniform(0.9, 1.1, size).astype(np.float32) * np.float32(2.0**-100), np.full(size, 2.0**26, np.float32)]


HARD = [
    ("Add", sums_near_the_midpoint_of_floats),
    ("Add", masked_values),
    ("Sub", masked_values),
    ("Mul", products_near_the_smallest_normal_value),
    ("Mul", products_near_the_overflow_threshold),
    ("Mul", masked_values),
    ("Div", quotients_near_the_smallest_normal_value),
    ("Exp", lambda rng, size: [np.float32(88.7228) + rng.integers(-99, 99, size).astype(np.float32) * 2.0**-17]),
    ("Exp", lambda rng, size: [rng.uniform(-104.5, -86, size).astype(np.float32)]),
    ("Exp", lambda rng, size: [-np.exp(rng.uniform(4, 9, size)).astype(np.float32)]),
    ("Sqrt", lambda rng, size: [np.arange(size, dtype=np.float32) ** 2]),
    ("Log", lambda rng, size: [(1 + np.arange(-size // 2, size // 2) * 2.0**-24).astype(np.float32)]),
]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("op_type", "draw"), HARD, ids=lambda given: getattr(given, "__name__", given))
def test_vectorised_answer_for_hard_operands_has_the_same_bits(op_type, draw, level, decided, monkeypatch):
    operands = [operand.astype(np.float32) for operand in draw(np.random.default_rng(7), SIZE)]
    assert_same_answers(op_type, operands, level, monkeypatch)
    assert decided[-1].is_decided.any()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ["float", "bfloat16"])
@pytest.mark.parametrize("op_type", sorted(vectorized.OPERATORS))
def test_almost_all_usual_values_are_decided(op_type, name, level, decided):
    rng = np.random.default_rng(0)
    operands = [rng.uniform(0.01, 10, 5000).astype(TYPES[name]) for _ in range(2 if op_type in BINARY else 1)]
    oracle.answers(one_node_model(op_type, operands), operands, level)
    # Bounds of quotients of few bits are often doubles, although the quotients are not.
    assert decided[-1].is_decided.mean() >= (0.98 if (op_type, name) == ("Div", "bfloat16") else 0.999)


@pytest.mark.parametrize("level", LEVELS)
def test_broadcast_operands_and_initializer_shapes_give_the_same_answer(level, decided, monkeypatch):
    rng = np.random.default_rng(1)
    operands = [rng.standard_normal(shape).astype(np.float32) for shape in ((3, 1, 5), (4, 1))]
    assert_same_answers("Mul", operands, level, monkeypatch)
    assert len(decided) == 1


def test_operator_called_as_a_function_is_not_vectorised(decided):
    import onnx

    operand = np.ones(200, np.float32)
    model = onnx.load_model_from_string(one_node_model("Exp", [operand]))
    body = [onnx.helper.make_node("Exp", ["X"], ["Y"])]
    imports = [onnx.helper.make_opsetid("", 13)]
    model.functions.append(onnx.helper.make_function("own", "Exp", ["X"], ["Y"], body, imports))
    model.opset_import.append(onnx.helper.make_opsetid("own", 1))
    model.graph.node[0].domain = "own"
    (answer,) = oracle.answers(model.SerializeToString(), [operand], Level.MUST)
    assert answer.expected.shape == (200,)
    assert not decided


@pytest.mark.parametrize("grades", ACCURACY_GRADES.values(), ids=list(ACCURACY_GRADES))
@pytest.mark.parametrize("op_type", ["Add", "Div", "Sqrt", "Exp"])
def test_bounds_for_an_accuracy_have_the_same_bits(op_type, grades, decided, monkeypatch):
    operands = draw_operands(op_type, TYPES["float"], seed=3, size=120)
    model = one_node_model(op_type, operands, dtype=np.float32)
    (fast,) = oracle.bounds_for_accuracy(grades, model, operands, Level.MUST)
    monkeypatch.setattr(oracle, "MIN_VECTORIZED_ELEMENTS", float("inf"))
    (slow,) = oracle.bounds_for_accuracy(grades, model, operands, Level.MUST)
    assert bits_of(fast) == bits_of(slow)
    assert len(decided) == 1


def test_operands_of_no_common_shape_are_refused_as_before(decided):
    operands = [np.ones(70, np.float32), np.ones(71, np.float32)]
    with pytest.raises(ValueError, match="shape"):
        oracle.answers(one_node_model("Add", operands), operands, Level.MUST)
    assert not decided
