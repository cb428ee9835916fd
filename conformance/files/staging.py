"""Files that are being written, under names of their own beside what they become; whose writer was killed is removed.

A writer holds a lock on its file for as long as it lives. Whoever writes into the same folder next removes the files
that nobody holds: they are left where a writer was killed, and by nothing else.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator

STAGING = ".onnx-conformance-"
"""What the name of a file begins with until it is whole."""

_SUFFIX = ".part"


@contextmanager
def staged(folder: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """A new file to write and then to rename; removed where that fails.

    Raises:
        OSError: it cannot be made.
    """
    _sweep(folder)
    stream, path = _made(folder)
    with stream:
        try:
            yield stream, path
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def _made(folder: Path) -> tuple[BinaryIO, Path]:
    """A file with a lock on it: another one where somebody took it for left behind, before it was locked."""
    while True:
        descriptor, name = tempfile.mkstemp(prefix=STAGING, suffix=_SUFFIX, dir=folder)
        stream = os.fdopen(descriptor, "wb")
        with suppress(OSError):  # a file system without locks: whoever writes there next leaves such files alone, too
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return stream, Path(name)
        stream.close()


def _sweep(folder: Path) -> None:
    """Remove the files whose writers are no more."""
    for path in folder.glob(f"{STAGING}*{_SUFFIX}"):
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as stream:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
