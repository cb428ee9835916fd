"""Types of tensors: float16, bfloat16, float and double in operators before ArgMax, and every type in ArgMax itself."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from batches import for_each
from onnx import TensorProto, helper
from reference_models import build_model, error_in_bounds, oracle_answer, reference_outputs

from conformance.models.arrays import dtype_of, tensor_of, type_number
from conformance.reference.oracle import answers
from conformance.verdicts import Level

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FUNCTIONS = [
    *("Exp", "Log", "Sqrt", "Softmax", "LogSoftmax", "Relu", "Neg", "Abs", "Sigmoid", "Tanh", "Elu", "Selu", "Round"),
    *("LeakyRelu", "HardSigmoid", "HardSwish", "Softplus", "Softsign", "Reciprocal", "Floor", "Hardmax", "Identity"),
]
NARROW = [0.25, 0.5, 1.0, 2.0, 3.5]


@for_each("op_type", FUNCTIONS)
@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: dtype.__name__)
def test_operator_supports_every_float_type(op_type, dtype):
    X = np.array(NARROW).astype(dtype)
    answer = oracle_answer(op_type, X, level=Level.MUST, opset=16)
    (output,) = reference_outputs(
        build_model([helper.make_node(op_type, ["X"], ["Y"])], {"X": X}, {"Y": 1}, opset=16), [X]
    )
    assert (answer.expected.dtype, output.dtype) == (dtype, dtype)
    assert (
        error_in_bounds(answer, output.astype(np.float64)) <= 1
        if answer.bound is not None
        else (output == answer.expected).all()
    )


@pytest.mark.parametrize("op_type", ["Add", "Sub", "Mul", "Div", "Max", "Min"])
@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: dtype.__name__)
def test_binary_operator_supports_every_float_type(op_type, dtype):
    X, Z = np.array(NARROW).astype(dtype), np.array(0.1).astype(dtype)
    serialised = build_model([helper.make_node(op_type, ["X", "Z"], ["Y"])], {"X": X, "Z": Z}, {"Y": 1}, opset=16)
    output, answer = reference_outputs(serialised, [X, Z])[0], answers(serialised, [X, Z], Level.MUST)[0]
    assert (output.dtype, answer.expected.dtype) == (dtype, dtype)
    assert answer.bound is None or error_in_bounds(answer, output.astype(np.float64)) <= 1


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize(("select_last_index", "index"), [(0, 1), (1, 3)])
def test_argmax_tie_of_every_type_obeys_select_last_index(dtype, select_last_index, index):
    X = np.array([1, 5, 2, 5]).astype(dtype)
    attributes = {"keepdims": 0, "select_last_index": select_last_index}
    serialised = build_model([helper.make_node("ArgMax", ["X"], ["Y"], **attributes)], {"X": X}, {"Y": 7})
    assert reference_outputs(serialised, [X])[0] == oracle_answer("ArgMax", X, **attributes).expected == index


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=lambda dtype: dtype.__name__)
def test_argmax_distinguishes_neighbours_of_narrow_type(dtype):
    X = np.array([1, 1 + float(ml_dtypes.finfo(dtype).eps)]).astype(dtype)
    assert oracle_answer("ArgMax", X, keepdims=0, level=Level.MUST).expected.item() == 1


def test_bfloat16_initializer_is_supported():
    W = np.array([1.0, 2.0], ml_dtypes.bfloat16)
    serialised = build_model([helper.make_node("Exp", ["W"], ["Y"])], {}, {"Y": 16}, initializers=[tensor_of(W, "W")])
    assert reference_outputs(serialised, [])[0].dtype == W.dtype
    assert answers(serialised, [], Level.MUST)[0].expected.tolist() == [2.71875, 7.375]


@pytest.mark.parametrize("name", ["float16", "bfloat16", "double"])
def test_cast_supports_every_float_type(name):
    X, to = np.array([1.1, -2.3], np.float32), type_number(name)
    serialised = build_model([helper.make_node("Cast", ["X"], ["Y"], to=to)], {"X": X}, {"Y": to})
    expected = X.astype(dtype_of(to))
    assert answers(serialised, [X], Level.SHOULD)[0].expected.tobytes() == expected.tobytes()
    assert reference_outputs(serialised, [X])[0].tobytes() == expected.tobytes()


@pytest.mark.parametrize("type", [TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2, TensorProto.COMPLEX64])
def test_unused_initializer_of_other_type_is_accepted(type):
    aside = onnx.TensorProto(name="aside", data_type=type, dims=[2], raw_data=bytes(16 if type == 14 else 2))
    X = np.array([1, 2], np.float32)
    serialised = build_model([helper.make_node("Neg", ["X"], ["Y"])], {"X": X}, {"Y": 1}, initializers=[aside])
    assert answers(serialised, [X], Level.MUST)[0].expected.tolist() == [-1, -2]
