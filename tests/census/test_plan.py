"""Which values a piece has."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from conformance.census.neighbourhoods import close_places, known_witnesses
from conformance.census.plan import CLOSE, PIECE, WINDOW, Plan
from conformance.census.scale import SCALES


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


def test_a_sample_has_every_pair_around_a_place_once():
    close = (-(2**30), 0, 5, 2**40)
    plan = Plan(-(2**30), 2**40, sample=4 * WINDOW, close=close)
    runs = [run for piece in range(plan.pieces) for run in plan.windows(piece)]
    assert all(start + pairs <= following for (start, pairs), (following, _) in itertools.pairwise(runs))
    for place in close:
        low, high = max(place - CLOSE, plan.first), min(place + CLOSE, plan.last)
        assert any(start <= low and high <= start + pairs for start, pairs in runs)


@pytest.mark.parametrize(("operator", "argument"), [("Exp", 709.782712893384), ("Log", 1.0), ("Sqrt", 4.0)])
def test_ends_of_binades_and_special_arguments_and_witnesses_are_looked_at(operator, argument):
    scale = SCALES["double"]
    close = close_places(operator, scale)
    at, *witnesses = map(int, scale.places(np.asarray([argument, *known_witnesses(operator)])))
    assert min(abs(place - at) for place in close) < CLOSE
    assert set(witnesses) <= set(close)
    assert {sign * binade * 2**52 for sign in (-1, 1) for binade in range(2048)} <= set(close)


def test_floats_are_known_at_which_exp_and_log_are_out_of_order():
    assert all(np.float32(x) == x for operator in ("Exp", "Log") for x in known_witnesses(operator))
    assert known_witnesses("Softmax") == known_witnesses("Exp") != ()
