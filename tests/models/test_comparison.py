"""Equal tensors are equal messages after conversion to raw data."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from conformance.models.comparison import copy_with_raw_tensors, tensor_digest


@pytest.mark.parametrize(
    ("kind", "elements"),
    [
        (TensorProto.FLOAT, [0.5, -0.0]),
        (TensorProto.INT8, [-1, 2]),
        (TensorProto.INT64, [2**62, -1]),
        (TensorProto.DOUBLE, [0.1, 2.0]),
        (TensorProto.UINT64, [2**63, 1]),
    ],
)
def test_typed_data_becomes_raw_data(kind, elements):
    typed, raw = (helper.make_tensor("W", kind, [2], elements), helper.make_tensor("W", kind, [2], elements))
    raw = numpy_helper.from_array(numpy_helper.to_array(raw), "W")
    assert typed != raw
    assert copy_with_raw_tensors(typed) == raw


def test_tensor_in_attribute_is_converted():
    tensor = helper.make_tensor("W", TensorProto.FLOAT, [1], [0.5])
    node = copy_with_raw_tensors(helper.make_node("Constant", [], ["Y"], value=tensor))
    assert node.attribute[0].t.raw_data == np.float32(0.5).tobytes()


def test_strings_and_unreadable_tensors_are_unchanged():
    text = helper.make_tensor("W", TensorProto.STRING, [1], [b"one"])
    short = onnx.TensorProto(data_type=TensorProto.FLOAT, dims=[3], float_data=[0.5])
    assert (copy_with_raw_tensors(text), copy_with_raw_tensors(short)) == (text, short)


def test_tensors_of_a_type_that_onnx_does_not_know_are_compared_by_their_bytes():
    first, same, other = (onnx.TensorProto(data_type=999, dims=[1], raw_data=raw) for raw in (b"a", b"a", b"b"))
    assert tensor_digest(first) == tensor_digest(same) != tensor_digest(other)
