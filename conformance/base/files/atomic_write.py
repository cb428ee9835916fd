"""Read regular files, and write files and folders atomically: the target has its old or its new content, complete.

A file is written under a temporary name in the target's folder and then renamed. The writer holds a lock on the
temporary file. A killed process leaves a temporary file without a lock, which the next writer in the folder removes.
Readers reject pipes, devices and directories without waiting for them, and files that are too large. `deferred_signals`
delays interruptions during writes that belong together. A temporary folder is removed even if the process is killed; a
new folder is filled under a temporary name. `find_suite_path` finds the files of the suite itself.
"""

from __future__ import annotations

import errno
import fcntl
import io
import os
import secrets
import signal
import stat
import struct
import sys
import threading
import zlib
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, BinaryIO

from conformance.base.errors import StorageError, UsageError
from conformance.base.processes.start import end_sweeper, start_sweeper
from conformance.base.serialization.decoding import encode_document

if TYPE_CHECKING:
    import zipfile
    from collections.abc import Iterable, Iterator, Mapping
    from io import BufferedReader
    from types import FrameType


TEMPORARY_PREFIX = ".onnx-conformance-"
"""Prefix of the names of temporary files."""

_TEMPORARY_SUFFIX = ".part"


NEW_FILE_MODE = 0o666
"""Permissions of a new file, from which the system removes those in the user's umask."""


@contextmanager
def open_temporary_file(folder: Path, mode: int = NEW_FILE_MODE) -> Iterator[tuple[BinaryIO, Path]]:
    """Create a temporary file and yield it with its path; the caller writes and renames the file.

    If the block raises an error, the file is removed.

    Args:
        folder: directory in which it is created.
        mode: permissions, from which the user's umask is removed.

    Raises:
        OSError: the file cannot be created.
    """
    _remove_abandoned_files(folder)
    stream, path = _create_locked_file(folder, mode)
    with stream:
        try:
            yield stream, path
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def _create_locked_file(folder: Path, mode: int) -> tuple[BinaryIO, Path]:
    """Create and lock a temporary file; repeat if another writer removed the file before it was locked."""
    while True:
        path = folder / f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}{_TEMPORARY_SUFFIX}"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        stream = os.fdopen(descriptor, "wb")
        with suppress(OSError):  # a file system without locks: other writers cannot lock the file either, and keep it
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return stream, path
        stream.close()


def _remove_abandoned_files(folder: Path) -> None:
    """Remove temporary files whose writers have ended."""
    for path in folder.glob(f"{TEMPORARY_PREFIX}*{_TEMPORARY_SUFFIX}"):
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as stream:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()


STANDARD_OUTPUT = Path("-")
STANDARD_INPUT = Path("-")

_READ_SIZE = 2**16

GZIP_SUFFIX = ".gz"
"""Suffix of files that gzip packed."""


MAX_GZIP_MEMBERS = 2**16
"""Maximum number of parts of a packed file; tools that pack a file in parts write one for 64 KiB or more."""

_PACKED_CHUNK_BYTES = 2**14


def unpack_gzip(source: BinaryIO) -> BinaryIO:
    """Return a stream with the content of a stream that gzip packed.

    The module of Python reads the header of a part byte by byte, which takes long for a header of many megabytes.

    Reading raises `OSError` for too many parts, `EOFError` for a truncated part, and `zlib.error` for a damaged part.
    """
    return io.BufferedReader(_GzipStream(source), _READ_SIZE)


