"""Hazard classes, and the verb `hazards`, which lists the classes that apply to a model."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from conformance.passes.analysis import analyse_argmaxes
from conformance.passes.eliminate_nop_monotone_argmax import ALONG_AXIS, ELEMENTWISE, eliminate
from conformance.passes.hazards import hazards


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
        assert [hazard.id for hazard in removal.hazards] == [
            *("rounding_tie", "softmax_infinity", "softmax_nan", "coercion")
        ]

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
