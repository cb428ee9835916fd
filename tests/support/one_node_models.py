"""Models of one node on given inputs, and what the oracle and NumPy say of them."""

from __future__ import annotations

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import helper
from reference_models import model_of, native

from conformance.reference.oracle import answers
from conformance.verdicts import Level

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


X = np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4)
