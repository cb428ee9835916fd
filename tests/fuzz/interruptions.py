"""Interrupt the command line at random moments, and compare the result with that of an uninterrupted command.

Usage: python tests/fuzz/interruptions.py [--times N] [--seed N] [--only NAME] [-v]

Every verb that writes is interrupted by SIGINT, SIGTERM or SIGKILL, in a new folder that contains its temporary folder.
Afterwards no process and no temporary file may remain. A file with its final name must be complete, either the old or
the new one. The command is then repeated or resumed, and must give the result of the uninterrupted command. A failure
is printed with its folder, which is kept. The exit status is 1 if there is a failure.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from complete_files import READERS
from corpora import write_corpus
from isolation_support import SUPPORT, processes_in

from conformance.errors import ConformanceError
from conformance.files.atomic_write import TEMPORARY_PREFIX
from conformance.generation.generators import define_cases
from conformance.results.file import read_results
from conformance.run.resume import PARTIAL_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
SETTLE_SECONDS = 30.0
"""Time limit for the end of all processes of an interrupted command."""
TIMEOUT_SECONDS = 300.0
INTERRUPTED = 130
BEGINNING = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from conformance.cli import main
sys.argv[0] = "onnx-conformance"
main()
"""
COMMAND = (sys.executable, "-c", BEGINNING)
"""The command line with a handler for SIGINT, which a shell ignores in background processes."""

CASES = 40
"""Number of cases of a run."""

LIGHT = f"exec:{sys.executable} -I -S {Path(__file__).with_name('light_harness.py')}"
FIRST, SECOND, IN_PROCESS = f"{LIGHT} first", f"{LIGHT} second", "fake_backends:WrongOnArgMax"
RUN = ("run", "--data", "corpus", "--no-diagnosis")
REPORTS = ("--html", "out.html", "--json", "out.json", "--junit", "out.xml")


@dataclass(frozen=True)
class Activity:
    """A command to interrupt.

    Attributes:
        name: the name of the activity.
        arguments: the command line.
        makes: the files or the folder that the command writes.
        again: the command line that resumes the command; by default the same command line.
        before: files that exist before the command, as text by name.
        status: the exit status without an interruption.
    """

    name: str
    arguments: Sequence[str]
    makes: Sequence[str]
    again: Sequence[str] = ()
    before: Mapping[str, str] = field(default_factory=dict)
    status: int = 0


def _run(name: str, *more: str) -> Activity:
    """Return a run that writes results and reports, and that is resumed with the same options."""
    rest, made = (*REPORTS, *more), ("out.jsonl", *REPORTS[1::2])
    arguments, again = ((*RUN, option, "out.jsonl", *rest) for option in ("--results", "--resume"))
    return Activity(name, arguments, made, again, {"out.html": "<p>old</html>"}, status=1)


ACTIVITIES = (
    _run("run", "-b", FIRST, "-b", SECOND),
    _run("run -n 2", "-b", FIRST, "-b", SECOND, "-n", "2"),
    _run("run in process", "-b", IN_PROCESS, "--no-isolation"),
    _run("run in process -n 2", "-b", IN_PROCESS, "--no-isolation", "-n", "2"),
    Activity(
        "generate", ("generate", "-g", "momentum", "--output", "corpus", "--corpus-version", "9.0.0"), ("corpus",)
    ),
    Activity(
        "merge", ("merge", "1.jsonl", "2.jsonl", "--output", "out.jsonl", "--data", "corpus"), ("out.jsonl",), status=1
    ),
    Activity("report", ("report", "1.jsonl", *REPORTS), REPORTS[1::2], before={"out.json": "{}"}),
    Activity(
        "update-expectations",
        ("update-expectations", "1.jsonl", "--expect", "e.toml", "--reason", "known"),
        ("e.toml",),
        before={"e.toml": f"subject = '{FIRST}'\n"},
    ),
)


class InterruptionFailure(Exception):
    """An interrupted command left something behind or gave another result."""


