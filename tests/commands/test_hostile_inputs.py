"""Every verb with every kind of hostile input: it ends in time with status 0, 1 or 2, and without a traceback.

The table is made from the command line: each parameter of each verb that is a path and not an output is given each kind
of file. `hostile_inputs.tsv` has the status and the time of each cell. The test compares the statuses with it. If the
variable WRITE_HOSTILE_INPUTS is set, the test writes the table anew.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import resource
import signal
import sys
import tempfile
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from select import select
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
import typer
from corpora import ADAM, EXACT, write_part
from hostile_inputs import CORPORA, ENORMOUS, FORGED_LINE, INPUTS, MODELS, NOT_UTF8, OUTPUT_VALUES, PLACES, model_of
from repository import ROOT

import conformance
from conformance.base import plugins
from conformance.commands import cli

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.programs

TABLE = Path(__file__).with_name("hostile_inputs.tsv")
MAX_SECONDS = 20
MAX_MEMORY = 2**32
HEADING = "verb\tparameter\tinput\tstatus\tseconds"

IN_PROCESS = "-b fake_subject:always_right --no-isolation"
BASES = {
    "run": f"{IN_PROCESS} --no-diagnosis",
    "audit": "{model} -b reference --no-isolation",
    "blame": "{model} -b reference -b onnx-reference --no-isolation",
    "report": "{results} --json out.json",
    "diff": "{before} {after}",
    "merge": "{results} --output out.jsonl",
    "update-expectations": "{results} --expect {expect} --by-cause",
    "list": "",
    "explain": ADAM,
    "repro": f"{ADAM} --output out -b fake_subject:always_wrong",
    "search": f"{IN_PROCESS} --operator ArgMax --examples 1",
    "census": "-b reference --no-isolation --operator Not --type bool",
    "hazards": "{model} -b reference --no-isolation",
    "expand": "{model} --output out.onnx",
    "verify": "",
    "generate": "--model {model}",
    "export": "{directory}",
    "check-harness": "exec:false",
    "env create": "nothing@1.0",
    "env list": "",
    "env remove": "nothing@1.0",
    "history update": "onnxruntime --offline",
    "history show": "",
}
"""Arguments of each verb; names in braces are those of the verb's own arguments."""

BASES_OF = {
    "recorded_outputs": "{model} --inputs {usual_inputs}",
    "second_model": "{model} {second_model} -b reference --no-isolation",
}
"""The arguments instead, by the parameter that has the hostile thing."""

NAMES = {"forged name", "not UTF-8"}
"""Kinds of models with hostile names, which reports show."""

OUTPUTS = {
    *("html", "junit", "ctrf", "markdown", "annotations", "badge", "json", "hazard_table", "save_inputs", "evidence"),
    *("coverage", "directory"),
}
"""Parameters that name what is written, in every verb."""

OUTPUTS_OF = {
    **dict.fromkeys(("run", "search", "census"), frozenset({"results", "output"})),
    **dict.fromkeys(("audit", "blame", "merge", "repro", "expand"), frozenset({"output"})),
}


def verbs() -> Iterator[tuple[str, Any]]:
    """Yield the name and the command of each verb of the command line."""
    pending = [((), typer.main.get_command(cli.create_app(())))]
    while pending:
        name, command = pending.pop()
        if hasattr(command, "commands"):
            pending += [((*name, inner), each) for inner, each in command.commands.items()]
        else:
            yield " ".join(name), command


def kinds_for(parameter: str) -> dict[str, Callable[[Path], object]]:
    """Return the kinds of hostile things for a parameter: a function for each that makes it at a path."""
    own = {"inputs": INPUTS, "recorded_outputs": OUTPUT_VALUES, "data": CORPORA, "output": CORPORA}.get(parameter, {})
    return {**PLACES, **own}


