"""Verdicts on graph optimizers: correct results, hazards, errors, and invalid models."""

from __future__ import annotations

import onnx
import pytest
from argmax_models import CAPTURED, IN_BRANCH, argmax_after, argmax_model
from onnx import TensorProto, helper
from rewrite_checks import FIRES, MAY, STAYS, judged, spoiling, violations

from conformance.base.verdicts import Unsupported, Verdict
from conformance.corpus.cases.case import PassEffect, Rewrite
from conformance.corpus.passes.eliminate_nop_monotone_argmax import eliminate
from conformance.run.judging.optimizer_checks import CHECKS
from conformance.run.results.records import HazardChange
from conformance.subjects.adapters.optimizers import identity
from conformance.subjects.calling.request import SubjectFailure


class TestCorrectOptimizers:
    @pytest.mark.parametrize(
        ("proto", "expected"),
        [
            (argmax_after("Exp"), FIRES),
            (argmax_after("Relu"), STAYS),
            (argmax_model(CAPTURED), STAYS),
            (argmax_model(IN_BRANCH), Rewrite(PassEffect.APPLIES, ("index/then_branch/T",), ("index/then_branch/T",))),
            (
                argmax_model("A=Exp(X) B=Log(A) index=ArgMax<axis=1,keepdims=0>(B)"),
                Rewrite(PassEffect.APPLIES, ("B",), ("B", "A")),
            ),
        ],
        ids=["fires", "stays", "captured", "branch", "chain"],
    )
    def test_reference_pass_passes(self, proto, expected):
        assert judged(eliminate, proto, expected).verdict is Verdict.PASS

    def test_identity_passes_if_it_does_not_declare_the_pass(self):
        assert judged(identity.optimize, argmax_after("Exp"), FIRES, implements=False).verdict is Verdict.PASS

    @pytest.mark.parametrize("optimize", [eliminate, identity.optimize])
    def test_either_result_passes_if_the_pass_is_optional(self, optimize):
        assert judged(optimize, argmax_after("Exp"), MAY).verdict is Verdict.PASS

    def test_outcome_records_checks_of_both_optimizer_runs(self):
        told = {(check.name, check.run) for check in judged(eliminate, argmax_after("Exp"), FIRES, hazard=True).checks}
        assert told == {(name, run) for name in {check.name for check in CHECKS} for run in ("once", "fixed_point")}

    def test_optimizer_without_fixed_point_runs_once(self):
        outcome = judged(identity.optimize, argmax_after("Relu"), STAYS)
        assert {check.run for check in outcome.checks} == {"once"}

    def test_optimizer_without_fixed_point_may_reach_it(self):
        chain = argmax_model("A=Exp(X) B=Log(A) index=ArgMax<axis=1,keepdims=0>(B)")
        expected = Rewrite(PassEffect.APPLIES, ("B",), ("B", "A"))
        assert judged(lambda proto: eliminate(proto, fixed_point=True), chain, expected).verdict is Verdict.PASS


class TestHazards:
    def test_documented_change_passes_and_is_listed(self):
        outcome = judged(eliminate, argmax_after("Exp"), FIRES, hazard=True)
        assert outcome.verdict is Verdict.PASS
        assert outcome.hazards[0] == HazardChange("rounding_tie", 1, "once", ["0", "0"], ["1", "1"])

    def test_identity_has_no_hazard_changes(self):
        assert judged(identity.optimize, argmax_after("Exp"), FIRES, implements=False, hazard=True).hazards == []

    def test_undocumented_answer_fails(self):
        optimize = spoiling(lambda after: setattr(after.graph.node[-1], "op_type", "ArgMin"))
        outcome = judged(optimize, argmax_after("Exp"), FIRES, implements=False, hazard=True)
        assert violations(outcome)["hazards"] == "index is [2, 2] instead of [0, 0] or [1, 1] on data set 1"


def test_unchanged_model_of_an_unknown_operator_passes():
    proto = argmax_after("Exp")
    proto.graph.node[0].op_type, proto.graph.node[0].domain = "Exp", "acme"
    proto.opset_import.add(domain="acme", version=1)
    assert judged(identity.optimize, proto, STAYS, implements=False).verdict is Verdict.PASS


def test_unknown_operator_is_not_judged():
    def optimize(proto):
        after = eliminate(proto)
        after.graph.node[0].op_type, after.graph.node[0].domain = "FusedArgMax", "acme"
        after.opset_import.add(domain="acme", version=1)
        return after

    outcome = judged(optimize, argmax_after("Exp"), FIRES, implements=False)
    assert outcome.verdict is Verdict.SKIPPED
    assert "acme.FusedArgMax" in outcome.message
    assert "acme.FusedArgMax" in next(c.not_judged for c in outcome.checks if c.name == "answers")


