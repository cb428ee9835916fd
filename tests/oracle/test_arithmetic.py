"""Enclosures contain all results within their ULP, and exact results are not widened."""

from __future__ import annotations

import math

import pytest
from flint import fmpq

from oracle import reals
from oracle.arithmetic import ANYTHING, Enclosure, EnclosureArithmetic, IntegerArithmetic
from oracle.formats import FLOATS
from oracle.operators.ranking import acceptable_indices

FLOAT = FLOATS[1]
ULP = FLOAT.ulp(fmpq(1))
one_unit = EnclosureArithmetic(FLOAT, 1)


def test_representable_result_is_exact():
    assert one_unit(reals.multiply, fmpq(3), fmpq(1, 2)) == fmpq(3, 2)


def test_inexact_result_is_widened_by_units():
    assert one_unit(reals.add, fmpq(1), ULP / 4) == Enclosure(1 + ULP / 4 - ULP, 1 + ULP / 4 + ULP)


def test_enclosure_includes_overflow():
    assert one_unit(reals.exponential, fmpq(89)).high == math.inf


def test_enclosure_includes_flush_to_zero():
    tiny = one_unit(reals.exponential, fmpq(-100))
    assert reals.compare(tiny.low, 0.0) < 0 < reals.compare(tiny.high, 0.0)


def test_root_of_possibly_negative_number_may_be_nan():
    root = one_unit(reals.square_root, Enclosure(fmpq(-1), fmpq(4)))
    assert root.has_nan
    assert reals.compare(root.high, fmpq(2)) >= 0


def test_quotient_by_possible_zero_is_unbounded():
    assert one_unit(reals.divide, fmpq(1), Enclosure(fmpq(-1), fmpq(1))) is ANYTHING


def test_enclosure_includes_turning_point():
    assert reals.compare(one_unit(reals.hyperbolic_cosine, Enclosure(fmpq(-1), fmpq(1))).low, fmpq(1)) <= 0


@pytest.mark.parametrize(("x", "y", "answer"), [(0, 3, True), (3, 0, False), (0, 1, None)])
def test_overlapping_enclosures_have_no_order(x, y, answer):
    assert one_unit.less(Enclosure(fmpq(x), fmpq(x + 1)), Enclosure(fmpq(y), fmpq(y + 1))) is answer


@pytest.mark.parametrize(("x", "y", "quotient"), [(7, 2, 3), (-7, 2, -3), (7, -2, -3), (-7, -2, 3), (-6, 2, -3)])
def test_integer_quotient_is_truncated(x, y, quotient):
    assert IntegerArithmetic(6)(reals.divide, x, y) == quotient


def test_integer_arithmetic_wraps():
    assert IntegerArithmetic(3)(reals.add, 127, 1) == -128


@pytest.mark.parametrize(("last", "index"), [(False, 0), (True, 2)])
def test_exact_maxima_have_one_acceptable_index(last, index):
    assert acceptable_indices([fmpq(2), fmpq(1), fmpq(2)], last=last) == index


def test_inexact_maxima_are_all_acceptable():
    near = Enclosure(fmpq(1), fmpq(3))
    assert acceptable_indices([near, fmpq(2), near, fmpq(0)], last=False) == {0, 1, 2}


def test_possible_nan_makes_every_index_acceptable():
    assert acceptable_indices([fmpq(2), math.nan, fmpq(1)], last=False) == {0, 1, 2}
