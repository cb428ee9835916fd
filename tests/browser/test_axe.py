"""Accessibility of every view, checked by axe-core.

Only the JavaScript file of the package axe-playwright-python is used.
"""

from __future__ import annotations

from importlib.metadata import files
from typing import TYPE_CHECKING

import pytest
from report_page import ReportPage, case_address
from report_sample import small_run
from report_sample_optimizers import APPLIES_CASE, optimizer_run

if TYPE_CHECKING:
    from collections.abc import Callable

    Show = Callable[..., ReportPage]

PAGES = ("subject", "scores", "clauses", "errors", "silent", "hazards", "compare")
VIEWS = (
    "",
    "#view=matrix",
    "#view=matrix&folded=1",
    "#view=matrix&q=nowhere",
    "#nowhere=1",
    *(f"#view={page}" for page in PAGES),
    case_address("test_adam_epsilon_float"),
    case_address(APPLIES_CASE),
)
# Views with another layout on a narrow screen.
ON_A_PHONE = ("", "#view=matrix", "#view=errors")
FOUND = """
const done = arguments[0];
axe.run({ resultTypes: ["violations"], iframes: false }).then(
  ({ violations }) => done(violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))),
  (error) => done([String(error)]));
"""


@pytest.fixture(scope="session")
def axe() -> str:
    (file,) = (file for file in files("axe-playwright-python") or () if file.name == "axe.min.js")
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize(("width", "addresses"), [(1440, VIEWS), (390, ON_A_PHONE)])
def test_axe_finds_no_violation(show: Show, axe: str, width: int, addresses: tuple[str, ...]) -> None:
    page = show(small_run(), optimizer_run())
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    found = {}
    for address in addresses:
        page.go(address)
        page.driver.execute_script(axe)
        found[address] = page.driver.execute_async_script(FOUND)
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert {address: violations for address, violations in found.items() if violations} == {}