def test_operator_that_no_reference_has_is_not_judged():
    def optimize(proto):  # onnx's evaluator has no Multinomial, and its page determines no sample
        after = onnx.ModelProto.FromString(proto.SerializeToString())
        (node,) = (node for node in after.graph.node if node.op_type == "ArgMax")
        node.CopyFrom(helper.make_node("Multinomial", node.input, node.output, dtype=TensorProto.INT64))
        return after

    text = "Y = Exp(X)\nM = ArgMax<axis=1>(Y)\naxes = Constant<value_ints=[1]>()\nindex = Squeeze(M, axes)"
    outcome = judged(optimize, argmax_model(text), STAYS, implements=False)
    assert outcome.verdict is Verdict.SKIPPED
    assert "Multinomial" in outcome.message


class TestOptimizersWithoutThePass:
    @pytest.mark.parametrize(
        "spoil",
        [
            lambda after: after.ClearField("producer_name"),
            lambda after: after.opset_import.add(domain="acme", version=1),
            lambda after: after.graph.ClearField("initializer"),
            lambda after: after.graph.node[0].ClearField("name"),
        ],
        ids=["producer", "import", "initializer", "node_name"],
    )
    def test_general_optimizations_pass(self, spoil):
        proto = argmax_after("Exp")
        proto.producer_name, proto.graph.node[0].name = "somebody", "node"
        proto.graph.initializer.append(helper.make_tensor("unused", TensorProto.FLOAT, [1], [1.0]))
        assert judged(spoiling(spoil), proto, FIRES, implements=False).verdict is Verdict.PASS

    @pytest.mark.parametrize("field", ["metadata_props", "doc_string", "training_info"])
    def test_lost_model_information_violates_preservation(self, field):
        proto = argmax_after("Exp")
        helper.set_model_props(proto, {"author": "somebody"})
        proto.doc_string = "text"
        proto.training_info.add().algorithm.name = "step"
        outcome = judged(spoiling(lambda after: after.ClearField(field)), proto, FIRES, implements=False)
        assert "preservation" in violations(outcome)

    def test_inferred_output_dimension_passes(self):
        proto = argmax_after("Exp")
        proto.graph.output[0].type.tensor_type.shape.dim[0].Clear()
        spoil = spoiling(lambda after: setattr(after.graph.output[0].type.tensor_type.shape.dim[0], "dim_value", 2))
        assert judged(spoil, proto, FIRES, implements=False).verdict is Verdict.PASS
        assert "interface" in violations(judged(spoil, proto, FIRES))

    def test_fixed_input_dimension_violates_interface(self):
        proto = argmax_after("Exp")
        proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
        spoil = spoiling(lambda after: setattr(after.graph.input[0].type.tensor_type.shape.dim[0], "dim_value", 2))
        assert "interface" in violations(judged(spoil, proto, FIRES, implements=False))


class TestErrors:
    def test_exception_is_an_error(self):
        def optimize(proto):
            raise ValueError("cannot rewrite this")

        outcome = judged(optimize, argmax_after("Exp"), FIRES)
        assert (outcome.verdict, outcome.phase, outcome.message) == (
            Verdict.ERROR,
            "optimize",
            "ValueError: cannot rewrite this",
        )

    def test_exception_at_the_fixed_point_is_named(self):
        def optimize(proto, fixed_point=False):
            if fixed_point:
                raise ValueError("too far")
            return eliminate(proto)

        assert judged(optimize, argmax_after("Exp"), FIRES).message == "to a fixed point: ValueError: too far"

    def test_unsupported_exception_is_unsupported(self):
        def optimize(proto):
            raise Unsupported("no such type")

        assert judged(optimize, argmax_after("Exp"), FIRES).verdict is Verdict.UNSUPPORTED

    def test_verdict_of_a_subject_failure_is_used(self):
        assert judged(die, argmax_after("Exp"), FIRES).verdict is Verdict.CRASH

    @pytest.mark.parametrize("returned", [None, b"", [], "model"])
    def test_return_value_of_another_type_fails(self, returned):
        outcome = judged(lambda _: returned, argmax_after("Exp"), FIRES)
        assert outcome.message == f"optimize returned a {type(returned).__name__}, not a model"

    def test_keyboard_interrupt_is_raised(self):
        def optimize(proto):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            judged(optimize, argmax_after("Exp"), FIRES)


class Died(SubjectFailure):
    verdict = Verdict.CRASH


def die(proto):
    raise Died


class TestInvalidModels:
    @pytest.fixture
    def undefined(self):
        proto = argmax_after("Exp")
        proto.graph.output.append(helper.make_tensor_value_info("nothing", TensorProto.FLOAT, [1]))
        with pytest.raises(onnx.checker.ValidationError):
            onnx.checker.check_model(proto)
        return proto

    def test_rejecting_an_invalid_model_passes(self, undefined):
        def optimize(proto):
            raise ValueError("nothing makes this output")

        outcome = judged(optimize, undefined, MAY)
        assert (outcome.verdict, outcome.message) == (Verdict.PASS, "ValueError: nothing makes this output")

    @pytest.mark.parametrize("optimize", [eliminate, identity.optimize])
    def test_returning_an_invalid_model_passes(self, undefined, optimize):
        assert judged(optimize, undefined, MAY).verdict is Verdict.PASS

    def test_crash_on_an_invalid_model_does_not_pass(self, undefined):
        assert judged(die, undefined, MAY).verdict is Verdict.CRASH
