"""An audit judges a call of a model-local function where the subject does not compute it like the function's nodes."""

from __future__ import annotations

import json

import onnx
import pytest

FAULTY = """
from conformance.subjects.adapters.reference import ReferenceBackend


class Ignores(ReferenceBackend):
    @classmethod
    def prepare(cls, model, device="CPU", **options):
        changed = type(model)()
        changed.CopyFrom(model)
        for node in [*changed.graph.node, *(each for function in changed.functions for each in function.node)]:
            if node.op_type == "Norm":
                node.attribute[0].f = 1.0
        return ReferenceBackend.prepare(changed)
"""

MODEL = """<ir_version: 9, opset_import: ["": 18, "own": 1]>
g (float[2, 4] X) => (float[2, 4] Y) { A = own.Twice (X) B = own.Norm <eps: float = 0.001> (A) Y = own.Twice (B) }
<domain: "own", opset_import: ["": 18]> Norm <eps> (x) => (y)
{ e = Constant <value_float: float = @eps> () s = Mul (x, x) t = Add (s, e) r = Sqrt (t) y = Div (x, r) }
<domain: "own", opset_import: ["": 18]> Twice (x) => (y) { y = Add (x, x) }"""


@pytest.fixture
def audited(command, here):
    """The status and the document of an audit of a backend that ignores an attribute of a call."""
    (here / "faulty_calls.py").write_text(FAULTY)
    onnx.save(onnx.parser.parse_model(MODEL), here / "calls.onnx")
    ended = command("audit", "calls.onnx", "-b", "faulty_calls:Ignores", "--output", "cases", "--json", "audit.json")
    return ended.status, json.loads((here / "audit.json").read_text())


def test_audit_names_the_call_whose_attribute_is_ignored_and_inlines_the_others(audited):
    status, document = audited
    (audit,) = document["audits"]
    operators = {each["operator"]: each["verdict"] for each in audit["nodes"]}
    assert status == 1
    assert operators == {"own.Norm": "wrong", "Add": "correct"}


def test_case_of_a_wrong_call_has_the_function_and_fails_on_the_subject(command, here, audited):
    (folder,) = (here / "cases/node").iterdir()
    model = onnx.load(folder / "model.onnx")
    assert [each.op_type for each in model.graph.node] == ["Norm"]
    assert command("run", "--data", "cases", "-b", "faulty_calls:Ignores", "-n", "1").status == 1
    assert command("run", "--data", "cases", "-b", "reference", "-n", "1").status == 0


def test_audit_of_a_subject_that_computes_calls_like_their_nodes_judges_the_nodes(command, here):
    onnx.save(onnx.parser.parse_model(MODEL), here / "calls.onnx")
    assert command("audit", "calls.onnx", "-b", "reference", "--json", "audit.json").status == 0
    (audit,) = json.loads((here / "audit.json").read_text())["audits"]
    assert {each["operator"] for each in audit["nodes"]} == {"Mul", "Add", "Sqrt", "Div"}
