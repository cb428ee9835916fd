"""Markdown pages of the documentation: the files, changes and commands that they show.

A fence whose info string has a path after the language is that file. A fence of `diff` is a change. In a fence of `sh`
every line is a command; `# exits N` after a command is its exit status if it is not 0.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from repository import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DOCS = ROOT / "docs"

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_EXITS = re.compile(r"\s+# exits (\d)$")
_TABLE_PATH = re.compile(r"`([\w./…-]+)`")


@dataclass(frozen=True)
class Page:
    """The content of a page that a test can execute.

    Attributes:
        files: texts of files, by path.
        changes: unified diffs.
        commands: commands with their exit statuses, in order.
    """

    files: dict[str, str] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)
    commands: list[tuple[str, int]] = field(default_factory=list)


def read_page(path: Path) -> Page:
    """Return the files, changes and commands of a page."""
    page = Page()
    for match in _FENCE.finditer(path.read_text(encoding="utf-8")):
        language, _, name = match["info"].partition(" ")
        if name:
            page.files[name] = match["text"]
        elif language == "diff":
            page.changes.append(match["text"])
        elif language == "sh":
            for line in match["text"].replace("\\\n", " ").splitlines():
                status = _EXITS.search(line)
                page.commands.append((_EXITS.sub("", line), int(status[1]) if status else 0))
    return page


def changed_paths(page: Page) -> list[str]:
    """Return the paths of the files that the diffs of a page change."""
    return [re.search(r"^\+\+\+ b/(\S+)$", change, re.MULTILINE)[1] for change in page.changes]


def table_paths(path: Path) -> set[str]:
    """Return the paths in the first column of the page's table of files; names in one cell share a folder."""
    lines = path.read_text(encoding="utf-8").splitlines()
    start = lines.index("| file | change |") + 2
    paths: set[str] = set()
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        first, *others = _TABLE_PATH.findall(line.split("|")[1]) or [""]
        folder = first.rpartition("/")[0]
        paths |= {first, *(other if "/" in other or "." not in other else f"{folder}/{other}" for other in others)}
    return paths - {""}


def copy_repository(target: Path, *names: str) -> Path:
    """Copy files and folders of the repository, and return the copy's folder."""
    for name in names:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    return target


def apply_page(page: Page, copy: Path) -> None:
    """Write the files of a page into a copy of the repository, and apply its changes."""
    for path, text in page.files.items():
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_text(text, encoding="utf-8")
    for change in page.changes:
        apply = ("git", "apply", "--recount", "--unidiff-zero", "-")
        applied = subprocess.run(apply, input=change, text=True, cwd=copy, check=False, capture_output=True)
        assert applied.returncode == 0, f"{change}\n{applied.stderr}"


def run_command(command: str, directory: Path, timeout: float = 900) -> subprocess.CompletedProcess[str]:
    """Run a line as a reader would type it; modules in the directory come before installed ones."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    environment["PATH"] = os.pathsep.join((sysconfig.get_path("scripts"), environment["PATH"]))
    environment["PYTHONPATH"] = str(directory)
    return subprocess.run(
        ["bash", "-c", command],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def run_page(page: Page, directory: Path) -> dict[str, str]:
    """Run the commands of a page, check their exit statuses, and return their outputs by command."""
    outputs = {}
    for command, status in page.commands:
        done = run_command(command, directory)
        assert done.returncode == status, f"{command}\n{done.stdout}{done.stderr}"
        outputs[command] = done.stdout
    return outputs


def files_with_word(word: str, *folders: str) -> Iterator[str]:
    """Yield the paths of the text files that contain a word, below folders of the repository."""
    pattern = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
    for folder in folders:
        for file in sorted((ROOT / folder).rglob("*") if (ROOT / folder).is_dir() else [ROOT / folder]):
            is_text = file.is_file() and file.suffix in {".py", ".toml", ".md", ".json", ".yml"}
            if is_text and "__pycache__" not in file.parts and pattern.search(file.read_text(encoding="utf-8")):
                yield str(file.relative_to(ROOT))
