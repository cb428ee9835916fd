"""The properties that distinguish failing cases from passing ones are found, and only true ones."""

from __future__ import annotations

from conformance.diagnosis.properties import Properties, common_properties


def cases(count, *words, start=0, **numbers):
    values_by_name = {name: tuple(values) for name, values in numbers.items()}
    return {f"{start + number}": Properties(words, values_by_name) for number in range(count)}


def texts(some, others):
    return [(one.text, len(one.cases), one.others) for one in common_properties(some, others)]


def test_property_of_all_cases_and_no_other_is_returned_alone():
    some = cases(4, "set alpha", "have X")
    assert texts(some, cases(20, "have X", start=9)) == [("set alpha", 4, 0)]


def test_equivalent_properties_return_the_first():
    assert texts(cases(4, "set alpha", "set beta"), cases(20, start=9)) == [("set alpha", 4, 0)]


def test_pair_of_properties_only_the_cases_have_is_returned():
    others = cases(10, "set alpha", start=10) | cases(10, "set beta", start=20)
    assert texts(cases(4, "set alpha", "set beta"), others) == [("set alpha and set beta", 4, 0)]


def test_numeric_property_is_returned_as_a_limit():
    some, others = cases(2, T=[7]) | cases(2, T=[1, 9], start=2), cases(20, T=[2], start=9)
    assert texts(some, others) == [("have T ≥ 7", 4, 0)]


def test_property_of_few_others_is_returned_with_their_number():
    others = cases(1, "set alpha", start=10) | cases(39, start=20)
    assert texts(cases(4, "set alpha"), others) == [("set alpha", 4, 1)]


def test_properties_of_parts_are_returned_without_a_common_one():
    some = cases(6, "set alpha") | cases(5, "set beta", start=6)
    assert texts(some, cases(20, start=20)) == [("set alpha", 6, 0), ("set beta", 5, 0)]


def test_property_of_one_or_of_every_case_is_not_returned():
    assert texts(cases(1, "set alpha"), cases(20, start=9)) == []
    assert texts(cases(4, "have X"), cases(20, "have X", start=9)) == []


def test_attribute_is_formatted_as_the_shortest_decimal():
    some, others = cases(4, alpha=[0.8999999761581421]), cases(20, alpha=[0.5], start=9)
    assert texts(some, others) == [("have alpha = 0.9", 4, 0)]
