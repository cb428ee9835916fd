"""`audit_model`, the audit as a function of the Python interface."""

from __future__ import annotations

import json

import msgspec
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from refusals import assert_raises

from conformance import audit_model

X = np.float32([[1, -2, 3]])


@pytest.fixture
def model(here):
    """A model of two nodes, of X and an initializer, which is also the file `model.onnx`."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3]) for name in ("X", "Y")]
    nodes = [helper.make_node("Neg", ["X"], ["t"]), helper.make_node("Add", ["t", "c"], ["Y"])]
    constant = helper.make_tensor("c", TensorProto.FLOAT, [3], [1.0, 2.0, 3.0])
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], [constant])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(made, here / "model.onnx")
    return made


def test_result_is_that_of_the_command_and_nothing_is_printed(model, command, capfd, here):
    audit = audit_model(model.SerializeToString(), "fake_subject:always_right", seed=3)
    assert capfd.readouterr() == ("", "")
    assert audit
    ended = command(
        "audit", "model.onnx", *("-b", "fake_subject:always_right", "--no-isolation", "--seed", "3", "--json", "a.json")
    )
    assert ended.out.splitlines()[-1] == audit.summary
    written = json.loads((here / "a.json").read_text())
    returned = json.loads(msgspec.json.encode(audit.document))
    assert written["audits"][0].pop("command")
    assert returned["audits"][0].pop("command") is None  # the function has no command line
    assert written == returned


def test_wrong_backend_fails_with_its_wrong_nodes(model):
    for given, inputs in ((model, [X]), ("model.onnx", {"X": X})):
        audit = audit_model(given, "fake_subject:always_wrong", inputs=inputs)
        assert not audit
        assert audit.outcome == "FAILED"
        assert [node.number for node in audit.audits[0].wrong_nodes] == [0]  # node 1 received values that explain it
        assert [each.node.number for each in audit.audits[0].wrong_probes] == [0, 1]
        assert str(audit).endswith(audit.summary)
        assert audit.document.seed is None


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({}, "usage.value-missing"),
        ({"X": X, "c": X}, "name.value"),
        ([X, X], "usage.value-count"),
        ({"X": X[0]}, "usage.call-invalid"),
        ({"X": X.astype(np.float64)}, "usage.call-invalid"),
        ({"X": [X]}, "usage.call-invalid"),
        ({"X": object()}, "usage.not-an-array"),
        ("missing.npz", "usage.input-unreadable"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(model, inputs, code):
    with assert_raises(code):
        audit_model("model.onnx", "fake_subject:always_right", inputs=inputs)


def test_bytes_that_are_no_model_and_an_unknown_backend_are_refused(model):
    with assert_raises("model.not-a-model"):
        audit_model(b"no model", "fake_subject:always_right")
    with assert_raises("name.unknown-subject"):
        audit_model(model, "no-such-backend")
