"""Models of one node, and their outputs from the oracle and the reference backend."""

from __future__ import annotations

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import helper
from reference_models import build_model, reference_outputs

from conformance.base.verdicts import Level
from conformance.exact.reference.enclosures import enclose_node
from conformance.exact.reference.nodes import Node
from conformance.exact.reference.numbers.enclosure import admissible_mask
from conformance.exact.reference.oracle import answers

TYPES = {np.dtype(np.float32): onnx.TensorProto.FLOAT, np.dtype(np.float64): onnx.TensorProto.DOUBLE}


def one_node_model(op_type, inputs, *, dtype=None, opset=13, **attributes):
    named = {f"input_{place}": array for place, array in enumerate(inputs)}
    elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype or inputs[0].dtype))
    return build_model([helper.make_node(op_type, [*named], ["Y"], **attributes)], named, {"Y": elem_type}, opset=opset)


def oracle_answers(op_type, *inputs, level=Level.SHOULD, **options):
    """Return the oracle's answer for one operator on these inputs."""
    inputs = [np.asarray(array) for array in inputs]
    return answers(one_node_model(op_type, inputs, **options), inputs, level)[0]


def reference_output(op_type, *inputs, **options):
    """Return the output of the reference backend."""
    inputs = [np.asarray(array) for array in inputs]
    return reference_outputs(one_node_model(op_type, inputs, **options), inputs)[0]


def enclose_operator(op_type, *inputs, opset, outputs=1, **attributes):
    """Return enclosures of the outputs of one operator of the main domain."""
    names = tuple(f"i{k}" for k in range(len(inputs))), tuple(f"o{k}" for k in range(outputs))
    return enclose_node(Node(op_type, *names, attributes, opset), list(inputs))


def assert_close(tensor, wanted):
    """Assert that a tensor contains numbers in double, and neither zeros nor the numbers times 1.01."""
    assert tensor.shape == wanted.shape
    assert (np.abs(tensor.value - wanted) <= tensor.error + 2.0**-44 * np.abs(wanted).max()).all()
    visible = np.abs(wanted) > 0.05 * np.abs(wanted).max()
    for wrong in (wanted * 1.01, np.zeros(wanted.shape)):
        assert not admissible_mask(wrong.astype(tensor.dtype), tensor)[visible].any()


def f32(*values):
    return np.array(values, np.float32)


numbers = st.floats(-1000, 1000, width=32).filter(lambda x: x == 0 or abs(x) > 1e-6)


X = np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4)
