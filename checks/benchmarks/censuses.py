"""Measure censuses: wall-clock time, processor time, memory, and the processor time of the runtime alone.

Clock times hold only where both processors are otherwise idle; processor time divided by two says what they would be.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.own.graphs.intermediate_values import SubjectRefused
from conformance.studies.census.chunks import Cell, count_chunk
from conformance.studies.census.query import open_client

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

COMMAND = (sys.executable, "-c", "from conformance.commands.cli import main; main()")
SUBJECT = "onnxruntime"
SIXTEEN = ("float16", "bfloat16")
SAMPLED = 8
"""Number of evenly spread chunks of each cell in which the time of the runtime is measured."""

CENSUSES = {
    "Exp of float": (("Exp",), ("float",)),
    "Exp, Log, Sqrt and ArgMax of the 16-bit types": (("Exp", "Log", "Sqrt", "ArgMax"), SIXTEEN),
    "Softmax and LogSoftmax of the 16-bit types": (("Softmax", "LogSoftmax"), SIXTEEN),
}


@dataclass
class Cost:
    """The cost of a command.

    Attributes:
        seconds: by the clock.
        processor: seconds of processor time, of all its processes.
        memory: MiB that all its processes held at a time at most, pages that they share counted once.
    """

    seconds: float
    processor: float
    memory: float = 0.0


def add_rows(table: Table) -> None:
    """Add rows for all censuses, and for one census with one worker and with two workers."""
    for title, (operators, types) in CENSUSES.items():
        cost = _cost(operators, types, "2")
        own = sum(_runtime(operator, type) for operator in operators for type in types)
        resources = f"{cost.processor:.1f} s of processors, {cost.memory:.0f} MiB"
        table.add_row(
            f"census of {title}, -n 2",
            f"{cost.seconds:.1f}",
            resources,
            f"{own / cost.processor:.0%} the runtime's",
            "at most 60 s and 1024 MiB",
        )
        if title == "Exp of float":
            alone = _cost(operators, types, "1")
            ratio = f"{alone.seconds / cost.seconds:.2f}"
            table.add_row(
                f"census of {title}, -n 1", f"{alone.seconds:.1f}", f"-n 2 {cost.seconds:.1f}", ratio, "at least 1.6"
            )


def _cost(operators: Sequence[str], types: Sequence[str], workers: str) -> Cost:
    named = (*(f"--operator={operator}" for operator in operators), *(f"--type={type}" for type in types))
    command = (*COMMAND, "census", "-b", SUBJECT, *named, "-n", workers)
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | {"TERM": "dumb"})
    cost = Cost(0.0, 0.0)
    watching = threading.Thread(target=_watch, args=(process, cost))
    watching.start()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    watching.join()
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    cost.seconds = time.perf_counter() - started
    cost.processor = usage.ru_utime + usage.ru_stime
    return cost


def _watch(process: subprocess.Popen[Any], cost: Cost) -> None:
    while process.returncode is None:
        cost.memory = max(cost.memory, sum(map(_held, _family(process.pid))) / 1024)
        time.sleep(0.25)


def _family(number: int) -> Iterator[int]:
    """Return a process and all its descendants."""
    yield number
    for children in Path(f"/proc/{number}/task").glob("*/children"):
        try:
            numbers = children.read_text().split()
        except OSError:  # it has ended
            continue
        for child in numbers:
            yield from _family(int(child))


def _held(number: int) -> int:
    """Return the proportional memory of a process in KiB; shared memory counts in part."""
    try:
        lines = Path(f"/proc/{number}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def _runtime(operator: str, type: str) -> float:
    """Return the processor seconds of the runtime for a cell, measured in this process."""
    cell, seconds = Cell(SUBJECT, operator, type), 0.0
    with open_client(SUBJECT, 60, in_process=True) as asked:
        answer = asked.answer

        def timed(*given: Any) -> Any:
            nonlocal seconds
            started = time.process_time()
            try:
                return answer(*given)
            finally:
                seconds += time.process_time() - started

        pieces = sorted({piece * cell.chunk_count // SAMPLED for piece in range(SAMPLED)})
        try:
            count_chunk(asked, cell, pieces[0])
            vars(asked)["answer"] = timed
            for piece in pieces:
                count_chunk(asked, cell, piece)
        except SubjectRefused:
            return 0.0
    return seconds * cell.chunk_count / len(pieces)
