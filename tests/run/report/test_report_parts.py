"""Parts of reports: accuracy, check levels, hazards, groups of failures, and known faults."""

from __future__ import annotations

import dataclasses
import json
import re
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from embedded_data import packed
from msgspec import to_builtins
from report_sample import DIAGNOSIS, LEFT, SUBJECTS, small_run
from report_sample_optimizers import APPLIES_CASE, EVIL_CHECK, EVIL_OPTIMIZER, optimizer_run
from repository import ROOT
from runs_in_memory import list_results, make_result, make_run, text_renderer, with_fields, with_records
from script_modules import script_module

from conformance.base.serialization.decoding import schema_violation
from conformance.base.serialization.printable_text import escape_markdown, plain_decimal
from conformance.run.report.formats import ctrf, html, junit, markdown
from conformance.run.report.formats import hazard_table as report
from conformance.run.report.html.overview import SubjectCauses
from conformance.run.report.html.subjects import Group, GroupKind, columns, groups, link_cases
from conformance.run.report.summary import summary
from conformance.run.results.records import Within

# The accuracy of outputs in reports of runs with `--accuracy`.


FIRST, SECOND = (4, 4), (4, 3)
"""Elements and elements within IEEE 754, in two results."""


def run_with_accuracy():
    """Return the sample run with accuracy in two results of its first subject."""
    run = small_run()
    subject = run.header.subjects[0].id
    results = [result for result in list_results(run) if result.subject == subject][:2]
    for result, (elements, within) in zip(results, (FIRST, SECOND), strict=True):
        result.accuracy = {"IEEE 754": Within(elements, within), "WGSL": Within(elements, elements)}
    return run


def test_summary_counts_elements_and_cases_by_operator():
    document = summary([run_with_accuracy()])
    counted = [each for each in document.accuracy if each.accuracy == "IEEE 754"]
    assert sum(each.elements for each in counted) == 8
    assert sum(each.within for each in counted) == 7
    assert sum(each.cases for each in counted) == 2
    assert sum(each.cases_within for each in counted) == 1
    assert schema_violation("summary", to_builtins(document)) is None


def test_summary_without_accuracy_has_no_key():
    assert "accuracy" not in to_builtins(summary([small_run()]))


def test_markdown_has_an_accuracy_row_for_each_operator():
    lines = text_renderer(markdown.render)([run_with_accuracy()]).splitlines()
    at = lines.index("| subject | operator | within IEEE 754 | within WGSL |")
    assert " elements, " in lines[at + 2]


def test_case_details_have_counts_of_each_grade():
    page = text_renderer(html.render)([run_with_accuracy()])
    counts = {"IEEE 754": {"elements": 4, "within": 3}, "WGSL": {"elements": 4, "within": 4}}
    assert counts in [result.get("accuracy") for detail in packed(page, "details-0") for result in detail["results"]]


# Reports of a graph optimizer that only violates checks of a weaker level.


def failed_run():
    """Return the sample as a failed run with level should."""
    run = optimizer_run(outcome="fail", reasons=["why"])
    for result in list_results(run):
        result.unexpected = result.verdict == "fail"
    return run


def test_summary_counts_cases_by_check_and_level():
    document = summary([optimizer_run()])
    assert to_builtins(document)["checks"] == [
        {"subject": EVIL_OPTIMIZER, "check": EVIL_CHECK, "levels": {"should": 1}}
    ]
    assert schema_violation("summary", to_builtins(document)) is None


def test_markdown_has_a_table_of_checks():
    lines = text_renderer(markdown.render)([optimizer_run()]).splitlines()
    at = lines.index("| subject | check | should |")
    assert lines[at + 2].endswith("| 1 |")


def test_markdown_failures_are_in_the_order_of_the_runs():
    runs = [small_run(), failed_run()]
    subjects = re.findall(r"^<code>(.*)</code>: \d+ cause", text_renderer(markdown.render)(runs), re.MULTILINE)
    assert subjects == [escape_markdown(id) for id in dict.fromkeys(each.subject for each in summary(runs).failures)]


def test_junit_message_has_the_weaker_level():
    root = ET.fromstring(text_renderer(junit.render)([failed_run()]))
    test = next(
        test for test in root.iter("testcase") if test.find("failure") is not None and test.get("name") == APPLIES_CASE
    )
    assert test.get("classname") == f"{EVIL_OPTIMIZER}.must"
    assert test.find("failure").get("message").endswith("(at level should)")


@pytest.mark.parametrize("key", ["name", "level", "violation"])
def test_ctrf_has_each_violation(key):
    tests = json.loads(text_renderer(ctrf.render)([failed_run()]))["results"]["tests"]
    test = next(test for test in tests if "checks" in test.get("extra", {}))
    assert test["suite"] == [EVIL_OPTIMIZER, "must"]
    assert test["extra"]["level"] == "should"
    assert test["extra"]["checks"][0][key]


