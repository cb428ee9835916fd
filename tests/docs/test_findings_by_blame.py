"""Faults in reports/findings that no case shows: each program prints what its section states, and the index has it."""

from __future__ import annotations

import contextlib
import io
import re
from importlib.metadata import version

import pytest
from repository import ROOT

FOLDER = ROOT / "reports" / "findings"
INDEX = (FOLDER / "README.md").read_text(encoding="utf-8").partition("\n## Found by `blame`\n")[2].partition("\n## ")[0]
SECTION = re.compile(r"^## (?P<title>.+)\n(?P<body>(?:(?!^## ).*\n)*)", re.MULTILINE)
PROGRAM = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FAULTS = {
    (path.stem, found["title"]): (path.read_text(encoding="utf-8").splitlines()[0], PROGRAM.search(found["body"]))
    for path in sorted(FOLDER.glob("onnx*.md"))
    for found in SECTION.finditer(path.read_text(encoding="utf-8"))
    if found["body"].startswith("\nFound by [`blame`]")
}


def test_index_lists_exactly_the_faults():
    listed = re.findall(r"^\| (\S+) \S+ \| \[([^]]+)\]\(", INDEX, re.MULTILINE)
    assert listed
    assert set(listed) == set(FAULTS)


@pytest.mark.parametrize(("page", "title"), FAULTS)
def test_program_prints_what_the_section_states(page, title):
    heading, program = FAULTS[page, title]
    assert program is not None
    if heading != f"# {page} {version(page)}":
        pytest.skip(f"{page} {version(page)} is installed")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(program[1], {})
        except Exception as error:  # noqa: BLE001 - graph optimizers raise exceptions of any class
            printed.write(f"{type(error).__name__}: {str(error).splitlines()[0]}\n")
    expected = ".*".join(map(re.escape, program[2].strip().split("…")))
    assert re.fullmatch(expected, printed.getvalue().strip(), re.DOTALL), printed.getvalue()
