"""The reference backend: NumPy in the tensors' own types, within the oracle's bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from reference_models import MOMENTUM, OPERANDS, RESULTS, excess, model_of, native, optimizer_inputs, optimizer_model

from conformance.reference.oracle import answers
from conformance.verdicts import Level

law = settings(max_examples=40, deadline=None, derandomize=True)
TYPES = [np.float32, np.float64]
COUNTS = [-3, 0, 1, 2, 10, 1000]
every_optimizer = pytest.mark.parametrize("op_type", OPERANDS)


def attributes_of(op_type, data):
    """Attributes of an operator, as ordinary as its defaults."""
    share, small = st.floats(0, 0.984375, width=32), st.floats(0, 0.125, width=32)
    strategies = {
        "Adam": {"alpha": share, "beta": share, "norm_coefficient": small, "norm_coefficient_post": small},
        "Momentum": {"alpha": share, "norm_coefficient": small, "mode": st.sampled_from(["standard", "nesterov"])},
        "Adagrad": {"decay_factor": small, "norm_coefficient": small},
    }[op_type]
    return {name: data.draw(strategy) for name, strategy in strategies.items()}


@every_optimizer
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("R_dtype", TYPES)
@law
@given(data=st.data())
def test_an_optimizer_in_numpy_is_within_the_must_bounds(op_type, dtype, R_dtype, data):
    numbers = st.lists(st.floats(0.125, 8, width=32), min_size=3, max_size=3)
    operands = [data.draw(numbers) for _ in OPERANDS[op_type]]
    inputs = optimizer_inputs(0.1, data.draw(st.sampled_from(COUNTS)), *operands, dtype=dtype, R_dtype=R_dtype)
    model = optimizer_model(op_type, inputs, **attributes_of(op_type, data))
    outputs = zip(answers(model, inputs, Level.MUST), native(model, inputs), strict=True)
    assert max(excess(answer, output) for answer, output in outputs) <= 1


@every_optimizer
@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 3)])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("R_dtype", TYPES)
@pytest.mark.parametrize("T", [0, 5])
def test_outputs_have_their_tensors_type_and_shape(op_type, shape, dtype, R_dtype, T):
    tensors = [np.ones(shape, dtype) for _ in OPERANDS[op_type]]
    inputs = [np.array(0.1, R_dtype), np.array(T), *tensors]
    outputs = native(optimizer_model(op_type, inputs), inputs)
    assert [(output.dtype, output.shape) for output in outputs] == [(dtype, shape)] * len(RESULTS[op_type])


@every_optimizer
def test_tensors_of_different_types_keep_their_types(op_type):
    tensors = [np.ones(2, dtype) for _ in OPERANDS[op_type] for dtype in TYPES]
    inputs = [np.array(0.1), np.array(5), *tensors]
    outputs = native(optimizer_model(op_type, inputs), inputs)
    assert [output.dtype for output in outputs] == TYPES * len(RESULTS[op_type])


@every_optimizer
def test_inputs_are_left_as_they_are(op_type):
    inputs = optimizer_inputs(0.1, 3, *([1.0, 2.0] for _ in OPERANDS[op_type]))
    before = [array.tobytes() for array in inputs]
    native(optimizer_model(op_type, inputs), inputs)
    assert [array.tobytes() for array in inputs] == before


@every_optimizer
def test_a_run_remembers_nothing_of_the_run_before(op_type):
    inputs = optimizer_inputs(0.1, 3, *([1.0, 2.0] for _ in OPERANDS[op_type]))
    model = optimizer_model(op_type, inputs)
    assert [output.tolist() for output in native(model, inputs)] == [
        output.tolist() for output in native(model, inputs)
    ]


def test_two_chained_steps_are_within_the_bounds():
    named = dict(
        zip(["R", "T", "X", "G", "V"], optimizer_inputs(0.1, 1, [0.7, 3.0], [-1.3, 0.2], [0.4, 0.5]), strict=True)
    )
    attributes = {**MOMENTUM, "alpha": 0.9, "norm_coefficient": 0.01, "mode": "nesterov"}
    nodes = [
        helper.make_node(
            "Momentum", ["R", "T", X, "G", V], [f"{X}1", f"{V}1"], domain="ai.onnx.preview.training", **attributes
        )
        for X, V in (("X", "V"), ("X1", "V1"))
    ]
    model = model_of(nodes, named, {"X11": TensorProto.FLOAT, "V11": TensorProto.FLOAT})
    inputs = list(named.values())
    outputs = zip(answers(model, inputs, Level.MUST), native(model, inputs), strict=True)
    assert max(excess(answer, output) for answer, output in outputs) <= 1


SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3e38, -1.0]


@every_optimizer
def test_special_values_raise_no_warning(op_type):
    inputs = optimizer_inputs(0.1, 3, *(np.roll(SPECIAL, shift) for shift, _ in enumerate(OPERANDS[op_type])))
    assert len(native(optimizer_model(op_type, inputs), inputs)) == len(RESULTS[op_type])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("op_type", ["Exp", "Log", "Sqrt", "Relu", "Softmax", "LogSoftmax"])
def test_a_function_in_numpy_is_within_the_bounds_in_the_tensors_type(op_type, dtype):
    X = np.array([[0.5, 1.0, 3.0], [2.0, 0.25, 0.125]], dtype)
    model = model_of(
        [helper.make_node(op_type, ["X"], ["Y"])], {"X": X}, {"Y": helper.np_dtype_to_tensor_dtype(X.dtype)}
    )
    (answer,), (output,) = answers(model, [X], Level.MUST), native(model, [X])
    assert output.dtype == dtype
    assert excess(answer, output) <= 1


@pytest.mark.parametrize("select_last_index", [0, 1])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int64, np.uint8])
def test_argmax_in_numpy_obeys_select_last_index(dtype, select_last_index):
    X = np.array([[1, 5, 5], [7, 7, 0]], dtype)
    node = helper.make_node("ArgMax", ["X"], ["Y"], axis=1, select_last_index=select_last_index)
    (output,) = native(model_of([node], {"X": X}, {"Y": TensorProto.INT64}), [X])
    assert output.tolist() == ([[2], [1]] if select_last_index else [[1], [0]])
