"""Files that are written whole or not at all, and targets that are refused before any work is done for them.

`-`, and any other name of standard output, is standard output. What is there and is no regular file (a pipe, a device)
is written in place, and links are followed: what a name means is never replaced by something else.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from conformance.errors import UsageError
from conformance.files.staging import staged

if TYPE_CHECKING:
    from collections.abc import Iterable

STANDARD_OUTPUT = Path("-")
STANDARD_INPUT = Path("-")

_PIECE = 2**20

PACKED = ".gz"
"""What the name of a file ends in that gzip has packed."""


def is_standard_output(target: Path) -> bool:
    """Whether a target is standard output: by `-`, by a name such as `/dev/stdout`, or as the file that it goes to."""
    if target == STANDARD_OUTPUT:
        return True
    try:
        return os.path.samestat(target.stat(), os.fstat(1))
    except OSError:
        return False


def real_path(target: Path) -> Path:
    """What a name means: links are followed, also one to a file that is not there yet."""
    return Path(os.path.realpath(target))


def check_results_target(target: Path) -> None:
    """Make sure that a run's results can be written there.

    Raises:
        UsageError: they cannot, or it is no regular file: results are written under another name until they are whole.
    """
    if target.suffix == PACKED:
        raise UsageError(f"{target} would be read as packed.", f"Leave {PACKED} out, and pack the file afterwards.")
    if is_standard_output(target) or (_is_special(target) and not target.is_dir()):
        raise UsageError(f"{target} is no regular file.", "Name a file for the results; a report may go anywhere.")
    check_target(target)


def check_target(target: Path) -> None:
    """Make sure that a file can be written there, and make its folder.

    Raises:
        UsageError: it cannot.
    """
    if is_standard_output(target):
        return
    if target.is_dir():
        raise UsageError(f"{target} is a directory.", "Name a file to write.")
    if _is_special(target):
        if not os.access(target, os.W_OK):
            raise UsageError(f"{target} cannot be written.", "Name another file.")
        return
    folder = real_path(target).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}.", "Name another file.") from None
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{target} cannot be written: its folder is read-only.", "Name another file.")


def read_regular(path: str | Path, largest: int) -> bytes:
    """A regular file's bytes, and no more of them than are allowed.

    A corpus has tens of thousands of files, so each takes few calls of the system and no more memory than it has bytes.

    Raises:
        OSError: it cannot be read, is larger, or is a link, a pipe, a device or a directory.
    """
    descriptor, size = _opened(path, os.O_NOFOLLOW)
    try:
        if size > largest:
            raise OSError(errno.EFBIG, f"it is larger than {largest} bytes")
        content = os.read(descriptor, size)
        while len(content) < size and (more := os.read(descriptor, size - len(content))):
            content += more
        return content
    finally:
        os.close(descriptor)


def read_regular_into(path: str | Path, memory: memoryview) -> int:
    """Read a regular file into memory that is there already, without another copy of it.

    Returns:
        how many bytes the file has; as many of them are read as fit.

    Raises:
        OSError: it cannot be read, or is a link, a pipe, a device or a directory.
    """
    descriptor, _ = _opened(path, os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb", buffering=0) as stream:
        rest = memory
        while rest and (read := stream.readinto(rest)):
            rest = rest[read:]
        return os.fstat(descriptor).st_size


def open_input(path: Path) -> BinaryIO:
    """What a user names to be read: a regular file, through links, or standard input as `-`.

    Raises:
        OSError: it cannot be read, or is a pipe, a device or a directory.
    """
    if path == STANDARD_INPUT:
        return open(os.dup(0), "rb")  # noqa: PTH123 - it is open already
    descriptor, _ = _opened(path)
    return os.fdopen(descriptor, "rb")


def read_input(path: Path, largest: int) -> bytes:
    """What a user names to be read, and no more of it than is allowed; see `open_input`.

    Raises:
        OSError: it cannot be read, or is larger.
    """
    with open_input(path) as stream:
        content = bytearray()
        while piece := stream.read(_PIECE):
            content += piece
            if len(content) > largest:
                raise OSError(errno.EFBIG, f"it is larger than {largest} bytes")
    return bytes(content)


def _opened(path: str | Path, flags: int = 0) -> tuple[int, int]:
    """The descriptor of a regular file and how many bytes it has; what is none is never waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    told = os.fstat(descriptor)
    if not stat.S_ISREG(told.st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file")
    return descriptor, told.st_size


def check_apart(targets: list[Path]) -> None:
    """Make sure that no two outputs of a command are one file.

    Raises:
        UsageError: two are.
    """
    known: dict[Path, Path] = {}
    for target in targets:
        real = STANDARD_OUTPUT if is_standard_output(target) else real_path(target)
        if real in known:
            also = "" if known[real] == target else f", which {known[real]} is too"
            raise UsageError(f"Two outputs go to {target}{also}.", "Give each a file of its own.")
        known[real] = target


def write_whole(target: Path, text: str) -> None:
    """Write a text in one step: the file is there whole or not at all; see `write_pieces`."""
    write_pieces(target, [text.encode()])


def write_whole_bytes(target: Path, content: bytes) -> None:
    """Write a file in one step: it is there whole or not at all; see `write_pieces`."""
    write_pieces(target, [content])


def write_pieces(target: Path, pieces: Iterable[bytes]) -> None:
    """Write a file piece by piece, so that it is there whole or not at all.

    Standard output, and what is there and is no regular file, are written as they are.

    Raises:
        UsageError: it cannot be written there.
    """
    check_target(target)
    try:
        _write(target, pieces)
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}.", "Name another file, or make room.") from None


def _write(target: Path, pieces: Iterable[bytes]) -> None:
    if is_standard_output(target):
        sys.stdout.flush()
        sys.stdout.buffer.writelines(pieces)
        sys.stdout.buffer.flush()
    elif _is_special(target):
        with suppress(BrokenPipeError), target.open("wb", buffering=0) as stream:  # a reader may stop when it likes
            for piece in pieces:
                _write_all(stream.fileno(), piece)
    else:
        _replace(real_path(target), pieces)


def _is_special(target: Path) -> bool:
    """Whether something is there that is no regular file."""
    try:
        return not stat.S_ISREG(target.stat().st_mode)
    except OSError:
        return False


def _replace(target: Path, pieces: Iterable[bytes]) -> None:
    """Put a regular file in its place, with the permissions that it had."""
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o644
    with staged(target.parent) as (stream, scratch):
        stream.writelines(pieces)
        stream.flush()
        scratch.chmod(mode)
        scratch.replace(target)


def _write_all(descriptor: int, content: bytes) -> None:
    """Write all to what may take it in parts."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
