"""Workers of a Dask scheduler.

The functions in the first half of the module run on the workers. They check that a worker can execute a job, and
execute chunks. A worker can execute several chunks at once in threads, each with its own opened job. An opened job is
reused for later chunks. It is closed when it is unused for `IDLE_SECONDS`, because a worker is not notified when a job
ends.

The second half runs in the process of the command. It submits chunks to workers, and submits a chunk again if its
worker disappears.
"""

from __future__ import annotations

import logging
import pickle
import time
from concurrent.futures import CancelledError
from concurrent.futures import Future as Outcome
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from conformance.base.errors import ConformanceError, JobError, SuiteFault, UsageError
from conformance.base.jobs.job import ChunkResult, result_decoder
from conformance.base.plugins import suite_version
from conformance.base.serialization.decoding import MalformedError, encode_json
from conformance.base.serialization.printable_text import first_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from distributed import Client, Future

    from conformance.base.jobs.job import Job


IDLE_SECONDS = 10.0
"""Time after which an unused opened job is closed."""


@dataclass
class _OpenJob:
    """An opened job.

    Attributes:
        job: the pickled job.
        run_chunk: function that executes a chunk, given its number.
        closing: function that closes the job.
        used: time of the last use, by the monotonic clock.
    """

    job: bytes
    run_chunk: Callable[[int], Any]
    closing: ExitStack
    used: float = field(default_factory=time.monotonic)


_idle_jobs: list[_OpenJob] = []
_idle_lock = Lock()


def open_job_on_worker(version: str, job: bytes) -> str:
    """Open a job on this worker; return an empty text, or the reason why this worker cannot execute the job.

    Args:
        version: version of the suite that the command runs; the worker must have the same version.
        job: the pickled job.
    """
    if version != suite_version():
        return f"it has onnx-conformance {suite_version()}, and this is {version}; install the same version there."
    try:
        _keep_idle(_take_or_open(job))
    except ConformanceError as error:
        return f"{error.problem} {error.hint}"
    return ""


def run_chunk(job: bytes, number: int) -> bytes:
    """Execute a chunk of a pickled job on this worker, and return its result as JSON, which the command checks."""
    opened = _take_or_open(job)
    try:
        result = opened.run_chunk(number)
    except BaseException:
        opened.closing.close()
        raise
    _keep_idle(opened)
    return encode_json(result)


def _take_or_open(job: bytes) -> _OpenJob:
    with _idle_lock:
        for opened in _idle_jobs:
            if opened.job == job:
                _idle_jobs.remove(opened)
                return opened
    closing = ExitStack()
    unpickled: Job = pickle.loads(job)  # noqa: S301 - from the scheduler, which can run any code here
    return _OpenJob(job, closing.enter_context(unpickled.open()), closing)


def _keep_idle(opened: _OpenJob) -> None:
    opened.used = time.monotonic()
    with _idle_lock:
        _idle_jobs.append(opened)
        if len(_idle_jobs) == 1:
            Thread(target=_close_unused, daemon=True).start()


def _close_unused() -> None:
    """Close opened jobs that are unused for `IDLE_SECONDS`; return when no unused job is left."""
    while True:
        time.sleep(IDLE_SECONDS / 4)
        with _idle_lock:
            unused = [opened for opened in _idle_jobs if time.monotonic() - opened.used > IDLE_SECONDS]
            for opened in unused:
                _idle_jobs.remove(opened)
            remaining = len(_idle_jobs)
        for opened in unused:
            opened.closing.close()
        if not remaining:
            return


POLL_SECONDS = 1.0
"""Interval at which the list of the scheduler's workers is read."""

FETCH_TIMEOUT_SECONDS = 3.0
"""Time limit for transferring results; after it, the transfer is tried again."""

MAX_RESULT_BYTES = 2**26
"""Largest result of a chunk that is decoded."""

CHUNKS_IN_FLIGHT = 3
"""Chunks submitted per worker thread: one is running, the others are queued."""


