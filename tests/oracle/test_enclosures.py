"""Enclosures hold all results of operations within their units, and no exact result is widened."""

from __future__ import annotations

import math

import pytest
from flint import fmpq

from oracle import reals
from oracle.arithmetic import ANYTHING, Enclosing, Enclosure, Integers
from oracle.formats import FLOATS
from oracle.operators.ranking import acceptable

FLOAT = FLOATS[1]
ULP = FLOAT.ulp(fmpq(1))
one_unit = Enclosing(FLOAT, 1)


def test_a_result_that_the_type_has_is_exact():
    assert one_unit(reals.multiply, fmpq(3), fmpq(1, 2)) == fmpq(3, 2)


def test_an_inexact_result_is_within_its_units():
    assert one_unit(reals.add, fmpq(1), ULP / 4) == Enclosure(1 + ULP / 4 - ULP, 1 + ULP / 4 + ULP)


def test_a_result_may_overflow():
    assert one_unit(reals.exponential, fmpq(89)).high == math.inf


def test_a_result_may_be_flushed_to_zero():
    tiny = one_unit(reals.exponential, fmpq(-100))
    assert reals.compare(tiny.low, 0.0) < 0 < reals.compare(tiny.high, 0.0)


def test_a_root_of_what_may_be_negative_may_be_nan():
    root = one_unit(reals.square_root, Enclosure(fmpq(-1), fmpq(4)))
    assert root.nan
    assert reals.compare(root.high, fmpq(2)) >= 0


def test_a_quotient_by_what_may_be_zero_may_be_anything():
    assert one_unit(reals.divide, fmpq(1), Enclosure(fmpq(-1), fmpq(1))) is ANYTHING


def test_a_function_that_turns_is_enclosed_where_it_turns():
    assert reals.compare(one_unit(reals.hyperbolic_cosine, Enclosure(fmpq(-1), fmpq(1))).low, fmpq(1)) <= 0


@pytest.mark.parametrize(("x", "y", "answer"), [(0, 3, True), (3, 0, False), (0, 1, None)])
def test_overlapping_enclosures_are_not_ordered(x, y, answer):
    assert one_unit.less(Enclosure(fmpq(x), fmpq(x + 1)), Enclosure(fmpq(y), fmpq(y + 1))) is answer


@pytest.mark.parametrize(("x", "y", "quotient"), [(7, 2, 3), (-7, 2, -3), (7, -2, -3), (-7, -2, 3), (-6, 2, -3)])
def test_a_quotient_of_integers_goes_towards_zero(x, y, quotient):
    assert Integers(6)(reals.divide, x, y) == quotient


def test_integers_wrap():
    assert Integers(3)(reals.add, 127, 1) == -128


@pytest.mark.parametrize(("last", "index"), [(False, 0), (True, 2)])
def test_of_exact_maxima_the_first_or_the_last_is_acceptable(last, index):
    assert acceptable([fmpq(2), fmpq(1), fmpq(2)], last=last) == index


def test_of_inexact_maxima_all_are_acceptable():
    near = Enclosure(fmpq(1), fmpq(3))
    assert acceptable([near, fmpq(2), near, fmpq(0)], last=False) == {0, 1, 2}


def test_where_one_may_be_nan_every_index_is_acceptable():
    assert acceptable([fmpq(2), math.nan, fmpq(1)], last=False) == {0, 1, 2}
