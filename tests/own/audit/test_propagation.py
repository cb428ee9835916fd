"""The error that a node introduces, the error since the inputs, and the command that runs a node alone."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from computing_backend import Computes
from onnx import TensorProto, helper
from refusals import assert_raises

from conformance.commands.cli import main
from conformance.own.audit.audit_page import render_page
from conformance.own.audit.audit_report import text_lines
from conformance.own.audit.audit_session import AuditOptions, SubjectAudit, audit_nodes_alone, audit_subject
from conformance.own.graphs.model_inputs import InputSet
from conformance.own.graphs.reading import LoadedModel
from conformance.subjects.calling.subject_names import Subject

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

KERNELS: dict[str, Any] = {"Tanh": np.tanh, "Neg": np.negative, "Exp": np.exp, "Floor": np.floor}

FAULTY = """
import numpy as np

KERNELS = {"Tanh": np.tanh, "Neg": np.negative, "Exp": lambda x: np.exp(x) * np.float32(1.01), "Floor": np.floor}


def prepare(model, device="CPU"):
    class Prepared:
        def run(self, inputs):
            values = {model.graph.input[0].name: inputs[0]}
            for node in model.graph.node:
                values[node.output[0]] = KERNELS[node.op_type](values[node.input[0]])
            return [values[value.name] for value in model.graph.output]

    return Prepared()
"""


def with_kernels(**others: Any) -> Computes:
    """Return a backend with one kernel for each operator."""
    kernels = KERNELS | others

    def compute(model: onnx.ModelProto, inputs: Sequence[Any]) -> list[Any]:
        values = {model.graph.input[0].name: inputs[0]}
        for node in model.graph.node:
            values[node.output[0]] = kernels[node.op_type](values[node.input[0]]).astype(np.float32)
        return [values[value.name] for value in model.graph.output]

    return Computes(compute)


def write_chain(path: Path, *op_types: str) -> LoadedModel:
    names = ["x", *(op_type.lower() for op_type in op_types)]
    nodes = [helper.make_node(op_type, [names[place]], [names[place + 1]]) for place, op_type in enumerate(op_types)]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 8]) for name in (names[0], names[-1])]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return LoadedModel.read(path)


X = InputSet("given", (np.linspace(-2, 2, 16, dtype=np.float32).reshape(2, 8),))


def audit(model: LoadedModel, **kernels: Any) -> SubjectAudit:
    return audit_subject(model, Subject("kernels", "1", with_kernels(**kernels)), X)


def test_error_of_a_wrong_node_is_propagated_to_the_nodes_after_it(tmp_path: Path) -> None:
    model = write_chain(tmp_path / "m.onnx", "Neg", "Exp", "Tanh")
    nodes = audit(model, Exp=lambda x: np.exp(x) * 1.01).nodes
    assert [node.introduced > 1e-3 for node in nodes] == [False, True, False]
    assert [node.accumulated is not None and node.accumulated > 1e-3 for node in nodes] == [False, True, True]
    assert [node.origin for node in nodes][1:] == [1, 1]


def test_decision_between_nodes_makes_the_error_since_the_inputs_large(tmp_path: Path) -> None:
    model = write_chain(tmp_path / "m.onnx", "Exp", "Floor")
    subject = Subject("kernels", "1", with_kernels(Exp=lambda x: np.exp(x) * (1 - 2e-7)))
    exp, floor = audit_subject(model, subject, InputSet("zeros", (np.zeros((2, 8), np.float32),))).nodes
    assert exp.accumulated is not None
    assert exp.accumulated < 1e-6
    assert (floor.introduced, floor.accumulated, floor.origin) == (0, 1, 0)


def test_nodes_that_are_cut_out_have_the_operands_of_the_whole_model(tmp_path: Path) -> None:
    model = write_chain(tmp_path / "m.onnx", "Neg", "Exp", "Tanh")
    subject = Subject("kernels", "1", with_kernels(Exp=lambda x: np.exp(x) * 1.01))
    alone = audit_nodes_alone(model, subject, X, [1])
    assert [(node.op_type, node.number, node.origin) for node in alone.wrong_nodes] == [("Exp", 1, 1)]
    assert alone.wrong_nodes[0].worst == audit(model, Exp=lambda x: np.exp(x) * 1.01).wrong_nodes[0].worst
    assert not audit_nodes_alone(model, subject, X, [2]).wrong_nodes
    with assert_raises("usage.node-missing"):
        audit_nodes_alone(model, subject, X, [3])


def test_command_of_a_wrong_node_is_in_all_reports_and_runs_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "faulty_kernels.py").write_text(FAULTY)
    write_chain(tmp_path / "my model.onnx", "Neg", "Exp", "Tanh")
    arguments = ["audit", "my model.onnx", "-b", "faulty_kernels", "--no-isolation"]

    def run(*arguments: str) -> tuple[int, dict[str, Any], str]:
        monkeypatch.setattr("sys.argv", ["onnx-conformance", *arguments, "--json", "a.json", "--html", "a.html"])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), json.loads((tmp_path / "a.json").read_text()), capsys.readouterr().out

    status, document, text = run(*arguments)
    command = document["audits"][0]["nodes"][1]["command"]
    assert (status, shlex.split(command)[:3]) == (1, ["onnx-conformance", "audit", "my model.onnx"])
    assert command in text
    assert command.replace("'", "&#39;") in (tmp_path / "a.html").read_text()
    status, alone, _ = run(*shlex.split(command)[1:])
    assert (status, [node["operator"] for node in alone["audits"][0]["nodes"]]) == (1, ["Exp"])


def test_node_below_should_on_hard_data_is_named_in_text_and_page(tmp_path: Path) -> None:
    """A kernel that subtracts from 0 loses the sign of zero, which the given values do not show."""
    model = write_chain(tmp_path / "m.onnx", "Neg")
    subject = Subject("kernels", "1", with_kernels(Neg=lambda x: np.float32(0) - x))
    result = audit_subject(model, subject, X, options=AuditOptions(probes=8, command="audit m.onnx"))
    assert (result.nodes_below_should, len(result.probes_below_should)) == ([], 1)
    (line,) = [place for place, text in enumerate(text_lines(result)) if "SHOULD ON HARD DATA node 0 Neg" in text]
    assert [*text_lines(result)][line + 1].endswith("audit m.onnx --node 0")
    assert "on hard data, level should" in render_page(model, [result], ["x"])


def test_page_has_a_bar_and_a_point_for_each_node(tmp_path: Path) -> None:
    model = write_chain(tmp_path / "m.onnx", "Neg", "Exp", "Tanh")
    page = render_page(model, [audit(model)], ["x"])
    chart = page.partition('class="errors"')[2].partition("</svg>")[0]
    assert (chart.count("<rect"), chart.count("<circle")) == (3, 3)
    places = [float(text.partition('"')[0]) for text in chart.split('cx="')[1:]]
    assert 0 < places[0] < places[1] < places[2]
