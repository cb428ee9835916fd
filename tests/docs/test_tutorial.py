"""docs/tutorial.md: every command is run in order, and its output is the one that the page shows."""

from __future__ import annotations

import re
import sys

import pytest
from corpora import write_part
from documentation import DOCS, read_page, run_command
from repository import ROOT

PATH = DOCS / "tutorial.md"
PAGE = read_page(PATH)
TEXT = PATH.read_text(encoding="utf-8")
INSTALL = "pip install ."
MAX_PICTURE_BYTES = 300_000

_FENCE = re.compile(r"^```sh\n(?P<commands>.*?)^```(?:\n\n```text\n(?P<output>.*?)^```)?$", re.MULTILINE | re.DOTALL)


def shown_outputs() -> list[list[str]]:
    """Return the lines that the page shows after each command, without abridged lines."""
    shown: list[list[str]] = []
    for match in _FENCE.finditer(TEXT):
        lines = (match["output"] or "").splitlines()
        shown += [[] for _ in match["commands"].splitlines()]
        shown[-1] = [line for line in lines if line.strip() and "…" not in line]
    return shown


def comparable(line: str) -> str:
    """Return a line of output without indentation, times, digests and the size of the corpus."""
    return re.sub(r"\d+(\.\d+)? ms\b|[0-9a-f]{12}|of \d+ cases", "", line.strip())


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """The output of each command, after all of them ran with their exit statuses on the cases of Momentum."""
    folder = tmp_path_factory.mktemp("tutorial")
    part = write_part(tmp_path_factory.mktemp("part"), lambda _, name: "momentum" in name and "expanded" not in name)
    for path, text in PAGE.files.items():
        (folder / path).write_text(text, encoding="utf-8")
    outputs = []
    for command, status in PAGE.commands:
        if command == INSTALL:
            outputs.append("")
            continue
        corpus = f" --data {part}" if re.match(r"onnx-conformance (run|explain|repro)\b", command) else ""
        done = run_command(command.replace("python ", f"{sys.executable} ", 1) + corpus, folder)
        assert done.returncode == status, f"{command}\n{done.stdout}{done.stderr}"
        outputs.append(done.stdout)
    return outputs


def test_picture_of_the_report_is_small():
    (picture,) = re.findall(r"!\[[^]]+\]\(([^)]+)\)", TEXT)
    assert (PATH.parent / picture).stat().st_size < MAX_PICTURE_BYTES


def test_tutorial_links_to_the_how_to_guides():
    assert "how-to/test-a-backend.md" in TEXT
    assert (ROOT / "docs/how-to/test-a-backend.md").exists()


@pytest.mark.programs
def test_commands_of_the_tutorial_print_what_the_page_shows(outputs):
    for (command, _), shown, output in zip(PAGE.commands, shown_outputs(), outputs, strict=True):
        printed = [comparable(line) for line in output.splitlines()]
        missing = [line for line in map(comparable, shown) if not any(one.startswith(line) for one in printed)]
        assert missing == [], command
