"""Bounds of `must` cases are at most 64 ULP per training step, relative to the largest operand of the element."""

from __future__ import annotations

import re
from fnmatch import fnmatch

import numpy as np
import pytest

from conformance.corpus.loading import load_case_in_memory
from conformance.judging.compare import ulp_of
from conformance.verdicts import Level
from generators.exact_scalars import MAX_ULP
from scripts.double_bounds import double_cases

MAX_ULP_PER_STEP = 64

WIDER = {
    "test_adagrad_numbers_052_first_float": "epsilon is -1, so the root of H_new loses its leading bits",
    "test_momentum_numbers_048_first_float": "the sum V_new loses leading bits, and R * V_new outweighs X",
    "test_adam_*double*": "R_adjusted may be computed in float, so the hull of all interpretations is wide",
    "test_adagrad_*double*": "r may be computed in float, so the hull of all interpretations is wide",
    "test_adam_pairwise_004_*": "1 - beta**T is a small part of beta**T, and inherits its error of 16 ULP",
    "test_adam_float32_attributes_must_float": "1 - beta**T is a small part of beta**T, as in pairwise_004",
    "test_adam_function_own_name_defaults_float": "1 - beta**T is a small part of beta**T, as in pairwise_004",
    "test_adam_tiny_float*": "the errors of a power, two roots and two quotients add up in the update",
    "test_adam_numbers_*_float": "1 - alpha**T and 1 - beta**T are small parts of powers whose T is large",
    "test_adam_extreme_*_r_huge_*": "the errors of roots and quotients add up in an update that dominates X",
    "test_*_placed_*": "operands are initializers, or parts of inputs of other shapes, so they do not measure a result",
    "test_*_sizes_*": "operands are tiled from a period of another shape, so they do not measure a result",
    "test_adam_training_network_float*": "G is computed in the graph, from operands of other shapes",
    "test_adagrad_training_network_float*": "G is computed in the graph, from operands of other shapes",
}
"""Reasons for wider bounds, by pattern of case ids."""


def training_steps(id):
    """Return the number of training training_steps in a case's graph."""
    match = re.search(r"training_(?:fed_10_times_)?(\d+)", id)
    return int(match[1]) if match else 1


def widths(data_set):
    """Yield the largest bound of each output, in ULP of the largest operand or result at the same position."""
    for output in data_set.outputs:
        if output.bound is not None and output.bound.size and output.expected.dtype.kind == "f":
            operands = [array for array in data_set.inputs if array.shape == output.expected.shape]
            numbers = [abs(array) for array in (*operands, output.expected) if array.dtype == output.expected.dtype]
            largest = np.fmax.reduce([np.where(np.isfinite(array), array, 0) for array in numbers])
            yield float((output.bound / ulp_of(largest.astype(output.expected.dtype))).max())


@pytest.fixture(scope="module")
def wide(whole_corpus):
    """Bounds in ULP of the `must` cases that exceed the limit, by case id."""
    found = {}
    for entry in whole_corpus.cases.values():
        if entry.level is Level.MUST and not entry.is_invalid and not entry.is_structural:
            held = load_case_in_memory(whole_corpus, entry).held
            widest = max((width for data_set in held for width in widths(data_set)), default=0.0)
            if widest > MAX_ULP_PER_STEP * training_steps(entry.id):
                found[entry.id] = widest
    return found


@pytest.fixture(scope="module")
def in_double(whole_corpus):
    """The bounds of the `must` cases in double."""
    return list(double_cases(whole_corpus))


@pytest.mark.whole
def test_at_most_a_tenth_of_double_cases_is_wide(in_double):
    assert len(in_double) > 500
    assert sum(case.width > MAX_ULP for case in in_double) <= len(in_double) / 10


@pytest.mark.whole
def test_update_in_float_passes_no_double_case(in_double):
    needing = [case for case in in_double if case.needs_double]
    assert len(needing) > 500
    assert [case.id for case in needing if not case.excludes_float] == []


@pytest.mark.whole
def test_wide_bound_has_a_reason(wide):
    assert {id: width for id, width in wide.items() if not any(fnmatch(id, pattern) for pattern in WIDER)} == {}


@pytest.mark.whole
@pytest.mark.parametrize("pattern", WIDER)
def test_reason_matches_a_wide_case(wide, pattern):
    assert any(fnmatch(id, pattern) for id in wide)
    assert len(WIDER) <= 20
