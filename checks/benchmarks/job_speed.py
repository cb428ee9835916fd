"""Measure distributed jobs: start-up and chunk time on Dask workers, and the gain of a second worker.

The measurements are wall-clock times; they are only valid on a machine with two idle processors.
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
from typing import TYPE_CHECKING, Any

from distributed import Client
from msgspec import Struct

from conformance.base.jobs.dask import DaskWorkers
from conformance.base.jobs.job import run_job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rich.table import Table

COMMAND = (sys.executable, "-c", "from conformance.commands.cli import main; main()")
SEARCH = ("search", "-b", "onnxruntime", "--examples", "3000", "--seed", "0")
CHUNKS = 500
START_TIMEOUT = 60
"""Seconds in which a scheduler must write its address."""


class Nothing(Struct):
    """The empty result of a chunk."""


@dataclass(frozen=True)
class Idle:
    """A job whose chunks do nothing, which measures the overhead of a chunk."""

    @property
    def identity(self) -> dict[str, Any]:
        return {"job": "idle"}

    @property
    def result_type(self) -> Any:
        return Nothing

    def chunk_numbers(self) -> Iterable[int]:
        return range(CHUNKS)

    @contextmanager
    def open(self) -> Iterator[Callable[[int], Nothing]]:
        yield lambda _: Nothing()


def job_rows(table: Table) -> None:
    """Add rows for empty chunks on Dask, and for a search on one and on two workers."""
    with dask_workers(2) as address:
        began = time.perf_counter()
        done = [time.perf_counter() for _ in run_job(Idle(), DaskWorkers(address, sys.exit))]
    table.add_row("first chunk on Dask workers", f"{done[0] - began:.2f}", "", "", "at most 2 s")
    each = (done[-1] - done[0]) / (len(done) - 1) * 1000
    table.add_row("one chunk on Dask workers", f"{each:.2f} ms", f"{len(done)} chunks", "", "at most 5 ms")
    for kind, workers in (("processes", _processes), ("Dask workers", _workers_of_dask)):
        one, two = (_search_seconds(workers, count) for count in (1, 2))
        row = ("search on 2 " + kind, f"{two:.1f}", f"on 1 {one:.1f}", f"{one / two:.2f}", "at least 1.6 times")
        table.add_row(*row)


def _search_seconds(workers: Callable[[int], Any], count: int) -> float:
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
    """Start a Dask scheduler and its workers; yield the address of the scheduler."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "scheduler.json"
        options = ("--scheduler-file", str(place), "--no-dashboard")
        scheduler = _start(scratch, "dask_scheduler", *options, "--port", "0")
        worker = _start(scratch, "dask_worker", *options, "--nworkers", str(count), "--nthreads", "1")
        try:
            address = _address(place)
            with Client(address) as client:
                client.wait_for_workers(count, timeout=START_TIMEOUT)
            yield address
        finally:
            for process in (worker, scheduler):
                process.terminate()
                process.wait()


def _start(scratch: str, program: str, *options: str) -> subprocess.Popen[bytes]:
    """Start a program of Dask with this folder on its module path."""
    paths = {"PYTHONPATH": str(Path(__file__).parent)}
    command = (sys.executable, "-m", f"distributed.cli.{program}", *options)
    return subprocess.Popen(command, cwd=scratch, env=os.environ | paths, stderr=subprocess.DEVNULL)


def _address(place: Path) -> str:
    deadline = time.monotonic() + START_TIMEOUT
    while time.monotonic() < deadline:
        if place.exists() and (text := place.read_text()).endswith("}"):
            return str(json.loads(text)["address"])
        time.sleep(0.1)
    sys.exit("The Dask scheduler did not start.")
