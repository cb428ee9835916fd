"""The mutation score of the search counts detected mutants, and gives a reason for unreachable ones."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from fake_subject import always_right, always_wrong

from conformance.verdicts import Level
from mutation.search_score import measure_search_score


def stop_after(examples):
    """Return a condition that stops after so many examples."""
    return lambda score: score.examples >= examples


def mutant(id, backend, level=Level.MUST):
    return SimpleNamespace(id=id, operator="ArgMax", level=level, backend=backend)


WRONG = mutant("argmax.wrong", always_wrong)
RIGHT = mutant("argmax.right", always_right)
ADMITTED = mutant("argmax.admitted", always_right, Level.SHOULD)
LARGE = mutant("argmax.1048576_elements_at_most", always_right)


@pytest.fixture(scope="module")
def measured():
    """The score of a detected, a missed, a permitted and an unreachable mutant."""
    return measure_search_score([WRONG, RIGHT, ADMITTED, LARGE], 0, stop_after(12), lambda _: None)


def test_search_score_counts_a_detected_mutant(measured):
    assert list(measured.detected) == ["argmax.wrong"]


def test_search_score_with_a_missed_mutant_does_not_pass(measured):
    assert measured.missed == ["argmax.right"]
    assert not measured.passes


def test_search_score_lists_unreachable_mutants(measured):
    assert list(measured.unreachable) == ["argmax.1048576_elements_at_most"]
    assert "    argmax.1048576_elements_at_most" in measured.lines()


def test_search_score_ends_when_all_are_detected():
    assert measure_search_score([WRONG], 0, stop_after(1000), lambda _: None).examples < 10
