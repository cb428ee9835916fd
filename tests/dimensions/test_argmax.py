"""ArgMax in its places: constants are what they stand for, and data show what they are to show."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from conformance.deviations import op_types
from conformance.dimensions.argmax import ORDERED, RULER, TIED, argmax_placed, built_placed
from conformance.dimensions.covering import covering_rows
from conformance.dimensions.origins import raw, typed
from conformance.models.arrays import array_of, dtype_of, type_number


@pytest.fixture(scope="module")
def rows():
    return covering_rows(argmax_placed())


@pytest.mark.parametrize("type", ORDERED)
def test_a_tensor_of_numbers_is_the_same_as_one_of_bytes(type):
    array = np.array([[1, 0, 3], [2, 5, 4]]).astype(dtype_of(type_number(type)))
    stored = typed(array, "X")
    assert not stored.raw_data
    np.testing.assert_array_equal(array_of(stored), array_of(raw(array, "X")), strict=True)


def test_no_two_marks_of_the_ruler_are_as_far_apart_as_two_others():
    distances = [later - earlier for place, earlier in enumerate(RULER) for later in RULER[place + 1 :]]
    assert len(set(distances)) == len(distances)


def test_every_row_is_a_valid_model(rows):
    for row in rows:
        model = onnx.load_model_from_string(built_placed("row", row).model)
        onnx.checker.check_model(model, full_check=True)
        assert "ArgMax" in op_types(model)


@pytest.mark.parametrize("values", TIED)
def test_ties_are_asked_for_in_branches_and_in_functions(rows, values):
    places = {row["place"] for row in rows if row["values"] == values}
    assert {"main", "if_then", "if_else", "function"} <= places
