"""Hazards of the pass: inputs for which it changes the index of an ArgMax, and the acceptable indices at each level."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from argmax_chains import acceptable, chain
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from reference_models import build_model, reference_outputs

from conformance.base.verdicts import Level, Unsupported
from conformance.exact.reference.oracle import evaluate

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
class TestHazard:
    def test_must_accepts_indices_before_and_after_the_pass(self, operator, opset, X, before, after, should):
        X = np.array(X, np.float32)
        assert {before, after} <= set(acceptable(chain(operator, opset=opset, X=X), X, Level.MUST)[0])

    def test_should_requires_index_of_declared_types(self, operator, opset, X, before, after, should):
        X = np.array(X, np.float32)
        assert acceptable(chain(operator, opset=opset, X=X), X, Level.SHOULD)[0] == should

    def test_evaluation_in_declared_types_equals_original_model(self, operator, opset, X, before, after, should):
        X = np.array(X, np.float32)
        assert evaluated(chain(operator, opset=opset, X=X), X, declared=True) == [before]


@pytest.mark.parametrize("name", [name for name, hazard in HAZARDS.items() if set(hazard[2]).isdisjoint([inf, -inf])])
def test_exact_evaluation_without_nan_finds_maximum_of_input(name):
    operator, opset, X, _, after, _ = HAZARDS[name]
    X = np.array(X, np.float32)
    if not (np.isnan(X).any() or ((X < 0).any() and operator in {"Log", "Sqrt"})):
        assert evaluated(chain(operator, opset=opset, X=X), X) == [after]


MATRIX = np.array([[0, 1000], [5, 1000]], np.float32)


def test_coerced_softmax_underflow_ties_at_should_only():
    model = chain("Softmax", opset=11, X=MATRIX)
    model = onnx.load_model_from_string(model)
    del model.graph.node[1].attribute[2]  # opset 12 introduced select_last_index
    model = model.SerializeToString()
    assert acceptable(model, MATRIX, Level.MUST) == [[0, 1], [0, 1]]
    assert acceptable(model, MATRIX, Level.SHOULD)[0] == [0]
    assert (evaluated(model, MATRIX, declared=True), evaluated(model, MATRIX)) == ([0, 0], [1, 0])


@pytest.mark.parametrize("level", [Level.MUST, Level.SHOULD])
@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16, np.float32, np.float64])
def test_argmax_with_nan_accepts_any_index(level, dtype):
    X = np.array([[1, nan, 3], [1, 2, 3]]).astype(dtype)
    assert acceptable(chain(axis=1, X=X), X, level) == [[0, 1, 2], [2]]


@pytest.mark.parametrize(("dtype", "X"), [(np.float16, [12, 13]), (BFLOAT16, [89, 100]), (np.float64, [710, 800])])
@pytest.mark.parametrize(("select_last_index", "should"), [(0, [0]), (1, [2])])
def test_overflows_tie_at_should(dtype, X, select_last_index, should):
    X = np.array([*X, X[0]]).astype(dtype)
    model = chain("Exp", select_last_index=select_last_index, X=X)
    assert acceptable(model, X, Level.SHOULD) == [should]
    assert acceptable(model, X, Level.MUST) == [[0, 1, 2]]


@pytest.mark.parametrize(
    ("dtype", "X"), [(np.float16, [-30, -20]), (BFLOAT16, [-200, -150]), (np.float64, [-900, -800])]
)
def test_underflows_tie_at_should(dtype, X):
    X = np.array(X).astype(dtype)
    assert acceptable(chain("Exp", X=X), X, Level.SHOULD) == [[0]]
    assert acceptable(chain("Exp", X=X), X, Level.MUST) == [[0, 1]]


def test_overflow_propagates_to_next_operator():
    X = np.array([89, 100, 1], np.float32)
    assert acceptable(chain("Exp", "Log", X=X), X, Level.SHOULD) == [[0]]
    assert acceptable(chain("Exp", "Log", X=X), X, Level.MUST) == [[0, 1]]
    assert evaluated(chain("Exp", "Log", X=X), X) == [1]


def test_log_of_possible_underflow_accepts_each_index_at_must():
    X = np.array([-87, -86.94, -86.9], np.float16)
    assert acceptable(chain("Exp", "Log", X=X), X, Level.MUST) == [[0, 1, 2]]
    assert acceptable(chain("Exp", "Log", X=X), X, Level.SHOULD) == [[0]]


def test_intermediate_underflow_is_accepted():
    X = np.array([-104, -103.5, -103, -105, -110], np.float32)
    assert 0 in acceptable(chain("Mish", opset=18, X=X), X, Level.SHOULD)[0]


def test_exp_of_largest_numbers_keeps_exact_order():
    X = np.array([3e38, 3.1e38], np.float32)
    assert evaluated(chain("Exp", X=X), X) == [1]
    assert evaluated(chain("Exp", X=-X), -X) == [0]


@pytest.mark.parametrize("operator", ["Exp", "Softmax", "LogSoftmax"])
def test_function_of_smallest_numbers_keeps_exact_order(operator):
    X = np.array([0, 5e-324])
    assert evaluated(chain(operator, X=X), X) == [1]
    assert evaluated(chain(operator, X=X), X, declared=True) == [0]


def test_softmax_keeps_order_along_its_axis_only():
    X = np.array([[0, 0], [3, 9]], np.float32)
    model = onnx.load_model_from_string(chain("Softmax", axis=1, X=X))
    model.graph.node[1].attribute[0].i = 0
    assert evaluate(model, [X])[0].tolist() == [0, 1]


@pytest.mark.variants(10)
@pytest.mark.parametrize("operator", ["Exp", "Log", "Sqrt", "Softmax", "LogSoftmax"])
@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16, np.float32, np.float64], ids=lambda dtype: dtype.__name__)
@given(values=st.lists(st.floats(-300, 300, width=16), min_size=2, max_size=5))
def test_declared_index_at_should_and_exact_index_at_must(operator, dtype, values):
    X = np.array(values).astype(dtype)
    model = chain(operator, X=X)
    assert evaluated(model, X, declared=True)[0] in acceptable(model, X, Level.SHOULD)[0]
    assert evaluated(model, X, declared=True)[0] in acceptable(model, X, Level.MUST)[0]
    assert evaluated(model, X)[0] in acceptable(model, X, Level.MUST)[0]
    assert set(acceptable(model, X, Level.SHOULD)[0]) <= set(acceptable(model, X, Level.MUST)[0])


@pytest.mark.variants(10)
@pytest.mark.parametrize("operator", ["Exp", "Log", "Sqrt", "Softmax", "LogSoftmax"])
@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16, np.float32, np.float64], ids=lambda dtype: dtype.__name__)
@given(start=st.floats(0.5, 90, width=16), steps=st.lists(st.integers(0, 3), min_size=2, max_size=4))
def test_native_index_among_close_elements_is_acceptable(operator, dtype, start, steps):
    spacing = float(np.spacing(np.array(start).astype(dtype)))
    X = np.array([start + step * spacing for step in steps]).astype(dtype)
    model = chain(operator, X=X)
    assert reference_outputs(model, [X])[0].item() in acceptable(model, X, Level.SHOULD)[0]


class TestEvaluation:
    def test_evaluate_ignores_unknown_input_names(self):
        X = np.array([3, 7, 5], np.float32)
        model = onnx.load_model_from_string(chain("Exp", X=X))
        assert evaluate(model, {"X": X, "another": X})[0] == 1

    def test_evaluate_without_required_input_is_unsupported(self):
        X = np.array([3, 7, 5], np.float32)
        with pytest.raises(Unsupported, match="input X"):
            evaluate(onnx.load_model_from_string(chain("Exp", X=X)), {"Z": X})

    def test_evaluate_uses_initializer_of_omitted_input(self):
        X = np.array([3, 7, 5], np.float32)
        model = onnx.load_model_from_string(chain("Exp", X=X))
        model.graph.initializer.append(numpy_helper.from_array(X[::-1][:2].copy(), "X"))
        assert (evaluate(model, {})[0], evaluate(model, {"X": X})[0], evaluate(model, [X])[0]) == (1, 1, 1)

    @pytest.mark.parametrize(("values", "declared", "found"), [([1, 2], False, [1, 2]), ([1e-9, 100], True, [0, inf])])
    def test_evaluate_rounds_once_or_after_every_operator(self, values, declared, found):
        X = np.array(values, np.float32)
        nodes = [helper.make_node("Exp", ["X"], ["E"]), helper.make_node("Log", ["E"], ["Y"])]
        model = onnx.load_model_from_string(build_model(nodes, {"X": X}, {"Y": TensorProto.FLOAT}))
        assert evaluate(model, [X], declared=declared)[0].tolist() == found

    def test_evaluate_returns_scalar_as_array(self):
        nodes = [helper.make_node("Identity", ["X"], ["Y"])]
        model = onnx.load_model_from_string(build_model(nodes, {"X": np.asarray(True)}, {"Y": TensorProto.BOOL}))
        assert isinstance(evaluate(model, [np.bool(True)])[0], np.ndarray)

    def test_evaluate_returns_sequence_as_list(self):
        X = np.array([1, 2], np.float32)
        nodes = [helper.make_node("SequenceConstruct", ["X", "X"], ["Y"])]
        model = onnx.load_model_from_string(build_model(nodes, {"X": X}, {"Y": TensorProto.FLOAT}))
        assert [item.tolist() for item in evaluate(model, [X])[0]] == [[1, 2], [1, 2]]

    @given(values=st.lists(st.floats(-60, 60, width=32), min_size=1, max_size=4))
    def test_evaluate_declared_equals_native_sqrt_and_sum(self, values):
        X = np.array(values, np.float32)
        nodes = [helper.make_node("Abs", ["X"], ["A"]), helper.make_node("Sqrt", ["A"], ["R"])]
        nodes.append(helper.make_node("Add", ["R", "X"], ["Y"]))
        serialised = build_model(nodes, {"X": X}, {"Y": TensorProto.FLOAT})
        declared = evaluate(onnx.load_model_from_string(serialised), [X], declared=True)[0]
        assert declared.tolist() == reference_outputs(serialised, [X])[0].tolist()
