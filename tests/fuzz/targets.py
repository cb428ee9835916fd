"""Examples of the fuzzer, and functions that run them.

A reader must return or raise `ConformanceError`; for answers of harnesses, `SubjectFailure`. A verb must end with
status 0, 1 or 2 without a traceback, and may only write the requested files. Everything else is a failure, also a run
that exceeds the time limit.
"""

from __future__ import annotations

import io
import os
import re
import resource
import runpy
import signal
import subprocess
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from corpora import SMALL, write_corpus

from conformance.base.errors import ConformanceError
from conformance.commands.cli import main
from conformance.corpus.generation.generators import define_cases
from conformance.subjects.calling.request import SubjectFailure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MAX_SECONDS = 20.0
"""Limit of the processor time of one example, in seconds."""

MAX_MEMORY = 2**32
"""Limit of the memory of one command, in bytes."""

WRONG = "fake_subject:wrong_on_argmax"
TOML = f"""subject = "{WRONG}"

[[expect]]
fail = ["test_argmax*", "*_tie_last"]
except = ["*_expanded"]
reason = "known"
issue = "https://example.org/1"
when = {{ version = ">=0.0.1,<2", platform = ["linux", "darwin arm64"], python = ">=3.11" }}
"""


class FuzzFailure(Exception):
    """A reader or a verb behaves in a way that is not allowed."""


@dataclass(frozen=True)
class Seeds:
    """Valid files to corrupt.

    Attributes:
        folder: the folder with a corpus, and with `good.jsonl`, the results of a run on it.
        results: the content of `good.jsonl`.
        models: models of the corpus and of cases of the pass.
    """

    folder: Path
    results: bytes
    models: Sequence[bytes]

    @classmethod
    def make(cls, folder: Path) -> Seeds:
        """Write the corpus, and run it."""
        known = {case.id: case for _, case in define_cases(())}
        passes = [case for id, case in known.items() if id.startswith("test_argmax_pass_")][::100]
        corpus = folder / "corpus"
        write_corpus(corpus, [*(known[id] for id in SMALL), *passes])
        arguments = [
            "run",
            "-b",
            WRONG,
            "--no-isolation",
            "--data",
            "corpus",
            "--results",
            "good.jsonl",
            "--no-diagnosis",
        ]
        subprocess.run([*REAL, *arguments], cwd=folder, check=False, stdout=subprocess.DEVNULL)
        models = [path.read_bytes() for path in sorted(corpus.rglob("model.onnx"))]
        return cls(folder, (folder / "good.jsonl").read_bytes(), models)


REAL = (
    sys.executable,
    "-c",
    "import sys; sys.argv[0] = 'onnx-conformance'; from conformance.commands.cli import main; main()",
)
VERIFY = "verify.py"
"""In place of a command line: the script of a folder of evidence, which checks the folder."""

ENCODINGS = ("utf-8", "ascii", "cp1252")


@dataclass(frozen=True)
class Example:
    """Files to write into an empty folder, and a command line to run there."""

    arguments: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)


def write(example: Example, folder: Path) -> None:
    """Write the files of an example into a folder."""
    for name, content in example.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


@contextmanager
def bounded() -> Iterator[None]:
    """Ignore the allowed exceptions; raise `FuzzFailure` if the block exceeds the time limit."""
    before = signal.signal(signal.SIGVTALRM, _raise_overtime)
    signal.setitimer(signal.ITIMER_VIRTUAL, MAX_SECONDS)
    try:
        with suppress(ConformanceError, SubjectFailure):
            yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _raise_overtime(*_: object) -> None:
    raise FuzzFailure(f"takes over {MAX_SECONDS} s")


def run_in_process(example: Example, folder: Path, encoding: str = "utf-8") -> None:
    """Run a command line in this process.

    Raises:
        FuzzFailure: the command does not end as a command must.
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
                if example.arguments == (VERIFY,):
                    sys.argv = [str(folder / VERIFY)]
                    runpy.run_path(VERIFY, run_name="__main__")
                main()
            except SystemExit as ending:
                status = int(ending.code or 0)
    finally:
        os.chdir(before)
    err.flush()
    check_ending(example, status, err.buffer.getvalue().decode(encoding), folder)


def run_really(example: Example, folder: Path, encoding: str) -> None:
    """Run a command line in a new process whose streams have this encoding.

    Raises:
        FuzzFailure: the command does not end as a command must.
    """
    write(example, folder)
    is_script = example.arguments == (VERIFY,)
    ended = subprocess.run(
        [sys.executable, "-I", "-S", VERIFY] if is_script else [*REAL, *example.arguments],
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": encoding, "LC_ALL": "C"},
        capture_output=True,
        timeout=300,
        check=False,
        preexec_fn=_limit_command,
    )
    check_ending(example, ended.returncode, ended.stderr.decode(errors="replace"), folder)


def limit_memory() -> None:
    """Limit the memory of this process."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))


def _limit_command() -> None:
    """Limit the memory and the processor time of the process of a command."""
    limit_memory()
    resource.setrlimit(resource.RLIMIT_CPU, (int(MAX_SECONDS), int(MAX_SECONDS)))


GROUPS = ((), ("env",), ("history",))
"""Command lines of groups of verbs without a verb."""


def check_ending(example: Example, status: int | None, stderr: str, folder: Path) -> None:
    """Check how a command ended.

    Raises:
        FuzzFailure: the exit status, the output or the remaining files are not allowed.
    """
    if trace := re.search(r"report it with (\S+),", stderr):
        stderr += f"\n{Path(trace[1]).read_text()}"
        Path(trace[1]).unlink()
    if status not in {0, 1, 2} or "Traceback" in stderr:
        raise FuzzFailure(f"status {status}: {stderr[-4000:]}")
    left = [path.name for path in folder.iterdir() if path.name.startswith(".")]
    if left:
        raise FuzzFailure(f"files left behind: {left}")
    if status == 2 and not stderr.strip() and example.arguments not in GROUPS:  # they print their help
        raise FuzzFailure("status 2 without a message")
