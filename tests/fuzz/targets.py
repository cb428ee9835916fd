"""What an example is, and how it is run; `readers` and `verbs` make them. Each may refuse it in its own words.

A reader returns or raises `ConformanceError` (for answers of harnesses, `SubjectFailure`). A verb ends with 0, 1 or 2,
without a traceback, and leaves nothing but what it was to write. All else is a find, and so is what takes very long.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from corpora import SMALL, write_corpus

from conformance.cli import main
from conformance.errors import ConformanceError
from conformance.generation.defined import defined_cases
from conformance.subjects.failures import SubjectFailure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LONGEST = 20.0
"""Processor seconds that one example may take."""

WRONG = "fake_backends:WrongOnArgMax"
TOML = f"""subject = "{WRONG}"

[[expect]]
cases = ["test_argmax*", "*_tie_last"]
except = ["*_expanded"]
verdict = "fail"
reason = "known"
issue = "https://example.org/1"
when = {{ version = ">=0.0.1,<2", platform = ["linux", "darwin arm64"], python = ">=3.11" }}
"""


class Find(Exception):
    """What must not be."""


@dataclass(frozen=True)
class Seeds:
    """Valid files to spoil.

    Attributes:
        folder: holds `corpus`, and `good.jsonl` of a run on it.
        models: some models, from the corpus and from the pass's own cases.
    """

    folder: Path
    results: bytes
    models: Sequence[bytes]

    @classmethod
    def make(cls, folder: Path) -> Seeds:
        """Make them."""
        known = {case.id: case for _, case in defined_cases(())}
        passes = [case for id, case in known.items() if id.startswith("test_argmax_pass_")][::100]
        corpus = folder / "corpus"
        write_corpus(corpus, [*(known[id] for id in SMALL), *passes])
        told = ["run", "-b", WRONG, "--in-process", "--data", "corpus", "--results", "good.jsonl", "--no-diagnosis"]
        subprocess.run([*REAL, *told], cwd=folder, check=False, stdout=subprocess.DEVNULL)
        models = [path.read_bytes() for path in sorted(corpus.rglob("model.onnx"))]
        return cls(folder, (folder / "good.jsonl").read_bytes(), models)


REAL = (sys.executable, "-c", "import sys; sys.argv[0] = 'onnx-conformance'; from conformance.cli import main; main()")
ENCODINGS = ("utf-8", "ascii", "cp1252")


@dataclass(frozen=True)
class Example:
    """Files to write into an empty folder, and a command line to run there."""

    arguments: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)


def write(example: Example, folder: Path) -> None:
    """Put an example's files into a folder."""
    for name, content in example.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


@contextmanager
def bounded() -> Iterator[None]:
    """Raise what a reader may not raise as a find, and say so where it took very long."""
    started = time.process_time()
    with suppress(ConformanceError, SubjectFailure):
        yield
    if time.process_time() - started > LONGEST:
        raise Find(f"takes over {LONGEST} s")


def run_in_process(example: Example, folder: Path, encoding: str = "utf-8") -> None:
    """Run a command line here.

    Raises:
        Find: it ends as no command may.
    """
    write(example, folder)
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="")
    err = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="backslashreplace", newline="")
    before, status = Path.cwd(), None
    os.chdir(folder)
    try:
        argv = patch.object(sys, "argv", ["onnx-conformance", *example.arguments])
        with bounded(), argv, redirect_stdout(out), redirect_stderr(err):
            try:
                main()
            except SystemExit as ending:
                status = int(ending.code or 0)
    finally:
        os.chdir(before)
    err.flush()
    judge(example, status, err.buffer.getvalue().decode(encoding), folder)


def run_really(example: Example, folder: Path, encoding: str) -> None:
    """Run a command line in a process of its own, whose streams have this encoding.

    Raises:
        Find: it ends as no command may.
    """
    write(example, folder)
    ended = subprocess.run(
        [*REAL, *example.arguments],
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": encoding, "LC_ALL": "C"},
        capture_output=True,
        timeout=300,
        check=False,
    )
    judge(example, ended.returncode, ended.stderr.decode(errors="replace"), folder)


def judge(example: Example, status: int | None, said: str, folder: Path) -> None:
    """Whether a command ended as one may.

    Raises:
        Find: it did not.
    """
    if trace := re.search(r"report it with (\S+),", said):
        said += f"\n{Path(trace[1]).read_text()}"
        Path(trace[1]).unlink()
    if status not in {0, 1, 2} or "Traceback" in said:
        raise Find(f"status {status}: {said[-4000:]}")
    left = [path.name for path in folder.iterdir() if path.name.startswith(".")]
    if left:
        raise Find(f"left {left}")
    if status == 2 and not said.strip():
        raise Find("status 2 without a word")
