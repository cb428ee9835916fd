"""Number systems of the reference: affine and bounded numbers, and formulas."""

from __future__ import annotations

from decimal import Decimal, localcontext
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as some

from conformance.exact.models.arrays import DOUBLE, FLOAT
from conformance.exact.reference.numbers import elementary, portable
from conformance.exact.reference.numbers.affine import (
    AffineForm,
    Coefficients,
    error_hull,
    product_error,
    quotient_error,
    sqrt_error,
)
from conformance.exact.reference.numbers.bounded import BoundedNumber
from conformance.exact.reference.numbers.decimals import exact_context
from conformance.exact.reference.numbers.formula_evaluation import as_independent_number
from conformance.exact.reference.numbers.precision import Precision, Role
from conformance.exact.reference.tolerances import IEEE_754, MUST_ACCURACY, OPENCL, SHOULD_ACCURACY

# Affine forms contain every error that their noise symbols can make. Equal symbols cancel in a difference.


TENSOR = Precision(Role.TENSOR, FLOAT, FLOAT)

numbers = some.integers(1, 1000).map(lambda whole: Decimal(whole) / 100)
sizes = some.sampled_from([Decimal(0), Decimal("0.002"), Decimal("0.009")])
scales = some.sampled_from([Decimal(1), Decimal(-2)])
errors = some.builds(
    lambda first, second, low, high, scale: AffineForm(Coefficients({1: first, 2: -second}), -low, high, scale),
    *([sizes] * 4),
    scales,
)
ENDS = [*product((Decimal(-1), Decimal(1)), repeat=4)]
"""Noise symbols and positions in remainders at the ends of their ranges."""


def error_at(error: AffineForm, first: Decimal, second: Decimal, position: Decimal) -> Decimal:
    """Return an error that a form contains, given its noise symbols and the position in its remainder."""
    linear = error.coefficients.get(1, Decimal(0)) * first + error.coefficients.get(2, Decimal(0)) * second
    return linear + error.low + (error.high - error.low) * (position + 1) / 2


def contains(form: AffineForm, error: Decimal, first: Decimal, second: Decimal) -> bool:
    """Return whether a form with given noise symbols contains an error."""
    remainder = error - form.coefficients.get(1, Decimal(0)) * first - form.coefficients.get(2, Decimal(0)) * second
    tolerance = Decimal("1e-30")
    return form.low - tolerance <= remainder <= form.high + tolerance


@given(numbers, errors, numbers, errors)
def test_product_error_contains_every_error(a, A, b, B):
    with exact_context():
        for first, second, here, there in ENDS:
            error = (a + error_at(A, first, second, here)) * (b + error_at(B, first, second, there)) - a * b
            assert contains(product_error(a, A, b, B), error, first, second)


@given(numbers, errors, numbers, errors)
def test_quotient_error_contains_every_error(a, A, b, B):
    with exact_context():
        form = quotient_error(a, A, b, B)
        assume(form is not None)
        for first, second, here, there in ENDS:
            error = (a + error_at(A, first, second, here)) / (b + error_at(B, first, second, there)) - a / b
            assert contains(form, error, first, second)


@given(numbers, errors)
def test_sqrt_error_contains_every_error(a, A):
    with exact_context():
        form = sqrt_error(a, A)
        assume(form is not None)
        for first, second, here, _ in ENDS:
            assert contains(form, (a + error_at(A, first, second, here)).sqrt() - a.sqrt(), first, second)


@given(errors, errors)
def test_error_hull_contains_both_forms(A, B):
    with exact_context():
        for error, (first, second, here, _) in product((A, B), ENDS):
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


# Bounded numbers enclose every order of sums and products, with the errors that the accuracy tables state.


FORMATS = {"float": FLOAT, "double": DOUBLE}
ODD = Decimal(2**12 + 1)
"""Its square needs 25 digits, one more than a float has."""


def tensor(value, format=FLOAT, *, strict=False):
    return BoundedNumber(Decimal(value), Precision(Role.TENSOR, format, format, strict))


