"""Interrupt the command line at random moments, and compare the result with that of an uninterrupted command.

Usage: python tests/fuzz/interruptions.py [--times N] [--seed N] [--only NAME]… [-v]

Every verb that writes is interrupted by SIGINT, SIGTERM or SIGKILL, in a new folder that contains its temporary folder;
or one of its workers is killed, after which the command must still give its result. After an interruption, no
process and no temporary file may remain. A file with its final name must be complete, either the old or the new one.
The command is then repeated or resumed, and must give the result of the uninterrupted command. A failure is printed
with its folder, which is kept. The exit status is 1 if there is a failure.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from activities import ACTIVITIES, CACHE, ENVIRONMENTS, INDEX, Activity, write_inputs
from complete_files import read_complete
from isolation_support import SUPPORT, processes_in

from conformance.base.errors import ConformanceError
from conformance.base.files.atomic_write import TEMPORARY_PREFIX
from conformance.run.results.results_file import read_results
from conformance.subjects.environments.registry import UNFINISHED_PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
SETTLE_SECONDS = 30.0
"""Time limit for the end of all processes of an interrupted command."""
TIMEOUT_SECONDS = 300.0
INTERRUPTED = 130
BEGINNING = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from conformance.commands.cli import main
sys.argv[0] = "onnx-conformance"
main()
"""
COMMAND = (sys.executable, "-c", BEGINNING)
"""The command line with a handler for SIGINT, which a shell ignores in background processes."""


class Blow(NamedTuple):
    """A signal, and what receives it: the command, its group as after Ctrl-C in a terminal, or a worker."""

    signal: signal.Signals
    target: str = "the command"

    def __str__(self) -> str:
        return f"{self.signal.name} to {self.target}"


WORKER = "a worker"
BLOWS = (
    Blow(signal.SIGINT),
    Blow(signal.SIGINT, "the group"),
    Blow(signal.SIGTERM),
    Blow(signal.SIGKILL),
    Blow(signal.SIGKILL, WORKER),
)

POOL_WORKER = b"spawn_main"
RELEASE_RUN = b"conformance\0run\0"
"""Texts in the command lines of the workers of `-n`, and of the run of a release."""

ABANDONED = (f"*{TEMPORARY_PREFIX}*.part", f"{ENVIRONMENTS}/{UNFINISHED_PREFIX}*", "store/index.sqlite-journal")
"""Patterns of files that only a killed process leaves behind, and that the next writer removes."""


class InterruptionFailure(Exception):
    """An interrupted command left something behind or gave another result."""


