"""`onnx-conformance audit`."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from isolation_support import faulty_harness
from onnx import TensorProto, helper
from refusals import assert_bad_input

OWN = ("-b", "onnx-reference", "--no-isolation")


@pytest.fixture
def model(here):
    """A model of 40 nodes in the current directory."""
    names = ["X", *(f"v{number}" for number in range(39)), "Y"]
    nodes = [
        helper.make_node(["Tanh", "Neg"][number % 2], [names[number]], [names[number + 1]]) for number in range(40)
    ]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 3]) for name in ("X", "Y")]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), here / "m.onnx")
    return "m.onnx"


def test_audit_shows_seed_shapes_and_operators(command, model, here):
    ended = command(
        "audit", model, *OWN, "--shape", "batch=4", "--seed", "7", "--html", "a.html", "--save-inputs", "in"
    )
    assert ended.status == 0
    assert "inputs (seed 7): X float 4x3" in ended.out
    judged = "PASSED: 40 of 40 nodes judged (480 of 480 elements; 100 % of the arithmetic), 0 wrong"
    assert ended.out.splitlines()[-1] == f"{judged}; on hard data 2 of 2 distinct nodes judged, 0 wrong"
    assert (here / "a.html").read_text().count("<rect") == 2 * 40  # in the graph and in the chart of errors
    assert (here / "in/test_data_set_0/input_0.pb").exists()
    assert "Wrote a.html." in ended.out
    assert not command("audit", model, *OWN, "--inputs", "in", "--json", "again.json").status


@pytest.mark.programs
def test_result_is_the_same_for_any_number_of_workers(command, model, here):
    assert not command("audit", model, *OWN, "--json", "one.json").status
    assert not command("audit", model, *OWN, "--json", "two.json", "-n", "2").status
    assert (here / "one.json").read_bytes() == (here / "two.json").read_bytes()


def test_resumed_audit_has_the_same_result_and_refuses_another_model(command, model, here):
    for name in ("first", "second"):
        assert not command("audit", model, *OWN, "--json", f"{name}.json", "--resume", "kept").status
    assert (here / "first.json").read_bytes() == (here / "second.json").read_bytes()
    proto = onnx.load(here / model)
    proto.doc_string = "other"
    onnx.save(proto, here / "other.onnx")
    ended = command("audit", "other.onnx", *OWN, "--resume", "kept")
    assert (ended.status, ended.code) == (2, "job.other-job")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("missing.onnx", *OWN), "model.file-unreadable"),
        (("m.onnx",), "usage.subject-missing"),
        (("m.onnx", *OWN, "--shape", "batch=x"), "usage.invalid-shape"),
        (("m.onnx", *OWN, "--inputs", "missing.npz"), "usage.input-unreadable"),
        (("m.onnx", *OWN, "--inputs", "wrong.npz"), "usage.input-missing"),
        (("m.onnx", *OWN, "-n", "2", "--dask", "tcp://127.0.0.1:1"), "usage.workers-and-dask"),
        (("m.onnx", *OWN, "--resume", "m.onnx"), "job.state-not-a-folder"),
        (("m.onnx", "-b", "nonsuch", "--no-isolation"), "name.unknown-subject"),
    ],
)
def test_bad_input_is_refused_and_leaves_nothing_behind(command, model, here, arguments, code):
    np.savez(here / "wrong.npz", Z=np.zeros(3))
    before = sorted(path.name for path in here.iterdir())
    ended = command("audit", *arguments, "--html", "a.html", "--save-inputs", "in", "--output", "cases")
    assert (ended.status, ended.code) == (2, code)
    assert sorted(path.name for path in here.iterdir()) == before


@pytest.mark.programs
@pytest.mark.parametrize("fault", ["closes_stdout", "not_a_number"])
def test_subject_that_hangs_or_returns_garbage_is_reported(command, model, here, fault):
    ended = command("audit", model, "-b", faulty_harness(fault), "--timeout", "2", "--json", "a.json")
    assert ended.status == 1
    (audit,) = json.loads((here / "a.json").read_text())["audits"]
    assert audit["failure"]
    assert not audit["nodes"]


@pytest.mark.parametrize(("ir_version", "opset"), [(99, 17), (8, 99)])
def test_audit_of_a_model_newer_than_onnx_says_to_upgrade_onnx(command, model, here, ir_version, opset):
    newer = onnx.load(here / "m.onnx")
    newer.ir_version = ir_version
    newer.opset_import[0].version = opset
    newer.graph.node[1].op_type = "Tomorrow" if opset == 99 else "Neg"
    onnx.save(newer, here / "newer.onnx")
    ended = command("audit", "newer.onnx", *OWN)
    assert_bad_input(ended, "model.newer-than-onnx", "newer.onnx", "99", "--upgrade onnx")
