"""Interrupts the command line at random moments, and holds what is left against what an uninterrupted command gives.

Usage: python tests/fuzz/interruptions.py [--times N] [--seed N] [--only NAME] [-v]

Every verb that writes is interrupted by SIGINT, SIGTERM or SIGKILL, each in a folder of its own that has its temporary
folder in it. Nothing may run or lie about afterwards, what has a final name must be whole (the old or the new), and the
command run again, or resumed, must come to what the uninterrupted one came to. A find is printed with its folder, which
stays; the exit status is 1 where there is one.
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

from corpora import write_corpus
from isolation_support import SUPPORT, processes_in
from whole import READERS

from conformance.errors import ConformanceError
from conformance.files.staging import STAGING
from conformance.generation.defined import defined_cases
from conformance.results.file import read
from conformance.run.partial import PARTIAL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
SETTLES = 30.0
"""Seconds in which what was interrupted must have ended, and what it started too."""
HANGS = 300.0
INTERRUPTED = 130
BEGINNING = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from conformance.cli import main
sys.argv[0] = "onnx-conformance"
main()
"""
COMMAND = (sys.executable, "-c", BEGINNING)
"""The command line; SIGINT interrupts it also where it is ignored, as in what a shell starts in the background."""

CASES = 40
"""How many cases a run has."""

LIGHT = f"exec:{sys.executable} -I -S {Path(__file__).with_name('light_harness.py')}"
FIRST, SECOND, IN_PROCESS = f"{LIGHT} first", f"{LIGHT} second", "fake_backends:WrongOnArgMax"
RUN = ("run", "--data", "corpus", "--no-diagnosis")
REPORTS = ("--html", "out.html", "--json", "out.json", "--junit", "out.xml")


@dataclass(frozen=True)
class Activity:
    """A command to interrupt.

    Attributes:
        name: what it is called here.
        arguments: the command line.
        makes: the files or the folder that it writes.
        again: the command line that continues it where it was broken off; by default the same once more.
        before: what lies under the names already, as text by name.
        status: what it ends with where nothing interrupts it.
    """

    name: str
    arguments: Sequence[str]
    makes: Sequence[str]
    again: Sequence[str] = ()
    before: Mapping[str, str] = field(default_factory=dict)
    status: int = 0


def _run(name: str, *more: str) -> Activity:
    told = (*RUN, "--results", "out.jsonl", *REPORTS, *more)
    made = ("out.jsonl", *REPORTS[1::2])
    return Activity(name, told, made, ("run", "--resume", "out.jsonl"), {"out.html": "<p>old</html>"}, status=1)


ACTIVITIES = (
    _run("run", "-b", FIRST, "-b", SECOND),
    _run("run -n 2", "-b", FIRST, "-b", SECOND, "-n", "2"),
    _run("run in process", "-b", IN_PROCESS, "--in-process"),
    _run("run in process -n 2", "-b", IN_PROCESS, "--in-process", "-n", "2"),
    Activity("generate", ("generate", "-g", "momentum", "-o", "corpus", "--corpus-version", "9.0.0"), ("corpus",)),
    Activity("merge", ("merge", "1.jsonl", "2.jsonl", "-o", "out.jsonl", "--data", "corpus"), ("out.jsonl",), status=1),
    Activity("report", ("report", "1.jsonl", *REPORTS), REPORTS[1::2], before={"out.json": "{}"}),
    Activity(
        "expect update",
        ("expect", "update", "1.jsonl", "-e", "e.toml", "--reason", "known"),
        ("e.toml",),
        before={"e.toml": f"subject = '{FIRST}'\n"},
    ),
)


class Find(Exception):
    """What must not be; the text says what."""


def main() -> int:
    """Interrupt, tell how often and what came of it."""
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
    whole = {activity.name: uninterrupted(activity, root) for activity in chosen}
    counts: Counter[tuple[str, str]] = Counter()
    finds = 0
    for number in range(given.times):
        activity, struck = chosen[number % len(chosen)], dice.choice(SIGNALS)
        seconds, expected = whole[activity.name]
        delay = dice.uniform(0.0, 1.05 * seconds)
        folder = root / f"{number}"
        told = f"{number}: {activity.name}, {struck.name} after {delay:.3f} s"
        try:
            print(told, flush=True) if given.verbose else None
            outcome = strike(activity, root, folder, struck, delay)
            check(activity, folder, expected)
            counts[activity.name, f"{struck.name}: {outcome}"] += 1
            shutil.rmtree(folder)
        except Find as find:
            finds += 1
            print(f"FIND {told}: {find}\n     {folder}", flush=True)
    for (name, outcome), count in sorted(counts.items()):
        print(f"{count:4} {name}, {outcome}")
    print(f"{given.times} interruptions, {finds} finds; seed {given.seed}")
    if not finds:
        shutil.rmtree(root)
    return 1 if finds else 0


