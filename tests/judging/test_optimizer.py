"""One model on one graph optimizer: all it does is a verdict, and every complaint names its check and its thing."""

from __future__ import annotations

import onnx
import pytest
from argmax_models import CAPTURED, IN_BRANCH, fed_by, model
from judged_rewrites import FIRES, MAY, STAYS, complaints, judged, spoiling
from onnx import TensorProto, helper

from conformance.corpus.case import Firing, Rewrite
from conformance.judging.checks import checks
from conformance.optimizers import identity
from conformance.passes.eliminate_nop_monotone_argmax import eliminate
from conformance.verdicts import Unsupported, Verdict


class TestWhatIsRight:
    @pytest.mark.parametrize(
        ("proto", "expected"),
        [
            (fed_by("Exp"), FIRES),
            (fed_by("Relu"), STAYS),
            (model(CAPTURED), STAYS),
            (model(IN_BRANCH), Rewrite(Firing.FIRES, ("index/then_branch/T",), ("index/then_branch/T",))),
            (model("A=Exp(X) B=Log(A) index=ArgMax<axis=1,keepdims=0>(B)"), Rewrite(Firing.FIRES, ("B",), ("B", "A"))),
        ],
        ids=["fires", "stays", "captured", "branch", "chain"],
    )
    def test_the_suite_s_own_pass_passes(self, proto, expected):
        assert judged(eliminate, proto, expected).verdict is Verdict.PASS

    def test_leaving_everything_passes_without_a_claim(self):
        assert judged(identity.optimize, fed_by("Exp"), FIRES, claims=False).verdict is Verdict.PASS

    @pytest.mark.parametrize("optimize", [eliminate, identity.optimize])
    def test_where_the_pass_may_fire_either_passes(self, optimize):
        assert judged(optimize, fed_by("Exp"), MAY).verdict is Verdict.PASS

    def test_every_check_is_told_of_both_runs(self):
        told = {(check["name"], check["run"]) for check in judged(eliminate, fed_by("Exp"), FIRES, hazard=True).checks}
        assert told == {(name, run) for name in {check.name for check in checks()} for run in ("once", "fixed_point")}

    def test_what_does_not_know_a_fixed_point_is_run_once(self):
        outcome = judged(identity.optimize, fed_by("Relu"), STAYS)
        assert {check["run"] for check in outcome.checks} == {"once"}

    def test_what_does_not_know_a_fixed_point_may_go_to_it(self):
        chain = model("A=Exp(X) B=Log(A) index=ArgMax<axis=1,keepdims=0>(B)")
        expected = Rewrite(Firing.FIRES, ("B",), ("B", "A"))
        assert judged(lambda proto: eliminate(proto, fixed_point=True), chain, expected).verdict is Verdict.PASS


class TestHazards:
    def test_a_documented_change_passes_and_is_listed(self):
        outcome = judged(eliminate, fed_by("Exp"), FIRES, hazard=True)
        assert outcome.verdict is Verdict.PASS
        assert outcome.hazards[0] == {
            "class": "rounding_tie",
            "data_set": 1,
            "run": "once",
            "before": ["0", "0"],
            "after": ["1", "1"],
        }

    def test_what_changes_nothing_has_none(self):
        assert judged(identity.optimize, fed_by("Exp"), FIRES, claims=False, hazard=True).hazards == ()

    def test_another_answer_fails(self):
        optimize = spoiling(lambda after: setattr(after.graph.node[-1], "op_type", "ArgMin"))
        outcome = judged(optimize, fed_by("Exp"), FIRES, claims=False, hazard=True)
        assert complaints(outcome)["hazards"] == "index is [2, 2] instead of [0, 0] or [1, 1] on data set 1"


def test_an_operator_that_the_reference_lacks_is_not_judged():
    def optimize(proto):
        after = eliminate(proto)
        after.graph.node[0].op_type, after.graph.node[0].domain = "FusedArgMax", "acme"
        after.opset_import.add(domain="acme", version=1)
        return after

    outcome = judged(optimize, fed_by("Exp"), FIRES, claims=False)
    assert outcome.verdict is Verdict.PASS
    assert "acme.FusedArgMax" in next(c["not_judged"] for c in outcome.checks if c["name"] == "answers")


