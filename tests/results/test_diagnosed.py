"""What explains failures is said in a sentence for each deviation and for each group that is left."""

from __future__ import annotations

from conformance.results.diagnosed import deviations_by_case, explained, sentences, unexplained

FOUND = {
    "subject": "acme",
    "operator": "Adam",
    "deviation": "adam.x",
    "text": "forgets x",
    "agrees": 2,
    "of": 5,
    "alike": [],
}
LEFT = {
    "subject": "acme",
    "operator": "Adam",
    "manner": "wrong values",
    "cases": ["a", "b", "c"],
    "of": 5,
    "passing": 40,
    "shared": [],
}


def left(*shared, **changed):
    return LEFT | changed | {"shared": [dict(zip(("text", "cases", "passing"), one, strict=True)) for one in shared]}


def test_a_deviation_is_said_with_what_it_explains():
    assert explained(FOUND) == "Adam on acme agrees on 2 of 5 failing cases with: forgets x"
    assert explained(FOUND | {"alike": ["adam.y", "adam.z"]}).endswith("(no case tells it apart from adam.y, adam.z)")
    assert explained(FOUND | {"together": ["a"]}).endswith("forgets x; in 1 of them another fault acts as well")


def test_what_is_left_is_said_with_what_it_shares():
    told = "Adam on acme: 3 of 5 failing cases unexplained (wrong values): "
    assert unexplained(left(("set beta", 3, 0))) == f"{told}all 3 set beta, and none that passes"
    assert unexplained(left(("set beta", 3, 2))) == f"{told}all 3 set beta, and 2 of the 40 that pass"
    assert unexplained(left(("set beta", 2, 0))) == f"{told}2 of 3 set beta, and none that passes"
    assert unexplained(left()) == f"{told}nothing found in common: a, b, c"
    assert unexplained(left(cases=["a", "b", "c", "d"])).endswith("nothing found in common: a, b, c, …")


def test_sentences_are_those_of_a_subject_and_of_a_footer_of_any_format():
    footer = {"diagnoses": [FOUND, FOUND | {"subject": "other"}], "unexplained": [LEFT]}
    assert sentences(footer, "acme") == [explained(FOUND), unexplained(LEFT)]
    assert len(sentences(footer)) == 3
    assert sentences({}) == []


def test_the_deviations_of_a_case_are_those_that_name_it():
    both = [FOUND | {"cases": ["a"]}, FOUND | {"deviation": "adam.y", "cases": ["a", "b"]}]
    assert deviations_by_case({"diagnoses": both}) == {("acme", "a"): ["adam.x", "adam.y"], ("acme", "b"): ["adam.y"]}
    assert deviations_by_case({"diagnoses": [FOUND]}) == {}
