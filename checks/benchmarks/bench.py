"""Measure the speed and the memory of the suite, and compare them with their limits.

Usage: python bench.py [ROW…]; all rows by default. `run` is short for all rows about the duration of runs.

A time is that of a whole command, with start-up. Compared commands are run alternately, so that their ratio is
reliable. The corpus is run as it is, which is what a user waits for. It is also run with `COPIES` copies of each case,
which shows the cost of a case.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from censuses import add_rows
from job_speed import job_rows
from judge_speed import judge_rows
from many_results import count, results_files
from oracle_speed import oracle_rows
from rich.console import Console
from rich.table import Table
from search_speed import search_rows

from conformance.corpus.cases.case_loading import COMPANION_FILE, companion_bytes, load_case
from conformance.corpus.cases.corpus import MANIFEST, bundled_corpus_path, manifest_bytes, open_corpus, read_manifest
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.isolation.protocol import Limits
from conformance.subjects.isolation.start_subjects import started_subjects

COPIES = 4
MANY_COPIES = 8
"""Copies for measurements of memory; the manifest of more copies is larger than `MAX_MANIFEST_BYTES`."""
ROUNDS = 3
ROUNDS_OF_LONG_COMMANDS = 2
"""Rounds of commands that run the multiplied corpus several times."""
ROUND_TRIPS = 1000
SMALL_CASE = "test_argmax_ties_default"
CRASHING_CASES = {"test_argmax_pass_fields_attribute_function", "test_argmax_pass_functions_sparse_constants"}
"""Cases that end a process with ONNX Runtime, see reports/findings/onnxruntime.md: all corpora here lack them."""
ARITHMETIC = """
import multiprocessing, sys
each = [200_000_000 // int(sys.argv[1])] * int(sys.argv[1])
processes = [multiprocessing.get_context("fork").Process(target=lambda n: sum(range(n)), args=(n,)) for n in each]
[process.start() for process in processes], [process.join() for process in processes]
"""
CUT_SHORT = "before the run was done"
HERE = Path(__file__).parent
COMMAND = (sys.executable, "-c", "from conformance.commands.cli import main; main()")
SUBJECTS = ("reference", "onnx-reference", "onnxruntime")


@dataclass(frozen=True)
class Sample:
    """Wall-clock seconds and peak resident memory in MiB of one command."""

    seconds: float
    memory: float


LAUNCHER = """
import os, sys
usage, *command = sys.argv[1:]
process = os.posix_spawnp(command[0], command, os.environ)
_, status, used = os.wait4(process, 0)
with open(usage, "w") as file:
    file.write(str(used.ru_maxrss))
os._exit(os.waitstatus_to_exitcode(status) % 256)
"""
"""Starts a command and writes its peak memory to a file. The peak of a process includes that of the process that starts
it, which must therefore be small.
"""


def measure(*command: object, cwd: Path | None = None) -> Sample:
    """Run a command without printing its output; exit if its exit status is not 0 or 1."""
    started = time.perf_counter()
    with tempfile.TemporaryFile() as output, tempfile.NamedTemporaryFile() as usage:
        arguments = [sys.executable, "-I", "-S", "-c", LAUNCHER, usage.name, *map(str, command)]
        ended = subprocess.run(
            arguments, stdout=output, stderr=output, cwd=cwd, env=os.environ | {"TERM": "dumb"}, check=False
        )
        output.seek(0)
        text = output.read().decode()
        if ended.returncode not in {0, 1} or CUT_SHORT in text:
            sys.exit(f"{text}\n{' '.join(map(str, command))} ended with status {ended.returncode}")
        memory = int(usage.read()) / 1024
    return Sample(time.perf_counter() - started, memory)


def measure_alternately(rounds: int = ROUNDS, /, **commands: tuple[object, ...]) -> dict[str, Sample]:
    """Run all commands in several rounds; return the median time and the largest memory of each."""
    samples = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            samples[name].append(measure(*command))
    return {
        name: Sample(statistics.median(s.seconds for s in found), max(s.memory for s in found))
        for name, found in samples.items()
    }


def multiply_corpus(corpus: Path, copies: int, target: Path) -> Path:
    """Write a corpus with several copies of every case, under other names; return its path.

    The companion of a copy is a copy of the companion. The cases that end the process of a runtime are left out.
    """
    cases, levels, manifest = {}, {}, read_manifest(corpus)
    for case in (each for each in manifest.cases.values() if each.id not in CRASHING_CASES):
        for copy in range(copies):
            name = f"{case.path}_copy_{copy}"
            first = target / f"{case.path}_copy_0"
            shutil.copytree(
                first if copy else corpus / case.path, target / name, copy_function=_linked if copy else shutil.copy2
            )
            cases[name], levels[name] = (
                {**case.files, **_copy_companion(corpus / case.path, target / name, copy)},
                case.level,
            )
    (target / MANIFEST).write_bytes(manifest_bytes("1.0.0", cases, levels))
    return target


def _copy_companion(case: Path, target: Path, copy: int) -> dict[str, str]:
    """Write the name of the companion's copy; return the hash of the file by its name, if there is a companion."""
    if not (case / COMPANION_FILE).exists():
        return {}
    other = json.loads((case / COMPANION_FILE).read_bytes())["case"]
    content = companion_bytes(f"{other}_copy_{copy}")
    (target / COMPANION_FILE).unlink()
    (target / COMPANION_FILE).write_bytes(content)
    return {COMPANION_FILE: hashlib.sha256(content).hexdigest()}


def _linked(source: str, target: str) -> str:
    os.link(source, target)
    return target


def main() -> None:
    """Measure the chosen rows, and print them as one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help=f"any of {', '.join(ROWS)}, run")
    names = parser.parse_args().rows or [*ROWS]
    chosen = {name for one in names for name in (RUN if one == "run" else [one])}
    if unknown := chosen - ROWS.keys():
        parser.error(f"unknown row {min(unknown)}; use {', '.join(ROWS)} or run")
    table = Table("measurement", "seconds", "compared with", "ratio", "limit", box=None, pad_edge=False)
    try:
        with tempfile.TemporaryDirectory() as scratch:
            for name, add_rows_of in ROWS.items():
                if name in chosen:
                    print(f"measuring {name}", file=sys.stderr, flush=True)
                    add_rows_of(table, Path(scratch))
    finally:  # a failure or Ctrl-C loses no finished measurement
        Console(width=140).print(table)


def _generation(table: Table, scratch: Path) -> None:
    seconds = measure(*COMMAND, "generate", "--output", scratch / "generated").seconds
    table.add_row("generate from nothing", f"{seconds:.2f}", "", "", "at most 60 s")


def _bare_loops(table: Table, scratch: Path) -> None:
    for backend in ("onnx-reference", "onnxruntime"):
        many = _against_bare_loop(table, backend, scratch, COPIES, "at most 1.08", ROUNDS_OF_LONG_COMMANDS)
        few = _against_bare_loop(table, backend, scratch, 1, "at most 1.20", ROUNDS)
        run, bare = (larger - smaller for larger, smaller in zip(many, few, strict=True))
        more = f"{COPIES - 1} corpora more"
        table.add_row(f"run -b {backend}, {more}", f"{run:.2f}", f"bare loop {bare:.2f}", f"{run / bare:.2f}", "")


def _against_bare_loop(
    table: Table, backend: str, scratch: Path, copies: int, wanted: str, rounds: int
) -> tuple[float, float]:
    """Return the seconds of both commands, with start-up."""
    data, size = _multiplied_corpus(scratch, copies), "corpus as it is" if copies == 1 else f"{copies}-fold corpus"
    samples = measure_alternately(
        rounds,
        run=(*COMMAND, "run", "--no-isolation", "--no-diagnosis", "-b", backend, "--data", data),
        bare=(sys.executable, HERE / "bare_loop.py", backend, data),
    )
    run, bare = samples["run"].seconds, samples["bare"].seconds
    table.add_row(f"run -b {backend}, {size}", f"{run:.2f}", f"bare loop {bare:.2f}", f"{run / bare:.2f}", wanted)
    return run, bare


def _multiplied_corpus(scratch: Path, copies: int = COPIES) -> Path:
    """Return the corpus with several copies of each case; it is written once."""
    target = scratch / f"data_{copies}"
    return target if target.exists() else multiply_corpus(bundled_corpus_path(), copies, target)


def _onnx_runners(table: Table, scratch: Path) -> None:
    for backend in ("onnx-reference", "onnxruntime"):
        _against_onnx(table, backend, _multiplied_corpus(scratch, 1))


def _against_onnx(table: Table, backend: str, data: Path) -> None:
    runner = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", HERE / "onnx_runner.py")
    samples = measure_alternately(
        run=(*COMMAND, "run", "--no-isolation", "-b", backend, "--data", data),
        onnx=(*runner, f"--conformance-data={data}", f"--conformance-backend={backend}"),
    )
    run, onnx = samples["run"].seconds, samples["onnx"].seconds
    table.add_row(
        f"run -b {backend}, corpus as it is", f"{run:.2f}", f"onnx's runner {onnx:.2f}", f"{run / onnx:.2f}", "below 1"
    )


def _isolation(table: Table, scratch: Path) -> None:
    """Measure the cost of isolation for each subject over a whole run."""
    data = _multiplied_corpus(scratch)
    for subject in SUBJECTS:
        run = (*COMMAND, "run", "--no-diagnosis", "-b", subject, "--data", data)
        samples = measure_alternately(1, apart=run, here=(*run, "--no-isolation"))
        apart, here = samples["apart"].seconds, samples["here"].seconds
        title = f"run -b {subject}, isolated, {COPIES}-fold corpus"
        table.add_row(title, f"{apart:.2f}", f"not isolated {here:.2f}", f"{apart / here:.2f}", "at most 1.15")


def _round_trip(table: Table, _: Path) -> None:
    """Measure the time from inputs to outputs through the protocol, for a case with few elements."""
    corpus = open_corpus(bundled_corpus_path())
    case = load_case(corpus, corpus.cases[SMALL_CASE])
    (inputs,) = (list(data_set.inputs) for data_set in case.data_sets())
    with started_subjects([SubjectName.parse("onnxruntime", SubjectKind.BACKEND)], Limits()) as (subject,):
        prepared, seconds = subject.target.prepare(case.model), []
        for _ in range(ROUND_TRIPS):
            started = time.perf_counter()
            prepared.run(inputs)
            seconds.append(time.perf_counter() - started)
    median = statistics.median(seconds) * 1000
    table.add_row(f"round trip of {SMALL_CASE}", f"{median:.3f} ms", "", "", "at most 1 ms")


def _workers(table: Table, scratch: Path) -> None:
    """Measure the gain of a second process, and the gain for pure arithmetic, which is the most that is possible."""
    two, one = (measure(sys.executable, "-c", ARITHMETIC, str(processes)).seconds for processes in (2, 1))
    table.add_row("arithmetic in two processes", f"{two:.2f}", f"in one {one:.2f}", f"{two / one:.2f}", "")
    named = (part for name in SUBJECTS for part in ("-b", name))
    run = (*COMMAND, "run", *named, "--data", _multiplied_corpus(scratch))
    for where, options, limit in (("in process", ("--no-isolation",), 0.6), ("isolated", (), 0.70)):
        samples = measure_alternately(1, two=(*run, *options, "-n", "2"), serial=(*run, *options))
        two, serial = samples["two"].seconds, samples["serial"].seconds
        title = f"run -n 2, three subjects {where}, {COPIES}-fold corpus"
        table.add_row(title, f"{two:.2f}", f"serial {serial:.2f}", f"{two / serial:.2f}", f"at most {limit}")


def _census(table: Table, _: Path) -> None:
    """Measure censuses, with the exact values, and the time of the runtime alone."""
    add_rows(table)


def _start_up(table: Table, _: Path) -> None:
    seconds = measure_alternately(help=(*COMMAND, "--help"))["help"].seconds
    table.add_row("--help", f"{seconds:.2f}", "", "", "at most 0.4 s")


def _memory(table: Table, scratch: Path) -> None:
    small, large = _multiplied_corpus(scratch, 1), _multiplied_corpus(scratch, MANY_COPIES)
    few, many = (
        measure(*COMMAND, "run", "--no-isolation", "-b", "reference", "--data", data).memory for data in (small, large)
    )
    more = (MANY_COPIES - 1) * len(read_manifest(small).cases)
    title = f"peak memory of run, {MANY_COPIES}-fold corpus"
    growth = f"{(many - few) * 1024 / more:.1f} KiB a case"
    table.add_row(title, f"{many:.0f} MiB", f"as it is {few:.0f} MiB", growth, "at most 6 KiB")


REPORTS = {"json": (10, 300), "junit": (10, 300), "ctrf": (10, 300), "markdown": (10, 300), "html": (30, 800)}
"""Limits of each format for a hundred thousand results: seconds and MiB."""


def _results(table: Table, scratch: Path) -> None:
    """Measure merge, diff and each report format with a hundred thousand results."""
    files = results_files(scratch)
    results = count(files["all"])
    verbs = {
        "merge": (("merge", files["one half"], files["other half"], "--output", scratch / "merged.jsonl"), 15, 400),
        "diff": (("diff", files["all"], files["worse"]), 15, 400),
    }
    for name, (seconds, memory) in REPORTS.items():
        command = ("report", files["all"], f"--{name}", scratch / f"report.{name}")
        verbs[f"report --{name}"] = (command, seconds, memory)
    for name, (command, seconds, memory) in verbs.items():
        sample = measure(*COMMAND, *command)
        wanted = f"at most {seconds} s and {memory} MiB"
        table.add_row(f"{name}, {results:,} results", f"{sample.seconds:.2f}", f"{sample.memory:.0f} MiB", "", wanted)


ROWS = {
    "generate": _generation,
    "bare-loop": _bare_loops,
    "onnx-runner": _onnx_runners,
    "isolation": _isolation,
    "round-trip": _round_trip,
    "workers": _workers,
    "start-up": _start_up,
    "memory": _memory,
    "results": _results,
    "census": _census,
    "search": lambda table, _: search_rows(table),
    "jobs": lambda table, _: job_rows(table),
    "oracle": lambda table, _: oracle_rows(table),
    "judge": judge_rows,
}
RUN = ("bare-loop", "isolation", "round-trip", "workers")


if __name__ == "__main__":
    main()
