"""Zeros, infinities and NaN follow IEEE 754, and all other numbers are exact."""

from __future__ import annotations

import itertools
import math
import operator

import pytest
from flint import arb, fmpq

from oracle import reals
from oracle.evaluation import exact_number
from oracle.formats import FLOATS

NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, math.inf, -math.inf, math.nan]


def as_float(x: reals.Real) -> float:
    """Return a number as a Python float."""
    return x if isinstance(x, float) else int(fmpq(x).p) / int(fmpq(x).q)


def quotient(x: float, y: float) -> float:
    """Return the quotient of IEEE 754."""
    if y:
        return x / y
    return math.nan if x == 0 or math.isnan(x) else math.copysign(math.inf, x) * math.copysign(1, y)


def power(x: float, y: float) -> float:
    """Return the power of IEEE 754."""
    try:
        return math.pow(x, y)
    except ValueError:
        if x == 0:
            return math.copysign(math.inf, x) if y % 2 == 1 else math.inf
        return math.nan


@pytest.mark.parametrize(
    ("exact", "ieee"),
    [
        (reals.add, operator.add),
        (reals.subtract, operator.sub),
        (reals.multiply, operator.mul),
        (reals.divide, quotient),
        (reals.power, power),
    ],
)
def test_binary_functions_equal_ieee_754(exact, ieee):
    pairs = [(x, y) for x, y in itertools.product(NUMBERS, NUMBERS) if (exact, y) != (reals.divide, 3.0)]
    pairs = [(x, y) for x, y in pairs if exact is not reals.power or not (x in {3.0, 0.5} and y == 0.5)]
    got = [repr(as_float(exact(exact_number(x), exact_number(y)))) for x, y in pairs]
    assert got == [repr(ieee(x, y)) for x, y in pairs]


@pytest.mark.parametrize(
    ("function", "at", "value"),
    [
        (reals.square_root, -0.0, -0.0),
        (reals.square_root, -1.0, math.nan),
        (reals.square_root, 0.25, 0.5),
        (reals.exponential, -math.inf, 0.0),
        (reals.exponential, 0.0, 1.0),
        (reals.logarithm, 0.0, -math.inf),
        (reals.logarithm, -1.0, math.nan),
        (reals.logarithm, 1.0, 0.0),
        (reals.hyperbolic_tangent, -math.inf, -1.0),
        (reals.hyperbolic_cosine, -math.inf, math.inf),
        (reals.inverse_hyperbolic_tangent, 1.0, math.inf),
        (reals.inverse_hyperbolic_tangent, 2.0, math.nan),
    ],
)
def test_functions_at_limits_of_domain(function, at, value):
    assert repr(as_float(function(exact_number(at)))) == repr(value)


def test_sum_of_distant_terms_is_exact():
    assert reals.subtract(reals.add(exact_number(1e300), exact_number(1e-300)), exact_number(1e300)) == exact_number(
        1e-300
    )


def test_squared_root_cannot_be_compared_with_radicand():
    root = reals.square_root(fmpq(2))
    with pytest.raises(reals.PrecisionTooLow):
        reals.sign(reals.subtract(reals.multiply(root, root), fmpq(2)))


def test_higher_precision_decides_comparison():
    def third() -> reals.Real:
        return FLOATS[11].round(arb(1) / 3 + arb(fmpq(1, 2**200)))

    with reals.precision(40), pytest.raises(reals.PrecisionTooLow):
        third()
    with reals.precision(320):
        assert third() == exact_number(1 / 3)
