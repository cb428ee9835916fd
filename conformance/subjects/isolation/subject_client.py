"""The process of one subject, and its client: command and folders, three pipes, the exit status, and time limits.

The suite starts a supervisor (`conformance.base.processes.helper`), which starts the subject's harness. The suite
writes one command per line and reads one answer per line. Closing the control pipe, or the death of the suite, makes
the supervisor kill the harness and all processes that it started.

The client sends commands to the process, and starts a new process when the old one has ended. A case begins with
`begin_case`, which restarts the time limit.
"""

from __future__ import annotations

import os
import select
import shlex
import shutil
import signal
import site
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from conformance.base.errors import SubjectError, SuiteFault, UnknownName
from conformance.base.files.atomic_write import deferred_signals, open_standard_streams, storage_errors, write_all
from conformance.base.processes.start import end_supervisor, start_supervised
from conformance.subjects.calling.request import (
    QUIET_VARIABLES,
    SubjectFailure,
    absolute_if_file,
    harness_command,
    hint_for_refusal,
)
from conformance.subjects.calling.subject_names import EXEC_PREFIX, Interpreter, SubjectName
from conformance.subjects.isolation.protocol import (
    PROTOCOL_VERSION,
    QUOTE_LIMIT,
    Crashed,
    NotStarted,
    Panicked,
    ProtocolViolation,
    Raised,
    SubjectInfo,
    TimedOut,
    UnsupportedAnswer,
    encode_command,
    max_answer_values,
    max_line_bytes,
    parse_answer,
    quote_line,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.subjects.isolation.protocol import Limits


@dataclass(frozen=True)
class ScratchFolders:
    """Temporary folders of one subject process; they are removed when the process ends.

    Attributes:
        root: folder that contains the other folders.
        work: working directory of the process; it writes its outputs here.
        models: folder for models and inputs; the suite writes it and the subject reads it.
    """

    root: str
    work: str
    models: str

    @classmethod
    def create(cls, parent: Path | None = None) -> ScratchFolders:
        """Create the folders, empty.

        Args:
            parent: the folder in which they are created; None for the folder for temporary files.

        Raises:
            StorageError: the file system cannot hold the folders.
            OSError: the folders cannot be created for another reason.
        """
        with storage_errors(parent or tempfile.gettempdir()):
            root = tempfile.mkdtemp(prefix="onnx-conformance-", dir=parent)
            for name in ("home", "work", "tmp", "models"):
                os.mkdir(f"{root}/{name}", 0o700)  # noqa: PTH102
        return cls(root, f"{root}/work", f"{root}/models")

    def environment(self) -> Mapping[str, str]:
        """Return the environment variables for the subject.

        They are those of this process, with the temporary folders as HOME, TMPDIR and so on. Telemetry and the
        downloads of installers are disabled.
        """
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "PYTEST_"))}
        own = {"HOME": f"{self.root}/home", "TMPDIR": f"{self.root}/tmp", "PWD": self.work}  # noqa: S108
        return {"PYTHONUSERBASE": site.getuserbase(), **inherited, **own, **QUIET_VARIABLES}


def subject_command(named: SubjectName, interpreter: Interpreter | None = None) -> tuple[str, ...]:
    """Return the program that runs a subject as a harness, with its arguments.

    Args:
        named: the subject.
        interpreter: the Python for a subject written in Python; None for the Python of this process.

    Raises:
        UnknownName: an `exec:` command does not name an executable program.
    """
    if not named.is_command:
        return harness_command(named, interpreter)
    try:
        words = shlex.split(named.name.removeprefix(EXEC_PREFIX))
    except ValueError as error:
        raise UnknownName("malformed-command", subject=named.text, error=error) from None
    program = shutil.which(words[0]) if words else None
    if program is None:
        raise UnknownName("program-not-found", subject=named.text, program=words[0] if words else "the command")
    return (str(Path(program).absolute()), *(absolute_if_file(word) for word in words[1:]))


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
        limit = f", and {self._limits.memory_limit}, perhaps too few" if self._limits.memory else ""
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


START_ATTEMPTS = 3
"""Number of failed starts in a row after which a subject counts as not started."""


