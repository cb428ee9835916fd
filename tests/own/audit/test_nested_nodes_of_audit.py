"""An audit judges loops on hard data, and calls of functions that a subject does not compute like their nodes."""

from __future__ import annotations

import json

import numpy as np
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


class Endless(ReferenceBackend):
    @classmethod
    def prepare(cls, model, device="CPU", **options):
        changed = type(model)()
        changed.CopyFrom(model)
        for node in changed.graph.node:
            if node.op_type == "Loop":
                body = node.attribute[0].g
                body.node[-1].op_type = "Identity"
                body.node[-1].input[:] = [body.input[1].name]
        return ReferenceBackend.prepare(changed)


class First(ReferenceBackend):
    @classmethod
    def prepare(cls, model, device="CPU", **options):
        changed = type(model)()
        changed.CopyFrom(model)
        for node in changed.graph.node:
            if node.op_type == "SequenceMap":
                node.attribute[0].g.node[0].op_type = "Relu"
        return ReferenceBackend.prepare(changed)
"""

LOOP = """<ir_version: 9, opset_import: ["": 18]>
g (float[2] X, int64 M) => (float[2] Y, seq(float[n]) S) <bool go = {1}, float most = {1}>
{ Y = Loop (M, go, X) <body = step (int64 i, bool c, float[2] x) => (bool d, float[2] y)
    { y = Add (x, x) s = ReduceMax <keepdims = 0> (x) d = Less (s, most) }>
  T = SplitToSequence (Y) S = SequenceMap (T) <body = b (float[n] i) => (float[n] o) { o = Neg (i) }> }"""

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
    models = [onnx.load(folder / "model.onnx") for folder in (here / "cases/node").iterdir()]
    assert {node.op_type for model in models for node in model.graph.node} == {"Norm"}
    assert command("run", "--data", "cases", "-b", "faulty_calls:Ignores", "-n", "1").status == 1
    assert command("run", "--data", "cases", "-b", "reference", "-n", "1").status == 0


def test_audit_of_a_subject_that_computes_calls_like_their_nodes_judges_the_nodes(command, here):
    onnx.save(onnx.parser.parse_model(MODEL), here / "calls.onnx")
    assert command("audit", "calls.onnx", "-b", "reference", "--json", "audit.json").status == 0
    (audit,) = json.loads((here / "audit.json").read_text())["audits"]
    assert {each["operator"] for each in audit["nodes"]} == {"Mul", "Add", "Sqrt", "Div"}


def test_audit_runs_a_loop_on_numbers_that_end_it_early_and_lists_nodes_without_hard_data(command, here):
    (here / "faulty_calls.py").write_text(FAULTY)
    onnx.save(onnx.parser.parse_model(LOOP), here / "loop.onnx")
    np.savez(here / "inputs.npz", X=np.float32([0.125, 0.25]), M=np.int64(2))
    for backend, status, verdict in (("reference", 0, "correct"), ("faulty_calls:Endless", 1, "wrong")):
        ended = command("audit", "loop.onnx", "--inputs", "inputs.npz", "-b", backend, "--json", "audit.json")
        (audit,) = json.loads((here / "audit.json").read_text())["audits"]
        assert ended.status == status
        assert "1 SplitToSequence" in ended.out
        assert audit["nodes"][0]["verdict"] == "correct"
        assert [each["verdict"] for each in audit["probes"] if each["operator"] == "Loop"] == [verdict]


def test_loop_without_a_limit_of_steps_has_no_hard_data(command, here):
    onnx.save(onnx.parser.parse_model(LOOP.replace("Loop (M, ", 'Loop ("", ')), here / "loop.onnx")
    np.savez(here / "inputs.npz", X=np.float32([0.125, 0.25]), M=np.int64(2))
    command("audit", "loop.onnx", "--inputs", "inputs.npz", "-b", "reference", "--json", "audit.json")
    (audit,) = json.loads((here / "audit.json").read_text())["audits"]
    assert "Loop" not in {each["operator"] for each in audit["probes"]}


MAPPED = """<ir_version: 9, opset_import: ["": 18]>
g (float[3] X, float Z) => (float[3] Y)
{ T = SplitToSequence <keepdims = 1> (X)
  S = SequenceMap (T, Z) <body = b (float[n] i, float z) => (float[n] o) { a = Abs (i) o = Mul (a, z) }>
  Y = ConcatFromSequence <axis = 0> (S) }"""


@pytest.mark.parametrize(
    ("backend", "status", "verdict"), [("reference", 0, "correct"), ("faulty_calls:First", 1, "wrong")]
)
def test_audit_runs_a_sequence_map_on_ordinary_numbers(command, here, backend, status, verdict):
    (here / "faulty_calls.py").write_text(FAULTY)
    onnx.save(onnx.parser.parse_model(MAPPED), here / "mapped.onnx")
    np.savez(here / "inputs.npz", X=np.float32([1, 2, 3]), Z=np.float32(0.5))
    given = "mapped.onnx", "--inputs", "inputs.npz", "-b", backend, "--json", "audit.json", "--output", "cases"
    assert command("audit", *given).status == status
    (audit,) = json.loads((here / "audit.json").read_text())["audits"]
    assert {each["verdict"] for each in audit["nodes"]} == {"correct"}
    assert [each["verdict"] for each in audit["probes"] if each["operator"] == "SequenceMap"] == [verdict]