def relative(number):
    return max(number.high - number.value, number.value - number.low) / number.value


def test_representable_product_of_two_is_exact():
    with exact_context():
        assert (tensor(3) * tensor(ODD)).is_exact


def test_product_rounded_in_another_order_is_not_exact():
    # 1.5 * ODD * ODD, where 4/3 of it would be representable and ODD * ODD is not.
    with exact_context():
        odd = tensor(2**13 + 1)
        assert not (tensor(Decimal("1.5")) * tensor(ODD) * odd).is_exact


def test_product_encloses_every_order():
    with exact_context():
        a, b = Decimal("1.5"), Decimal(2**23 + 1) / 3
        product = tensor(a) * tensor(Decimal(FLOAT.round_to_nearest(b))) * tensor(Decimal(FLOAT.round_to_nearest(b)))
        square = Decimal(FLOAT.round_to_nearest(Decimal(FLOAT.round_to_nearest(b)) ** 2))
        assert product.low <= Decimal(FLOAT.round_to_nearest(a * square)) <= product.high


def test_extended_exact_product_encloses_every_order():
    with exact_context():
        exact = tensor(3) * tensor(5)
        inexact = tensor(15)
        assert exact.is_exact
        other = tensor(Decimal(2**23 + 1))
        assert relative(exact * other) > relative(inexact * other)


def test_powers_of_two_do_not_round():
    with exact_context():
        product = tensor(Decimal("0.125")) * tensor(4) * tensor(ODD) * tensor(Decimal("0.5"))
        assert product.is_exact


def test_zero_times_overflowing_product_is_indeterminate():
    with exact_context():
        assert (tensor(0) * tensor(Decimal("1e30")) * tensor(Decimal("1e30"))).is_indeterminate
        assert not (tensor(0) * tensor(Decimal("1e10")) * tensor(Decimal("1e10"))).is_indeterminate


@pytest.mark.parametrize("name", FORMATS)
def test_quotient_and_root_errors_equal_table(name):
    ulp = 2 * FORMATS[name].unit_roundoff
    with exact_context():
        quotient, root = tensor(1, FORMATS[name]) / tensor(3, FORMATS[name]), tensor(3, FORMATS[name]).sqrt()
    for found, admitted in ((quotient, MUST_ACCURACY[name].quotient), (root, MUST_ACCURACY[name].root)):
        assert admitted * ulp <= relative(found) <= admitted * ulp * (1 + 4 * ulp)


def test_should_float_quotient_has_two_roundings():
    with exact_context():
        quotient = tensor(1, strict=True) / tensor(3, strict=True)
    assert relative(quotient) < 2 * FLOAT.unit_roundoff * (SHOULD_ACCURACY.quotient + Decimal("0.001"))


@pytest.mark.parametrize(("name", "exact"), [("float", False), ("double", True)])
def test_quotient_by_power_of_two_is_exact_in_double_only(name, exact):
    with exact_context():
        assert (tensor(3, FORMATS[name]) / tensor(4, FORMATS[name])).is_exact is exact
        assert tensor(4, FORMATS[name]).sqrt().is_exact is exact
        assert (tensor(0, FORMATS[name]) / tensor(4, FORMATS[name])).is_exact


@pytest.mark.parametrize("name", OPENCL)
@pytest.mark.parametrize("operation", ["quotient", "root", "power", "function"])
def test_must_accuracy_includes_opencl_and_ieee_754(name, operation):
    admitted = getattr(MUST_ACCURACY[name], operation)
    assert admitted >= getattr(OPENCL[name], operation) >= getattr(IEEE_754, operation)


def test_sum_with_representable_partial_sums_is_exact():
    # All terms are multiples of 1, and their magnitudes add up to 3 * 2**24.
    with exact_context():
        assert (tensor(2**24 - 1) + tensor(-(2**24 - 3)) + tensor(2**24 - 3)).is_exact


