"""Affine forms hold every error that the unit errors in them can make, and cancel where the same one is subtracted."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as some
from reference_models import law

from conformance.models.formats import FLOAT
from conformance.reference.numbers.affine import Affine, Parts, hull, product, quotient, root
from conformance.reference.numbers.bounded import Bounded
from conformance.reference.numbers.exact import exactly
from conformance.reference.numbers.formulas import with_its_own_error
from conformance.reference.numbers.precision import Precision, Role

TENSOR = Precision(Role.TENSOR, FLOAT, FLOAT)

numbers = some.integers(1, 1000).map(lambda whole: Decimal(whole) / 100)
units = some.integers(-100, 100).map(lambda whole: Decimal(whole) / 100)
sizes = some.integers(0, 9).map(lambda whole: Decimal(whole) / 1000)
errors = some.builds(
    lambda first, second, low, high: Affine(Parts({1: first, 2: -second}), -low, high), sizes, sizes, sizes, sizes
)


def at(error: Affine, first: Decimal, second: Decimal, place: Decimal) -> Decimal:
    """One of the errors that a form stands for."""
    linear = error.parts.get(1, Decimal(0)) * first + error.parts.get(2, Decimal(0)) * second
    return linear + error.low + (error.high - error.low) * (place + 1) / 2


def holds(form: Affine, error: Decimal, first: Decimal, second: Decimal) -> bool:
    """Whether a form leaves room for an error where its unit errors are these."""
    left = error - form.parts.get(1, Decimal(0)) * first - form.parts.get(2, Decimal(0)) * second
    room = Decimal("1e-30")
    return form.low - room <= left <= form.high + room


@law
@given(numbers, errors, numbers, errors, units, units, units, units)
def test_a_product_s_form_holds_the_product_of_any_errors(a, A, b, B, first, second, here, there):
    with exactly():
        error = (a + at(A, first, second, here)) * (b + at(B, first, second, there)) - a * b
        assert holds(product(a, A, b, B), error, first, second)


@law
@given(numbers, errors, numbers, errors, units, units, units, units)
def test_a_quotient_s_form_holds_the_quotient_of_any_errors(a, A, b, B, first, second, here, there):
    with exactly():
        form = quotient(a, A, b, B)
        assume(form is not None)
        error = (a + at(A, first, second, here)) / (b + at(B, first, second, there)) - a / b
        assert holds(form, error, first, second)


@law
@given(numbers, errors, units, units, units)
def test_a_root_s_form_holds_the_root_of_any_error(a, A, first, second, here):
    with exactly():
        form = root(a, A)
        assume(form is not None)
        assert holds(form, (a + at(A, first, second, here)).sqrt() - a.sqrt(), first, second)


@law
@given(errors, errors, units, units, units)
def test_a_hull_holds_the_one_and_the_other(A, B, first, second, here):
    with exactly():
        for error in (A, B):
            assert holds(hull(A, B), at(error, first, second, here), first, second)


def test_a_divisor_that_may_be_0_leaves_no_form():
    with exactly():
        assert quotient(Decimal(1), Affine(Parts()), Decimal(1), Affine(Parts({1: Decimal(1)}))) is None


def test_a_tensor_that_is_handed_on_is_no_further_from_itself_than_nothing():
    with exactly():
        number = Bounded.entering(Decimal("0.1"), TENSOR)
        apart = number - number
        number = with_its_own_error(number)
        same = number - number
    assert apart.high > 0
    assert (same.low, same.high) == (0, 0)


def test_a_step_downhill_brings_an_error_nearer_to_0():
    with exactly():
        number = Bounded.entering(Decimal("0.1"), TENSOR)
        number = with_its_own_error(number)
        (before,) = number.form.parts.values()
        (after,) = (number - Bounded(Decimal("0.5"), TENSOR) * number).form.parts.values()
    assert after == before / 2


@pytest.mark.parametrize("low", ["-2", "-1"])
def test_what_is_longer_on_one_side_stays_a_remainder(low):
    form = Affine.shared(Decimal(low), Decimal(2))
    assert list(form.parts.values()) == [-Decimal(low)]
    assert (form.low, form.high) == (0, 2 + Decimal(low))
