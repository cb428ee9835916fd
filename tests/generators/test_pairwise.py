"""The family `pairwise` covers every coverable pair, and no optimizer case is redundant."""

from __future__ import annotations

import dataclasses
from itertools import combinations, product

import numpy as np
import pytest
from covered_combinations import covered_pairs
from redundant_cases import MATRICES, case_combinations, redundant_case_ids

from checks.mutation.operators import ONNX_CASES
from conformance.base.verdicts import Level
from conformance.corpus.generation.expected_outputs import case_files
from conformance.exact.reference.oracle import answers
from conformance.run.mutants import FAMILIES
from generators import adam
from generators.training_optimizers.table import GENERATORS

ALL_FAMILIES = list(MATRICES.values())


def operator_name(family):
    return family.operator.name


def row_of(case):
    return dict(tag.split("=", 1) for tag in case.tags if "=" in tag)


@pytest.mark.parametrize("family", ALL_FAMILIES, ids=operator_name)
class TestFamily:
    def test_pairwise_family_covers_all_allowed_pairs(self, family):
        declaration = family.declaration
        items = [[(factor, value) for value in values] for factor, values in declaration.factors.items()]
        pairs = [pair for one, other in combinations(items, 2) for pair in product(one, other)]
        covered = covered_pairs(declaration, map(row_of, family.cases()))
        missing = [dict(pair) for pair in pairs if frozenset(pair) not in covered]
        assert all(any(combination.is_in(pair) for combination in declaration.forbidden) for pair in missing), missing

    def test_pairwise_family_has_no_forbidden_combination(self, family):
        rows = [row_of(case) for case in family.cases()]
        assert not any(map(family.declaration.is_forbidden, rows))

    def test_number_of_rows_is_limited(self, family):
        assert 40 <= len(family.rows) <= 60

    def test_cases_are_must_and_deterministic(self, family):
        first, second = list(family.cases()), list(family.cases())
        assert {case.level for case in first} == {Level.MUST}
        assert [(case.id, case.title, case.tags, case.model) for case in first] == [
            (case.id, case.title, case.tags, case.model) for case in second
        ]
        assert case_files(first[0], "family") == case_files(second[0], "family")

    def test_titles_are_distinct(self, family):
        titles = [case.title for case in family.cases()]
        assert len(set(titles)) == len(titles)

    def test_t_decreases_between_data_sets(self, family):
        case = next(one for one in family.cases() if {"data_sets=three", "T=1"} <= set(one.tags))
        assert [int(inputs[1]) for inputs in case.data_sets] == [1, 0, 1]
        assert len({float(inputs[0]) for inputs in case.data_sets}) == 3

    def test_update_of_x_is_measurable(self, family):
        """A wrong update would be invisible if X_new equalled X up to rounding."""
        for case, row in zip(family.cases(), family.rows, strict=True):
            inputs = case.data_sets[0]
            if family.declaration.masking_factors(row):
                continue
            expected = _expected(case, inputs)
            with np.errstate(all="ignore"):
                moves = np.abs(expected - inputs[2]) / (np.abs(expected) + np.abs(inputs[2]))
            assert np.nanmax(moves, initial=0) > 2.0**-12, case.id


def _expected(case, inputs):
    return answers(case.model, inputs, case.level)[0].expected


@pytest.fixture(scope="module")
def first_killers(mutation_score):
    results = (result for family in FAMILIES[:3] for result in mutation_score.results[family])
    return {result.detection.case for result in results if result.detection}


class TestRedundancy:
    @pytest.mark.whole
    @pytest.mark.long
    def test_optimizer_cases_have_no_redundant_case(self, first_killers, defined):
        optimizer_cases = [
            case
            for generator, case in defined.values()
            if generator in GENERATORS
            and not {"size", "preparation", "exact_scalars"} & {*case.tags}  # these vary other properties
        ]
        assert redundant_case_ids(optimizer_cases, first_killers) == []

    def test_duplicate_case_is_redundant(self, case_named):
        case = case_named("test_adam_t_2p40_double")
        example = case_named(ONNX_CASES[0])
        assert redundant_case_ids([case, _again(case)], set()) == [case.id]
        assert redundant_case_ids([case, _again(case)], {case.id}) == [f"{case.id}_again"]
        assert redundant_case_ids([example, _again(example)], set()) == [f"{example.id}_again"]
        assert redundant_case_ids([case, example], set()) == []

    def test_masked_pairs_are_not_covered(self):
        case = next(case for case in adam.MATRIX.cases() if "norm_coefficient_post=one" in case.tags)
        pairs = [one for one in case_combinations(case) if one[0] == "Adam"]
        assert pairs
        assert all(("norm_coefficient_post", "one") in pair for pair in pairs)


def _again(case):
    return dataclasses.replace(case, id=f"{case.id}_again")
