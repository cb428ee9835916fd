"""The cases of the pass: every family is there, and each says of its own model what is true of it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest
from rewrites import declared_answers, produced, without

from conformance.corpus.case import CaseKind, Firing
from conformance.corpus.corpus import MANIFEST
from conformance.generation.defined import defined_cases
from conformance.judging.rewriting import refusal
from conformance.reference.oracle import answers
from conformance.verdicts import Level
from generators.eliminate_nop_monotone_argmax.hazards import PRECISION, hazards
from generators.eliminate_nop_monotone_argmax.scenario import FIVE

CASES = {case.id: case for _, case in defined_cases(["eliminate_nop_monotone_argmax"])}
OF_THE_PASS = [case for case in CASES.values() if case.kind is CaseKind.PASS]
FIRING = [case for case in OF_THE_PASS if case.rewrite.answer is Firing.FIRES]
NOT_STAYING = [case for case in OF_THE_PASS if case.rewrite.answer is not Firing.STAYS]
HAZARDOUS = [case for case in OF_THE_PASS if case.hazards]
BACKENDS = [case for case in CASES.values() if case.kind == "node" and "hazard" in case.tags]
IN_RANGE = [case for case in CASES.values() if case.clauses[0] == "argmax.range"]

FEWEST = {
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
}
"""How many scenarios each family has at least."""


def family_of(case):
    return next(tag for tag in case.tags if tag in {*FEWEST, "invalid_models"})


class TestFamilies:
    def test_there_are_at_least_300_scenarios(self):
        assert len(OF_THE_PASS) >= 300

    @pytest.mark.parametrize(("family", "fewest"), FEWEST.items())
    def test_each_has_its_scenarios(self, family, fewest):
        assert Counter(map(family_of, OF_THE_PASS))[family] >= fewest

    def test_invalid_models_are_cases_of_a_graph_optimizer_too(self):
        assert len([case for case in CASES.values() if case.kind is CaseKind.INVALID and case.rewrite]) >= 12

    @pytest.mark.parametrize("answer", Firing)
    def test_every_answer_is_asked_for(self, answer):
        assert sum(case.rewrite.answer is answer for case in OF_THE_PASS) >= 10

    @pytest.mark.parametrize("op_type", FIVE)
    def test_each_operator_is_taken_away_and_stays(self, op_type):
        named = [case for case in OF_THE_PASS if op_type in case.title.split()]
        assert {case.rewrite.answer for case in named} >= {Firing.FIRES, Firing.STAYS}

    def test_each_id_of_the_pass_names_its_family(self):
        named = [case for case in OF_THE_PASS if case.id.startswith("test_argmax_pass_")]
        assert [case.id for case in named if not case.id.startswith(f"test_argmax_pass_{family_of(case)}_")] == []

    def test_no_two_have_one_title(self):
        titles = Counter(case.title for case in OF_THE_PASS if case.id.startswith("test_argmax_pass_"))
        assert [title for title, count in titles.items() if count > 1] == []


class TestStructure:
    def test_what_is_gone_was_there(self):
        strays = {
            case.id
            for case in OF_THE_PASS
            if not {*case.rewrite.fixed_point} <= set(produced(onnx.load_model_from_string(case.model).graph))
        }
        assert strays == set()

    def test_only_a_row_of_operators_needs_more_than_one_run(self):
        longer = {family_of(case) for case in OF_THE_PASS if case.rewrite.once != case.rewrite.fixed_point}
        assert longer == {"chains", "subgraphs"}

    def test_a_model_is_valid_before_and_after_the_pass(self):
        for case in OF_THE_PASS:
            for gone in ((), case.rewrite.once, case.rewrite.fixed_point):
                after = onnx.load_model_from_string(without(case.model, gone))
                assert refusal(after) is None, case.id

    def test_a_model_without_data_sets_has_an_input_or_output_that_is_no_tensor(self):
        for case in (case for case in OF_THE_PASS if not case.data_sets):
            graph = onnx.load_model_from_string(case.model).graph
            assert not all(value.type.HasField("tensor_type") for value in (*graph.input, *graph.output)), case.id


class TestAnswers:
    def test_the_rewrite_keeps_the_answer_of_every_data_set_that_is_no_hazard(self):
        changed = set()
        for case in FIRING:
            for inputs, hazard in zip(case.data_sets, case.hazards or [None] * len(case.data_sets), strict=True):
                before = declared_answers(case.model, inputs)
                after = declared_answers(without(case.model, case.rewrite.fixed_point), inputs)
                if hazard is None and before != after:
                    changed.add(case.id)
        assert changed == set()

    @pytest.mark.parametrize("case", HAZARDOUS, ids=lambda case: case.id)
    def test_the_rewrite_changes_the_answer_of_every_hazard(self, case):
        after = without(case.model, case.rewrite.fixed_point)
        for inputs, hazard in zip(case.data_sets, case.hazards, strict=True):
            if hazard is not None:
                assert declared_answers(case.model, inputs) != declared_answers(after, inputs)


class TestHazards:
    def test_each_class_is_there(self):
        classes = {hazard for case in HAZARDOUS for hazard in case.hazards if hazard}
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

    @pytest.mark.parametrize("op_type", FIVE)
    def test_each_operator_ties_in_each_type(self, op_type):
        types = {hazard.dtype for hazard in hazards() if (hazard.op_type, hazard.kind) == (op_type, "rounding_tie")}
        assert types == set(PRECISION)

    def test_each_begins_with_a_data_set_that_is_none(self):
        assert all(case.hazards[0] is None for case in HAZARDOUS)

    def test_backends_have_a_case_for_each_that_leaves_them_no_choice(self):
        assert len(BACKENDS) == sum(hazard.shows_on_backends for hazard in hazards())

    def test_at_should_one_index_is_acceptable(self):
        for case in (case for case in BACKENDS if case.level is Level.SHOULD):
            for inputs in case.data_sets:
                (answer,) = answers(case.model, inputs, case.level)
                assert answer.choices is None, case.id

    def test_at_must_every_index_of_a_hazard_is_acceptable_that_the_rewrite_gives_or_it_replaces(self):
        for case in HAZARDOUS:
            after = without(case.model, case.rewrite.fixed_point)
            for inputs in case.data_sets[1:]:
                (answer,) = answers(case.model, inputs, Level.MUST)
                for content in (case.model, after):
                    index = np.frombuffer(declared_answers(content, inputs)[0], dtype=np.int64)
                    held = answer.choices.reshape(index.size, -1)[np.arange(index.size), index]
                    assert held.all(), case.id

    def test_backends_are_held_to_them_at_should_unless_a_nan_takes_part(self):
        levels = {case.level for case in BACKENDS}
        assert levels == {Level.SHOULD, Level.SILENT}
        assert all(case.rewrite is None for case in BACKENDS)

    def test_where_a_nan_takes_part_backends_are_held_to_an_index_of_an_element_at_must(self):
        assert len(IN_RANGE) == sum(hazard.has_nan for hazard in hazards())
        for case in IN_RANGE:
            for inputs in case.data_sets:
                (answer,) = answers(case.model, inputs, case.level)
                assert case.level is Level.MUST, case.id
                assert answer.choices.all(), case.id


class TestCommitted:
    def test_the_pass_s_part_of_the_corpus_is_small(self, whole_corpus):
        files = [file for file in (whole_corpus.path / CaseKind.PASS).rglob("*") if file.is_file()]
        assert len(files) > len(OF_THE_PASS)
        assert sum(file.stat().st_size for file in files) < 8_000_000

    def test_every_case_is_in_it(self, whole_corpus):
        assert (whole_corpus.path / MANIFEST).is_file()
        assert CASES.keys() <= whole_corpus.cases.keys()


class TestOwnImplementation:
    """The suite's implementation of the pass does what the cases say of it."""

    def test_it_takes_away_what_the_cases_say(self):
        eliminate = pytest.importorskip(
            "conformance.passes.eliminate_nop_monotone_argmax", reason="the pass is not implemented here"
        )
        otherwise = {}
        for case in OF_THE_PASS:
            before = set(produced(onnx.load_model_from_string(case.model).graph))
            for fixed_point, gone in ((False, case.rewrite.once), (True, case.rewrite.fixed_point)):
                after = eliminate.eliminate(onnx.load_model_from_string(case.model), fixed_point=fixed_point)
                taken = before - set(produced(after.graph))
                if taken != set(gone) and not (case.rewrite.answer is Firing.MAY and not taken):
                    otherwise[case.id, fixed_point] = taken
        assert otherwise == {}
