"""Products round in any order, and what is not rounded correctly is as accurate as the table has it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from conformance.models.formats import DOUBLE, FLOAT
from conformance.reference.numbers.accuracy import IEEE_754, MUST, OPENCL, SHOULD
from conformance.reference.numbers.bounded import Bounded
from conformance.reference.numbers.exact import exactly
from conformance.reference.numbers.precision import Precision, Role

FORMATS = {"float": FLOAT, "double": DOUBLE}
ODD = Decimal(2**12 + 1)
"""Its square needs 25 digits, one more than a float has."""


def tensor(value, format=FLOAT, *, strict=False):
    return Bounded(Decimal(value), Precision(Role.TENSOR, format, format, strict))


def relative(number):
    return max(number.high - number.value, number.value - number.low) / number.value


def test_a_product_of_two_is_exact_where_it_is_representable():
    with exactly():
        assert (tensor(3) * tensor(ODD)).is_exact


def test_a_product_is_not_exact_that_another_order_rounds():
    # 1.5 * ODD * ODD, where 4/3 of it would be representable and ODD * ODD is not.
    with exactly():
        odd = tensor(2**13 + 1)
        assert not (tensor(Decimal("1.5")) * tensor(ODD) * odd).is_exact


def test_a_product_whose_first_two_cancel_another_s_rounding_is_enclosed_in_every_order():
    with exactly():
        a, b = Decimal("1.5"), Decimal(2**23 + 1) / 3
        product = tensor(a) * tensor(Decimal(FLOAT.rounded(b))) * tensor(Decimal(FLOAT.rounded(b)))
        square = Decimal(FLOAT.rounded(Decimal(FLOAT.rounded(b)) ** 2))
        assert product.low <= Decimal(FLOAT.rounded(a * square)) <= product.high


def test_an_exact_product_that_goes_on_is_charged_for_the_orders_in_which_it_is_not():
    with exactly():
        exact = tensor(3) * tensor(5)
        inexact = tensor(15)
        assert exact.is_exact
        other = tensor(Decimal(2**23 + 1))
        assert relative(exact * other) > relative(inexact * other)


def test_powers_of_two_round_nothing_in_any_order():
    with exactly():
        product = tensor(Decimal("0.125")) * tensor(4) * tensor(ODD) * tensor(Decimal("0.5"))
        assert product.is_exact


def test_a_factor_of_0_beside_an_overflowing_product_is_in_doubt():
    with exactly():
        assert (tensor(0) * tensor(Decimal("1e30")) * tensor(Decimal("1e30"))).doubt
        assert not (tensor(0) * tensor(Decimal("1e10")) * tensor(Decimal("1e10"))).doubt


@pytest.mark.parametrize("name", FORMATS)
def test_a_quotient_and_a_root_are_as_accurate_as_the_table_has_it(name):
    ulp = 2 * FORMATS[name].unit_roundoff
    with exactly():
        quotient, root = tensor(1, FORMATS[name]) / tensor(3, FORMATS[name]), tensor(3, FORMATS[name]).sqrt()
    for found, admitted in ((quotient, MUST[name].quotient), (root, MUST[name].root)):
        assert admitted * ulp <= relative(found) <= admitted * ulp * (1 + 4 * ulp)


def test_below_must_a_float_is_as_accurate_as_a_reciprocal_and_a_product_make_it():
    with exactly():
        quotient = tensor(1, strict=True) / tensor(3, strict=True)
    assert relative(quotient) < 2 * FLOAT.unit_roundoff * (SHOULD.quotient + Decimal("0.001"))


@pytest.mark.parametrize(("name", "exact"), [("float", False), ("double", True)])
def test_a_quotient_by_a_power_of_two_is_exact_in_double_only(name, exact):
    with exactly():
        assert (tensor(3, FORMATS[name]) / tensor(4, FORMATS[name])).is_exact is exact
        assert tensor(4, FORMATS[name]).sqrt().is_exact is exact
        assert (tensor(0, FORMATS[name]) / tensor(4, FORMATS[name])).is_exact


@pytest.mark.parametrize("name", OPENCL)
@pytest.mark.parametrize("operation", ["quotient", "root", "power", "function"])
def test_must_admits_whatever_opencl_s_full_profile_and_ieee_754_admit(name, operation):
    admitted = getattr(MUST[name], operation)
    assert admitted >= getattr(OPENCL[name], operation) >= getattr(IEEE_754, operation)


def test_three_terms_are_added_exactly_of_which_every_partial_sum_is_representable():
    # All are multiples of 1, of which their magnitudes make 3 * 2**24.
    with exactly():
        assert (tensor(2**24 - 1) + tensor(-(2**24 - 3)) + tensor(2**24 - 3)).is_exact


def test_a_sum_is_charged_for_the_orders_in_which_it_is_rounded():
    with exactly():
        total = tensor(2**24 - 1) + tensor(-(2**24 - 2)) + tensor(2**24 - 2)
        assert total.value == 2**24 - 1
        assert total.high - total.value >= 1


def test_a_subnormal_partial_sum_may_be_flushed_in_another_order():
    with exactly():
        least = FLOAT.smallest_normal
        terms = least * Decimal("1.5"), least, -least * Decimal("1.25")
        total = sum(map(tensor, terms[1:]), tensor(terms[0]))
        assert total.value - total.low >= least / 4
        assert sum((tensor(term, strict=True) for term in terms[1:]), tensor(terms[0], strict=True)).is_exact


def test_a_partial_sum_that_overflows_in_another_order_is_in_doubt():
    with exactly():
        assert (tensor(FLOAT.largest) + tensor(-FLOAT.largest) + tensor(FLOAT.largest)).doubt
