"""The page of a case, also with hostile names and messages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import to_builtins
from report_page import ReportPage, case_address
from report_sample import (
    CLAUSES,
    EVIL_CASE,
    EVIL_MESSAGE,
    EVIL_OUTPUT,
    EVIL_SUBJECT,
    EVIL_TITLE,
    SMALL_CASES,
    SUBJECTS,
    small_run,
)
from runs_in_memory import list_results, with_fields, with_records, with_results
from selenium.webdriver.common.by import By

if TYPE_CHECKING:
    from collections.abc import Callable

    Show = Callable[..., ReportPage]

FAILING = case_address("test_adam_epsilon_float")


def test_case_opens_from_matrix_and_returns_to_filters(show: Show) -> None:
    page = show(small_run(), address="#view=matrix&verdict=fail")
    page.row("test_argmax_nan").find_element(By.CSS_SELECTOR, ".title a").click()
    page.wait("#case")
    assert page.text("#case .identity code") == "test_argmax_nan"
    page.driver.back()
    page.wait("#matrix")
    assert page.cases == ["test_adam_epsilon_float", "test_argmax_nan"]


def test_cell_opens_case_at_its_subject(show: Show) -> None:
    page = show(small_run(), address="#view=matrix")
    page.row("test_adam_epsilon_float").find_elements(By.CSS_SELECTOR, "a.verdict")[1].click()
    page.wait("#case")
    assert page.evidence("onnxruntime").get_attribute("open")
    assert not page.evidence(EVIL_SUBJECT).get_attribute("open")


def test_previous_and_next_follow_the_filters(show: Show) -> None:
    page = show(small_run(), address=FAILING + "&verdict=fail")
    page.one("a[rel=next]").click()
    page.wait("#case")
    assert page.text("#case .identity code") == "test_argmax_nan"
    assert not page.all("a[rel=next]")


def test_case_shows_clause_and_source(show: Show) -> None:
    page = show(small_run(), address=FAILING)
    assert CLAUSES["adam.epsilon"]["text"] in page.text(".clause")
    assert CLAUSES["adam.epsilon"]["source"] in page.text(".clause")


def test_case_shows_first_wrong_element_in_decimal_and_hex(show: Show) -> None:
    bad = show(small_run(), address=FAILING).text(".bad")
    for shown in ("X_new [0, 1]", "2 wrong", "1.75 0x3fe00000", "1.7500012 0x3fe0000a", "± 1.2e-07", "10 ULP"):
        assert shown in bad


def test_case_view_marks_only_elements_above_their_bound(show: Show) -> None:
    rows = show(small_run(), address=FAILING + "&subject=onnxruntime").all("#case tr.wrong")
    assert [row.text.split()[:2] for row in rows if row.is_displayed()] == [["[0,", "1]"]]


def test_case_shows_errors_in_ulp_and_relative_to_bound(show: Show) -> None:
    page = show(small_run(), address=FAILING)
    worst = {subject: page.evidence(subject).find_element(By.CSS_SELECTOR, ".worst").text for subject in SUBJECTS[:2]}
    assert re.findall(r"[\d.]+", worst["onnxruntime"]) == ["10", "9.93"]
    assert re.findall(r"[\d.]+", worst["reference"]) == ["0.5", "0.422"]


def test_case_shows_expectation_message_and_command(show: Show) -> None:
    text = show(small_run(), address=FAILING).evidence("onnxruntime").text
    known = [each for each in list_results(small_run()) if each.subject == "onnxruntime" and each.expected]
    result = next(each for each in known if each.verdict == "fail")
    assert result.expected.reason in text
    assert result.message in text
    assert "onnx-conformance run -b onnxruntime --case test_adam_epsilon_float" in text


def test_varying_verdict_shows_counts(show: Show) -> None:
    run = small_run()
    seen = {"repeats": {"pass": 3, "fail": 2}, "baseline": "pass"}
    results = [with_fields(one, **seen) if one.subject == "onnxruntime" else one for one in list_results(run)]
    evidence = show(with_results(run, results), address=FAILING).evidence("onnxruntime")
    varying = evidence.find_element(By.CSS_SELECTOR, ".varies").text
    assert re.findall(r"\d+ \w+", varying) == ["5 runs", "3 pass", "2 fail"]
    assert re.search(r"baseline:\s+pass", evidence.text)


def test_case_shows_graph_attributes_and_data(show: Show) -> None:
    page = show(small_run(), address=case_address("test_argmax_ties"))
    drawn = [box.text for box in page.all("#case .graph .box.node text")]
    assert drawn == ["Softmax", "Add", "ArgMax", "ArgMax"]
    for shown in ("keepdims", "int64[2]", "float[2, 2]", "Opsets: ai.onnx 17"):
        assert shown in page.text("#case")


def test_wrong_index_is_shown(show: Show) -> None:
    page = show(small_run(), address=case_address("test_argmax_nan"))
    assert "1 wrong" in page.text("#case")


def test_markup_in_names_and_messages_is_text(show: Show) -> None:
    page = show(small_run(), address=case_address(EVIL_CASE))
    assert page.heading == EVIL_TITLE
    assert page.text("#case .identity code") == EVIL_CASE
    message = page.evidence(EVIL_SUBJECT).find_element(By.CSS_SELECTOR, ".message")
    assert message.get_property("textContent") == EVIL_MESSAGE.replace("\u2028", r"\u2028")
    assert EVIL_OUTPUT in [box.text for box in page.all(".graph .box.output text")]
    assert not page.all("#case img, #case b b, #case i, #case script")
    page.go("#view=matrix")
    assert EVIL_CASE in page.cases
    assert [head.get_property("textContent") for head in page.all(".head .subject span")] == list(SUBJECTS)
    page.go("")
    assert EVIL_SUBJECT in page.text("#overview")


def test_unknown_case_is_named(show: Show) -> None:
    page = show(small_run(), address="#case=test_gone")
    assert page.text("#case code") == "test_gone"


def test_subject_without_result_shows_no_result(show: Show) -> None:
    run = small_run()
    page = show(with_results(run, list_results(run)[1:]), address=case_address(SMALL_CASES[0][0]))
    assert page.text(".subject-line").endswith("no result")


def test_invalid_model_shows_rejection_and_phase(show: Show) -> None:
    run, id = small_run(), "test_adam_epsilon_float"
    data_sets = [with_fields(data_set, outputs=[]) for data_set in run.cases[id].data_sets]
    case = with_fields(run.cases[id], kind="invalid", data_sets=data_sets)
    rejected = {"phase": "load", "message": "InvalidModel: no such mode", "outputs": []}
    changes = {"reference": rejected, "onnxruntime": {"outputs": []}}
    results = [with_fields(one, **changes.get(one.subject, {})) if one.case == id else one for one in list_results(run)]
    page = show(with_records(run, {**run.cases, id: case}.values(), results), address=f"{FAILING}&subject=reference")
    assert "phase: load" in page.evidence("reference").text
    assert rejected["message"] in page.evidence("reference").text
    assert not page.all("#case details.data")
    page.go(f"{FAILING}&subject=onnxruntime")
    assert "phase: compare" in page.evidence("onnxruntime").text


def test_case_without_inputs_has_no_empty_table_and_open_elements_are_not_wrong(show: Show) -> None:
    run = small_run()
    given = run.cases["test_adam_epsilon_float"]
    data = to_builtins(given.data_sets[0])
    for output in data["outputs"]:
        output["bounds"] = ["inf"] * len(output["values"])
    long = "Adam computes the same in the main graph: R is an initializer that is an input too (" + "tensors of X, " * 9
    case = with_fields(given, title=long, data_sets=[{**data, "inputs": []}])
    cases = [case if each is given else each for each in run.cases.values()]
    page = show(with_records(run, cases, list_results(run)), address=FAILING)
    assert page.text("#case h1") == long.partition(":")[0]
    assert not page.all(".numbers tr.wrong")
    assert page.text("details.data .numbers tbody td:nth-child(2)") == "any value"
    assert [each.text for each in page.all("#case table caption") if each.text == "Inputs"] == []
