"""Nodes with subgraphs and calls of functions have cases, which detect faults of the node itself."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest

FAULTY = """
from conformance.subjects.adapters.reference import ReferenceBackend


def faulty(operator, change):
    class Faulty(ReferenceBackend):
        @classmethod
        def prepare(cls, model, device="CPU", **options):
            changed = type(model)()
            changed.CopyFrom(model)
            for node in changed.graph.node:
                if node.op_type == operator:
                    change({each.name: each for each in node.attribute}, node)
            return ReferenceBackend.prepare(changed)

    return Faulty


def forwards(given, _):
    given["scan_input_directions"].ints[:] = [0]


def takes_else(given, _):
    given["then_branch"].g.CopyFrom(given["else_branch"].g)


def never_ends(given, node):
    body = given["body"].g
    (last,) = [each for each in body.node if body.output[0].name in each.output]
    last.op_type = "Identity"
    last.input[:] = [body.input[1].name]


def ignores(given, _):
    given["eps"].f = 1.0


def first_only(given, node):
    body = given["body"].g
    (last,) = [each for each in body.node if body.output[0].name in each.output]
    last.op_type = "Identity"


ScanForwards = faulty("Scan", forwards)
IfElse = faulty("If", takes_else)
EndlessLoop = faulty("Loop", never_ends)
IgnoredAttribute = faulty("Norm", ignores)
MapIsIdentity = faulty("SequenceMap", first_only)
Right = faulty("Norm", lambda given, _: None)
"""

HEAD = '<ir_version: 9, opset_import: ["": 18, "own": 1]>'

MODELS = {
    "ScanForwards": """g (float[b, 3] h, float[t, b, 3] s) => (float[b, 3] H, float[t, b, 3] Y)
        <float[3, 3] W = {1, 2, 0, 0.5, -1, 1, 0, 0.25, 2}>
        { H, Y = Scan <num_scan_inputs = 1, scan_input_directions = [1],
            body = cell (float[b, 3] hin, float[b, 3] x) => (float[b, 3] hout, float[b, 3] y)
                { p = MatMul (x, W) q = Add (p, hin) hout = Tanh (q) y = Identity (hout) }> (h, s) }""",
    "IfElse": """g (bool c, float[3, 2] X) => (float[3, 2] Y)
        { Y = If (c) <then_branch = a() => (t) {t = Neg (X)}, else_branch = b() => (e) {e = Abs (X)}> }""",
    "EndlessLoop": """g (float[2] X) => (float[2] Y, float[n] S) <int64 M = {6}, bool go = {1}, float most = {3}>
        { Y, S = Loop (M, go, X) <body = step (int64 i, bool c, float[2] x) => (bool d, float[2] y, float s)
            { y = Add (x, x) s = ReduceMax <keepdims = 0> (x) d = Less (s, most) }> }""",
    "IgnoredAttribute": """g (float[b, 4] X) => (float[b, 4] Y) { Y = own.Norm <eps: float = 0.001> (X) }
        <domain: "own", opset_import: ["": 18]> Norm <eps> (x) => (y)
        { e = Constant <value_float: float = @eps> () s = Mul (x, x) t = Add (s, e) r = Sqrt (t) y = Div (x, r) }""",
    "MapIsIdentity": """g (float[n, 4] X) => (seq(float[m, 4]) Y) { S = SplitToSequence <axis = 0> (X)
        Y = SequenceMap (S) <body = b (float[m, 4] i) => (float[m, 4] o) { o = Neg (i) }> }""",
}

NESTED = {"ScanForwards": "Scan", "IfElse": "If", "EndlessLoop": "Loop", "IgnoredAttribute": "Norm"}
NESTED["MapIsIdentity"] = "SequenceMap"


def generated_cases(command, here, name, *options):
    """Generate the cases of a model; return the descriptions of those of its nested node."""
    model = onnx.parser.parse_model(f"{HEAD} {MODELS[name]}")
    onnx.save(model, here / "model.onnx")
    ended = command("generate", "--model", "model.onnx", "--output", "cases", *options)
    assert ended.status == 0, ended
    files = sorted((here / "cases").glob("node/*/case.json"))
    found = [{**json.loads(file.read_text()), "id": file.parent.name} for file in files]
    return [each for each in found if NESTED[name] in each["tags"]]


@pytest.mark.variants(2)
@pytest.mark.parametrize("name", MODELS)
def test_case_of_nested_node_detects_fault_of_the_node_only(command, here, name):
    (here / "nested_faults.py").write_text(FAULTY)
    ids = {each["id"] for each in generated_cases(command, here, name)}
    for backend, status in (("Right", 0), (name, 1)):
        arguments = ["-b", f"nested_faults:{backend}", "--results", f"{backend}.jsonl", "-n", "1"]
        assert command("run", "--data", "cases", *arguments).status == status
    records = [json.loads(line) for line in (here / f"{name}.jsonl").read_text().splitlines()]
    failed = {each["case"] for each in records if each["record"] == "result" and each["verdict"] != "pass"}
    assert failed
    assert failed <= ids


def test_scan_has_data_sets_of_several_lengths(command, here):
    (scan,) = generated_cases(command, here, "ScanForwards")
    assert {next(iter(each["inputs"][1]["shape"])) for each in scan["data_sets"]} == {1, 2, 4}


def test_loop_has_data_with_which_its_condition_ends_it_early(command, here):
    (loop,) = generated_cases(command, here, "EndlessLoop")
    steps = {each["outputs"][1]["shape"][0] for each in loop["data_sets"]}
    assert len(steps) > 2
    assert min(steps) < 6


def test_map_of_sequences_has_cases_with_none_one_and_several_tensors(command, here):
    found = generated_cases(command, here, "MapIsIdentity")
    assert {len(each["data_sets"][0]["inputs"]) for each in found} >= {0, 1, 2, 3}
    assert sum(each.get("uses", 0) for each in found) == 1


def test_call_of_a_function_counts_as_a_node_with_its_nodes(command, here):
    (call,) = generated_cases(command, here, "IgnoredAttribute")
    assert call["uses"] == 1
    model = onnx.load(here / "cases/node" / call["id"] / "model.onnx")
    assert [each.name for each in model.functions] == ["Norm"]
    assert json.loads((here / "cases/manifest.json").read_text())["nodes"] == 5


def test_generate_model_chooses_sizes_with_which_its_nodes_have_results(command, here):
    text = f"""{HEAD} g (float[H, 8] X) => (float[a, 7, 8] Y) <int64[3] to = {{-1, 7, 8}}> {{ Y = Reshape (X, to) }}"""
    onnx.save(onnx.parser.parse_model(text), here / "windows.onnx")
    assert command("generate", "--model", "windows.onnx", "--output", "cases").status == 0
    (case,) = (json.loads(file.read_text()) for file in (here / "cases").glob("node/*/case.json"))
    assert case["tags"][0] == "Reshape"


def test_nested_node_with_values_has_no_case_without_values(command, here):
    onnx.save(onnx.parser.parse_model(f"{HEAD} {MODELS['EndlessLoop']}"), here / "model.onnx")
    assert command("generate", "--model", "model.onnx", "--no-values", "--output", "cases").status == 0
    names = {folder.name.split("_")[2] for folder in (here / "cases/node").iterdir()}
    assert "loop" not in names
    assert "add" in names


def test_nested_node_on_inputs_of_the_user_has_a_data_set_with_them(command, here):
    np.savez(here / "inputs.npz", X=np.float32([4, 5]))
    (loop,) = generated_cases(command, here, "EndlessLoop", "--inputs", "inputs.npz")
    assert loop["data_sets"][0]["outputs"][1]["shape"] == [1]
