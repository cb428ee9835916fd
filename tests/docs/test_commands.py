"""Every command that the documentation shows is run, in order, in a directory with the files that it shows.

A fence whose info string has a file's name after the language is that file. In one of `sh`, every line is a command;
`# exits N` after it says that its status is not 0. What a page runs on the whole corpus is run on a part of it here.
"""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from corpora import write_part
from repository import ROOT

pytestmark = pytest.mark.programs

PAGES = sorted(path.name for path in (ROOT / "docs").glob("*.md") if path.name != "add-an-operator.md")
"""Those whose commands need nothing but the suite; findings/ and add-an-operator.md have tests of their own."""

THEIRS = "test-your-backend.md"
"""The page that shows the package `acme`, which other pages take to be there."""

SELECTED = re.compile(r"test_(adagrad_chained_steps_\w+_expanded|momentum_pairwise_00\d_)")
"""Cases that the pages select by a part of their names."""

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_READS_THE_CORPUS = re.compile(r"^onnx-conformance (run|list|explain|verify)\b")
_EXITS = re.compile(r"\s+# exits (\d)$")

ELSEWHERE = {
    "python3 -m pip install nox && python3 -m nox -s conformance": "continuous integration runs this session",
    "python3 -m pip install nox && python3 -m nox -s tests": "continuous integration runs this session",
    "onnx-conformance strength": "tests/strength measures the whole corpus, and runs the command on a small one",
    **dict.fromkeys(
        (
            "tar xzf onnx-conformance-corpus-2.0.0.tar.gz",
            "make -C harnesses/cpp runner",
            "harnesses/cpp/runner onnx-conformance-corpus-2.0.0",
        ),
        "tests/scripts unpacks the archive, and tests/harnesses builds and runs the runner",
    ),
    "pip install .": "every nox session installs the checkout",
    "pip install --no-deps .": "the test writes what an installation leaves behind, so that it needs no network",
}
"""Commands that cannot be run inside of a test, and what runs them instead."""


@dataclass(frozen=True)
class Page:
    """What a page shows: files by name, and commands with the status they must end with, in order."""

    files: dict[str, str] = field(default_factory=dict)
    commands: list[tuple[str, int]] = field(default_factory=list)


def page(path: Path) -> Page:
    shown = Page()
    for match in _FENCE.finditer(path.read_text(encoding="utf-8")):
        language, _, name = match["info"].partition(" ")
        if name:
            shown.files[name] = match["text"]
        elif language == "sh":
            for line in match["text"].replace("\\\n", " ").splitlines():
                status = _EXITS.search(line)
                shown.commands.append((_EXITS.sub("", line), int(status[1]) if status else 0))
    return shown


@pytest.fixture(scope="session")
def part(tmp_path_factory):
    """A part of the corpus: the cases that the pages name or select, and one in forty-eight of the others."""
    named = set(re.findall(r"\btest_[a-z0-9_]+", "".join(path.read_text() for path in (ROOT / "docs").glob("*.md"))))
    return write_part(
        tmp_path_factory.mktemp("part"), lambda place, name: place % 48 == 0 or name in named or SELECTED.match(name)
    )


@pytest.mark.parametrize("name", [*PAGES, "../README.md"])
def test_every_command_of_a_page_does_what_the_page_says(name, tmp_path, part):
    shown = page(ROOT / "docs" / name)
    for file, text in {**page(ROOT / "docs" / THEIRS).files, **shown.files}.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    install(tmp_path)
    for command, status in shown.commands:
        if command not in ELSEWHERE:
            done = run(on(part, command), tmp_path)
            assert done.returncode == status, f"{command}\n{done.stdout}{done.stderr}"


def test_what_is_not_run_here_is_shown_somewhere():
    shown = {command for name in [*PAGES, "../README.md"] for command, _ in page(ROOT / "docs" / name).commands}
    assert set(ELSEWHERE) <= shown


def on(corpus: Path, command: str) -> str:
    """A command that reads the suite's corpus, told to read another."""
    return command if "--data" in command else _READS_THE_CORPUS.sub(rf"\g<0> --data {corpus}", command)


def install(directory: Path) -> None:
    """Leave behind what pip would of the page's own project: its name and its entry points."""
    project = directory / "pyproject.toml"
    if not project.exists():
        return
    told = tomllib.loads(project.read_text())["project"]
    lines = [
        line
        for group, points in told["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {target}" for name, target in points.items()))
    ]
    installed = directory / f"{told['name'].replace('-', '_')}-{told['version']}.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(f"Name: {told['name']}\nVersion: {told['version']}\n")
    (installed / "entry_points.txt").write_text("\n".join(lines) + "\n")


def run(command: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """Run a line as a reader would type it."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    environment["PATH"] = os.pathsep.join((sysconfig.get_path("scripts"), environment["PATH"]))
    environment["PYTHONPATH"] = str(directory)
    return subprocess.run(
        ["bash", "-c", command],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
