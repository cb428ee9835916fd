"""A subject in a process of its own that is started when it is needed, and again when it has ended."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conformance.errors import SubjectError
from conformance.isolation.environment import command_of
from conformance.isolation.failures import NotStarted, Panicked, Raised, SaidUnsupported, SpokeNonsense
from conformance.isolation.process import SubjectProcess
from conformance.isolation.protocol import PROTOCOL, answer_in, as_line
from conformance.subjects.failures import SubjectFailure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.isolation.limits import Limits
    from conformance.subjects.naming import Interpreter, SubjectName

ATTEMPTS = 3
"""How many times in a row a process may fail to start before the subject counts as not started."""


@dataclass(frozen=True)
class Introduction:
    """What a subject says of itself when it starts.

    Attributes:
        version: its own version.
        language: what it is written in.
        passes: of a graph optimizer, the passes that it claims; None if it does not say.
        fixed_point: of a graph optimizer, whether it knows a single run and a fixed point apart.
        models: of a backend, how many models it keeps loaded at a time.
        files: of a backend, whether its harness takes and gives tensors in files.
        provider: of a backend, what it says that every node is to run on; None where it need not be one.
        failure: why it did not start; empty if it did.
    """

    version: str = "unknown"
    language: str = "unknown"
    passes: tuple[str, ...] | None = None
    fixed_point: bool = False
    models: int = 1
    files: bool = False
    provider: str | None = None
    failure: str = ""


@dataclass(frozen=True)
class _Sent:
    """A command that was sent.

    Attributes:
        what: the command.
        seq: its number.
        unsent: what is still to be sent of it.
        moment: when it was, by the monotonic clock.
    """

    what: str
    seq: int
    unsent: memoryview
    moment: float


@dataclass
class Host:
    """Keeps a subject's process, one at a time.

    Args:
        named: the subject.
        limits: what its process may take.
        introduction: what it said elsewhere in this run, where it was started before.
        interpreter: the Python of a subject in Python, where it is not this one.

    Attributes:
        meanwhile: what is to be done, step by step, while the subject works.
    """

    named: SubjectName
    limits: Limits
    introduction: Introduction | None = None
    interpreter: Interpreter | None = None
    meanwhile: Iterator[None] = field(default_factory=lambda: iter(()), init=False)
    _child: SubjectProcess | None = field(default=None, init=False)
    _seq: int = field(default=0, init=False)
    _left: float = field(default=0.0, init=False)
    _said: str = field(default="", init=False)
    _ahead: _Sent | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._command = command_of(self.named, self.interpreter)

    def introduced(self) -> Introduction:
        """What the subject says of itself; starts it if nobody has.

        Raises:
            SubjectError: it answers that it cannot be hosted, or is of another kind.
        """
        if self.introduction is None:
            with suppress(NotStarted):
                self._start()
        assert self.introduction is not None
        return self.introduction

    def begin_case(self) -> None:
        """Give the next commands the time of one case, and a process that is ready for them.

        Raises:
            NotStarted: there is none.
        """
        self._withdraw()
        self._said = ""
        if self._child is not None and not self._child.is_idle():
            self.end()
        if self._child is None:
            self._start()
        assert self._child is not None
        self._child.forget()
        self._left = self.limits.timeout

    def is_running(self, child: SubjectProcess | None) -> bool:
        """Whether a process is still the one that runs."""
        return child is not None and child is self._child

    @property
    def child(self) -> SubjectProcess:
        """The process that runs."""
        assert self._child is not None
        return self._child

    def ask(self, what: str, **members: Any) -> dict[str, Any]:
        """Send a command, and return its good answer.

        Args:
            what: the command.
            members: what it has besides its name and number.

        Raises:
            SubjectFailure: there is no good answer.
        """
        assert self._child is not None
        started = time.monotonic()
        try:
            answer = self._asked(self._child, what, members, self._left)
        finally:
            self._left -= time.monotonic() - started
        return _good(answer)

    @property
    def is_ready(self) -> bool:
        """Whether there is a process that could be sent a command."""
        return self._child is not None and self._child.is_idle()

    def ask_ahead(self, what: str, **members: Any) -> None:
        """Send the first command of the case that comes next: of this one nothing is asked any more.

        What the subject said during this case can be had until then.
        """
        self._said = self.child.said()
        self.child.forget()
        with suppress(SubjectFailure):  # it has ended, which shows when the case begins
            self._ahead = self._sent(self.child, what, members)

    @property
    def is_asked_ahead(self) -> bool:
        """Whether the process works on the first command of the case that comes next."""
        return self._ahead is not None

    def answer_ahead(self) -> dict[str, Any]:
        """Begin the case whose first command was sent ahead, and return the good answer to that.

        Raises:
            SubjectFailure: there is no good answer.
        """
        ahead, self._ahead = self._ahead, None
        assert self._child is not None
        assert ahead is not None
        answer = self._answered(self._child, ahead, max(0.0, ahead.moment + self.limits.timeout - time.monotonic()))
        self._left = self.limits.timeout - answer.get("seconds", 0.0)
        return _good(answer)

    def nonsense(self, message: str) -> SpokeNonsense:
        """What to raise where an answer contradicts itself; the process is ended."""
        self.end()
        return SpokeNonsense(message)

    def said(self) -> str:
        """The end of what the subject wrote on standard error during the case."""
        return self._said if self._child is None or self._ahead is not None else self._child.said()

    def stop(self) -> None:
        """Tell the process to stop, if there is one, and end what is left of it."""
        if self._child is not None:
            self._seq += 1
            self._child.stop(as_line({"cmd": "stop", "seq": self._seq}))
        self.end()

    def end(self) -> None:
        """End the process; the next case starts another."""
        if self._child is not None:
            self._child.end()
            self._said = self._child.said()
            self._child = None
        self._ahead = None

    def _asked(self, child: SubjectProcess, what: str, members: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The answer to a command, held against its schema."""
        return self._answered(child, self._sent(child, what, members), seconds)

    def _sent(self, child: SubjectProcess, what: str, members: Mapping[str, Any]) -> _Sent:
        self._seq += 1
        try:
            unsent = child.send(as_line({"cmd": what, "seq": self._seq, **members}), what)
        except BaseException:
            self.end()
            raise
        return _Sent(what, self._seq, unsent, time.monotonic())

    def _answered(self, child: SubjectProcess, sent: _Sent, seconds: float) -> dict[str, Any]:
        try:
            return answer_in(child.answer(sent.unsent, sent.what, seconds, self.meanwhile), sent.what, sent.seq)
        except BaseException:
            self.end()
            raise

    def _withdraw(self) -> None:
        """Wait for the answer to what was sent ahead, and make nothing of it: something else comes first."""
        if self._ahead is not None:
            with suppress(SubjectFailure):
                self.answer_ahead()

    def _start(self) -> None:
        """Start a process; after several failures in a row, give it up for good.

        Raises:
            NotStarted: it does not start, now or ever since.
            SubjectError: it answers that it cannot be hosted, or is of another kind.
        """
        if self.introduction is not None and self.introduction.failure:
            raise NotStarted(self.introduction.failure)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._start_once()
            except SubjectError as error:
                if self.introduction is None:
                    raise
                raise NotStarted(f"not started again: {error.problem}") from None
            except SubjectFailure as error:
                if attempt == ATTEMPTS:
                    failure = f"not started in {ATTEMPTS} attempts: {error}"
                    self.introduction = Introduction(failure=failure)
                    raise NotStarted(failure) from None
            else:
                return

    def _start_once(self) -> None:
        self._child, self._seq = SubjectProcess(self._command, self.limits), 0
        answer = self._asked(self._child, "start", {"version": PROTOCOL}, self.limits.timeout)
        kind = answer.get("kind", self.named.kind)
        if "error" not in answer and "unsupported" not in answer and kind == self.named.kind:
            self.introduction = Introduction(
                answer["runtime_version"],
                answer["language"],
                tuple(answer["passes"]) if "passes" in answer else None,
                answer.get("fixed_point", False),
                answer.get("models", 1),
                answer.get("files", False),
                answer.get("provider"),
            )
            return
        self.end()
        if kind != self.named.kind:
            raise SubjectError(
                f"{self.named.text} is not a {self.named.kind.prose}, but a {kind}.",
                "Name backends with -b, and graph optimizers with -o.",
            )
        raise SubjectError(
            answer.get("error") or answer["unsupported"], answer.get("mend", "Its harness says so; start it by hand.")
        )


def _good(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer that says neither that the subject has not got what is asked for nor that it failed.

    Raises:
        SubjectFailure: it says so.
    """
    if "unsupported" in answer:
        raise SaidUnsupported(answer["unsupported"])
    if "error" in answer:
        raise (Panicked if answer.get("fatal") else Raised)(answer["error"])
    return answer
