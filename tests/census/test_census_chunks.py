"""Arguments of the chunks of a census."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from conformance.census.chunks import (
    CHUNK_VALUES,
    NEIGHBOURHOOD_PAIRS,
    WINDOW_PAIRS,
    ArgumentPlan,
    Cell,
    critical_ordinals,
    known_counterexamples,
)
from conformance.census.counters import BinadeCounters, Extreme
from conformance.census.float_ordinals import FLOAT_TYPES
from conformance.census.job import CellChunkResult, CensusJob
from conformance.jobs.job import ChunkResult
from conformance.serialization.decoding import MalformedError


@pytest.mark.parametrize(("first", "last"), [(-10, 10), (0, CHUNK_VALUES), (-5, 3 * CHUNK_VALUES + 7)])
def test_plan_chunks_are_contiguous(first, last):
    plan = ArgumentPlan(first, last)
    runs = [run for chunk in range(plan.chunk_count) for run in plan.windows(chunk)]
    assert runs[0][0] == first
    assert sum(pairs for _, pairs in runs) == last - first
    assert all(start + pairs == following for (start, pairs), (following, _) in itertools.pairwise(runs))


def test_plan_sample_spans_domain_without_repeated_pairs():
    plan = ArgumentPlan(-(2**40), 2**41, sample=2 * CHUNK_VALUES)
    runs = [run for chunk in range(plan.chunk_count) for run in plan.windows(chunk)]
    assert len(runs) == 2 * CHUNK_VALUES // WINDOW_PAIRS
    assert runs[0][0] == -(2**40)
    assert sum(runs[-1]) == 2**41
    assert all(start + pairs <= following for (start, pairs), (following, _) in itertools.pairwise(runs))


def test_plan_sample_contains_neighbourhoods_once():
    critical = (-(2**30), 0, 5, 2**40)
    plan = ArgumentPlan(-(2**30), 2**40, sample=4 * WINDOW_PAIRS, critical=critical)
    runs = [run for chunk in range(plan.chunk_count) for run in plan.windows(chunk)]
    assert all(start + pairs <= following for (start, pairs), (following, _) in itertools.pairwise(runs))
    for ordinal in critical:
        low, high = max(ordinal - NEIGHBOURHOOD_PAIRS, plan.first), min(ordinal + NEIGHBOURHOOD_PAIRS, plan.last)
        assert any(start <= low and high <= start + pairs for start, pairs in runs)


@pytest.mark.parametrize(("operator", "argument"), [("Exp", 709.782712893384), ("Log", 1.0), ("Sqrt", 4.0)])
def test_critical_ordinals_contain_special_arguments(operator, argument):
    float_type = FLOAT_TYPES["double"]
    critical = critical_ordinals(operator, float_type)
    at, *counterexamples = map(int, float_type.ordinals(np.asarray([argument, *known_counterexamples(operator)])))
    assert min(abs(ordinal - at) for ordinal in critical) < NEIGHBOURHOOD_PAIRS
    assert set(counterexamples) <= set(critical)
    assert {sign * binade * 2**52 for sign in (-1, 1) for binade in range(2048)} <= set(critical)


def test_known_counterexamples_are_floats():
    assert all(np.float32(x) == x for operator in ("Exp", "Log") for x in known_counterexamples(operator))
    assert known_counterexamples("Softmax") == known_counterexamples("Exp") != ()


@pytest.mark.parametrize(
    ("cell", "number", "ordinal"), [(1, 0, 0), (7, 0, 0), (0, 10**9, 0), (0, 0, 2**15 - 1), (0, 0, -(2**40))]
)
def test_check_result_of_another_cell_or_type_is_refused(cell, number, ordinal):
    def chunk(cell, number, at):
        row = BinadeCounters(0, {"row": 1}, {"error": Extreme(1.0, at)}, {})
        return ChunkResult(number, CellChunkResult(cell, rows=[row]))

    cells = (Cell("reference", "Exp", "float16", False), Cell("reference", "Log", "float16", False))
    census = CensusJob(cells, {"reference": "1"})
    census.check_result(chunk(0, 0, 2**15 - 2))
    with pytest.raises(MalformedError):
        census.check_result(chunk(cell, number, ordinal))