@dataclass(frozen=True)
class DaskWorkers:
    """All workers of a Dask scheduler that can execute a job.

    Args:
        address: address of the scheduler, as in `tcp://10.0.0.1:8786`.
        notice: function that is called with a sentence for each worker that cannot execute the job or disappears.
        version: version of this suite, which the workers must have.
        connecting: time limit for connecting to the scheduler, in seconds.
        waiting: time limit, in seconds, for waiting while there is no usable worker; the job then ends.
    """

    address: str
    notice: Callable[[str], None]
    version: str = field(default_factory=suite_version)
    connecting: float = 5.0
    waiting: float = 30.0

    def run(self, job: Job, numbers: Iterable[int]) -> Iterator[ChunkResult]:
        """Yield the result of each chunk when it is done; see `Workers`."""
        with self._client() as client:
            run = _DaskRun(self, client, job, pickle.dumps(job), result_decoder(job))
            try:
                yield from run.results(iter(numbers))
            except (OSError, CancelledError) as error:
                raise JobError("scheduler-lost", address=self.address, error_type=type(error).__name__) from None
            finally:
                run.cancel()

    @contextmanager
    def _client(self) -> Iterator[Client]:
        try:
            from distributed import Client
        except ModuleNotFoundError:
            raise UsageError("dask-missing") from None
        for name in ("distributed", "distributed.client", "asyncio"):  # a lost worker is reported as an error
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            client = self._connect(Client)
        except (OSError, ValueError, MemoryError) as error:  # also if another program answers
            raise JobError("scheduler-unreachable", address=self.address, error_type=type(error).__name__) from None
        except (ImportError, RuntimeError, TypeError) as error:  # no key and certificate, or no package of a transport
            raise JobError("scheduler-transport", address=self.address, reason=first_line(error)) from None
        try:
            yield client
        finally:
            with suppress(OSError, CancelledError):
                client.close(timeout=self.connecting)

    def _connect(self, create: Callable[..., Client]) -> Client:
        """Connect to the scheduler, in a thread: distributed waits for ever if a program accepts and never answers."""
        made: Outcome[Client] = Outcome()

        def connect() -> None:
            try:
                made.set_result(create(self.address, timeout=self.connecting))
            except Exception as error:  # noqa: BLE001 - it is raised below
                made.set_exception(error)

        Thread(target=connect, daemon=True).start()
        return made.result(3 * self.connecting)


