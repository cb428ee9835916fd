"""The table of fields agrees with protobuf, cases set their fields, and a cleared field violates its check."""

from __future__ import annotations

import onnx
import pytest
from pass_cases import defined_pass_cases, optimizer_task
from repository import ROOT

from conformance.judging.optimizer import judge_rewrite
from conformance.judging.optimizer_checks import CHECKS
from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME
from conformance.passes.fields import (
    CASE_MESSAGES,
    FIELDS,
    MessageScope,
    iter_messages,
)
from mutation.pass_mutants.damage import CHECK_LEVELS, CLEARED

OLDEST_ONNX, NEWEST_ONNX = (1, 21), (1, 23)
"""Range of onnx versions whose messages have exactly the fields in `FIELDS`."""

INSTALLED = tuple(int(part) for part in onnx.__version__.split(".")[:2])
MESSAGES = sorted({field.message for field in FIELDS})
CASES = {case.id: case for case in defined_pass_cases() if "_fields_" in case.id}
OWED = [(field, place) for field in FIELDS for place in field.checks]


def set_in(case):
    """Return the fields that are set in a case's model, by message, name and place."""
    model = onnx.load_model_from_string(case.model)
    return {
        (type(message).__name__, descriptor.name, place)
        for place, message in iter_messages(model)
        for descriptor, _ in message.ListFields()
    }


class TestTable:
    @pytest.mark.parametrize("message", MESSAGES)
    def test_table_has_the_fields_of_protobuf(self, message):
        rows = [field.name for field in FIELDS if field.message == message]
        declared = [field.name for field in getattr(onnx, message).DESCRIPTOR.fields]
        if INSTALLED > NEWEST_ONNX:  # a later onnx may have more, of which nothing is known here
            declared = [name for name in declared if name in rows]
        assert sorted(rows) == sorted(declared)

    def test_table_covers_supported_and_pinned_versions(self):
        assert f'"onnx>={OLDEST_ONNX[0]}.{OLDEST_ONNX[1]}"' in (ROOT / "pyproject.toml").read_text()
        assert f"onnx=={NEWEST_ONNX[0]}.{NEWEST_ONNX[1]}." in (ROOT / "conformance/adapters/runtimes.toml").read_text()

    def test_field_has_either_checks_or_a_reason(self):
        assert [field for field in FIELDS if bool(field.checks) == bool(field.reason)] == []

    def test_check_levels_equal_those_of_the_checks(self):
        known = {check.name: check.level for check in CHECKS}
        assert {name: known[name] for name in CHECK_LEVELS} == CHECK_LEVELS
        assert {check for field in FIELDS for check in field.checks.values()} <= CHECK_LEVELS.keys()

    def test_message_without_case_names_a_message_with_case(self):
        assert {*CASE_MESSAGES, *CASE_MESSAGES.values()} <= {*MESSAGES}


class TestCases:
    def test_named_case_sets_the_field_in_its_scope(self):
        sets = {id: set_in(case) for id, case in CASES.items()}
        unset = [
            (field.message, field.name, place)
            for field, place in OWED
            if (field.message, field.name, place) not in sets[field.case_id(place)]
        ]
        assert unset == []

    def test_field_cases_set_their_field(self):
        assert {field.case_id(place) for field, place in OWED} == CASES.keys()


class TestFaults:
    def test_mutant_exists_for_each_field_and_scope(self):
        assert len(CLEARED) == len(OWED) > 150
        assert len({fault.id for fault in CLEARED}) == len(CLEARED)

    def test_clearing_a_field_violates_its_check(self):
        otherwise = {}
        for fault, (field, place) in zip(CLEARED, OWED, strict=True):
            outcome = judge_rewrite(fault.optimize, (PASS_NAME,), optimizer_task(CASES[field.case_id(place)]))
            failed = {check.name: check.level for check in outcome.checks if check.violation is not None}
            if failed.get(field.checks[place]) != fault.level:
                otherwise[fault.id] = failed
        assert otherwise == {}


class TestScopes:
    def test_message_has_the_scope_of_its_graph(self):
        model = onnx.load_model_from_string(CASES["test_argmax_pass_fields_node_function"].model)
        nodes = {(place, node.op_type) for place, node in iter_messages(model) if isinstance(node, onnx.NodeProto)}
        assert {(MessageScope.MAIN, "Body"), (MessageScope.FUNCTION, "Concat")} <= nodes
        assert (MessageScope.MAIN, "Concat") not in nodes

    def test_training_graphs_have_their_own_scope(self):
        model = onnx.load_model_from_string(CASES["test_argmax_pass_fields_model"].model)
        assert {place for place, message in iter_messages(model) if getattr(message, "name", "") == "algorithm"} == {
            MessageScope.TRAINING
        }
