"""The pairwise family covers every pair that can be covered, and no optimizer case is there for nothing."""

from __future__ import annotations

import dataclasses
from itertools import combinations, product

import numpy as np
import pytest
from combinations_shown import shown_by
from redundancy import MATRICES, combinations_of, superfluous

from conformance.deviations import FAMILIES
from conformance.generation.case_files import files_of
from conformance.reference.oracle import answers
from conformance.strength.operators import UPSTREAM
from conformance.verdicts import Level
from generators import adam
from generators.training_optimizers.table import GENERATORS

EVERY = list(MATRICES.values())


def operator_of(matrix):
    return matrix.operator.name


def row_of(case):
    return dict(tag.split("=", 1) for tag in case.tags if "=" in tag)


@pytest.mark.parametrize("matrix", EVERY, ids=operator_of)
class TestFamily:
    def test_every_pair_that_is_not_excluded_is_covered(self, matrix):
        declaration = matrix.declaration
        items = [[(factor, value) for value in values] for factor, values in declaration.factors.items()]
        pairs = [pair for one, other in combinations(items, 2) for pair in product(one, other)]
        covered = shown_by(declaration, map(row_of, matrix.cases()))
        missing = [dict(pair) for pair in pairs if frozenset(pair) not in covered]
        assert all(any(meeting.is_in(pair) for meeting in declaration.excluded) for pair in missing), missing

    def test_no_case_has_what_is_excluded(self, matrix):
        rows = [row_of(case) for case in matrix.cases()]
        assert not any(map(matrix.declaration.is_excluded, rows))

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
            if matrix.declaration.hiding_factors(row):
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
    @pytest.mark.whole
    def test_every_case_covers_a_combination_of_its_own_or_kills_first(self, first_killers, defined):
        of_optimizers = [
            case
            for generator, case in defined.values()
            if generator in GENERATORS and not {"size", "preparation"} & {*case.tags}  # dimensions of their own
        ]
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
