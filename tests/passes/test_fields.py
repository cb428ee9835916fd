"""The table of fields is protobuf's, its cases set what they say, and to clear a field fails by what it is owed by."""

from __future__ import annotations

import onnx
import pytest
from repository import ROOT
from rewrites import task_of

from conformance.deviations.rewrites.fields import CLEARED
from conformance.generation.defined import defined_cases
from conformance.judging.checks import checks
from conformance.judging.optimizer import judge_rewrite
from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME
from conformance.passes.fields import FIELDS, GROUPS, LEVELS, NEWEST, OLDEST, Place, placed

INSTALLED = tuple(int(part) for part in onnx.__version__.split(".")[:2])
MESSAGES = sorted({field.message for field in FIELDS})
CASES = {case.id: case for _, case in defined_cases(["eliminate_nop_monotone_argmax"]) if "_fields_" in case.id}
OWED = [(field, place) for field in FIELDS for place in field.checks]


def set_in(case):
    """The fields that are set in a case's model, by message, name and place."""
    model = onnx.load_model_from_string(case.model)
    return {
        (type(message).__name__, descriptor.name, place)
        for place, message in placed(model)
        for descriptor, _ in message.ListFields()
    }


class TestTable:
    @pytest.mark.parametrize("message", MESSAGES)
    def test_the_fields_of_a_message_are_those_of_protobuf(self, message):
        rows = [field.name for field in FIELDS if field.message == message]
        declared = [field.name for field in getattr(onnx, message).DESCRIPTOR.fields]
        if INSTALLED > NEWEST:  # a later onnx may have more, of which nothing is known here
            declared = [name for name in declared if name in rows]
        assert sorted(rows) == sorted(declared)

    def test_it_is_of_the_versions_that_are_supported_and_pinned(self):
        assert f'"onnx>={OLDEST[0]}.{OLDEST[1]}"' in (ROOT / "pyproject.toml").read_text()
        assert f"onnx=={NEWEST[0]}.{NEWEST[1]}." in (ROOT / "conformance/backends/runtimes.toml").read_text()

    def test_what_is_not_owed_has_a_reason_and_what_is_owed_needs_none(self):
        assert [field for field in FIELDS if bool(field.checks) == bool(field.reason)] == []

    def test_the_levels_are_those_of_the_checks(self):
        known = {check.name: check.level for check in checks()}
        assert {name: known[name] for name in LEVELS} == LEVELS
        assert {check for field in FIELDS for check in field.checks.values()} <= LEVELS.keys()

    def test_a_message_without_a_case_of_its_own_is_set_in_that_of_another_row(self):
        assert {*GROUPS, *GROUPS.values()} <= {*MESSAGES}


class TestCases:
    def test_each_field_is_set_in_each_place_by_the_case_that_the_table_names(self):
        sets = {id: set_in(case) for id, case in CASES.items()}
        unset = [
            (field.message, field.name, place)
            for field, place in OWED
            if (field.message, field.name, place) not in sets[field.case(place)]
        ]
        assert unset == []

    def test_no_case_sets_nothing_of_the_table(self):
        assert {field.case(place) for field, place in OWED} == CASES.keys()


class TestFaults:
    def test_there_is_one_for_each_field_and_place(self):
        assert len(CLEARED) == len(OWED) > 150
        assert len({fault.id for fault in CLEARED}) == len(CLEARED)

    def test_to_clear_a_field_fails_by_the_check_that_it_is_owed_by(self):
        otherwise = {}
        for fault, (field, place) in zip(CLEARED, OWED, strict=True):
            outcome = judge_rewrite(fault.optimize, (PASS_NAME,), task_of(CASES[field.case(place)]))
            failed = {check["name"]: check["level"] for check in outcome.checks if "complaint" in check}
            if failed.get(field.checks[place]) != fault.level:
                otherwise[fault.id] = failed
        assert otherwise == {}


class TestPlaces:
    def test_a_message_stands_where_the_graph_stands_that_holds_it(self):
        model = onnx.load_model_from_string(CASES["test_argmax_pass_fields_node_function"].model)
        nodes = {(place, node.op_type) for place, node in placed(model) if isinstance(node, onnx.NodeProto)}
        assert {(Place.MAIN, "Body"), (Place.FUNCTION, "Concat")} <= nodes
        assert (Place.MAIN, "Concat") not in nodes

    def test_the_graphs_of_training_information_are_neither_main_nor_in_nodes(self):
        model = onnx.load_model_from_string(CASES["test_argmax_pass_fields_model"].model)
        assert {place for place, message in placed(model) if getattr(message, "name", "") == "algorithm"} == {
            Place.TRAINING
        }
