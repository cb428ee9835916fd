"""Tensors that hold the same are the same message once they are stored as raw bytes."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from conformance.models.storage import as_raw


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
def test_numbers_become_raw_bytes(kind, elements):
    typed, raw = (helper.make_tensor("W", kind, [2], elements), helper.make_tensor("W", kind, [2], elements))
    raw = numpy_helper.from_array(numpy_helper.to_array(raw), "W")
    assert typed != raw
    assert as_raw(typed) == raw


def test_tensors_in_attributes_are_found():
    tensor = helper.make_tensor("W", TensorProto.FLOAT, [1], [0.5])
    node = as_raw(helper.make_node("Constant", [], ["Y"], value=tensor))
    assert node.attribute[0].t.raw_data == np.float32(0.5).tobytes()


def test_text_and_what_cannot_be_read_stay_as_they_are():
    text = helper.make_tensor("W", TensorProto.STRING, [1], [b"one"])
    short = onnx.TensorProto(data_type=TensorProto.FLOAT, dims=[3], float_data=[0.5])
    assert (as_raw(text), as_raw(short)) == (text, short)
