"""Commands and their expected output: each folder beside this file is a test.

    NAME/cmd        command lines, without the name of the program; they run in one empty directory
    NAME/stdout     the standard output of all of them
    NAME/stderr     the standard error of all of them; no file if it is empty
    NAME/status     the exit status of the last one, and the code of its error; no file if the status is 0

`CORPUS` in a command is the small corpus of the tests. Times, folders, digests and versions are replaced by words.
`WRITE_GOLDEN=1 pytest tests/golden` writes the files; read what changed before you commit it.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import onnx
import pytest

from conformance import __version__

FOLDER = Path(__file__).parent
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/cmd"))
MASKS = (
    (r"\b\d+(\.\d+)? (ms|s)\b", "TIME"),
    (r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:[\d.]+)?( UTC|Z)?", "DATE"),
    (r"\b[0-9a-f]{12}([0-9a-f]{52})?\b", "DIGEST"),
    (re.escape(__version__), "VERSION"),
    (re.escape(onnx.__version__), "ONNX-VERSION"),
    (r"[ \t]+(?=\n)", ""),
)


def masked(text: str, folders: dict[Path, str]) -> str:
    for folder, name in folders.items():
        text = text.replace(str(folder), name)
    for pattern, replacement in MASKS:
        text = re.sub(pattern, replacement, text)
    return text


@pytest.mark.parametrize("name", NAMES)
def test_command_has_the_expected_output(command, here, small_corpus, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "120")
    folders = {small_corpus: "CORPUS", here: "HERE"}
    lines = [shlex.split(line) for line in (FOLDER / name / "cmd").read_text().splitlines()]
    ended = [command(*(str(small_corpus) if word == "CORPUS" else word for word in line)) for line in lines]
    found = {
        "stdout": masked("".join(each.out for each in ended), folders),
        "stderr": masked("".join(each.err for each in ended), folders),
        "status": f"{ended[-1].status} {ended[-1].code}".rstrip() + "\n" if ended[-1].status else "",
    }
    files = {kind: FOLDER / name / kind for kind in found}
    if "WRITE_GOLDEN" in os.environ:
        for kind, text in found.items():
            files[kind].write_text(text) if text else files[kind].unlink(missing_ok=True)
    assert found == {kind: file.read_text() if file.exists() else "" for kind, file in files.items()}


def test_each_folder_has_a_command_and_an_output():
    folders = {path.name for path in FOLDER.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(NAMES)
    assert all((FOLDER / name / "stdout").exists() or (FOLDER / name / "stderr").exists() for name in NAMES)
