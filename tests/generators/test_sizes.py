"""The cases by size hold what the declaration asks for, and store little of it."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from conformance.dimensions.sizes import BEYOND, BLOCKS, LONG_BLOCKS, around, of_long
from conformance.models.constants import elements_of
from generators.argmax import sizes as of_argmax
from generators.training_optimizers.sizes import sizes
from generators.training_optimizers.table import OPERATORS

MOST_STORED = 64 * 1024
LENGTHS = {length for block in BLOCKS for length in around(block)}
LONG = {length for block in LONG_BLOCKS for length in of_long(block)} | {BEYOND}

ARGMAX = list(of_argmax.cases())
CASES = [*ARGMAX, *(case for operator in OPERATORS for case in sizes(operator))]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_no_stored_tensor_exceeds_64_kib(case):
    graph = onnx.load_model_from_string(case.model).graph
    stored = [*map(elements_of, graph.initializer), *(array for inputs in case.data_sets for array in inputs)]
    assert max(array.nbytes for array in stored) <= MOST_STORED


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_an_optimizer_has_tensors_of_every_declared_length(operator):
    text = " ".join(case.title for case in sizes(operator)).replace(",", "")
    assert {str(length) for length in LENGTHS | LONG} <= set(text.split())


def test_argmax_has_axes_of_every_declared_length():
    text = " ".join(case.title for case in ARGMAX).replace(",", "")
    assert {str(length) for length in LENGTHS | LONG} <= set(text.split())


@pytest.mark.parametrize("step", [1, 4])
def test_a_maximum_stands_at_every_place_of_some_row(step):
    length = 30
    starts = range(step)
    rows = of_argmax._Rows("X", length, step)
    count = -(-rows.period // step)
    found = {
        int(place)
        for start in starts
        for place in np.resize(rows.vector(np.float32, (start,)), (count, length)).argmax(axis=1)
        if np.resize(rows.vector(np.float32, (start,)), (count, length)).max() == of_argmax.PEAK
    }
    assert found >= set(range(length))
