"""Client of one subject: sends commands to its process, and starts a new process when the old one has ended.

A case begins with `begin_case`, which restarts the time limit.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from conformance.base.errors import SubjectError, SuiteFault
from conformance.subjects.calling.failures import SubjectFailure
from conformance.subjects.calling.request import hint_for_refusal
from conformance.subjects.isolation.child_environment import subject_command
from conformance.subjects.isolation.child_process import SubjectProcess
from conformance.subjects.isolation.protocol import (
    PROTOCOL_VERSION,
    NotStarted,
    Panicked,
    ProtocolViolation,
    Raised,
    SubjectInfo,
    UnsupportedAnswer,
    encode_command,
    max_answer_values,
    parse_answer,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.subjects.calling.subject_names import Interpreter, SubjectName
    from conformance.subjects.isolation.limits import Limits


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
                raise SuiteFault(f"the harness in Python failed: {answer['error']}")
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
