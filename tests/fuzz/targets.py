"""What is fuzzed: every reader, and how a verb is run; each takes spoilt files, and may refuse them in its own words.

A reader returns or raises `ConformanceError` (for answers of harnesses, `SubjectFailure`). A verb ends with 0, 1 or 2,
without a traceback, and leaves nothing but what it was to write. All else is a find, and so is what takes very long.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from corpora import SMALL, write_corpus
from hypothesis import strategies as st
from mutations import spoilt_bytes, spoilt_document, spoilt_lines, spoilt_model, spoilt_toml

from conformance.cli import main
from conformance.corpus.corpus import MANIFEST, manifest_bytes, open_corpus, read_manifest
from conformance.corpus.document import case_json
from conformance.corpus.loading import load_case
from conformance.errors import ConformanceError
from conformance.expectations.file import read_expectations
from conformance.generation.defined import defined_cases
from conformance.isolation.protocol import answer_in, decoded
from conformance.models.reading import read_model
from conformance.results.file import read
from conformance.subjects.failures import SubjectFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

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
ANSWER = {
    "seq": 1,
    "outputs": [{"name": "Y", "dtype": "float", "shape": [1], "data": "AACAPw=="}],
    "changed": [0],
}


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


# the readers, each with the strategy of what it reads -----------------------------------------------------------------


def reader_targets(seeds: Seeds) -> dict[str, tuple[st.SearchStrategy[bytes], Callable[[bytes, Path], Any]]]:
    """By name: what spoils a file, and what reads it."""
    corpus = open_corpus(seeds.folder / "corpus")
    case = corpus.cases[SMALL[0]]
    document = case_json(corpus, case)
    manifest = (corpus.path / MANIFEST).read_bytes()
    model = st.sampled_from(seeds.models).flatmap(spoilt_model)
    return {
        "results": (spoilt_lines(seeds.results), _read("r.jsonl", read)),
        "packed results": (spoilt_bytes(_packed(seeds.results)), _read("r.jsonl.gz", read)),
        "manifest": (st.one_of(spoilt_document(json.loads(manifest)), spoilt_bytes(manifest)), _read_manifest),
        "case.json": (spoilt_document(document), _in_corpus(seeds, "case.json")),
        "model of a case": (model, _in_corpus(seeds, "model.onnx")),
        "tensor": (spoilt_bytes(_tensor(seeds)), _in_corpus(seeds, "test_data_set_0/output_0.pb")),
        "expectations": (spoilt_toml(TOML.encode()), _read("e.toml", read_expectations)),
        "model": (model, _read("m.onnx", read_model)),
        "answer": (spoilt_document(ANSWER), _answer),
    }


def _packed(content: bytes) -> bytes:
    import gzip

    return gzip.compress(content, mtime=0)


def _tensor(seeds: Seeds) -> bytes:
    return (seeds.folder / "corpus" / "node" / SMALL[0] / "test_data_set_0" / "output_0.pb").read_bytes()


def _read(name: str, reader: Callable[[Path], Any]) -> Callable[[bytes, Path], Any]:
    def run(content: bytes, folder: Path) -> None:
        (folder / name).write_bytes(content)
        with bounded():
            reader(folder / name)

    return run


def _read_manifest(content: bytes, folder: Path) -> None:
    (folder / MANIFEST).write_bytes(content)
    with bounded():
        read_manifest(folder)


def _in_corpus(seeds: Seeds, name: str) -> Callable[[bytes, Path], Any]:
    """Reads a case of a corpus of one case, whose manifest knows the spoilt file's hash."""

    def run(content: bytes, folder: Path) -> None:
        rehashed(seeds, folder, name, content)
        with bounded():
            opened = open_corpus(folder)
            case_json(opened, opened.cases[SMALL[0]])
            for data_set in load_case(opened, opened.cases[SMALL[0]]).data_sets():
                assert data_set is not None

    return run


def rehashed(seeds: Seeds, folder: Path, name: str, content: bytes) -> None:
    """Write a corpus of one case, with this file spoilt."""
    from hashlib import sha256

    home = seeds.folder / "corpus" / "node" / SMALL[0]
    files = {path.relative_to(home).as_posix(): path.read_bytes() for path in home.rglob("*") if path.is_file()}
    files[name] = content
    case = f"node/{SMALL[0]}"
    write(Example(files={f"{case}/{name}": content for name, content in files.items()}), folder)
    hashes = {case: {name: sha256(content).hexdigest() for name, content in files.items()}}
    (folder / MANIFEST).write_bytes(manifest_bytes("1.0.0", hashes, {case: "must"}))


def _answer(content: bytes, _: Path) -> None:
    with bounded():
        for output in answer_in(content, "run", 1).get("outputs", []):
            if "data" in output:
                with suppress(ValueError):  # told as nonsense by who asks
                    decoded(output)
