"""State that a later command continues: it is opened without following links, locked, and read in bounded memory.

Somebody else may have written a state. A state is therefore a regular file with one name and a bounded size; links,
pipes and devices are refused before they are opened. A state never chooses what is executed. `Journal` is a state of
lines that grows at its end; an interruption leaves at most one incomplete last line. Large values are files named by
the digest of their content. docs/reference/formats.md has the rules for users.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import mmap
import os
import re
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from conformance.base.errors import JobError
from conformance.base.files.atomic_write import NEW_FILE_MODE, write_all
from conformance.base.serialization.printable_text import shorten_end

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

MAX_STATE_BYTES = 2**30
"""Maximum size of a state file."""

MAX_LINE_BYTES = 2**26
"""Maximum size of a line of a state."""

MAX_SHOWN_CHARACTERS = 200
"""Characters of a value that an error shows."""

MAX_READ_BYTES = 2**16
"""Maximum size of a file named by digest that is read and not mapped into memory."""

_BLOCK_BYTES = 2**20
_DIGEST = re.compile("[0-9a-f]{64}")


class UnsafeState(OSError):
    """A file or folder cannot be a state, or another process uses it. `strerror` is the reason, for users.

    Args:
        number: the nearest error number of the system.
        name: the name of the error that users see: `linked`.
        reason: the reason as a clause.

    Attributes:
        name: the name of the error that users see.
    """

    def __init__(self, number: int, name: str, reason: str) -> None:
        super().__init__(number, reason)
        self.name = name


def open_state(path: Path, flags: int = os.O_RDONLY, largest: int = MAX_STATE_BYTES) -> int:
    """Open a state file, and return its descriptor.

    Args:
        path: the path; with `os.O_CREAT` in the flags, the file and its folder are created if they do not exist.
        flags: the flags of `os.open`.
        largest: maximum size in bytes.

    Raises:
        UnsafeState: it is a link, a pipe, a device or a directory, has another name, or is too large.
        OSError: it cannot be opened.
    """
    if flags & os.O_CREAT:
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            _require_plain_file(path.lstat(), largest)
    else:
        _require_plain_file(path.lstat(), largest)
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, NEW_FILE_MODE)
    try:
        _require_plain_file(os.fstat(descriptor), largest)  # it may have been replaced meanwhile
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _require_plain_file(status: os.stat_result, largest: int) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise UnsafeState(errno.ELOOP, "linked", "it is a symbolic link")
    if not stat.S_ISREG(status.st_mode):
        raise UnsafeState(errno.EINVAL, "not-a-file", "it is not a regular file")
    if status.st_nlink > 1:
        raise UnsafeState(errno.EMLINK, "linked", "it is a hard link: the file has other names")
    if status.st_size > largest:
        raise UnsafeState(errno.EFBIG, "too-large", f"it is larger than {largest} bytes")


def lock_state(descriptor: int) -> None:
    """Lock a state file as long as its descriptor, or a copy of it in another process, is open.

    Raises:
        UnsafeState: another process has locked it.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UnsafeState(errno.EWOULDBLOCK, "in-use", "another process uses it") from None


def read_state(path: Path, largest: int = MAX_STATE_BYTES) -> bytes:
    """Return the content of a small state file.

    Raises:
        OSError: it cannot be read, or `open_state` refuses it.
    """
    with os.fdopen(open_state(path, largest=largest), "rb") as stream:
        return stream.read()


def require_no_link(path: Path) -> None:
    """Check that a path is not a link; it may be missing.

    Raises:
        UnsafeState: it is a link.
    """
    if path.is_symlink():
        raise UnsafeState(errno.ELOOP, "linked", f"{path} is a symbolic link")


def require_state_folder(root: Path, *parts: str) -> Path:
    """Return a folder of a state; no part of the path below the root, and not the root itself, may be a link.

    Missing folders are not created.

    Raises:
        UnsafeState: a part is a link, or is not a folder.
    """
    folder = root
    for part in ("", *parts):
        folder = folder / part
        try:
            mode = folder.lstat().st_mode
        except FileNotFoundError:
            continue
        require_no_link(folder)
        if not stat.S_ISDIR(mode):
            raise UnsafeState(errno.ENOTDIR, "not-a-folder", f"{folder} is not a folder")
    return folder


@contextmanager
def state_errors(path: Path) -> Iterator[None]:
    """Raise a `JobError` that names the state in place of an `OSError`."""
    try:
        yield
    except UnsafeState as error:
        raise JobError(f"state-{error.name}", path=path, reason=error.strerror) from None
    except OSError as error:
        raise JobError("state-unusable", path=path, reason=error.strerror) from None


