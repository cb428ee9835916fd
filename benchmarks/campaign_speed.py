"""What campaigns cost: how soon workers of Dask's begin, what a piece costs there, and two workers against one.

All by the clock: it holds only where both processors are otherwise idle.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from distributed import Client

from conformance.campaigns.campaign import campaign
from conformance.campaigns.dask import DaskWorkers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rich.table import Table

COMMAND = (sys.executable, "-c", "from conformance.cli import main; main()")
SEARCH = ("search", "-b", "onnxruntime", "--examples", "3000", "--seed", "0")
PIECES = 500
STARTING = 60
"""Seconds for a scheduler to say where it is."""


class Nothing(TypedDict):
    """What a piece comes to that has nothing to do."""


@dataclass(frozen=True)
class Idle:
    """Pieces with nothing to do, which cost what pieces cost."""

    @property
    def identity(self) -> dict[str, Any]:
        return {"job": "idle"}

    @property
    def result(self) -> Any:
        return Nothing

    def pieces(self) -> Iterable[int]:
        return range(PIECES)

    @contextmanager
    def opened(self) -> Iterator[Callable[[int], Nothing]]:
        yield lambda _: Nothing()


def campaign_rows(table: Table) -> None:
    """Pieces of Dask's, then a search on one worker and on two, as processes and as Dask's."""
    with dask_workers(2) as address:
        began = time.perf_counter()
        done = [time.perf_counter() for _ in campaign(Idle(), DaskWorkers(address, sys.exit))]
    table.add_row("the first piece on workers of Dask's", f"{done[0] - began:.2f}", "", "", "at most 2 s")
    each = (done[-1] - done[0]) / (len(done) - 1) * 1000
    table.add_row("a piece on workers of Dask's", f"{each:.2f} ms", f"{len(done)} pieces", "", "at most 5 ms")
    for kind, workers in (("processes", _processes), ("workers of Dask's", _workers_of_dask)):
        one, two = (_searched(workers, count) for count in (1, 2))
        told = ("search on 2 " + kind, f"{two:.1f}", f"on 1 {one:.1f}", f"{one / two:.2f}", "at least 1.6 times")
        table.add_row(*told)


def _searched(workers: Callable[[int], Any], count: int) -> float:
    with workers(count) as options:
        started = time.perf_counter()
        done = subprocess.run((*COMMAND, *SEARCH, *options), capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - started
    if done.returncode not in {0, 1}:
        sys.exit(done.stderr)
    return seconds


def _processes(count: int) -> Any:
    return nullcontext(("-n", str(count)))


@contextmanager
def _workers_of_dask(count: int) -> Iterator[tuple[str, str]]:
    with dask_workers(count) as address:
        yield "--dask", address


@contextmanager
def dask_workers(count: int) -> Iterator[str]:
    """A scheduler and so many workers, started as Dask's documentation says; the scheduler's address."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "scheduler.json"
        options = ("--scheduler-file", str(place), "--no-dashboard")
        scheduler = _started(scratch, "dask_scheduler", *options, "--port", "0")
        worker = _started(scratch, "dask_worker", *options, "--nworkers", str(count), "--nthreads", "1")
        try:
            address = _address(place)
            with Client(address) as client:
                client.wait_for_workers(count, timeout=STARTING)
            yield address
        finally:
            for process in (worker, scheduler):
                process.terminate()
                process.wait()


def _started(scratch: str, program: str, *options: str) -> subprocess.Popen[bytes]:
    """A program of Dask's, whose pieces find this module."""
    paths = {"PYTHONPATH": str(Path(__file__).parent)}
    command = (sys.executable, "-m", f"distributed.cli.{program}", *options)
    return subprocess.Popen(command, cwd=scratch, env=os.environ | paths, stderr=subprocess.DEVNULL)


def _address(place: Path) -> str:
    deadline = time.monotonic() + STARTING
    while time.monotonic() < deadline:
        if place.exists() and (told := place.read_text()).endswith("}"):
            return str(json.loads(told)["address"])
        time.sleep(0.1)
    sys.exit("The scheduler has not started.")
