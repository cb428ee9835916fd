"""Fuzz every reader and verb with corrupted input: in this process and, at the same time, with the real command line.

Usage: python tests/fuzz/fuzz.py [--seconds N] [--seed N] [--only NAME]

Every failure is printed once, with the arguments that repeat it. Failures in this process are shrunk. The exit status
is 1 if there is a failure. The seed determines the examples; the time determines their number. Each round has a process
of its own: Hypothesis and the verbs leave garbage that Python collects late, 100 MB a minute.
"""

from __future__ import annotations

import argparse
import faulthandler
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Flaky
from isolation_support import SUPPORT
from readers import reader_targets
from targets import ENCODINGS, Example, FuzzFailure, Seeds, limit_memory, run_in_process, run_really, write
from verbs import slow_verb_targets, verb_targets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkProcess

    from hypothesis.strategies import SearchStrategy

FORK = multiprocessing.get_context("fork")
EXAMPLES = 50
"""Number of examples of a target in one round."""

MAX_LINE, MAX_EXAMPLE = 400, 3000
"""Maximum number of printed characters of a line of a traceback, and of an example."""

SETTINGS = settings(
    database=None, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate, Phase.shrink]
)


class Found:
    """The failures, one of each kind, and the number of examples of each target."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.counts = Counter[str]()

    def report(self, name: str, round_seed: int, error: BaseException, example: object) -> None:
        """Print a failure unless its kind was printed before."""
        last = traceback.extract_tb(error.__traceback__)[-1]
        kind = f"{name}: {type(error).__name__} at {last.name}:{last.lineno}" + (
            f" {str(error).splitlines()[-1:]}" if isinstance(error, FuzzFailure) else ""
        )
        if kind in self.known:
            return
        self.known.add(kind)
        trace = "\n".join(line[:MAX_LINE] for line in "".join(traceback.format_exception(error)[-6:]).splitlines())
        print(f"FAILURE in {kind}\n{trace}", flush=True)
        print(f"repeat: --only {name!r} --seed {round_seed}\nexample: {example!r}"[:MAX_EXAMPLE], flush=True)


def main() -> int:
    """Fuzz, and print the numbers of examples and failures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--only", help="fuzz only the target with this name")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    limit_memory()
    faulthandler.enable()
    os.environ |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(SUPPORT)}
    with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
        folder = Path(scratch)
        (folder / "seeds").mkdir()
        seeds = Seeds.make(folder / "seeds")
        verbs = verb_targets(seeds)
        in_process = {**reader_targets(seeds), **{name: (strategy, run_in_process) for name, strategy in verbs.items()}}
        really = {**slow_verb_targets(seeds), **verbs}
        deadline = time.monotonic() + options.seconds
        parts = [
            start(run_rounds, partial(round, chosen, folder / round.__name__, deadline), options.seed, deadline)
            for round, targets in ((fuzz_in_process, in_process), (run_real_command_line, really))
            if (chosen := {name: target for name, target in targets.items() if options.only in {None, name}})
        ]
        found = [result_of(*part, Found()) for part in parts]
    failures = {kind for each in found for kind in each.known}
    counts = sum((each.counts for each in found), Counter[str]())
    for name, count in sorted(counts.items()):
        print(f"{count:7} {name}")
    really_run = sum(count for name, count in counts.items() if name.startswith("command line"))
    print(f"{counts.total()} examples, {really_run} of them by the real command line, {len(failures)} failures")
    print(f"seed {options.seed}")
    return 1 if failures else 0


def start(function: Callable[..., Found], *arguments: Any) -> tuple[ForkProcess, Connection]:
    """Call a function in a new process; return the process, and the connection to which it sends the result."""
    receiver, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=lambda: sender.send(function(*arguments)))
    process.start()
    sender.close()
    return process, receiver


def result_of(process: ForkProcess, receiver: Connection, before: Found) -> Found:
    """Return the result of a process; if it ends without a result, return that failure and what was found before."""
    try:
        found: Found = receiver.recv()
    except EOFError:
        found = before
        found.known.add("process without a result")
        print("FAILURE: a process ended without a result", flush=True)
    process.join()
    return found


def run_rounds(round: Callable[[int, Found], Found], first_seed: int, deadline: float) -> Found:
    """Run rounds until the deadline, each in a new process."""
    found, round_seed = Found(), first_seed
    while time.monotonic() < deadline:
        found = result_of(*start(round, round_seed, found), found)
        round_seed += 1
    return found


def fuzz_in_process(
    targets: Mapping[str, tuple[SearchStrategy[Any], Callable[[Any, Path], None]]],
    folder: Path,
    deadline: float,
    round_seed: int,
    found: Found,
) -> Found:
    """Fuzz every target in this process, and return all that is found."""
    for name, (strategy, run) in targets.items():
        if time.monotonic() < deadline:
            found.counts[name] += run_round(name, strategy, run, folder, round_seed, found)
    return found


def run_round(
    name: str,
    strategy: SearchStrategy[Any],
    run: Callable[[Any, Path], None],
    folder: Path,
    round_seed: int,
    failures: Found,
) -> int:
    """Run some examples of one target; return their number."""
    tried: list[Any] = []

    @seed(round_seed)
    @settings(SETTINGS, max_examples=EXAMPLES)
    @given(strategy)
    def holds(example: Any) -> None:
        tried.append(example)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        run(example, folder)

    try:
        holds()
    except Flaky as flaky:
        failures.report(name, round_seed, flaky, tried[-1])
    except BaseExceptionGroup as several:
        for error in several.exceptions:
            failures.report(name, round_seed, error, tried[-1])
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        failures.report(name, round_seed, error, tried[-1])
    return len(tried)


def run_real_command_line(
    targets: Mapping[str, SearchStrategy[Example]], folder: Path, deadline: float, round_seed: int, found: Found
) -> Found:
    """Run an example of each target with the real command line and an encoding, and return all that is found."""
    for number, (name, strategy) in enumerate(targets.items()):
        if time.monotonic() > deadline:
            break
        example = example_of(strategy, round_seed)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        found.counts[f"command line: {name}"] += 1
        try:
            run_really(example, folder, ENCODINGS[(round_seed + number) % len(ENCODINGS)])
        except ValueError:  # an argument that no command line can have
            continue
        except Exception as error:  # noqa: BLE001
            kept = Path(tempfile.mkdtemp(prefix="fuzz-failure-"))
            write(example, kept)
            found.report(f"command line: {name} (files in {kept})", round_seed, error, example.arguments)
    return found


def example_of(strategy: SearchStrategy[Example], number: int) -> Example:
    """Return the example of a seed."""
    made: list[Example] = []

    @seed(number)
    @settings(SETTINGS, max_examples=2, phases=[Phase.generate])
    @given(strategy)
    def keep(example: Example) -> None:
        made.append(example)

    keep()
    return made[-1]


if __name__ == "__main__":
    sys.exit(main())
