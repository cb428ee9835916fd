"""Violations of each check of graph optimizers, and the levels of the checks."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from argmax_models import argmax_after
from large_models import doubling
from onnx import ModelProto, TensorProto, helper
from rewrite_checks import FIRES, STAYS, judged, spoiling, violations

from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case import PassEffect, Rewrite
from conformance.corpus.passes.eliminate_nop_monotone_argmax import eliminate
from conformance.exact.clauses import clauses
from conformance.exact.reference.model_enclosures import enclose_model
from conformance.run.judging.optimizer import judge_rewrite
from conformance.run.judging.optimizer_checks import CHECKS
from conformance.run.judging.optimizer_run import OptimizerDataSet, OptimizerDataSets, OptimizerTask
from conformance.subjects.adapters.optimizers import identity


def _metadata(after):
    del after.metadata_props[:]


def _type(after):
    after.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"


def _attribute_text(after):
    after.graph.node[-1].attribute[0].doc_string = "another"


def _declared(after):
    after.graph.value_info.append(helper.make_tensor_value_info("Y", TensorProto.FLOAT, [2, 3]))


def _annotated(after):
    after.graph.quantization_annotation.add(tensor_name="Y")


def _output(after):
    after.graph.node[-1].attribute[1].i = 1


def _denotation(after):
    after.graph.input[0].type.denotation = "IMAGE"


WRONG = [
    ("structure", lambda _: None, STAYS, "Exp, which makes Y, is gone, though the pass does not apply"),
    ("interface", _type, FIRES, "type of input X changed from float[2,3] to float[N,3]"),
    ("interface", lambda after: after.opset_import.add(domain="acme", version=1), FIRES, "there is a new opset import"),
    ("preservation", _metadata, FIRES, "metadata author of the model is gone"),
    ("interface", lambda after: after.graph.ClearField("initializer"), FIRES, "default of input W is gone"),
    ("preservation", _denotation, FIRES, "denotation of input X is changed: denotation changed from '' to 'IMAGE'"),
    ("preservation", lambda after: after.ClearField("producer_name"), FIRES, "producer_name of the model is gone"),
    ("preservation", _attribute_text, FIRES, "doc_string of axis of the ArgMax that makes index changed from ''"),
    ("leftovers", _declared, FIRES, "value_info of Y is left, which is gone"),
    ("leftovers", _annotated, FIRES, "quantization annotation of Y is left, which is gone"),
    ("answers", lambda after: setattr(after.graph.node[0], "op_type", "ArgMin"), FIRES, "index is [0, 1] instead of"),
    ("answers", _output, FIRES, "index has shape [2, 1] instead of [2]"),
]


@pytest.mark.parametrize(("check", "spoil", "expected", "text"), WRONG)
def test_fault_violates_its_check(check, spoil, expected, text):
    proto = argmax_after("Exp")
    proto.producer_name = "somebody"
    helper.set_model_props(proto, {"author": "somebody"})
    _add_default(proto)
    outcome = judged(spoiling(spoil), proto, expected)
    assert outcome.verdict is Verdict.FAIL
    assert violations(outcome)[check].startswith(text)


def _add_default(proto):
    """Give a model an input that need not be fed."""
    proto.graph.input.append(helper.make_tensor_value_info("W", TensorProto.FLOAT, [1]))
    proto.graph.initializer.append(helper.make_tensor("W", TensorProto.FLOAT, [1], [1.0]))


def test_lost_default_violates_only_interface():
    proto = argmax_after("Exp")
    _add_default(proto)

    def other_value(after):
        after.graph.initializer[0].float_data[0] = 2.0

    assert violations(judged(spoiling(other_value), proto, FIRES)) == {
        "interface": "default of input W has another type, shape or content"
    }


class TestLevels:
    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
    def test_must_check_has_a_clause(self, check):
        assert check.clauses or check.level is not Level.MUST

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
    def test_clauses_of_must_checks_have_a_locator(self, check):
        assert check.level is not Level.MUST or all(clauses()[clause].passages for clause in check.clauses)

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
    def test_clauses_of_checks_exist(self, check):
        assert set(check.clauses) <= set(clauses())

    def test_checks_without_requirement_are_should(self):
        assert {check.name for check in CHECKS if check.level is Level.SHOULD} == {
            "leftovers",
            "mutation",
            "preservation",
        }

    @pytest.mark.parametrize(
        ("case", "counts_at"),
        [
            (Level.MUST, {"interface": "must", "preservation": "should"}),
            (Level.SHOULD, {"interface": "should", "preservation": "should"}),
            (Level.SILENT, {"interface": "silent", "preservation": "silent"}),
        ],
    )
    def test_violation_counts_at_the_weaker_level(self, case, counts_at):
        records = judged(eliminate, argmax_after("Exp"), FIRES, level=case).checks
        assert counts_at.items() <= {record.name: record.level for record in records}.items()

    def test_message_is_the_strongest_violation(self):
        def optimize(proto):
            proto.graph.node[0].name = "mine"
            after = identity.optimize(proto)
            after.graph.input[0].name = "other"
            return after

        assert judged(optimize, argmax_after("Relu"), STAYS, implements=False).message.startswith("checker: ")


def test_invalid_result_violates_checker():
    outcome = judged(spoiling(lambda after: after.graph.node.pop()), argmax_after("Exp"), FIRES)
    assert "index" in violations(outcome)["checker"]


def test_result_with_too_many_calls_violates_checker():
    outcome = judged(lambda _: doubling(40), argmax_after("Exp"), FIRES)
    assert outcome.verdict is Verdict.FAIL
    assert "200,000" in violations(outcome)["checker"]


def test_result_with_a_text_that_is_not_utf8_fails():
    content = argmax_after("Exp").SerializeToString().replace(b"Exp", b"E\xffp")
    outcome = judged(lambda _: ModelProto.FromString(content), argmax_after("Exp"), FIRES)
    assert (outcome.verdict, outcome.phase) == (Verdict.FAIL, "optimize")
    assert repr(b"E\xffp") in outcome.message


def test_remaining_operator_is_named():
    outcome = judged(identity.optimize, argmax_after("Exp"), FIRES)
    assert violations(outcome) == {"structure": "Exp, which makes Y, is still there, though the pass removes it"}


def test_message_counts_further_violations():
    def both(after):
        _metadata(after)
        _type(after)

    proto = argmax_after("Exp")
    helper.set_model_props(proto, {"author": "somebody"})
    message = judged(spoiling(both), proto, FIRES).message
    assert message == "interface: type of input X changed from float[2,3] to float[N,3] (and 3 more)"


def test_changed_caller_model_is_described():
    def optimize(proto):
        proto.graph.node[0].name = "mine"
        return identity.optimize(proto)

    outcome = judged(optimize, argmax_after("Relu"), STAYS, implements=False)
    assert (
        violations(outcome)["mutation"] == "the caller's model is changed: graph.node[0].name changed from '' to 'mine'"
    )


def test_rewriting_in_place_violates_mutation():
    def optimize(proto):
        proto.CopyFrom(eliminate(proto))
        return proto

    assert "mutation" in violations(judged(optimize, argmax_after("Exp"), FIRES))


class TestMalformedResults:
    """A malformed result violates the check `checker` and is not an internal error."""

    def test_tensor_of_another_shape_violates_checker(self):
        proto = argmax_after("Exp")
        _add_default(proto)

        def reshaped(after):
            after.graph.initializer[0].dims[:] = [7]

        assert "tensor" in violations(judged(spoiling(reshaped), proto, FIRES))["checker"]

    def test_missing_called_function_violates_checker(self):
        proto = argmax_after("Exp")
        body = [helper.make_node("Identity", ["A"], ["B"])]
        proto.functions.append(helper.make_function("acme", "Same", ["A"], ["B"], body, [helper.make_opsetid("", 13)]))
        proto.graph.node.append(helper.make_node("Same", ["X"], ["unused"], domain="acme"))
        proto.opset_import.append(helper.make_opsetid("acme", 1))

        def without_functions(after):
            del after.functions[:]

        said = violations(judged(spoiling(without_functions), proto, FIRES))
        assert said["checker"] == "function acme.Same is called but was removed"


def _parsed(nodes, declarations="(float[2,3] X) => (float[2,3] Y)"):
    return onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 13, "com.microsoft": 1]> general {declarations} {{ {nodes} }}'
    )


WEIGHTS = (
    "W = Constant <value = float[3,3] {1, 2, 3, 4, 5, 6, 7, 8, 10}> () B = Constant <value = float[3] {1, 2, 3}> ()"
)
ZERO = "zero = Constant <value = float {0}> ()"
NEGATED = "N = Neg (X)"

EFFECTS = [
    ("A = Transpose (X) Y = Transpose (A)", "Y = Identity (X)", 1, "bits", ""),
    (f"{WEIGHTS} A = MatMul (X, W) Y = Add (A, B)", f"{WEIGHTS} Y = Gemm (X, W, B)", 1, "interval", ""),
    (
        f"{WEIGHTS} A = Transpose (W) Y = MatMul (X, A)",
        f"{WEIGHTS} Y = com.microsoft.FusedMatMul <transB = 1> (X, W)",
        1,
        "bits",
        "",
    ),
    (f"{ZERO} Y = Mul (X, zero)", f"{ZERO} Y = Expand (zero, S)", np.nan, "hazard", "X = [2, 3] {1, 1, 1, 1, 1, nan}"),
    ("E = Exp (X) Y = Log (E)", "Y = Identity (X)", 1000, "hazard", "X = [2, 3] {1, 1, 1, 1, 1, 1e+03}"),
    (f"{NEGATED} Y = Neg (N)", NEGATED.replace("N =", "Y ="), 1, "fault", "X = [2, 3] {1, 1, 1, 1, 1, 1}"),
    (
        "A = Cast <to = 10> (X) Y = Cast <to = 1> (A)",
        "Y = Identity (X)",
        1,
        "fault",
        "X = [2, 3] {1, 1, 1, 1, -0.6, 1}",
    ),
    ("A = Cast <to = 11> (X) Y = Cast <to = 1> (A)", "Y = Identity (X)", 1, "bits", ""),
]
"""Models before and after a rewrite, the last element of the input, the effect, and the witness."""


@pytest.mark.parametrize(("before", "after", "last", "effect", "witness"), EFFECTS)
def test_rewrite_without_a_declared_pass_has_an_effect(before, after, last, effect, witness):
    shape = "S = Constant <value = int64[2] {2, 3}> () " if "Expand" in after else ""
    model = _parsed(before)
    inputs = {"X": np.array([[1.3, -2, 0.7], [3, -0.6, last]], np.float32)}
    task = OptimizerTask(model, Rewrite(PassEffect.OPTIONAL), OptimizerDataSets((OptimizerDataSet(0, inputs),)))
    outcome = judge_rewrite(lambda _: _parsed(shape + after), (), task)
    (answers,) = (check for check in outcome.checks if check.name == "answers")
    assert (answers.effect, answers.witness) == (effect, witness)
    assert outcome.verdict is (Verdict.PASS if effect in ("bits", "interval") else Verdict.FAIL)


@pytest.mark.parametrize(("opset", "last", "indices"), [(13, 0, [1]), (13, 1, [2]), (11, 0, [1, 2])])
def test_index_of_an_exact_tie_beside_an_inexact_element(opset, last, indices):
    selection = f", select_last_index = {last}" if opset > 11 else ""
    text = (
        f'<ir_version: 8, opset_import: ["": {opset}]> saturated (float[3] X) => (int64[1] Y)'
        f" {{ H = HardSigmoid <alpha = 0.25> (X) Y = ArgMax <axis = 0{selection}> (H) }}"
    )
    found = enclose_model(onnx.parser.parse_model(text), {"X": np.array([1, 3, 5], np.float32)})["Y"]
    assert np.flatnonzero(found.mask).tolist() == indices


def test_rewrite_that_takes_a_default_for_a_constant_is_a_fault():
    other = "else_branch = else () => (float[2,3] e) { e = Abs (X) }"
    declarations = "(float[2,3] X, bool c) => (float[2,3] Y) <bool c = {1}>"
    model = _parsed(f"Y = If (c) <{other}, then_branch = then () => (float[2,3] t) {{ t = Neg (X) }}>", declarations)
    data_set = OptimizerDataSet(0, {"X": np.ones((2, 3), np.float32)})
    task = OptimizerTask(model, Rewrite(PassEffect.OPTIONAL), OptimizerDataSets((data_set,)))
    outcome = judge_rewrite(lambda _: _parsed("Y = Neg (X)", declarations), (), task)
    (answers,) = (check for check in outcome.checks if check.name == "answers")
    assert answers.effect == "fault"


def test_rewrite_that_is_wrong_for_a_negative_default_is_a_fault():
    declarations = "(float[2,3] X, float low) => (float[2,3] Y) <float low = {0}>"
    model = _parsed("A = Relu (X) Y = Clip (A, low)", declarations)
    data_set = OptimizerDataSet(0, {"X": np.full((2, 3), -0.5, np.float32)})
    task = OptimizerTask(model, Rewrite(PassEffect.OPTIONAL), OptimizerDataSets((data_set,)))
    outcome = judge_rewrite(lambda _: _parsed("Y = Clip (X, low)", declarations), (), task)
    assert outcome.verdict is Verdict.FAIL


def test_rewrite_that_no_evaluator_loads_is_not_judged():
    data_set = OptimizerDataSet(0, {"X": np.ones((2, 3), np.float32)})
    task = OptimizerTask(_parsed("Y = Neg (X)"), Rewrite(PassEffect.OPTIONAL), OptimizerDataSets((data_set,)))
    sampled = "M = Multinomial <dtype = 6, sample_size = 3> (X) Y = Cast <to = 1> (M)"
    outcome = judge_rewrite(lambda _: _parsed(sampled), (), task)
    assert outcome.verdict is Verdict.SKIPPED
    assert "Multinomial" in outcome.message
