"""Fixtures of the browser tests: the installed Chromium without a network, and a function that opens a report."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest
from report_page import ReportPage
from runs_in_memory import text_renderer
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from conformance.run.report.formats import html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SWITCHES = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
    "--disable-features=RenderDocument",  # which makes a new frame for each load
)


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"{name} is not installed: the browser tests need Debian's packages chromium and chromium-driver.")
    return found


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """Start one browser for all tests, with a new profile."""
    options = ChromeOptions()
    options.binary_location = _program("chromium")
    for switch in (*SWITCHES, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = Chrome(service=Service(_program("chromedriver")), options=options)
    # Without a screen nothing gives the window the focus.
    browser.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
    yield browser
    browser.quit()


@pytest.fixture
def open_page(driver: Chrome) -> Iterator[Callable[..., ReportPage]]:
    """Return a function that opens a page in a file; afterwards check the console and the network.

    With `width`, `mobile` or `scheme` the page is loaded on such a screen.
    """
    pages: list[ReportPage] = []

    def opened(path: Path, address: str = "", *, width: int = 0, mobile: bool = False, scheme: str = "") -> ReportPage:
        pages.append(ReportPage(driver, path))
        if width:
            pages[-1].resize(width, mobile=mobile)
        if scheme:
            pages[-1].prefer(scheme)
        pages[-1].go(address)
        return pages[-1]

    yield opened
    for page in pages:
        page.restore()
        assert page.violations() == []
        assert page.requests() == []


@pytest.fixture
def show(open_page: Callable[..., ReportPage], tmp_path: Path) -> Callable[..., ReportPage]:
    """Return a function that opens the report of runs."""

    def opened(*runs: object, address: str = "", **screen: Any) -> ReportPage:
        path = tmp_path / "report.html"
        path.write_text(text_renderer(html.render)(list(runs)), encoding="utf-8")
        return open_page(path, address, **screen)

    return opened