def prepare(inputs: Path) -> None:
    """What the commands begin with: a corpus, and results of two subjects."""
    inputs.mkdir()
    (inputs / "tmp").mkdir()
    named = [case for _, case in defined_cases(()) if "argmax_ties" in case.id or "momentum" in case.id]
    cases = [case for case in named if "_in_turns_" not in case.id]  # these need the case beside them
    write_corpus(inputs / "corpus", cases[:: len(cases) // CASES])
    ended([*RUN, "-b", FIRST, "--results", "1.jsonl"], inputs, 1)
    ended([*RUN, "-b", SECOND, "--results", "2.jsonl"], inputs, 1)


def uninterrupted(activity: Activity, root: Path) -> tuple[float, Mapping[str, object]]:
    """How long a command takes, and what it makes."""
    folder = copied(activity, root, root / f"whole {activity.name}")
    started = time.monotonic()
    ended(activity.arguments, folder, activity.status)
    seconds = time.monotonic() - started
    return seconds, contents(activity, folder)


def copied(activity: Activity, root: Path, folder: Path) -> Path:
    """A folder to run a command in."""
    shutil.copytree(root / "inputs", folder)
    for name, text in activity.before.items():
        (folder / name).write_text(text)
    return folder


def start(arguments: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    """The command line on its way in a folder."""
    variables = {"TMPDIR": str(folder / "tmp"), "XDG_CACHE_HOME": str(folder.parent / "cache")}
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        env={**ENVIRONMENT, "PYTHONPATH": str(SUPPORT), **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def ended(arguments: Sequence[str], folder: Path, *statuses: int) -> None:
    """Run a command to its end.

    Raises:
        Find: it ends otherwise than it must.
    """
    process = start(arguments, folder)
    _, said = process.communicate(timeout=HANGS)
    if process.returncode not in statuses:
        raise Find(f"{' '.join(arguments)} ended with {process.returncode}: {said.decode(errors='replace')[-2000:]}")


def strike(activity: Activity, root: Path, folder: Path, struck: signal.Signals, delay: float) -> str:
    """Start a command and send it a signal; how it ended, in a word.

    Raises:
        Find: it hangs, or ends otherwise than by the signal or as usual.
    """
    process = start(activity.arguments, copied(activity, root, folder))
    try:
        process.wait(delay)
    except subprocess.TimeoutExpired:
        process.send_signal(struck)
    try:
        _, said = process.communicate(timeout=HANGS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise Find("it hangs") from None
    if process.returncode == activity.status:
        return "came too late"
    if process.returncode == -struck:
        return "killed" if struck is signal.SIGKILL else "before the suite had begun"
    if process.returncode != INTERRUPTED or b"Traceback" in said:
        raise Find(f"it ended with {process.returncode}: {said.decode(errors='replace')[-2000:]}")
    return "interrupted"


def check(activity: Activity, folder: Path, expected: Mapping[str, object]) -> None:
    """Hold what is left against what may be, and continue the command.

    Raises:
        Find: something is not as it must be.
    """
    deadline = time.monotonic() + SETTLES
    while (left := leftovers(activity, folder, STAGING)) and time.monotonic() < deadline:
        time.sleep(0.1)
    if left:
        raise Find(f"left behind: {left}")
    contents(activity, folder)
    cut_off = has_begun(folder) or is_interrupted(folder, activity)
    if not all((folder / name).exists() for name in activity.makes) or contents(activity, folder) != expected:
        again = activity.again if activity.again and cut_off else activity.arguments
        ended(again, folder, activity.status)
    if (after := contents(activity, folder)) != expected:
        different = [name for name in activity.makes if after.get(name) != expected[name]]
        raise Find(f"continued, these differ: {different}")
    if left := leftovers(activity, folder):
        raise Find(f"left behind by what continued it: {left}")


def has_begun(folder: Path) -> bool:
    """Whether a run was cut off after its first record."""
    partial = folder / f"out.jsonl{PARTIAL}"
    return partial.exists() and b"\n" in partial.read_bytes()


def is_interrupted(folder: Path, activity: Activity) -> bool:
    """Whether results say that their run was."""
    path = folder / "out.jsonl"
    return bool(activity.again) and path.exists() and bool(read(path).footer.get("interrupted"))


def leftovers(activity: Activity, folder: Path, besides: str = "") -> list[str]:
    """Processes that run, and files and folders that nobody asked for.

    Args:
        besides: what names begin with that are no find: a killed writer's file, until the next writes.
    """
    allowed = {"tmp", "corpus", "1.jsonl", "2.jsonl", *activity.makes, *activity.before}
    allowed |= {f"{name}{PARTIAL}" for name in activity.makes if activity.again}
    found = [f"process {number}" for number in processes_in(folder / "tmp")]
    found += [str(path.relative_to(folder)) for path in (folder / "tmp").iterdir()]
    there = (path.name for path in folder.iterdir() if path.name not in allowed)
    return found + sorted(name for name in there if not besides or not name.startswith(besides))


def contents(activity: Activity, folder: Path) -> dict[str, object]:
    """What lies under a command's names, read as what it must be, without times; nothing of what is not there.

    Raises:
        Find: it is not whole.
    """
    there = [name for name in activity.makes if (folder / name).exists()]
    try:
        return {name: READERS[Path(name).suffix](folder / name) for name in there}
    except (ConformanceError, ValueError, AssertionError) as error:
        raise Find(f"not whole under its final name: {error!r}") from None


if __name__ == "__main__":
    sys.exit(main())