@dataclass
class _DaskRun:
    """The run of one job on the workers of one scheduler.

    Attributes:
        pickled_job: the pickled job.
        decode: decoder of the result of a chunk.
        usable: for each worker that can execute the job, its number of threads, by address.
        unusable: for each other worker, the reason, by address.
        checks: pending results of `open_job_on_worker`, by address.
        submitted: for each submitted chunk, its number and the addresses of the workers that may execute it.
    """

    workers: DaskWorkers
    client: Client
    job: Job
    pickled_job: bytes
    decode: Callable[[bytes], Any]
    usable: dict[str, int] = field(default_factory=dict)
    unusable: dict[str, str] = field(default_factory=dict)
    checks: dict[str, Future] = field(default_factory=dict)
    submitted: dict[Future, tuple[int, frozenset[str]]] = field(default_factory=dict)
    _last_poll: float = -POLL_SECONDS
    _last_usable: float = field(default_factory=time.monotonic)

    def results(self, numbers: Iterator[int]) -> Iterator[ChunkResult]:
        """Yield the result of each chunk when it is done."""
        repeated: list[int] = []
        while True:
            self._poll_workers(repeated)
            while self.usable and len(self.submitted) < CHUNKS_IN_FLIGHT * sum(self.usable.values()):
                number = repeated.pop() if repeated else next(numbers, None)
                if number is None:
                    break
                able = frozenset(self.usable)
                self.submitted[self._submit(able, run_chunk, self.pickled_job, number)] = (number, able)
            if self.usable and not self.submitted:
                return
            for future, result in self._fetch(self._wait_for_any()):
                yield self._decode_result(self.submitted.pop(future)[0], result)

    def _decode_result(self, number: int, content: object) -> ChunkResult:
        """Return the result of a chunk as the state file would give it.

        Raises:
            JobError: a worker returned something else than a result of this job.
        """
        try:
            if not isinstance(content, bytes) or len(content) > MAX_RESULT_BYTES:
                raise MalformedError(f"not at most {MAX_RESULT_BYTES} bytes of JSON")  # noqa: TRY301 - one message
            chunk = ChunkResult(number, self.decode(content))
            self.job.check_result(chunk)
        except MalformedError as error:
            raise JobError("malformed-result", address=self.workers.address, number=number, error=error) from None
        return chunk

    def cancel(self) -> None:
        """Cancel all submitted tasks."""
        with suppress(OSError, CancelledError):
            if self.client.status == "running":
                self.client.cancel([*self.submitted, *self.checks.values()], force=True)

    def _wait_for_any(self) -> list[Future]:
        """Wait up to `POLL_SECONDS` for the end of a chunk, and return the futures of all chunks that are done."""
        from distributed import wait

        if self.client.status != "running":
            raise ConnectionError
        if not self.submitted:
            time.sleep(POLL_SECONDS / 10)
            return []
        try:
            return list(wait(list(self.submitted), timeout=POLL_SECONDS, return_when="FIRST_COMPLETED").done)
        except TimeoutError:
            return []

    def _fetch(self, finished: list[Future]) -> list[tuple[Future, Any]]:
        """Fetch the results of finished chunks, and return each future with its result.

        The result is empty if a worker disappeared before the transfer; a later poll repeats its chunks.

        Raises:
            JobError: a chunk has made several workers crash.
            SuiteFault: a chunk raised an unexpected exception.
        """
        from distributed import KilledWorker

        try:
            results = self.client.sync(
                partial(self.client.gather, finished, asynchronous=True), callback_timeout=FETCH_TIMEOUT_SECONDS
            )
            return list(zip(finished, results, strict=True))
        except TimeoutError:
            return []
        except KilledWorker as error:
            numbers = {future.key: number for future, (number, _) in self.submitted.items()}
            raise JobError("workers-died.dask", number=numbers[error.task]) from None
        except (ConformanceError, SuiteFault, OSError, CancelledError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever a chunk raised on a worker
            raise SuiteFault(f"{type(error).__name__}: {error}") from None

    def _poll_workers(self, repeated: list[int]) -> None:
        """Check new workers, and append the chunks of disappeared workers to `repeated`."""
        now = time.monotonic()
        if now - self._last_poll < (POLL_SECONDS if self.usable else POLL_SECONDS / 10):
            return
        self._last_poll = now
        threads = self.client.nthreads()
        for address in self.usable.keys() - threads.keys():
            self.workers.notice(f"The worker {address} disappeared; its chunks are repeated.")
            del self.usable[address]
        for address in self.checks.keys() - threads.keys():
            self.client.cancel([self.checks.pop(address)], force=True)
        for address in threads.keys() - self.usable.keys() - self.unusable.keys() - self.checks.keys():
            self.checks[address] = self._submit([address], open_job_on_worker, self.workers.version, self.pickled_job)
        for address in [address for address, check in self.checks.items() if check.done()]:
            self._add_worker(address, threads[address], _unfit_reason(self.checks.pop(address)))
        for future, (number, able) in list(self.submitted.items()):
            if not able & self.usable.keys() and not future.done():
                self.client.cancel([future], force=True)
                del self.submitted[future]
                repeated.append(number)
        self._require_usable_worker(now)

    def _add_worker(self, address: str, threads: int, reason: str) -> None:
        """Add a worker to `usable`, or to `unusable` if there is a reason."""
        if not reason:
            self.usable[address] = threads
        else:
            self.unusable[address] = reason
            self.workers.notice(f"The worker {address} receives no chunk: {reason}")

    def _submit(self, able: Iterable[str], task: Callable[..., Any], *arguments: Any) -> Future:
        """Submit a call of `task` that only the workers with the addresses in `able` may execute."""
        return self.client.submit(task, *arguments, workers=sorted(able), allow_other_workers=False, pure=False)

    def _require_usable_worker(self, now: float) -> None:
        if self.usable:
            self._last_usable = now
        elif now - self._last_usable >= self.workers.waiting or (self.unusable and not self.checks):
            hint = next(iter(self.unusable.values()), "Start some with `dask worker` and the scheduler's address.")
            raise JobError("no-usable-worker", address=self.workers.address, hint=hint)


def _unfit_reason(check: Future) -> str:
    """Return the reason why a worker cannot execute the job, from the result of its check; empty if it can."""
    error = check.exception()
    if isinstance(error, ModuleNotFoundError):
        return f"it has no module {error.name}; install onnx-conformance there, in this version."
    return str(check.result()) if error is None else f"{type(error).__name__}: {error}"
