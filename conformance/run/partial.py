"""A results file while it is written: under another name, by one run at a time, and each record whole."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from conformance.errors import UsageError
from conformance.files.regular import real_path
from conformance.results.file import line_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

PARTIAL = ".partial"
"""What the name of a results file ends in until it has a footer."""


def partial_of(target: Path) -> Path:
    """The file that a run writes until it has a footer."""
    return target.with_name(target.name + PARTIAL)


class PartialResults:
    """The file of one run, from before its first record until its footer gives it its name.

    Args:
        target: the results file that it is to become; a link is followed.

    Raises:
        UsageError: another run is writing it, or it cannot be written.
    """

    def __init__(self, target: Path) -> None:
        self._target = real_path(target)
        self._path = partial_of(self._target)
        with self._told():
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._descriptor)
            raise UsageError(
                f"Another run is writing {target}.", "Wait until it has ended, or name another file."
            ) from None
        self._is_kept = os.fstat(self._descriptor).st_size > 0
        """Whether what is there is another run's, to be continued one day."""

    def begin(self) -> None:
        """Leave nothing of an earlier run in it."""
        os.ftruncate(self._descriptor, 0)
        self._is_kept = False

    def go_on(self, source: Path, size: int) -> None:
        """Have it hold the first bytes of the run that is continued, and no more; it may be that run's own file."""
        with source.open("rb") as stream:
            if not os.path.samestat(os.fstat(stream.fileno()), os.fstat(self._descriptor)):
                os.ftruncate(self._descriptor, 0)
                while piece := stream.read(2**20):
                    self._append(piece)
        os.ftruncate(self._descriptor, size)
        self._is_kept = True

    def write(self, record: Mapping[str, Any]) -> None:
        """Append a record, whole: a run may be killed at any time, and continued."""
        self._append(line_of(record))

    def finish(self) -> None:
        """Give the file its name."""
        with self._told():
            self._path.replace(self._target)
        self._close()

    def abandon(self) -> None:
        """Leave no file of this run behind; what an earlier run left stays."""
        if self._descriptor >= 0:
            if not self._is_kept:
                self._path.unlink(missing_ok=True)
            self._close()

    def _append(self, content: bytes) -> None:
        rest = memoryview(content)
        with self._told():
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say in the user's words that the file cannot be written."""
        try:
            yield
        except OSError as error:
            raise UsageError(
                f"{self._target} cannot be written: {error.strerror}.", "Name another file, or make room."
            ) from None

    def _close(self) -> None:
        os.close(self._descriptor)
        self._descriptor = -1
