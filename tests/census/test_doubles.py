"""The errors of doubles, measured by Arb."""

from __future__ import annotations

from decimal import Context, Decimal

import numpy as np
import pytest

from conformance.census import doubles
from conformance.census.scale import SCALES

SCALE = SCALES["double"]
WIDE = Context(prec=60)
FUNCTIONS = {"Exp": WIDE.exp, "Log": WIDE.ln, "Sqrt": WIDE.sqrt}


def counted(operator, X, Y):
    (row,) = doubles.counted(operator, SCALE, SCALE.places(X), X, Y)
    return row


@pytest.mark.parametrize("operator", sorted(FUNCTIONS))
def test_correctly_rounded_doubles_have_no_error(operator):
    X = np.random.default_rng(1).uniform(1, 2, 200)
    Y = np.asarray([float(FUNCTIONS[operator](Decimal(x))) for x in X.tolist()])
    row = counted(operator, X, Y)
    assert row["counts"] == {"values": 200}
    assert not row["extremes"]


@pytest.mark.parametrize("operator", sorted(FUNCTIONS))
@pytest.mark.parametrize("steps", [-3, 1, 2])
def test_an_error_is_that_to_the_exact_value(operator, steps):
    exact = FUNCTIONS[operator](Decimal(3))
    right = np.asarray([float(exact)])
    wrong = SCALE.at(SCALE.places(right) + steps)
    row = counted(operator, np.asarray([3.0]), wrong)
    ulp = Decimal(float(np.spacing(right[0])))
    assert row["counts"]["wrong"] == 1
    assert row["extremes"]["error"]["value"] == pytest.approx(float(abs(Decimal(float(wrong[0])) - exact) / ulp))


def test_what_is_no_finite_number_is_told():
    row = counted("Exp", np.asarray([2.0, 3.0]), np.asarray([np.nan, np.inf]))
    assert [row["counts"][kind] for kind in ("values", "wrong", "nan", "infinite")] == [2, 2, 1, 1]
    two, three = (int(place) for place in SCALE.places(np.asarray([2.0, 3.0])))
    assert row["places"] == {"nan": [two], "infinite": [three]}


@pytest.mark.parametrize("operator", sorted(FUNCTIONS))
def test_arguments_are_spread_over_where_the_function_varies(operator, monkeypatch):
    monkeypatch.setattr(doubles, "MEASURED", 2**13)
    where = np.concatenate([doubles.places(operator, SCALE, piece) for piece in range(doubles.PIECES)])
    assert len(np.unique(where)) == doubles.MEASURED
    X = SCALE.at(where)
    with np.errstate(all="ignore"):
        Y = {"Exp": np.exp, "Log": np.log, "Sqrt": np.sqrt}[operator](X)
    assert np.isfinite(Y).all()
    assert np.mean((Y == 0) | (Y == 1)) < 0.001
