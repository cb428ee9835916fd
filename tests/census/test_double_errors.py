"""Errors of values in double, measured with Arb."""

from __future__ import annotations

from decimal import Context, Decimal

import numpy as np
import pytest

from conformance.census import elementwise
from conformance.census.float_ordinals import FLOAT_TYPES

DOUBLE = FLOAT_TYPES["double"]
WIDE = Context(prec=60)
FUNCTIONS = {"Exp": WIDE.exp, "Log": WIDE.ln, "Sqrt": WIDE.sqrt}


def count_errors(operator, X, Y):
    (row,) = elementwise.count_double_errors(operator, DOUBLE, DOUBLE.ordinals(X), X, Y)
    return row


@pytest.mark.parametrize("operator", sorted(FUNCTIONS))
def test_count_double_errors_correctly_rounded_has_no_error(operator):
    X = np.random.default_rng(1).uniform(1, 2, 200)
    Y = np.asarray([float(FUNCTIONS[operator](Decimal(x))) for x in X.tolist()])
    row = count_errors(operator, X, Y)
    assert row.counts == {"values": 200}
    assert not row.extremes


@pytest.mark.parametrize("operator", sorted(FUNCTIONS))
@pytest.mark.parametrize("steps", [-3, 1, 2])
def test_count_double_errors_measures_distance_to_exact_value(operator, steps):
    exact = FUNCTIONS[operator](Decimal(3))
    right = np.asarray([float(exact)])
    wrong = DOUBLE.values_at(DOUBLE.ordinals(right) + steps)
    row = count_errors(operator, np.asarray([3.0]), wrong)
    ulp = Decimal(float(np.spacing(right[0])))
    assert row.counts["wrong"] == 1
    assert row.extremes["error"].value == pytest.approx(float(abs(Decimal(float(wrong[0])) - exact) / ulp))


def test_count_double_errors_counts_nan_and_infinity():
    row = count_errors("Exp", np.asarray([2.0, 3.0]), np.asarray([np.nan, np.inf]))
    assert [row.counts[kind] for kind in ("values", "wrong", "nan", "infinite")] == [2, 2, 1, 1]
    two, three = (int(ordinal) for ordinal in DOUBLE.ordinals(np.asarray([2.0, 3.0])))
    assert row.ordinals == {"nan": [two], "infinite": [three]}


@pytest.mark.parametrize("operator", sorted(FUNCTIONS))
def test_error_ordinals_cover_varying_domain(operator, monkeypatch):
    monkeypatch.setattr(elementwise, "MEASURED_ARGUMENTS", 2**13)
    where = np.concatenate(
        [elementwise.error_ordinals(operator, DOUBLE, chunk) for chunk in range(elementwise.ERROR_CHUNKS)]
    )
    assert len(np.unique(where)) == elementwise.MEASURED_ARGUMENTS
    X = DOUBLE.values_at(where)
    with np.errstate(all="ignore"):
        Y = {"Exp": np.exp, "Log": np.log, "Sqrt": np.sqrt}[operator](X)
    assert np.isfinite(Y).all()
    assert np.mean((Y == 0) | (Y == 1)) < 0.001