class _GzipStream(io.RawIOBase):
    """The raw stream of `unpack_gzip`."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._decoder = zlib.decompressobj(zlib.MAX_WBITS + 16)
        self._packed = b""
        self._members = 0
        self._is_within = True  # an empty file is truncated

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        unpacked = b""
        while not unpacked:
            self._packed = self._packed or self._source.read(_PACKED_CHUNK_BYTES)
            if not self._is_within:
                self._packed = self._packed.lstrip(b"\0")  # padding
            if not self._packed:
                break
            self._is_within = True
            unpacked = self._decoder.decompress(self._packed, len(buffer))
            self._packed = self._decoder.unconsumed_tail
            if self._decoder.eof:
                self._next_member()
        if not unpacked and self._is_within:
            raise EOFError("it ends before the end of its packed content")
        buffer[: len(unpacked)] = unpacked
        return len(unpacked)

    def _next_member(self) -> None:
        self._packed = self._decoder.unused_data
        self._decoder = zlib.decompressobj(zlib.MAX_WBITS + 16)
        self._members += 1
        self._is_within = False
        if self._members >= MAX_GZIP_MEMBERS:
            raise OSError(errno.EFBIG, f"it has more than {MAX_GZIP_MEMBERS} packed parts")


def open_standard_streams() -> None:
    """Open `/dev/null` as each standard stream that is closed.

    Otherwise, the next file or pipe that is opened gets the number of the stream, and a child takes it for its input or
    output.
    """
    for descriptor, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, flags)  # the lowest free number, and so that of the stream
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
            os.set_inheritable(descriptor, True)
    sys.stdin = sys.stdin or _text_stream(0, "r")
    sys.stdout = sys.stdout or _text_stream(1, "w")
    sys.stderr = sys.stderr or _text_stream(2, "w")


def _text_stream(descriptor: int, mode: str) -> Any:
    return open(descriptor, mode, errors="backslashreplace", closefd=False)


def is_standard_output(target: Path) -> bool:
    """Return whether a path is `-`, `/dev/stdout`, or the file to which standard output is redirected."""
    if target == STANDARD_OUTPUT:
        return True
    try:
        return os.path.samestat(target.stat(), os.fstat(1))
    except OSError:
        return False


def real_path(target: Path) -> Path:
    """Return the path with all symbolic links resolved, also if the file does not exist yet."""
    return Path(os.path.realpath(target))


def check_results_target(target: Path) -> None:
    """Check that the results of a run can be written to a path.

    Raises:
        UsageError: the path cannot be written, or is not a regular file (results are written to a temporary file that
            is renamed).
    """
    if target.suffix == GZIP_SUFFIX:
        raise UsageError("results-target-packed", target=target, suffix=GZIP_SUFFIX)
    if is_standard_output(target) or (_is_special(target) and not target.is_dir()):
        raise UsageError("results-target-not-regular", target=target)
    check_writable(target)
    check_target(target)


def check_target(target: Path) -> None:
    """Check that a file can be written, and create its folder.

    Raises:
        UsageError: the file cannot be written.
    """
    if is_standard_output(target):
        return
    if target.is_dir():
        raise UsageError("target-is-directory", target=target)
    if _is_special(target):
        if not os.access(target, os.W_OK):
            raise UsageError("target-not-writable", target=target, reason="permission denied")
        return
    folder = real_path(target).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError("target-not-writable", target=target, reason=error.strerror) from None
    if not os.access(folder, os.W_OK):
        raise UsageError("target-not-writable", target=target, reason="its folder is read-only")


def check_writable(target: Path, *, is_folder: bool = False) -> None:
    """Check that a file or folder can be written, without a trace; a folder on its way may be missing.

    A temporary file is created in the nearest folder that exists, because permissions do not show everything. A file in
    place of a folder is not examined.

    Raises:
        UsageError: it cannot be written.
    """
    if not is_folder:
        if is_standard_output(target):
            return
        if target.is_dir() or _is_special(target):
            check_target(target)
            return
    whole = target.absolute() if is_folder else real_path(target)
    places = (whole, *whole.parents) if is_folder and whole.is_dir() else whole.parents
    nearest = next((each for each in places if os.path.lexists(each)), whole)  # the root has no parents
    try:
        with deferred_signals(), open_temporary_file(nearest) as (_, path):
            path.unlink()
    except OSError as error:
        raise UsageError("target-not-writable", target=target, reason=error.strerror) from None


@contextmanager
def named_errors(target: Path) -> Iterator[None]:
    """Give each error of the file system in the block the name of the target, and not that of a temporary file."""
    try:
        yield
    except OSError as error:
        error.filename = str(target)
        raise


_STORAGE_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO}
"""Errors for which a file system, and not a single file, is the reason."""


@contextmanager
def storage_errors(path: str | Path) -> Iterator[None]:
    """Raise a StorageError if the block cannot write the temporary file `path` because of its file system."""
    try:
        yield
    except OSError as error:
        if error.errno not in _STORAGE_ERRORS:
            raise
        raise StorageError("temporary-file", path=path, reason=error.strerror or error) from None


def read_regular(path: str | Path, largest: int) -> bytes:
    """Return the content of a regular file with few system calls, because a corpus has tens of thousands of files.

    Args:
        largest: maximum size in bytes.

    Raises:
        OSError: the file cannot be read, is too large, or is a link, a pipe, a device or a directory.
    """
    descriptor, size = _open_regular(path, os.O_NOFOLLOW)
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
    """Read a regular file into existing memory, without another copy.

    Returns:
        Size of the file in bytes. If the file is larger than the memory, only the part that fits is read.

    Raises:
        OSError: the file cannot be read, or is a link, a pipe, a device or a directory.
    """
    descriptor, _ = _open_regular(path, os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb", buffering=0) as stream:
        rest = memory
        while rest and (read := stream.readinto(rest)):
            rest = rest[read:]
        return os.fstat(descriptor).st_size


def open_input(path: Path) -> BufferedReader:
    """Open an input of a command: a regular file, or `-` for standard input. Links are followed.

    Raises:
        OSError: the file cannot be read, or is a pipe, a device or a directory.
    """
    if path == STANDARD_INPUT:
        return open(os.dup(0), "rb")  # noqa: PTH123 - a descriptor, not a path
    descriptor, _ = _open_regular(path)
    return os.fdopen(descriptor, "rb")


def open_below(folder: Path, location: str | Path) -> BufferedReader:
    """Open a regular file below a folder that somebody else may have filled. Links below the folder are not followed.

    Args:
        folder: the folder; it may be a link.
        location: the path relative to the folder.

    Raises:
        OSError: the path leaves the folder, a part of it is a link, or the file cannot be read, or is a pipe, a device
            or a directory.
    """
    parts = PurePosixPath(location).parts
    if not parts or parts[0] == "/" or ".." in parts or "\0" in str(location):
        raise OSError(errno.EINVAL, f"{str(location)!r} is not a path below its folder")
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            inner = _open_part(part, descriptor, os.O_DIRECTORY)
            os.close(descriptor)
            descriptor = inner
        return os.fdopen(_open_part(parts[-1], descriptor), "rb")
    finally:
        os.close(descriptor)


def _open_part(part: str, folder: int, flags: int = 0) -> int:
    """Open an entry of an open folder that is not a link, and return its descriptor.

    Raises:
        OSError: it cannot be opened, or is neither a folder nor a regular file, as the flags request.
    """
    try:
        descriptor = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | flags, dir_fd=folder)
    except OSError as error:
        is_link = error.errno in {errno.ELOOP, errno.EMLINK, errno.ENOTDIR}
        reason = "it is a link, or not a folder" if is_link else error.strerror
        raise OSError(error.errno, f"{part}: {reason}") from None
    if not flags and not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, f"{part}: it is not a regular file")
    return descriptor


def read_input(path: Path, largest: int, folder: Path | None = None) -> bytes:
    """Return the content of an input of a command.

    Args:
        path: the file, as for `open_input`; or if a folder is given, as for `open_below`.
        largest: maximum size in bytes.
        folder: the folder that the command line names; None if it names the file.

    Raises:
        OSError: the file cannot be read, or is too large.
    """
    with open_input(path) if folder is None else open_below(folder, path.relative_to(folder)) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > largest:
            raise OSError(errno.EFBIG, f"it is larger than {largest} bytes")
        chunks = [stream.read(size + 1)]  # one more byte: a file that does not grow is one chunk, without a copy
        total = len(chunks[0])
        while total <= largest and (chunk := stream.read(_READ_SIZE)):
            chunks.append(chunk)
            total += len(chunk)
        if total > largest:
            raise OSError(errno.EFBIG, f"it is larger than {largest} bytes")
    return b"".join(chunks)


MAX_ZIP_DIRECTORY_BYTES = 2**24
"""Largest directory of a zip archive, which has the names of its members: room for 100,000 names of usual length."""


class _DirectoryReads:
    """The stream of a zip archive; while `is_limited`, no part above `MAX_ZIP_DIRECTORY_BYTES` is read.

    `zipfile` reads the directory as one part, whose length the archive states, and makes an object for each member.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.is_limited = True

    def read(self, size: int = -1) -> bytes:
        """Return the next part."""
        if self.is_limited and size > MAX_ZIP_DIRECTORY_BYTES:
            raise ValueError(f"its directory has more than {MAX_ZIP_DIRECTORY_BYTES} bytes")
        return self._stream.read(size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def open_zip(stream: BinaryIO) -> zipfile.ZipFile:
    """Open a zip archive of any origin, whose directory is limited.

    Raises:
        ValueError: the content is not a zip archive, its directory is too large, or two members have one name.
    """
    import zipfile  # few commands read an archive

    reads = _DirectoryReads(stream)
    try:
        archive = zipfile.ZipFile(reads)
    except (zipfile.BadZipFile, NotImplementedError, OverflowError, ValueError, struct.error) as error:
        raise ValueError(str(error)) from None
    reads.is_limited = False
    names = archive.namelist()
    if len(set(names)) < len(names):
        raise ValueError("two of its members have the same name")
    return archive


def _open_regular(path: str | Path, flags: int = 0) -> tuple[int, int]:
    """Open a regular file without waiting for pipes, and return its descriptor and its size in bytes.

    Raises:
        OSError: the file cannot be opened, or is not a regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file")
    return descriptor, status.st_size


def check_distinct_targets(targets: list[Path]) -> None:
    """Check that all outputs of a command are different files.

    Raises:
        UsageError: two outputs are the same file.
    """
    known: dict[Path, Path] = {}
    for target in targets:
        real = STANDARD_OUTPUT if is_standard_output(target) else real_path(target)
        if real in known:
            also = "" if known[real] == target else f", which is the same file as {known[real]}"
            raise UsageError("duplicate-target", target=target, also=also)
        known[real] = target


READ_SUFFIXES = frozenset({".npy", ".npz", ".onnx", ".pb"})
READ_NAMES = frozenset({"case.json", "companion.json", "manifest.json", "released.json"})
"""Suffixes and names of the files that a command reads in a folder. Other files in it may be earlier outputs."""


def check_target_is_no_input(target: Path, path: Path) -> None:
    """Check that an output of a command does not replace one of its inputs, which may be a file or a folder.

    Raises:
        UsageError: both are the same file, or the output is a file that the command reads in the folder.
    """
    if is_standard_output(target):
        return
    try:
        read = os.fstat(0) if path == STANDARD_INPUT else path.stat()
        written = target.stat()
    except OSError:
        return  # one of them does not exist, or another check finds the error
    is_replaced = stat.S_ISREG(written.st_mode) or stat.S_ISDIR(written.st_mode)
    is_read = target.name in READ_NAMES or target.suffix in READ_SUFFIXES
    is_part = is_read and stat.S_ISDIR(read.st_mode) and target.resolve().is_relative_to(path.resolve())
    if is_replaced and (is_part or os.path.samestat(read, written)):
        raise UsageError("target-is-input", target=target, path=path)


def write_text_atomically(target: Path, text: str) -> None:
    """Write a text atomically, see `write_chunks_atomically`."""
    write_chunks_atomically(target, [text.encode()])


def write_json_atomically(target: Path | None, document: object) -> None:
    """Write a document as JSON atomically, see `write_chunks_atomically`; without a target, nothing is written."""
    if target is not None:
        write_bytes_atomically(target, encode_document(document))


def write_bytes_atomically(target: Path, content: bytes) -> None:
    """Write bytes atomically, see `write_chunks_atomically`."""
    write_chunks_atomically(target, [content])


def write_chunks_atomically(target: Path, chunks: Iterable[bytes]) -> None:
    """Write a file chunk by chunk; the target is replaced when all chunks are written.

    Standard output, pipes and devices are written directly.

    Raises:
        UsageError: the target cannot be written.
    """
    check_target(target)
    try:
        _write_chunks(target, chunks)
    except OSError as error:
        raise UsageError("target-not-writable", target=target, reason=error.strerror) from None


def _write_chunks(target: Path, chunks: Iterable[bytes]) -> None:
    if is_standard_output(target):
        sys.stdout.flush()
        sys.stdout.buffer.writelines(chunks)
        sys.stdout.buffer.flush()
    elif _is_special(target):
        with suppress(BrokenPipeError), target.open("wb", buffering=0) as stream:  # a reader may stop early
            for chunk in chunks:
                write_all(stream.fileno(), chunk)
    else:
        _replace_file(real_path(target), chunks)


def _is_special(target: Path) -> bool:
    """Return whether the target exists and is not a regular file."""
    try:
        return not stat.S_ISREG(target.stat().st_mode)
    except OSError:
        return False


def _replace_file(target: Path, chunks: Iterable[bytes]) -> None:
    """Replace a regular file and keep its permissions."""
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    with open_temporary_file(target.parent, NEW_FILE_MODE if mode is None else mode) as (stream, scratch):
        stream.writelines(chunks)
        stream.flush()
        if mode is not None:
            os.fchmod(stream.fileno(), mode)
        scratch.replace(target)


def write_all(descriptor: int, content: bytes) -> None:
    """Write all bytes to a descriptor that may accept only a part at a time."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


_DEFERRED_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_active_deferrals: list[_SignalDeferral] = []
"""Installed deferrals, the innermost last."""


class _SignalDeferral:
    """Signal handlers that store signals during a `deferred_signals` block, and call the previous handlers afterwards.

    Attributes:
        depth: number of nested blocks that run.
        pending: stored signals in order.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.pending: list[int] = []
        handlers = {number: signal.getsignal(number) for number in _DEFERRED_SIGNALS}
        self._handlers: dict[int, Any] = {number: handler for number, handler in handlers.items() if callable(handler)}

    def install(self) -> None:
        for number in self._handlers:
            signal.signal(number, self._store_or_handle)

    def uninstall(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _store_or_handle(self, number: int, frame: FrameType | None) -> None:
        if self.depth:
            self.pending.append(number)
        else:
            self._handlers[number](signal.Signals(number), frame)

    def handle_pending(self) -> None:
        pending, self.pending = self.pending, []
        for number in pending:
            self._store_or_handle(number, None)


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Run the block without interruption: signals that arrive inside it are handled when it ends.

    Blocking signals in this thread is not sufficient: the system would deliver them to another thread, such as one
    started by a library, and Python would still run the handler in this thread. In other threads than the main thread,
    this function has no effect.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
    elif not _active_deferrals:
        with install_signal_deferral(), deferred_signals():
            yield
    else:
        deferral = _active_deferrals[-1]
        deferral.depth += 1
        try:
            yield
        finally:
            deferral.depth -= 1
            if deferral.pending and not deferral.depth:
                deferral.handle_pending()


@contextmanager
def install_signal_deferral() -> Iterator[None]:
    """Install the signal handlers of `deferred_signals` for the duration of the block.

    Each `deferred_signals` block inside then takes almost no time. In other threads than the main thread, this function
    has no effect.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    deferral = _SignalDeferral()
    deferral.install()
    _active_deferrals.append(deferral)
    try:
        yield
    finally:
        _active_deferrals.remove(deferral)
        deferral.uninstall()


PACKAGE_FOLDER = Path(__file__).resolve().parents[2]
"""Folder of the package `conformance`."""


def find_suite_path(installed: str, in_checkout: str) -> Path:
    """Return the path of a file or folder: in the installed package if it exists there, else in the checkout.

    Args:
        installed: path in the folder of the package.
        in_checkout: path in the top-level folder of the checkout.
    """
    path = PACKAGE_FOLDER / installed
    return path if path.exists() else PACKAGE_FOLDER.parent / in_checkout


def has_generators() -> bool:
    """Return whether the generators of the corpus are beside it, as in a checkout; an installation has none."""
    return find_suite_path("corpus.zip", "data").with_name("generators").is_dir()


@contextmanager
def supervised_temp_dir(
    parent: Path | None = None, prefix: str = "onnx-conformance-", target: Path | None = None
) -> Iterator[Path]:
    """Create a temporary directory, yield it, and remove it at the end, even if this process is killed.

    Args:
        parent: directory in which it is created; None for the directory for temporary files.
        prefix: prefix of its name.
        target: path that the caller replaces by content of the directory, or None. If the replacement is interrupted,
            the old version is restored, see `processes.helper.REPLACED_NAME`.

    Raises:
        OSError: the directory cannot be created.
    """
    folder = (parent or Path(gettempdir())) / f"{prefix}{secrets.token_hex(4)}"
    sweeper = start_sweeper(str(folder), str(target) if target else None)
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        end_sweeper(sweeper)


def check_empty(folder: Path) -> None:
    """Check that a folder can be created at this path.

    Raises:
        UsageError: the path exists and is not an empty directory, or its folder is read-only.
    """
    check_writable(folder, is_folder=True)
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if folder.exists() or folder.is_symlink():
        what = "a directory that is not empty" if folder.is_dir() else "not a directory"
        raise UsageError("directory-not-empty", folder=folder, what=what)


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder: fill a temporary folder and rename it.

    Args:
        files: the contents by path relative to the folder.

    Raises:
        UsageError: the path is not a new or empty directory any more.
        OSError: the folder cannot be written.
    """
    check_empty(folder)
    target = folder.absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    with supervised_temp_dir(target.parent, TEMPORARY_PREFIX) as scratch:
        made = scratch / "made"
        with named_errors(target):
            for parent in {made / name for name in map(os.path.dirname, files)}:
                parent.mkdir(parents=True, exist_ok=True)
            for name, content in files.items():
                (made / name).write_bytes(content)
        check_empty(folder)
        made.rename(target)
