"""Workers that are processes of this machine.

The processes are spawned, not forked. They end when the process that started them ends. If a worker crashes, another
worker repeats its chunk.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, cast

from conformance.base.errors import ConformanceError, JobError, SuiteFault, UsageError
from conformance.base.files.atomic_write import deferred_signals
from conformance.base.jobs.job import ChunkResult, Workers
from conformance.base.processes.start import begin_worker, start_worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

    from conformance.base.jobs.job import Job


CHUNK_ATTEMPTS = 3
"""Number of workers that may crash on one chunk before the job stops."""

STOP_GRACE_SECONDS = 5.0
"""Time for a worker to exit when there are no more chunks."""


@dataclass(frozen=True)
class LossPolicy:
    """Reaction of a job to a chunk on which workers crash; by default the job ends with an error.

    Attributes:
        attempts: number of workers that may crash on one chunk.
        lost: function that is called with the number of a chunk on which so many workers crashed, and with how the last
            one ended. The job then continues with the other chunks. None if the job ends.
    """

    attempts: int = CHUNK_ATTEMPTS
    lost: Callable[[int, str], None] | None = None


def create_workers(
    count: int | None, dask: str | None, notice: Callable[[str], None], policy: LossPolicy = LossPolicy()
) -> Workers:
    """Return the workers for the options `-n` and `--dask`; without them, chunks are executed in this process.

    Args:
        count: number of processes on this machine.
        dask: address of a Dask scheduler.
        notice: function that is called with a sentence for each worker that crashes or cannot execute the job.
        policy: reaction to a chunk on which processes crash; Dask's scheduler has its own limit.

    Raises:
        UsageError: both options are given, or `count` is less than 1.
    """
    if dask is None:
        return ProcessWorkers(1 if count is None else count, notice, policy)
    if count is not None:
        raise UsageError("workers-and-dask")
    from conformance.base.jobs.dask import DaskWorkers

    return DaskWorkers(dask, notice)


@dataclass(frozen=True)
class ProcessWorkers:
    """A number of worker processes; a single worker is this process itself.

    Args:
        count: number of workers.
        notice: function that is called with a sentence for each worker that crashes.
        policy: reaction to a chunk on which workers crash.

    Raises:
        UsageError: `count` is less than 1.
    """

    count: int
    notice: Callable[[str], None]
    policy: LossPolicy = LossPolicy()

    def __post_init__(self) -> None:
        if self.count < 1:
            raise UsageError("invalid-worker-count", count=self.count)

    def run(self, job: Job, numbers: Iterable[int]) -> Iterator[ChunkResult]:
        """Yield the result of each chunk when it is done; see `Workers`."""
        if self.count == 1:
            with job.open() as run_chunk:
                for number in numbers:
                    yield ChunkResult(number, run_chunk(number))
            return
        pool = _Pool(job, iter(numbers), self.notice, self.policy)
        try:
            pool.start(self.count)
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
        policy: reaction to a chunk on which workers crash.

    Attributes:
        workers: running workers, by the connection to them.
    """

    def __init__(self, job: Job, numbers: Iterator[int], notice: Callable[[str], None], policy: LossPolicy) -> None:
        self.workers: dict[Connection, _Worker] = {}
        self._job = job
        self._numbers = numbers
        self._notice = notice
        self._policy = policy
        self._repeated: deque[int] = deque()
        self._deaths: Counter[int] = Counter()

    def start(self, count: int) -> None:
        """Start so many further workers, or fewer if there are fewer chunks.

        They are sent the job when all of them have started, because each reads it only after it has imported modules.
        """
        started: dict[Connection, int] = {}
        while len(started) < count and (number := self._next_number()) is not None:
            with deferred_signals():
                connection, process = start_worker(serve_chunks)
                self.workers[connection] = _Worker(process, number)
            started[connection] = number
        for connection, number in started.items():
            self._send(connection, self._job)
            self._send(connection, number)

    def wait_for_results(self) -> Iterator[ChunkResult]:
        """Wait until workers have finished chunks; send them their next chunks, and yield the results."""
        for connection in cast("list[Connection]", wait(list(self.workers))):
            try:
                answer = connection.recv()
            except Exception:  # noqa: BLE001 - also what a subject in the worker has written to the connection
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

    def _send(self, connection: Connection, message: Job | int) -> None:
        try:
            connection.send(message)
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
            JobError: the chunk has made `policy.attempts` workers crash, and the policy is to end the job.
        """
        worker = self.workers.pop(connection)
        connection.close()
        worker.process.join(STOP_GRACE_SECONDS)
        worker.process.kill()
        worker.process.join()
        how = _describe_exit(worker.process.exitcode)
        number = worker.number
        self._deaths[number] += 1
        if self._deaths[number] < self._policy.attempts:
            self._notice(f"A worker died ({how}) on chunk {number}; the chunk is repeated.")
            self._repeated.append(number)
        elif self._policy.lost is not None:
            self._policy.lost(number, how)
        else:
            raise JobError("workers-died.processes", attempts=self._policy.attempts, number=number, how=how)
        self.start(1)

    def _next_number(self) -> int | None:
        return self._repeated.popleft() if self._repeated else next(self._numbers, None)


def _describe_exit(code: int | None) -> str:
    if code is not None and code < 0:
        return f"by {signal.Signals(-code).name}"
    return f"with status {code}"


def serve_chunks(connection: Connection) -> None:
    """Execute the chunks of a job, and send the results, until the connection is closed.

    The job arrives on the connection, and then the number of each chunk.

    If a chunk raises an exception, the exception is sent instead of a result. The process ends without clean-up,
    because runtimes with threads may crash when the interpreter ends.
    """
    begin_worker()
    try:
        with suppress(EOFError, BrokenPipeError), connection.recv().open() as run_chunk:
            while True:
                number: int = connection.recv()
                connection.send((number, run_chunk(number)))
    except ConformanceError as error:
        connection.send(error)
    except Exception as error:  # noqa: BLE001 - the parent process raises it
        connection.send(error if isinstance(error, SuiteFault) else SuiteFault(f"{type(error).__name__}: {error}"))
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(0)
