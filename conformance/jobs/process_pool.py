"""Workers that are processes of this machine.

The processes are spawned, not forked. They end when the process that started them ends. If a worker crashes, another
worker repeats its chunk.
"""

from __future__ import annotations

import os
import signal
from collections import Counter, deque
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, cast

from conformance.errors import ConformanceError, JobError, SuiteFault, UsageError
from conformance.files.atomic_write import deferred_signals
from conformance.jobs.job import ChunkResult, Workers
from conformance.processes.start import begin_worker, start_worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

    from conformance.jobs.job import Job


CHUNK_ATTEMPTS = 3
"""Number of workers that may crash on one chunk before the job stops."""

STOP_GRACE_SECONDS = 5.0
"""Time for a worker to exit when there are no more chunks."""


def create_workers(count: int | None, dask: str | None, notice: Callable[[str], None]) -> Workers:
    """Return the workers for the options `-n` and `--dask`; without them, chunks are executed in this process.

    Args:
        count: number of processes on this machine.
        dask: address of a Dask scheduler.
        notice: function that is called with a sentence for each worker that crashes or cannot execute the job.

    Raises:
        UsageError: both options are given, or `count` is less than 1.
    """
    if dask is None:
        return ProcessWorkers(1 if count is None else count, notice)
    if count is not None:
        raise UsageError(
            "workers-and-dask",
            "-n and --dask exclude each other.",
            "Leave out -n: the Dask scheduler determines the number of workers.",
        )
    from conformance.jobs.dask import DaskWorkers

    return DaskWorkers(dask, notice)


def available_processors() -> int:
    """Return the number of processors that this process may use; on macOS, the number of all processors."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class ProcessWorkers:
    """A number of worker processes; a single worker is this process itself.

    Args:
        count: number of workers.
        notice: function that is called with a sentence for each worker that crashes.

    Raises:
        UsageError: `count` is less than 1.
    """

    count: int
    notice: Callable[[str], None]

    def __post_init__(self) -> None:
        if self.count < 1:
            raise UsageError("invalid-worker-count", f"-n must be at least 1 (got {self.count}).", "Give -n 1 or more.")

    def run(self, job: Job, numbers: Iterable[int]) -> Iterator[ChunkResult]:
        """Yield the result of each chunk when it is done; see `Workers`."""
        if self.count == 1:
            with job.open() as run_chunk:
                for number in numbers:
                    yield ChunkResult(number, run_chunk(number))
            return
        pool = _Pool(job, iter(numbers), self.notice)
        try:
            for _ in range(self.count):
                pool.start()
            while pool.workers:
                yield from pool.wait_for_results()
        finally:
            pool.kill()


@dataclass
class _Worker:
    """A worker process, and the number of the chunk that it executes."""

    process: SpawnProcess
    number: int


class _Pool:
    """The worker processes of one job.

    Args:
        job: the job.
        numbers: numbers of the chunks.
        notice: function that is called with a sentence for each worker that crashes.

    Attributes:
        workers: running workers, by the connection to them.
    """

    def __init__(self, job: Job, numbers: Iterator[int], notice: Callable[[str], None]) -> None:
        self.workers: dict[Connection, _Worker] = {}
        self._job, self._numbers, self._notice = job, numbers, notice
        self._repeated: deque[int] = deque()
        self._deaths: Counter[int] = Counter()

    def start(self) -> None:
        """Start another worker, if there is a chunk that it can execute."""
        number = self._next_number()
        if number is not None:
            with deferred_signals():
                connection, process = start_worker(serve_chunks, self._job)
            self.workers[connection] = _Worker(process, number)
            self._send(connection, number)

    def wait_for_results(self) -> Iterator[ChunkResult]:
        """Wait until workers have finished chunks; send them their next chunks, and yield the results."""
        for connection in cast("list[Connection]", wait(list(self.workers))):
            try:
                answer = connection.recv()
            except (EOFError, OSError):
                self._handle_death(connection)
                continue
            if isinstance(answer, BaseException):
                raise answer
            self._continue(connection)
            yield ChunkResult(*answer)

    def kill(self) -> None:
        """Kill all workers and the subjects that they started."""
        for worker in self.workers.values():
            worker.process.kill()
        for connection, worker in self.workers.items():
            worker.process.join()
            connection.close()
        self.workers.clear()

    def _continue(self, connection: Connection) -> None:
        number = self._next_number()
        if number is None:
            self._stop(connection)
        else:
            self.workers[connection].number = number
            self._send(connection, number)

    def _send(self, connection: Connection, number: int) -> None:
        try:
            connection.send(number)
        except OSError:
            return  # the worker is dead; `wait_for_results` notices it

    def _stop(self, connection: Connection) -> None:
        process = self.workers.pop(connection).process
        connection.close()  # `serve_chunks` returns at the end of the connection
        process.join(STOP_GRACE_SECONDS)
        process.kill()
        process.join()

    def _handle_death(self, connection: Connection) -> None:
        """Queue the chunk of a crashed worker again, and start another worker.

        Raises:
            JobError: the chunk has made `CHUNK_ATTEMPTS` workers crash.
        """
        worker = self.workers.pop(connection)
        connection.close()
        worker.process.join()
        how, number = _describe_exit(worker.process.exitcode), worker.number
        self._deaths[number] += 1
        if self._deaths[number] == CHUNK_ATTEMPTS:
            raise JobError(
                "workers-died",
                f"{CHUNK_ATTEMPTS} workers died on chunk {number}, the last one {how}.",
                "Check whether memory is short; with --resume FILE, FILE keeps the finished chunks.",
            )
        self._notice(f"A worker died ({how}) on chunk {number}; the chunk is repeated.")
        self._repeated.append(number)
        self.start()

    def _next_number(self) -> int | None:
        return self._repeated.popleft() if self._repeated else next(self._numbers, None)


def _describe_exit(code: int | None) -> str:
    if code is not None and code < 0:
        return f"by {signal.Signals(-code).name}"
    return f"with status {code}"


def serve_chunks(connection: Connection, job: Job) -> None:
    """Execute the chunks whose numbers arrive on `connection`, and send the results, until the connection is closed.

    If a chunk raises an exception, the exception is sent instead of a result.
    """
    begin_worker()
    try:
        with job.open() as run_chunk:
            while True:
                number: int = connection.recv()
                connection.send((number, run_chunk(number)))
    except (EOFError, BrokenPipeError):
        return
    except ConformanceError as error:
        connection.send(error)
    except Exception as error:  # noqa: BLE001 - the parent process raises it
        connection.send(error if isinstance(error, SuiteFault) else SuiteFault(f"{type(error).__name__}: {error}"))
