"""Where ArgMax before and after the pass differ: what is acceptable, what the declared types give, what is exact."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from argmax_chains import acceptable, chain
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from reference_models import model_of, native

from conformance.reference.evaluation import evaluate
from conformance.verdicts import Level, Unsupported

law = settings(max_examples=40, deadline=None, derandomize=True)
inf, nan = np.inf, np.nan
BFLOAT16 = ml_dtypes.bfloat16


def evaluated(serialised, X, **kwargs):
    return evaluate(onnx.load_model_from_string(serialised), [X], **kwargs)[0].ravel().tolist()


ANY = [0, 1]
# operator, opset, X, index before the pass, index after it, acceptable at `should`
HAZARDS = {
    "exp_overflow": ("Exp", 13, [89, 100], 0, 1, [0]),
    "exp_underflow": ("Exp", 13, [-200, -150], 0, 1, [0]),
    "exp_tie": ("Exp", 13, [0, 1e-8], 0, 1, ANY),
    "softmax_tie": ("Softmax", 13, [0, 1e-8], 0, 1, ANY),
    "log_softmax_tie": ("LogSoftmax", 13, [0, 1e-8], 0, 1, ANY),
    "log_tie": ("Log", 13, [16777216, 16777218], 0, 1, ANY),
    "sqrt_tie": ("Sqrt", 13, [1, 1.0000001], 0, 1, [0]),
    "log_of_negative": ("Log", 13, [-1, 2], 0, 1, ANY),
    "sqrt_of_negative": ("Sqrt", 13, [2, -1], 1, 0, ANY),
    "softmax_of_infinity": ("Softmax", 13, [1, inf], 0, 1, ANY),
    "log_softmax_of_infinity": ("LogSoftmax", 13, [1, inf], 0, 1, ANY),
    "softmax_of_nan": ("Softmax", 13, [1, nan, 2], 0, 1, [0, 1, 2]),
    "softmax_of_minus_infinities": ("Softmax", 13, [-inf, -inf], 0, 0, ANY),
}


@pytest.mark.parametrize(("operator", "opset", "X", "before", "after", "should"), HAZARDS.values(), ids=HAZARDS)
class TestAHazard:
    def test_leaves_the_answers_before_and_after_the_pass_at_must(self, operator, opset, X, before, after, should):
        X = np.array(X, np.float32)
        assert {before, after} <= set(acceptable(chain(operator, opset=opset, X=X), X, Level.MUST)[0])

    def test_is_held_to_the_declared_types_at_should(self, operator, opset, X, before, after, should):
        X = np.array(X, np.float32)
        assert acceptable(chain(operator, opset=opset, X=X), X, Level.SHOULD)[0] == should

    def test_is_evaluated_as_before_the_pass_in_the_declared_types(self, operator, opset, X, before, after, should):
        X = np.array(X, np.float32)
        assert evaluated(chain(operator, opset=opset, X=X), X, declared=True) == [before]


@pytest.mark.parametrize("name", [name for name, hazard in HAZARDS.items() if set(hazard[2]).isdisjoint([inf, -inf])])
def test_exact_arithmetic_finds_the_winner_of_the_input_where_nothing_is_nan(name):
    operator, opset, X, _, after, _ = HAZARDS[name]
    X = np.array(X, np.float32)
    if not (np.isnan(X).any() or ((X < 0).any() and operator in {"Log", "Sqrt"})):
        assert evaluated(chain(operator, opset=opset, X=X), X) == [after]


MATRIX = np.array([[0, 1000], [5, 1000]], np.float32)


def test_the_coerced_softmax_makes_a_row_of_zeros_at_should_and_any_of_it_at_must():
    model = chain("Softmax", opset=11, X=MATRIX)
    model = onnx.load_model_from_string(model)
    del model.graph.node[1].attribute[2]  # select_last_index came with opset 12
    model = model.SerializeToString()
    assert acceptable(model, MATRIX, Level.MUST) == [[0, 1], [0, 1]]
    assert acceptable(model, MATRIX, Level.SHOULD)[0] == [0]
    assert (evaluated(model, MATRIX, declared=True), evaluated(model, MATRIX)) == ([0, 0], [1, 0])


@pytest.mark.parametrize("level", [Level.MUST, Level.SHOULD])
@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16, np.float32, np.float64])
def test_any_index_is_acceptable_where_a_nan_is_among_the_elements(level, dtype):
    X = np.array([[1, nan, 3], [1, 2, 3]]).astype(dtype)
    assert acceptable(chain(axis=1, X=X), X, level) == [[0, 1, 2], [2]]


@pytest.mark.parametrize(("dtype", "X"), [(np.float16, [12, 13]), (BFLOAT16, [89, 100]), (np.float64, [710, 800])])
@pytest.mark.parametrize(("select_last_index", "should"), [(0, [0]), (1, [2])])
def test_overflows_of_every_type_tie_at_should(dtype, X, select_last_index, should):
    X = np.array([*X, X[0]]).astype(dtype)
    model = chain("Exp", select_last_index=select_last_index, X=X)
    assert acceptable(model, X, Level.SHOULD) == [should]
    assert acceptable(model, X, Level.MUST) == [[0, 1, 2]]


@pytest.mark.parametrize(
    ("dtype", "X"), [(np.float16, [-30, -20]), (BFLOAT16, [-200, -150]), (np.float64, [-900, -800])]
)
def test_underflows_of_every_type_tie_at_should(dtype, X):
    X = np.array(X).astype(dtype)
    assert acceptable(chain("Exp", X=X), X, Level.SHOULD) == [[0]]
    assert acceptable(chain("Exp", X=X), X, Level.MUST) == [[0, 1]]


def test_the_result_of_one_operator_overflows_into_the_next():
    X = np.array([89, 100, 1], np.float32)
    assert acceptable(chain("Exp", "Log", X=X), X, Level.SHOULD) == [[0]]
    assert acceptable(chain("Exp", "Log", X=X), X, Level.MUST) == [[0, 1]]
    assert evaluated(chain("Exp", "Log", X=X), X) == [1]


def test_the_logarithm_of_what_may_underflow_leaves_each_index_at_must():
    X = np.array([-87, -86.94, -86.9], np.float16)
    assert acceptable(chain("Exp", "Log", X=X), X, Level.MUST) == [[0, 1, 2]]
    assert acceptable(chain("Exp", "Log", X=X), X, Level.SHOULD) == [[0]]


def test_a_function_of_several_operations_may_underflow_on_the_way():
    X = np.array([-104, -103.5, -103, -105, -110], np.float32)
    assert 0 in acceptable(chain("Mish", opset=18, X=X), X, Level.SHOULD)[0]


def test_exponentials_of_the_largest_numbers_are_told_apart_exactly():
    X = np.array([3e38, 3.1e38], np.float32)
    assert evaluated(chain("Exp", X=X), X) == [1]
    assert evaluated(chain("Exp", X=-X), -X) == [0]


@pytest.mark.parametrize("operator", ["Exp", "Softmax", "LogSoftmax"])
def test_the_smallest_numbers_are_told_apart_exactly(operator):
    X = np.array([0, 5e-324])
    assert evaluated(chain(operator, X=X), X) == [1]
    assert evaluated(chain(operator, X=X), X, declared=True) == [0]


def test_softmax_orders_along_its_own_axis_only():
    X = np.array([[0, 0], [3, 9]], np.float32)
    model = onnx.load_model_from_string(chain("Softmax", axis=1, X=X))
    model.graph.node[1].attribute[0].i = 0
    assert evaluate(model, [X])[0].tolist() == [0, 1]


@pytest.mark.parametrize("operator", ["Exp", "Log", "Sqrt", "Softmax", "LogSoftmax"])
@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16, np.float32, np.float64], ids=lambda dtype: dtype.__name__)
@law
@given(values=st.lists(st.floats(-300, 300, width=16), min_size=2, max_size=5))
def test_the_declared_index_is_acceptable_at_should_and_the_exact_one_at_must(operator, dtype, values):
    X = np.array(values).astype(dtype)
    model = chain(operator, X=X)
    assert evaluated(model, X, declared=True)[0] in acceptable(model, X, Level.SHOULD)[0]
    assert evaluated(model, X, declared=True)[0] in acceptable(model, X, Level.MUST)[0]
    assert evaluated(model, X)[0] in acceptable(model, X, Level.MUST)[0]
    assert set(acceptable(model, X, Level.SHOULD)[0]) <= set(acceptable(model, X, Level.MUST)[0])


@pytest.mark.parametrize("operator", ["Exp", "Log", "Sqrt", "Softmax", "LogSoftmax"])
@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16, np.float32, np.float64], ids=lambda dtype: dtype.__name__)
@law
@given(start=st.floats(0.5, 90, width=16), steps=st.lists(st.integers(0, 3), min_size=2, max_size=4))
def test_the_native_index_among_neighbours_is_acceptable_at_should(operator, dtype, start, steps):
    spacing = float(np.spacing(np.array(start).astype(dtype)))
    X = np.array([start + step * spacing for step in steps]).astype(dtype)
    model = chain(operator, X=X)
    assert native(model, [X])[0].item() in acceptable(model, X, Level.SHOULD)[0]


class TestEvaluation:
    def test_takes_inputs_by_name_and_leaves_out_what_the_model_does_not_have(self):
        X = np.array([3, 7, 5], np.float32)
        model = onnx.load_model_from_string(chain("Exp", X=X))
        assert evaluate(model, {"X": X, "another": X})[0] == 1

    def test_refuses_a_model_whose_input_is_not_given(self):
        X = np.array([3, 7, 5], np.float32)
        with pytest.raises(Unsupported, match="input X"):
            evaluate(onnx.load_model_from_string(chain("Exp", X=X)), {"Z": X})

    def test_takes_an_initializer_for_an_input_that_is_left_out(self):
        X = np.array([3, 7, 5], np.float32)
        model = onnx.load_model_from_string(chain("Exp", X=X))
        model.graph.initializer.append(numpy_helper.from_array(X[::-1][:2].copy(), "X"))
        assert (evaluate(model, {})[0], evaluate(model, {"X": X})[0], evaluate(model, [X])[0]) == (1, 1, 1)

    def test_rounds_numbers_once_to_their_type(self):
        X = np.array([1, 2], np.float32)
        nodes = [helper.make_node("Exp", ["X"], ["E"]), helper.make_node("Log", ["E"], ["Y"])]
        model = onnx.load_model_from_string(model_of(nodes, {"X": X}, {"Y": TensorProto.FLOAT}))
        assert evaluate(model, [X])[0].tolist() == [1, 2]

    def test_rounds_numbers_after_every_operator_in_the_declared_types(self):
        X = np.array([1e-9, 100], np.float32)
        nodes = [helper.make_node("Exp", ["X"], ["E"]), helper.make_node("Log", ["E"], ["Y"])]
        model = onnx.load_model_from_string(model_of(nodes, {"X": X}, {"Y": TensorProto.FLOAT}))
        assert evaluate(model, [X], declared=True)[0].tolist() == [0, inf]

    def test_gives_a_sequence_as_a_list(self):
        X = np.array([1, 2], np.float32)
        nodes = [helper.make_node("SequenceConstruct", ["X", "X"], ["Y"])]
        model = onnx.load_model_from_string(model_of(nodes, {"X": X}, {"Y": TensorProto.FLOAT}))
        assert [item.tolist() for item in evaluate(model, [X])[0]] == [[1, 2], [1, 2]]

    @law
    @given(values=st.lists(st.floats(-60, 60, width=32), min_size=1, max_size=4))
    def test_agrees_with_the_native_square_root_and_sum_in_the_declared_types(self, values):
        X = np.array(values, np.float32)
        nodes = [helper.make_node("Abs", ["X"], ["A"]), helper.make_node("Sqrt", ["A"], ["R"])]
        nodes.append(helper.make_node("Add", ["R", "X"], ["Y"]))
        serialised = model_of(nodes, {"X": X}, {"Y": TensorProto.FLOAT})
        declared = evaluate(onnx.load_model_from_string(serialised), [X], declared=True)[0]
        assert declared.tolist() == native(serialised, [X])[0].tolist()
