"""Ways through the report: from causes to cases, what of the matrix is in sight, addresses, searches, links, copies."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
from report_page import ReportPage, case_address
from report_sample import CLAUSES, EVIL_CASE, EVIL_SUBJECT, SMALL, SUBJECTS, large, small
from selenium.webdriver.common.by import By

if TYPE_CHECKING:
    from collections.abc import Callable

    Show = Callable[..., ReportPage]

FAILING = "test_adam_epsilon_float"
NAMES = [name for name, *_ in SMALL]
DIAGNOSIS = {
    "subject": EVIL_SUBJECT,
    "operator": "Adam",
    "deviation": "adam.epsilon_in_root",
    "text": "adds epsilon <b>inside</b> the root",
    "agrees": 1,
    "of": 2,
    "alike": [],
    "cases": [FAILING],
}
LEFT = {
    "subject": EVIL_SUBJECT,
    "operator": "Momentum",
    "manner": "crash",
    "cases": ["test_momentum_nesterov"],
    "of": 1,
    "passing": 0,
    "shared": [],
}


OUTSIDE = """
const within = (a, b) => b.left >= a.left && b.right <= a.right && b.top >= a.top && b.bottom <= a.bottom;
const box = (node) => node.getBoundingClientRect();
const shown = [...document.querySelectorAll(".strip svg text")].filter((text) => text.checkVisibility());
return shown.filter((text) => !within(box(text.ownerSVGElement), box(text))).map((text) => text.textContent);
"""


def diagnosed() -> Any:
    run = small()
    footer: Any = {**run.footer, "diagnoses": [DIAGNOSIS], "unexplained": [LEFT]}
    return dataclasses.replace(run, footer=footer)


def test_the_gate_leads_to_the_case_that_it_names(show: Show) -> None:
    page = show(small())
    page.one(".gate li a").click()
    page.wait("#case")
    assert page.text("#case .identity code") == "test_argmax_ties"


def test_a_cause_counts_its_cases_and_leads_to_them(show: Show) -> None:
    page = show(diagnosed())
    cause = next(line for line in page.all(".causes li") if "inside" in line.text)
    assert cause.text.startswith("1 case")
    assert DIAGNOSIS["text"] in cause.text
    cause.find_element(By.CSS_SELECTOR, ".count").click()
    page.wait("#matrix")
    assert page.cases == [FAILING]


def test_a_cause_leads_to_its_smallest_case_at_the_subject(show: Show) -> None:
    page = show(diagnosed())
    next(line for line in page.all(".causes li") if "inside" in line.text).find_element(By.CSS_SELECTOR, "code").click()
    page.wait("#case")
    assert page.text("#case .identity code") == FAILING
    assert page.evidence(EVIL_SUBJECT).get_attribute("open")


def test_what_is_unexplained_leads_to_its_cases_and_can_be_given_up(show: Show) -> None:
    page = show(diagnosed())
    assert "1 of 1 failing cases unexplained (crash)" in page.text(".diagnosed")
    page.one(".diagnosed a").click()
    page.wait("#matrix")
    assert page.cases == ["test_momentum_nesterov"]
    page.one('[aria-label="Cause"] button').click()
    assert page.cases == NAMES


def test_a_subject_s_page_says_why_it_fails(show: Show) -> None:
    page = show(diagnosed(), address="#view=subject")
    page.all("#page .tabs a")[2].click()
    page.settle()
    link = next(link for link in page.all("#page td a") if link.text == FAILING)
    assert DIAGNOSIS["text"] in page.text("#page")
    link.click()
    page.wait("#case")
    assert page.evidence(EVIL_SUBJECT).get_attribute("open")


def test_a_deviation_is_told_by_its_sentence(show: Show) -> None:
    told = show(diagnosed(), address=case_address(FAILING)).evidence(EVIL_SUBJECT).text
    assert "Agrees with an implementation that\nadds epsilon <b>inside</b> the root adam.epsilon_in_root" in told


def test_columns_of_the_matrix_are_chosen_and_stand_in_the_address(show: Show) -> None:
    page = show(small(), address="#view=matrix")
    page.one(".columns summary").click()
    page.choose("column=onnxruntime")
    assert page.cells(FAILING) == ["fail known"]
    page.go(page.address)
    assert [head.text for head in page.all(".head .subject a")] == ["onnxruntime"]
    assert page.text(".columns summary") == "Columns (1 of 3)"


def test_what_the_chosen_columns_say_alike_is_hidden(show: Show) -> None:
    page = show(small(), address="#view=matrix&column=reference&column=onnxruntime&differences=1")
    assert page.cases == [NAMES[0], FAILING, "test_argmax_nan", "test_momentum_nesterov"]


def test_a_clause_is_folded_by_its_button_which_keeps_the_focus(show: Show) -> None:
    page = show(small(), address="#view=matrix")
    button = page.one('[aria-label="Cases of adam.epsilon"]')
    button.click()
    assert EVIL_CASE not in page.cases
    assert len(page.cases) == 5
    focused = page.driver.switch_to.active_element
    assert focused.get_attribute("aria-label") == "Cases of adam.epsilon"
    assert focused.get_attribute("aria-expanded") == "false"
    focused.click()
    assert page.cases == NAMES


def test_all_clauses_are_folded_at_once_and_one_of_them_is_opened(show: Show) -> None:
    page = show(small(), address="#view=matrix")
    page.choose("folded=1")
    assert page.cases == []
    page.one('[aria-label="Cases of argmax.ties"]').click()
    assert page.cases == ["test_argmax_ties"]
    page.go(page.address)
    assert page.cases == ["test_argmax_ties"]


@pytest.mark.parametrize(
    "address", ["#view=nowhere", "#verdict=wrong", "#view=matrix&clause=adam.gone", "#foo", "#view=matrix&group=99"]
)
def test_an_unknown_address_is_named(show: Show, address: str) -> None:
    page = show(small(), address=address)
    assert page.heading == "No such address"
    assert page.text("#page li") == address.rpartition("&")[2].lstrip("#")


def test_what_is_known_of_an_unknown_address_is_one_link_away(show: Show) -> None:
    page = show(small(), address="#view=matrix&verdict=timeout&tag=gone")
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
def test_the_title_follows_the_address(show: Show, address: str, title: str) -> None:
    assert show(small(), address=address).driver.title == title


def test_an_empty_search_says_which_word_occurs_nowhere_and_what_would_be_found(show: Show) -> None:
    page = show(small(), address="#view=matrix&verdict=timeout&q=t_negative%20nothere")
    told = page.text(".empty")
    assert "In no id, title, clause or tag: nothere." in told
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
def test_a_clause_leads_to_its_specification(show: Show, source: str, address: str) -> None:
    clauses = {**CLAUSES, "adam.epsilon": {"text": "It is outside.", "source": source}}
    page = show(small(clauses=clauses), address=case_address(FAILING))
    assert [link.get_attribute("href") for link in page.all(".clause a")] == [address]
    assert source in page.text(".clause")


@pytest.mark.parametrize("source", ["javascript:alert(1)", "http://example.org", "IEEE 754"])
def test_a_source_without_a_known_address_is_text(show: Show, source: str) -> None:
    clauses = {**CLAUSES, "adam.epsilon": {"text": "It is outside.", "source": source}}
    assert not show(small(clauses=clauses), address=case_address(FAILING)).all(".clause a")


def test_a_button_copies_the_command_that_runs_a_case_again(show: Show) -> None:
    page = show(small(), address=case_address(FAILING))
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


def test_two_subjects_are_compared_without_a_before(show: Show) -> None:
    page = show(small(), address="#view=compare")
    told = page.text("#page")
    assert "The second does worse" in told
    assert "Regression" not in told
    assert "regression" not in told
    assert "Fixes" not in told


@pytest.mark.parametrize("view", ["clauses", "errors"])
def test_a_wide_table_uses_the_width_and_says_that_it_scrolls(show: Show, view: str) -> None:
    page = show(large(20, 40), address=f"#view={view}")
    box = page.one("#page .listing")
    assert box.size["width"] > 0.9 * page.driver.execute_script("return innerWidth")
    page.settle()
    assert "wide" in box.get_attribute("class").split()
    says = page.driver.execute_script("return getComputedStyle(arguments[0], '::before').content", box)
    assert "scrolls sideways" in says


def test_a_table_that_fits_does_not_say_that_it_scrolls(show: Show) -> None:
    page = show(small(), address="#view=errors")
    page.settle()
    assert not page.all("#page .wide")


def test_errors_on_a_phone_are_a_list_of_subjects(show: Show) -> None:
    page = show(small())
    screen = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    page.go("#view=errors")
    page.settle()
    cells = page.all("#page tbody tr:last-child td")
    places = [(cell.rect["x"], cell.rect["y"]) for cell in cells]
    labels = [
        page.driver.execute_script("return getComputedStyle(arguments[0], '::before').content", cell) for cell in cells
    ]
    wide = page.all("#page .wide")
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert len({x for x, _ in places}) == 1
    assert [y for _, y in places] == sorted({y for _, y in places})
    assert labels[:2] == [f'"{subject}"' for subject in SUBJECTS[:2]]
    assert not wide


def test_the_labels_of_a_plot_lie_within_it(show: Show) -> None:
    page = show(small(), address=case_address(FAILING))
    outside = page.driver.execute_script(OUTSIDE)
    assert page.all(".strip text")
    assert outside == []
