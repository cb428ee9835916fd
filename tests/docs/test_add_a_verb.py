"""docs/how-to/add-a-verb.md: followed in a copy of the package, it makes a command."""

from __future__ import annotations

import pytest
from documentation import DOCS, apply_page, changed_paths, copy_repository, read_page, run_page, table_paths
from repository import ROOT

PATH = DOCS / "how-to" / "add-a-verb.md"
PAGE = read_page(PATH)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the package with the page's files and changes."""
    copy = copy_repository(
        tmp_path_factory.mktemp("copy"),
        "conformance",
        "scripts/make_cli_reference.py",
        "docs/reference/command-line.md",
    )
    (copy / "data").symlink_to(ROOT / "data")
    apply_page(PAGE, copy)
    return copy


def test_table_lists_the_files_of_the_page():
    assert {*PAGE.files, *changed_paths(PAGE)} <= table_paths(PATH)


def test_table_lists_existing_files_and_new_files():
    paths = {path for path in table_paths(PATH) if "/" in path} - {*PAGE.files}
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.programs
def test_commands_of_the_page_work(copy):
    outputs = run_page(PAGE, copy)
    assert "\nadam  " in outputs["onnx-conformance tags"]
    assert "\n## tags\n" in (copy / "docs/reference/command-line.md").read_text(encoding="utf-8")
