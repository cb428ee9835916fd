"""The primitive operators and functions: exact values by fractions and mpmath, enclosure of other evaluations."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import mpmath
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper
from reference_models import declared, excess, model_of, native, nearest

from conformance.reference.oracle import answers
from conformance.verdicts import Level, Unsupported

law = settings(max_examples=60, deadline=None, derandomize=True)
both_levels = pytest.mark.parametrize("level", [Level.MUST, Level.SHOULD])

TYPES = {np.dtype(np.float32): onnx.TensorProto.FLOAT, np.dtype(np.float64): onnx.TensorProto.DOUBLE}


def model_for(op_type, inputs, *, dtype=None, opset=13, **attributes):
    named = {f"input_{place}": array for place, array in enumerate(inputs)}
    elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype or inputs[0].dtype))
    return model_of([helper.make_node(op_type, [*named], ["Y"], **attributes)], named, {"Y": elem_type}, opset=opset)


def judged(op_type, *inputs, level=Level.SHOULD, **options):
    """What one primitive on these inputs may give."""
    inputs = [np.asarray(array) for array in inputs]
    return answers(model_for(op_type, inputs, **options), inputs, level)[0]


def computed(op_type, *inputs, **options):
    """What the reference backend gives."""
    inputs = [np.asarray(array) for array in inputs]
    return native(model_for(op_type, inputs, **options), inputs)[0]


def f32(*values):
    return np.array(values, np.float32)


numbers = st.floats(-1000, 1000, width=32).filter(lambda x: x == 0 or abs(x) > 1e-6)
positive = st.floats(0.0009765625, 1024, width=32)
EXACTLY = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": lambda a, b: a / b,
}


@pytest.mark.parametrize("op_type", EXACTLY)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@law
@given(a=numbers, b=positive)
def test_arithmetic_is_rounded_once(op_type, dtype, a, b):
    answer = judged(op_type, dtype(a), dtype(b))
    assert answer.expected == nearest(EXACTLY[op_type](Fraction(a), Fraction(b)), dtype)
    assert excess(answer, computed(op_type, dtype(a), dtype(b))) <= 1


@pytest.mark.parametrize("op_type", ["Add", "Sub", "Mul", "Div"])
def test_operands_broadcast(op_type):
    a, b = f32([1, 2, 4]), np.array([[0.5], [2]], np.float32)
    expected = {"Add": a + b, "Sub": a - b, "Mul": a * b, "Div": a / b}[op_type]
    assert judged(op_type, a, b).expected.tolist() == computed(op_type, a, b).tolist() == expected.tolist()


@law
@given(positive)
def test_a_square_root_is_rounded_once(a):
    with mpmath.workprec(200):
        assert judged("Sqrt", np.float64(a)).expected == float(mpmath.sqrt(mpmath.mpf(a)))


@law
@given(base=st.floats(0.5, 1.5, width=32), exponent=st.integers(1, 200))
@pytest.mark.parametrize("exponent_dtype", [np.float32, np.int64])
def test_a_power_is_rounded_once(exponent_dtype, base, exponent):
    answer = judged("Pow", np.float32(base), exponent_dtype(exponent))
    assert answer.expected == nearest(Fraction(base) ** exponent, np.float32)
    looped = np.float32(1)
    for _ in range(exponent):
        looped *= np.float32(base)
    assert excess(answer, looped) <= 1


def test_a_power_admits_an_exponent_that_the_type_rounds():
    base, exponent = np.float32(1 - 2**-20), 2**24 + 1
    answer = judged("Pow", base, np.int64(exponent))
    assert excess(answer, np.float32(float(base) ** exponent)) <= 1
    assert excess(answer, np.float32(float(base) ** float(np.float32(exponent)))) <= 1


@pytest.mark.parametrize("exponent", [0.0, -1.0, 0.5, np.nan, np.inf])
def test_a_power_other_than_of_a_count_is_unsupported(exponent):
    with pytest.raises(Unsupported, match="exponent"):
        judged("Pow", f32(2), f32(exponent))


def sums(values, add=np.add):
    """A sum in every order, pairwise, and in double."""
    for order in permutations(values):
        total = order[0]
        for value in order[1:]:
            total = add(total, value)
        yield total
    yield add(add(*values[:2]), add(*values[2:4])) if len(values) == 4 else total
    yield np.float32(sum(map(float, values)))


@both_levels
@law
@given(st.lists(numbers, min_size=1, max_size=5))
def test_a_sum_encloses_every_order(level, values):
    values = f32(*values)
    answer = judged("ReduceSum", values, level=level, keepdims=0)
    assert answer.expected == nearest(sum(map(Fraction, map(float, values))), np.float32)
    assert max(excess(answer, total) for total in sums(values)) <= 1


def test_a_sum_of_cancelling_terms_has_the_bound_of_their_magnitudes():
    values = f32(2**24, 1, -(2**24), 1)
    answer = judged("ReduceSum", values, keepdims=0)
    assert answer.expected == 2
    assert {float(total) for total in sums(values)} >= {0.0, 1.0, 2.0}
    assert answer.bound <= 4 * 2**-24 * float(np.abs(values).sum())


def test_a_sum_that_overflows_in_some_order_is_in_doubt():
    assert judged("ReduceSum", f32(3e38, -3e38, 3e38)).unsettled


@pytest.mark.parametrize("values", [[np.inf, 1, 2], [-np.inf, 1, 2], [np.inf, -np.inf, 1], [np.nan, 1, 2]])
def test_a_sum_with_infinities_or_nan_is_the_same_in_every_order(values):
    answer = judged("ReduceSum", f32(*values), level=Level.MUST, keepdims=0)
    assert not answer.unsettled
    with np.errstate(invalid="ignore"):
        assert all(np.array_equal(answer.expected, total, equal_nan=True) for total in sums(f32(*values)))


@both_levels
@law
@given(st.integers(0, 2**32))
def test_a_matrix_product_encloses_every_order_of_summation_and_fused_steps(level, seed):
    random = np.random.default_rng(seed)
    A, B = (random.standard_normal(shape).astype(np.float32) for shape in ((2, 5), (5, 3)))
    answer = judged("MatMul", A, B, level=level)
    exact = [
        [sum(Fraction(float(A[i, k])) * Fraction(float(B[k, j])) for k in range(5)) for j in range(3)] for i in range(2)
    ]
    assert answer.expected.tolist() == [[nearest(value, np.float32) for value in row] for row in exact]
    for order in permutations(range(5)):
        total = np.zeros((2, 3), np.float32)
        fused = np.zeros((2, 3), np.float32)
        for k in order:
            product = np.outer(A[:, k], B[k])
            total = total + product
            fused = (fused + np.outer(A[:, k].astype(float), B[k].astype(float))).astype(np.float32)
        assert max(excess(answer, total), excess(answer, fused), excess(answer, A @ B)) <= 1
    assert excess(answer, computed("MatMul", A, B)) <= 1


def test_a_matrix_product_broadcasts_over_batches():
    A, B = np.arange(12, dtype=np.float32).reshape(2, 2, 3), np.arange(6, dtype=np.float32).reshape(3, 2)
    assert judged("MatMul", A, B).expected.tolist() == (A @ B).tolist()


def test_a_matrix_product_over_nothing_is_zero():
    answer = judged("MatMul", np.ones((2, 0), np.float32), np.ones((0, 3), np.float32))
    assert answer.expected.tolist() == np.zeros((2, 3)).tolist()


def test_a_matrix_product_of_a_vector_is_unsupported():
    with pytest.raises(Unsupported, match="vector"):
        judged("MatMul", f32(1, 2), np.ones((2, 2), np.float32))


X = np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize("axes", [[0], [1], [-1], [0, 2], [2, 0], None])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_axes_are_reduced(axes, keepdims):
    expected = X.mean(axis=tuple(axes) if axes else None, keepdims=bool(keepdims))
    options = {"axes": axes} if axes else {}
    for result in (judged("ReduceMean", X, keepdims=keepdims, **options).expected,
                   computed("ReduceMean", X, keepdims=keepdims, **options)):  # fmt: skip
        np.testing.assert_array_equal(result, expected)
    given = [np.array(axes)] if axes else []
    totals = X.sum(axis=tuple(axes) if axes else None, keepdims=bool(keepdims))
    np.testing.assert_array_equal(judged("ReduceSum", X, *given, keepdims=keepdims).expected, totals)


def test_a_sum_over_an_empty_axis_is_zero():
    assert judged("ReduceSum", np.ones((0, 2), np.float32), np.array([0]), keepdims=0).expected.tolist() == [0, 0]


def test_a_cast_to_float_is_rounded_once():
    values = [0.1, 1 + 2**-24, 1e300, -0.0]
    answer = judged("Cast", np.array(values), dtype=np.float32, to=onnx.TensorProto.FLOAT)
    with np.errstate(over="ignore"):
        assert answer.expected.tolist() == np.array(values).astype(np.float32).tolist()


def test_a_cast_to_double_is_exact():
    answer = judged("Cast", f32(0.1, 3e-45, np.inf), dtype=np.float64, to=onnx.TensorProto.DOUBLE)
    assert (answer.expected.tolist(), answer.bound.any()) == (f32(0.1, 3e-45, np.inf).astype(float).tolist(), False)


@pytest.mark.parametrize("dtype", TYPES)
def test_a_cast_of_integers_admits_what_computes_on_with_all_their_bits(dtype):
    count = np.array([3, 2**24 + 1, 2**53 + 1, -(2**63)])
    answer = judged("Cast", count, dtype=dtype, to=TYPES[dtype])
    assert answer.expected.tolist() == count.astype(dtype).tolist()
    assert answer.bound[[0, 3]].tolist() == [0, 0]


def test_a_cast_to_an_integer_drops_the_fraction():
    answer = judged("Cast", f32(1.5, -1.5, 3), dtype=np.int64, to=onnx.TensorProto.INT64)
    assert answer.expected.tolist() == [1, -1, 3]


def test_a_cast_of_text_is_unsupported():
    with pytest.raises(Unsupported, match="text"):
        judged("Cast", np.array(["1"], dtype=object), dtype=np.int64, to=onnx.TensorProto.INT64)


def test_integers_stay_integers():
    answer = judged("Add", np.array([2**62]), np.array([1]))
    assert (answer.expected.tolist(), answer.expected.dtype, answer.bound) == ([2**62 + 1], np.int64, None)
    assert judged("Where", np.array([True]), np.array([2**62 + 1]), np.array([0]), dtype=np.int64).expected == [
        2**62 + 1
    ]


def test_where_drops_what_it_does_not_choose():
    answer = judged(
        "Where", np.array([True, False]), f32(1, np.nan), f32(np.inf, 2), dtype=np.float32, level=Level.MUST
    )
    assert (answer.expected.tolist(), answer.unsettled) == ([1, 2], None)


@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_less_compares_exactly(dtype):
    a, b = np.array([1, 2, 3], dtype), np.array(2, dtype)
    assert judged("Less", a, b, dtype=bool).expected.tolist() == [True, False, False]


def test_a_comparison_that_rounding_decides_is_unsupported():
    named = {"A": f32(0.1), "B": f32(0.2), "C": f32(0.3)}
    nodes = [helper.make_node("Add", ["A", "B"], ["S"]), helper.make_node("Less", ["S", "C"], ["Y"])]
    with pytest.raises(Unsupported, match="rounding"):
        answers(model_of(nodes, named, {"Y": onnx.TensorProto.BOOL}), list(named.values()), Level.MUST)


def test_relu_of_a_number_near_zero_encloses_both_sides():
    named = {"A": f32(0.1, 0.1), "B": f32(3, 3), "C": f32(-0.3, -0.30000001)}
    nodes = [
        helper.make_node("Mul", ["A", "B"], ["P"]),
        helper.make_node("Add", ["P", "C"], ["S"]),
        helper.make_node("Relu", ["S"], ["Y"]),
    ]
    model = model_of(nodes, named, {"Y": onnx.TensorProto.FLOAT})
    answer = answers(model, list(named.values()), Level.MUST)[0]
    evaluations = [f32(0.1) * f32(3) + named["C"], (named["A"].astype(float) * 3 + named["C"]).astype(np.float32)]
    assert all(excess(answer, np.maximum(value, 0)) <= 1 for value in evaluations)


def test_relu_and_neg_round_nothing():
    values = f32(0.1, -0.1, 0, np.inf, -np.inf)
    relu, neg = judged("Relu", values), judged("Neg", values)
    assert (relu.expected.tolist(), relu.bound.any()) == (f32(0.1, 0, 0, np.inf, 0).tolist(), False)
    assert (neg.expected.tobytes(), neg.bound.any()) == ((-values).tobytes(), False)


MOVED = {
    "Identity": ((), {}, X),
    "Transpose": ((), {"perm": [2, 0, 1]}, X.transpose(2, 0, 1)),
    "Reshape": ((np.array([0, -1]),), {}, X.reshape(2, 12)),
    "Expand": ((np.array([2, 1, 1, 1]),), {}, np.broadcast_to(X, (2, 2, 3, 4))),
}


@both_levels
@pytest.mark.parametrize("op_type", MOVED)
def test_movements_compute_nothing(op_type, level):
    others, attributes, expected = MOVED[op_type]
    answer = judged(op_type, X, *others, level=level, **attributes)
    assert (answer.expected.tolist(), answer.bound) == (expected.tolist(), None)
    assert computed(op_type, X, *others, **attributes).tolist() == expected.tolist()


def function_model(body, attributes=(), defaults=(), domain="own", name="F", **given):
    """A model that calls a function of X once."""
    function = helper.make_function(
        domain, name, ["X"], ["Y"], body, [helper.make_opsetid("", 13)], list(attributes), list(defaults)
    )
    graph = helper.make_graph(
        [helper.make_node(name, ["X"], ["Z"], domain=domain, **given)],
        "graph",
        [declared("X", f32(0))],
        [declared("Z", f32(0))],
    )
    imports = [helper.make_opsetid("", 13), helper.make_opsetid(domain, 1)]
    return helper.make_model(graph, functions=[function], opset_imports=imports, ir_version=9).SerializeToString()


def constant(name, attribute):
    node = helper.make_node("Constant", [], [name])
    node.attribute.add(name="value_float", ref_attr_name=attribute, type=onnx.AttributeProto.FLOAT)
    return node


SCALED = [constant("c", "scale"), helper.make_node("Mul", ["X", "c"], ["Y"])]


def test_a_functions_attributes_are_those_of_the_call():
    model = function_model(SCALED, attributes=["scale"], scale=0.25)
    assert answers(model, [f32(2)], Level.MUST)[0].expected.tolist() == [0.5]


def test_a_functions_attributes_have_its_defaults():
    model = function_model(SCALED, defaults=[helper.make_attribute("scale", 4.0)])
    assert answers(model, [f32(2)], Level.MUST)[0].expected.tolist() == [8]
    assert native(model, [f32(2)])[0].tolist() == [8]


def test_a_call_without_a_required_attribute_is_unsupported():
    with pytest.raises(Unsupported, match="scale"):
        answers(function_model(SCALED, attributes=["scale"]), [f32(2)], Level.MUST)


def test_a_function_that_calls_itself_is_unsupported():
    body = [helper.make_node("F", ["X"], ["Y"], domain="own")]
    with pytest.raises(Unsupported, match=r"own\.F"):
        answers(function_model(body), [f32(2)], Level.MUST)


def test_a_constant_tensor_of_a_function_is_what_the_model_holds():
    tensor = numpy_helper.from_array(f32(3))
    body = [helper.make_node("Constant", [], ["c"], value=tensor), helper.make_node("Add", ["X", "c"], ["Y"])]
    assert answers(function_model(body), [f32(2)], Level.MUST)[0].expected.tolist() == [5]


def overriding(body, results, **attributes):
    """A model whose own function bears the name of Momentum."""
    names = ["R", "T", "X", "G", "V"]
    training = "ai.onnx.preview.training"
    arrays = [np.array(0.5, np.float32), np.array(2), f32(1), f32(0.1), f32(0.7)]
    function = helper.make_function(
        training, "Momentum", names, results, body, [helper.make_opsetid("", 13)], [*attributes]
    )
    graph = helper.make_graph(
        [helper.make_node("Momentum", names, results, domain=training, **attributes)],
        "graph",
        [declared(name, array) for name, array in zip(names, arrays, strict=True)],
        [declared(name, f32(0)) for name in results],
    )
    imports = [helper.make_opsetid("", 13), helper.make_opsetid(training, 1)]
    model = helper.make_model(graph, functions=[function], opset_imports=imports, ir_version=8)
    return model.SerializeToString(), arrays


PLAIN = {"alpha": 1.0, "beta": 1.0, "mode": "standard", "norm_coefficient": 0.0}
RIGHT = [
    helper.make_node("Add", ["V", "G"], ["V_new"]),
    helper.make_node("Mul", ["R", "V_new"], ["step"]),
    helper.make_node("Sub", ["X", "step"], ["X_new"]),
]


def test_a_function_that_bears_an_operators_name_may_be_run_as_either():
    model, arrays = overriding(RIGHT, ["X_new", "V_new"], **PLAIN)
    for answer in answers(model, arrays, Level.MUST):
        assert answer.unsettled is None
    assert [value.tolist() for value in native(model, arrays)] == [f32(0.6).tolist(), f32(0.8).tolist()]


def test_a_function_that_contradicts_the_operator_of_its_name_is_in_doubt():
    wrong = [helper.make_node("Sub", ["V", "G"], ["V_new"]), *RIGHT[1:]]
    model, arrays = overriding(wrong, ["X_new", "V_new"], **PLAIN)
    assert all(answer.unsettled for answer in answers(model, arrays, Level.MUST))
