"""The report by keyboard, in dark mode, on a narrow screen, and with twenty thousand results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from report_page import ReportPage, case_address
from report_sample import large_run, small_run
from report_sample_optimizers import APPLIES_CASE, case_archive, optimizer_run
from runs_in_memory import list_results, with_fields, with_records
from selenium.webdriver.common.keys import Keys

if TYPE_CHECKING:
    from collections.abc import Callable

    Show = Callable[..., ReportPage]

FAILING = case_address("test_adam_epsilon_float")
PAGES = ("subject", "clauses", "errors", "silent", "hazards", "compare")
VIEWS = ("", *(f"#view={page}" for page in PAGES), FAILING, case_address(APPLIES_CASE), "#view=matrix")


def test_keyboard_opens_a_case_and_returns(show: Show) -> None:
    page = show(small_run())
    page.tab_until('[data-view="matrix"]').send_keys(Keys.ENTER)
    page.wait("#matrix")
    page.tab_until("#search")
    page.tab_until('[data-choice="verdict=fail"]').send_keys(Keys.ENTER)
    assert len(page.cases) == 2
    page.tab_until(".row .title a").send_keys(Keys.ENTER)
    page.wait("#case")
    assert page.text("#case .identity code") == "test_adam_epsilon_float"
    first = page.tab_until("#case [data-subject=reference] > summary")
    first.send_keys(Keys.ENTER)
    assert page.evidence("reference").get_attribute("open")
    page.driver.back()
    page.wait("#matrix")
    assert page.driver.switch_to.active_element.text.startswith("test_adam_epsilon_float")


def test_tab_reaches_every_control(show: Show) -> None:
    page = show(small_run(), address="#view=matrix")
    controls = len(
        [
            e
            for e in page.all("header a, #matrix a, #matrix button, #matrix input, #matrix select, #matrix summary")
            if e.is_displayed()
        ]
    )
    seen = set()
    for _ in range(controls + 5):
        page.press(Keys.TAB)
        seen.add(page.driver.switch_to.active_element.id)
    assert len(seen) >= controls


def test_arrows_move_between_cells_and_slash_focuses_search(show: Show) -> None:
    page = show(small_run(), address="#view=matrix")
    page.tab_until(".row .title a")
    for key in (*[Keys.ARROW_DOWN] * 3, *[Keys.ARROW_RIGHT] * 2):
        page.press(key)
    assert page.driver.switch_to.active_element.text.split() == ["fail", "known"]
    page.press("/")
    assert page.driver.switch_to.active_element.get_attribute("id") == "search"


def test_slash_focuses_search_from_every_page(show: Show) -> None:
    page = show(small_run(), address="#view=clauses")
    page.press("/")
    page.wait("#matrix")
    assert page.driver.switch_to.active_element.get_attribute("id") == "search"
    page.press("n/?")
    assert page.one("#search").get_attribute("value") == "n/?", "in a field a key is a letter"


def test_keys_n_p_u_navigate_between_cases(show: Show) -> None:
    page = show(small_run(), address=FAILING + "&verdict=fail")
    for key, case in (("n", "test_argmax_nan"), ("p", "test_adam_epsilon_float")):
        page.press(key)
        page.settle()
        assert page.text("#case .identity code") == case
    page.press("u")
    page.wait("#matrix")
    assert page.cases == ["test_adam_epsilon_float", "test_argmax_nan"]


def test_question_mark_opens_help_and_escape_closes_it(show: Show) -> None:
    page = show(small_run())
    page.press("?")
    assert "search" in page.text("#help")
    page.press(Keys.ESCAPE)
    assert not page.one("#help").is_displayed()


@pytest.mark.parametrize("address", ["", "#view=clauses", FAILING])
def test_first_tab_stop_skips_to_content(show: Show, address: str) -> None:
    page = show(small_run(), address=address)
    skip = page.one(".skip")
    page.driver.execute_script("arguments[0].focus()", skip)
    assert page.driver.execute_script("return arguments[0].getBoundingClientRect().x", skip) >= 0
    page.press(Keys.ENTER)
    assert page.driver.switch_to.active_element.text == page.heading
    assert page.address == address


def test_group_heading_stays_visible(show: Show) -> None:
    page = show(large_run(3, 300), address="#view=matrix")
    assert not page.one(".stuck").is_displayed()
    page.driver.execute_script("document.querySelector('.matrix').scrollTop = 400")
    page.driver.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0]))")
    assert page.text(".stuck code") == "adagrad.decay"


def test_pages_have_no_elements_from_names(show: Show) -> None:
    page = show(small_run(), optimizer_run())
    for address in VIEWS:
        page.visit(address)
        assert not page.all("main :is(img, i, u, script, b b, iframe)"), address


def test_printed_matrix_has_every_row(show: Show) -> None:
    page = show(large_run(3, 300), address="#view=matrix")
    page.driver.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert len(page.cases) == 300


def test_long_matrix_shows_every_row_when_scrolled(show: Show) -> None:
    page = show(large_run(3, 300), address="#view=matrix")
    assert len(page.cases) < 60, "rows out of sight do not exist"
    seen: set[str] = set()
    for at in range(0, 300 * 50, 400):
        page.driver.execute_script("document.querySelector('.matrix').scrollTop = arguments[0]", at)
        page.driver.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0]))")
        seen.update(
            page.driver.execute_script(
                "return [...document.querySelectorAll('.rows .row:not(.group) .title code')].map((e) => e.textContent)"
            )
        )
    assert len(seen) == 300


@pytest.mark.long
def test_large_matrix_has_nodes_for_visible_rows_only(show: Show) -> None:
    """This is what makes it quick; how quick it is, `nox -s bench` tells."""
    page = show(large_run(20, 1000), address="#view=matrix")
    for choice in ("", "verdict=fail", "level=must", "differences=1"):
        if choice:
            page.driver.execute_script(f"document.querySelector('[data-choice=\"{choice}\"]').click()")
        assert 0 < page.driver.execute_script("return document.querySelectorAll('*').length") < 5000, choice


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_sufficient_contrast(show: Show, scheme: str) -> None:
    page = show(small_run(), optimizer_run(interrupted=True), scheme=scheme)
    for address in (*VIEWS, "#view=matrix&level=must"):
        page.visit(address)
        assert page.driver.execute_script(CONTRAST) == [], address


CONTRAST = Path(__file__).with_name("contrast.js").read_text("utf-8")


def test_narrow_screen_has_no_horizontal_scrolling(show: Show) -> None:
    page = show(small_run(), optimizer_run(), width=375, mobile=True)
    for address in VIEWS:
        page.visit(address)
        assert page.driver.execute_script("return document.documentElement.scrollWidth") <= 375, address


@pytest.mark.parametrize("width", [320, 390])
def test_narrow_case_with_long_id_and_download_has_no_horizontal_scrolling(show: Show, width: int) -> None:
    run, long = optimizer_run(), f"test_{'a_long_name_of_a_case_' * 5}float"
    cases = [with_fields(one, case=long) if one.case == APPLIES_CASE else one for one in run.cases.values()]
    results = [with_fields(one, case=long) if one.case == APPLIES_CASE else one for one in list_results(run)]
    changed = with_records(run, cases, results, archives={long: case_archive()})
    page = show(changed, address=case_address(long), width=width)
    scroll, button = page.driver.execute_script(
        "const button = document.querySelector('.download').getBoundingClientRect();"
        "return [document.documentElement.scrollWidth, button.right]"
    )
    assert max(scroll, button) <= width
