"""The size cases cover the declared lengths and store only small tensors."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from batches import for_each

from conformance.models.inputs import tensor_elements
from generators.argmax import sizes as argmax_sizes
from generators.declarations.sizes import BEYOND_CACHE, BLOCKS, LONG_BLOCKS, lengths_around, lengths_around_long
from generators.training_optimizers.sizes import size_cases
from generators.training_optimizers.table import OPERATORS

MAX_STORED_BYTES = 64 * 1024
LENGTHS = {length for block in BLOCKS for length in lengths_around(block)}
LONG = {length for block in LONG_BLOCKS for length in lengths_around_long(block)} | {BEYOND_CACHE}

ARGMAX = list(argmax_sizes.cases())
CASES = [*ARGMAX, *(case for operator in OPERATORS for case in size_cases(operator))]


@for_each("case", CASES, lambda case: case.id)
def test_stored_tensors_are_at_most_64_kib(case):
    graph = onnx.load_model_from_string(case.model).graph
    stored = [*map(tensor_elements, graph.initializer), *(array for inputs in case.data_sets for array in inputs)]
    assert max(array.nbytes for array in stored) <= MAX_STORED_BYTES


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_optimizer_cases_have_every_declared_length(operator):
    text = " ".join(case.title for case in size_cases(operator)).replace(",", "")
    assert {str(length) for length in LENGTHS | LONG} <= set(text.split())


def test_argmax_cases_have_every_declared_length():
    text = " ".join(case.title for case in ARGMAX).replace(",", "")
    assert {str(length) for length in LENGTHS | LONG} <= set(text.split())


@pytest.mark.parametrize("step", [1, 4])
def test_shifted_rows_have_a_maximum_at_every_index(step):
    length = 30
    starts = range(step)
    rows = argmax_sizes._ShiftedRows("X", length, step)
    count = -(-rows.period // step)
    found = {
        int(place)
        for start in starts
        for place in np.resize(rows.vector(np.float32, (start,)), (count, length)).argmax(axis=1)
        if np.resize(rows.vector(np.float32, (start,)), (count, length)).max() == argmax_sizes.PEAK_VALUE
    }
    assert found >= set(range(length))
