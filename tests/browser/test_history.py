"""The page of a history: rows, search, keyboard, layout, accessibility, and texts that look like markup."""

from __future__ import annotations

import gzip
import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from corpora import ADAM, EXACT
from fake_subject import always_right, always_wrong, wrong_on_argmax
from history_stores import TARGET, add_release, write_three_cases
from selenium.webdriver.common.keys import Keys

from conformance.base.serialization.printable_text import escape_unprintable
from conformance.studies.history.store import HistoryStore, StoredRelease
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName

if TYPE_CHECKING:
    from collections.abc import Callable

    from report_page import ReportPage

    from conformance.corpus.cases.corpus import Corpus

RELEASES = [f"1.{number}.0" for number in range(36)]
"""As many releases as the longest history has."""

ROW = "tr.row"
UNAVAILABLE = "1.36.0"
MARKUP = """</script><script>alert()</script><img src=x onerror=alert()> " ' javascript:alert() <!-- &lt; &amp;"""
HOSTILE = f"{MARKUP} \u202e\x1b\u05d0"
SHOWN = escape_unprintable(HOSTILE)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return write_three_cases(tmp_path_factory.mktemp("corpora") / "three")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, corpus: Corpus) -> HistoryStore:
    """Return a history of two subjects; the first has 36 releases, a regression, and an unavailable release."""
    store = HistoryStore(tmp_path_factory.mktemp("history") / "store")
    for number, release in enumerate(RELEASES):
        add_release(store, corpus, release, always_right if number < 20 else wrong_on_argmax)
    add_release(store, corpus, "0.1", always_wrong, SubjectName.parse("tract", SubjectKind.BACKEND))
    with store.lock():
        store.record_unavailable(TARGET, UNAVAILABLE, "subject.not-installable", "it has no wheel")
    return store


@pytest.fixture
def show_history(open_page: Callable[..., ReportPage], command: Callable[..., Any]) -> Callable[..., ReportPage]:
    """Return a function that opens the page that `history show --html` writes for a store."""

    def opened(store: HistoryStore, address: str = "") -> ReportPage:
        assert command("history", "show", "--store", store.folder, "--html", "history.html").status == 0
        return open_page(Path("history.html").resolve(), address)

    return opened


def shown_rows(page: ReportPage) -> list[Any]:
    return [row for row in page.all(ROW) if row.is_displayed()]


def test_page_has_row_for_each_group_of_cases(show_history: Callable[..., ReportPage], store: HistoryStore) -> None:
    page = show_history(store)
    assert page.heading == "History of 37 releases"
    assert page.texts("#subjects a") == ["onnxruntime", "tract"]
    rows = page.all("#onnxruntime tr.row")
    verdicts = [[cell.text for cell in row.find_elements("css selector", ".releases i")] for row in rows]
    assert verdicts == [["\u00b7"] * 20 + ["F"] * 16] * len(rows)
    assert sum(int(row.find_element("css selector", ".count").text.split()[0]) for row in rows) == 2
    assert page.text("#onnxruntime details summary") == "1 release without results"


def test_link_of_subject_goes_to_its_table(show_history: Callable[..., ReportPage], store: HistoryStore) -> None:
    page = show_history(store)
    page.all("#subjects a")[1].click()
    page.settle()
    top = page.driver.execute_script("return document.getElementById('tract').getBoundingClientRect().top")
    assert 0 <= top < page.driver.execute_script("return innerHeight")


def test_search_hides_rows_without_all_words(show_history: Callable[..., ReportPage], store: HistoryStore) -> None:
    page = show_history(store)
    everything = len(shown_rows(page))
    page.search(f"tract {ADAM}")
    assert page.text("#found") == "1 row"
    (row,) = shown_rows(page)
    row.click()
    assert [element.text for element in page.all(".details li code") if element.is_displayed()] == [ADAM]
    page.search("no-such-text")
    assert page.text("#found") == "0 rows"
    assert shown_rows(page) == []
    page.one("#search").send_keys(Keys.BACKSPACE * 20)
    page.settle()
    assert page.text("#found") == ""
    assert len(shown_rows(page)) == everything


def test_search_is_in_the_address(show_history: Callable[..., ReportPage], store: HistoryStore) -> None:
    page = show_history(store)
    page.search("tract & 1.0")
    assert page.address == "#q=tract%20%26%201.0"
    page = show_history(store, page.address)
    assert page.one("#search").get_attribute("value") == "tract & 1.0"
    assert page.text("#found") == "0 rows"


def test_keys_go_to_search_and_rows_and_open_them(show_history: Callable[..., ReportPage], store: HistoryStore) -> None:
    page = show_history(store)
    page.press("/")
    assert page.driver.switch_to.active_element.get_attribute("id") == "search"
    page.press("tract")
    page.press(Keys.ARROW_DOWN)
    focused = page.driver.switch_to.active_element
    openers = page.all(f"#tract {ROW} button")
    assert focused == openers[0]
    assert focused.get_attribute("aria-expanded") == "false"
    page.press(Keys.ENTER)
    assert focused.get_attribute("aria-expanded") == "true"
    (command,) = [element.text for element in page.all(".details pre") if element.is_displayed()]
    assert command.splitlines()[0] == "onnx-conformance env create tract@0.1"
    page.press(Keys.ARROW_DOWN)
    assert page.driver.switch_to.active_element == openers[1]
    page.press(Keys.ARROW_UP, Keys.ENTER)
    assert focused.get_attribute("aria-expanded") == "false"


