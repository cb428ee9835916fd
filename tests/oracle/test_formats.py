"""Decoding and rounding equal those of NumPy and ml_dtypes."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto

from oracle.evaluation import exact_number
from oracle.formats import FLOATS, decode

TYPES = {
    TensorProto.FLOAT16: np.dtype(np.float16),
    TensorProto.BFLOAT16: np.dtype(ml_dtypes.bfloat16),
    TensorProto.FLOAT: np.dtype(np.float32),
    TensorProto.DOUBLE: np.dtype(np.float64),
}


@pytest.mark.parametrize("type_", [TensorProto.FLOAT16, TensorProto.BFLOAT16])
def test_decoded_bits_equal_numpy(type_):
    infinities = [0x7C00, 0xFC00, 0x7F80, 0xFF80]
    bits = np.array([*range(0, 2**16, 17), *infinities], dtype=np.uint16)
    with np.errstate(invalid="ignore"):
        numbers = bits.view(TYPES[type_]).astype(float)
    assert [repr(decode(type_, int(item))) for item in bits] == [repr(exact_number(float(item))) for item in numbers]


@pytest.mark.parametrize("type_", [TensorProto.FLOAT16, TensorProto.FLOAT])
@given(st.floats(allow_nan=False))
def test_rounding_of_doubles_equals_numpy(type_, value):
    with np.errstate(over="ignore", under="ignore"):
        expected = float(np.float64(value).astype(TYPES[type_]))
    assert repr(FLOATS[type_].round(exact_number(value))) == repr(exact_number(expected))


@pytest.mark.parametrize("type_", list(TYPES))
def test_midpoint_rounds_to_even(type_):
    format = FLOATS[type_]
    step = format.ulp(exact_number(1.0))
    assert format.round(1 + step / 2) == 1
    assert format.round(1 + 3 * step / 2) == 1 + 2 * step


@pytest.mark.parametrize("type_", list(TYPES))
def test_overflow_begins_half_an_ulp_above_largest(type_):
    format = FLOATS[type_]
    middle = format.largest + format.ulp(format.largest) / 2
    assert format.round(middle) == math.inf
    assert format.round(middle - format.ulp(format.largest) / 4) == format.largest
