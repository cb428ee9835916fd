"""Bits and rounding are those of NumPy and of ml_dtypes."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto

from oracle.formats import FLOATS, decode
from oracle.graphs import number

TYPES = {
    TensorProto.FLOAT16: np.dtype(np.float16),
    TensorProto.BFLOAT16: np.dtype(ml_dtypes.bfloat16),
    TensorProto.FLOAT: np.dtype(np.float32),
    TensorProto.DOUBLE: np.dtype(np.float64),
}


@pytest.mark.parametrize("type_", [TensorProto.FLOAT16, TensorProto.BFLOAT16])
def test_bits_of_a_half_stand_for_the_same_number(type_):
    infinities = [0x7C00, 0xFC00, 0x7F80, 0xFF80]
    bits = np.array([*range(0, 2**16, 17), *infinities], dtype=np.uint16)
    with np.errstate(invalid="ignore"):
        numbers = bits.view(TYPES[type_]).astype(float)
    assert [repr(decode(type_, int(item))) for item in bits] == [repr(number(float(item))) for item in numbers]


@pytest.mark.parametrize("type_", [TensorProto.FLOAT16, TensorProto.FLOAT])
@given(st.floats(allow_nan=False))
def test_doubles_round_as_numpy_rounds_them(type_, value):
    with np.errstate(over="ignore", under="ignore"):
        expected = float(np.float64(value).astype(TYPES[type_]))
    assert repr(FLOATS[type_].round(number(value))) == repr(number(expected))


@pytest.mark.parametrize("type_", list(TYPES))
def test_the_middle_between_two_numbers_goes_to_the_even_one(type_):
    format = FLOATS[type_]
    step = format.ulp(number(1.0))
    assert format.round(1 + step / 2) == 1
    assert format.round(1 + 3 * step / 2) == 1 + 2 * step


@pytest.mark.parametrize("type_", list(TYPES))
def test_half_a_step_beyond_the_largest_number_is_infinite_and_less_is_not(type_):
    format = FLOATS[type_]
    middle = format.largest + format.ulp(format.largest) / 2
    assert format.round(middle) == math.inf
    assert format.round(middle - format.ulp(format.largest) / 4) == format.largest
