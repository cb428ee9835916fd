"""The text of an issue displays texts of cases and of subjects literally."""

from __future__ import annotations

import onnx
import pytest
from onnx import helper
from runs_in_memory import make_case, make_result

from conformance.diagnosis.reproduction.folder import issue_text
from conformance.results.records import DiagnosisRecord

HOSTILE = "![x](https://example.org) <script>alert(1)</script> @all \x1b[31m\n## PASSED"
MODEL = helper.make_model(helper.make_graph([], "g", [], []))


def issue(**changed):
    case = make_case(**{"kind": "invalid", "title": HOSTILE} | changed)
    result = make_result(verdict="fail", phase="run", message=HOSTILE)
    result.stderr = HOSTILE
    return issue_text(case, result, f"acme {HOSTILE}", "backend", {HOSTILE: HOSTILE}, "onnx-conformance", MODEL)


def outside_of_code(text):
    return "".join(part for number, part in enumerate(text.split("~~~~")) if number % 2 == 0)


@pytest.mark.parametrize("kind", ["invalid", "node"])
def test_hostile_texts_in_an_issue_are_displayed_literally(kind):
    text = issue(kind=kind)
    assert "alert" in text.splitlines()[0]
    assert "\x1b" not in text
    assert "## PASSED" not in outside_of_code(text).splitlines()
    assert not [raw for raw in ("![", "](", "<script", "@all") if raw in outside_of_code(text)]


def test_hostile_diagnosis_in_an_issue_is_displayed_literally():
    diagnosis = DiagnosisRecord("acme", HOSTILE, "x", HOSTILE, 1, 2, [], [], [])
    case = make_case()
    result = make_result(verdict="fail", phase="run", message="")
    result.stderr = ""
    text = issue_text(case, result, "acme", "backend", {}, "onnx-conformance", MODEL, diagnosis=diagnosis)
    assert "Probable cause" in text
    assert not [raw for raw in ("![", "](", "<script", "@all", "\x1b") if raw in outside_of_code(text)]


def test_names_of_inputs_cannot_end_a_block_of_code():
    value = helper.make_tensor_value_info("a\n~~~~\n# PASSED", onnx.TensorProto.FLOAT, [1])
    model = helper.make_model(helper.make_graph([], "g", [value], []))
    inputs = [{"name": value.name, "type": "float", "shape": [1], "values": ["1"], "elided": 0}]
    case = make_case(data_sets=[{"inputs": inputs, "outputs": []}])
    result = make_result(verdict="fail", phase="run", message="")
    text = issue_text(case, result, "acme", "backend", {}, "onnx-conformance", model)
    assert "# PASSED" not in text.splitlines()
