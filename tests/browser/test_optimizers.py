"""Graph optimizers in the report, and scripts and downloads to reproduce a case."""

from __future__ import annotations

import base64
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from report_page import ReportPage, case_address
from report_sample import EVIL_CASE, EVIL_SUBJECT, small_run
from report_sample_optimizers import (
    APPLIES_CASE,
    DOES_NOT_APPLY_CASE,
    EVIL_CHECK,
    EVIL_HAZARD,
    EVIL_OPTIMIZER,
    EVIL_REASON,
    EVIL_STDERR,
    EVIL_VIOLATION,
    NODE,
    OPTIMIZER,
    TIES,
    case_archive,
    optimizer_run,
)
from runs_in_memory import list_results, with_fields, with_results
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from conformance.base.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Callable

    Show = Callable[..., ReportPage]

DASH = "\N{EN DASH}"


def script_of(page: ReportPage, subject: str) -> str:
    return str(page.evidence(subject).find_element(By.CSS_SELECTOR, ".script").get_property("textContent"))


def test_case_shows_required_effect_and_values(show: Show) -> None:
    page = show(optimizer_run(), address=case_address(APPLIES_CASE))
    assert page.text("#case .rewrite h3").endswith(": applies")
    assert "taken/then_branch/Y" in page.text("#case .rewrite")
    page.go(case_address(DOES_NOT_APPLY_CASE))
    assert page.text("#case .rewrite h3").endswith(": does not apply")


def test_violated_check_shows_its_violation(show: Show) -> None:
    page = show(optimizer_run(), address=case_address(APPLIES_CASE) + f"&subject={EVIL_OPTIMIZER}")
    assert "checker" in page.evidence(EVIL_OPTIMIZER).text
    (violated,) = page.evidence(EVIL_OPTIMIZER).find_elements(By.CSS_SELECTOR, "tr.violated")
    assert [cell.text for cell in violated.find_elements(By.CSS_SELECTOR, "td")] == [
        "violated",
        EVIL_CHECK,
        "should",
        "one run",
        EVIL_VIOLATION,
    ]


def test_failure_by_weaker_check_shows_its_level(show: Show) -> None:
    page = show(optimizer_run(), address=case_address(APPLIES_CASE))
    assert page.evidence(EVIL_OPTIMIZER).find_element(By.CSS_SELECTOR, ".remark").text.endswith("should")


def test_failure_by_weaker_check_is_filtered_at_its_level(show: Show) -> None:
    found = [show(optimizer_run(), address=f"#view=matrix&verdict=fail&level={level}").cases for level in Level]
    assert found == [[], [APPLIES_CASE], []]


def test_failure_by_weaker_check_is_scored_at_its_level(show: Show) -> None:
    page = show(optimizer_run(), address="#view=scores")
    row = next(row for row in page.all("tr") if row.is_displayed() and EVIL_OPTIMIZER in row.text)
    cells = [cell.text.replace("\n", " ") for cell in row.find_elements(By.CSS_SELECTOR, "td")]
    assert [(cell[:6], "1 wrong" in cell) for cell in cells] == [(DASH, False), ("0 of 1", True), ("0 of 1", True)]


def test_evidence_shows_hazards(show: Show) -> None:
    page = show(optimizer_run(), address=case_address(APPLIES_CASE) + f"&subject={OPTIMIZER}")
    text = page.evidence(OPTIMIZER).text
    assert f"hazard: {EVIL_HAZARD}" in text
    assert "Output before" in text


def test_data_set_with_hazard_is_marked(show: Show) -> None:
    page = show(optimizer_run(), address=case_address(APPLIES_CASE))
    assert page.texts("#case .data.set > summary") == ["Data set 0", f"Data set 1\n⚠\nhazard: {TIES}"]


def test_stderr_of_a_crash_is_open_text(show: Show) -> None:
    page = show(optimizer_run(), address=case_address(DOES_NOT_APPLY_CASE))
    box = page.evidence(OPTIMIZER).find_element(By.CSS_SELECTOR, ".stderr")
    assert box.is_displayed()
    assert box.get_property("textContent") == EVIL_STDERR


def test_expectation_shows_reason_issue_and_location(show: Show) -> None:
    text = show(optimizer_run(), address=case_address(DOES_NOT_APPLY_CASE)).evidence(OPTIMIZER).text
    for shown in (EVIL_REASON, "https://example.org/issues/1", f"expectations/{OPTIMIZER}.toml, entry 1"):
        assert shown in text