@dataclass(frozen=True)
class Cell:
    """A verb with a hostile thing in the place of one parameter."""

    verb: str
    parameter: Any
    kind: str

    def prepare(self, folder: Path, usual: dict[str, str]) -> list[str]:
        """Make the hostile thing in a folder; return the command line."""
        folder.mkdir()
        name = NOT_UTF8 if self.kind in {"text", "not UTF-8"} else "hostile"
        is_npz = self.parameter.name in {"inputs", "recorded_outputs"} and "npz" in self.kind
        path = folder / (name + (".npz" if is_npz else ".json" if "JSON" in self.kind else ""))
        if self.kind in MODELS:
            path.write_bytes(MODELS[self.kind](folder).SerializeToString())
        elif self.kind == "not UTF-8":
            path.write_bytes(model_of((2, 3)).SerializeToString())
        else:
            kinds_for(self.parameter.name)[self.kind](path)
        values = {**usual, self.parameter.name: str(path)}
        base = BASES_OF.get(self.parameter.name, BASES[self.verb])
        if self.kind in ENORMOUS:
            base = base.replace("onnx-reference", "fake_subject:always_wrong")  # has the limits of the reference
        words = [word.format(**values) for word in base.split()]
        if f"{{{self.parameter.name}}}" not in base:
            is_option = self.parameter.param_type_name == "option"
            words += [*self.parameter.opts[:1], str(path)] if is_option else [str(path)]
        if self.verb in {"run", "list", "explain", "repro", "verify", "export"} and self.parameter.name != "data":
            words += ["--data", usual["data"]]
        return [
            *self.verb.split(),
            *words,
            *(["--json", "o.json"] if self.kind in NAMES and self.verb in {"audit", "blame", "hazards"} else []),
        ]


def cells() -> Iterator[Cell]:
    for verb, command in verbs():
        for parameter in command.params:
            if "path" not in type(parameter.type).__name__.lower() and "Path" not in repr(parameter.type):
                continue
            if parameter.name in OUTPUTS | OUTPUTS_OF.get(verb, frozenset()):
                continue
            more = [*MODELS, "not UTF-8"] if parameter.name in {"model", "second_model"} else []
            for kind in (*kinds_for(parameter.name), *more):
                yield Cell(verb, parameter, kind)


@pytest.fixture(scope="module")
def _loaded() -> None:
    """Import the package, so that children need not."""
    for module in pkgutil.walk_packages(conformance.__path__, "conformance."):
        if not module.name.startswith(
            ("conformance.subjects.adapters.", "conformance.__main__", "conformance.run.diagnosis.repro")
        ):
            importlib.import_module(module.name)
    importlib.import_module("onnx.reference.ops._op_list")
    plugins.registered_entry_points("backends")


@pytest.fixture(scope="module")
def usual(_loaded: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the path of a good file for each parameter of the verbs."""
    folder = tmp_path_factory.mktemp("usual")
    onnx.save(model_of((2, 3)), folder / "model.onnx")
    np.savez(folder / "inputs.npz", X=np.ones((2, 3), np.float32))
    write_part(folder / "data", lambda _, name: name in {ADAM, EXACT})
    words = f"run -b fake_subject:always_wrong --no-isolation --no-diagnosis --data {folder / 'data'}"
    ((status, *_),) = run_in_children([[*words.split(), "--results", str(folder / "results.jsonl")]], [folder])
    assert status == 1
    (folder / "expect.toml").write_text('format = 2\nsubject = "fake_subject:always_wrong"\n')
    results = str(folder / "results.jsonl")
    return {
        "model": str(folder / "model.onnx"),
        "usual_inputs": str(folder / "inputs.npz"),
        "data": str(folder / "data"),
        "expect": str(folder / "expect.toml"),
        "results": results,
        "before": results,
        "after": results,
        "directory": "exported",
    }


def run_in_children(lines: list[list[str]], folders: list[Path]) -> Iterator[tuple[int, float, str]]:
    """Yield the status, the time and the output of each command line in its folder.

    Children of this process run them, because it is loaded already. A child runs one command line after the other,
    until one of them ends the child or takes too long.
    """
    if not lines:
        return
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            _run_here(lines, folders, writer)
        finally:
            os._exit(99)
    os.close(writer)
    with os.fdopen(reader, "rb", 0) as statuses:
        for folder in folders:
            started = time.monotonic()
            if not select([statuses], [], [], MAX_SECONDS)[0]:
                os.kill(pid, signal.SIGKILL)
            written = statuses.read(1)
            status = written[0] if written else os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            log = folder / "log"
            text = log.read_text(errors="replace") if log.exists() else ""
            yield status, time.monotonic() - started, text
            if not written:
                rest = folders.index(folder) + 1
                yield from run_in_children(lines[rest:], folders[rest:])
                return
    os.waitpid(pid, 0)


def _run_here(lines: list[list[str]], folders: list[Path], statuses: int) -> None:
    """Run the command lines with a limit of memory, and write the exit status of each as a byte."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    own = os.getpid()
    for words, folder in zip(lines, folders, strict=True):
        os.chdir(folder)
        os.environ |= dict.fromkeys(("XDG_CACHE_HOME", "XDG_DATA_HOME", "TMPDIR"), str(folder))
        tempfile.tempdir = str(folder)
        log = os.open("log", os.O_WRONLY | os.O_CREAT, 0o600)
        for number in (1, 2):
            os.dup2(log, number)
        os.close(log)
        sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))  # noqa: SIM115
        sys.argv = ["onnx-conformance", *words]
        try:
            cli.main()
        except SystemExit as ending:
            sys.stdout.flush()
            sys.stderr.flush()
            if os.getpid() != own:  # a run continues in a child
                os._exit(int(ending.code or 0))
            os.write(statuses, bytes([int(ending.code or 0)]))
    os._exit(0)


