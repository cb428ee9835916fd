"""What the report shows of graph optimizers, and what it hands out to run a case again."""

from __future__ import annotations

import base64
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from report_page import ReportPage, case_address
from report_sample import EVIL_CASE, EVIL_SUBJECT, small
from report_sample_optimizers import (
    EVIL_CHECK,
    EVIL_COMPLAINT,
    EVIL_HAZARD,
    EVIL_OPTIMIZER,
    EVIL_REASON,
    EVIL_STDERR,
    FIRES,
    NODE,
    OPTIMIZER,
    STAYS,
    TIES,
    packed,
    rewriting,
)
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Callable

    Show = Callable[..., ReportPage]

DASH = "\N{EN DASH}"


def script_of(page: ReportPage, subject: str) -> str:
    return str(page.evidence(subject).find_element(By.CSS_SELECTOR, ".script").get_property("textContent"))


def test_what_the_pass_must_do_is_said_with_the_values_that_go(show: Show) -> None:
    page = show(rewriting(), address=case_address(FIRES))
    told = page.text("#case .rewrite")
    assert "What the pass must do: fires" in told
    assert "taken/then_branch/Y" in told
    page.go(case_address(STAYS))
    assert "stays away from this model" in page.text("#case .rewrite")


def test_named_checks_show_which_held_and_the_complaint(show: Show) -> None:
    page = show(rewriting(), address=case_address(FIRES) + f"&subject={EVIL_OPTIMIZER}")
    assert "checker" in page.evidence(EVIL_OPTIMIZER).text
    (broken,) = page.evidence(EVIL_OPTIMIZER).find_elements(By.CSS_SELECTOR, "tr.broken")
    assert [cell.text for cell in broken.find_elements(By.CSS_SELECTOR, "td")] == [
        "broken",
        EVIL_CHECK,
        "should",
        "one run",
        EVIL_COMPLAINT,
    ]


def test_a_failure_by_weaker_checks_says_its_level(show: Show) -> None:
    page = show(rewriting(), address=case_address(FIRES))
    assert "at level should" in page.evidence(EVIL_OPTIMIZER).text


def test_it_is_found_at_its_level_and_not_at_its_case_s(show: Show) -> None:
    found = [show(rewriting(), address=f"#view=matrix&verdict=fail&level={level}").cases for level in Level]
    assert found == [[], [FIRES], []]


def test_it_is_scored_at_its_level(show: Show) -> None:
    page = show(rewriting(), address="#view=scores")
    row = next(row for row in page.all("tr") if row.is_displayed() and EVIL_OPTIMIZER in row.text)
    cells = [cell.text.replace("\n", " ") for cell in row.find_elements(By.CSS_SELECTOR, "td")]
    assert [(cell[:6], "1 wrong" in cell) for cell in cells] == [(DASH, False), ("0 of 1", True), ("0 of 1", True)]


def test_hazards_of_a_result_show_the_answer_before_and_after(show: Show) -> None:
    page = show(rewriting(), address=case_address(FIRES) + f"&subject={OPTIMIZER}")
    told = page.evidence(OPTIMIZER).text
    assert f"hazard: {EVIL_HAZARD}" in told
    assert "Answer before" in told


def test_a_data_set_that_is_a_hazard_is_marked(show: Show) -> None:
    page = show(rewriting(), address=case_address(FIRES))
    assert [box.text for box in page.all("#case .data.set > summary")] == [
        "Data set 0",
        f"Data set 1\n⚠\nhazard: {TIES}",
    ]


def test_stderr_of_a_crash_is_open_and_is_text(show: Show) -> None:
    page = show(rewriting(), address=case_address(STAYS))
    box = page.evidence(OPTIMIZER).find_element(By.CSS_SELECTOR, ".stderr")
    assert box.is_displayed()
    assert box.get_property("textContent") == EVIL_STDERR


