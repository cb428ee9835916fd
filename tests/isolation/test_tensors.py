"""Tensors in files between the suite and a harness."""

from __future__ import annotations

import errno
import os
import re

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy

from conformance.isolation.tensors import take_packed, take_tensor, write_packed
from conformance.models.arrays import dtype_of, type_name
from conformance.subjects.harness import NUMPY_TYPES, READ_SUFFIX, numpy_type, read_tensor, write_output

LIMIT_BYTES = 2**20

tensors = of_numpy.arrays(st.sampled_from(["float32", "float64", "int64", "bool"]), of_numpy.array_shapes(max_side=6))


def write_and_take(path, array):
    write_output(str(path), array)
    message = {"name": "", "dtype": type_name(array.dtype), "shape": list(array.shape), "file": str(path)}
    return take_tensor(message, str(path), LIMIT_BYTES)


@given(st.lists(tensors, min_size=2, max_size=4))
def test_take_tensor_overwritten_files_return_each_tensor(tmp_path_factory, arrays):
    path = tmp_path_factory.mktemp("work") / "output_0"
    for array in arrays:
        np.testing.assert_array_equal(write_and_take(path, array), array, strict=True)


def pack(path, arrays):
    return write_packed(str(path), [(f"value_{number}", array) for number, array in enumerate(arrays)])


some_tensors = st.lists(
    of_numpy.arrays(st.sampled_from(["float32", "float64", "bool"]), of_numpy.array_shapes(min_dims=0, min_side=0)),
    min_size=1,
    max_size=5,
)


@given(some_tensors)
def test_take_packed_returns_each_tensor(tmp_path_factory, arrays):
    path = tmp_path_factory.mktemp("work") / "outputs"
    messages = pack(path, arrays)
    contents = {str(path): path.read_bytes()}
    for message, array in zip(messages, arrays, strict=True):
        np.testing.assert_array_equal(read_tensor(message, contents), array, strict=True)
    for taken, array in zip(take_packed(messages, str(path), LIMIT_BYTES), arrays, strict=True):
        np.testing.assert_array_equal(taken, array, strict=True)


@pytest.mark.parametrize(
    ("change", "limit"),
    [
        ({"offset": 2**40}, LIMIT_BYTES),
        ({"offset": 64}, LIMIT_BYTES),
        ({"shape": [1000]}, LIMIT_BYTES),
        ({"file": "/other"}, LIMIT_BYTES),
        ({}, 47),
    ],
)
def test_take_packed_of_a_wrong_message_is_refused(tmp_path, change, limit):
    path = tmp_path / "outputs"
    messages = pack(path, [np.arange(4.0), np.arange(4.0, dtype=np.float32)])
    with pytest.raises(ValueError, match=r"file|bytes"):
        take_packed([messages[0], messages[1] | change], str(path), limit)


def test_take_tensor_second_time_is_refused(tmp_path):
    path = tmp_path / "output_0"
    array = np.arange(4.0)
    write_and_take(path, array)
    message = {"name": "", "dtype": "double", "shape": [4], "file": str(path)}
    with pytest.raises(ValueError, match=re.escape(os.strerror(errno.ENOENT))):
        take_tensor(message, str(path), LIMIT_BYTES)


def test_write_output_reuses_read_file(tmp_path):
    path = tmp_path / "output_0"
    write_and_take(path, np.arange(4.0))
    inode = (tmp_path / f"output_0{READ_SUFFIX}").stat().st_ino
    write_output(str(path), np.arange(2.0))
    assert (path.stat().st_ino, path.stat().st_size) == (inode, 16)


def test_numpy_types_of_harness_equal_those_of_onnx():
    known = {name.lower(): number for name, number in onnx.TensorProto.DataType.items()}
    named = {name for name in known if name not in {"undefined", "string"}}
    assert named <= set(NUMPY_TYPES)
    for name in named:
        assert numpy_type(name) == dtype_of(known[name])
