"""The hazard table: the output of every subject on the smallest input of each class."""

from __future__ import annotations

import pytest
from repository import ROOT
from runs_in_memory import make_result, make_run

from conformance.report.formats import hazard_table as report


def rendered(runs):
    return "".join(report.render(runs))


def tensor(name, values, **more):
    return {"name": name, "type": "float", "shape": [1, len(values)], "values": values, "elided": 0, **more}


def case(name, values, hazard="exp_overflow", operator="Exp"):
    nodes = [{"op_type": op_type, "domain": "ai.onnx"} for op_type in (operator, "ArgMax")]
    data_set = {"inputs": [tensor("X", values)], "outputs": [tensor("index", ["0"], check="index")], "hazard": hazard}
    return {"case": name, "model": {"nodes": nodes}, "data_sets": [data_set]}


def run(results, cases=None):
    cases = cases or [case("test_small", ["89", "100"])]
    subjects = [{"id": id, "kind": "backend", "version": "1"} for id in results]
    results = [make_result(subject=id, case=cases[0]["case"], **r) for id, r in results.items()]
    return make_run("r.jsonl", {"subjects": subjects}, cases, results, {})


CHECK = {"name": "checker", "run": "once", "level": "must"}
CHANGE = {"class": "rounding_tie", "data_set": 0, "run": "once", "before": ["0"], "after": ["1"]}


def cells(table):
    return [line.strip("| \n").split(" | ") for line in table.splitlines()]


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        ({"outputs": [{"data_set": 0, "name": "index", "check": "index", "actual": tensor("index", ["1"])}]}, "1"),
        ({"outputs": [{"data_set": 0, "name": "index", "check": "index"}]}, "0"),
        (
            {
                "outputs": [{"data_set": 0, "name": "index", "check": "index", "violation": "is a str"}],
                "verdict": "fail",
            },
            "fail",
        ),
        ({"verdict": "crash"}, "crash"),
        ({"checks": [CHECK], "hazards": [CHANGE]}, "0 → 1"),
        ({"checks": [CHECK], "hazards": []}, "unchanged"),
        ({"checks": [CHECK], "verdict": "error"}, "error"),
    ],
)
def test_subject_output_is_shown(result, answer):
    assert cells(rendered([run({"acme": result})]))[2][-1] == f"{answer}: acme"


def test_smallest_samples_has_one_per_class_and_operator():
    cases = [case("test_a", ["89", "100", "3"]), case("test_b", ["89", "100"]), case("test_c", ["1"], operator="Log")]
    found = report.smallest_samples([run({"acme": {}}, cases)])
    assert [(one.operator, one.case.case) for one in found] == [("Exp", "test_b"), ("Log", "test_c")]


def test_render_escapes_markup():
    assert "<b>" not in rendered([run({"<b>|": {}})])


def test_render_without_hazards_is_one_sentence():
    assert len(rendered([]).splitlines()) == 1


def test_page_has_the_current_class_table():
    assert report.class_table() in (ROOT / "reports" / "hazards.md").read_text(encoding="utf-8")


def test_subjects_with_equal_output_share_an_entry():
    errs = {"verdict": "error"}
    entry = cells(rendered([run({"acme": {"outputs": []}, "b": errs, "exec:node dir/run.mjs": errs})]))[2][-1]
    assert entry == "error: b, run.mjs; pass: acme"
