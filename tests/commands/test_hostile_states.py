"""A state that somebody else wrote: every verb that continues a state ends with status 2 at once."""

from __future__ import annotations

import json
import resource
import shutil
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx
import pytest
from corpora import ADAM
from fake_subject import always_right
from history_stores import add_release, write_three_cases
from hostile_states import HOSTILE_KINDS
from refusals import assert_bad_input

from conformance.studies.history.store import INDEX_FILE, HistoryStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_SECONDS = 10.0
"""Time for a refusal on a busy machine; most of it is the start of the command."""

MAX_MEMORY = 2**30
"""Memory for a refusal, besides that of this process."""

RIGHT = "fake_subject:always_right"
COMMANDS = {
    "census": "census -b reference --operator Sqrt --type float16 --no-isolation --resume kept",
    "search": f"search -b {RIGHT} --operator ArgMax --examples 1 --no-isolation --resume kept",
    "audit": "audit model.onnx -b reference --no-isolation --resume kept",
    "run": f"run -b {RIGHT} --no-isolation --data corpus --case {ADAM} --resume kept",
    "run --results": f"run -b {RIGHT} --no-isolation --data corpus --case {ADAM} --results kept",
    "blame": f"blame model.onnx -b reference -b {RIGHT} --no-isolation --resume kept",
    "history show": "history show onnxruntime --store kept",
    "history show without index": "history show onnxruntime --store kept",
    "history update": "history update onnxruntime --offline --data corpus --store kept",
}
"""A command for each verb that continues the state `kept`."""

FILES = {
    "census": ["kept"],
    "search": ["kept"],
    "audit": ["kept/*/record.json", "kept/*/chunks.jsonl", "kept/*/blobs/*"],
    "run": ["kept.partial"],
    "run --results": ["kept.partial"],
    "blame": ["kept"],
    "history show": ["kept/store.json", "kept/backends/*/*.jsonl.gz", "kept/index.sqlite"],
    "history show without index": ["kept/cases/*.jsonl.gz", "kept/backends/*/*.jsonl.gz"],
    "history update": ["kept/store.json", "kept/update.lock", "kept/backends/*/*.jsonl.gz"],
}
"""The files of each state, as patterns; the first file of each pattern is replaced."""

HARMLESS = {
    ("run --results", "kept.partial", "512 MB line"): "the file is emptied",
    ("history update", "kept/update.lock", "512 MB line"): "the file is not read",
    ("history show", "kept/index.sqlite", "512 MB line"): "a damaged index is built again",
    ("history show", "kept/index.sqlite", "directory"): "the index is built in memory",
}
"""Cells of the table that are not refused, and why."""

CELLS = [
    (verb, pattern, kind)
    for verb, patterns in FILES.items()
    for pattern in patterns
    for kind in HOSTILE_KINDS
    if (verb, pattern, kind) not in HARMLESS
]


@dataclass(frozen=True)
class States:
    """A folder for each verb with its input files and its state, which are copied for each test."""

    folder: Path

    def restore(self, verb: str, target: Path) -> None:
        shutil.copytree(self.folder / verb, target, dirs_exist_ok=True)


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> States:
    return States(tmp_path_factory.mktemp("states"))


@pytest.fixture
def restore(states: States, command: Callable[..., Any], here: Path) -> Callable[[str], None]:
    """Return a function that writes the state of a verb into the current folder."""

    def write(verb: str) -> None:
        if not (states.folder / verb).exists():
            _write_state(verb, command, here)
            shutil.copytree(here, states.folder / verb)
        else:
            states.restore(verb, here)

    return write


def _write_state(verb: str, command: Callable[..., Any], here: Path) -> None:
    graph = "g (float[2] X) => (float[2] Y) { H = Abs (X) Y = Exp (H) }"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 13]> {graph}'), here / "model.onnx")
    corpus = write_three_cases(here / "corpus")
    words = COMMANDS[verb].split()
    if verb.startswith("run"):
        ended = command(*words[:-2], "--results", "kept")
        lines = (here / "kept").read_bytes().splitlines(keepends=True)
        (here / "kept.partial").write_bytes(b"".join(lines[:-1]))
        (here / "kept").unlink()
    elif verb == "blame":
        ended = command(*words[:-2], "--json", "kept")
    elif verb.startswith("history"):
        add_release(HistoryStore(here / "kept"), corpus, "1.19.0", always_right)
        ended = command(*words)
        if verb.endswith("without index"):
            (here / "kept" / INDEX_FILE).unlink()
    else:
        ended = command(*words)
    assert ended.status in (0, 1), ended


@contextmanager
def _limited() -> Iterator[None]:
    """Fail if the block takes long, or much memory."""
    started, limits = time.monotonic(), resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MAX_MEMORY, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    assert time.monotonic() - started < MAX_SECONDS