def test_bases_name_every_verb():
    assert sorted(BASES) == sorted(name for name, _ in verbs())


WORDS = {
    "data": "corpus",
    "model": "model",
    "second_model": "both models",
    "inputs": "inputs",
    "recorded_outputs": "`--outputs`",
    "expect": "expectations",
    "baseline": "baseline",
    "requirements": "map of requirements",
    "store": "store",
    "output": "corpus to replace",
    "resume": "to resume",
    **dict.fromkeys(("results", "before", "after", "from_results"), "results"),
    "python": "",
}
"""The word of SECURITY.md for the file of each parameter; empty for the interpreter, which the command line names."""


def test_table_of_promises_names_every_verb_and_what_it_reads():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    promised = dict(re.findall(r"^\| `([a-z -]+)` \| ([^|]+) \|", text, re.MULTILINE))
    assert sorted(promised) == sorted(name for name, _ in verbs())
    read = {(cell.verb, cell.parameter.name) for cell in cells()}
    assert not [(verb, name) for verb, name in sorted(read) if WORDS[name] not in promised[verb]]


def is_in_first_sixth(*names: str) -> bool:
    return zlib.crc32(" ".join(names).encode()) % 6 == 0


@pytest.mark.variants(9)
@pytest.mark.parametrize("is_first", [True, pytest.param(False, marks=pytest.mark.long)], ids=["a sixth", "the others"])
@pytest.mark.parametrize("verb", sorted({cell.verb for cell in cells()}))
def test_verb_with_hostile_input_ends_with_status_of_a_verdict_or_of_an_error(tmp_path, usual, verb, is_first):
    failures, rows = [], []
    of_verb = [cell for cell in cells() if cell.verb == verb]
    own_cells = [cell for cell in of_verb if is_in_first_sixth(verb, cell.parameter.name, cell.kind) is is_first]
    folders = [tmp_path / str(number) for number, _ in enumerate(own_cells)]
    lines = [cell.prepare(folder, usual) for cell, folder in zip(own_cells, folders, strict=True)]
    for cell, (status, seconds, output) in zip(own_cells, run_in_children(lines, folders), strict=True):
        rows.append(f"{verb}\t{cell.parameter.name}\t{cell.kind}\t{status}\t{seconds:.1f}")
        is_bad = status not in {0, 1, 2} or "Traceback" in output or "\x1b" in output
        if is_bad or any(line.strip().startswith(FORGED_LINE) for line in output.splitlines()):
            failures.append((cell.parameter.name, cell.kind, status, seconds, output))
    assert not failures
    written = TABLE.read_text(encoding="utf-8").splitlines() if TABLE.exists() else [HEADING]
    own = [
        row for row in written if row.startswith(f"{verb}\t") and is_in_first_sixth(*row.split("\t")[:3]) is is_first
    ]
    if "WRITE_HOSTILE_INPUTS" in os.environ:
        TABLE.write_text("\n".join([HEADING, *sorted({*written[1:]} - {*own} | {*rows}), ""]), encoding="utf-8")
        own = rows
    assert [row.rpartition("\t")[0] for row in sorted(own)] == [row.rpartition("\t")[0] for row in sorted(rows)]
