"""The pass: its complexity, the fields that it keeps, and random graphs."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from hypothesis import Phase, assume, given, reject, settings
from instruction_count import count_instructions
from large_models import chain, doubling, pairs
from onnx import TensorProto, helper
from pass_cases import defined_pass_cases, optimizer_task
from random_graphs import models
from repository import ROOT

from checks.mutation.pass_mutants import pass_mutants
from checks.mutation.pass_mutants.damage import CHECK_LEVELS, CLEARED
from checks.mutation.pass_mutants.fields import FIELDS
from conformance.base.verdicts import Unsupported
from conformance.corpus.factors.message_fields import CASE_MESSAGES, MessageScope, iter_messages
from conformance.corpus.passes.analysis import analyse_argmaxes
from conformance.corpus.passes.eliminate_nop_monotone_argmax import ALONG_AXIS, ELEMENTWISE, PASS_NAME, eliminate
from conformance.corpus.passes.expected_models import remove_producers
from conformance.corpus.passes.hazards import hazards
from conformance.exact.models.arrays import dtype_of
from conformance.exact.models.comparison import canonical_form
from conformance.exact.models.graphs import all_nodes
from conformance.exact.reference.oracle import evaluate
from conformance.run.judging.optimizer import judge_rewrite
from conformance.run.judging.optimizer_checks import CHECKS
from conformance.run.judging.optimizer_run import checker_error, equal_outputs

# The pass and the survey take steps in proportion to a model's nodes, however these are joined.


FEW, MANY = 60, 240
SLACK = 1.15
"""Room for what takes a few steps more in longer lists: a search by halves."""


@pytest.mark.parametrize("models", [pairs, chain])
@pytest.mark.parametrize(
    "work", [analyse_argmaxes, lambda model: eliminate(model, fixed_point=True)], ids=["survey", "pass"]
)
def test_steps_are_proportional_to_nodes(models, work):
    few, many = (count_instructions(lambda: work(model)) for model in (models(FEW), models(MANY)))  # noqa: B023 - called at once
    assert many < MANY / FEW * SLACK * few


@pytest.mark.parametrize("models", [pairs, chain])
def test_long_chain_is_removed_completely(models):
    after = eliminate(models(FEW), fixed_point=True)
    assert {node.op_type for node in after.graph.node} == {"ArgMax"}
    assert {node.input[0] for node in after.graph.node} == {"X"}
    assert not after.graph.value_info


def test_analysis_of_exponential_calls_has_no_types():
    (site,) = analyse_argmaxes(doubling(40))
    assert [(removal.op_type, removal.type) for removal in site.removals] == [("Exp", "unknown type")]


# The table of fields agrees with protobuf, cases set their fields, and a cleared field violates its check.


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
        assert (
            f"onnx=={NEWEST_ONNX[0]}.{NEWEST_ONNX[1]}."
            in (ROOT / "conformance/subjects/adapters/runtimes.toml").read_text()
        )

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


# The suite's own pass on random valid models: the model stays valid and answers the same, and a fixed point is one.


@given(models())
def test_generated_models_are_valid(model):
    assert checker_error(model) is None


@given(models())
def test_rewritten_models_are_valid(model):
    assert checker_error(eliminate(model, fixed_point=True)) is None


@given(models())
def test_fixed_point_is_stable(model):
    assert eliminate.rewritten(eliminate(model, fixed_point=True))[1] == []


@given(models())
def test_returned_values_are_those_without_producers(model):
    after, gone = eliminate.rewritten(model, fixed_point=True)
    assert remove_producers(model, gone) == after


@given(models())
def test_answers_are_equal_for_exact_operators(model):
    operators = [node.op_type for node in all_nodes(model) if node.op_type in ("Log", "Sqrt", "Neg", "LogSoftmax")]
    assume(len(operators) < 2 or not {"Log", "Sqrt"} & {*operators})  # a Log of a negative number is a NaN
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    dtype = dtype_of(model.graph.input[0].type.tensor_type.elem_type)
    X = np.linspace(0.5, 0.75, int(np.prod(shape))).reshape(shape).astype(dtype)
    try:
        before, after = (evaluate(one, [X, np.array(True)]) for one in (model, eliminate(model)))
    except Unsupported:  # Hardmax of a NaN
        reject()
    if not any(array.dtype.kind == "f" and not np.isfinite(array).all() for array in before):
        assert all(equal_outputs(*pair) for pair in zip(before, after, strict=True))


@pytest.mark.parametrize("id", ["any_axis", "ignores_captures", "removes_relu"])
def test_random_graphs_detect_pass_mutants(id):
    fault = next(one for faults in pass_mutants().values() for one in faults if one.id == id)

    @settings(max_examples=200, database=None, phases=[Phase.generate])
    @given(models())
    def compare(model):
        if canonical_form(fault.optimize(model)) != canonical_form(eliminate(model)):
            raise DetectedError

    with pytest.raises(DetectedError):
        compare()


class DetectedError(Exception):
    """A random model shows a fault, and no further models are needed."""


# Hazard classes, and the verb `hazards`, which lists the classes that apply to a model.


def model_of(*nodes, outputs=("index",), opset=13):
    graph = helper.make_graph(
        list(nodes),
        "g",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["N", 3])],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)])


def node(op_type, source, target, **attributes):
    return helper.make_node(op_type, [source], [target], **attributes)


def argmax(source, target="index", **attributes):
    return node("ArgMax", source, target, **attributes)


CHAIN = (node("Exp", "X", "E"), node("Log", "E", "L"), argmax("L", axis=1))


class TestClasses:
    @pytest.mark.parametrize("op_type", sorted(ELEMENTWISE | ALONG_AXIS))
    def test_pass_operators_all_have_a_hazard(self, op_type):
        assert any(hazard.affects(op_type, 13) for hazard in hazards().values())

    def test_coercion_affects_opsets_below_13(self):
        assert [hazards()["coercion"].affects("Softmax", opset) for opset in (11, 12, 13)] == [True, True, False]

    @pytest.mark.parametrize("hazard", hazards().values(), ids=list(hazards()))
    def test_examples_change_the_index(self, hazard):
        assert hazard.examples
        assert all(one.before != one.after and one.operator in hazard.operators for one in hazard.examples)

    @pytest.mark.parametrize("op_type", ["Exp", "Sqrt"])
    def test_examples_agree_with_float_arithmetic(self, op_type):
        compute = {"Exp": np.exp, "Sqrt": np.sqrt}[op_type]
        examples = [one for hazard in hazards().values() for one in hazard.examples if one.operator == op_type]
        for one in [one for one in examples if not one.on]:
            X = np.array(json.loads(one.input), dtype=np.float32)
            with np.errstate(all="ignore"):
                wide = compute(X.astype(np.float64)).astype(np.float32)
            if not np.isnan(wide).any():
                assert (int(wide.argmax()), int(X.argmax())) == (one.before, one.after)

    def test_runtime_specific_example_is_not_exact_rounding(self):
        for one in hazards()["not_monotone"].examples:
            X = np.array(json.loads(one.input), dtype=np.float32)
            right = {"Exp": np.exp, "Log": np.log}[one.operator](X.astype(np.float64)).astype(np.float32)
            assert one.on
            assert int(right.argmax()) == int(X.argmax()) == one.after


class TestAnalysis:
    def test_analysis_lists_a_whole_chain(self):
        (found,) = analyse_argmaxes(model_of(*CHAIN))
        assert [(one.op_type, one.value, one.type) for one in found.removals] == [
            ("Log", "L", "float"),
            ("Exp", "E", "float"),
        ]
        assert found.reason_for_stop.endswith(" X")

    def test_analysis_lists_hazards_of_each_removal(self):
        (found,) = analyse_argmaxes(model_of(node("Softmax", "X", "Y", axis=1), argmax("Y", axis=1), opset=11))
        (removal,) = found.removals
        assert removal.hazards == ("rounding_tie", "softmax_infinity", "softmax_nan", "coercion")

    def test_analysis_does_not_change_the_model(self):
        model = model_of(*CHAIN)
        before = model.SerializeToString()
        analyse_argmaxes(model)
        assert model.SerializeToString() == before

    @pytest.mark.parametrize(
        ("nodes", "outputs", "reason"),
        [
            ((node("Exp", "X", "Y"), argmax("Y")), ["index"], "it has no axis of its own"),
            ((argmax("X", axis=1),), ["index"], "nothing in its graph computes X"),
            ((node("Relu", "X", "Y"), argmax("Y", axis=1)), ["index"], "Relu before it is not a"),
            (
                (node("Softmax", "X", "Y", axis=-1), argmax("Y", axis=1)),
                ["index"],
                "Softmax before it is along axis -1, ArgMax along axis 1",
            ),
            ((node("Softmax", "X", "Y"), argmax("Y", axis=1)), ["index"], "Softmax before it has no axis of its own"),
            ((node("Exp", "X", "Y"), argmax("Y", axis=1)), ["index", "Y"], "is used elsewhere too"),
            (
                (helper.make_node("Exp", ["X"], ["Y"], domain="acme"), argmax("Y", axis=1)),
                ["index"],
                "acme.Exp before it is not ONNX's own operator",
            ),
        ],
    )
    def test_analysis_gives_the_reason_for_the_stop(self, nodes, outputs, reason):
        model = model_of(*nodes, outputs=outputs)
        (found,) = analyse_argmaxes(model)
        assert reason in found.reason_for_stop
        assert not found.removals
        assert eliminate(model, fixed_point=True) == model


class TestVerb:
    @pytest.fixture
    def saved(self, tmp_path):
        path = tmp_path / "model.onnx"
        onnx.save(model_of(*CHAIN, argmax("X", "other", axis=1), outputs=("index", "other")), path)
        return path

    def test_hazards_verb_prints_argmaxes_and_hazards(self, command, saved):
        told = command("hazards", saved)
        lines = told.out.splitlines()
        assert told.status == 0
        assert lines[0].startswith("ArgMax index ")
        assert any(line.strip().startswith("exp_overflow: ") for line in lines)
        assert any(line.startswith("ArgMax other ") and "X" in line for line in lines)
        assert lines[-1].startswith("2 ArgMax, 1 ")

    def test_hazards_verb_writes_json(self, command, saved):
        told = json.loads(command("hazards", saved, "--json", "-").out)
        assert [one["output"] for one in told["argmax"]] == ["index", "other"]
        assert [one["value"] for one in told["argmax"][0]["removed"]] == ["L", "E"]

    def test_hazards_verb_rejects_other_files(self, command, tmp_path):
        (tmp_path / "text.onnx").write_text("no model")
        told = command("hazards", tmp_path / "text.onnx")
        assert (told.status, told.out) == (2, "")
        assert str(tmp_path / "text.onnx") in told.err