def main() -> int:
    """Interrupt the activities, and print the outcomes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--only", choices=[activity.name for activity in ACTIVITIES])
    parser.add_argument("-v", "--verbose", action="store_true")
    given = parser.parse_args()
    chosen = [activity for activity in ACTIVITIES if given.only in {None, activity.name}]
    print(f"seed {given.seed}", flush=True)
    dice, root = random.Random(given.seed), Path(tempfile.mkdtemp(prefix="interruptions-"))
    prepare(root / "inputs")
    whole = {activity.name: run_uninterrupted(activity, root) for activity in chosen}
    counts: Counter[tuple[str, str]] = Counter()
    failures = 0
    for number in range(given.times):
        activity, struck = chosen[number % len(chosen)], dice.choice(SIGNALS)
        seconds, expected = whole[activity.name]
        delay = dice.uniform(0.0, 1.05 * seconds)
        folder = root / f"{number}"
        description = f"{number}: {activity.name}, {struck.name} after {delay:.3f} s"
        try:
            print(description, flush=True) if given.verbose else None
            outcome = strike(activity, root, folder, struck, delay)
            check(activity, folder, expected)
            counts[activity.name, f"{struck.name}: {outcome}"] += 1
            shutil.rmtree(folder)
        except InterruptionFailure as failure:
            failures += 1
            print(f"FAILURE {description}: {failure}\n     {folder}", flush=True)
    for (name, outcome), count in sorted(counts.items()):
        print(f"{count:4} {name}, {outcome}")
    print(f"{given.times} interruptions, {failures} failures; seed {given.seed}")
    if not failures:
        shutil.rmtree(root)
    return 1 if failures else 0


def prepare(inputs: Path) -> None:
    """Write the inputs of the commands: a corpus, and results of two subjects."""
    inputs.mkdir()
    (inputs / "tmp").mkdir()
    named = [case for _, case in define_cases(()) if "argmax_ties" in case.id or "momentum" in case.id]
    cases = [case for case in named if "_in_turns_" not in case.id]  # these cases need their companion
    write_corpus(inputs / "corpus", cases[:: len(cases) // CASES])
    run_to_end([*RUN, "-b", FIRST, "--results", "1.jsonl"], inputs, 1)
    run_to_end([*RUN, "-b", SECOND, "--results", "2.jsonl"], inputs, 1)


def run_uninterrupted(activity: Activity, root: Path) -> tuple[float, Mapping[str, object]]:
    """Run a command without interruption; return its seconds and the content of its files."""
    folder = copy_inputs(activity, root, root / f"whole {activity.name}")
    started = time.monotonic()
    run_to_end(activity.arguments, folder, activity.status)
    seconds = time.monotonic() - started
    return seconds, contents(activity, folder)


def copy_inputs(activity: Activity, root: Path, folder: Path) -> Path:
    """Copy the inputs into a new folder; return the folder."""
    shutil.copytree(root / "inputs", folder)
    for name, text in activity.before.items():
        (folder / name).write_text(text)
    return folder


def start(arguments: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    """Start a command line in a folder."""
    variables = {"TMPDIR": str(folder / "tmp"), "XDG_CACHE_HOME": str(folder.parent / "cache")}
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        env={**ENVIRONMENT, "PYTHONPATH": str(SUPPORT), **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def run_to_end(arguments: Sequence[str], folder: Path, *statuses: int) -> None:
    """Run a command to its end.

    Raises:
        InterruptionFailure: the command ends with another status.
    """
    process = start(arguments, folder)
    _, stderr = process.communicate(timeout=TIMEOUT_SECONDS)
    if process.returncode not in statuses:
        raise InterruptionFailure(
            f"{' '.join(arguments)} ended with {process.returncode}: {stderr.decode(errors='replace')[-2000:]}"
        )


def strike(activity: Activity, root: Path, folder: Path, struck: signal.Signals, delay: float) -> str:
    """Start a command and send it a signal; return a description of its end.

    Raises:
        InterruptionFailure: the command does not end, or ends with an unexpected status.
    """
    process = start(activity.arguments, copy_inputs(activity, root, folder))
    try:
        process.wait(delay)
    except subprocess.TimeoutExpired:
        process.send_signal(struck)
    try:
        _, stderr = process.communicate(timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise InterruptionFailure("the command does not end") from None
    if process.returncode == activity.status:
        return "came too late"
    if process.returncode == -struck:
        return "killed" if struck is signal.SIGKILL else "killed before the start of the suite"
    if process.returncode != INTERRUPTED or b"Traceback" in stderr:
        raise InterruptionFailure(
            f"the command ended with {process.returncode}: {stderr.decode(errors='replace')[-2000:]}"
        )
    return "interrupted"


def check(activity: Activity, folder: Path, expected: Mapping[str, object]) -> None:
    """Check the files after an interruption, and resume the command.

    Raises:
        InterruptionFailure: something is left behind, incomplete or different.
    """
    deadline = time.monotonic() + SETTLE_SECONDS
    while (left := leftovers(activity, folder, TEMPORARY_PREFIX)) and time.monotonic() < deadline:
        time.sleep(0.1)
    if left:
        raise InterruptionFailure(f"left behind: {left}")
    contents(activity, folder)
    cut_off = has_begun(folder) or is_interrupted(folder, activity)
    if not all((folder / name).exists() for name in activity.makes) or contents(activity, folder) != expected:
        again = activity.again if activity.again and cut_off else activity.arguments
        run_to_end(again, folder, activity.status)
    if (after := contents(activity, folder)) != expected:
        different = [name for name in activity.makes if after.get(name) != expected[name]]
        raise InterruptionFailure(f"different after resuming: {different}")
    if left := leftovers(activity, folder):
        raise InterruptionFailure(f"left behind after resuming: {left}")


def has_begun(folder: Path) -> bool:
    """Check whether a run was interrupted after its first record."""
    partial = folder / f"out.jsonl{PARTIAL_SUFFIX}"
    return partial.exists() and b"\n" in partial.read_bytes()


def is_interrupted(folder: Path, activity: Activity) -> bool:
    """Check whether the results are those of an interrupted run."""
    path = folder / "out.jsonl"
    return bool(activity.again) and path.exists() and bool(read_results(path).footer.get("interrupted"))


def leftovers(activity: Activity, folder: Path, besides: str = "") -> list[str]:
    """Return running processes and unexpected files and folders.

    Args:
        besides: prefix of allowed names: the next writer removes the file of a killed writer.
    """
    allowed = {"tmp", "corpus", "1.jsonl", "2.jsonl", *activity.makes, *activity.before}
    allowed |= {f"{name}{PARTIAL_SUFFIX}" for name in activity.makes if activity.again}
    found = [f"process {number}" for number in processes_in(folder / "tmp")]
    found += [str(path.relative_to(folder)) for path in (folder / "tmp").iterdir()]
    there = (path.name for path in folder.iterdir() if path.name not in allowed)
    return found + sorted(name for name in there if not besides or not name.startswith(besides))


def contents(activity: Activity, folder: Path) -> dict[str, object]:
    """Read the existing files of a command, without times.

    Raises:
        InterruptionFailure: a file is incomplete.
    """
    there = [name for name in activity.makes if (folder / name).exists()]
    try:
        return {name: READERS[Path(name).suffix](folder / name) for name in there}
    except (ConformanceError, ValueError, AssertionError) as error:
        raise InterruptionFailure(f"incomplete file with its final name: {error!r}") from None


if __name__ == "__main__":
    sys.exit(main())
