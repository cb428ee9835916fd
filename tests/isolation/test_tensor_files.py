"""Tensors that go to and come from a subject's process in files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy

from conformance.isolation.tensor_files import READ, put_again, taken

LARGEST = 2**20

tensors = of_numpy.arrays(st.sampled_from(["float32", "float64", "int64", "bool"]), of_numpy.array_shapes(max_side=6))


def given_and_taken(path, array):
    message = put_again(str(path), "", array)
    return taken({**message, "shape": list(array.shape)}, str(path), LARGEST)


@settings(max_examples=30, deadline=None)
@given(st.lists(tensors, min_size=2, max_size=4))
def test_tensors_written_one_over_the_other_are_read_as_they_were(tmp_path_factory, arrays):
    path = tmp_path_factory.mktemp("work") / "output_0"
    for array in arrays:
        np.testing.assert_array_equal(given_and_taken(path, array), array, strict=True)


def test_file_that_was_read_is_not_taken_again(tmp_path):
    path = tmp_path / "output_0"
    array = np.arange(4.0)
    given_and_taken(path, array)
    message = {"name": "", "dtype": "double", "shape": [4], "file": str(path)}
    with pytest.raises(ValueError, match="cannot be read"):
        taken(message, str(path), LARGEST)


def test_next_tensor_is_written_where_the_last_one_was(tmp_path):
    path = tmp_path / "output_0"
    given_and_taken(path, np.arange(4.0))
    place = (tmp_path / f"output_0{READ}").stat().st_ino
    put_again(str(path), "", np.arange(2.0))
    assert (path.stat().st_ino, path.stat().st_size) == (place, 16)
