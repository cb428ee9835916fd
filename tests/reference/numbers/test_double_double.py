"""Double-double arithmetic: error-free transformations against integers, functions against 60 digits."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from conformance.reference.numbers import double_double

rng = np.random.default_rng(29)
NUMBERS = rng.choice([-1, 1], 500) * rng.uniform(1, 2, 500) * 2.0 ** rng.integers(-90, 90, 500)
OTHERS = rng.permutation(NUMBERS) * 2.0 ** rng.integers(-3, 3, 500)
EXP_ARGUMENTS = np.concatenate(
    [
        rng.uniform(-600, 600, 1500),
        rng.uniform(-1, 1, 1000),
        2.0 ** -rng.integers(1, 200, 200),
        np.arange(-865, 866) * np.log(2),  # the reduced argument is almost 0
        (np.arange(-800, 800) + 0.5) * np.log(2),  # the reduced argument is as large as it can be
        np.arange(-600, 600) / 64,  # between two entries of the table
    ]
)
LOG_ARGUMENTS = np.concatenate(
    [
        np.exp(rng.uniform(-200, 200, 1500)),
        1 + rng.uniform(-1, 1, 1000) * 2.0 ** -rng.integers(1, 52, 1000),
        2.0 ** np.arange(-250, 250),
        np.sqrt(0.5) * (1 + np.arange(-8, 8) * 2.0**-52),
    ]
)


def exact(*parts):
    return sum(map(Fraction, map(float, parts)), Fraction())


@pytest.mark.parametrize(("transform", "operation"), [("two_sum", "__add__"), ("two_product", "__mul__")])
def test_error_free_transformation_has_the_exact_result(transform, operation):
    high, low = getattr(double_double, transform)(NUMBERS, OTHERS)
    for a, b, *parts in zip(NUMBERS, OTHERS, high, low, strict=True):
        assert exact(*parts) == getattr(exact(a), operation)(exact(b))
        assert parts[0] == parts[0] + parts[1]


def test_exact_sum_returns_the_nearest_double_and_the_sign_of_the_rest():
    terms = [np.zeros(500), NUMBERS, OTHERS, -NUMBERS, np.full(500, 2.0**-200), OTHERS * 2.0**-53, NUMBERS / 2**26]
    nearest, rest, is_certain = double_double.exact_sum(terms)
    assert is_certain.all()
    for place, (value, other) in enumerate(zip(nearest, rest, strict=True)):
        total = exact(*(term[place] for term in terms))
        assert float(total) == value
        assert np.sign(other) == (total > exact(value)) - (total < exact(value))


def test_quotient_is_within_its_error():
    for a, b, high, low, error in zip(NUMBERS, OTHERS, *double_double.divide(NUMBERS, OTHERS), strict=True):
        assert abs(exact(high, low) - exact(a) / exact(b)) <= exact(error) <= abs(exact(high)) / 2**104


def test_root_is_within_its_error():
    squares = np.abs(NUMBERS)
    with localcontext(prec=60):
        for a, high, low, error in zip(squares, *double_double.sqrt(squares), strict=True):
            difference = Decimal(high) + Decimal(low) - Decimal(a).sqrt()
            assert abs(difference) <= Decimal(error) <= Decimal(high) * Decimal(2) ** -103


def test_exact_quotient_and_root_have_no_error():
    integers = np.arange(1.0, 2000.0)
    for result in (double_double.divide(integers * 1.25, integers), double_double.sqrt(integers**2)):
        assert not result[1].any()
        assert not result[2].any()


def test_exponential_is_within_an_eighth_of_its_error():
    arguments = EXP_ARGUMENTS[np.abs(EXP_ARGUMENTS) <= 600]
    with localcontext(prec=60):
        for x, high, low in zip(arguments, *double_double.exp(arguments), strict=True):
            ratio = (Decimal(high) + Decimal(low)) / Decimal(x).exp()
            assert abs(ratio - 1) <= Decimal(double_double.EXP_ERROR) / 8


def test_logarithm_is_within_a_quarter_of_its_error():
    with localcontext(prec=60):
        for x, high, low, error in zip(LOG_ARGUMENTS, *double_double.log(LOG_ARGUMENTS), strict=True):
            assert abs(Decimal(high) + Decimal(low) - Decimal(x).ln()) <= Decimal(error) / 4


def test_functions_do_not_use_the_c_library(monkeypatch):
    for name in ("exp", "exp2", "expm1", "log", "log2", "log1p", "power"):
        monkeypatch.delattr(np, name)
    double_double._constants.cache_clear()
    assert double_double.exp(np.array([0.0]))[0].item() == 1
    assert double_double.log(np.array([1.0]))[0].item() == 0
