"""What some cases have in common is said where others have it not, and only if it is true."""

from __future__ import annotations

from conformance.diagnosis.properties import Properties
from conformance.diagnosis.shared import shared


def cases(count, *words, start=0, **numbers):
    told = {name: tuple(values) for name, values in numbers.items()}
    return {f"{start + number}": Properties(words, told) for number in range(count)}


def texts(some, others):
    return [(one.text, len(one.cases), one.others) for one in shared(some, others)]


def test_a_property_of_all_and_of_no_other_is_said_alone():
    some = cases(4, "set alpha", "have X")
    assert texts(some, cases(20, "have X", start=9)) == [("set alpha", 4, 0)]


def test_what_comes_first_is_said_of_two_that_tell_the_same():
    assert texts(cases(4, "set alpha", "set beta"), cases(20, start=9)) == [("set alpha", 4, 0)]


def test_two_properties_that_only_these_have_both_are_said_together():
    others = cases(10, "set alpha", start=10) | cases(10, "set beta", start=20)
    assert texts(cases(4, "set alpha", "set beta"), others) == [("set alpha and set beta", 4, 0)]


def test_a_number_is_said_by_where_it_begins():
    some, others = cases(2, T=[7]) | cases(2, T=[1, 9], start=2), cases(20, T=[2], start=9)
    assert texts(some, others) == [("have T ≥ 7", 4, 0)]


def test_a_property_of_few_others_is_said_with_how_many():
    others = cases(1, "set alpha", start=10) | cases(39, start=20)
    assert texts(cases(4, "set alpha"), others) == [("set alpha", 4, 1)]


def test_parts_are_said_where_nothing_is_of_all():
    some = cases(6, "set alpha") | cases(5, "set beta", start=6)
    assert texts(some, cases(20, start=20)) == [("set alpha", 6, 0), ("set beta", 5, 0)]


def test_what_one_case_has_or_every_case_has_says_nothing():
    assert texts(cases(1, "set alpha"), cases(20, start=9)) == []
    assert texts(cases(4, "have X"), cases(20, "have X", start=9)) == []


def test_an_attribute_is_shown_as_it_was_written():
    some, others = cases(4, alpha=[0.8999999761581421]), cases(20, alpha=[0.5], start=9)
    assert texts(some, others) == [("have alpha = 0.9", 4, 0)]
