"""Client of one subject: sends commands to its process, and starts a new process when the old one has ended.

A case begins with `begin_case`, which restarts the time limit, or with `receive_ahead`. The second method is part of
prefetching: while the suite compares the outputs of a case, the subject already executes the first command of the next
case (`send_ahead`). If the harness supports it, the first command contains the second command in its field `next`.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conformance.errors import SubjectError
from conformance.isolation.child_process import SubjectProcess
from conformance.isolation.environment import subject_command
from conformance.isolation.protocol import (
    PROTOCOL_VERSION,
    NotStarted,
    Panicked,
    ProtocolViolation,
    Raised,
    SentCommand,
    SubjectInfo,
    UnsupportedAnswer,
    encode_command,
    parse_answer,
)
from conformance.subjects.failures import SubjectFailure
from conformance.subjects.request import hint_for_refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.isolation.limits import Limits
    from conformance.subjects.naming import Interpreter, SubjectName


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

    Attributes:
        idle_work: work of the suite, one step per item, to do while it waits for an answer.
    """

    named: SubjectName
    limits: Limits
    known_info: SubjectInfo | None = None
    interpreter: Interpreter | None = None
    idle_work: Iterator[None] = field(default_factory=lambda: iter(()), init=False)
    _process: SubjectProcess | None = field(default=None, init=False)
    _seq: int = field(default=0, init=False)
    _seconds_left: float = field(default=0.0, init=False)
    _stderr: str = field(default="", init=False)
    _ahead: SentCommand | None = field(default=None, init=False)
    _carried: SentCommand | None = field(default=None, init=False)

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
        self._discard_ahead()
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
        """Send a command and return its successful answer. If the previous command contained the command, only wait.

        Args:
            command: name of the command.
            fields: its fields besides name and number.

        Raises:
            SubjectFailure: the subject failed, or reports that the model is unsupported.
        """
        assert self._process is not None
        started = time.monotonic()
        try:
            if self._is_carried(command, fields):
                answer = self._receive_carried(self._seconds_left)
            else:
                if self._carried is not None:  # if the previous command fails, so does this
                    self._receive_carried(self._seconds_left)
                answer = self._receive(self._process, self._send(self._process, command, fields), self._seconds_left)
        finally:
            self._seconds_left -= time.monotonic() - started
        return _require_success(answer)

    @property
    def can_prefetch(self) -> bool:
        """Whether an idle process could execute a command now."""
        return self._process is not None and self._carried is None and self._process.is_idle()

    def send_ahead(
        self, command: str, fields: Mapping[str, Any], carried: tuple[str, Mapping[str, Any]] | None
    ) -> None:
        """Send the first command of the next case; the current case must not need further commands.

        `stderr_tail` still returns the text of the current case.

        Args:
            command: name of the command.
            fields: its fields besides name and number.
            carried: name and fields of a command to execute if this command succeeds. Only for a harness with
                `SubjectInfo.pipelines`.
        """
        self._stderr = self.process.stderr_tail()
        self.process.clear_stderr()
        with suppress(SubjectFailure):  # the process has ended; the next case notices it
            self._ahead = self._send(self.process, command, fields, carried)

    @property
    def is_prefetching(self) -> bool:
        """Whether the first command of the next case was sent ahead."""
        return self._ahead is not None

    def receive_ahead(self) -> dict[str, Any]:
        """Begin the case whose first command was sent ahead, and return the successful answer to that command.

        Raises:
            SubjectFailure: the subject failed, or reports that the model is unsupported.
        """
        ahead, self._ahead = self._ahead, None
        assert self._process is not None
        assert ahead is not None
        seconds = max(0.0, ahead.sent_at + self.limits.timeout - time.monotonic())
        answer = self._receive(self._process, ahead, seconds)
        self._seconds_left = self.limits.timeout - answer.get("seconds", 0.0)
        _require_success(answer)
        self._carried = ahead.next
        return answer

    def protocol_violation(self, message: str) -> ProtocolViolation:
        """End the process, and return the exception for an answer that is valid JSON but violates the protocol."""
        self.end()
        return ProtocolViolation(message)

    def stderr_tail(self) -> str:
        """Return the last part of the text that the subject wrote to standard error in the current case."""
        return self._stderr if self._process is None or self._ahead is not None else self._process.stderr_tail()

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
        self._ahead = self._carried = None

    def _send(
        self,
        process: SubjectProcess,
        command: str,
        fields: Mapping[str, Any],
        carried: tuple[str, Mapping[str, Any]] | None = None,
    ) -> SentCommand:
        self._seq += 1
        seq, following = self._seq, None
        message = {"cmd": command, "seq": seq, **fields}
        if carried is not None:
            self._seq += 1
            message["next"] = {"cmd": carried[0], "seq": self._seq, **carried[1]}
            following = SentCommand(*carried, self._seq, memoryview(b""), time.monotonic())
        try:
            unsent = process.send(encode_command(message), command)
        except BaseException:
            self.end()
            raise
        return SentCommand(command, fields, seq, unsent, time.monotonic(), following)

    def _receive(self, process: SubjectProcess, sent: SentCommand, seconds: float) -> dict[str, Any]:
        is_followed = sent.next is not None
        try:
            line = process.receive(sent.unsent, sent.name, seconds, self.idle_work, is_followed=is_followed)
            answer = parse_answer(line, sent.name, sent.seq)
        except BaseException:
            self.end()
            raise
        if answer.get("fatal"):
            self.end()
        return answer

    def _is_carried(self, command: str, fields: Mapping[str, Any]) -> bool:
        """Return whether the previous command contained this command in its field `next`."""
        return self._carried is not None and (self._carried.name, self._carried.fields) == (command, fields)

    def _receive_carried(self, seconds: float) -> dict[str, Any]:
        carried, self._carried = self._carried, None
        assert self._process is not None
        assert carried is not None
        return self._receive(self._process, carried, seconds)

    def _discard_ahead(self) -> None:
        """Wait for the answers to commands that were sent ahead, and ignore them: another case comes first."""
        if self._ahead is not None:
            with suppress(SubjectFailure):
                self.receive_ahead()
        if self._carried is not None:
            with suppress(SubjectFailure):
                self._receive_carried(self._seconds_left)

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
        self._process, self._seq = SubjectProcess(self._command, self.limits), 0
        command = self._send(self._process, "start", {"version": PROTOCOL_VERSION})
        answer = self._receive(self._process, command, self.limits.timeout)
        kind = answer.get("kind", self.named.kind)
        if "error" not in answer and "unsupported" not in answer and kind == self.named.kind:
            self.known_info = SubjectInfo.from_answer(answer)
            return
        self.end()
        if kind != self.named.kind:
            raise SubjectError(
                "wrong-kind",
                f"{self.named.text} is a {kind}, not a {self.named.kind.prose}.",
                "Name backends with -b and graph optimizers with -o.",
            )
        from conformance.subjects.harness import MESSAGE_LIMIT  # late: the harness imports NumPy

        problem = answer.get("error") or answer["unsupported"]
        hint = answer.get("hint", "The subject's harness reports this error; start the harness by hand for details.")
        error = SubjectError("start-refused", problem[:MESSAGE_LIMIT], hint[:MESSAGE_LIMIT])
        error.code = answer.get("code", error.code)
        if not self.named.is_command:
            error.hint = hint_for_refusal(self.named, error.code, error.problem, error.hint)
        raise error


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
