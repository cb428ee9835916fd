"""Acceptable indices after functions: shared errors change no order, and values beyond all digits are not ties."""

from __future__ import annotations

from decimal import Decimal

import ml_dtypes
import numpy as np
import onnx
import pytest
from argmax_chains import acceptable, chain
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper
from reference_models import build_model, oracle_answer, oracle_answers, reference_outputs

from conformance.adapters.reference import ReferenceBackend
from conformance.reference.numbers.bounded import is_power_of_two
from conformance.reference.numbers.decimals import exact_context
from conformance.reference.oracle import answers
from conformance.reference.validity import InvalidModelError
from conformance.verdicts import Level

ANY = [0, 1]
FLAT = [42.4375, 42.3125, 42.5, 42.5, 42.5, 42.5, 42.46875, 42.5, 42.4375, 42.625]


def accepted(operators, X, dtype, level=Level.MUST, **options):
    X = np.array(X, dtype)
    return acceptable(chain(*operators, X=X, **options), X, level)


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize(
    ("X", "dtype"),
    [
        (FLAT, np.float16),
        ([88.69999999999996, 88.70000000000002], np.float64),
        ([-30.0] * 30 + [16.0, 16.5], ml_dtypes.bfloat16),
    ],
    ids=["float16", "double", "bfloat16"],
)
def test_shared_error_does_not_change_order(operator, X, dtype):
    assert accepted([operator], X, dtype) == [[len(X) - 1]]


@pytest.mark.parametrize("chained", [["LogSoftmax", "Exp"], ["Softmax", "Log"], ["Softmax", "Exp"]], ids="-".join)
def test_shared_error_in_chain_does_not_change_order(chained):
    assert accepted(chained, [8.0] * 20 + [8.25], np.float16) == [[20]]


@pytest.mark.parametrize(
    "chained", [["Sqrt", "LogSoftmax"], ["Sqrt", "Softmax", "Log"], ["Exp", "Softmax"]], ids="-".join
)
def test_error_of_maximum_does_not_change_order(chained):
    X = [88.0, 87.5, 80.0, 1.0] if chained[0] == "Exp" else [3.4e38, 3.39e38, 1e38, 1e30]
    assert accepted(chained, X, np.float32) == [[0]]


def test_possible_maxima_exclude_other_elements():
    largest = np.float32(3.4e38)
    assert accepted(["Sqrt", "LogSoftmax"], [np.nextafter(largest, np.float32(0)), largest, 1e38], np.float32) == [ANY]


def test_sum_over_other_axis_is_not_shared():
    X = np.array([[100.0, 0.0], [0.0, 0.0625]], np.float16)
    node = helper.make_node("Softmax", ["X"], ["Y"], axis=1)
    argmax = helper.make_node("ArgMax", ["Y"], ["I"], axis=0, keepdims=0)
    (answer,) = answers(build_model([node, argmax], {"X": X}, {"I": onnx.TensorProto.INT64}), [X], Level.MUST)
    assert answer.expected.tolist() == [0, 1]
    assert answer.choices is None or answer.choices[0].tolist() == [True, False]


STEPS = {
    "Softmax": lambda shifted, powers, total: powers / total,
    "LogSoftmax": lambda shifted, powers, total: shifted - np.log(total),
    "exp of LogSoftmax": lambda shifted, powers, total: np.exp(shifted - np.log(total)),
    "log of Softmax": lambda shifted, powers, total: np.log(powers / total),
}


@settings(max_examples=60)
@given(data=st.data())
def test_index_of_native_evaluation_is_acceptable(data):
    steps = data.draw(st.sampled_from(sorted(STEPS)))
    operator = "Softmax" if steps in {"Softmax", "exp of LogSoftmax"} else "LogSoftmax"
    dtype = data.draw(st.sampled_from([np.float16, np.float32, np.float64]))
    start = dtype(data.draw(st.floats(-20, 20, width=16)))
    jumps = data.draw(st.lists(st.integers(0, 12), min_size=2, max_size=12))
    X = start + np.array(jumps, dtype) * np.spacing(abs(start) + dtype(0.01))
    shifted = X - X.max()
    powers = np.exp(shifted)
    Y = STEPS[steps](shifted, powers, np.add.accumulate(powers)[-1])
    assert int(Y.argmax()) in accepted([operator], X, dtype)[0]