@pytest.mark.variants(42)
@pytest.mark.parametrize(("verb", "pattern", "kind"), CELLS)
def test_state_that_is_no_plain_file_is_refused(command, here, restore, verb, pattern, kind):
    restore(verb)
    file = min(here.glob(pattern))
    HOSTILE_KINDS[kind](file)
    outside = file.with_name(f"{file.name}.outside")
    before = outside.read_bytes() if outside.exists() else b""
    with _limited():
        ended = command(*COMMANDS[verb].split())
    assert_bad_input(ended)
    is_target = ended.code == "usage.target-is-directory"  # the file is an output too
    assert is_target or ended.code.split(".")[0] in {"job", "results", "history"}, ended
    assert not outside.exists() or outside.read_bytes() == before


@pytest.mark.parametrize("verb", ["audit", "history show", "history update"])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_state_folder_that_is_a_link_is_refused(command, here, restore, verb, depth):
    restore(verb)
    folder = [here / "kept", *sorted(here.glob("kept/[b0-9a-f]*")), *sorted(here.glob("kept/*/*"))]
    levels = [each for each in folder if each.is_dir() and len(each.relative_to(here).parts) == depth + 1]
    outside = here / "outside"
    levels[0].rename(outside)
    levels[0].symlink_to(outside)
    names = sorted(path.name for path in outside.rglob("*"))
    ended = command(*COMMANDS[verb].split())
    assert_bad_input(ended, "job.state-linked")
    assert sorted(path.name for path in outside.rglob("*")) == names


OTHER_JOBS = {
    "census": ("job.other-job", "--operator Sqrt", "--operator Exp"),
    "search": ("job.other-job", "--resume", "--seed 1 --resume"),
    "audit": ("job.other-job", "model.onnx", "other.onnx"),
    "run": ("usage.resume-other-run", "always_right", "always_wrong"),
    "blame": ("job.other-job", "--no-isolation", "--no-isolation --seed 1"),
}


@pytest.mark.parametrize("verb", OTHER_JOBS)
def test_state_of_other_job_is_refused(command, here, restore, verb):
    restore(verb)
    graph = "g (float[2] X) => (float[2] Y) { Y = Abs (X) }"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 13]> {graph}'), here / "other.onnx")
    code, old, new = OTHER_JOBS[verb]
    assert_bad_input(command(*COMMANDS[verb].replace(old, new).split()), code)


VERSIONS = {
    "census": ("kept", "job.other-version"),
    "search": ("kept", "job.other-version"),
    "audit": ("kept/*/record.json", "job.other-version"),
    "blame": ("kept", "job.malformed-state"),
    "history show": ("kept/store.json", "history.other-format"),
    "history update": ("kept/store.json", "history.other-format"),
}


@pytest.mark.parametrize("verb", VERSIONS)
def test_state_of_other_format_is_refused(command, here, restore, verb):
    restore(verb)
    pattern, code = VERSIONS[verb]
    (file,) = here.glob(pattern)
    lines = file.read_text().splitlines() if verb in {"census", "search"} else [file.read_text()]
    lines[0] = json.dumps(json.loads(lines[0]) | {"format": 99})
    file.write_text("\n".join(lines) + "\n")
    assert_bad_input(command(*COMMANDS[verb].split()), code, *(["99"] if verb != "blame" else []))


@pytest.mark.parametrize("verb", ["census", "search", "run"])
def test_state_with_incomplete_last_line_continues(command, here, restore, verb):
    restore(verb)
    state = here / FILES[verb][0]
    state.write_bytes(state.read_bytes()[:-5])
    assert command(*COMMANDS[verb].split()).status in (0, 1)


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "string", "shape": [2**33]},
        {"dtype": "float", "shape": [2**33]},
        {"dtype": "float", "shape": [1] * 65},
        {"dtype": "string", "shape": [1] * 65},
        {"dtype": "float", "shape": [0, 2**62, 2**62]},
        {"dtype": "string", "shape": [0, 2**62, 2**62]},
        {"dtype": "float", "shape": [-1]},
        {"dtype": "nonsense", "shape": [2]},
        {"content": {"digest": "../../../model.onnx", "size": 8}},
        {"content": {"digest": "0" * 64, "size": 2**62}},
    ],
)
def test_recorded_value_with_impossible_shape_is_refused(command, here, restore, change):
    restore("audit")
    (record,) = here.glob("kept/*/record.json")
    document = json.loads(record.read_text())
    document["values"] = [value | change for value in document["values"]]
    record.write_text(json.dumps(document))
    for chunks in here.glob("kept/*/chunks.jsonl"):
        chunks.unlink()
    with _limited():
        ended = command(*COMMANDS["audit"].split())
    assert_bad_input(ended)
    assert ended.code in {"job.malformed-recording", "job.recording-unreadable"}