def test_keys_are_listed_in_dialog(show_history: Callable[..., ReportPage], store: HistoryStore) -> None:
    page = show_history(store)
    page.press("?")
    assert page.one("#help").is_displayed()
    page.press(Keys.ESCAPE)
    assert not page.one("#help").is_displayed()


def test_tab_reaches_search_and_rows(show_history: Callable[..., ReportPage], store: HistoryStore) -> None:
    page = show_history(store)
    page.tab_until("#search")
    opener = page.tab_until(f"{ROW} button")
    page.press(" ")
    assert opener.get_attribute("aria-expanded") == "true"


@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_no_violation(show_history: Callable[..., ReportPage], store: HistoryStore, width: int) -> None:
    page = show_history(store)
    page.resize(width)
    for row in page.all(ROW):
        row.click()
    for details in page.all("#tables summary"):
        details.click()
    assert page.axe_violations() == []
    page.press("?")
    assert page.axe_violations() == []


@pytest.mark.parametrize("width", [1440, 1000, 390, 320])
def test_releases_and_texts_fit_in_window(
    show_history: Callable[..., ReportPage], store: HistoryStore, width: int
) -> None:
    page = show_history(store)
    page.resize(width)
    for row in page.all(ROW):
        row.click()
    assert page.driver.execute_script("return document.documentElement.scrollWidth") <= width
    boxes = page.driver.execute_script(
        "return [...document.querySelectorAll('#onnxruntime .row :is(.releases i, .what, .span, .count)')]"
        ".map((cell) => { const box = cell.getBoundingClientRect(); return [box.left, box.right, box.width]; })"
    )
    assert len(boxes) > len(RELEASES)
    assert all(left >= 0 and right <= width for left, right, _ in boxes)
    # The text of the cause has room for words.
    widths = page.driver.execute_script(
        "return [...document.querySelectorAll('#onnxruntime .row .what')].map((cell) => cell.offsetWidth)"
    )
    assert all(found >= 200 for found in widths)
    heights = page.driver.execute_script(
        "return [...document.querySelectorAll('#onnxruntime .row')].map((row) => row.offsetHeight)"
    )
    assert all(found <= 150 for found in heights)


@pytest.mark.parametrize("width", [1440, 390])
def test_heading_of_release_is_over_its_verdicts(
    show_history: Callable[..., ReportPage], store: HistoryStore, width: int
) -> None:
    page = show_history(store)
    page.resize(width)
    places = [
        page.driver.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map((cell) => cell.getBoundingClientRect().left)", part
        )
        for part in ("#onnxruntime thead .releases span", "#onnxruntime .row:nth-child(2) .releases i")
    ]
    assert len(places[0]) == len(RELEASES)
    assert places[0] == pytest.approx(places[1], abs=1)


@dataclass(frozen=True)
class HostileStore:
    """A history in which all texts of a result that may be any text look like markup."""

    store: HistoryStore
    case: str


def change_records(stored: StoredRelease, change: Callable[[Any], None]) -> None:
    """Change every record of a results file."""
    records = list(map(json.loads, gzip.decompress(stored.path.read_bytes()).splitlines()))
    for record in records:
        change(record)
    stored.path.write_bytes(gzip.compress("".join(f"{json.dumps(record)}\n" for record in records).encode()))


@pytest.fixture
def hostile(tmp_path: Path, corpus: Corpus) -> HostileStore:
    store = HistoryStore(tmp_path / "hostile")
    case = f"test_{HOSTILE}"
    target = SubjectName.parse(f"onnxruntime[with={HOSTILE}]", SubjectKind.BACKEND)

    def change(record: Any) -> None:
        if record["record"] == "header":
            record["history"] |= {"subject": target.text, "packages": [f"{HOSTILE}=={HOSTILE}"]}
        if record["record"] == "result" and record["case"] in {ADAM, EXACT}:
            record |= {"case": case if record["case"] == ADAM else f"{case} again", "message": HOSTILE}
            record |= {"verdict": "error" if record["verdict"] == "fail" else "pass", "outputs": []}

    for release, backend in {"1.0": always_right, "1.1": always_wrong}.items():
        stored = add_release(store, corpus, release, backend)
        change_records(stored, change)
    with store.lock():
        store.record_unavailable(target, "1.2", "subject.not-installable", HOSTILE)
    return HostileStore(store, case)


def test_text_of_results_is_shown_and_not_executed(
    show_history: Callable[..., ReportPage], hostile: HostileStore
) -> None:
    page = show_history(hostile.store)
    for row in page.all(ROW):
        row.click()
    for details in page.all("#tables summary"):
        details.click()
    for selector in (
        "#subjects a",
        "figcaption",
        "#tables h2",
        ".what button",
        ".details li",
        ".details p",
        "#tables li",
    ):
        assert any(SHOWN in element.text for element in page.all(selector)), selector
    assert page.all("img") == []
    assert len(page.all("script")) == 2
    assert not page.shows_unprintable_text()
    assert page.overflow() == 0
    page.search("onerror=alert()")
    assert len(shown_rows(page)) == len(page.all(ROW))


def test_copied_command_quotes_names(show_history: Callable[..., ReportPage], hostile: HostileStore) -> None:
    page = show_history(hostile.store)
    page.one(ROW).click()
    create, run = page.text(".details pre").splitlines()
    assert shlex.split(create)[-1].startswith("onnxruntime@1.1[with=")
    assert shlex.split(run)[-2] == "--case"
    assert shlex.split(run)[-1] in {escape_unprintable(hostile.case), f"{escape_unprintable(hostile.case)} again"}
