"""docs/tutorial.md: every command is run in order, and its output is the one that the page shows."""

from __future__ import annotations

import re
import shlex
import sys

import pytest
from corpora import write_part
from documentation import DOCS, read_page, run_command
from repository import ROOT

PATH = DOCS / "tutorial.md"
PAGE = read_page(PATH)
TEXT = PATH.read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
INSTALL = "pip install ."
MAX_PICTURE_BYTES = 300_000

_FENCE = re.compile(r"^```sh\n(?P<commands>.*?)^```(?:\n\n```text\n(?P<output>.*?)^```)?$", re.MULTILINE | re.DOTALL)


def shown_outputs(text: str) -> list[tuple[list[str], str]]:
    """Return, for each fence of commands, the commands and the output that the page shows."""
    return [(match["commands"].splitlines(), match["output"] or "") for match in _FENCE.finditer(text)]


def comparable(text: str) -> str:
    """Return an output without empty lines, spaces at line ends, times, digests, and path and size of the corpus."""
    text = re.sub(r" --data \S+|\d+(\.\d+)? ms\b|[0-9a-f]{12}|of \d+ cases (?=\()", "", text)
    return re.sub(r" +$|\n(?=\n)", "", text.strip(), flags=re.MULTILINE)


def pattern(shown: str) -> str:
    """Return a pattern of the whole output; a line `…` stands for any lines, and `…` in a line for any text."""
    lines = (r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + r"\n" for line in shown.split("\n"))
    return "".join(lines)


@pytest.fixture(scope="module")
def part(tmp_path_factory):
    """Return a corpus with the cases of Momentum."""
    return write_part(tmp_path_factory.mktemp("part"), lambda _, name: re.search("momentum(?!.*expanded$)|_opti", name))


@pytest.fixture(scope="module")
def outputs(tmp_path_factory, part):
    """The output of each command, after all of them ran with their exit statuses on the cases of Momentum."""
    folder = tmp_path_factory.mktemp("tutorial")
    for path, text in PAGE.files.items():
        (folder / path).write_text(text, encoding="utf-8")
    outputs = []
    for command, status in PAGE.commands:
        if command == INSTALL:
            outputs.append("")
            continue
        reads_corpus = re.match(r"onnx-conformance (run|explain|repro)\b", command) and "--data" not in command
        corpus = f" --data {shlex.quote(str(part))}" if reads_corpus else ""
        done = run_command(command.replace("python ", f"{shlex.quote(sys.executable)} ", 1) + corpus, folder)
        assert done.returncode == status, f"{command}\n{done.stdout}{done.stderr}"
        outputs.append(done.stdout)
    return outputs


def test_picture_of_the_report_is_small():
    (picture,) = re.findall(r"!\[[^]]+\]\(([^)]+)\)", TEXT)
    assert (PATH.parent / picture).stat().st_size < MAX_PICTURE_BYTES


def test_tutorial_links_to_the_how_to_guides():
    assert "how-to/test-a-backend.md" in TEXT
    assert (ROOT / "docs/how-to/test-a-backend.md").exists()


@pytest.mark.long
@pytest.mark.programs
def test_commands_of_the_tutorial_print_exactly_what_the_page_shows(outputs):
    rest = iter(outputs)
    for commands, shown in shown_outputs(TEXT):
        assert_shown("".join(next(rest) for _ in commands), shown)
    assert list(rest) == []


@pytest.mark.long
@pytest.mark.programs
def test_command_of_the_readme_prints_exactly_what_it_shows(tmp_path, part):
    commands, shown = next(pair for pair in shown_outputs(README) if pair[1])
    (command,) = (re.sub(r"\s+# exits \d$", "", each) for each in commands if each.startswith("onnx-conformance "))
    assert_shown(run_command(f"{command} --data {part}", tmp_path).stdout, shown)


def assert_shown(output: str, shown: str) -> None:
    """Check that an output is the one that a page shows; a page that shows nothing has a command without output."""
    printed = comparable(output) + "\n"
    expected = comparable(shown)
    assert re.fullmatch(pattern(expected), printed if expected else "\n"), f"{printed}\n{expected}"
