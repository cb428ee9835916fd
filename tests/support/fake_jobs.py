"""Jobs for tests, named for what they do; worker processes can import them."""

from __future__ import annotations

import itertools
import os
import signal
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

from conformance.base.errors import SubjectError
from conformance.base.jobs.job import ChunkResult, require_number
from conformance.base.serialization.decoding import MalformedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Square(Struct):
    """Result of a chunk."""

    square: int


@dataclass(frozen=True)
class Squares:
    """Computes the square of the chunk's number."""

    result_type: ClassVar[Any] = Square

    count: int = 20

    @property
    def identity(self) -> dict[str, Any]:
        return {"job": "squares", "count": self.count}

    def chunk_numbers(self) -> Iterable[int]:
        return range(self.count)

    def check_result(self, chunk: ChunkResult) -> None:
        require_number(chunk.number, self.count)
        if chunk.result.square != chunk.number**2:
            raise MalformedError("it is the square of another number")

    @contextmanager
    def open(self) -> Iterator[Callable[[int], Square]]:
        yield self.run_chunk

    def run_chunk(self, number: int) -> Square:
        return Square(number**2)


@dataclass(frozen=True)
class DiesOnce(Squares):
    """Kills its process on chunk 3, the first time."""

    marker: str = ""

    def run_chunk(self, number: int) -> Square:
        if number == 3 and not Path(self.marker).exists():
            Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().run_chunk(number)


class AlwaysDies(Squares):
    """Kills its process on chunk 3, every time."""

    def run_chunk(self, number: int) -> Square:
        if number == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().run_chunk(number)


class WithoutSubject(Squares):
    """Raises an error when it is opened."""

    @contextmanager
    def open(self) -> Iterator[Callable[[int], Square]]:
        raise SubjectError("import-failed", "There is no backend nonsuch.", "Install it.")
        yield self.run_chunk


class Faulty(Squares):
    """Divides by zero at chunk 3."""

    def run_chunk(self, number: int) -> Square:
        return Square(number**2 if number != 3 else number // 0)


@dataclass(frozen=True)
class Sleeps(Squares):
    """Creates a file named after its process, and sleeps longer than any test."""

    folder: str = ""

    def run_chunk(self, number: int) -> Square:
        Path(self.folder, str(os.getpid())).touch()
        time.sleep(600)
        return super().run_chunk(number)


class Endless(Squares):
    """Has infinitely many chunks."""

    def check_result(self, chunk: ChunkResult) -> None:
        super().check_result(ChunkResult(0, Square(chunk.result.square - chunk.number**2)))

    def chunk_numbers(self) -> Iterable[int]:
        return itertools.count()


class GivenUp(Squares):
    """Raises on chunk 3 the error of a Dask scheduler on whose chunk too many workers died."""

    def run_chunk(self, number: int) -> Square:
        if number == 3:
            from distributed import KilledWorker, get_worker

            raise KilledWorker(get_worker().get_current_task(), SimpleNamespace(address="tcp://gone"), 3)
        return super().run_chunk(number)


@dataclass(frozen=True)
class DiesOnceInJob:
    """Executes another job, and kills its process on the last chunk, the first time."""

    job: Any
    marker: str

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "job"), name)

    @contextmanager
    def open(self) -> Iterator[Callable[[int], Any]]:
        last = max(self.job.chunk_numbers())
        with self.job.open() as run_chunk:

            def run_or_die(number: int) -> Any:
                if number == last and not Path(self.marker).exists():
                    Path(self.marker).touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                return run_chunk(number)

            yield run_or_die


def send_blocked_signals(connection: Any) -> None:
    """Send the numbers of the signals that are blocked in a new worker."""
    connection.send(sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, ()))))
