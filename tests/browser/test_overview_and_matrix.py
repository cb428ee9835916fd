"""The overview, the matrix and its filters."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs
from report_page import ReportPage
from report_sample import EVIL_CASE, SMALL_CASES, SUBJECTS, small_run
from report_sample_optimizers import APPLIES_CASE, DOES_NOT_APPLY_CASE, optimizer_run
from runs_in_memory import list_results, with_fields, with_results
from selenium.webdriver.common.by import By

from conformance.run.results.failure_groups import failing_cases
from conformance.run.results.outcome_counts import WEAKER_OPTION, OutcomeCounts
from conformance.run.results.recorded_environment import format_date

if TYPE_CHECKING:
    from collections.abc import Callable

    Show = Callable[..., ReportPage]

NAMES = [name for name, *_ in SMALL_CASES]


def test_overview_of_many_subjects_has_scores_after_the_outcome(show: Show) -> None:
    page = show(small_run(), optimizer_run())
    classes = [section.get_attribute("class") for section in page.all("#overview section")]
    assert classes[:2] == ["outcome failed", "board"]
    (row,) = (row.text for row in page.all("#board tbody tr") if "onnxruntime" in row.text)
    assert "1 wrong" in row
    assert not page.one(".outcome li").is_displayed()
    page.one(".outcome summary").click()
    assert page.one(".outcome li").is_displayed()


def test_overview_of_few_subjects_begins_with_outcome(show: Show) -> None:
    assert show(small_run()).one("#overview section").get_attribute("class") == "outcome failed"


def test_overview_counts_equal_the_results(show: Show) -> None:
    run = small_run()
    page = show(run)
    for box, subject in zip(page.all(".standing"), SUBJECTS, strict=True):
        for tally, level in zip(
            box.find_elements(By.CSS_SELECTOR, ".tally"), ("must", "should", "silent"), strict=True
        ):
            counts = Counter(r.verdict for r in list_results(run) if (r.subject, r.level) == (subject, level))
            text = tally.find_element(By.CSS_SELECTOR, ".counts").text
            assert text.startswith(f"{counts.pop('pass', 0)} of {sum(r[1] == level for r in SMALL_CASES)} passed")
            assert {verdict: int(n) for n, verdict in re.findall(r", (\d+) (\w+)", text)} == counts


def test_overview_count_links_to_its_cases(show: Show) -> None:
    page = show(small_run())
    page.one(".standing:nth-of-type(2) .ink-error").click()
    page.wait("#matrix")
    assert page.cases == ["test_momentum_nesterov"]


def test_overview_links_to_unexpected_results(show: Show) -> None:
    page = show(small_run())
    page.one(".outcome p a").click()
    page.wait("#matrix")
    assert page.cases == [NAMES[0], EVIL_CASE, "test_adam_epsilon_float", "test_argmax_ties", "test_momentum_nesterov"]


def test_matrix_has_every_case_by_operator(show: Show) -> None:
    page = show(small_run(), address="#view=matrix")
    assert page.cases == NAMES
    assert page.texts(".row.group b") == ["adagrad", "adam", "argmax", "momentum"]
    assert page.text("#count") == "showing 7 of 7 cases"


def test_cell_shows_verdict_and_known_mark(show: Show) -> None:
    page = show(small_run(), address="#view=matrix")
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
def test_search_filters_the_matrix(show: Show, text: str, cases: list[str]) -> None:
    page = show(small_run(), address="#view=matrix")
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
def test_filters_restrict_the_matrix(show: Show, choices: list[str], cases: list[str]) -> None:
    page = show(small_run(), address="#view=matrix")
    for choice in choices:
        page.choose(choice)
    assert page.cases == cases


def test_tag_filters_the_matrix(show: Show) -> None:
    page = show(small_run(), address="#view=matrix")
    page.one(".tags summary").click()
    page.choose("tag=argmax")
    assert page.cases == ["test_argmax_nan", "test_argmax_ties"]


def test_input_type_and_kind_filter_the_matrix(show: Show) -> None:
    page = show(optimizer_run(), address="#view=matrix")
    page.choose("kind=pass")
    assert page.cases == [DOES_NOT_APPLY_CASE, APPLIES_CASE]
    page.choose("type=int64")
    assert page.cases == [DOES_NOT_APPLY_CASE, APPLIES_CASE]
    assert "type=int64" in page.address


def test_cases_are_grouped_by_clause(show: Show) -> None:
    page = show(small_run(), address="#view=matrix")
    rows = [row.text.split("\n")[0] for row in page.all("#matrix .rows .row")]
    assert rows[:6] == ["adagrad", "adagrad.decay", NAMES[0], "adam", "adam.v_new", "test_adam"]


def test_interrupted_run_has_a_banner(show: Show) -> None:
    assert "interrupted" in show(optimizer_run(interrupted=True)).text(".banner")


def test_filters_are_restored_from_the_address(show: Show) -> None:
    page = show(small_run(), address="#view=matrix")
    page.search("adam")
    page.choose("verdict=fail")
    sent = page.address
    page.go(sent)
    assert page.cases == ["test_adam_epsilon_float"]
    assert page.one("#search").get_attribute("value") == "adam"
    assert page.one('[data-choice="verdict=fail"]').get_attribute("aria-pressed") == "true"


def test_reset_shows_all_cases(show: Show) -> None:
    page = show(small_run(), address="#view=matrix&verdict=crash")
    assert len(page.cases) == 1
    page.one("#reset").click()
    page.settle()
    assert page.cases == NAMES


def test_partial_run_has_a_banner(show: Show) -> None:
    corpus = {"version": "1.0.0", "digest": "sha256:00", "cases": 900, "selected": 7}
    page = show(small_run(corpus=corpus, selections=[{"keyword": "argmax"}]))
    assert re.findall(r"\d+", page.text(".banner")) == ["7", "900"]


def test_report_without_runs_opens(show: Show) -> None:
    page = show()
    assert page.text(".outcome .word").endswith("FAILED")
    page.go("#view=matrix")
    assert page.text("#count") == "showing 0 of 0 cases"


def test_matrix_of_two_runs_has_separate_columns(show: Show) -> None:
    page = show(small_run(), small_run(), address="#view=matrix")
    assert page.cells("test_adam_epsilon_float") == ["pass", "fail known", "fail"] * 2


def test_outcome_has_counts_date_and_weaker_failures(show: Show) -> None:
    run = small_run(started=1_700_000_000)
    text = show(run).text(".outcome")
    counts = OutcomeCounts.of_run(run)
    assert counts.sentence in text
    assert format_date(run.header.started) in text
    assert (WEAKER_OPTION in text) is bool(counts.weaker_failures)


def test_overview_lists_failures_that_diagnosis_did_not_examine(show: Show) -> None:
    run = small_run()
    failing = failing_cases(run)
    subject, cases = next(iter(failing.items()))
    left: Any = {"subject": subject, "operator": "Adam", "failure_mode": "error", "cases": cases[:1], "failing": 1}
    footer = with_fields(run.footer, unexplained=[{**left, "passing": 0, "shared": []}])
    page = show(dataclasses.replace(run, footer=footer))
    shown = [[int(number) for number in re.findall(r"\d+", one.text)] for one in page.all(".not-examined")]
    assert [len(cases) - 1 if one == subject else len(own) for one, own in failing.items()] == [
        of - examined for examined, of in (numbers[-2:] for numbers in shown)
    ]


@pytest.mark.parametrize(
    ("label", "parts"),
    [
        ("onnxruntime@1.20.1", ["onnxruntime", "@1.20.1"]),
        ("package.module:Backend", ["package.", "module:", "Backend"]),
        ("onnxruntime[level=all]", ["onnxruntime", "[level=all]"]),
    ],
)
def test_matrix_breaks_no_version(show: Show, label: str, parts: list[str]) -> None:
    run = small_run()
    header = structs.replace(run.header, subjects=[structs.replace(run.header.subjects[0], id=label)])
    results = [with_fields(result, subject=label) for result in list_results(run) if result.subject == SUBJECTS[0]]
    page = show(with_results(dataclasses.replace(run, header=header), results), address="#view=matrix")
    texts = "return [...arguments[0].childNodes].filter((n) => n.nodeType === 3).map((n) => n.data)"
    assert page.driver.execute_script(texts, page.one(".head .subject span")) == parts
