"""What the report shows of one case, whatever its names and messages contain."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from report_page import ReportPage, case_address
from report_sample import (
    CLAUSES,
    EVIL_CASE,
    EVIL_MESSAGE,
    EVIL_OUTPUT,
    EVIL_SUBJECT,
    EVIL_TITLE,
    SMALL,
    SUBJECTS,
    small,
)
from runs_in_memory import results_of, with_records, with_results
from selenium.webdriver.common.by import By

if TYPE_CHECKING:
    from collections.abc import Callable

    Show = Callable[..., ReportPage]

FAILING = case_address("test_adam_epsilon_float")


def test_a_case_opens_from_its_name_and_leads_back_to_the_same_filters(show: Show) -> None:
    page = show(small(), address="#view=matrix&verdict=fail")
    page.row("test_argmax_nan").find_element(By.CSS_SELECTOR, ".title a").click()
    page.wait("#case")
    assert page.text("#case .identity code") == "test_argmax_nan"
    page.driver.back()
    page.wait("#matrix")
    assert page.cases == ["test_adam_epsilon_float", "test_argmax_nan"]


def test_a_cell_opens_its_case_at_its_subject(show: Show) -> None:
    page = show(small(), address="#view=matrix")
    page.row("test_adam_epsilon_float").find_elements(By.CSS_SELECTOR, "a.verdict")[1].click()
    page.wait("#case")
    assert page.evidence("onnxruntime").get_attribute("open")
    assert not page.evidence(EVIL_SUBJECT).get_attribute("open")


def test_previous_and_next_follow_the_filters(show: Show) -> None:
    page = show(small(), address=FAILING + "&verdict=fail")
    page.one("a[rel=next]").click()
    page.wait("#case")
    assert page.text("#case .identity code") == "test_argmax_nan"
    assert not page.all("a[rel=next]")


def test_a_case_shows_its_clause_with_its_source(show: Show) -> None:
    page = show(small(), address=FAILING)
    assert CLAUSES["adam.epsilon"]["text"] in page.text(".clause")
    assert CLAUSES["adam.epsilon"]["source"] in page.text(".clause")


def test_a_case_shows_the_first_bad_element_in_decimal_and_hex(show: Show) -> None:
    bad = show(small(), address=FAILING).text(".bad")
    for shown in ("X_new [0, 1]", "2 wrong", "1.75 0x3fe00000", "1.7500012 0x3fe0000a", "± 1.2e-07", "10 ULP"):
        assert shown in bad


def test_only_elements_beyond_their_bound_are_marked_wrong(show: Show) -> None:
    rows = show(small(), address=FAILING + "&subject=onnxruntime").all("#case tr.wrong")
    assert [row.text.split()[:2] for row in rows if row.is_displayed()] == [["[0,", "1]"]]


def test_a_case_shows_errors_in_ulp_and_as_a_fraction_of_the_bound(show: Show) -> None:
    page = show(small(), address=FAILING)
    assert "max 10 ULP, 9.93 times the bound" in page.evidence("onnxruntime").text
    assert "max 0.5 ULP, 0.422 of the bound" in page.evidence("reference").text
    assert "running error bound of the operator's formula" in page.text("#case")


def test_a_case_shows_expectation_message_and_the_command_that_runs_it_again(show: Show) -> None:
    text = show(small(), address=FAILING).evidence("onnxruntime").text
    assert "epsilon is added inside the square root" in text
    assert "first at [0, 1]: 1.7500012 instead of 1.75" in text
    assert "onnx-conformance run -b onnxruntime --case test_adam_epsilon_float" in text


def test_a_verdict_that_varies_says_how_often_it_was_which(show: Show) -> None:
    run = small()
    seen = {"repeats": {"pass": 3, "fail": 2}, "baseline": "pass"}
    results = [{**one, **seen} if one["subject"] == "onnxruntime" else one for one in results_of(run)]
    told = show(with_results(run, results), address=FAILING).evidence("onnxruntime").text
    assert "The verdict varies: of 5 runs 3 pass, 2 fail." in told
    assert re.search(r"In the run that is the baseline:\s+pass", told)


def test_a_case_shows_its_graph_attributes_and_data(show: Show) -> None:
    page = show(small(), address=case_address("test_argmax_ties"))
    drawn = [box.text for box in page.all("#case .graph .box.node text")]
    assert drawn == ["Softmax", "Add", "ArgMax", "ArgMax"]
    for shown in ("keepdims", "int64[2]", "float[2, 2]", "Opsets: ai.onnx 17"):
        assert shown in page.text("#case")


def test_an_index_that_failed_shows_which(show: Show) -> None:
    page = show(small(), address=case_address("test_argmax_nan"))
    assert "has 1 wrong of 2 elements" in page.text("#case")


def test_markup_in_names_and_messages_arrives_as_text(show: Show) -> None:
    page = show(small(), address=case_address(EVIL_CASE))
    assert page.heading == EVIL_TITLE
    assert page.text("#case .identity code") == EVIL_CASE
    message = page.evidence(EVIL_SUBJECT).find_element(By.CSS_SELECTOR, ".message")
    assert message.get_property("textContent") == EVIL_MESSAGE
    assert EVIL_OUTPUT in [box.text for box in page.all(".graph .box.output text")]
    assert not page.all("#case img, #case b b, #case i, #case script")
    page.go("#view=matrix")
    assert EVIL_CASE in page.cases
    assert [head.get_property("textContent") for head in page.all(".head .subject span")] == list(SUBJECTS)
    page.go("")
    assert EVIL_SUBJECT in page.text("#overview")


def test_an_unknown_case_in_the_address_is_named(show: Show) -> None:
    page = show(small(), address="#case=test_gone")
    assert "no case test_gone" in page.text("#case")


def test_a_case_that_a_subject_was_not_given_says_no_result(show: Show) -> None:
    run = small()
    page = show(with_results(run, results_of(run)[1:]), address=case_address(SMALL[0][0]))
    assert page.text(".subject-line").endswith("no result")


def test_a_case_of_an_invalid_model_says_that_it_must_be_rejected_and_where_it_was(show: Show) -> None:
    run, id = small(), "test_adam_epsilon_float"
    data_sets = [{**data_set, "outputs": []} for data_set in run.cases[id]["data_sets"]]
    case = {**run.cases[id], "kind": "invalid", "data_sets": data_sets}
    rejected = {"phase": "load", "message": "InvalidModel: no such mode", "outputs": []}
    told = {"reference": rejected, "onnxruntime": {"outputs": []}}
    results = [{**one, **told.get(one["subject"], {})} if one["case"] == id else one for one in results_of(run)]
    page = show(
        with_records(run, {**run.cases, id: case}.values(), results),
        address=f"{FAILING}&subject=reference",
    )
    assert "Rejected the model; phase: load" in page.evidence("reference").text
    assert "InvalidModel: no such mode" in page.evidence("reference").text
    assert "No output is expected: the model is invalid and must be rejected" in page.text("#case")
    page.go(f"{FAILING}&subject=onnxruntime")
    assert "Computed something from a model that is invalid; phase: compare" in page.evidence("onnxruntime").text