def test_sum_encloses_every_order():
    with exact_context():
        total = tensor(2**24 - 1) + tensor(-(2**24 - 2)) + tensor(2**24 - 2)
        assert total.value == 2**24 - 1
        assert total.high - total.value >= 1


def test_subnormal_partial_sum_can_be_flushed():
    with exact_context():
        least = FLOAT.smallest_normal
        terms = least * Decimal("1.5"), least, -least * Decimal("1.25")
        total = sum(map(tensor, terms[1:]), tensor(terms[0]))
        assert total.value - total.low >= least / 4
        assert sum((tensor(term, strict=True) for term in terms[1:]), tensor(terms[0], strict=True)).is_exact


def test_overflowing_partial_sum_is_indeterminate():
    with exact_context():
        assert (tensor(FLOAT.largest) + tensor(-FLOAT.largest) + tensor(FLOAT.largest)).is_indeterminate


# Doubles whose bits do not depend on the machine

EQUATIONS = [
    ("ij,jk->ik", [(3, 4), (4, 5)]),
    ("ij,jk", [(3, 4), (4, 5)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (3, 4, 5)]),
    ("ii->i", [(4, 4)]),
    ("ii", [(4, 4)]),
    ("bij,bjk,k->b", [(2, 3, 4), (2, 4, 5), (5,)]),
    ("i,i", [(0,), (0,)]),
    ("i...,i...->...", [(4, 3), (4, 2, 3)]),
]

SMALL_NUMBERS = [0.3, 0.999, 1e-9, -0.75, 2.0**-1074]


def sines(shapes):
    return [np.sin(np.arange(1.0, 1 + np.prod(shape))).reshape(shape) for shape in shapes]


@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS, ids=[equation for equation, _ in EQUATIONS])
def test_einsum_with_portable_bits_returns_the_sums_of_numpy(equation, shapes):
    operands = sines(shapes)
    with portable.with_portable_bits():
        sums = portable.einsum(equation, *operands)
    np.testing.assert_allclose(sums, np.einsum(equation, *operands), rtol=1e-13)
    assert sums.shape == np.einsum(equation, *operands).shape


@pytest.mark.parametrize("shapes", [[(3,), (3,)], [(2, 3), (3,)], [(3,), (3, 4)], [(2, 1, 5, 3), (7, 3, 4)]])
def test_matmul_with_portable_bits_adds_products_in_their_order(shapes):
    a, b = sines(shapes)
    with portable.with_portable_bits():
        sums = portable.matmul(a, b)
    assert sums.shape == np.matmul(a, b).shape
    rows, columns = np.atleast_2d(a), b.reshape(len(b), -1) if b.ndim == 1 else b
    first = 0.0
    for place in range(a.shape[-1]):
        first += rows[(0,) * (rows.ndim - 1) + (place,)] * columns[(*(0,) * (columns.ndim - 2), place, 0)]
    assert np.ravel(sums)[0] == first


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "asin", "acos", "atan", "exp", "log1p", "tanh", "erf"])
def test_function_with_portable_bits_is_within_an_ulp_of_numpy(name):
    X = np.array([*SMALL_NUMBERS, 0.0, -0.0, np.nan, 1.0, -1.0])
    function = getattr(elementary, name)
    with portable.with_portable_bits(), np.errstate(all="ignore"):
        results = function(X)
    with np.errstate(all="ignore"):
        np.testing.assert_array_max_ulp(results, function(X), 2)


def test_exponentials_with_portable_bits_are_those_of_decimals():
    X = np.linspace(-700, 700, 999)
    with portable.with_portable_bits():
        results = elementary.exp(X)
    with localcontext(prec=40):
        assert results.tolist() == [float(Decimal(x).exp()) for x in X.tolist()]


def test_sine_of_a_large_number_with_portable_bits_has_all_digits():
    with portable.with_portable_bits():
        (sine,) = elementary.sin(np.array([1e22]))
    assert sine == -0.8522008497671888
