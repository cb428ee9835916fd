"""The results of the native number system are within the bounds of the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from batches import for_each
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper
from reference_models import (
    MOMENTUM,
    OPERANDS,
    RESULTS,
    build_model,
    error_in_bounds,
    optimizer_inputs,
    optimizer_model,
    reference_outputs,
)

from conformance.base.verdicts import Level
from conformance.exact.reference.oracle import answers

TYPES = [np.float32, np.float64]
COUNTS = [-3, 0, 1, 2, 10, 1000]
every_optimizer = pytest.mark.parametrize("op_type", OPERANDS)


def attributes_of(op_type, data):
    """Return attributes of an operator of ordinary magnitude."""
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
@given(data=st.data())
def test_native_optimizer_is_within_must_bounds(op_type, dtype, R_dtype, data):
    numbers = st.lists(st.floats(0.125, 8, width=32), min_size=3, max_size=3)
    operands = [data.draw(numbers) for _ in OPERANDS[op_type]]
    inputs = optimizer_inputs(0.1, data.draw(st.sampled_from(COUNTS)), *operands, dtype=dtype, R_dtype=R_dtype)
    model = optimizer_model(op_type, inputs, **attributes_of(op_type, data))
    outputs = zip(answers(model, inputs, Level.MUST), reference_outputs(model, inputs), strict=True)
    assert max(error_in_bounds(answer, output) for answer, output in outputs) <= 1


@every_optimizer
@for_each("shape", [(), (1,), (0,), (2, 3)])
@for_each("dtype", TYPES)
@for_each("R_dtype", TYPES)
@for_each("T", [0, 5])
def test_native_outputs_have_type_and_shape_of_tensor(op_type, shape, dtype, R_dtype, T):
    tensors = [np.ones(shape, dtype) for _ in OPERANDS[op_type]]
    inputs = [np.array(0.1, R_dtype), np.array(T), *tensors]
    outputs = reference_outputs(optimizer_model(op_type, inputs), inputs)
    assert [(output.dtype, output.shape) for output in outputs] == [(dtype, shape)] * len(RESULTS[op_type])


@every_optimizer
def test_native_tensors_of_different_types_keep_types(op_type):
    tensors = [np.ones(2, dtype) for _ in OPERANDS[op_type] for dtype in TYPES]
    inputs = [np.array(0.1), np.array(5), *tensors]
    outputs = reference_outputs(optimizer_model(op_type, inputs), inputs)
    assert [output.dtype for output in outputs] == TYPES * len(RESULTS[op_type])


@every_optimizer
def test_native_run_does_not_modify_inputs(op_type):
    inputs = optimizer_inputs(0.1, 3, *([1.0, 2.0] for _ in OPERANDS[op_type]))
    before = [array.tobytes() for array in inputs]
    reference_outputs(optimizer_model(op_type, inputs), inputs)
    assert [array.tobytes() for array in inputs] == before


@every_optimizer
def test_native_runs_are_independent(op_type):
    inputs = optimizer_inputs(0.1, 3, *([1.0, 2.0] for _ in OPERANDS[op_type]))
    model = optimizer_model(op_type, inputs)
    assert [output.tolist() for output in reference_outputs(model, inputs)] == [
        output.tolist() for output in reference_outputs(model, inputs)
    ]


def test_native_chained_steps_are_within_bounds():
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
    model = build_model(nodes, named, {"X11": TensorProto.FLOAT, "V11": TensorProto.FLOAT})
    inputs = list(named.values())
    outputs = zip(answers(model, inputs, Level.MUST), reference_outputs(model, inputs), strict=True)
    assert max(error_in_bounds(answer, output) for answer, output in outputs) <= 1


SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3e38, -1.0]


@every_optimizer
def test_native_special_values_emit_no_warning(op_type):
    inputs = optimizer_inputs(0.1, 3, *(np.roll(SPECIAL, shift) for shift, _ in enumerate(OPERANDS[op_type])))
    assert len(reference_outputs(optimizer_model(op_type, inputs), inputs)) == len(RESULTS[op_type])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("op_type", ["Exp", "Log", "Sqrt", "Relu", "Softmax", "LogSoftmax"])
def test_native_function_is_within_bounds(op_type, dtype):
    X = np.array([[0.5, 1.0, 3.0], [2.0, 0.25, 0.125]], dtype)
    model = build_model(
        [helper.make_node(op_type, ["X"], ["Y"])], {"X": X}, {"Y": helper.np_dtype_to_tensor_dtype(X.dtype)}
    )
    (answer,), (output,) = answers(model, [X], Level.MUST), reference_outputs(model, [X])
    assert output.dtype == dtype
    assert error_in_bounds(answer, output) <= 1


@pytest.mark.parametrize("select_last_index", [0, 1])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int64, np.uint8])
def test_native_argmax_obeys_select_last_index(dtype, select_last_index):
    X = np.array([[1, 5, 5], [7, 7, 0]], dtype)
    node = helper.make_node("ArgMax", ["X"], ["Y"], axis=1, select_last_index=select_last_index)
    (output,) = reference_outputs(build_model([node], {"X": X}, {"Y": TensorProto.INT64}), [X])
    assert output.tolist() == ([[2], [1]] if select_last_index else [[1], [0]])
