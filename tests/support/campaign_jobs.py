"""Jobs for tests of campaigns, named for what they do; importable where workers do pieces."""

from __future__ import annotations

import itertools
import os
import signal
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypedDict

from conformance.errors import SubjectError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Square(TypedDict):
    """What a piece comes to."""

    square: int


@dataclass(frozen=True)
class Squares:
    """Piece n is n squared."""

    count: int = 20

    @property
    def identity(self) -> dict[str, Any]:
        return {"job": "squares", "count": self.count}

    @property
    def result(self) -> Any:
        return Square

    def pieces(self) -> Iterable[int]:
        return range(self.count)

    @contextmanager
    def opened(self) -> Iterator[Callable[[int], Square]]:
        yield self.piece

    def piece(self, number: int) -> Square:
        return {"square": number**2}


@dataclass(frozen=True)
class DiesOnce(Squares):
    """Kills the process that does piece 3, the first time."""

    marker: str = ""

    def piece(self, number: int) -> Square:
        if number == 3 and not Path(self.marker).exists():
            Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().piece(number)


class AlwaysDies(Squares):
    """Kills every process that does piece 3."""

    def piece(self, number: int) -> Square:
        if number == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().piece(number)


class WithoutSubject(Squares):
    """Cannot be opened."""

    @contextmanager
    def opened(self) -> Iterator[Callable[[int], Square]]:
        raise SubjectError("There is no backend nonsuch.", "Install it.")
        yield self.piece


class Faulty(Squares):
    """Divides by zero at piece 3."""

    def piece(self, number: int) -> Square:
        return {"square": number // (number - 3)}


@dataclass(frozen=True)
class Sleeps(Squares):
    """Writes its process's number down, and then takes longer than any test."""

    folder: str = ""

    def piece(self, number: int) -> Square:
        Path(self.folder, str(os.getpid())).touch()
        time.sleep(600)
        return super().piece(number)


class Endless(Squares):
    """Has no last piece."""

    def pieces(self) -> Iterable[int]:
        return itertools.count()


class GivenUp(Squares):
    """Ends at piece 3 as Dask's scheduler says that workers died of it too often."""

    def piece(self, number: int) -> Square:
        if number == 3:
            from distributed import KilledWorker, get_worker

            raise KilledWorker(get_worker().get_current_task(), SimpleNamespace(address="tcp://gone"), 3)
        return super().piece(number)
