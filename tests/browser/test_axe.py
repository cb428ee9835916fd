"""What axe-core, the accessibility checker, has to say of each view: nothing.

Its JavaScript comes with the package axe-playwright-python, of which nothing else is used.
"""

from __future__ import annotations

from importlib.metadata import files
from typing import TYPE_CHECKING

import pytest
from report_page import ReportPage, case_address
from report_sample import small
from report_sample_optimizers import FIRES, rewriting

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
    case_address(FIRES),
)
# Where a narrow page is laid out otherwise.
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
def test_axe_finds_nothing(show: Show, axe: str, width: int, addresses: tuple[str, ...]) -> None:
    page = show(small(), rewriting())
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    found = {}
    for address in addresses:
        page.go(address)
        page.driver.execute_script(axe)
        found[address] = page.driver.execute_async_script(FOUND)
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert {address: told for address, told in found.items() if told} == {}