def test_an_expectation_shows_reason_issue_and_place(show: Show) -> None:
    told = show(rewriting(), address=case_address(STAYS)).evidence(OPTIMIZER).text
    for shown in (EVIL_REASON, "https://example.org/issues/1", f"expectations/{OPTIMIZER}.toml, entry 1"):
        assert shown in told


def test_a_subgraph_is_part_of_its_node(show: Show) -> None:
    page = show(rewriting(), address=case_address(FIRES))
    assert [box.text for box in page.all("#case .graph .box.node text")] == ["Softmax", "Add", "ArgMax", "ArgMax"]
    box = page.one("#case td details")
    assert box.text.endswith("characters")
    box.find_element(By.CSS_SELECTOR, "summary").click()
    assert "<b>node</b>" in box.text


def test_a_graph_optimizer_has_a_dash_where_it_was_given_no_case(show: Show) -> None:
    page = show(rewriting(), address="#view=matrix")
    assert page.cells(NODE) == ["pass", DASH, DASH]
    page.choose("given=1")
    assert page.cases == [STAYS, FIRES]


def test_what_only_one_subject_was_given_can_be_shown(show: Show) -> None:
    page = show(rewriting(), address="#view=matrix&of=reference&given=1")
    assert page.cases == [NODE, STAYS, FIRES]


def test_subjects_that_fail_alike_stand_together_defects_first(show: Show) -> None:
    page = show(small(), address=case_address("test_adam_epsilon_float"))
    groups = page.all("#case .alike")
    heads = [group.find_element(By.CSS_SELECTOR, "h3").text for group in groups]
    assert heads == ["fail on 2 of 3 subjects in compare: X_new has N wrong of N elements", "pass on 1 of 3 subjects"]
    assert [box.get_attribute("data-subject") for box in groups[0].find_elements(By.CSS_SELECTOR, ".evidence")] == [
        "onnxruntime",
        EVIL_SUBJECT,
    ]


def test_errors_are_plotted_against_the_bound(show: Show) -> None:
    page = show(small(), address=case_address("test_adam_epsilon_float"))
    whole = page.one("#case section > .strip")
    assert len(whole.find_elements(By.CSS_SELECTOR, ".within")) == 4
    assert len(whole.find_elements(By.CSS_SELECTOR, ".beyond")) == 2
    elements = page.evidence("onnxruntime").find_element(By.CSS_SELECTOR, ".strip")
    assert [
        title.get_property("textContent") for title in elements.find_elements(By.CSS_SELECTOR, ".beyond title")
    ] == ["[0, 1]: 10 times the bound"]


def test_the_script_of_a_case_runs_and_shows_the_verdict(show: Show) -> None:
    page = show(small(), address=case_address("test_adam"))
    script = script_of(page, "reference")
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout == "pass None \n"


def test_a_script_of_hostile_names_holds_them_as_text(show: Show) -> None:
    script = script_of(show(small(), address=case_address(EVIL_CASE)), EVIL_SUBJECT)
    compile(script, "script", "exec")
    assert f'"{EVIL_CASE}"' in script
    assert f'"{EVIL_SUBJECT}"' in script


def test_the_files_of_a_case_are_downloaded_as_they_were_archived(show: Show, tmp_path: Path) -> None:
    page = show(rewriting(), address=case_address(STAYS))
    folder = tmp_path / "downloads"
    folder.mkdir()
    allowed = {"behavior": "allow", "downloadPath": str(folder)}
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", allowed)
    page.one("#case .download").click()
    file = folder / f"{STAYS}.zip"
    WebDriverWait(page.driver, 5).until(lambda _: file.exists())
    assert file.read_bytes() == base64.b64decode(packed())


def test_a_case_without_files_says_where_they_are(show: Show) -> None:
    page = show(rewriting(), address=case_address(FIRES))
    assert not page.all("#case .download")
    assert f"pass/{FIRES}" in page.text("#case")
