"""The classes of hazards and the verb that tells the owner of a model which apply."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from conformance.passes.eliminate_nop_monotone_argmax import ALONG_AXIS, ELEMENTWISE, eliminate
from conformance.passes.hazards import hazards
from conformance.passes.survey import survey


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
    def test_every_operator_of_the_pass_has_one(self, op_type):
        assert any(hazard.befalls(op_type, 13) for hazard in hazards().values())

    def test_coercion_is_of_opsets_below_13(self):
        assert [hazards()["coercion"].befalls("Softmax", opset) for opset in (11, 12, 13)] == [True, True, False]

    @pytest.mark.parametrize("hazard", hazards().values(), ids=list(hazards()))
    def test_every_example_changes_the_answer_and_is_of_its_operators(self, hazard):
        assert hazard.examples
        assert all(one.before != one.after and one.operator in hazard.operators for one in hazard.examples)

    @pytest.mark.parametrize("op_type", ["Exp", "Sqrt"])
    def test_an_example_is_what_floats_do(self, op_type):
        compute = {"Exp": np.exp, "Sqrt": np.sqrt}[op_type]
        examples = [one for hazard in hazards().values() for one in hazard.examples if one.operator == op_type]
        for one in [one for one in examples if not one.on]:
            X = np.array(json.loads(one.input), dtype=np.float32)
            with np.errstate(all="ignore"):
                wide = compute(X.astype(np.float64)).astype(np.float32)
            if not np.isnan(wide).any():
                assert (int(wide.argmax()), int(X.argmax())) == (one.before, one.after)

    def test_what_is_one_runtimes_own_is_no_rounding_of_the_exact_values(self):
        for one in hazards()["not_monotone"].examples:
            X = np.array(json.loads(one.input), dtype=np.float32)
            right = {"Exp": np.exp, "Log": np.log}[one.operator](X.astype(np.float64)).astype(np.float32)
            assert one.on
            assert int(right.argmax()) == int(X.argmax()) == one.after


class TestSurvey:
    def test_a_chain_goes_as_a_whole(self):
        (found,) = survey(model_of(*CHAIN))
        assert [(one.op_type, one.value, one.type) for one in found.removals] == [
            ("Log", "L", "float"),
            ("Exp", "E", "float"),
        ]
        assert "nothing in its graph computes X" in found.stays

    def test_it_says_of_each_removal_which_hazards_apply(self):
        (found,) = survey(model_of(node("Softmax", "X", "Y", axis=1), argmax("Y", axis=1), opset=11))
        (removal,) = found.removals
        assert [hazard.id for hazard in removal.hazards] == [
            *("rounding_tie", "softmax_infinity", "softmax_nan", "coercion")
        ]

    def test_the_model_is_left_as_it_is(self):
        model = model_of(*CHAIN)
        before = model.SerializeToString()
        survey(model)
        assert model.SerializeToString() == before

    @pytest.mark.parametrize(
        ("nodes", "outputs", "reason"),
        [
            ((node("Exp", "X", "Y"), argmax("Y")), ["index"], "it has no axis of its own"),
            ((argmax("X", axis=1),), ["index"], "nothing in its graph computes X"),
            ((node("Relu", "X", "Y"), argmax("Y", axis=1)), ["index"], "Relu before it is none of"),
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
    def test_it_says_why_an_argmax_stays_and_the_pass_agrees(self, nodes, outputs, reason):
        model = model_of(*nodes, outputs=outputs)
        (found,) = survey(model)
        assert reason in found.stays
        assert not found.removals
        assert eliminate(model, fixed_point=True) == model


class TestVerb:
    @pytest.fixture
    def saved(self, tmp_path):
        path = tmp_path / "model.onnx"
        onnx.save(model_of(*CHAIN, argmax("X", "other", axis=1), outputs=("index", "other")), path)
        return path

    def test_it_tells_each_argmax_and_its_hazards(self, command, saved):
        told = command("hazards", saved)
        assert told.status == 0
        assert "ArgMax index is rewritten." in told.out
        assert "exp_overflow: Two elements have exponentials beyond the largest finite value" in told.out
        assert "ArgMax other stays as it is: nothing in its graph computes X." in told.out
        assert told.out.endswith("2 ArgMax, 1 rewritten.\n")

    def test_it_tells_them_as_json(self, command, saved):
        told = json.loads(command("hazards", saved, "--json").out)
        assert [one["output"] for one in told["argmax"]] == ["index", "other"]
        assert [one["value"] for one in told["argmax"][0]["removed"]] == ["L", "E"]

    def test_what_is_no_model_is_refused(self, command, tmp_path):
        (tmp_path / "text.onnx").write_text("no model")
        told = command("hazards", tmp_path / "text.onnx")
        assert (told.status, told.out) == (2, "")
        assert "is not an ONNX model" in told.err
