"""The pages of subjects, scores, clauses, errors, silent cases, hazards and comparisons."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from report_page import ReportPage
from report_sample import CLAUSES, EVIL_SUBJECT, SUBJECTS, small_run
from report_sample_optimizers import (
    APPLIES_CASE,
    EVIL_HAZARD,
    EVIL_OPTIMIZER,
    EVIL_REASON,
    OPTIMIZER,
    TIES,
    optimizer_run,
)
from runs_in_memory import list_results, with_fields, with_records, with_results
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

if TYPE_CHECKING:
    from collections.abc import Callable

    Show = Callable[..., ReportPage]


OTHER_RESULTS = "Results that are neither pass nor unexpected"
REGRESSIONS = "New failures and other regressions"


def subject_address(subject: str) -> str:
    return f"#view=subject&subject={quote(subject, safe='')}"


def section(page: ReportPage, title: str) -> Any:
    """Return the section of a page with this heading."""
    found = (box for box in page.all("#page section") if box.find_element(By.CSS_SELECTOR, "h2").text == title)
    return next(found)


def changed(subject: str, case: str, **news: Any) -> Any:
    """Return a later run of the same subjects with one changed result."""
    run = small_run()
    is_it = lambda result: (result.subject, result.case) == (subject, case)  # noqa: E731
    results = tuple(with_fields(result, **news) if is_it(result) else result for result in list_results(run))
    return with_results(run, results, path="new.jsonl")


def test_navigation_opens_every_page(show: Show) -> None:
    page = show(optimizer_run(), small_run())
    titles = []
    for link in page.all(".bar nav a"):
        link.click()
        page.settle()
        titles.append(page.heading)
        assert page.all('.bar nav a[aria-current="page"]') == [link]
    assert titles[0] == "Conformance report"
    assert [title for title in titles if title][-6:] == [
        *("Scores", "Clauses", "Accuracy", "Silent behaviours", "Hazards", "Compare")
    ]


def test_empty_pages_have_no_link(show: Show) -> None:
    page = show()
    assert page.texts(".bar nav a") == ["Overview", "Cases", "Scores", "Clauses", "Accuracy"]


def test_scores_separate_wrong_from_unsupported(show: Show) -> None:
    page = show(small_run(), address="#view=scores")
    run = small_run()
    scored = {name for name, case in run.cases.items() if case.level != "silent"}
    for number, subject in enumerate(SUBJECTS):
        results = [result for result in list_results(run) if result.subject == subject and result.case in scored]
        row = rows_of(section(page, "By operator"))[number]
        cells = [cell.text for cell in row.find_elements(By.TAG_NAME, "td")]
        passed, given, wrong = (sum(counts) for counts in zip(*map(counts_of, cells), strict=True))
        assert given == len(results)
        assert passed == sum(result.verdict == "pass" for result in results)
        assert wrong == sum(result.verdict in {"fail", "error", "crash", "timeout"} for result in results)


def rows_of(box: Any) -> Any:
    return box.find_elements(By.CSS_SELECTOR, "tbody tr")


def counts_of(text: str) -> tuple[int, int, int]:
    """Return the passed, run and wrong cases of a score."""
    wrong = re.search(r"(\d+) wrong", text)
    found = re.search(r"(\d+) of (\d+)", text)
    return (int(found[1]), int(found[2]), int(wrong[1]) if wrong else 0) if found else (0, 0, 0)


def test_subject_page_opens_from_overview_and_matrix(show: Show) -> None:
    page = show(small_run())
    page.all(".standing h3 a")[1].click()
    page.wait("#page")
    assert page.heading == "onnxruntime 1.20.1"
    page.go("#view=matrix")
    page.all(".head .subject a")[2].click()
    page.wait("#page")
    assert page.heading.startswith(EVIL_SUBJECT)


def test_subject_page_lists_expected_failures_by_text(show: Show) -> None:
    page = show(small_run(), address=subject_address("onnxruntime"))
    rows = section(page, OTHER_RESULTS).find_elements(By.CSS_SELECTOR, "tbody tr")
    assert {row.find_elements(By.CSS_SELECTOR, "td")[0].text for row in rows} == {"fail"}
    section(page, OTHER_RESULTS).find_element(By.CSS_SELECTOR, "summary").click()
    listed = [link.text for link in section(page, OTHER_RESULTS).find_elements(By.CSS_SELECTOR, "li a")]
    assert listed == ["test_adam_epsilon_float", "test_argmax_nan"]


def test_case_of_a_failure_opens_at_the_subject(show: Show) -> None:
    page = show(small_run(), address=subject_address("onnxruntime"))
    section(page, OTHER_RESULTS).find_element(By.CSS_SELECTOR, "summary").click()
    section(page, OTHER_RESULTS).find_element(By.LINK_TEXT, "test_adam_epsilon_float").click()
    page.wait("#case")
    assert page.evidence("onnxruntime").get_attribute("open")


def test_subject_page_shows_facts_expectations_margins_and_times(show: Show) -> None:
    page = show(optimizer_run(), address=subject_address(OPTIMIZER))
    facts = section(page, "Facts").text
    for shown in ("0.4.2", "graph optimizer", "eliminate_nop_monotone_argmax", "3.11.2", "-o onnxoptimizer"):
        assert shown in facts
    assert EVIL_REASON in section(page, "Expectations").text
    assert "https://example.org/issues/1" in section(page, "Expectations").text
    page.go(subject_address("reference"))
    assert "Rust" in section(page, "Facts").text
    assert "0.422" in section(page, "Accepted outputs nearest to their bound").text
    assert "1.25" in section(page, "Slowest cases").text
    assert "1 output" in page.one("#page .histogram").get_attribute("aria-label")


def test_unknown_subject_is_named(show: Show) -> None:
    page = show(small_run(), address=subject_address("nobody"))
    assert page.text("#page code") == "nobody"


def test_clauses_page_counts_by_subject(show: Show) -> None:
    page = show(small_run(), address="#view=clauses")
    row = next(row for row in page.all("#page tbody tr") if row.text.startswith("adam.epsilon"))
    cells = [" ".join(cell.text.split()) for cell in row.find_elements(By.CSS_SELECTOR, "td")]
    assert cells[-3:] == ["2 of 2", "1 of 2 1 fail", "0 of 2 1 fail 1 error"]
    assert row.find_element(By.CSS_SELECTOR, ".stacked").get_attribute("aria-label") == "3 pass, 2 fail, 1 error"


def test_clauses_page_lists_clauses_without_case(show: Show) -> None:
    clauses = {**CLAUSES, "adam.lonely": {"text": "No <b>case</b> is about this.", "source": "nowhere"}}
    page = show(small_run(clauses=clauses), address="#view=clauses")
    assert page.text("#page .uncovered") == "adam.lonely No <b>case</b> is about this."
    assert "6 of 7 clauses" in page.text("#page")


def test_clauses_page_of_cases_without_clauses_lists_none(show: Show) -> None:
    run = small_run()
    cases = [with_fields(one, clauses=[]) for one in run.cases.values()]
    page = show(with_records(run, cases, list_results(run)), address="#view=clauses")
    assert page.text("#page h1") == "Clauses"
    assert not page.driver.find_elements(By.CSS_SELECTOR, "#page .uncovered")


def test_clause_and_count_link_to_cases(show: Show) -> None:
    page = show(small_run(), address="#view=clauses")
    page.one("#page").find_element(By.LINK_TEXT, "argmax.nan").click()
    page.wait("#matrix")
    assert page.cases == ["test_argmax_nan"]
    page.driver.back()
    page.wait("#page")
    next(link for link in page.all("#page td a") if link.get_attribute("title") == "onnxruntime: 1 fail").click()
    page.wait("#matrix")
    assert page.cases == ["test_adam_epsilon_float"]


def test_chosen_clause_can_be_removed(show: Show) -> None:
    page = show(small_run(), address="#view=matrix&clause=argmax.nan")
    page.one('[aria-label="Clause"] button').click()
    assert len(page.cases) == 7


def test_accuracy_page_has_histograms_by_output_and_type(show: Show) -> None:
    page = show(small_run(), address="#view=errors")
    heads = page.texts("#page tbody th")
    assert heads == ["<i>X_new</i> float", "V_new float", "X_new float"]
    row = page.all("#page tbody tr")[2]
    label = row.find_elements(By.CSS_SELECTOR, ".histogram")[1].get_attribute("aria-label")
    assert re.findall(r"\d+", label)[-1] == "1"


def test_silent_page_groups_subjects_by_behaviour(show: Show) -> None:
    page = show(small_run(), address="#view=silent")
    rows = [[cell.text for cell in row.find_elements(By.CSS_SELECTOR, "td")] for row in page.all("#page tbody tr")]
    assert [subjects for _, subjects in rows] == [*SUBJECTS]
    assert "X_new int64[2] = 0, 1" in rows[0][0]
    assert "1 wrong" in rows[1][0]
    assert rows[2][0].startswith("skipped")


def test_silent_page_joins_subjects_with_equal_outputs(show: Show) -> None:
    run = small_run()
    alike = [with_fields(result, outputs=list_results(run)[12].outputs) for result in list_results(run)]
    page = show(with_results(run, alike), address="#view=silent")
    assert page.text("#page tbody td:last-child") == ", ".join(SUBJECTS)


def test_hazards_page_counts_by_class_and_subject(show: Show) -> None:
    page = show(optimizer_run(), address="#view=hazards")
    rows = page.all("#page table")[0].find_elements(By.CSS_SELECTOR, "tbody tr")
    shown = [[cell.text for cell in row.find_elements(By.CSS_SELECTOR, "th, td")] for row in rows]
    assert shown == [[TIES, "1 change", "1 change"], [EVIL_HAZARD, "1 change", "\N{EN DASH}"]]


def test_hazard_shows_input_and_outputs(show: Show) -> None:
    page = show(optimizer_run(), address="#view=hazards")
    row = section(page, TIES).find_elements(By.CSS_SELECTOR, "tbody tr")[1].text
    for shown in (EVIL_OPTIMIZER, APPLIES_CASE, "X = 2.1, 2.35, 2.6, 2.85", "one run", "0, 1", "1, 1"):
        assert shown in row


@pytest.mark.parametrize(
    ("case", "news", "title"),
    [
        ("test_adam", {"verdict": "fail", "phase": "compare", "message": "wrong"}, REGRESSIONS),
        ("test_momentum_nesterov", {"verdict": "pass", "phase": None, "message": ""}, "Fixes"),
        ("test_momentum_nesterov", {"verdict": "crash"}, REGRESSIONS),
        ("test_momentum_nesterov", {"message": "another message"}, "Other changes"),
        ("test_momentum_nesterov", {"level": "should"}, "Other changes"),
        ("test_argmax_nan", {"verdict": "error", "phase": "run"}, "Other changes"),
    ],
)
def test_compare_two_runs_shows_the_change(show: Show, case: str, news: dict[str, Any], title: str) -> None:
    first, second = (quote(f"onnxruntime (run {run}.jsonl)") for run in ("1: results", "2: new"))
    address = f"#view=compare&a={first}&b={second}"
    page = show(small_run(), changed("onnxruntime", case, **news), address=address)
    assert page.texts("#page h2") == [title]
    assert case in section(page, title).text
    assert f"{title}: 1" in page.text("#page .counts-of")


def test_compare_failure_at_stronger_level_is_regression(show: Show) -> None:
    first, second = (quote(f"onnxruntime (run {run}.jsonl)") for run in ("1: new", "2: results"))
    address = f"#view=compare&a={first}&b={second}"
    page = show(changed("onnxruntime", "test_momentum_nesterov", level="should"), small_run(), address=address)
    assert page.texts("#page h2") == [REGRESSIONS]


def test_compare_defaults_to_runs_of_one_subject(show: Show) -> None:
    page = show(
        optimizer_run(),
        changed("reference", "test_adam", verdict="error", phase="run", outputs=[]),
        address="#view=compare",
    )
    chosen = [Select(box).first_selected_option.text for box in page.all("#page select")]
    assert chosen == ["reference (run 1: results.jsonl)", "reference (run 2: new.jsonl)"]
    assert "test_adam" in section(page, REGRESSIONS).text
    counts = dict(line.split(": ") for line in page.text("#page .counts-of").splitlines())
    assert (counts["Only in the first"], counts["Only in the second"]) == ("2", "6")


def test_compare_lists_larger_errors_of_passes(show: Show) -> None:
    outputs = [with_fields(output, error_over_bound=0.9) for output in list_results(small_run())[3].outputs]
    page = show(small_run(), changed("reference", "test_adam", outputs=outputs), address="#view=compare")
    assert "0.422 0.9" in section(page, "Larger errors of passing outputs").text.replace("\n", " ")


def test_compare_keeps_subjects_in_the_address(show: Show) -> None:
    page = show(small_run(), address="#view=compare")
    Select(page.one('[data-pick="b"]')).select_by_visible_text(EVIL_SUBJECT)
    page.settle()
    sent = page.address
    page.go(sent)
    assert Select(page.one('[data-pick="b"]')).first_selected_option.text == EVIL_SUBJECT
    assert Select(page.one('[data-pick="a"]')).first_selected_option.text == SUBJECTS[0]


def test_compare_equal_runs_has_no_difference(show: Show) -> None:
    page = show(small_run(), dataclasses.replace(small_run(), path="again.jsonl"), address="#view=compare")
    assert not page.all("#page h2")


def test_compare_different_corpora_shows_a_banner(show: Show) -> None:
    other = small_run(corpus={"version": "2.0.0", "digest": "sha256:01", "cases": 7, "selected": 7})
    page = show(small_run(), dataclasses.replace(other, path="other.jsonl"))
    assert "different corpora" in page.text(".banner")
