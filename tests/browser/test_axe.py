"""Accessibility of every view of the report, checked by axe-core."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from report_page import ReportPage, case_address
from report_sample import small_run
from report_sample_optimizers import APPLIES_CASE, optimizer_run

if TYPE_CHECKING:
    from collections.abc import Callable

    Show = Callable[..., ReportPage]

PAGES = ("subject", "scores", "clauses", "errors", "silent", "hazards", "compare")
# The matrix is last, because its rows stay in the page.
VIEWS = (
    "",
    "#nowhere=1",
    *(f"#view={page}" for page in PAGES),
    case_address("test_adam_epsilon_float"),
    case_address(APPLIES_CASE),
    "#view=matrix",
    "#view=matrix&folded=1",
    "#view=matrix&q=nowhere",
)
# Views with another layout on a narrow screen.
ON_A_PHONE = ("", "#view=errors", "#view=matrix")


@pytest.mark.parametrize(("width", "addresses"), [(1440, VIEWS), (390, ON_A_PHONE)])
def test_axe_finds_no_violation(show: Show, width: int, addresses: tuple[str, ...]) -> None:
    page = show(small_run(), optimizer_run(), address=addresses[0], width=width)
    found = {addresses[0]: page.axe_violations()}
    for address in addresses[1:]:
        page.visit(address)
        found[address] = page.axe_violations()
    assert {address: violations for address, violations in found.items() if violations} == {}