@pytest.mark.parametrize(
    ("operators", "X", "dtype"),
    [
        (["Exp", "Exp"], [42.5, 43.0], np.float64),
        (["Exp", "Exp"], [7750.0, 7760.0], np.float64),
        (["Exp"], [-3.4e38, -3.3e38], np.float32),
        (["Exp", "Exp", "Exp"], [5.0, 6.0], np.float32),
    ],
)
def test_values_beyond_decimals_tie_in_declared_types_only(operators, X, dtype):
    assert accepted(operators, X, dtype) == [ANY]
    assert accepted(operators, X, dtype, Level.SHOULD) == [[0]]


@pytest.mark.parametrize("X", [[1.0, 43.0], [-3.4e38, 1.0]])
def test_value_beyond_decimals_is_distinguished_from_others(X):
    assert accepted(["Exp", "Exp"], X, np.float64) == [[1]]


def test_underflow_is_not_below_zero():
    assert accepted(["Softmax", "Sqrt"], [60000.0, 1.0], np.float16) == [[0]]


@pytest.mark.parametrize("operator", ["Sqrt", "Log"])
def test_number_just_below_zero_can_be_flushed(operator):
    X = np.array([0, -50], np.float32)
    nodes = [helper.make_node("LogSoftmax", ["X"], ["Y"]), helper.make_node(operator, ["Y"], ["Z"])]
    (answer,) = answers(build_model(nodes, {"X": X}, {"Z": onnx.TensorProto.FLOAT}), [X], Level.SHOULD)
    assert np.isnan(answer.expected).all()
    assert answer.bound.tolist() == [np.inf, 0]


def test_log_of_possible_underflow_can_be_infinite():
    X = np.array([0, -104], np.float32)
    nodes = [helper.make_node("Softmax", ["X"], ["Y"]), helper.make_node("Log", ["Y"], ["Z"])]
    serialised = build_model(nodes, {"X": X}, {"Z": onnx.TensorProto.FLOAT})
    (answer,) = answers(serialised, [X], Level.SHOULD)
    assert answer.bound[1] == np.inf
    assert reference_outputs(serialised, [X])[0][0] == 0


@pytest.mark.parametrize("exponent", [2**31, -(2**31)])
def test_power_beyond_all_formats_is_not_a_power_of_two(exponent):
    with exact_context():
        assert not is_power_of_two(Decimal(2) ** exponent)


def test_update_count_of_two_to_the_31st_is_supported():
    X_new, _, _ = oracle_answers("Adam", 0.1, 2**31, 1, 2, 3, 4, level=Level.MUST, alpha=2.0, beta=0.5)
    assert X_new.indeterminacy


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax"])
def test_softmax_of_vector_below_opset_11_has_two_results(operator):
    X = np.array([1.0, 2.0], np.float32)
    answer = oracle_answer(operator, X, level=Level.MUST, opset=9)
    column, row = (1.0, 0.2689414) if operator == "Softmax" else (0.0, -1.3132616)
    assert answer.indeterminacy
    assert answer.expected[0] == column
    assert abs(answer.expected[0] - row) <= answer.bound[0]


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax"])
def test_softmax_of_vector_since_opset_11_is_a_row(operator):
    X = np.array([1.0, 2.0], np.float32)
    assert oracle_answer(operator, X, level=Level.MUST, opset=11, axis=0).indeterminacy is None
    assert oracle_answer(operator, X, level=Level.MUST, opset=9, axis=0).indeterminacy is None


def first_version(operator, opset, **attributes):
    X = np.array([1.0, 4.0], np.float32)
    node = helper.make_node(operator, ["X"], ["Y"], **attributes)
    model = onnx.load_model_from_string(build_model([node], {"X": X}, {"Y": onnx.TensorProto.FLOAT}, opset=opset))
    return ReferenceBackend.prepare(model).run([X])[0]


@pytest.mark.parametrize(("operator", "last"), [("Log", 1.3862944), ("Exp", 54.59815), ("Sqrt", 2.0)])
def test_consumed_inputs_of_first_versions_is_accepted(operator, last):
    assert first_version(operator, 5, consumed_inputs=[0])[1] == np.float32(last)


@pytest.mark.parametrize(("opset", "attributes"), [(6, {"consumed_inputs": [0]}), (5, {"consumed_inputs": 0})])
def test_consumed_inputs_of_later_versions_is_unsupported(opset, attributes):
    with pytest.raises(InvalidModelError, match="consumed_inputs"):
        first_version("Exp", opset, **attributes)


def test_decided_index_can_be_computed_with():
    X = np.array([0.5, 2.0, 1.0], np.float32)
    model = onnx.load_model_from_string(chain("Exp", X=X))
    model.graph.node.append(helper.make_node("Neg", [model.graph.output[0].name], ["negative"]))
    model.graph.output[0].name = "negative"
    (answer,) = answers(model.SerializeToString(), [X], Level.MUST)
    assert int(answer.expected) == -1
