"""Sentences on diagnoses and on unexplained failures."""

from __future__ import annotations

from conformance.results.failure_groups import explained_sentence, mutants_by_case, unexplained_sentence

FOUND = {
    "subject": "acme",
    "operator": "Adam",
    "mutant": "adam.x",
    "text": "forgets x",
    "explained": 2,
    "failing": 5,
    "indistinguishable": [],
    "cases": ["d", "e"],
    "jointly_explained": [],
}
LEFT = {
    "subject": "acme",
    "operator": "Adam",
    "failure_mode": "wrong values",
    "cases": ["a", "b", "c"],
    "failing": 5,
    "passing": 40,
    "shared": [],
}


def left(*shared, **changed):
    return LEFT | changed | {"shared": [dict(zip(("text", "cases", "passing"), one, strict=True)) for one in shared]}


def test_explained_sentence_has_counts_and_indistinguishable_mutants():
    assert explained_sentence(FOUND) == "Adam on acme: 2 of 5 failing cases are explained by: forgets x"
    assert explained_sentence(FOUND | {"indistinguishable": ["adam.y", "adam.z"]}).endswith(
        "(no case distinguishes it from adam.y, adam.z)"
    )
    assert explained_sentence(FOUND | {"jointly_explained": ["a"]}).endswith(
        "forgets x; 1 of them only together with another mutant"
    )


def test_unexplained_sentence_has_shared_properties():
    prefix = "Adam on acme: 3 of 5 failing cases unexplained (wrong values): "
    assert unexplained_sentence(left(("set beta", 3, 0))) == f"{prefix}all 3 set beta, and none that passes"
    assert unexplained_sentence(left(("set beta", 3, 2))) == f"{prefix}all 3 set beta, and 2 of the 40 that pass"
    assert unexplained_sentence(left(("set beta", 2, 0))) == f"{prefix}2 of 3 set beta, and none that passes"
    assert unexplained_sentence(left()) == f"{prefix}nothing found in common: a, b, c"
    assert unexplained_sentence(left(cases=["a", "b", "c", "d"])).endswith("nothing found in common: a, b, c, …")


def test_mutants_by_case_lists_the_diagnoses_of_each_case():
    both = [FOUND | {"cases": ["a"]}, FOUND | {"mutant": "adam.y", "cases": ["a", "b"]}]
    assert mutants_by_case({"diagnoses": both}) == {("acme", "a"): ["adam.x", "adam.y"], ("acme", "b"): ["adam.y"]}
    assert mutants_by_case({"diagnoses": []}) == {}