def test_subgraph_is_an_attribute_of_its_node(show: Show) -> None:
    page = show(optimizer_run(), address=case_address(APPLIES_CASE))
    assert [box.text for box in page.all("#case .graph .box.node text")] == ["Softmax", "Add", "ArgMax", "ArgMax"]
    box = page.one("#case td details")
    assert box.text.endswith("characters")
    box.find_element(By.CSS_SELECTOR, "summary").click()
    assert "<b>node</b>" in box.text


def test_matrix_shows_dashes_without_results(show: Show) -> None:
    page = show(optimizer_run(), address="#view=matrix")
    assert page.cells(NODE) == ["pass", DASH, DASH]
    page.choose("given=1")
    assert page.cases == [DOES_NOT_APPLY_CASE, APPLIES_CASE]


def test_matrix_filters_cases_of_one_subject(show: Show) -> None:
    page = show(optimizer_run(), address="#view=matrix&of=reference&given=1")
    assert page.cases == [NODE, DOES_NOT_APPLY_CASE, APPLIES_CASE]


def test_case_groups_subjects_with_equal_failures(show: Show) -> None:
    page = show(small_run(), address=case_address("test_adam_epsilon_float"))
    groups = page.all("#case .same-result")
    heads = [group.find_element(By.CSS_SELECTOR, "h3").text for group in groups]
    assert [head.partition(",")[0] for head in heads] == [
        "fail on 2 of 3 subjects in compare: X_new has 2 wrong of 7 elements",
        "pass on 1 of 3 subjects",
    ]
    assert [box.get_attribute("data-subject") for box in groups[0].find_elements(By.CSS_SELECTOR, ".evidence")] == [
        "onnxruntime",
        EVIL_SUBJECT,
    ]


def test_errors_are_plotted_relative_to_the_bound(show: Show) -> None:
    page = show(small_run(), address=case_address("test_adam_epsilon_float"))
    whole = page.one("#case section > .strip")
    assert len(whole.find_elements(By.CSS_SELECTOR, ".within")) == 4
    assert len(whole.find_elements(By.CSS_SELECTOR, ".beyond")) == 2
    elements = page.evidence("onnxruntime").find_element(By.CSS_SELECTOR, ".strip")
    assert [
        title.get_property("textContent") for title in elements.find_elements(By.CSS_SELECTOR, ".beyond title")
    ] == ["[0, 1]: 10 times the bound"]


def test_rerun_script_prints_the_verdict(show: Show) -> None:
    page = show(small_run(), address=case_address("test_adam"))
    script = script_of(page, "reference")
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout == "pass None \n"


def test_rerun_script_quotes_hostile_names(show: Show) -> None:
    script = script_of(show(small_run(), address=case_address(EVIL_CASE)), EVIL_SUBJECT)
    compile(script, "script", "exec")
    assert f'"{EVIL_CASE}"' in script
    assert f'"{EVIL_SUBJECT}"' in script


def test_download_equals_the_archive(show: Show, tmp_path: Path) -> None:
    page = show(optimizer_run(), address=case_address(DOES_NOT_APPLY_CASE))
    folder = tmp_path / "downloads"
    folder.mkdir()
    allowed = {"behavior": "allow", "downloadPath": str(folder)}
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", allowed)
    page.one("#case .download").click()
    file = folder / f"{DOES_NOT_APPLY_CASE}.zip"
    WebDriverWait(page.driver, 5).until(lambda _: file.exists())
    assert file.read_bytes() == base64.b64decode(case_archive())


def test_case_without_archive_names_its_folder(show: Show) -> None:
    page = show(optimizer_run(), address=case_address(APPLIES_CASE))
    assert not page.all("#case .download")
    assert f"pass/{APPLIES_CASE}" in page.text("#case")


def test_check_that_was_not_judged_shows_its_reason(show: Show) -> None:
    run, reason = optimizer_run(), "the reference <b>cannot</b> compute the models"
    added = {"name": "answers", "run": "once", "level": "must", "not_judged": reason}
    results = [
        with_fields(result, checks=[*result.checks, added]) if result.subject == OPTIMIZER and result.checks else result
        for result in list_results(run)
    ]
    page = show(with_results(run, results), address=case_address(APPLIES_CASE) + f"&subject={OPTIMIZER}")
    rows = page.evidence(OPTIMIZER).find_elements(By.CSS_SELECTOR, "tbody tr")
    shown = [[cell.text for cell in row.find_elements(By.CSS_SELECTOR, "td")] for row in rows]
    assert ["not judged", "answers", "must", "one run", reason] in [[row[0].split("\n")[-1], *row[1:]] for row in shown]
    (row,) = page.evidence(OPTIMIZER).find_elements(By.CSS_SELECTOR, "tr.not-judged")
    assert not row.find_elements(By.CSS_SELECTOR, ".g-pass")