@dataclass
class SubjectClient:
    """Client of one subject; it has at most one process at a time.

    Args:
        named: the subject.
        limits: limits of its process.
        known_info: properties of the subject, if it was started before in this run; None otherwise.
        interpreter: the Python for a subject written in Python; None for the Python of this process.
    """

    named: SubjectName
    limits: Limits
    known_info: SubjectInfo | None = None
    interpreter: Interpreter | None = None
    _process: SubjectProcess | None = field(default=None, init=False)
    _seq: int = field(default=0, init=False)
    _seconds_left: float = field(default=0.0, init=False)
    _stderr: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self._command = subject_command(self.named, self.interpreter)

    def info(self) -> SubjectInfo:
        """Return the properties of the subject; start it if it was never started.

        Raises:
            SubjectError: the harness answers that it cannot run the subject, or the subject is of the other kind.
        """
        if self.known_info is None:
            with suppress(NotStarted):
                self._start()
        assert self.known_info is not None
        return self.known_info

    def begin_case(self) -> None:
        """Start a process if none is running and idle, and reset the time limit for the commands of the next case.

        Raises:
            NotStarted: the subject does not start.
        """
        self._stderr = ""
        if self._process is not None and not self._process.is_idle():
            self.end()
        if self._process is None:
            self._start()
        assert self._process is not None
        self._process.clear_stderr()
        self._seconds_left = self.limits.timeout

    def is_running(self, process: SubjectProcess | None) -> bool:
        """Return whether `process` is the current process."""
        return process is not None and process is self._process

    @property
    def has_process(self) -> bool:
        """Whether a process was started and is not known to have ended."""
        return self._process is not None

    @property
    def process(self) -> SubjectProcess:
        """The current process."""
        assert self._process is not None
        return self._process

    def ask(self, command: str, **fields: Any) -> dict[str, Any]:
        """Send a command and return its successful answer.

        Args:
            command: name of the command.
            fields: its fields besides name and number.

        Raises:
            SubjectFailure: the subject failed, or reports that the model is unsupported.
            SuiteFault: the suite's own harness failed.
        """
        assert self._process is not None
        started = time.monotonic()
        try:
            answer = self._exchange(self._process, command, fields, self._seconds_left)
        finally:
            self._seconds_left -= time.monotonic() - started
        if "code" in answer and not self.named.is_command:
            from conformance.subjects.calling.harness import FAULT_CODE  # late: the harness imports NumPy

            if answer["code"] == FAULT_CODE:
                _check_that_inputs_are_readable(fields, answer["error"])
                self.end()
        return _require_success(answer)

    def protocol_violation(self, message: str) -> ProtocolViolation:
        """End the process, and return the exception for an answer that is valid JSON but violates the protocol."""
        self.end()
        return ProtocolViolation(message)

    def stderr_tail(self) -> str:
        """Return the last part of the text that the subject wrote to standard error in the current case."""
        return self._stderr if self._process is None else self._process.stderr_tail()

    def stop(self) -> None:
        """Send `stop` to the process, if there is one, and kill the processes that do not end."""
        if self._process is not None:
            self._seq += 1
            self._process.stop(encode_command({"cmd": "stop", "seq": self._seq}))
        self.end()

    def end(self) -> None:
        """Kill the process; the next case starts another."""
        process = self._process  # after an interruption, a thread that still starts the subject can end it too
        if process is not None:
            process.end()
            self._stderr = process.stderr_tail()
            self._process = None

    def _exchange(
        self, process: SubjectProcess, command: str, fields: Mapping[str, Any], seconds: float
    ) -> dict[str, Any]:
        """Send a command to a process, and return its answer, which may be an error."""
        self._seq += 1
        try:
            unsent = process.send(encode_command({"cmd": command, "seq": self._seq, **fields}), command)
            line = process.receive(unsent, command, seconds)
            answer = parse_answer(line, command, self._seq, max_answer_values(process.line_limit))
        except BaseException:
            self.end()
            raise
        if answer.get("fatal"):
            self.end()
        return answer

    def _start(self) -> None:
        """Start a process; after `START_ATTEMPTS` failures in a row, no further process is started.

        Raises:
            NotStarted: the subject does not start, now or in an earlier attempt.
            SubjectError: the harness answers that it cannot run the subject, or the subject is of the other kind.
        """
        if self.known_info is not None and self.known_info.failure:
            raise NotStarted(self.known_info.failure)
        for attempt in range(1, START_ATTEMPTS + 1):
            try:
                self._start_once()
            except SubjectError as error:
                if self.known_info is None:
                    raise
                raise NotStarted(f"not started again: {error.problem}") from None
            except SubjectFailure as error:
                if attempt == START_ATTEMPTS:
                    failure = f"not started in {START_ATTEMPTS} attempts: {error}"
                    self.known_info = SubjectInfo(failure=failure)
                    raise NotStarted(failure) from None
            else:
                return

    def _start_once(self) -> None:
        self._process = SubjectProcess(self._command, self.limits)
        self._seq = 0
        answer = self._exchange(self._process, "start", {"version": PROTOCOL_VERSION}, self.limits.timeout)
        kind = answer.get("kind", self.named.kind)
        if "error" not in answer and "unsupported" not in answer and kind == self.named.kind:
            # The schema has checked the types. It also accepts 1.0 as an integer, which a strict conversion refuses.
            self.known_info = msgspec.convert(answer, SubjectInfo, strict=False)
            return
        self.end()
        if kind != self.named.kind:
            raise SubjectError("wrong-kind", subject=self.named.text, kind=kind, own_kind=self.named.kind.prose)
        from conformance.subjects.calling.harness import MESSAGE_LIMIT  # late: the harness imports NumPy

        problem = answer.get("error") or answer["unsupported"]
        hint = answer.get("hint", "The subject's harness reports this error; start the harness by hand for details.")
        error = SubjectError("start-refused", problem[:MESSAGE_LIMIT], hint[:MESSAGE_LIMIT])
        error.code = answer.get("code", error.code)
        if not self.named.is_command:
            error.hint = hint_for_refusal(self.named, error.code, error.problem, error.hint)
        if self.limits.memory:
            error.hint = f"Use a larger limit, because {self.limits.memory_limit}. Or: {error.hint}"
        raise error


def _check_that_inputs_are_readable(fields: Mapping[str, Any], problem: str) -> None:
    """Read the inputs of a command in this process, after the suite's own harness failed to read them.

    If that works, the subject has damaged its process, for example a module of NumPy.

    Raises:
        SuiteFault: the inputs are not readable.
    """
    from conformance.subjects.calling.harness import read_inputs  # late: the harness imports NumPy

    try:
        read_inputs(fields["inputs"])
    except Exception as error:
        raise SuiteFault(f"the harness in Python failed: {problem}") from error


def _require_success(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer unchanged, after the check that it is neither `unsupported` nor `error`.

    Raises:
        SubjectFailure: the answer is `unsupported` or `error`.
    """
    if "unsupported" in answer:
        raise UnsupportedAnswer(answer["unsupported"])
    if "error" in answer:
        raise (Panicked if answer.get("fatal") else Raised)(answer["error"])
    return answer
