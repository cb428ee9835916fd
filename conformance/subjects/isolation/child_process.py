"""Control of the process of one subject: three pipes, the exit status from the supervisor, and time limits.

The suite starts a supervisor (`conformance.base.processes.helper`), which starts the subject's harness. The suite
writes one command per line and reads one answer per line. Closing the control pipe, or the death of the suite, makes
the supervisor kill the harness and all processes that it started.
"""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from conformance.base.files.atomic_write import deferred_signals, open_standard_streams, storage_errors, write_all
from conformance.base.processes.start import end_supervisor, start_supervised
from conformance.subjects.isolation.child_environment import ScratchFolders
from conformance.subjects.isolation.protocol import (
    QUOTE_LIMIT,
    Crashed,
    ProtocolViolation,
    TimedOut,
    max_line_bytes,
    quote_line,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.subjects.calling.failures import SubjectFailure
    from conformance.subjects.isolation.limits import Limits


STDERR_LIMIT_BYTES = 8192
"""Number of bytes of standard error that are kept, from its end."""

GRACE_SECONDS = 2.0
"""Time for a process to exit after it closed a stream or received `stop`."""

_READ_BYTES = 2**16


class SubjectProcess:
    """A running harness process and its supervisor.

    Args:
        command: the program and its arguments.
        limits: limits of time, memory and answer length.

    Attributes:
        line_limit: maximum length of the next answer in bytes; it depends on the size of the command.
    """

    def __init__(self, command: Sequence[str], limits: Limits) -> None:
        self._limits = limits
        self._stderr = bytearray()
        self.line_limit = max_line_bytes(limits, 0)
        open_standard_streams()  # a pipe must not get the number of a standard stream that is closed
        with deferred_signals():  # from its start on, the supervisor removes the folders
            self.scratch = ScratchFolders.create()
            control, self._control = os.pipe()
            self._status, status = os.pipe()
            self._process = start_supervised(
                command,
                control,
                status,
                limits.memory,
                self.scratch.root,
                cwd=self.scratch.work,
                env=self.scratch.environment(),
            )
        os.close(control)
        os.close(status)
        streams = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._in, self._out, self._err = (stream.fileno() for stream in streams if stream)
        self._poll = select.poll()
        for descriptor in (self._out, self._err, self._status):
            os.set_blocking(descriptor, False)
            self._poll.register(descriptor, select.POLLIN)
        os.set_blocking(self._in, False)
        self._activity = select.poll()
        for descriptor, event in ((self._in, 0), (self._out, select.POLLIN), (self._status, select.POLLIN)):
            self._activity.register(descriptor, event)

    def write_input_file(self, name: str, content: bytes) -> str:
        """Write a file that the subject can read and cannot write; return its path.

        Raises:
            StorageError: the file system cannot hold the file.
            OSError: the file cannot be written for another reason, such as a subject that removed the folder.
        """
        path = f"{self.scratch.models}/{name}"
        with suppress(FileNotFoundError):
            os.unlink(path)  # noqa: PTH108
        with storage_errors(path):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444)
            with os.fdopen(descriptor, "wb", buffering=0) as stream:
                write_all(stream.fileno(), content)
        return path

    def send(self, line: bytes, command: str) -> memoryview:
        """Write a command until the pipe is full, and return the part that is not written yet.

        Args:
            line: the command, with its end of line.
            command: name of the command, for messages.

        Raises:
            SubjectFailure: the process has ended.
        """
        try:
            return self._write_some(memoryview(line), command)
        except BaseException:
            self.end()
            raise

    def receive(self, unsent: memoryview, command: str, seconds: float) -> bytearray:
        """Write the rest of a command, wait for the answer, and return its line. Any failure ends the process.

        Args:
            unsent: part of the command that is not written yet.
            command: name of the command, for messages.
            seconds: time limit.

        Raises:
            SubjectFailure: the process ended, exceeded the time limit, or wrote something other than one line.
        """
        try:
            return self._receive(unsent, command, time.monotonic() + seconds)
        except BaseException:
            self.end()
            raise

    def is_idle(self) -> bool:
        """Return whether the process runs, has written nothing since its last answer, and still reads its input."""
        return self._control >= 0 and not self._activity.poll(0)

    def clear_stderr(self) -> None:
        """Discard what the process has written to standard error so far."""
        self._read_stderr()
        self._stderr.clear()

    def stderr_tail(self) -> str:
        """Return the last `STDERR_LIMIT_BYTES` that the process wrote to standard error, also after its end."""
        self._read_stderr()
        return self._stderr[-STDERR_LIMIT_BYTES:].decode(errors="backslashreplace")

    def stop(self, line: bytes) -> None:
        """Send the `stop` command, wait `GRACE_SECONDS` for the exit, and kill the remaining processes."""
        try:
            if self._control >= 0 and self._process.stdin is not None:
                os.write(self._in, line)
                self._process.stdin.close()
                self._describe_exit()
        except OSError:
            pass
        finally:
            self.end()

    def end(self) -> None:
        """Kill the process and all processes that it started, and wait until they are gone."""
        if self._control < 0:
            return
        self._read_stderr()
        os.close(self._control)
        self._control = -1
        end_supervisor(self._process, self.scratch.root, 5 * GRACE_SECONDS)
        self._read_stderr()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        os.close(self._status)
        self._err = -1

    def _receive(self, unsent: memoryview, command: str, deadline: float) -> bytearray:
        answer = bytearray()
        is_complete = False
        if unsent:
            self._poll.register(self._in, select.POLLOUT)
        while not is_complete:
            ready = {descriptor for descriptor, _ in self._poll.poll(max(0.0, deadline - time.monotonic()) * 1000)}
            if self._err in ready:
                self._read_stderr()
            if self._in in ready:
                unsent = self._write_some(unsent, command)
                if not unsent:
                    self._poll.unregister(self._in)
            if self._out in ready or self._status in ready:
                is_open, is_complete = self._read_into(answer)
                if is_complete:
                    break
                if not is_open or self._status in ready:
                    raise self._end_failure(command, answer)
            if time.monotonic() >= deadline:
                limit = f"{self._limits.timeout:g} s"
                raise TimedOut(f"did not answer `{command}` within {limit}{self._last_stderr_line()}")
        return _only_line(answer, unsent)

    def _write_some(self, line: memoryview, command: str) -> memoryview:
        """Write a line until the pipe is full, and return the rest."""
        try:
            return line[os.write(self._in, line) :]
        except BlockingIOError:
            return line
        except OSError:
            raise self._end_failure(command, bytearray()) from None

    def _read_into(self, answer: bytearray) -> tuple[bool, bool]:
        """Append the available output to `answer`.

        Returns:
            Whether the output is still open, and whether a line ended in what was read. Only new text is searched: a
            long answer arrives in thousands of parts.

        Raises:
            ProtocolViolation: the answer exceeds the limit.
        """
        is_complete = False
        while True:
            try:
                chunk = os.read(self._out, _READ_BYTES)
            except BlockingIOError:
                return True, is_complete
            if not chunk:
                return False, is_complete
            answer += chunk
            is_complete = is_complete or b"\n" in chunk
            if chunk.endswith(b"\n"):
                return True, True
            if len(answer) > self.line_limit:
                raise ProtocolViolation(f"wrote more than {self.line_limit} bytes in one line: {quote_line(answer)}")

    def _read_stderr(self) -> None:
        """Read the available text from standard error, and store its last part."""
        while self._err >= 0:
            try:
                chunk = os.read(self._err, _READ_BYTES)
            except BlockingIOError:
                return
            if not chunk:
                self._poll.unregister(self._err)
                self._err = -1
                return
            self._stderr += chunk
            if len(self._stderr) > 2 * STDERR_LIMIT_BYTES:
                del self._stderr[:-STDERR_LIMIT_BYTES]
                return

    def _end_failure(self, command: str, answer: bytearray) -> SubjectFailure:
        """Return the exception for a closed stream: a crash or, if the process still runs, a protocol violation."""
        how = self._describe_exit()
        partial = f", after {quote_line(answer)}" if answer else ""
        if how is None:
            return ProtocolViolation(f"closed its standard input or output before it answered `{command}`{partial}")
        memory = f"{self._limits.memory / 2**20:.4g} MiB"
        limit = f", and --memory limits its address space to {memory}" if self._limits.memory else ""
        return Crashed(f"{how} before it answered `{command}`{partial}{limit}{self._last_stderr_line()}")

    def _describe_exit(self) -> str | None:
        """Wait up to `GRACE_SECONDS` for the exit; return in words how the process ended, or None if it still runs."""
        if not select.select([self._status], [], [], GRACE_SECONDS)[0]:
            return None
        way, _, number = os.read(self._status, 64).decode().partition(" ")
        if way == "exec":
            return f"could not be executed ({os.strerror(int(number))})"
        if way == "exit":
            return f"exited with status {int(number)}"
        return f"was killed by {_signal_name(int(number))}" if way == "signal" else "was killed with its supervisor"

    def _last_stderr_line(self) -> str:
        lines = [line for line in self.stderr_tail().splitlines() if line.strip()]
        return f"; last line of standard error: {lines[-1].strip()[:QUOTE_LIMIT]}" if lines else ""


def _only_line(answer: bytearray, unsent: memoryview) -> bytearray:
    """Return the line of an answer; raise ProtocolViolation if more follows, or the command was not read."""
    end = answer.index(b"\n")
    rest = answer[end + 1 :]
    del answer[end:]  # without a copy of the line, which may be long
    if rest:
        raise ProtocolViolation(f"wrote more than one answer: {quote_line(answer)} and then {quote_line(rest)}")
    if unsent:
        raise ProtocolViolation(f"answered before it had read the command: {quote_line(answer)}")
    return answer


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
