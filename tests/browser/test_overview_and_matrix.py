"""What the overview and the matrix show, and how they are narrowed."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from report_page import ReportPage
from report_sample import (
    EVIL_CASE,
    SMALL,
    SUBJECTS,
    small,
)
from report_sample_optimizers import FIRES, STAYS, rewriting
from runs_in_memory import results_of
from selenium.webdriver.common.by import By

if TYPE_CHECKING:
    from collections.abc import Callable

    Show = Callable[..., ReportPage]

NAMES = [name for name, *_ in SMALL]


def test_many_subjects_are_first_shown_beside_each_other_and_what_the_gate_says_after_them(show: Show) -> None:
    page = show(small(), rewriting())
    assert page.one("#overview section").get_attribute("class") == "board"
    (row,) = (row.text for row in page.all("#board tbody tr") if "onnxruntime" in row.text)
    assert "1 wrong" in row
    assert not page.one(".gate li").is_displayed()
    page.one(".gate summary").click()
    assert page.one(".gate li").is_displayed()


def test_few_subjects_are_shown_with_the_gate_first(show: Show) -> None:
    assert show(small()).one("#overview section").get_attribute("class") == "gate shut"


def test_the_counts_of_the_overview_are_those_of_the_results(show: Show) -> None:
    run = small()
    page = show(run)
    for box, subject in zip(page.all(".standing"), SUBJECTS, strict=True):
        for tally, level in zip(
            box.find_elements(By.CSS_SELECTOR, ".tally"), ("must", "should", "silent"), strict=True
        ):
            counts = Counter(r["verdict"] for r in results_of(run) if (r["subject"], r["level"]) == (subject, level))
            text = tally.find_element(By.CSS_SELECTOR, ".counts").text
            assert text.startswith(f"{counts.pop('pass', 0)} of {sum(r[1] == level for r in SMALL)} passed")
            assert {verdict: int(n) for n, verdict in re.findall(r", (\d+) (\w+)", text)} == counts


def test_a_count_of_the_overview_leads_to_its_cases(show: Show) -> None:
    page = show(small())
    page.one(".standing:nth-of-type(2) .ink-error").click()
    page.wait("#matrix")
    assert page.cases == ["test_momentum_nesterov"]


def test_the_unexpected_results_are_one_link_away(show: Show) -> None:
    page = show(small())
    page.one(".gate p a").click()
    page.wait("#matrix")
    assert page.cases == [NAMES[0], EVIL_CASE, "test_adam_epsilon_float", "test_argmax_ties", "test_momentum_nesterov"]


def test_the_matrix_has_every_case_by_operator(show: Show) -> None:
    page = show(small(), address="#view=matrix")
    assert page.cases == NAMES
    assert [group.text for group in page.all(".row.group b")] == ["adagrad", "adam", "argmax", "momentum"]
    assert page.text("#count") == "showing 7 of 7 cases"


def test_a_cell_says_its_verdict_in_a_word_and_whether_it_was_known(show: Show) -> None:
    page = show(small(), address="#view=matrix")
    assert page.cells("test_adam_epsilon_float") == ["pass", "fail known", "fail"]
    assert page.cells("test_argmax_ties") == ["pass", "pass unexpected", "pass"]


@pytest.mark.parametrize(
    ("text", "cases"),
    [
        ("nesterov", ["test_momentum_nesterov"]),
        ("TEST adam.epsilon", [EVIL_CASE, "test_adam_epsilon_float"]),
        ("onerror", [EVIL_CASE]),
        ("no such words", []),
    ],
)
def test_search_narrows_the_matrix(show: Show, text: str, cases: list[str]) -> None:
    page = show(small(), address="#view=matrix")
    page.search(text)
    assert page.cases == cases
    assert page.text("#count") == f"showing {len(cases)} of 7 cases"


@pytest.mark.parametrize(
    ("choices", "cases"),
    [
        (["verdict=timeout"], ["test_adagrad_t_negative"]),
        (["verdict=timeout", "verdict=crash"], ["test_adagrad_t_negative", "test_momentum_nesterov"]),
        (["level=silent"], ["test_argmax_nan"]),
        (["level=must", "verdict=fail"], ["test_adam_epsilon_float"]),
        (["differences=1"], [NAMES[0], *NAMES[2:5], NAMES[6]]),
        (["differences=1", "differences=1"], NAMES),
    ],
)
def test_filters_narrow_the_matrix(show: Show, choices: list[str], cases: list[str]) -> None:
    page = show(small(), address="#view=matrix")
    for choice in choices:
        page.choose(choice)
    assert page.cases == cases


def test_a_tag_narrows_the_matrix(show: Show) -> None:
    page = show(small(), address="#view=matrix")
    page.one(".tags summary").click()
    page.choose("tag=argmax")
    assert page.cases == ["test_argmax_nan", "test_argmax_ties"]


def test_the_type_of_an_input_and_the_kind_of_a_case_narrow_the_matrix(show: Show) -> None:
    page = show(rewriting(), address="#view=matrix")
    page.choose("kind=pass")
    assert page.cases == [STAYS, FIRES]
    page.choose("type=int64")
    assert page.cases == [STAYS, FIRES]
    assert "type=int64" in page.address


def test_the_cases_of_an_operator_stand_under_their_clauses(show: Show) -> None:
    page = show(small(), address="#view=matrix")
    rows = [row.text.split("\n")[0] for row in page.all("#matrix .rows .row")]
    assert rows[:6] == ["adagrad", "adagrad.decay", NAMES[0], "adam", "adam.v_new", "test_adam"]


def test_an_interrupted_run_has_a_banner(show: Show) -> None:
    assert "The run was interrupted" in show(rewriting(interrupted=True)).text(".banner")


def test_filters_stand_in_the_address_and_come_back_from_it(show: Show) -> None:
    page = show(small(), address="#view=matrix")
    page.search("adam")
    page.choose("verdict=fail")
    sent = page.address
    page.go(sent)
    assert page.cases == ["test_adam_epsilon_float"]
    assert page.one("#search").get_attribute("value") == "adam"
    assert page.one('[data-choice="verdict=fail"]').get_attribute("aria-pressed") == "true"


def test_reset_shows_everything_again(show: Show) -> None:
    page = show(small(), address="#view=matrix&verdict=crash")
    assert len(page.cases) == 1
    page.one("#reset").click()
    page.settle()
    assert page.cases == NAMES


def test_a_partial_run_has_a_banner(show: Show) -> None:
    corpus = {"version": "1.0.0", "digest": "sha256:00", "cases": 900, "selected": 7}
    assert "7 of the corpus's 900 cases" in show(small(corpus=corpus)).text(".banner")


def test_a_report_of_no_run_opens(show: Show) -> None:
    page = show()
    assert "No run was given." in page.text("#overview")
    page.go("#view=matrix")
    assert page.text("#count") == "showing 0 of 0 cases"


def test_two_runs_stand_side_by_side(show: Show) -> None:
    page = show(small(), small(), address="#view=matrix")
    assert page.cells("test_adam_epsilon_float") == ["pass", "fail known", "fail"] * 2
