"""The hazards report: what every subject answered on the smallest input of each class, from results alone."""

from __future__ import annotations

import pytest
from repository import ROOT
from runs_in_memory import run_of

from conformance.report.formats import hazards as report


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
    told = [
        {"subject": id, "case": cases[0]["case"], "verdict": "pass", "outputs": [], **r} for id, r in results.items()
    ]
    return run_of("r.jsonl", {"subjects": subjects}, cases, told, {})


def cells(table):
    return [line.strip("| \n").split(" | ") for line in table.splitlines()]


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        ({"outputs": [{"data_set": 0, "name": "index", "actual": tensor("index", ["1"])}]}, "1"),
        ({"outputs": [{"data_set": 0, "name": "index"}]}, "0"),
        ({"outputs": [{"data_set": 0, "name": "index", "complaint": "is a str"}], "verdict": "fail"}, "fail"),
        ({"verdict": "crash"}, "crash"),
        ({"checks": [], "hazards": [{"data_set": 0, "before": ["0"], "after": ["1"]}]}, "0 → 1"),
        ({"checks": [], "hazards": []}, "unchanged"),
        ({"checks": [], "verdict": "error"}, "error"),
    ],
)
def test_an_answer_is_shown_as_it_came(result, answer):
    assert cells(rendered([run({"acme": result})]))[2][-1] == f"{answer}: acme"


def test_the_smallest_input_stands_for_its_class_and_operator():
    cases = [case("test_a", ["89", "100", "3"]), case("test_b", ["89", "100"]), case("test_c", ["1"], operator="Log")]
    found = report.samples([run({"acme": {}}, cases)])
    assert [(one.operator, one.case["case"]) for one in found] == [("Exp", "test_b"), ("Log", "test_c")]


def test_what_could_be_markup_is_text():
    assert "<b>" not in rendered([run({"<b>|": {}})])


def test_results_without_hazards_say_so():
    assert rendered([]) == "No case of these results has a hazard.\n"


def test_the_page_shows_every_class_as_it_is():
    assert report.classes() in (ROOT / "docs" / "hazards.md").read_text(encoding="utf-8")


def test_subjects_that_answer_alike_stand_together():
    errs = {"verdict": "error"}
    told = cells(rendered([run({"acme": {"outputs": []}, "b": errs, "exec:node dir/run.mjs": errs})]))[2][-1]
    assert told == "error: b, run.mjs; pass: acme"
