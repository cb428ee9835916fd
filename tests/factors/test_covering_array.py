"""Covering arrays cover every coverable pair and triple without redundant rows."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from covered_combinations import admissible_rows, covered_pairs, covered_triples
from repository import ROOT

from conformance.factors.covering_array import (
    Declaration,
    LevelCombination,
    coverage,
    covered_interactions,
    covering_array,
)
from conformance.factors.training import placed_declaration
from conformance.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from generators import adagrad

SMALL = Declaration(
    {"a": ("1", "2", "3"), "b": ("1", "2"), "c": ("1", "2", "3"), "d": ("1", "2")},
    forbidden=(
        LevelCombination({"a": ("1",), "b": ("2",)}, "forbidden"),
        LevelCombination({"b": ("1",), "c": ("3",), "d": ("2",)}, "forbidden"),
    ),
    masking=(LevelCombination({"d": ("2",)}, "masks"), LevelCombination({"a": ("2",), "c": ("2", "3")}, "masks")),
)

WITH_TRIPLES = Declaration(
    {"place": ("1", "2"), "from_x": ("1", "2", "3"), "from_y": ("1", "2", "3"), "to": ("1", "2"), "size": ("1", "2")},
    forbidden=(LevelCombination({"place": ("2",), "from_x": ("3",), "from_y": ("3",)}, "forbidden"),),
    three_way={"place": ("place",), "from": ("from_x", "from_y"), "to": ("to",)},
)


GROWN = Declaration(
    {**SMALL.factors, "a": (*SMALL.factors["a"], "4"), "e": ("1", "2", "3")},
    forbidden=SMALL.forbidden,
    masking=SMALL.masking,
    added={"a": ("4",), "e": ("2", "3")},
)
"""`SMALL` with a level and a factor that were added later."""


class TestAddedLevels:
    def test_original_declaration_lacks_the_added_levels(self):
        assert GROWN.original.factors == SMALL.factors

    def test_rows_of_the_original_declaration_come_first(self):
        original = covering_array(SMALL)
        assert covering_array(GROWN)[: len(original)] == [{**row, "e": "1"} for row in original]

    def test_covering_array_covers_all_coverable_pairs(self):
        assert not coverage(GROWN, covering_array(GROWN)).missing

    def test_every_later_row_has_an_added_level(self):
        later = covering_array(GROWN)[len(covering_array(SMALL)) :]
        assert all(row["a"] == "4" or row["e"] in {"2", "3"} for row in later)


class TestRows:
    def test_covering_array_covers_all_coverable_pairs(self):
        rows = covering_array(SMALL)
        assert covered_pairs(SMALL, rows) == covered_pairs(SMALL, admissible_rows(SMALL))
        assert {frozenset(pair) for pair in coverage(SMALL, rows).coverable} == covered_pairs(SMALL, rows)

    def test_rows_have_no_forbidden_combination(self):
        assert all(row in admissible_rows(SMALL) for row in covering_array(SMALL))

    def test_number_of_rows_is_near_the_minimum(self):
        declaration = Declaration(dict.fromkeys("abcd", ("1", "2", "3")))
        assert 9 <= len(covering_array(declaration)) <= 12, "the minimum is 9 of 81 rows"

    def test_covering_array_has_no_redundant_row(self):
        rows = covering_array(SMALL)
        for row in rows:
            assert covered_pairs(SMALL, [other for other in rows if other is not row]) < covered_pairs(SMALL, rows)

    def test_masking_level_covers_only_its_own_pairs(self):
        pairs = covered_interactions(SMALL, {"a": "1", "b": "1", "c": "1", "d": "2"})
        assert [one[0] + other[0] for (one, other) in pairs] == ["ad", "bd", "cd"]
        assert covered_interactions(SMALL, {"a": "2", "b": "1", "c": "2", "d": "1"}) == [(("a", "2"), ("c", "2"))]
        assert covered_interactions(SMALL, {"a": "2", "b": "1", "c": "2", "d": "2"}) == []

    def test_covering_array_covers_all_coverable_triples(self):
        rows = covering_array(WITH_TRIPLES)
        assert covered_triples(WITH_TRIPLES, rows) == covered_triples(WITH_TRIPLES, admissible_rows(WITH_TRIPLES))
        assert covered_pairs(WITH_TRIPLES, rows) == covered_pairs(WITH_TRIPLES, admissible_rows(WITH_TRIPLES))
        assert len(rows) < len(admissible_rows(WITH_TRIPLES)) / 3

    def test_hash_seed_has_no_effect(self):
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
    def test_removed_row_leaves_missing_interactions(self):
        rows = covering_array(WITH_TRIPLES)
        assert coverage(WITH_TRIPLES, rows).missing == []
        assert coverage(WITH_TRIPLES, rows[1:]).missing

    def test_forbidden_pair_is_impossible_and_not_missing(self):
        declaration = Declaration(
            {"a": ("1", "2"), "b": ("1", "2")}, (LevelCombination({"a": ("1",), "b": ("2",)}, "forbidden"),)
        )
        assert coverage(declaration, covering_array(declaration)).impossible == [(("a", "1"), ("b", "2"))]

    def test_coverage_can_be_restricted_to_a_size(self):
        covered = coverage(WITH_TRIPLES, [])
        assert len(covered.restrict_to_size(3).missing) == 2 * 3 * 2
        assert len(covered.restrict_to_size(2).missing) + 12 == len(covered.missing)


@pytest.mark.parametrize("op_type", TRAINING_OPTIMIZERS)
def test_placed_family_is_covered_completely(op_type):
    declaration = placed_declaration(op_type)
    covered = coverage(declaration, covering_array(declaration))
    assert covered.missing == []
    assert covered.restrict_to_size(3).impossible == []
