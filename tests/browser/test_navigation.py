"""Navigation in the report: links, columns, folding, addresses, search, copy buttons and layout."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
from report_page import ReportPage, case_address
from report_sample import CLAUSES, DIAGNOSIS, EVIL_CASE, EVIL_SUBJECT, LEFT, SMALL_CASES, SUBJECTS, large_run, small_run
from runs_in_memory import list_results, with_fields, with_records
from selenium.webdriver.common.by import By

if TYPE_CHECKING:
    from collections.abc import Callable

    Show = Callable[..., ReportPage]

FAILING = "test_adam_epsilon_float"
NAMES = [name for name, *_ in SMALL_CASES]

OUTSIDE = """
const within = (a, b) => b.left >= a.left && b.right <= a.right && b.top >= a.top && b.bottom <= a.bottom;
const box = (node) => node.getBoundingClientRect();
const shown = [...document.querySelectorAll(".strip svg text")].filter((text) => text.checkVisibility());
return shown.filter((text) => !within(box(text.ownerSVGElement), box(text))).map((text) => text.textContent);
"""


def diagnosed() -> Any:
    run = small_run()
    footer = with_fields(run.footer, diagnoses=[DIAGNOSIS], unexplained=[LEFT])
    return dataclasses.replace(run, footer=footer)


def test_reason_links_to_its_case(show: Show) -> None:
    page = show(small_run())
    page.one(".outcome li a").click()
    page.wait("#case")
    assert page.text("#case .identity code") == "test_argmax_ties"


def test_cause_links_to_its_cases(show: Show) -> None:
    page = show(diagnosed())
    cause = next(line for line in page.all(".causes li") if "inside" in line.text)
    assert cause.text.startswith("1 case")
    assert DIAGNOSIS["text"] in cause.text
    cause.find_element(By.CSS_SELECTOR, ".count").click()
    page.wait("#matrix")
    assert page.cases == [FAILING]


def test_cause_links_to_its_smallest_case(show: Show) -> None:
    page = show(diagnosed())
    next(line for line in page.all(".causes li") if "inside" in line.text).find_element(By.CSS_SELECTOR, "code").click()
    page.wait("#case")
    assert page.text("#case .identity code") == FAILING
    assert page.evidence(EVIL_SUBJECT).get_attribute("open")


def test_unexplained_cases_can_be_shown_and_reset(show: Show) -> None:
    page = show(diagnosed())
    assert "crash" in page.text(".diagnosed")
    page.one(".diagnosed a").click()
    page.wait("#matrix")
    assert page.cases == ["test_momentum_nesterov"]
    page.one('[aria-label="Cause"] button').click()
    assert page.cases == NAMES


def test_subject_page_lists_causes(show: Show) -> None:
    page = show(diagnosed(), address="#view=subject")
    page.all("#page .tabs a")[2].click()
    page.settle()
    link = next(link for link in page.all("#page td a") if link.text == FAILING)
    assert DIAGNOSIS["text"] in page.text("#page")
    link.click()
    page.wait("#case")
    assert page.evidence(EVIL_SUBJECT).get_attribute("open")


def test_evidence_describes_the_mutant(show: Show) -> None:
    text = show(diagnosed(), address=case_address(FAILING)).evidence(EVIL_SUBJECT).text
    assert f"{DIAGNOSIS['text']} {DIAGNOSIS['mutant']}" in text


def test_columns_can_be_chosen_and_stay_in_the_address(show: Show) -> None:
    page = show(small_run(), address="#view=matrix")
    page.one(".columns summary").click()
    page.choose("column=onnxruntime")
    assert page.cells(FAILING) == ["fail known"]
    page.go(page.address)
    assert page.texts(".head .subject a") == ["onnxruntime"]
    assert page.text(".columns summary") == "Columns (1 of 3)"


def test_differences_filter_uses_the_chosen_columns(show: Show) -> None:
    page = show(small_run(), address="#view=matrix&column=reference&column=onnxruntime&differences=1")
    assert page.cases == [NAMES[0], FAILING, "test_argmax_nan", "test_momentum_nesterov"]


def test_fold_button_keeps_the_focus(show: Show) -> None:
    page = show(small_run(), address="#view=matrix")
    button = page.one('[aria-label="Cases of adam.epsilon"]')
    button.click()
    assert EVIL_CASE not in page.cases
    assert len(page.cases) == 5
    focused = page.driver.switch_to.active_element
    assert focused.get_attribute("aria-label") == "Cases of adam.epsilon"
    assert focused.get_attribute("aria-expanded") == "false"
    focused.click()
    assert page.cases == NAMES


def test_clauses_are_folded_and_unfold_singly(show: Show) -> None:
    page = show(small_run(), address="#view=matrix")
    page.choose("folded=1")
    assert page.cases == []
    page.one('[aria-label="Cases of argmax.ties"]').click()
    assert page.cases == ["test_argmax_ties"]
    page.go(page.address)
    assert page.cases == ["test_argmax_ties"]


def test_cases_without_a_clause_are_grouped_by_operator(show: Show) -> None:
    run = small_run()
    own = list(run.cases.values())
    cases = [with_fields(case, clauses=[], tags=["ArgMax" if number else "Adam"]) for number, case in enumerate(own)]
    page = show(with_records(run, cases, list_results(run)), address="#view=matrix")
    assert [name.text for name in page.all(".rows .group .name")] == ["Adam", "ArgMax"]
    page.one('[aria-label="Cases of Adam"]').click()
    assert page.cases == [case.case for case in cases[1:]]


@pytest.mark.parametrize(
    "address", ["#view=nowhere", "#verdict=wrong", "#view=matrix&clause=adam.gone", "#foo", "#view=matrix&group=99"]
)
def test_unknown_address_is_named(show: Show, address: str) -> None:
    page = show(small_run(), address=address)
    assert page.heading == "No such address"
    assert page.text("#page li") == address.rpartition("&")[2].lstrip("#")


def test_unknown_address_links_to_its_valid_part(show: Show) -> None:
    page = show(small_run(), address="#view=matrix&verdict=timeout&tag=gone")
    page.one("#page p a").click()
    page.wait("#matrix")
    assert page.cases == [NAMES[0]]


@pytest.mark.parametrize(
    ("address", "title"),
    [
        ("", "ONNX conformance report: 3 subjects, 7 cases"),
        ("#view=scores", "Scores · ONNX conformance"),
        ("#view=matrix", "Cases · ONNX conformance"),
        (case_address(FAILING), f"{FAILING} · ONNX conformance"),
        ("#nowhere", "No such address · ONNX conformance"),
    ],
)
def test_title_follows_the_address(show: Show, address: str, title: str) -> None:
    assert show(small_run(), address=address).driver.title == title


def test_empty_search_names_word_and_offers_removal(show: Show) -> None:
    page = show(small_run(), address="#view=matrix&verdict=timeout&q=t_negative%20nothere")
    assert page.text(".empty code") == "nothere"
    buttons = page.all(".empty button")
    assert [button.text for button in buttons] == ["Without the search for “t_negative nothere”: 1 case"]
    buttons[0].click()
    assert page.cases == [NAMES[0]]
    assert not page.one(".empty").is_displayed()


@pytest.mark.parametrize(
    ("source", "address"),
    [
        (
            "ai.onnx.preview.training Adam-1, summary",
            "https://onnx.ai/onnx/operators/onnx_aionnxpreviewtraining_Adam.html",
        ),
        ("IEEE 754; ai.onnx ArgMax-13", "https://onnx.ai/onnx/operators/onnx__ArgMax.html"),
        ("see onnx/onnx#8423", "https://github.com/onnx/onnx/issues/8423"),
        ("<b>https://example.org/a?b=1</b>", "https://example.org/a?b=1"),
    ],
)
def test_clause_links_to_its_specification(show: Show, source: str, address: str) -> None:
    clauses = {**CLAUSES, "adam.epsilon": {"text": "It is outside.", "source": source}}
    page = show(small_run(clauses=clauses), address=case_address(FAILING))
    assert [link.get_attribute("href") for link in page.all(".clause a")] == [address]
    assert source in page.text(".clause")


@pytest.mark.parametrize("source", ["javascript:alert(1)", "http://example.org", "IEEE 754"])
def test_source_without_address_is_text(show: Show, source: str) -> None:
    clauses = {**CLAUSES, "adam.epsilon": {"text": "It is outside.", "source": source}}
    assert not show(small_run(clauses=clauses), address=case_address(FAILING)).all(".clause a")


def test_button_copies_the_rerun_command(show: Show) -> None:
    page = show(small_run(), address=case_address(FAILING))
    permission = {"permission": {"name": "clipboard-write"}, "setting": "granted"}
    page.driver.execute_cdp_cmd("Browser.setPermission", permission)
    page.driver.execute_cdp_cmd(
        "Browser.setPermission", {"permission": {"name": "clipboard-read"}, "setting": "granted"}
    )
    button = page.evidence("onnxruntime").find_element(By.CSS_SELECTOR, '[aria-label="Copy the command"]')
    button.click()
    page.settle()
    assert button.text == "Copied"
    copied = page.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    assert copied == f"onnx-conformance run -b onnxruntime --case {FAILING}"


def test_compare_two_subjects_has_no_regressions(show: Show) -> None:
    page = show(small_run(), address="#view=compare")
    text = page.text("#page")
    assert "egression" not in text
    assert "Fixes" not in text


@pytest.mark.parametrize("view", ["clauses", "errors"])
def test_wide_table_is_marked_as_scrolling(show: Show, view: str) -> None:
    page = show(large_run(20, 40), address=f"#view={view}")
    box = page.one("#page .listing")
    assert box.size["width"] > 0.9 * page.driver.execute_script("return innerWidth")
    page.settle()
    assert "wide" in box.get_attribute("class").split()
    says = page.driver.execute_script("return getComputedStyle(arguments[0], '::before').content", box)
    assert "scrolls sideways" in says


def test_narrow_table_is_not_marked_as_scrolling(show: Show) -> None:
    page = show(small_run(), address="#view=errors")
    page.settle()
    assert not page.all("#page .wide")


def test_errors_page_is_a_list_on_narrow_screens(show: Show) -> None:
    page = show(small_run(), address="#view=errors", width=390, mobile=True)
    page.settle()
    cells = page.all("#page tbody tr:last-child td")
    places = [(cell.rect["x"], cell.rect["y"]) for cell in cells]
    labels = [
        page.driver.execute_script("return getComputedStyle(arguments[0], '::before').content", cell) for cell in cells
    ]
    assert len({x for x, _ in places}) == 1
    assert [y for _, y in places] == sorted({y for _, y in places})
    assert labels[:2] == [f'"{subject}"' for subject in SUBJECTS[:2]]
    assert not page.all("#page .wide")


def test_plot_labels_are_inside_the_plot(show: Show) -> None:
    page = show(small_run(), address=case_address(FAILING))
    outside = page.driver.execute_script(OUTSIDE)
    assert page.all(".strip text")
    assert outside == []
