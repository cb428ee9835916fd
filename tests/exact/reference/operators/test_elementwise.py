"""The operators before ArgMax: values of onnx's reference evaluator, and bounds that contain native results."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper
from onnx.reference import ReferenceEvaluator
from reference_models import build_model, error_in_bounds, reference_outputs

from conformance import evaluate
from conformance.base.verdicts import Level, Unsupported
from conformance.exact.reference.operators.elementwise import ELEMENTWISE, ElementwiseFormula
from conformance.exact.reference.oracle import answers
from conformance.subjects.adapters.reference import ReferenceBackend

OPSET = 18
f32 = partial(np.array, dtype=np.float32)
i64 = partial(np.array, dtype=np.int64)
X = f32([[-2.5, -0.5, 0.0], [0.5, 1.5, 4.0]])

ELEMENTWISE_OF_ONE = [
    *("Abs", "Neg", "Reciprocal", "Ceil", "Floor", "Round", "Sign", "LeakyRelu", "Elu", "Selu", "Celu", "Relu"),
    *("ThresholdedRelu", "HardSigmoid", "HardSwish", "Sigmoid", "Tanh", "Softplus", "Softsign", "Shrink", "Mish"),
    *("Sinh", "Cosh", "Asinh", "Exp", "Softmax", "LogSoftmax", "Identity", "Clip"),
]
OTHERS = {
    "Acosh": ([f32([1, 1.5, 7])], {}),
    "Atanh": ([f32([-0.5, 0, 0.75])], {}),
    "Log": ([f32([0.5, 1, 3])], {}),
    "Sqrt": ([f32([0, 1, 3])], {}),
    "Clip": ([X, f32(-1), f32(1)], {}),
    "Hardmax": ([X], {"axis": 0}),
    "Dropout": ([X], {}),
    "Cast": ([X], {"to": onnx.TensorProto.INT32}),
    "Not": ([np.array([True, False])], {}),
    "And": ([np.array([True, False]), np.array([True, True])], {}),
    "Or": ([np.array([True, False]), np.array([False, False])], {}),
    "Xor": ([np.array([True, False]), np.array([True, True])], {}),
    "Add": ([X, f32(3)], {}),
    "Sub": ([X, f32(3)], {}),
    "Mul": ([X, f32(-3)], {}),
    "Div": ([X, f32(4)], {}),
    "Pow": ([X, f32(3)], {}),
    "Max": ([X, f32(1), f32([0, 2, 3])], {}),
    "Min": ([X, f32(1), f32([0, 2, 3])], {}),
    "Sum": ([X, X, X], {}),
    "Mean": ([X, X, X], {}),
    "Squeeze": ([f32([[1, 2]]), i64([0])], {}),
    "Unsqueeze": ([X, i64([0, -1])], {}),
    "Flatten": ([f32([[[1, 2], [3, 4]]])], {"axis": -1}),
    "Transpose": ([X], {}),
    "Reshape": ([X, i64([0, 1, -1])], {"allowzero": 0}),
    "Expand": ([X, i64([2, 1, 1])], {}),
    "Slice": ([X, i64([2]), i64([-9]), i64([1]), i64([-1])], {}),
    "Tile": ([X, i64([1, 2])], {}),
    "Gather": ([X, i64([2, 0])], {"axis": 1}),
    "Split": ([X, i64([1, 2])], {"axis": 1}),
    "Concat": ([X, X], {"axis": -1}),
    "Shape": ([X], {}),
    "ReduceMax": ([X, i64([1])], {"keepdims": 0}),
    "ReduceMin": ([X, i64([0])], {}),
    "ReduceSum": ([X, i64([1])], {}),
    "ReduceMean": ([X, i64([1])], {}),
    "TopK": ([X, i64([2])], {"axis": 1}),
    "ArgMin": ([X], {"axis": 1}),
    "ArgMax": ([X], {"axis": 1}),
    "CumSum": ([X, i64(1)], {}),
    "Gemm": ([X, X, f32([1, 2])], {"transB": 1, "alpha": 0.5, "beta": 2.0}),
    "MatMul": ([X, X.T.copy()], {}),
    "Less": ([X, f32(0.5)], {}),
    "Greater": ([X, f32(0.5)], {}),
    "Equal": ([X, f32(0.5)], {}),
    "LessOrEqual": ([X, f32(0.5)], {}),
    "GreaterOrEqual": ([X, f32(0.5)], {}),
    "Where": ([X > 0, X, f32(9)], {}),
}
NODES = [(name, [X], {}) for name in ELEMENTWISE_OF_ONE] + [(name, *parts) for name, parts in OTHERS.items()]


def model(op_type, inputs, attributes, *, opset=OPSET, outputs=1):
    names = [f"input_{place}" for place in range(len(inputs))]
    results = {f"output_{place}": onnx.TensorProto.FLOAT for place in range(outputs)}
    node = helper.make_node(op_type, names, [*results], **attributes)
    return build_model([node], dict(zip(names, inputs, strict=True)), results, opset=opset)


def ids(case):
    return case if isinstance(case, str) else None


def outputs_of(op_type):
    return {"TopK": 2, "Split": 2}.get(op_type, 1)


def native_outputs(op_type, inputs, attributes, **kwargs):
    return reference_outputs(model(op_type, inputs, attributes, **kwargs), inputs)


@pytest.mark.parametrize(("op_type", "inputs", "attributes"), NODES, ids=ids)
def test_native_values_equal_onnx_reference(op_type, inputs, attributes):
    serialised = model(op_type, inputs, attributes, outputs=outputs_of(op_type))
    feeds = {f"input_{place}": array for place, array in enumerate(inputs)}
    with warnings.catch_warnings(action="ignore"):
        expected = ReferenceEvaluator(onnx.load_model_from_string(serialised)).run(None, feeds)
    for one, other in zip(reference_outputs(serialised, inputs), expected, strict=True):
        np.testing.assert_allclose(one.astype(np.float64), other, rtol=1e-6, atol=1e-7)
        assert one.shape == np.shape(other)


def within(answer, output):
    """Return whether an answer accepts an output."""
    if answer.choices is not None:
        return bool(np.take_along_axis(answer.choices, output[..., np.newaxis], axis=-1).all())
    return np.array_equal(answer.expected, output) if answer.bound is None else error_in_bounds(answer, output) <= 1


@pytest.mark.parametrize("level", [Level.MUST, Level.SHOULD])
@pytest.mark.parametrize(("op_type", "inputs", "attributes"), NODES, ids=ids)
def test_answers_accept_native_values(op_type, inputs, attributes, level):
    serialised = model(op_type, inputs, attributes, outputs=outputs_of(op_type))
    given = zip(answers(serialised, inputs, level), reference_outputs(serialised, inputs), strict=True)
    assert all(within(answer, output) for answer, output in given)


@pytest.mark.variants(15)
@pytest.mark.parametrize("op_type", ELEMENTWISE_OF_ONE)
@given(values=st.lists(st.floats(-60, 60, width=32), min_size=1, max_size=6))
def test_answers_accept_native_values_of_any_numbers(op_type, values):
    inputs = [f32([values])]
    serialised = model(op_type, inputs, {})
    assert within(answers(serialised, inputs, Level.MUST)[0], reference_outputs(serialised, inputs)[0])


AFTER_EXP = [
    name for name, formula in ELEMENTWISE.items() if isinstance(formula, ElementwiseFormula) and formula.is_monotone
]


@pytest.mark.variants(12)
@pytest.mark.parametrize("op_type", [*AFTER_EXP, "HardSigmoid", "HardSwish", "Identity", "ReduceMax", "TopK"])
@given(values=st.lists(st.floats(-8, 4, width=32), min_size=1, max_size=6))
def test_answers_after_a_rounded_operand_accept_native_values(op_type, values):
    inputs = [f32(values), *([i64([1])] if op_type == "TopK" else [])]
    nodes = [
        helper.make_node("Exp", ["X"], ["E"]),
        helper.make_node(op_type, ["E", *(["K"] if op_type == "TopK" else [])], ["Y"]),
    ]
    names = ["X", "K"][: len(inputs)]
    serialised = build_model(nodes, dict(zip(names, inputs, strict=True)), {"Y": onnx.TensorProto.FLOAT}, opset=OPSET)
    assert within(answers(serialised, inputs, Level.MUST)[0], reference_outputs(serialised, inputs)[0])


@pytest.mark.parametrize("op_type", ["Ceil", "Floor", "Round", "Sign", "Abs"])
def test_selecting_operator_is_exact(op_type):
    answer = answers(model(op_type, [X], {}), [X], Level.MUST)[0]
    assert not answer.bound.any()


def test_round_half_goes_to_even():
    given = f32([0.5, 1.5, 2.5, -0.5, -1.5])
    assert answers(model("Round", [given], {}), [given], Level.MUST)[0].expected.tolist() == [0, 2, 2, 0, -2]


@pytest.mark.parametrize("op_type", ["Abs", "Mish", "Shrink", "Cosh"])
def test_non_monotone_operator_requires_exact_operand(op_type):
    nodes = [helper.make_node("Exp", ["X"], ["E"]), helper.make_node(op_type, ["E"], ["Y"])]
    serialised = build_model(nodes, {"X": X}, {"Y": onnx.TensorProto.FLOAT}, opset=OPSET)
    with pytest.raises(Unsupported, match="rounding"):
        answers(serialised, [X], Level.MUST)


@pytest.mark.parametrize(("op_type", "Y"), [("Abs", [np.nan, np.inf]), ("Reciprocal", [np.nan, 0])])
def test_elementwise_operator_propagates_nan(op_type, Y):
    given = f32([np.nan, np.inf])
    answer = answers(model(op_type, [given], {}), [given], Level.MUST)[0]
    np.testing.assert_array_equal(answer.expected, Y)


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax", "Exp", "Abs", "ReduceSum"])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_empty_tensor_gives_empty_result(op_type, shape, opset):
    given, attributes = np.zeros(shape, np.float32), {"axes": [1]} if op_type == "ReduceSum" and opset < 13 else {}
    serialised = model(op_type, [given], attributes, opset=opset)
    output = reference_outputs(serialised, [given])[0]
    assert answers(serialised, [given], Level.MUST)[0].expected.shape == output.shape


def defaults_of(op_type):
    schema = onnx.defs.get_schema(op_type, OPSET)
    return {name: helper.get_attribute_value(attribute.default_value) for name, attribute in schema.attributes.items()}


@pytest.mark.parametrize(
    "op_type", [name for name, formula in ELEMENTWISE.items() if isinstance(formula, ElementwiseFormula)]
)
def test_attribute_defaults_equal_schema(op_type):
    own = {name: float(np.float32(value)) for name, value in ELEMENTWISE[op_type].defaults.items()}
    assert own == defaults_of(op_type)


@pytest.mark.parametrize(("op_type", "own"), [("HardSigmoid", {"alpha": 0.2, "beta": 0.5})])
def test_hard_sigmoid_defaults_equal_schema(op_type, own):
    assert {name: float(np.float32(value)) for name, value in own.items()} == defaults_of(op_type)


@pytest.mark.parametrize(
    ("op_type", "opset", "attributes", "shape"),
    [
        ("Squeeze", 11, {"axes": [0]}, [2]),
        ("Unsqueeze", 11, {"axes": [0]}, [1, 1, 2]),
        ("Clip", 6, {"min": -1.0, "max": 1.0}, [1, 2]),
        ("ReduceMax", 13, {"axes": [1], "keepdims": 0}, [1]),
        ("ReduceSum", 11, {"axes": [1], "keepdims": 1}, [1, 1]),
    ],
)
def test_attributes_of_older_opsets_are_supported(op_type, opset, attributes, shape):
    given = f32([[-3, 4]])
    assert list(native_outputs(op_type, [given], attributes, opset=opset)[0].shape) == shape


def test_clip_without_limits_is_identity():
    node = helper.make_node("Clip", ["X", "", "most"], ["Y"])
    serialised = build_model([node], {"X": X, "most": f32(1)}, {"Y": onnx.TensorProto.FLOAT})
    assert reference_outputs(serialised, [X, f32(1)])[0].max() == 1
    assert reference_outputs(serialised, [X, f32(1)])[0].min() == -2.5


def test_unnamed_output_is_left_out():
    node = helper.make_node("TopK", ["X", "K"], ["", "I"])
    serialised = build_model([node], {"X": X, "K": i64([1])}, {"I": onnx.TensorProto.INT64})
    assert answers(serialised, [X, i64([1])], Level.MUST)[0].expected.tolist() == [[2], [2]]


@pytest.mark.parametrize(("largest", "indices"), [(1, [1, 3, 0]), (0, [2, 0, 1])])
def test_top_k_orders_equal_elements_by_index(largest, indices):
    given = f32([1, 5, 0, 5])
    node = model("TopK", [given, i64([3])], {"largest": largest}, outputs=2)
    assert answers(node, [given, i64([3])], Level.MUST)[1].expected.tolist() == indices
    assert reference_outputs(node, [given, i64([3])])[1].tolist() == indices


def test_top_k_of_rounded_numbers_accepts_every_possible_index():
    nodes = [helper.make_node("Exp", ["X"], ["E"]), helper.make_node("TopK", ["E", "K"], ["V", "I"])]
    inputs = [f32([0, 1e-8, -5]), i64([2])]
    serialised = build_model(nodes, {"X": inputs[0], "K": inputs[1]}, {"I": onnx.TensorProto.INT64})
    choices = answers(serialised, inputs, Level.MUST)[0].choices
    assert [np.flatnonzero(row).tolist() for row in choices] == [[0, 1], [0, 1]]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_argmin_finds_smallest_integer_of_type(dtype):
    given = np.array([3, np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
    assert answers(model("ArgMin", [given], {"keepdims": 0}), [given], Level.MUST)[0].expected.item() == 1


@pytest.mark.parametrize(
    ("attributes", "sums"),
    [
        ({}, [1, 3, 6]),
        ({"exclusive": 1}, [0, 1, 3]),
        ({"reverse": 1}, [6, 5, 3]),
        ({"exclusive": 1, "reverse": 1}, [5, 3, 0]),
    ],
)
def test_cumsum_supports_both_directions(attributes, sums):
    given = [f32([1, 2, 3]), i64(0)]
    assert answers(model("CumSum", given, attributes), given, Level.MUST)[0].expected.tolist() == sums
    assert native_outputs("CumSum", given, attributes)[0].tolist() == sums


def test_arithmetic_on_undecided_index_is_unsupported():
    nodes = [
        helper.make_node("Exp", ["X"], ["E"]),
        helper.make_node("ArgMax", ["E"], ["I"]),
        helper.make_node("Add", ["I", "I"], ["Y"]),
    ]
    given = f32([0, 1e-8])
    with pytest.raises(Unsupported, match="index"):
        answers(build_model(nodes, {"X": given}, {"Y": onnx.TensorProto.INT64}), [given], Level.MUST)


def test_operators_before_argmax_number_at_least_35():
    assert len({op_type for op_type, *_ in NODES}) >= 35


@pytest.mark.parametrize(("mode", "exponents"), [("up", [-127, -126, 0, 2]), ("down", [-127, -127, 0, 1])])
def test_cast_to_powers_of_two_rounds_as_the_node_states(mode, exponents):
    x = np.array([2.0**-127, 2.0**-127 * 1.5, 1.0, 3.0])
    made = {"to": onnx.TensorProto.FLOAT8E8M0, "round_mode": mode, "saturate": 1}
    value, result = (helper.make_tensor_value_info(*each, [4]) for each in (("x", 11), ("y", made["to"])))
    graph = helper.make_graph([helper.make_node("Cast", ["x"], ["y"], **made)], "g", [value], [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=11)
    (found,) = ReferenceBackend.prepare(model, "CPU").run([x])
    assert found.astype(np.float64).tolist() == [2.0**exponent for exponent in exponents]


@pytest.mark.parametrize("exponent", [np.uint64, np.int64, np.int8])
def test_power_of_integers_is_exact_for_each_type_of_the_exponent(exponent):
    bases = np.array([45, -45, 3, 3], np.int64)
    value = evaluate("Pow", [bases, np.array([10, 11, 39, 64], exponent)])[0].value
    assert value.tolist() == [45**10, -(45**11), 3**39, None]  # the last one overflows
