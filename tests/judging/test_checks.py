"""Every complaint about a rewrite names its check and its thing."""

from __future__ import annotations

import pytest
from argmax_models import fed_by
from judged_rewrites import FIRES, STAYS, complaints, judged, spoiling
from onnx import helper

from conformance.optimizers import identity
from conformance.passes.eliminate_nop_monotone_argmax import eliminate
from conformance.verdicts import Verdict


def _metadata(after):
    del after.metadata_props[:]


def _type(after):
    after.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"


def _output(after):
    after.graph.node[-1].attribute[1].i = 1


WRONG = [
    ("structure", lambda _: None, STAYS, "Exp, which makes Y, is gone, though the pass stays"),
    ("interface", _type, FIRES, "type of input X changed from float[2,3] to float[N,3]"),
    ("interface", lambda after: after.opset_import.add(domain="acme", version=1), FIRES, "there is a new opset import"),
    ("preservation", _metadata, FIRES, "metadata author of the model is gone"),
    ("preservation", lambda after: after.ClearField("producer_name"), FIRES, "producer_name of the model is gone"),
    ("answers", lambda after: setattr(after.graph.node[0], "op_type", "ArgMin"), FIRES, "index is [0, 1] instead of"),
    ("answers", _output, FIRES, "index has shape [2, 1] instead of [2]"),
]


@pytest.mark.parametrize(("check", "spoil", "expected", "text"), WRONG)
def test_what_is_wrong_is_complained_of_by_its_check(check, spoil, expected, text):
    proto = fed_by("Exp")
    proto.producer_name = "somebody"
    helper.set_model_props(proto, {"author": "somebody"})
    outcome = judged(spoiling(spoil), proto, expected)
    assert outcome.verdict is Verdict.FAIL
    assert complaints(outcome)[check].startswith(text)


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
