"""bfloat16 and the other types of tensors: arrays, messages, and a case's loading and comparison."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from conformance.corpus.loading import ExpectedTensor, _tensor
from conformance.judging.compare import compare
from conformance.models.arrays import array_of, dtype_of, tensor_of, type_name, type_number
from conformance.models.preview import preview

NAMES = [
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float", "double", "bool"),
]
BFLOAT16 = np.array([1.0, -2.5, np.inf, 0.1], ml_dtypes.bfloat16)


@pytest.mark.parametrize("name", NAMES)
def test_a_type_has_one_name_and_one_number(name):
    assert type_name(dtype_of(type_number(name))) == name


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_an_array_comes_back_from_its_message(name, shape):
    array = np.ones(shape).astype(dtype_of(type_number(name)))
    back = array_of(tensor_of(array, "X"))
    assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, shape, array.tobytes())


def test_a_bfloat16_tensor_of_numbers_is_read_as_one_of_bytes():
    tensor = helper.make_tensor("X", TensorProto.BFLOAT16, [2], [1.0, -2.5])
    assert array_of(tensor).tolist() == [1.0, -2.5]


def test_a_bfloat16_message_holds_the_upper_half_of_the_float():
    tensor = tensor_of(BFLOAT16[:1], "X")
    assert (tensor.raw_data, tensor.data_type, tensor.name) == (b"\x80\x3f", TensorProto.BFLOAT16, "X")


def test_a_bfloat16_tensor_is_loaded_from_the_corpus():
    loaded = _tensor(tensor_of(BFLOAT16, "X").SerializeToString())
    assert (loaded.dtype, loaded.tobytes(), loaded.flags.writeable) == (BFLOAT16.dtype, BFLOAT16.tobytes(), True)


def test_a_bfloat16_tensor_is_shown_with_its_bits():
    shown = preview("X", BFLOAT16[1:])
    assert (shown["type"], shown["values"], shown["hex"]) == (
        "bfloat16",
        ["-2.5", "inf", "0.1"],
        ["0xc020", "0x7f80", "0x3dcd"],
    )


@pytest.mark.parametrize(("bound", "complains"), [(None, True), (2.0**-10, False), (2.0**-12, True)])
def test_a_bfloat16_output_is_held_against_its_bound(bound, complains):
    bounds = None if bound is None else np.full(4, bound)
    actual = BFLOAT16.copy()
    actual[3] = np.nextafter(BFLOAT16[3], ml_dtypes.bfloat16(1))
    evidence = compare(ExpectedTensor("Y", BFLOAT16, bounds), actual, 0)
    assert ("complaint" in evidence, evidence["max_ulp"]) == (complains, 1)


def test_a_float_where_a_bfloat16_is_due_is_told():
    evidence = compare(ExpectedTensor("Y", BFLOAT16), BFLOAT16.astype(np.float32), 0)
    assert evidence["complaint"] == "has type float instead of bfloat16"


def test_a_bfloat16_tensor_passes_the_checker():
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node("Identity", ["W"], ["Y"])],
            "graph",
            [],
            [helper.make_tensor_value_info("Y", TensorProto.BFLOAT16, [4])],
            [tensor_of(BFLOAT16, "W")],
        ),
        ir_version=8,
        opset_imports=[helper.make_opsetid("", 16)],
    )
    assert onnx.checker.check_model(model, full_check=True) is None
