"""The family `placed` of ArgMax: tensor encodings, validity of models, and coverage of ties."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from conformance.factors.argmax import (
    ARGMAX_TYPES,
    GOLOMB_RULER,
    TIE_LEVELS,
    argmax_placed_declaration,
    build_argmax_placed,
)
from conformance.factors.connections import raw_tensor, typed_tensor
from conformance.factors.covering_array import covering_array
from conformance.models.arrays import array_of, dtype_of, type_number
from conformance.mutants import op_types


@pytest.fixture(scope="module")
def rows():
    return covering_array(argmax_placed_declaration())


@pytest.mark.parametrize("type", ARGMAX_TYPES)
def test_typed_tensor_equals_raw_tensor(type):
    array = np.array([[1, 0, 3], [2, 5, 4]]).astype(dtype_of(type_number(type)))
    stored = typed_tensor(array, "X")
    assert not stored.raw_data
    np.testing.assert_array_equal(array_of(stored), array_of(raw_tensor(array, "X")), strict=True)


def test_golomb_ruler_has_distinct_distances():
    distances = [later - earlier for place, earlier in enumerate(GOLOMB_RULER) for later in GOLOMB_RULER[place + 1 :]]
    assert len(set(distances)) == len(distances)


def test_placed_rows_build_valid_models(rows):
    for row in rows:
        model = onnx.load_model_from_string(build_argmax_placed("row", row).model)
        onnx.checker.check_model(model, full_check=True)
        assert "ArgMax" in op_types(model)


@pytest.mark.parametrize("values", TIE_LEVELS)
def test_ties_occur_in_branches_and_functions(rows, values):
    scopes = {row["scope"] for row in rows if row["values"] == values}
    assert {"main", "if_then", "if_else", "function"} <= scopes
