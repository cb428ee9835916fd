"""Conversion between arrays and tensors of every type, and loading and comparison of bfloat16."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from batches import for_each
from onnx import TensorProto, helper

from conformance.corpus.cases.case_loading import ExpectedTensor, _decode_tensor
from conformance.exact.models.arrays import array_of, dtype_of, have_same_bits, tensor_of, type_name, type_number
from conformance.exact.models.summaries import tensor_preview
from conformance.run.judging.compare import compare_output

NAMES = [
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float", "double", "bool"),
]
BFLOAT16 = np.array([1.0, -2.5, np.inf, 0.1], ml_dtypes.bfloat16)


@pytest.mark.parametrize("name", NAMES)
def test_type_name_and_number_are_inverse(name):
    assert type_name(dtype_of(type_number(name))) == name


@for_each("name", NAMES)
@for_each("shape", [(), (0,), (2, 3)])
def test_array_survives_conversion_to_tensor(name, shape):
    array = np.ones(shape).astype(dtype_of(type_number(name)))
    back = array_of(tensor_of(array, "X"))
    assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, shape, array.tobytes())


def test_typed_bfloat16_tensor_equals_raw_tensor():
    tensor = helper.make_tensor("X", TensorProto.BFLOAT16, [2], [1.0, -2.5])
    assert array_of(tensor).tolist() == [1.0, -2.5]


def test_bfloat16_tensor_stores_upper_half_of_float():
    tensor = tensor_of(BFLOAT16[:1], "X")
    assert (tensor.raw_data, tensor.data_type, tensor.name) == (b"\x80\x3f", TensorProto.BFLOAT16, "X")


def test_bfloat16_tensor_is_loaded_from_the_corpus():
    loaded = _decode_tensor(tensor_of(BFLOAT16, "X").SerializeToString())
    assert (loaded.dtype, loaded.tobytes(), loaded.flags.writeable) == (BFLOAT16.dtype, BFLOAT16.tobytes(), True)


def test_bfloat16_preview_has_bits():
    shown = tensor_preview("X", BFLOAT16[1:])
    assert (shown.type, shown.values, shown.hex) == ("bfloat16", ["-2.5", "inf", "0.1"], ["0xc020", "0x7f80", "0x3dcd"])


@pytest.mark.parametrize(("bound", "complains"), [(None, True), (2.0**-10, False), (2.0**-12, True)])
def test_bfloat16_output_is_compared_with_its_bound(bound, complains):
    bounds = None if bound is None else np.full(4, bound)
    actual = BFLOAT16.copy()
    actual[3] = np.nextafter(BFLOAT16[3], ml_dtypes.bfloat16(1))
    evidence = compare_output(ExpectedTensor("Y", BFLOAT16, bounds), actual, 0)
    assert (evidence.violation is not None, evidence.max_ulp) == (complains, 1)


def test_float_instead_of_bfloat16_is_a_violation():
    evidence = compare_output(ExpectedTensor("Y", BFLOAT16), BFLOAT16.astype(np.float32), 0)
    assert str(evidence.violation) == "has type float instead of bfloat16"


def test_bfloat16_tensor_is_valid_for_the_checker():
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


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_bits_of_every_block_are_compared_but_for_those_of_nan(dtype: type) -> None:
    first = np.zeros(2**20 + 2, dtype)
    second = first.copy()
    first[-1], second[-1] = np.nan, -np.float32(np.nan)
    assert have_same_bits(first, second)
    second[-2] = -0.0
    assert not have_same_bits(first, second)