def require_identity(path: Path | str, found: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Check that a state belongs to the command that continues it.

    Args:
        path: the state, or words for it, for the message.
        found: everything on which the results depend, as in the state.
        own: the same of the command.

    Raises:
        JobError: it belongs to another command; the message has the first difference.
    """
    if difference := first_difference(found, own):
        raise JobError("other-job", path=path, difference=difference)


def first_difference(found: Mapping[str, Any], own: Mapping[str, Any]) -> str:
    """Return the first difference between a state and the command that continues it; empty if there is none."""
    different = next((key for key in {**own, **found} if own.get(key) != found.get(key)), None)
    if different is None:
        return ""
    values = [json.dumps(to_builtins(each.get(different)), ensure_ascii=False) for each in (found, own)]
    there, here = (shorten_end(value, MAX_SHOWN_CHARACTERS) for value in values)
    return f"{different} is {there} there, and {here} here"


def require_version(path: Path, found: tuple[int, str], own: tuple[int, str]) -> None:
    """Check that this version of the suite can continue a state.

    Args:
        path: the state, for the message.
        found: its format and the version of the suite that wrote it.
        own: the format and the version of this suite.

    Raises:
        JobError: another format or version has written it.
    """
    if found == own:
        return
    (version, suite) = found
    (own_version, own_suite) = own
    raise JobError(
        "other-version", path=path, version=version, suite=suite, own_version=own_version, own_suite=own_suite
    )


class Journal:
    """A state of lines, which is locked as long as it is open.

    Args:
        path: its path; it is created if it does not exist.

    Attributes:
        path: its path.
        descriptor: its file descriptor.

    Raises:
        OSError: it cannot be opened, is not a plain file, or another process uses it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.descriptor = open_state(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            lock_state(self.descriptor)
        except BaseException:
            self.close()
            raise

    @property
    def size(self) -> int:
        """Size in bytes, with an incomplete last line."""
        return os.fstat(self.descriptor).st_size

    def lines(self) -> Iterator[bytes]:
        """Yield the complete lines with their ends, and then an incomplete last line. One line is in memory at a time.

        Raises:
            UnsafeState: a line is too large.
        """
        rest = bytearray()
        position = 0
        while block := os.pread(self.descriptor, _BLOCK_BYTES, position):
            position += len(block)
            start = 0
            while end := block.find(b"\n", start) + 1:
                yield bytes(rest) + block[start:end]
                rest.clear()
                start = end
            rest += block[start:]
            if len(rest) > MAX_LINE_BYTES:
                raise UnsafeState(errno.EFBIG, "too-large", f"a line is larger than {MAX_LINE_BYTES} bytes")
        if rest:
            yield bytes(rest)

    def cut(self, size: int) -> None:
        """Remove everything after the first `size` bytes."""
        os.ftruncate(self.descriptor, size)

    def append(self, content: bytes) -> None:
        """Write at the end.

        Raises:
            OSError: the disk is full.
        """
        write_all(self.descriptor, content)

    def close(self) -> None:
        """Close the file, which releases the lock."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1


def write_blob(folder: Path, content: bytes | memoryview) -> str:
    """Write content to a file that has the digest of the content as its name, and return the digest.

    An interruption can leave an incomplete file; the caller renames the folder when it is complete.

    Raises:
        OSError: the folder cannot be written.
    """
    digest = hashlib.sha256(content).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError), (folder / digest).open("xb") as stream:
        stream.write(content)
    return digest


def open_blob(folder: Path, digest: str, size: int) -> memoryview:
    """Return the content with a digest, after a comparison with the digest.

    Large content is mapped into memory, which needs a file descriptor as long as it is used.

    Args:
        folder: the folder of `write_blob`.
        digest: the digest.
        size: the size that the content must have.

    Raises:
        OSError: the file cannot be read, or `open_state` refuses it.
        ValueError: the file has other content.
    """
    if not _DIGEST.fullmatch(digest):
        raise ValueError("a digest is not hexadecimal")
    descriptor = open_state(folder / digest, largest=size)
    try:
        if os.fstat(descriptor).st_size != size:
            raise ValueError(f"{digest} is incomplete")
        if size > MAX_READ_BYTES:
            content = memoryview(mmap.mmap(descriptor, size, access=mmap.ACCESS_READ))
        else:
            content = memoryview(os.read(descriptor, size))
    finally:
        os.close(descriptor)
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError(f"{digest} has other content than its name says")
    return content