class TestWithoutAClaim:
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
    def test_what_general_optimizers_do_is_admissible(self, spoil):
        proto = fed_by("Exp")
        proto.producer_name, proto.graph.node[0].name = "somebody", "node"
        proto.graph.initializer.append(helper.make_tensor("unused", TensorProto.FLOAT, [1], [1.0]))
        assert judged(spoiling(spoil), proto, FIRES, claims=False).verdict is Verdict.PASS

    @pytest.mark.parametrize("field", ["metadata_props", "doc_string", "training_info"])
    def test_what_a_model_says_about_itself_may_not_be_lost(self, field):
        proto = fed_by("Exp")
        helper.set_model_props(proto, {"author": "somebody"})
        proto.doc_string = "text"
        proto.training_info.add().algorithm.name = "step"
        outcome = judged(spoiling(lambda after: after.ClearField(field)), proto, FIRES, claims=False)
        assert "preservation" in complaints(outcome)

    def test_an_output_s_open_dimension_may_be_inferred(self):
        proto = fed_by("Exp")
        proto.graph.output[0].type.tensor_type.shape.dim[0].Clear()
        spoil = spoiling(lambda after: setattr(after.graph.output[0].type.tensor_type.shape.dim[0], "dim_value", 2))
        assert judged(spoil, proto, FIRES, claims=False).verdict is Verdict.PASS
        assert "interface" in complaints(judged(spoil, proto, FIRES))

    def test_an_input_s_dimension_may_not_be_fixed(self):
        proto = fed_by("Exp")
        proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
        spoil = spoiling(lambda after: setattr(after.graph.input[0].type.tensor_type.shape.dim[0], "dim_value", 2))
        assert "interface" in complaints(judged(spoil, proto, FIRES, claims=False))


class TestEnds:
    def test_an_exception_is_an_error(self):
        def optimize(proto):
            raise ValueError("cannot rewrite this")

        outcome = judged(optimize, fed_by("Exp"), FIRES)
        assert (outcome.verdict, outcome.phase, outcome.message) == (
            Verdict.ERROR,
            "optimize",
            "ValueError: cannot rewrite this",
        )

    def test_an_exception_at_the_fixed_point_says_so(self):
        def optimize(proto, fixed_point=False):
            if fixed_point:
                raise ValueError("too far")
            return eliminate(proto)

        assert judged(optimize, fed_by("Exp"), FIRES).message == "to a fixed point: ValueError: too far"

    def test_saying_that_it_cannot_is_unsupported(self):
        def optimize(proto):
            raise Unsupported("no such type")

        assert judged(optimize, fed_by("Exp"), FIRES).verdict is Verdict.UNSUPPORTED

    def test_a_verdict_that_comes_with_the_exception_counts(self):
        class Died(Exception):
            verdict = Verdict.CRASH

        def optimize(proto):
            raise Died

        assert judged(optimize, fed_by("Exp"), FIRES).verdict is Verdict.CRASH

    @pytest.mark.parametrize("returned", [None, b"", [], "model"])
    def test_what_is_no_model_fails(self, returned):
        outcome = judged(lambda _: returned, fed_by("Exp"), FIRES)
        assert outcome.message == f"optimize returned a {type(returned).__name__}, not a model"

    def test_an_interruption_by_the_user_is_no_verdict(self):
        def optimize(proto):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            judged(optimize, fed_by("Exp"), FIRES)


class TestInvalidModels:
    @pytest.fixture
    def undefined(self):
        proto = fed_by("Exp")
        proto.graph.output.append(helper.make_tensor_value_info("nothing", TensorProto.FLOAT, [1]))
        with pytest.raises(onnx.checker.ValidationError):
            onnx.checker.check_model(proto)
        return proto

    def test_refusing_one_passes(self, undefined):
        def optimize(proto):
            raise ValueError("nothing makes this output")

        outcome = judged(optimize, undefined, MAY)
        assert (outcome.verdict, outcome.message) == (Verdict.PASS, "ValueError: nothing makes this output")

    @pytest.mark.parametrize("optimize", [eliminate, identity.optimize])
    def test_giving_one_back_passes(self, undefined, optimize):
        assert judged(optimize, undefined, MAY).verdict is Verdict.PASS

    def test_a_crash_does_not(self, undefined):
        class Died(Exception):
            verdict = Verdict.CRASH

        def optimize(proto):
            raise Died

        assert judged(optimize, undefined, MAY).verdict is Verdict.CRASH