# The hazard table: the output of every subject on the smallest input of each class.


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
                "outputs": [
                    {
                        "data_set": 0,
                        "name": "index",
                        "check": "index",
                        "violation": {"kind": "no_array", "actual": "str"},
                    }
                ],
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
    assert script_module("make_hazards").class_table() in (ROOT / "reports" / "hazards.md").read_text(encoding="utf-8")


def test_subjects_with_equal_output_share_an_entry():
    errs = {"verdict": "error"}
    entry = cells(rendered([run({"acme": {"outputs": []}, "b": errs, "exec:node dir/run.mjs": errs})]))[2][-1]
    assert entry == "error: b, run.mjs; pass: acme"


# Groups of failing cases in the HTML report: causes, diagnoses, unexplained cases, and links to cases.


render = text_renderer(html.render)

FAILING = "test_adam_epsilon_float"


def diagnosed_run(*diagnoses: Any, unexplained: tuple[Any, ...] = ()) -> Any:
    run = small_run()
    footer = with_fields(run.footer, diagnoses=diagnoses, unexplained=unexplained)
    return dataclasses.replace(run, footer=footer)


def groups_of(*runs: Any) -> list[Group]:
    return groups(runs, columns(runs))


def group_rows(*runs: Any) -> list[tuple[str, str, str, tuple[str, ...]]]:
    return [(group.kind, SUBJECTS[group.column % 3], group.text, group.cases) for group in groups_of(*runs)]


@pytest.mark.parametrize(("more", "text"), [(0, "1 cause, 1 case"), (1, "2 causes, 2 cases")])
def test_causes_of_a_subject_are_counted(more: int, text: str) -> None:
    cause: Any = SimpleNamespace(group=SimpleNamespace(cases=["test_adam"]))
    column: Any = None
    assert SubjectCauses(column, [cause], [cause] * more).count == text


def test_causes_have_the_unexpected_results() -> None:
    found = {(subject, case) for _, subject, _, cases in group_rows(small_run()) for case in cases}
    assert found == {(one.subject, one.case) for one in list_results(small_run()) if one.unexpected}


def test_group_numbers_do_not_depend_on_result_order() -> None:
    run = small_run()
    assert groups_of(with_records(run, run.cases.values(), list_results(run)[::-1])) == groups_of(run)


def test_diagnosis_of_unexpected_results_is_listed_once() -> None:
    texts = [text for _, _, text, _ in group_rows(diagnosed_run(DIAGNOSIS)) if "inside" in text]
    assert len(texts) == 1


def test_diagnosis_of_known_failures_is_a_group() -> None:
    known = {**DIAGNOSIS, "subject": "onnxruntime"}
    found = [
        (kind, subject, cases) for kind, subject, text, cases in group_rows(diagnosed_run(known)) if "inside" in text
    ]
    assert found == [(GroupKind.DIAGNOSIS, "onnxruntime", (FAILING,))]


def test_unexplained_cases_are_a_group() -> None:
    left = {**LEFT, "subject": "onnxruntime", "failure_mode": "error"}
    _, subject, text, cases = next(
        row for row in group_rows(diagnosed_run(unexplained=(left,))) if row[0] == GroupKind.UNEXPLAINED
    )
    assert (subject, cases) == ("onnxruntime", ("test_momentum_nesterov",))
    assert (left["failure_mode"] in text, left["operator"] in text) == (True, True)


def test_groups_of_two_runs_have_their_own_columns() -> None:
    assert [group.column for group in groups_of(small_run(), small_run())] == [
        group.column + 3 * run for run in range(2) for group in groups_of(small_run())
    ]


def test_index_has_the_text_of_diagnosed_mutants() -> None:
    page = render([diagnosed_run(DIAGNOSIS)])
    found = re.search(r'<script type="application/json" id="index">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    assert json.loads(found[1])["mutants"] == {DIAGNOSIS["mutant"]: DIAGNOSIS["text"]}
    assert DIAGNOSIS["text"] not in page, "it is escaped"


def test_link_cases_links_case_ids_only() -> None:
    parts = link_cases("2 cases fail (first test_adam), and test_adamant is none", {"test_adam"})
    assert [(part.text, part.link) for part in parts if part.link] == [("test_adam", "#case=test_adam")]
    assert "".join(part.text for part in parts) == "2 cases fail (first test_adam), and test_adamant is none"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("1e+02", "100"),
        ("-1.5e-04", "-0.00015"),
        ("1e-09", "1e-9"),
        ("3.4e+38", "3.4e38"),
        ("nan", "nan"),
        ("'e'", "'e'"),
    ],
)
def test_plain_decimal_writes_moderate_numbers_without_an_exponent(text, plain):
    assert plain_decimal(text) == plain
