"""Affine forms contain every error that their noise symbols can make. Equal symbols cancel in a difference."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as some

from conformance.models.arrays import FLOAT
from conformance.reference.numbers.affine import (
    AffineForm,
    Coefficients,
    error_hull,
    product_error,
    quotient_error,
    sqrt_error,
)
from conformance.reference.numbers.bounded import BoundedNumber
from conformance.reference.numbers.decimals import exact_context
from conformance.reference.numbers.formula_evaluation import as_independent_number
from conformance.reference.numbers.precision import Precision, Role

TENSOR = Precision(Role.TENSOR, FLOAT, FLOAT)

numbers = some.integers(1, 1000).map(lambda whole: Decimal(whole) / 100)
units = some.integers(-100, 100).map(lambda whole: Decimal(whole) / 100)
sizes = some.integers(0, 9).map(lambda whole: Decimal(whole) / 1000)
errors = some.builds(
    lambda first, second, low, high: AffineForm(Coefficients({1: first, 2: -second}), -low, high),
    sizes,
    sizes,
    sizes,
    sizes,
)


def error_at(error: AffineForm, first: Decimal, second: Decimal, position: Decimal) -> Decimal:
    """Return an error that a form contains, given its noise symbols and the position in its remainder."""
    linear = error.coefficients.get(1, Decimal(0)) * first + error.coefficients.get(2, Decimal(0)) * second
    return linear + error.low + (error.high - error.low) * (position + 1) / 2


def contains(form: AffineForm, error: Decimal, first: Decimal, second: Decimal) -> bool:
    """Return whether a form with given noise symbols contains an error."""
    remainder = error - form.coefficients.get(1, Decimal(0)) * first - form.coefficients.get(2, Decimal(0)) * second
    tolerance = Decimal("1e-30")
    return form.low - tolerance <= remainder <= form.high + tolerance


@given(numbers, errors, numbers, errors, units, units, units, units)
def test_product_error_contains_every_error(a, A, b, B, first, second, here, there):
    with exact_context():
        error = (a + error_at(A, first, second, here)) * (b + error_at(B, first, second, there)) - a * b
        assert contains(product_error(a, A, b, B), error, first, second)


@given(numbers, errors, numbers, errors, units, units, units, units)
def test_quotient_error_contains_every_error(a, A, b, B, first, second, here, there):
    with exact_context():
        form = quotient_error(a, A, b, B)
        assume(form is not None)
        error = (a + error_at(A, first, second, here)) / (b + error_at(B, first, second, there)) - a / b
        assert contains(form, error, first, second)


@given(numbers, errors, units, units, units)
def test_sqrt_error_contains_every_error(a, A, first, second, here):
    with exact_context():
        form = sqrt_error(a, A)
        assume(form is not None)
        assert contains(form, (a + error_at(A, first, second, here)).sqrt() - a.sqrt(), first, second)


@given(errors, errors, units, units, units)
def test_error_hull_contains_both_forms(A, B, first, second, here):
    with exact_context():
        for error in (A, B):
            assert contains(error_hull(A, B), error_at(error, first, second, here), first, second)


def test_quotient_error_of_possible_zero_divisor_is_none():
    with exact_context():
        assert (
            quotient_error(
                Decimal(1), AffineForm(Coefficients()), Decimal(1), AffineForm(Coefficients({1: Decimal(1)}))
            )
            is None
        )


def test_independent_number_minus_itself_is_exactly_0():
    with exact_context():
        number = BoundedNumber.from_input(Decimal("0.1"), TENSOR)
        apart = number - number
        number = as_independent_number(number)
        same = number - number
    assert apart.high > 0
    assert (same.low, same.high) == (0, 0)


def test_gradient_step_reduces_error():
    with exact_context():
        number = BoundedNumber.from_input(Decimal("0.1"), TENSOR)
        number = as_independent_number(number)
        (before,) = number.affine_form.coefficients.values()
        (after,) = (number - BoundedNumber(Decimal("0.5"), TENSOR) * number).affine_form.coefficients.values()
    assert after == before / 2


@pytest.mark.parametrize("low", ["-2", "-1"])
def test_asymmetric_error_keeps_remainder(low):
    form = AffineForm(Coefficients(), Decimal(low), Decimal(2)).as_independent_symbol()
    assert list(form.coefficients.values()) == [-Decimal(low)]
    assert (form.low, form.high) == (0, 2 + Decimal(low))
