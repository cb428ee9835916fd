"""The pairwise family covers every pair that can be covered, and no optimizer case is there for nothing."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from itertools import combinations, product

import numpy as np
import pytest
from redundancy import MATRICES, combinations_of, superfluous
from repository import ROOT

from conformance.deviations import FAMILIES
from conformance.generation.case_files import files_of
from conformance.reference.oracle import answers
from conformance.strength.operators import UPSTREAM
from conformance.verdicts import Level
from generators import adagrad, adam
from generators.training_optimizers.pairwise import Table
from generators.training_optimizers.table import GENERATORS

EVERY = list(MATRICES.values())

SMALL = Table(
    {"a": ("1", "2", "3"), "b": ("1", "2"), "c": ("1", "2", "3"), "d": ("1", "2")},
    excluded=({"a": ("1",), "b": ("2",)}, {"b": ("1",), "c": ("3",), "d": ("2",)}),
    hiding=({"d": ("2",)}, {"a": ("2",), "c": ("2", "3")}),
)


def operator_of(matrix):
    return matrix.operator.name


def row_of(case):
    return dict(tag.split("=", 1) for tag in case.tags if "=" in tag)


def has(row, values):
    return all(row.get(factor) in allowed for factor, allowed in values.items())


def shown_by(table, rows):
    """The pairs that some rows show, by the rule as `Table` states it and not as it computes it."""
    return {
        frozenset(pair)
        for row in rows
        for pair in combinations(row.items(), 2)
        if all(set(values) <= set(dict(pair)) for values in table.hiding if has(row, values))
    }


def admissible(table):
    """All rows that a small table allows."""
    rows = (dict(zip(table.factors, values, strict=True)) for values in product(*table.factors.values()))
    return [row for row in rows if not any(has(row, values) for values in table.excluded)]


class TestPairwise:
    def test_rows_show_all_that_any_row_could_show(self):
        rows = SMALL.rows()
        assert shown_by(SMALL, rows) == shown_by(SMALL, admissible(SMALL))
        assert {frozenset(pair) for pair in SMALL.wanted()} == shown_by(SMALL, rows)

    def test_rows_are_admissible(self):
        assert all(row in admissible(SMALL) for row in SMALL.rows())

    def test_rows_are_few(self):
        table = Table(dict.fromkeys("abcd", ("1", "2", "3")))
        assert 9 <= len(table.rows()) <= 12, "nine is the least, of 81"

    def test_every_row_shows_what_no_other_does(self):
        rows = SMALL.rows()
        for row in rows:
            assert shown_by(SMALL, [other for other in rows if other is not row]) < shown_by(SMALL, rows)

    def test_a_value_that_hides_what_others_do_covers_only_its_own_pairs(self):
        pairs = SMALL.shown({"a": "1", "b": "1", "c": "1", "d": "2"})
        assert [one[0] + other[0] for one, other in pairs] == ["ad", "bd", "cd"]
        assert SMALL.shown({"a": "2", "b": "1", "c": "2", "d": "1"}) == [(("a", "2"), ("c", "2"))]
        assert SMALL.shown({"a": "2", "b": "1", "c": "2", "d": "2"}) == []

    def test_rows_do_not_depend_on_the_hash_seed(self):
        program = "from generators.adagrad import MATRIX; print(MATRIX.rows)"
        said = {
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
        assert said == {f"{adagrad.MATRIX.rows}\n"}


@pytest.mark.parametrize("matrix", EVERY, ids=operator_of)
class TestFamily:
    def test_every_pair_that_is_not_excluded_is_covered(self, matrix):
        table = matrix.table
        items = [[(factor, value) for value in values] for factor, values in table.factors.items()]
        pairs = [pair for one, other in combinations(items, 2) for pair in product(one, other)]
        covered = shown_by(table, map(row_of, matrix.cases()))
        missing = [dict(pair) for pair in pairs if frozenset(pair) not in covered]
        assert all(any(has(pair, values) for values in table.excluded) for pair in missing), missing

    def test_no_case_has_what_is_excluded(self, matrix):
        rows = [row_of(case) for case in matrix.cases()]
        assert not any(has(row, values) for row in rows for values in matrix.table.excluded)

    def test_there_are_as_many_as_were_expected(self, matrix):
        assert 40 <= len(matrix.rows) <= 60

    def test_cases_are_must_and_the_same_every_time(self, matrix):
        first, second = list(matrix.cases()), list(matrix.cases())
        assert {case.level for case in first} == {Level.MUST}
        assert [(case.id, case.title, case.tags, case.model) for case in first] == [
            (case.id, case.title, case.tags, case.model) for case in second
        ]
        assert files_of(first[0], "matrix") == files_of(second[0], "matrix")

    def test_titles_tell_cases_apart(self, matrix):
        titles = [case.title for case in matrix.cases()]
        assert len(set(titles)) == len(titles)

    def test_a_prepared_model_sees_t_go_back(self, matrix):
        case = next(one for one in matrix.cases() if {"data_sets=three", "T=1"} <= set(one.tags))
        assert [int(inputs[1]) for inputs in case.data_sets] == [1, 0, 1]
        assert len({float(inputs[0]) for inputs in case.data_sets}) == 3

    def test_steps_show_in_x(self, matrix):
        """A wrong step could not show where X_new is X but for rounding."""
        for case, row in zip(matrix.cases(), matrix.rows, strict=True):
            inputs = case.data_sets[0]
            if any(has(row, values) for values in matrix.table.hiding):
                continue
            expected = _expected(case, inputs)
            with np.errstate(all="ignore"):
                moves = np.abs(expected - inputs[2]) / (np.abs(expected) + np.abs(inputs[2]))
            assert np.nanmax(moves, initial=0) > 2.0**-12, case.id


def _expected(case, inputs):
    return answers(case.model, inputs, case.level)[0].expected


@pytest.fixture(scope="module")
def first_killers(strength):
    standings = (standing for family in FAMILIES[:3] for standing in strength.standings[family])
    return {standing.noticed.case for standing in standings if standing.noticed}


class TestRedundancy:
    def test_every_case_covers_a_combination_of_its_own_or_kills_first(self, first_killers, defined):
        of_optimizers = [case for generator, case in defined.values() if generator in GENERATORS]
        assert superfluous(of_optimizers, first_killers) == []

    def test_a_case_twice_is_superfluous_unless_it_kills_first_or_is_upstream(self, case_named):
        case = case_named("test_adam_t_2p40_double")
        example = case_named(UPSTREAM[0])
        assert superfluous([case, _again(case)], set()) == [case.id]
        assert superfluous([case, _again(case)], {case.id}) == [f"{case.id}_again"]
        assert superfluous([example, _again(example)], set()) == [f"{example.id}_again"]
        assert superfluous([case, example], set()) == []

    def test_what_is_hidden_is_not_covered(self):
        case = next(case for case in adam.MATRIX.cases() if "norm_coefficient_post=one" in case.tags)
        pairs = [one for one in combinations_of(case) if one[0] == "Adam"]
        assert pairs
        assert all(("norm_coefficient_post", "one") in pair for pair in pairs)


def _again(case):
    return dataclasses.replace(case, id=f"{case.id}_again")
