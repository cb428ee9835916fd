"""The independent test of `audit`: planted faults are found, correct variants are not, and exact values are right."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import helper
from repository import ROOT

from checks.truth import report, run
from checks.truth.evaluate import FLOATS, RECURRENT, evaluate
from checks.truth.exact import FORMULAS, evaluate_exactly
from checks.truth.exact_node import NoFormula
from checks.truth.faults import FAULTS
from checks.truth.report import outcome
from checks.truth.settle import describe, describe_shape, widened, widened_feeds
from checks.truth.variants import VARIANTS

if TYPE_CHECKING:
    from pathlib import Path


def is_of_floats(name: str) -> bool:
    """Return whether the node of a fault has formulas and a first output of floats that double can represent."""
    node = FAULTS[name].node
    if node is None or node.operator not in FORMULAS or "group" in node.attributes:
        return False
    if node.operator in RECURRENT | {"Attention", "Cast", "OneHot", "QuantizeLinear"}:
        return False
    return node.model().graph.output[0].type.tensor_type.elem_type in FLOATS


def test_audit_node_with_planted_fault_is_found() -> None:
    assert outcome(run.audit_node("cast-half-truncates", "realistic")) == "found"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("add-int64-as-double", "found"),
        ("cast-double-to-half-twice", "found"),
        ("cast-minus-zero", "found at level should"),
        ("greaterorequal-nan", "found"),
    ],
)
def test_audit_node_with_fault_on_hard_data_is_found_by_probes(name: str, found: str) -> None:
    assert outcome(run.audit_node(name, "probes")) == found


def test_audit_planted_model_names_the_faulty_node() -> None:
    assert outcome(run.audit_planted(0, "realistic")) == "found"


@pytest.mark.parametrize("variant", ["flipped", "fused"])
def test_audit_chain_of_a_correct_variant_accuses_nothing(tmp_path: Path, variant: str) -> None:
    record = run.audit_chain(3, variant, tmp_path)
    assert (record["status"], record["wrong"]) == (0, [])
    assert record["judged"]["nodes"] > 0


def test_main_continues_where_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "audit_chain", lambda seed, subject, _: {"status": 0, "seed": seed, "subject": subject})
    for last in ("1", "3"):
        arguments = ["run", "chains", "--seeds", f"0..{last}", "--subjects", "plain", "--output", str(tmp_path)]
        monkeypatch.setattr("sys.argv", arguments)
        run.main()
    records = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [record["seed"] for record in records] == [0, 1, 2]


def test_main_of_report_counts_results_of_each_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = [{"number": 3, "operator": "Add"}]
    records: list[dict[str, Any]] = [
        {"job": "changed 0 zeros", "faulty": ["Add"], "wrong": wrong},
        {"job": "probes add onnxruntime", "status": 1, "judged": {"nodes": 1, "all_nodes": 2}, "wrong": wrong},
        {"job": "blamed 0 add realistic", "text": "5. The verdict\n  B is wrong"},
    ]
    results = tmp_path / "results.jsonl"
    results.write_text("\n".join(map(json.dumps, records)))
    monkeypatch.setattr("sys.argv", ["report", str(results)])
    with pytest.raises(SystemExit) as end:
        report.main()
    assert end.value.code == 0
    assert re.findall(r"\d+", capsys.readouterr().out) == ["1", "1", "1", "1", "2", "1", "1", "0"]


def test_evaluate_exactly_agrees_with_a_computation_in_double() -> None:
    compared = set()
    for name in filter(is_of_floats, FAULTS):
        node: Any = FAULTS[name].node
        model, feeds = widened(node.model()), widened_feeds(node.feeds())
        try:
            exact = evaluate_exactly(model, feeds)[0]
        except NoFormula:
            continue
        try:
            wide = evaluate(model, feeds, VARIANTS["plain"])[0]
        except NotImplementedError:  # onnx's reference lacks the operator
            continue
        compared.add(node.operator)
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(wide.astype(float), exact.astype(float), rtol=1e-6, atol=1e-12, err_msg=name)
    assert len(compared) > 45


def case_of(tmp_path: Path, operator: str, array: Any) -> Path:
    """Write a case of one node with one operand."""
    number = helper.np_dtype_to_tensor_dtype(array.dtype)
    values = [helper.make_tensor_value_info(name, number, array.shape) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node(operator, ["x"], ["y"])], "g", values[:1], values[1:])
    (tmp_path / "test_data_set_0").mkdir()
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), tmp_path / "model.onnx")
    (tmp_path / "test_data_set_0" / "input_0.pb").write_bytes(onnx.numpy_helper.from_array(array).SerializeToString())
    return tmp_path


@pytest.mark.parametrize(
    ("value", "expected", "truth"),
    [(1.6487, 1.6487213, "runtime"), (1.6487213, 1.6487, "OURS"), (1.6487214, 1.6487213, "open")],
)
def test_describe_settles_an_accusation_by_the_exact_value(
    tmp_path: Path, value: float, expected: float, truth: str
) -> None:
    case = case_of(tmp_path, "Exp", np.array([0.5], np.float32))
    worst = {"output": "y", "index": [0], "value": value, "expected": expected, "bound": 1e-7}
    node = {"operator": "Exp", "type": "float", "worst": worst, "reason": None}
    assert f": {truth}, " in describe(node, case)


@pytest.mark.parametrize(
    ("reason", "truth"),
    [("y is float [1, 1], but must be float [1]", "runtime"), ("y is float [1], but must be float [1, 1]", "OURS")],
)
def test_describe_shape_settles_an_accusation_by_the_exact_shape(tmp_path: Path, reason: str, truth: str) -> None:
    feeds = {"x": np.array([0.5], np.float32)}
    case = case_of(tmp_path, "Exp", feeds["x"])
    assert describe_shape(onnx.load(case / "model.onnx"), feeds, reason).startswith(truth)


AUDITED = re.split(r"^## ", (ROOT / "reports/findings/by-audit.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]


@pytest.mark.parametrize("section", AUDITED, ids=[section.partition("\n")[0] for section in AUDITED])
def test_finding_by_audit_states_the_exact_values(section: str) -> None:
    model = onnx.parser.parse_model(section.split("```")[1].removeprefix("text"))
    onnx.checker.check_model(model, full_check=True)
    type = model.graph.input[0].type.tensor_type
    stated = (re.findall(rf"- {name}: \w+ = ([-+e., \d]+)", section)[0] for name in ("Input", "Expected"))
    inputs, expected = ([float(each.strip(" .")) for each in text.split(", ") if each] for text in stated)
    X = np.array(inputs).astype(helper.tensor_dtype_to_np_dtype(type.elem_type))
    exact = evaluate_exactly(model, {"X": X.reshape([dim.dim_value for dim in type.shape.dim])})[0]
    np.testing.assert_allclose(exact.astype(float).reshape(-1), expected, rtol=1e-6)
