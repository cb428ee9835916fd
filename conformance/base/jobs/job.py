"""A job of numbered chunks, the workers that execute them, and the state file for resuming an interrupted job.

`run_job` yields the result of each chunk once: first the results in the state file, then new results when workers
finish chunks. A new result is written to the state file before it is yielded.

`limit_cpu_time` ends a computation in a chunk or elsewhere. `limit_evaluation` ends that of expected values, for which
a small model can need hours: only some operators show it by their sizes and attributes.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections import Counter
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import msgspec

from conformance.base.errors import JobError
from conformance.base.files.journal import Journal, open_state, require_identity, require_version, state_errors
from conformance.base.plugins import suite_version
from conformance.base.serialization.decoding import (
    Count,
    JsonReader,
    MalformedError,
    NonEmpty,
    decode_json,
    encode_json,
)
from conformance.base.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path


@dataclass(frozen=True)
class ChunkResult:
    """The result of one chunk.

    Attributes:
        number: number of the chunk.
        result: a value that JSON can represent; it depends only on the job and the number.
    """

    number: int
    result: Any


class Job(Protocol):
    """Work that is divided into numbered chunks.

    Workers receive the pickled job and call `open`. A job must not contain processes or open files.
    """

    result_type: ClassVar[Any]
    """Type of the result of a chunk."""

    def chunk_numbers(self) -> Iterable[int]:
        """Return the numbers of the chunks; there can be infinitely many."""

    def check_result(self, chunk: ChunkResult) -> None:
        """Check a result from a state file or a Dask worker, which has the type `result_type`.

        Raises:
            MalformedError: it is not a result of the chunk with this number.
        """

    def open(self) -> AbstractContextManager[Callable[[int], Any]]:
        """Start the processes that a worker needs, such as a subject; yield a function that executes a chunk by number.

        The function must be called for one chunk at a time.

        Raises:
            ConformanceError: this machine lacks something that the job needs.
        """


class SavedJob(Job, Protocol):
    """A job whose results can be saved to a state file."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """All data on which the results depend, as JSON. Jobs with equal identities have equal chunks and results."""


class Workers(Protocol):
    """A group of workers that can execute the chunks of a job."""

    def run(self, job: Job, numbers: Iterable[int]) -> Iterator[ChunkResult]:
        """Yield the result of each chunk when it is done, in any order. Closing the iterator stops the workers.

        Raises:
            ConformanceError: the job cannot be opened, or a chunk cannot be executed.
            SuiteFault: a chunk raised an unexpected exception.
        """


def run_job(job: Job, workers: Workers, state: JobState | None = None) -> Iterator[ChunkResult]:
    """Yield the result of each chunk of a job once. Closing the iterator stops the job.

    A result whose attribute `is_partial` is true is not saved.

    Args:
        job: the job.
        workers: the workers.
        state: the state file with earlier results of this job; new results are added to it before they are yielded.

    Raises:
        ConformanceError: the job cannot continue; all yielded results are in `state`.
    """
    finished = set()
    for chunk in state.chunks() if state is not None else ():
        finished.add(chunk.number)
        yield chunk
    numbers = (number for number in job.chunk_numbers() if number not in finished)
    with closing(workers.run(job, numbers)) as results:  # type: ignore[type-var]
        for chunk in results:
            if chunk.number in finished:
                continue
            if state is not None and not getattr(chunk.result, "is_partial", False):
                state.add(chunk)
            finished.add(chunk.number)
            yield chunk


STATE_FORMAT = 1
"""Format of the state file of a job."""

_HEADER_BEGINNING = b'{"record":"job"'


class _Header(msgspec.Struct, tag_field="record", tag="job", forbid_unknown_fields=True):
    """First line of a state file: it identifies the job."""

    format: Count
    suite: NonEmpty
    job: dict[str, Any]


class _ChunkLine(msgspec.Struct, tag_field="record", tag="chunk", forbid_unknown_fields=True):
    """One of the other lines: the result of a chunk."""

    number: Count
    result: msgspec.Raw


_decode_header = JsonReader(_Header)
_decode_line = JsonReader(_ChunkLine)


def result_decoder(job: Job) -> JsonReader[Any]:
    """Return the decoder for the result of a chunk in a state file or from a Dask worker."""
    return JsonReader(job.result_type, has_infinities=True)


class JobState:
    """The state file of a job: a header, and one line per finished chunk.

    The file is locked as long as the object is open. An incomplete last line is removed. The results stay in the file.

    Args:
        path: path of the file; it is created if it does not exist.
        job: the job.

    Raises:
        JobError: the file belongs to another job or version, is not a state file, cannot be written, or is in use.
    """

    def __init__(self, path: Path, job: SavedJob) -> None:
        self._path = path
        self._job = job
        self._decode_result = result_decoder(job)
        self._lines: dict[int, int] = {}
        """Number of the line with the result of each chunk, by number of the chunk."""
        with state_errors(path):
            self._journal = Journal(path)
        try:
            with state_errors(path):
                self._open()
        except BaseException:
            self._journal.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._journal.close()

    def chunks(self) -> Iterator[ChunkResult]:
        """Yield the results that were in the file when it was opened, one per chunk, read from the file."""
        last = max(self._lines.values(), default=0)
        with state_errors(self._path):
            for line_number, line in enumerate(self._journal.lines(), 1):
                if line_number > last:
                    break
                if line_number > 1:
                    chunk = self._decode_chunk(line_number, line)
                    if self._lines[chunk.number] == line_number:
                        yield chunk

    def add(self, chunk: ChunkResult) -> None:
        """Append the result of a chunk to the file.

        Raises:
            JobError: the file cannot be written.
        """
        with state_errors(self._path):
            self._append(_ChunkLine(chunk.number, msgspec.Raw(encode_json(chunk.result))))

    def _append(self, line: _Header | _ChunkLine) -> None:
        self._journal.append(msgspec.json.encode(line) + b"\n")

    def _open(self) -> None:
        """Check all lines, and remove an incomplete last line; write the header of a new file."""
        own = _Header(STATE_FORMAT, suite_version(), decode_json(encode_json(self._job.identity)))
        size = 0
        line = b""
        for line_number, line in enumerate(self._journal.lines(), 1):
            if not line.endswith(b"\n"):
                break
            if line_number == 1:
                self._check_header(line, own)
            else:
                self._lines.setdefault(self._decode_chunk(line_number, line).number, line_number)
            size += len(line)
        if not size:
            _check_beginning(self._path, line)
        self._journal.cut(size)
        if not size:
            self._append(own)

    def _check_header(self, line: bytes, own: _Header) -> None:
        found = _checked_header(self._path, line)
        require_identity(self._path, found.job, own.job)

    def _decode_chunk(self, line_number: int, line: bytes) -> ChunkResult:
        try:
            found = _decode_line(line)
            chunk = ChunkResult(found.number, self._decode_result(bytes(found.result)))
            self._job.check_result(chunk)
        except MalformedError as error:
            raise _malformed(self._path, line_number, str(error)) from None
        return chunk


def check_state_file(path: Path) -> None:
    """Check that a file can be the state file of a job, before it is known what the job is.

    Raises:
        JobError: it exists, and is not a state file, belongs to another version, or cannot be read and written.
    """
    if not os.path.lexists(path):
        return
    with state_errors(path), os.fdopen(open_state(path), "rb") as stream:
        line = stream.readline(MAX_HEADER_BYTES)
    if line.endswith(b"\n"):
        _checked_header(path, line)
    else:
        _check_beginning(path, line)


MAX_HEADER_BYTES = 2**24
"""Maximum size of the first line of a state file that is checked before the job is known."""


def _checked_header(path: Path, line: bytes) -> _Header:
    try:
        found = _decode_header(line)
    except MalformedError as error:
        raise _malformed(path, 1, str(error)) from None
    require_version(path, (found.format, found.suite), (STATE_FORMAT, suite_version()))
    return found


def _check_beginning(path: Path, line: bytes) -> None:
    """Check that an incomplete first line is the beginning of a header."""
    if not _HEADER_BEGINNING.startswith(line[: len(_HEADER_BEGINNING)]):
        raise _malformed(path, 1, "it is not JSON")


def _malformed(path: Path, line: int, reason: str) -> JobError:
    return JobError("malformed-state.line", path=path, line=line, reason=reason)


def require_number(number: int, count: int) -> None:
    """Check the number of a chunk of a job with `count` chunks.

    Raises:
        MalformedError: the job has no such chunk.
    """
    if number >= count:
        raise MalformedError(f"there is no chunk {number} of {count}")


class CpuTimeoutError(Exception):
    """A computation exceeded its limit of processor time."""

    def __init__(self) -> None:
        super().__init__("it takes more processor time than its limit")


_has_limit: ContextVar[bool] = ContextVar("_has_limit", default=False)


@contextmanager
def limit_cpu_time(seconds: float) -> Iterator[None]:
    """Stop the body of a `with` statement when it has used `seconds` of processor time.

    In the main thread a signal stops the body. Other threads receive no signals, so a second thread watches their
    clock. (The workers of Dask run chunks in threads.)

    Raises:
        CpuTimeoutError: the body exceeded the limit.
    """
    is_main = threading.current_thread() is threading.main_thread()
    token = _has_limit.set(True)
    try:
        with _limit_by_signal(seconds) if is_main else _limit_by_watcher(seconds):
            yield
    finally:
        _has_limit.reset(token)


MAX_EVALUATION_SECONDS = 60.0
"""Processor time of the expected values of a node or a model; after each that needs more, the next ones have less."""

_ended = Counter[str]()


@contextmanager
def limit_evaluation() -> Iterator[None]:
    """Limit the processor time in which the body of a `with` statement computes expected values.

    A body within another limit has that limit alone. After the nth body that was ended in this process, the limit is
    divided by n + 1: a model of many such nodes ends in minutes, too.

    Raises:
        Unsupported: the body exceeded the limit.
    """
    if _has_limit.get():
        yield
        return
    seconds = MAX_EVALUATION_SECONDS / (1 + _ended["evaluations"])
    try:
        with limit_cpu_time(seconds):
            yield
    except CpuTimeoutError:
        _ended["evaluations"] += 1
        raise Unsupported(f"its expected values take more than {seconds:.3g} s of processor time") from None


REPEAT_SIGNAL_SECONDS = 0.1
"""Processor time between two signals after the limit."""


@contextmanager
def _limit_by_signal(seconds: float) -> Iterator[None]:
    before = signal.signal(signal.SIGPROF, _raise_timeout)
    # The signal is repeated, because Python ignores an exception that is raised in a callback of its garbage collector.
    signal.setitimer(signal.ITIMER_PROF, seconds, REPEAT_SIGNAL_SECONDS)
    try:
        yield
    finally:
        try:
            signal.setitimer(signal.ITIMER_PROF, 0)
        finally:  # the signal can come just before the timer stops
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)


def _raise_timeout(*_: Any) -> None:
    raise CpuTimeoutError


@contextmanager
def _limit_by_watcher(seconds: float) -> Iterator[None]:
    watch = _CpuWatcher(threading.get_ident(), seconds)
    watch.start()
    has_come = False
    try:
        yield
    except CpuTimeoutError:
        has_come = True
        raise
    finally:
        if watch.end() and not has_come:
            _wait_for_timeout_error()


class _CpuWatcher(threading.Thread):
    """A thread that raises `CpuTimeoutError` in another thread when that thread has used its processor time."""

    def __init__(self, watched: int, seconds: float) -> None:
        super().__init__(daemon=True)
        self._watched = watched
        self._clock = _cpu_clock(watched)
        self._last = self._clock() + seconds
        self._over = threading.Event()
        self._raising = threading.Lock()
        self._has_raised = False

    def run(self) -> None:
        """Raise the error in the watched thread when its time is used up.

        The method sleeps for the remaining time, reads the clock of the thread, and repeats.
        """
        while (left := self._last - self._clock()) > 0:
            if self._over.wait(left):
                return
        with self._raising:
            if not self._over.is_set():
                self._has_raised = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(self._watched), ctypes.py_object(CpuTimeoutError)
                )

    def end(self) -> bool:
        """Stop watching, and return whether the error was raised. The watched thread calls this method."""
        with self._raising:
            self._over.set()
            return self._has_raised


def _wait_for_timeout_error() -> None:
    """Run Python code until the interpreter raises the pending `CpuTimeoutError` in this thread.

    The error is not cancelled: the interpreter would then check for a pending error forever.
    """
    while True:
        time.sleep(0)


def _cpu_clock(thread: int) -> Callable[[], float]:
    """Return a function that returns the processor time of a thread in seconds.

    On systems that do not measure it (macOS), the function returns wall time.
    """
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.monotonic
    return partial(time.clock_gettime, time.pthread_getcpuclockid(thread))
