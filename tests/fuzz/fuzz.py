"""Fuzzes every reader and verb for some time: hypothesis in this process, and the real command line beside it.

Usage: python tests/fuzz/fuzz.py [--seconds N] [--seed N] [--only NAME]

Each find is printed once, shrunk where it was made in this process, with what gives it again; the exit status is 1
where there is one. The seed decides which examples are made, though not how many.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Flaky
from isolation_support import SUPPORT
from readers import reader_targets
from targets import ENCODINGS, Example, Find, Seeds, run_in_process, run_really, write
from verbs import slow_verb_targets, verb_targets

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy

EXAMPLES = 50
"""How many a target has in a round."""

LONGEST_LINE, LONGEST_SHOWN = 400, 3000
"""Characters of a line of a trace, and of an example, that are printed."""

SETTINGS = settings(
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)


class Finds:
    """What was found, each kind once."""

    def __init__(self) -> None:
        self.known: set[str] = set()

    def tell(self, name: str, round_seed: int, error: BaseException, example: object) -> None:
        """Print a find, unless it is known."""
        last = traceback.extract_tb(error.__traceback__)[-1]
        kind = f"{name}: {type(error).__name__} at {last.name}:{last.lineno}" + (
            f" {str(error).splitlines()[-1:]}" if isinstance(error, Find) else ""
        )
        if kind in self.known:
            return
        self.known.add(kind)
        trace = "\n".join(line[:LONGEST_LINE] for line in "".join(traceback.format_exception(error)[-6:]).splitlines())
        print(f"FIND in {kind}\n{trace}", flush=True)
        print(f"again: --only {name!r} --seed {round_seed}\nexample: {example!r}"[:LONGEST_SHOWN], flush=True)


def main() -> int:
    """Fuzz, and tell how much and what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--only", help="the name of one target")
    told = parser.parse_args()
    print(f"seed {told.seed}", flush=True)
    os.environ |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(SUPPORT)}
    with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
        folder = Path(scratch)
        (folder / "seeds").mkdir()
        seeds = Seeds.make(folder / "seeds")
        finds, counts = Finds(), Counter[str]()
        deadline = time.monotonic() + told.seconds
        beside = threading.Thread(target=really, args=(seeds, folder / "real", told, deadline, finds, counts))
        beside.start()
        in_process(seeds, folder / "here", told, deadline, finds, counts)
        beside.join()
    for name, count in sorted(counts.items()):
        print(f"{count:7} {name}")
    really_run = sum(count for name, count in counts.items() if name.startswith("command line"))
    print(f"{counts.total()} examples, {really_run} of them by the real command line, {len(finds.known)} finds")
    print(f"seed {told.seed}")
    return 1 if finds.known else 0


def in_process(
    seeds: Seeds, folder: Path, told: argparse.Namespace, deadline: float, finds: Finds, counts: Counter[str]
) -> None:
    """Round after round of each target here."""
    targets: dict[str, tuple[SearchStrategy[Any], Callable[[Any, Path], None]]] = dict(reader_targets(seeds))
    targets |= {name: (strategy, run_in_process) for name, strategy in verb_targets(seeds).items()}
    chosen = {name: target for name, target in targets.items() if told.only in {None, name}}
    round_seed = told.seed
    while chosen and time.monotonic() < deadline:
        for name, (strategy, run) in chosen.items():
            if time.monotonic() < deadline:
                counts[name] += one_round(name, strategy, run, folder, round_seed, finds)
        round_seed += 1


def one_round(
    name: str,
    strategy: SearchStrategy[Any],
    run: Callable[[Any, Path], None],
    folder: Path,
    round_seed: int,
    finds: Finds,
) -> int:
    """Some examples of one target; how many."""
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
        finds.tell(name, round_seed, flaky, tried[-1])
    except BaseExceptionGroup as several:
        for error in several.exceptions:
            finds.tell(name, round_seed, error, tried[-1])
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        finds.tell(name, round_seed, error, tried[-1])
    return len(tried)


def really(
    seeds: Seeds, folder: Path, told: argparse.Namespace, deadline: float, finds: Finds, counts: Counter[str]
) -> None:
    """One example of each target after the other by the real command line, in any encoding of a terminal."""
    targets = {**slow_verb_targets(seeds), **verb_targets(seeds)}
    chosen = {name: target for name, target in targets.items() if told.only in {None, name}}
    number = 0
    while chosen and time.monotonic() < deadline:
        for name, strategy in chosen.items():
            number += 1
            if time.monotonic() > deadline:
                return
            example = drawn(strategy, told.seed + number)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            counts[f"command line: {name}"] += 1
            try:
                run_really(example, folder, ENCODINGS[number % len(ENCODINGS)])
            except ValueError:  # an argument that no command line can have
                continue
            except Exception as error:  # noqa: BLE001
                kept = Path(tempfile.mkdtemp(prefix="fuzz-find-"))
                write(example, kept)
                finds.tell(f"command line: {name} (files in {kept})", told.seed + number, error, example.arguments)


def drawn(strategy: SearchStrategy[Example], number: int) -> Example:
    """The example that a seed gives."""
    made: list[Example] = []

    @seed(number)
    @settings(
        max_examples=2, database=None, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
    )
    @given(strategy)
    def keep(example: Example) -> None:
        made.append(example)

    keep()
    return made[-1]


if __name__ == "__main__":
    sys.exit(main())
