"""docs/contributing/add-an-operator.md, followed in a copy of the package, makes an operator that is judged."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from documentation import DOCS, apply_page, copy_repository, read_page, run_page
from repository import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PATH = DOCS / "contributing" / "add-an-operator.md"
PAGE = read_page(PATH)


def test_page_followed_in_a_copy_makes_an_operator_with_a_second_opinion(tmp_path: Path) -> None:
    copy = copy_repository(tmp_path / "copy", "conformance")
    apply_page(PAGE, copy)
    outputs = run_page(PAGE, copy)
    assert ["1 passed" in text for text in outputs.values()] == [True]


def test_declaration_on_the_page_is_that_of_the_package() -> None:
    (shown,) = re.findall(r"```toml\n(.*?)```", PATH.read_text(encoding="utf-8"), re.DOTALL)
    declared = (ROOT / "conformance" / "exact" / "declarations" / "elementwise.toml").read_text(encoding="utf-8")
    assert shown in declared
