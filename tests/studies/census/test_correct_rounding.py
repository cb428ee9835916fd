"""Ordinals of floats, and correctly rounded values compared with Arb."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb, ctx

import conformance.studies.census.correct_rounding as module
from conformance.studies.census.correct_rounding import FUNCTIONS, correctly_rounded, round_to, ulp_size
from conformance.studies.census.elementwise_census import domain_ordinals
from conformance.studies.census.float_ordinals import FLOAT_TYPES


@pytest.mark.parametrize("type", ["float16", "bfloat16", "float"])
def test_ordinals_number_values_in_order(type):
    float_type = FLOAT_TYPES[type]
    for first in (-float_type.infinity, -3, float_type.infinity - 9):
        values = float_type.consecutive_values(first, 10).astype(np.float64)
        assert (np.diff(values) > 0).all()
        assert list(float_type.ordinals(float_type.consecutive_values(first, 10))) == list(range(first, first + 10))
    assert math.isinf(float_type.consecutive_values(float_type.infinity, 1)[0])


@pytest.mark.parametrize("type", ["float16", "bfloat16", "float"])
def test_binades_are_contiguous(type):
    float_type, place, binades = FLOAT_TYPES[type], -FLOAT_TYPES[type].infinity, []
    while place <= float_type.infinity:
        binades.append(float_type.binade(place))
        assert float_type.binade(float_type.binade_end(place) - 1) == binades[-1]
        place = float_type.binade_end(place)
    assert binades == sorted(set(binades))


@pytest.mark.parametrize("type", ["float16", "bfloat16", "float"])
def test_round_to_rounds_doubles_once(type):
    float_type = FLOAT_TYPES[type]
    draws = np.random.default_rng(3)
    doubles = np.concatenate(
        [np.ldexp(draws.random(500) + 1, draws.integers(-160, 140, 500)), [0.0, 1 + 2.0**-8 + 2.0**-40]]
    )
    from decimal import Decimal

    expected = [float_type.format.round_to_nearest(Decimal(float(x))) for x in doubles]
    with np.errstate(over="ignore"):
        assert round_to(float_type, doubles).astype(np.float64).tolist() == expected


@pytest.mark.parametrize("operator", sorted(FUNCTIONS))
@pytest.mark.parametrize("type", ["float16", "bfloat16", "float"])
def test_correctly_rounded_agrees_with_arb(operator, type):
    float_type, function = FLOAT_TYPES[type], FUNCTIONS[operator]
    first, last = domain_ordinals(operator, float_type)
    places = np.linspace(first + 1, last - 1, 997).astype(np.int64)
    X = np.concatenate([float_type.consecutive_values(int(place), 1) for place in places])
    known = correctly_rounded(function, float_type, X)
    with ctx.workprec(200):
        for x, y in zip(X, known.rounded, strict=True):
            exact = getattr(arb(float(x)), function.in_arb)()
            assert rounds_to(float_type, exact, float(y))


def rounds_to(float_type, exact, y):
    """Return whether no neighbour of y is closer to the exact value."""
    if math.isinf(y):
        return bool(exact > float(float_type.format.overflow_threshold) * 0.999999)
    place = int(float_type.ordinals(np.asarray([y]).astype(float_type.dtype))[0])
    around = [
        float(float_type.consecutive_values(place + step, 1)[0])
        for step in (-1, 1)
        if abs(place + step) < float_type.infinity
    ]
    return all(bool(abs(exact - y) <= abs(exact - other)) for other in around)


def test_correctly_rounded_undecided_values_are_decided_by_arb(monkeypatch):
    wide = module.MonotoneFunction(np.exp, "exp", 2.0**-27, None)
    float_type = FLOAT_TYPES["float"]
    X = float_type.consecutive_values(0x3F000000, 200)
    known, right = correctly_rounded(wide, float_type, X), correctly_rounded(FUNCTIONS["Exp"], float_type, X)
    assert known.undecided_in_double > 0
    assert known.undecided == 0
    np.testing.assert_array_equal(known.rounded, right.rounded)


def test_correctly_rounded_without_arb_keeps_both_candidates(monkeypatch):
    monkeypatch.setattr(module, "_decide_by_arb", lambda *_: None)
    wide = module.MonotoneFunction(np.exp, "exp", 2.0**-27, None)
    float_type = FLOAT_TYPES["float"]
    X = float_type.consecutive_values(0x3F000000, 200)
    known, right = correctly_rounded(wide, float_type, X), correctly_rounded(FUNCTIONS["Exp"], float_type, X)
    assert known.undecided == known.undecided_in_double > 0
    assert ((right.rounded == known.rounded) | (right.rounded == known.alternative)).all()


@pytest.mark.parametrize("operator", ["Exp", "Log"])
def test_numpy_doubles_near_midpoints_are_within_guard(operator):
    within, right = nearest_to_midpoints(operator, blocks=8, kept=64)
    assert within == right == 8 * 64


def nearest_to_midpoints(operator, blocks, kept):
    """Count float arguments near rounding midpoints whose double is within the guard, and correctly rounded ones.

    Args:
        operator: `Exp` or `Log`.
        blocks: number of runs of 2**15 neighbours, spread over the values that round to neither 1 nor infinity.
        kept: number of arguments closest to midpoints that are taken from each run.
    """
    float_type, function = FLOAT_TYPES["float"], FUNCTIONS[operator]
    ends = (0x34000000, 0x42B00000) if operator == "Exp" else (0x00800000, 0x7F000000)
    within = right = 0
    for i, first in enumerate(np.linspace(*ends, blocks).astype(np.int64)):
        X = float_type.consecutive_values(int(-first if operator == "Exp" and i % 2 else first), 2**15)
        known = correctly_rounded(function, float_type, X)
        steps = known.exact / ulp_size(float_type, known.exact)
        for k in np.argsort(abs(steps - np.floor(steps) - 0.5))[:kept]:
            with ctx.workprec(200):
                exact = getattr(arb(float(X[k])), function.in_arb)()
                within += bool(abs(exact - float(known.exact[k])) <= abs(exact) * function.guard)
                right += rounds_to(float_type, exact, float(known.rounded[k]))
    return within, right
