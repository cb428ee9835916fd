"""Rows cover every pair and every structural triple that any row could show, and none is there for nothing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from combinations_shown import admissible, shown_by, triples_shown_by
from repository import ROOT

from conformance.dimensions.covering import coverage, covering_rows, shown
from conformance.dimensions.factors import Declaration, Meeting
from conformance.dimensions.training import structure
from conformance.reference.operators.training import TRAINING_OPTIMIZERS
from generators import adagrad

SMALL = Declaration(
    {"a": ("1", "2", "3"), "b": ("1", "2"), "c": ("1", "2", "3"), "d": ("1", "2")},
    excluded=(
        Meeting({"a": ("1",), "b": ("2",)}, "no"),
        Meeting({"b": ("1",), "c": ("3",), "d": ("2",)}, "no"),
    ),
    hiding=(Meeting({"d": ("2",)}, "dark"), Meeting({"a": ("2",), "c": ("2", "3")}, "dark")),
)

STRUCTURAL = Declaration(
    {"place": ("1", "2"), "from_x": ("1", "2", "3"), "from_y": ("1", "2", "3"), "to": ("1", "2"), "size": ("1", "2")},
    excluded=(Meeting({"place": ("2",), "from_x": ("3",), "from_y": ("3",)}, "no"),),
    structural={"place": ("place",), "from": ("from_x", "from_y"), "to": ("to",)},
)


class TestRows:
    def test_they_show_all_that_any_row_could_show(self):
        rows = covering_rows(SMALL)
        assert shown_by(SMALL, rows) == shown_by(SMALL, admissible(SMALL))
        assert {frozenset(pair) for pair in coverage(SMALL, rows).wanted} == shown_by(SMALL, rows)

    def test_they_are_admissible(self):
        assert all(row in admissible(SMALL) for row in covering_rows(SMALL))

    def test_they_are_few(self):
        declaration = Declaration(dict.fromkeys("abcd", ("1", "2", "3")))
        assert 9 <= len(covering_rows(declaration)) <= 12, "nine is the least, of 81"

    def test_every_one_shows_what_no_other_does(self):
        rows = covering_rows(SMALL)
        for row in rows:
            assert shown_by(SMALL, [other for other in rows if other is not row]) < shown_by(SMALL, rows)

    def test_a_value_that_hides_what_others_do_covers_only_its_own_pairs(self):
        pairs = shown(SMALL, {"a": "1", "b": "1", "c": "1", "d": "2"})
        assert [one[0] + other[0] for (one, other) in pairs] == ["ad", "bd", "cd"]
        assert shown(SMALL, {"a": "2", "b": "1", "c": "2", "d": "1"}) == [(("a", "2"), ("c", "2"))]
        assert shown(SMALL, {"a": "2", "b": "1", "c": "2", "d": "2"}) == []

    def test_structural_triples_are_all_shown_by_some_operand(self):
        rows = covering_rows(STRUCTURAL)
        assert triples_shown_by(STRUCTURAL, rows) == triples_shown_by(STRUCTURAL, admissible(STRUCTURAL))
        assert shown_by(STRUCTURAL, rows) == shown_by(STRUCTURAL, admissible(STRUCTURAL))
        assert len(rows) < len(admissible(STRUCTURAL)) / 3

    def test_they_do_not_depend_on_the_hash_seed(self):
        program = "from generators.adagrad import MATRIX; print(MATRIX.rows)"
        printed = {
            subprocess.run(
                [sys.executable, "-c", program],
                cwd=ROOT,
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for seed in ("0", "42")
        }
        assert printed == {f"{adagrad.MATRIX.rows}\n"}


class TestCoverage:
    def test_a_row_left_out_leaves_combinations_missing(self):
        rows = covering_rows(STRUCTURAL)
        assert coverage(STRUCTURAL, rows).missing == []
        assert coverage(STRUCTURAL, rows[1:]).missing

    def test_what_is_excluded_is_impossible_and_not_missing(self):
        declaration = Declaration({"a": ("1", "2"), "b": ("1", "2")}, (Meeting({"a": ("1",), "b": ("2",)}, "no"),))
        assert coverage(declaration, covering_rows(declaration)).impossible == [(("a", "1"), ("b", "2"))]

    def test_pairs_and_triples_are_told_apart(self):
        covered = coverage(STRUCTURAL, [])
        assert len(covered.of_size(3).missing) == 2 * 3 * 2
        assert len(covered.of_size(2).missing) + 12 == len(covered.missing)


@pytest.mark.parametrize("op_type", TRAINING_OPTIMIZERS)
def test_the_structure_of_an_optimizer_is_covered_in_full(op_type):
    declaration = structure(op_type)
    covered = coverage(declaration, covering_rows(declaration))
    assert covered.missing == []
    assert covered.of_size(3).impossible == []