def main() -> int:
    """Interrupt the activities, and print the outcomes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--only", action="append", choices=[activity.name for activity in ACTIVITIES])
    parser.add_argument("-v", "--verbose", action="store_true")
    given = parser.parse_args()
    chosen = [activity for activity in ACTIVITIES if not given.only or activity.name in given.only]
    print(f"seed {given.seed}", flush=True)
    dice, root = random.Random(given.seed), Path(tempfile.mkdtemp(prefix="interruptions-"))
    folder = root / "folder"  # the same path for every command, because some files name it
    prepare(root / "inputs")
    whole = {activity.name: run_uninterrupted(activity, folder) for activity in chosen}
    counts: Counter[tuple[str, str]] = Counter()
    failures = 0
    for number in range(given.times):
        activity, blow = chosen[number % len(chosen)], dice.choice(BLOWS)
        delay = dice.uniform(0.0, 1.05 * whole[activity.name].seconds)
        description = f"{number}: {activity.name}, {blow} after {delay:.3f} s"
        try:
            print(description, flush=True) if given.verbose else None
            outcome = strike(activity, folder, blow, delay)
            check(activity, folder, blow, whole[activity.name], is_complete=outcome == "unnoticed")
            counts[activity.name, f"{blow}: {outcome}"] += 1
            shutil.rmtree(folder)
        except InterruptionFailure as failure:
            failures += 1
            kept = folder.rename(root / f"{number}")
            print(f"FAILURE {description}: {failure}\n     {kept}", flush=True)
    for (name, outcome), count in sorted(counts.items()):
        print(f"{count:4} {name}, {outcome}")
    print(f"{given.times} interruptions, {failures} failures; seed {given.seed}")
    if not failures:
        shutil.rmtree(root)
    return 1 if failures else 0


def prepare(inputs: Path) -> None:
    """Write the inputs of the commands."""
    (inputs / "tmp").mkdir(parents=True)
    write_inputs(inputs, lambda arguments, status: run_to_end(arguments, inputs, status))


@dataclass(frozen=True)
class Uninterrupted:
    """A command that ran to its end.

    Attributes:
        seconds: its duration.
        contents: the contents of the files that it wrote.
        before: all paths in its folder before it ran.
        after: all paths in its folder afterwards.
    """

    seconds: float
    contents: Mapping[str, object]
    before: frozenset[str]
    after: frozenset[str]


def run_uninterrupted(activity: Activity, folder: Path) -> Uninterrupted:
    """Run a command without interruption.

    Raises:
        InterruptionFailure: the command ends with another status, or does not write its files.
    """
    copy_inputs(activity, folder)
    before, started = tree(folder), time.monotonic()
    run_to_end(activity.arguments, folder, activity.status)
    seconds, written = time.monotonic() - started, contents(activity, folder)
    if missing := [name for name in activity.makes if name not in written]:
        raise InterruptionFailure(f"{activity.name} does not write {missing}")
    after = tree(folder)
    shutil.rmtree(folder)
    return Uninterrupted(seconds, written, before, after)


def copy_inputs(activity: Activity, folder: Path) -> None:
    """Copy the inputs into a new folder."""
    shutil.copytree(folder.parent / "inputs", folder, symlinks=True)
    for name, text in activity.before.items():
        (folder / name).write_text(text)


def start(arguments: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    """Start a command line in a folder, as the first process of a group."""
    variables = {"TMPDIR": str(folder / "tmp"), "XDG_CACHE_HOME": str(folder / CACHE)}
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        env={**ENVIRONMENT, "PYTHONPATH": str(SUPPORT), **package_sources(folder), **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        process_group=0,
    )


def package_sources(folder: Path) -> dict[str, str]:
    """Return environment variables with which pip and uv install packages only from the index of fake releases."""
    index, path = str((folder / INDEX).resolve()), (sysconfig.get_path("scripts"), os.environ["PATH"])
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": index}
    uv = {"UV_NO_INDEX": "1", "UV_FIND_LINKS": index, "UV_OFFLINE": "1", "UV_CACHE_DIR": str(folder / "../uv")}
    return {"PATH": os.pathsep.join(path), **pip, **uv}


def run_to_end(arguments: Sequence[str], folder: Path, status: int) -> None:
    """Run a command to its end.

    Raises:
        InterruptionFailure: the command ends with another status.
    """
    process = start(arguments, folder)
    _, stderr = process.communicate(timeout=TIMEOUT_SECONDS)
    if process.returncode != status:
        raise InterruptionFailure(
            f"{' '.join(arguments)} ended with {process.returncode}: {stderr.decode(errors='replace')[-2000:]}"
        )


def strike(activity: Activity, folder: Path, blow: Blow, delay: float) -> str:
    """Start a command and send it a signal; return a description of its end.

    Raises:
        InterruptionFailure: the command does not end, or ends with an unexpected status.
    """
    copy_inputs(activity, folder)
    process = start(activity.arguments, folder)
    try:
        process.wait(delay)
    except subprocess.TimeoutExpired:
        victim = victim_of(blow, process.pid, folder)
        with suppress(ProcessLookupError):
            (os.killpg if blow.target == "the group" else os.kill)(victim, blow.signal) if victim else None
    try:
        _, stderr = process.communicate(timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise InterruptionFailure("the command does not end") from None
    results = folder / "out.jsonl"
    if blow.target == WORKER and "--no-isolation" in activity.arguments and read_results(results).footer.interrupted:
        return "reported"  # the results of one chunk are missing, because the subject may have ended the worker
    if process.returncode == activity.status:
        return "unnoticed"
    if blow.target == WORKER and process.returncode in {1, 2} and activity.name.startswith("history"):
        return "reported"  # a release whose run is killed has no results; the next update runs it
    if process.returncode == -blow.signal:
        return "killed" if blow.signal is signal.SIGKILL else "killed before the start of the suite"
    if process.returncode != INTERRUPTED or b"Traceback" in stderr:
        raise InterruptionFailure(
            f"the command ended with {process.returncode}: {stderr.decode(errors='replace')[-2000:]}"
        )
    return "interrupted"


def victim_of(blow: Blow, command: int, folder: Path) -> int | None:
    """Return the process that receives a signal; None if the command has no worker."""
    if blow.target != WORKER:
        return command
    found = []
    for number in processes_in(folder / "tmp"):
        with suppress(OSError):
            line = Path(f"/proc/{number}/cmdline").read_bytes()
            found += [number] if POOL_WORKER in line or RELEASE_RUN in line else []
    return max(found, default=None)


def check(activity: Activity, folder: Path, blow: Blow, whole: Uninterrupted, *, is_complete: bool) -> None:
    """Check the files after an interruption, and repeat or resume the command.

    Args:
        is_complete: whether the command ended as without an interruption, and so must have written all its files.

    Raises:
        InterruptionFailure: something is left behind, incomplete or different.
    """
    patterns = [*activity.state, *(ABANDONED if blow == Blow(signal.SIGKILL) else ())]
    deadline = time.monotonic() + SETTLE_SECONDS
    while (left := leftovers(folder, whole, patterns)) and time.monotonic() < deadline:
        time.sleep(0.1)
    if left:
        raise InterruptionFailure(f"left behind: {left}")
    if contents(activity, folder) == whole.contents:
        return
    if is_complete:
        raise InterruptionFailure("the command ended as usual, and did not give its result")
    can_resume = activity.again and activity.can_resume(folder)
    run_to_end(activity.again if can_resume else activity.arguments, folder, activity.status)
    if (after := contents(activity, folder)) != whole.contents:
        different = [name for name in activity.makes if after.get(name) != whole.contents[name]]
        raise InterruptionFailure(f"different after resuming: {different}")
    if left := [*leftovers(folder, whole, ()), *sorted(whole.after - tree(folder))]:
        raise InterruptionFailure(f"left behind or missing after resuming: {left}")


def leftovers(folder: Path, whole: Uninterrupted, patterns: Sequence[str]) -> list[str]:
    """Return running processes, and paths that neither the inputs nor the uninterrupted command have.

    Args:
        patterns: patterns of paths that are allowed.
    """
    processes = [f"process {number}" for number in processes_in(folder / "tmp")]
    paths = sorted(tree(folder) - whole.before - whole.after)
    return processes + [path for path in paths if not any(fnmatchcase(path, each) for each in patterns)]


def tree(folder: Path) -> frozenset[str]:
    """Return the relative paths of all files and folders, except bytecode and the cache of runs."""
    paths: list[Path] = []
    for here, folders, files in os.walk(folder):  # ignores a folder that disappears
        paths += (Path(here, name).relative_to(folder) for name in (*folders, *files))
    kept = (path for path in paths if "__pycache__" not in path.parts)
    return frozenset(str(path) for path in kept if path.parts[0] != CACHE or ENVIRONMENTS in str(path))


def contents(activity: Activity, folder: Path) -> dict[str, object]:
    """Read the existing files of a command, without times.

    Raises:
        InterruptionFailure: a file is incomplete.
    """
    there = [name for name in activity.makes if (folder / name).exists()]
    try:
        return {name: read_complete(folder / name) for name in there}
    except (ConformanceError, OSError, ValueError, LookupError, AssertionError) as error:
        raise InterruptionFailure(f"incomplete file with its final name: {error!r}") from None


if __name__ == "__main__":
    sys.exit(main())
