"""Sentences on diagnoses and on unexplained failures."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace
from runs_in_memory import make_footer

from conformance.results.failure_groups import (
    explained_sentence,
    mutant_sentence,
    mutants_by_case,
    unexplained_sentence,
)
from conformance.results.records import DiagnosisRecord, SharedRecord, UnexplainedRecord

FOUND = DiagnosisRecord(
    subject="acme",
    operator="Adam",
    mutant="adam.x",
    text="forgets x",
    explained=2,
    failing=5,
    indistinguishable=[],
    cases=["d", "e"],
    jointly_explained=[],
)
LEFT = UnexplainedRecord(
    subject="acme",
    operator="Adam",
    failure_mode="wrong values",
    cases=["a", "b", "c"],
    failing=5,
    passing=40,
    shared=[],
)


def left(*shared, **changed):
    return replace(LEFT, shared=[SharedRecord(*one) for one in shared], **changed)


def numbers(sentence):
    return [int(number) for number in re.findall(r"\d+", sentence)]


def test_explained_sentence_has_counts_and_mutant():
    sentence = explained_sentence(FOUND)
    assert numbers(sentence) == [2, 5]
    assert sentence.endswith(mutant_sentence(FOUND))


def test_mutant_sentence_has_limits_and_no_count_of_cases():
    assert mutant_sentence(FOUND) == "Adam: forgets x"
    assert "adam.y, adam.z" in mutant_sentence(replace(FOUND, indistinguishable=["adam.y", "adam.z"]))
    assert numbers(mutant_sentence(replace(FOUND, jointly_explained=["a", "b"]))) == [2]


def test_mutant_sentence_names_the_partner():
    assert "forgets y" in mutant_sentence(replace(FOUND, jointly_explained=["d"], partners=["forgets y"]))


def test_mutant_sentence_has_the_condition():
    assert mutant_sentence(replace(FOUND, condition="have T = 0")) == "Adam: forgets x (only in models that have T = 0)"


@pytest.mark.parametrize("mode", ["load: ValueError: secret", "run: RuntimeError: secret", "crash: secret"])
def test_unexplained_sentence_has_no_text_of_an_exception(mode):
    sentence = unexplained_sentence(left(failure_mode=mode))
    assert "secret" not in sentence
    assert "Error:" not in sentence


@pytest.mark.parametrize("mode", ["wrong values", "fail: answers: an output has other values"])
def test_unexplained_sentence_has_the_failure_mode(mode):
    assert mode in unexplained_sentence(left(failure_mode=mode))


def test_unexplained_sentence_has_shared_properties():
    sentence = unexplained_sentence(left(("set beta", 3, 2)))
    assert numbers(sentence) == [3, 5, 3, 3, 2, 40]
    assert "set beta" in sentence
    assert "a, b, c" in unexplained_sentence(left())
    assert "a, b, c, …" in unexplained_sentence(left(cases=["a", "b", "c", "d"]))


def test_mutants_by_case_lists_the_diagnoses_of_each_case():
    both = [replace(FOUND, cases=["a"]), replace(FOUND, mutant="adam.y", cases=["a", "b"])]
    assert mutants_by_case(make_footer(diagnoses=both)) == {
        ("acme", "a"): ["adam.x", "adam.y"],
        ("acme", "b"): ["adam.y"],
    }
    assert mutants_by_case(make_footer()) == {}
