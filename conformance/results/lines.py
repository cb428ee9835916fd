"""The lines of a results file: read once in order, in bounded memory, and again one by one as they are asked for."""

from __future__ import annotations

import gzip
import os
import tempfile
import weakref
import zlib
from array import array
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, BinaryIO

from conformance.errors import ResultsError
from conformance.files.regular import PACKED, STANDARD_INPUT, open_input

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LARGEST_FILE = 2**30
"""Bytes of a results file, unpacked."""

LONGEST_LINE = 2**24
"""Bytes of one record."""

_MEND = "Give the results.jsonl that `onnx-conformance run` wrote."


class Lines:
    """A results file as lines; one that gzip has packed, and standard input, lie in an unnamed file meanwhile."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._starts = array("Q", [0])
        self._descriptor = -1

    def __len__(self) -> int:
        """How many have been read."""
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> bytes:
        """A line that was read before, by its number from 0."""
        start = self._starts[number]
        return os.pread(self._descriptor, self._starts[number + 1] - start, start)

    def __iter__(self) -> Iterator[bytes]:
        """All of them, from the first; once.

        Raises:
            ResultsError: the file cannot be read or unpacked, or is larger, or has a longer line, than is allowed.
        """
        with self._opened() as stream, ExitStack() as stack:
            packed = self.path.suffix == PACKED
            source = stack.enter_context(gzip.GzipFile(fileobj=stream)) if packed else stream
            passing = packed or self.path == STANDARD_INPUT
            kept = stack.enter_context(tempfile.TemporaryFile()) if passing else stream
            self._keep(kept)
            while line := self._next(source):
                if passing:
                    kept.write(line)
                self._starts.append(self._starts[-1] + len(line))
                yield line

    def _opened(self) -> BinaryIO:
        try:
            return open_input(self.path)
        except OSError as error:
            raise ResultsError(f"{self.path} is not a file that can be read: {error.strerror}.", _MEND) from None

    def _keep(self, stream: IO[bytes]) -> None:
        """Have the file for as long as its lines are asked for."""
        self._descriptor = os.dup(stream.fileno())
        weakref.finalize(self, os.close, self._descriptor)

    def _next(self, source: IO[bytes] | gzip.GzipFile) -> bytes:
        try:
            line = source.readline(LONGEST_LINE + 1)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise ResultsError(
                f"{self.path} is not a results file of this suite: it cannot be unpacked ({error}).", _MEND
            ) from None
        if len(line) > LONGEST_LINE:
            raise self._larger(f"Line {len(self) + 1} of {self.path}", LONGEST_LINE)
        if self._starts[-1] + len(line) > LARGEST_FILE:
            raise self._larger(str(self.path), LARGEST_FILE)
        return line

    def _larger(self, what: str, limit: int) -> ResultsError:
        return ResultsError(f"{what} is larger than {limit} bytes.", "Split the run with -k, or give another file.")
