"""A job of numbered chunks, the workers that execute them, and the state file for resuming an interrupted job.

`run_job` yields the result of each chunk once: first the results in the state file, then new results when workers
finish chunks. A new result is written to the state file before it is yielded.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypedDict, cast

from conformance.errors import JobError
from conformance.files.atomic_write import NEW_FILE_MODE, real_path
from conformance.plugins import suite_version
from conformance.serialization.decoding import Count, JsonDecoder, MalformedError, NonEmpty

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path
    from types import TracebackType


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

    @property
    def identity(self) -> Mapping[str, Any]:
        """All data on which the results depend, as JSON. Jobs with equal identities have equal chunks and results."""

    @property
    def result_type(self) -> Any:
        """TypedDict of the result of a chunk; see `conformance.serialization.decoding`."""

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

    Args:
        job: the job.
        workers: the workers.
        state: the state file with earlier results of this job; new results are added to it before they are yielded.

    Raises:
        ConformanceError: the job cannot continue; all yielded results are in `state`.
    """
    finished = set()
    for chunk in state.chunks if state is not None else ():
        finished.add(chunk.number)
        yield chunk
    numbers = (number for number in job.chunk_numbers() if number not in finished)
    with closing(workers.run(job, numbers)) as results:  # type: ignore[type-var]
        for chunk in results:
            if chunk.number in finished:
                continue
            if state is not None:
                state.add(chunk)
            finished.add(chunk.number)
            yield chunk


STATE_FORMAT = 1
STATE_LIMIT_BYTES = 2**30
"""Size of the largest state file that is read."""


class _Header(TypedDict):
    """First line of a state file: it identifies the job."""

    record: Literal["job"]
    format: Count
    suite: NonEmpty
    job: dict[str, Any]


class JobState:
    """The state file of a job: a header, and one line per finished chunk.

    The file is locked as long as the object is open. An incomplete last line is removed.

    Args:
        path: path of the file; it is created if it does not exist.
        job: the job.

    Attributes:
        chunks: results in the file when it was opened, one per number.

    Raises:
        JobError: the file belongs to another job or version, is not a state file, cannot be written, or is in use.
    """

    def __init__(self, path: Path, job: Job) -> None:
        self._path, self._job = path, job
        self._decode_line = JsonDecoder(_chunk_line_type(job.result_type))
        self._descriptor = self._open()
        try:
            identity = json.loads(json.dumps(job.identity))  # as in a file, for comparison
            header = {"record": "job", "format": STATE_FORMAT, "suite": suite_version(), "job": identity}
            content = self._read_lines()
            if content:
                self._check_header(content[0], header)
            self.chunks = self._decode_chunks(content[1:])
            with self._report_os_errors():  # an incomplete last line is removed, after the lines before it are checked
                os.ftruncate(self._descriptor, sum(map(len, content)))
            if not content:
                self._append(header)
        except BaseException:
            os.close(self._descriptor)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def add(self, chunk: ChunkResult) -> None:
        """Append the result of a chunk to the file.

        Raises:
            JobError: the file cannot be written.
        """
        self._append({"record": "chunk", "number": chunk.number, "result": chunk.result})

    def _open(self) -> int:
        real = real_path(self._path)
        with self._report_os_errors():
            real.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
            descriptor = os.open(real, flags, NEW_FILE_MODE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise JobError(
                "state-in-use",
                f"{self._path} is in use by another job.",
                "Wait until the other job ends, or name another file.",
            ) from None
        return descriptor

    def _read_lines(self) -> list[bytes]:
        """Return the complete lines of the file, with their end-of-line characters."""
        with self._report_os_errors():
            status = os.fstat(self._descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise JobError(
                    "state-not-a-file", f"{self._path} is not a regular file.", "Name a file for the state of the job."
                )
            if status.st_size > STATE_LIMIT_BYTES:
                raise JobError(
                    "state-too-large",
                    f"{self._path} is larger than {STATE_LIMIT_BYTES} bytes.",
                    "Name the state file of a job.",
                )
            content = b"".join(iter(lambda: os.read(self._descriptor, 2**20), b""))
        whole = content.rfind(b"\n") + 1
        beginning = b'{"record": "job"'
        if content and not whole and not beginning.startswith(content[: len(beginning)]):
            raise self._malformed(1, "it is not JSON")
        return content[:whole].splitlines(keepends=True)

    def _check_header(self, line: bytes, header: Mapping[str, Any]) -> None:
        try:
            found = JsonDecoder(_Header)(line)
        except MalformedError as error:
            raise self._malformed(1, str(error)) from None
        if (found["format"], found["suite"]) != (header["format"], header["suite"]):
            raise JobError(
                "other-version",
                f"{self._path} was written by onnx-conformance {found['suite']}, and this is {header['suite']}.",
                "Continue with that version, or start again with another file.",
            )
        own, other = header["job"], found["job"]
        different = next((key for key in {**own, **other} if own.get(key) != other.get(key)), None)
        if different is not None:
            there, here = (json.dumps(job.get(different)) for job in (other, own))
            raise JobError(
                "other-job",
                f"{self._path} belongs to another job: there, {different} is {there}, here {here}.",
                "Give the options with which that job was started, or name another file.",
            )

    def _decode_chunks(self, lines: list[bytes]) -> tuple[ChunkResult, ...]:
        chunks: dict[int, ChunkResult] = {}
        for line_number, line in enumerate(lines, 2):
            try:
                found = self._decode_line(line)
                chunk = ChunkResult(found["number"], found["result"])
                self._job.check_result(chunk)
            except MalformedError as error:
                raise self._malformed(line_number, str(error)) from None
            chunks.setdefault(chunk.number, chunk)
        return tuple(chunks.values())

    def _append(self, record: Mapping[str, Any]) -> None:
        rest = memoryview(json.dumps(record).encode() + b"\n")
        with self._report_os_errors():
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]

    def _malformed(self, line: int, reason: str) -> JobError:
        return JobError(
            "malformed-state",
            f"{self._path} is not the state file of a job: line {line}: {reason}.",
            "Name another file.",
        )

    @contextmanager
    def _report_os_errors(self) -> Iterator[None]:
        """Raise a JobError in place of an OSError."""
        try:
            yield
        except OSError as error:
            raise JobError(
                "state-unusable",
                f"{self._path} cannot be read and written: {error.strerror}.",
                "Name another file, or free some space.",
            ) from None


def require_number(number: int, count: int) -> None:
    """Check the number of a chunk of a job with `count` chunks.

    Raises:
        MalformedError: the job has no such chunk.
    """
    if number >= count:
        raise MalformedError(f"there is no chunk {number} of {count}")


def _chunk_line_type(result_type: Any) -> Any:
    """Return the TypedDict of a line with the result of a chunk, for decoding."""
    fields = {"record": Literal["chunk"], "number": Count, "result": result_type}
    return cast("Any", TypedDict)("ChunkLine", fields)
