"""Cases of the pass: number of cases per family, and correctness of the expected rewrites and hazards."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest
from pass_cases import declared_answers, defined_pass_cases, produced_values, remove_values

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import CaseKind, PassEffect
from conformance.corpus.cases.corpus import MANIFEST
from conformance.corpus.passes.eliminate_nop_monotone_argmax import eliminate
from conformance.exact.reference.oracle import answers
from conformance.run.judging.optimizer_run import checker_error
from generators.declarations.family import coverage
from generators.eliminate_nop_monotone_argmax.covering_arrays import ARRAYS
from generators.eliminate_nop_monotone_argmax.hazard_cases import PRECISION, all_hazards
from generators.eliminate_nop_monotone_argmax.pass_scenario import PASS_OPERATORS

CASES = {case.id: case for case in defined_pass_cases()}
PASS_CASES = [case for case in CASES.values() if case.kind is CaseKind.PASS]
APPLYING = [case for case in PASS_CASES if case.rewrite.effect is PassEffect.APPLIES]
HAZARD_CASES = [case for case in PASS_CASES if case.hazards]
BACKEND_CASES = [case for case in CASES.values() if case.kind == "node" and "hazard" in case.tags]
RANGE_CASES = [case for case in CASES.values() if case.clauses[0] == "argmax.range"]

MIN_CASES = {
    "base": 120,
    "other_operators": 70,
    "axis": 40,
    "uses": 40,
    "chains": 25,
    "subgraphs": 35,
    "interface": 30,
    "domains": 20,
    "preservation": 25,
    "fields": 16,
    "contexts": 30,
    "functions": 12,
    "surroundings": 13,
    "types_and_shapes": 30,
    "hazards": 40,
    "combined": 60,
    "annotated": 18,
    "declared": 9,
    "sparse": 6,
    "defaults": 15,
    "read": 15,
    "equal_sizes": 10,
    "not_injective": 14,
    "two_axes": 6,
    "elsewhere": 6,
    "constant_axes": 18,
    "default_constant": 16,
    "permuted": 24,
    "reshaped": 12,
    "converted": 18,
    "exact_ties": 3,
    "named_functions": 12,
    "other_uses": 35,
    "two_indices": 10,
}
"""Minimum number of cases of each family."""


def family_of(case):
    return next(tag for tag in case.tags if tag in {*MIN_CASES, "invalid_models"})


class TestFamilies:
    def test_pass_has_at_least_300_cases(self):
        assert len(PASS_CASES) >= 300

    @pytest.mark.parametrize(("family", "minimum"), MIN_CASES.items())
    def test_family_has_enough_cases(self, family, minimum):
        assert Counter(map(family_of, PASS_CASES))[family] >= minimum

    def test_invalid_models_exist_for_graph_optimizers(self):
        assert len([case for case in CASES.values() if case.kind is CaseKind.INVALID and case.rewrite]) >= 12

    @pytest.mark.parametrize("effect", PassEffect)
    def test_pass_effect_has_at_least_10_cases(self, effect):
        assert sum(case.rewrite.effect is effect for case in PASS_CASES) >= 10

    @pytest.mark.parametrize("op_type", PASS_OPERATORS)
    def test_operator_has_applying_and_not_applying_cases(self, op_type):
        named = [case for case in PASS_CASES if op_type in case.title.split()]
        assert {case.rewrite.effect for case in named} >= {PassEffect.APPLIES, PassEffect.DOES_NOT_APPLY}

    def test_case_id_contains_the_family(self):
        named = [case for case in PASS_CASES if case.id.startswith("test_argmax_pass_")]
        assert [case.id for case in named if not case.id.startswith(f"test_argmax_pass_{family_of(case)}_")] == []

    def test_titles_are_distinct(self):
        titles = Counter(case.title for case in PASS_CASES if case.id.startswith("test_argmax_pass_"))
        assert [title for title, count in titles.items() if count > 1] == []


class TestStructure:
    def test_removed_values_exist_in_the_model(self):
        unknown = {
            case.id
            for case in PASS_CASES
            if not {*case.rewrite.fixed_point} <= set(produced_values(onnx.load_model_from_string(case.model).graph))
        }
        assert unknown == set()

    def test_fixed_point_differs_only_in_chains_and_subgraphs(self):
        longer = {family_of(case) for case in PASS_CASES if case.rewrite.once != case.rewrite.fixed_point}
        assert longer == {"chains", "elsewhere", "subgraphs"}

    def test_model_is_valid_before_and_after_the_pass(self):
        for case in PASS_CASES:
            for gone in ((), case.rewrite.once, case.rewrite.fixed_point):
                after = onnx.load_model_from_string(remove_values(case.model, gone))
                assert checker_error(after) is None, case.id

    def test_case_of_known_operators_without_data_sets_has_a_non_tensor_value(self):
        for case in (case for case in PASS_CASES if not case.data_sets and "list_of_graphs" not in case.id):
            graph = onnx.load_model_from_string(case.model).graph
            assert not all(value.type.HasField("tensor_type") for value in (*graph.input, *graph.output)), case.id


class TestAnswers:
    @pytest.mark.long
    def test_rewrite_keeps_results_without_hazard(self):
        changed = set()
        for case in APPLYING:
            for inputs, hazard in zip(case.data_sets, case.hazards or [None] * len(case.data_sets), strict=True):
                before = declared_answers(case.model, inputs)
                after = declared_answers(remove_values(case.model, case.rewrite.fixed_point), inputs)
                if hazard is None and before != after:
                    changed.add(case.id)
        assert changed == set()

    @pytest.mark.parametrize("case", HAZARD_CASES, ids=lambda case: case.id)
    def test_rewrite_changes_results_of_hazards(self, case):
        after = remove_values(case.model, case.rewrite.fixed_point or ("Y",))
        for inputs, hazard in zip(case.data_sets, case.hazards, strict=True):
            if hazard is not None:
                assert declared_answers(case.model, inputs) != declared_answers(after, inputs)


class TestHazards:
    def test_hazard_classes_all_have_cases(self):
        classes = {hazard for case in HAZARD_CASES for hazard in case.hazards if hazard}
        assert classes == {
            "exp_overflow",
            "exp_underflow",
            "rounding_tie",
            "log_negative",
            "sqrt_negative",
            "softmax_infinity",
            "softmax_nan",
            "coercion",
        }

    @pytest.mark.parametrize("op_type", PASS_OPERATORS)
    def test_operator_has_rounding_ties_in_each_type(self, op_type):
        types = {hazard.dtype for hazard in all_hazards() if (hazard.op_type, hazard.kind) == (op_type, "rounding_tie")}
        assert types == set(PRECISION)

    def test_first_data_set_is_not_a_hazard(self):
        assert all(case.hazards[0] is None for case in HAZARD_CASES)

    def test_backends_have_cases_for_unambiguous_hazards(self):
        drawn = [case for case in BACKEND_CASES if not case.id.endswith("_of_nonnegative")]
        assert len(drawn) == sum(hazard.shows_on_backends for hazard in all_hazards()) == len(BACKEND_CASES) - 1

    def test_should_case_accepts_a_single_index(self):
        for case in (case for case in BACKEND_CASES if case.level is Level.SHOULD):
            for inputs in case.data_sets:
                given = answers(case.model, inputs, case.level)
                assert all(answer.choices is None for answer in given), case.id

    def test_must_level_accepts_indices_before_and_after_the_rewrite(self):
        for case in HAZARD_CASES:
            after = remove_values(case.model, case.rewrite.fixed_point)
            for inputs in case.data_sets[1:]:
                (answer,) = answers(case.model, inputs, Level.MUST)
                for content in (case.model, after):
                    index = np.frombuffer(declared_answers(content, inputs)[0], dtype=np.int64)
                    held = answer.choices.reshape(index.size, -1)[np.arange(index.size), index]
                    assert held.all(), case.id

    def test_backend_cases_are_should_or_silent(self):
        levels = {case.level for case in BACKEND_CASES}
        assert levels == {Level.SHOULD, Level.SILENT}
        assert all(case.rewrite is None for case in BACKEND_CASES)

    def test_nan_hazards_have_must_cases_for_the_index_range(self):
        assert len(RANGE_CASES) == sum(hazard.has_nan for hazard in all_hazards())
        for case in RANGE_CASES:
            for inputs in case.data_sets:
                (answer,) = answers(case.model, inputs, case.level)
                assert case.level is Level.MUST, case.id
                assert answer.choices.all(), case.id


class TestCommitted:
    def test_pass_cases_are_small(self, whole_corpus):
        files = [file for file in (whole_corpus.path / CaseKind.PASS).rglob("*") if file.is_file()]
        assert len(files) > len(PASS_CASES)
        assert sum(file.stat().st_size for file in files) < 8_000_000

    def test_pass_cases_are_all_committed(self, whole_corpus):
        assert (whole_corpus.path / MANIFEST).is_file()
        assert CASES.keys() <= whole_corpus.cases.keys()


class TestOwnImplementation:
    """The suite's own implementation of the pass agrees with the cases."""

    def test_own_pass_removes_the_expected_values(self):
        eliminate = pytest.importorskip(
            "conformance.corpus.passes.eliminate_nop_monotone_argmax", reason="the pass is not implemented here"
        )
        differences = {}
        for case in PASS_CASES:
            before = set(produced_values(onnx.load_model_from_string(case.model).graph))
            for fixed_point, gone in ((False, case.rewrite.once), (True, case.rewrite.fixed_point)):
                after = eliminate.eliminate(onnx.load_model_from_string(case.model), fixed_point=fixed_point)
                removed = before - set(produced_values(after.graph))
                if removed != set(gone) and not (case.rewrite.effect is PassEffect.OPTIONAL and not removed):
                    differences[case.id, fixed_point] = removed
        assert differences == {}


@pytest.mark.parametrize(
    ("family", "declaration"),
    [(name, rows.declaration) for arrays in ARRAYS.values() for name, rows in arrays.items()],
)
def test_family_covers_every_pair_of_levels(family, declaration):
    tags = [case.tags for case in PASS_CASES if family in case.tags]
    rows = [dict(tag.split("=", 1) for tag in each if "=" in tag) for each in tags]
    assert not coverage(declaration, rows).missing


def test_expected_removals_of_combined_cases_are_those_of_the_pass():
    for case in (case for case in PASS_CASES if {"combined", "annotated"} & {*case.tags}):
        removed = eliminate.rewritten(onnx.load_model_from_string(case.model), fixed_point=True)[1]
        assert {*removed} == {*case.rewrite.fixed_point}, case.id
