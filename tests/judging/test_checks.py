"""Every complaint about a rewrite names its check and its thing."""

from __future__ import annotations

import pytest
from argmax_models import fed_by
from judged_rewrites import FIRES, STAYS, complaints, judged, spoiling
from onnx import TensorProto, helper

from conformance.clauses import clauses
from conformance.judging.checks import checks
from conformance.optimizers import identity
from conformance.passes.eliminate_nop_monotone_argmax import eliminate
from conformance.verdicts import Level, Verdict


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
    ("structure", lambda _: None, STAYS, "Exp, which makes Y, is gone, though the pass stays"),
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
def test_what_is_wrong_is_complained_of_by_its_check(check, spoil, expected, text):
    proto = fed_by("Exp")
    proto.producer_name = "somebody"
    helper.set_model_props(proto, {"author": "somebody"})
    _add_default(proto)
    outcome = judged(spoiling(spoil), proto, expected)
    assert outcome.verdict is Verdict.FAIL
    assert complaints(outcome)[check].startswith(text)


def _add_default(proto):
    """Give a model an input that need not be fed."""
    proto.graph.input.append(helper.make_tensor_value_info("W", TensorProto.FLOAT, [1]))
    proto.graph.initializer.append(helper.make_tensor("W", TensorProto.FLOAT, [1], [1.0]))


def test_a_default_is_the_interface_s_and_no_other_check_s():
    proto = fed_by("Exp")
    _add_default(proto)

    def other_value(after):
        after.graph.initializer[0].float_data[0] = 2.0

    assert complaints(judged(spoiling(other_value), proto, FIRES)) == {
        "interface": "default of input W has another type, shape or content"
    }


class TestLevels:
    @pytest.mark.parametrize("check", checks(), ids=lambda check: check.name)
    def test_a_must_check_rests_on_a_clause(self, check):
        assert check.clauses or check.level is not Level.MUST

    @pytest.mark.parametrize("check", checks(), ids=lambda check: check.name)
    def test_what_a_must_check_rests_on_points_at_its_passage(self, check):
        assert check.level is not Level.MUST or all(clauses()[clause].passages for clause in check.clauses)

    @pytest.mark.parametrize("check", checks(), ids=lambda check: check.name)
    def test_the_clauses_that_a_check_rests_on_exist(self, check):
        assert set(check.clauses) <= set(clauses())

    def test_what_no_passage_demands_is_should(self):
        assert {check.name for check in checks() if check.level is Level.SHOULD} == {
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
    def test_a_check_counts_at_the_weaker_of_its_own_and_the_case_s_level(self, case, counts_at):
        records = judged(eliminate, fed_by("Exp"), FIRES, level=case).checks
        assert counts_at.items() <= {record["name"]: record["level"] for record in records}.items()

    def test_the_message_is_the_strongest_complaint(self):
        def optimize(proto):
            proto.graph.node[0].name = "mine"
            after = identity.optimize(proto)
            after.graph.input[0].name = "other"
            return after

        assert judged(optimize, fed_by("Relu"), STAYS, claims=False).message.startswith("checker: ")


def test_an_invalid_result_is_complained_of_by_the_checker():
    outcome = judged(spoiling(lambda after: after.graph.node.pop()), fed_by("Exp"), FIRES)
    assert "index" in complaints(outcome)["checker"]


def test_what_stays_though_it_must_go_is_named():
    outcome = judged(identity.optimize, fed_by("Exp"), FIRES)
    assert complaints(outcome) == {"structure": "Exp, which makes Y, is still there, though the pass removes it"}


def test_the_message_is_the_first_complaint_and_how_many_more():
    def both(after):
        _metadata(after)
        _type(after)

    proto = fed_by("Exp")
    helper.set_model_props(proto, {"author": "somebody"})
    message = judged(spoiling(both), proto, FIRES).message
    assert message == "interface: type of input X changed from float[2,3] to float[N,3] (and 3 more)"


def test_a_changed_model_of_the_caller_is_told_in_detail():
    def optimize(proto):
        proto.graph.node[0].name = "mine"
        return identity.optimize(proto)

    outcome = judged(optimize, fed_by("Relu"), STAYS, claims=False)
    assert (
        complaints(outcome)["mutation"] == "the caller's model is changed: graph.node[0].name changed from '' to 'mine'"
    )


def test_rewriting_in_place_changes_the_caller_s_model():
    def optimize(proto):
        proto.CopyFrom(eliminate(proto))
        return proto

    assert "mutation" in complaints(judged(optimize, fed_by("Exp"), FIRES))


class TestMalformedResults:
    """What cannot be computed, because it is no model, is a complaint of the checker and no fault of the suite."""

    def test_a_tensor_of_another_shape_is_complained_of(self):
        proto = fed_by("Exp")
        _add_default(proto)

        def reshaped(after):
            after.graph.initializer[0].dims[:] = [7]

        assert "tensor" in complaints(judged(spoiling(reshaped), proto, FIRES))["checker"]

    def test_a_function_that_is_gone_though_it_is_called_is_complained_of(self):
        proto = fed_by("Exp")
        body = [helper.make_node("Identity", ["A"], ["B"])]
        proto.functions.append(helper.make_function("acme", "Same", ["A"], ["B"], body, [helper.make_opsetid("", 13)]))
        proto.graph.node.append(helper.make_node("Same", ["X"], ["unused"], domain="acme"))
        proto.opset_import.append(helper.make_opsetid("acme", 1))

        def without_functions(after):
            del after.functions[:]

        said = complaints(judged(spoiling(without_functions), proto, FIRES))
        assert said["checker"] == "the function acme.Same is called, and is gone"
