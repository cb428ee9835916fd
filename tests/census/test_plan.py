"""Which values a piece has."""

from __future__ import annotations

import itertools

import pytest

from conformance.census.plan import PIECE, WINDOW, Plan


@pytest.mark.parametrize(("first", "last"), [(-10, 10), (0, PIECE), (-5, 3 * PIECE + 7)])
def test_pieces_follow_each_other_without_a_gap(first, last):
    plan = Plan(first, last)
    runs = [run for piece in range(plan.pieces) for run in plan.windows(piece)]
    assert runs[0][0] == first
    assert sum(pairs for _, pairs in runs) == last - first
    assert all(start + pairs == following for (start, pairs), (following, _) in itertools.pairwise(runs))


def test_a_sample_reaches_from_end_to_end_and_takes_no_pair_twice():
    plan = Plan(-(2**40), 2**41, sample=2 * PIECE)
    runs = [run for piece in range(plan.pieces) for run in plan.windows(piece)]
    assert len(runs) == 2 * PIECE // WINDOW
    assert runs[0][0] == -(2**40)
    assert sum(runs[-1]) == 2**41
    assert all(start + pairs <= following for (start, pairs), (following, _) in itertools.pairwise(runs))
