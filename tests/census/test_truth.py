"""What the correctly rounded value is, and where it is left open."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb, ctx

import conformance.census.truth as module
from conformance.census.elementwise import domain
from conformance.census.scale import SCALES
from conformance.census.truth import FUNCTIONS, into, truth, units


@pytest.mark.parametrize("type", ["float16", "bfloat16", "float"])
def test_places_number_the_values_in_their_order(type):
    scale = SCALES[type]
    for first in (-scale.infinity, -3, scale.infinity - 9):
        values = scale.values(first, 10).astype(np.float64)
        assert (np.diff(values) > 0).all()
        assert list(scale.places(scale.values(first, 10))) == list(range(first, first + 10))
    assert math.isinf(scale.values(scale.infinity, 1)[0])


@pytest.mark.parametrize("type", ["float16", "bfloat16", "float"])
def test_binades_follow_each_other_without_a_gap(type):
    scale, place, binades = SCALES[type], -SCALES[type].infinity, []
    while place <= scale.infinity:
        binades.append(scale.binade(place))
        assert scale.binade(scale.binade_end(place) - 1) == binades[-1]
        place = scale.binade_end(place)
    assert binades == sorted(set(binades))


@pytest.mark.parametrize("type", ["float16", "bfloat16", "float"])
def test_doubles_are_rounded_once(type):
    scale = SCALES[type]
    draws = np.random.default_rng(3)
    doubles = np.concatenate(
        [np.ldexp(draws.random(500) + 1, draws.integers(-160, 140, 500)), [0.0, 1 + 2.0**-8 + 2.0**-40]]
    )
    from decimal import Decimal

    expected = [scale.format.rounded(Decimal(float(x))) for x in doubles]
    with np.errstate(over="ignore"):
        assert into(scale, doubles).astype(np.float64).tolist() == expected


@pytest.mark.parametrize("operator", sorted(FUNCTIONS))
@pytest.mark.parametrize("type", ["float16", "bfloat16", "float"])
def test_the_truth_is_that_of_arb(operator, type):
    scale, function = SCALES[type], FUNCTIONS[operator]
    first, last = domain(operator, scale)
    places = np.linspace(first + 1, last - 1, 997).astype(np.int64)
    X = np.concatenate([scale.values(int(place), 1) for place in places])
    known = truth(function, scale, X)
    with ctx.workprec(200):
        for x, y in zip(X, known.rounded, strict=True):
            exact = getattr(arb(float(x)), function.in_arb)()
            assert rounds_to(scale, exact, float(y))


def rounds_to(scale, exact, y):
    """Whether no neighbour of y is nearer."""
    if math.isinf(y):
        return bool(exact > float(scale.format.overflow_threshold) * 0.999999)
    place = int(scale.places(np.asarray([y]).astype(scale.dtype))[0])
    around = [float(scale.values(place + step, 1)[0]) for step in (-1, 1) if abs(place + step) < scale.infinity]
    return all(bool(abs(exact - y) <= abs(exact - other)) for other in around)


def test_what_the_double_leaves_open_is_decided_by_arb(monkeypatch):
    wide = module.Function(np.exp, "exp", 2.0**-27, None)
    scale = SCALES["float"]
    X = scale.values(0x3F000000, 200)
    known, right = truth(wide, scale, X), truth(FUNCTIONS["Exp"], scale, X)
    assert known.left > 0
    assert known.open == 0
    assert (known.rounded == right.rounded).all()


def test_without_arb_it_stays_open_and_accuses_nobody(monkeypatch):
    monkeypatch.setattr(module, "_decided", lambda *_: None)
    wide = module.Function(np.exp, "exp", 2.0**-27, None)
    scale = SCALES["float"]
    X = scale.values(0x3F000000, 200)
    known, right = truth(wide, scale, X), truth(FUNCTIONS["Exp"], scale, X)
    assert known.open == known.left > 0
    assert ((right.rounded == known.rounded) | (right.rounded == known.other)).all()


@pytest.mark.parametrize("operator", ["Exp", "Log"])
def test_the_double_is_within_its_guard_where_that_matters_most(operator):
    within, right = nearest_to_midpoints(operator, blocks=8, kept=64)
    assert within == right == 8 * 64


def nearest_to_midpoints(operator, blocks, kept):
    """Of arguments of float whose values are nearest to midpoints: how many doubles are within the guard, and right.

    Args:
        blocks: how many runs of 2**15 neighbours are looked at, spread over what rounds neither to 1 nor to infinity.
        kept: how many arguments are taken of each.
    """
    scale, function = SCALES["float"], FUNCTIONS[operator]
    ends = (0x34000000, 0x42B00000) if operator == "Exp" else (0x00800000, 0x7F000000)
    within = right = 0
    for i, first in enumerate(np.linspace(*ends, blocks).astype(np.int64)):
        X = scale.values(int(-first if operator == "Exp" and i % 2 else first), 2**15)
        known = truth(function, scale, X)
        steps = known.exact / units(scale, known.exact)
        for k in np.argsort(abs(steps - np.floor(steps) - 0.5))[:kept]:
            with ctx.workprec(200):
                exact = getattr(arb(float(X[k])), function.in_arb)()
                within += bool(abs(exact - float(known.exact[k])) <= abs(exact) * function.guard)
                right += rounds_to(scale, exact, float(known.rounded[k]))
    return within, right
