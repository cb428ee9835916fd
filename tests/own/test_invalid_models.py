"""A model that violates the specification, and that onnx accepts, is no fault of a subject that refuses it."""

from __future__ import annotations

import json

import onnx
import pytest
from refusals import assert_bad_input

REFUSING = """
from conformance.subjects.adapters.reference import ReferenceBackend


class Refusing(ReferenceBackend):
    @classmethod
    def prepare(cls, model, device="CPU", **options):
        raise ValueError("two nodes have the same name, or a mode is unknown")
"""


def same_names():
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[2] X) => (float[2] Y) { A = Neg (X) Y = Exp (A) }'
    )
    for node in model.graph.node:
        node.name = "same"
    return model


def unstated_mode(opset=17, mode="mirror"):
    return onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": {opset}]> g (float[4] X) => (float[6] Y) '
        f'<int64[2] p = {{1, 1}}> {{ Y = Pad <mode = "{mode}"> (X, p) }}'
    )


def in_a_branch():
    return onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (bool c, float[4] X) => (float[4] Y) <int64[2] p = {1, 1}> '
        "{ Y = If (c) <then_branch = a() => (float[4] t) { t = Abs (X) }, "
        'else_branch = b() => (float[4] e) { q = Pad <mode = "wrap"> (X, p) one = Constant <value_ints = [1]> () '
        "five = Constant <value_ints = [5]> () e = Slice (q, one, five) }> }"
    )


@pytest.mark.parametrize("make", [same_names, unstated_mode, in_a_branch])
def test_refused_model_that_violates_the_specification_is_no_fault(command, here, make):
    (here / "refusing.py").write_text(REFUSING)
    onnx.save(make(), here / "model.onnx")
    assert_bad_input(command("audit", "model.onnx", "-b", "refusing:Refusing"), "model.invalid")
    command("blame", "model.onnx", "-b", "reference", "-b", "refusing:Refusing", "--json", "blame.json")
    assert json.loads((here / "blame.json").read_text())["steps"]["verdict"]["outcome"] == "not judged"


def test_subject_that_runs_a_model_that_violates_the_specification_is_judged_with_a_warning(command, here):
    onnx.save(same_names(), here / "model.onnx")
    ended = command("audit", "model.onnx", "-b", "reference", "--json", "audit.json")
    (audit,) = json.loads((here / "audit.json").read_text())["audits"]
    assert ended.status == 0
    assert "same" in audit["warnings"][0]


def test_refused_valid_model_is_a_fault(command, here):
    (here / "refusing.py").write_text(REFUSING)
    for model in (unstated_mode(mode="reflect"), unstated_mode(opset=19, mode="wrap")):
        onnx.save(model, here / "model.onnx")
        assert command("audit", "model.onnx", "-b", "refusing:Refusing").status == 1
