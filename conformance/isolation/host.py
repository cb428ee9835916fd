"""A subject in a process of its own that is started when it is needed, and again when it has ended."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conformance.errors import SubjectError
from conformance.isolation.environment import command_of
from conformance.isolation.failures import NotStarted, Panicked, Raised, SaidUnsupported, SpokeNonsense
from conformance.isolation.introduction import Introduction
from conformance.isolation.process import SubjectProcess
from conformance.isolation.protocol import PROTOCOL, Sent, answer_in, as_line
from conformance.subjects.failures import SubjectFailure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.isolation.limits import Limits
    from conformance.subjects.naming import Interpreter, SubjectName

ATTEMPTS = 3
"""How many times in a row a process may fail to start before the subject counts as not started."""


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
    _ahead: Sent | None = field(default=None, init=False)
    _then: Sent | None = field(default=None, init=False)

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
    def has_child(self) -> bool:
        """Whether a process runs, as far as it is known."""
        return self._child is not None

    @property
    def child(self) -> SubjectProcess:
        """The process that runs."""
        assert self._child is not None
        return self._child

    def ask(self, what: str, **members: Any) -> dict[str, Any]:
        """Send a command, if it was not with the one before, and return its good answer.

        Args:
            what: the command.
            members: what it has besides its name and number.

        Raises:
            SubjectFailure: there is no good answer.
        """
        assert self._child is not None
        started = time.monotonic()
        try:
            if self._is_sent(what, members):
                answer = self._answered_then(self._left)
            else:
                if self._then is not None:  # of the same case: how it fails is how this does
                    self._answered_then(self._left)
                answer = self._asked(self._child, what, members, self._left)
        finally:
            self._left -= time.monotonic() - started
        return _good(answer)

    @property
    def is_ready(self) -> bool:
        """Whether there is a process that could be sent a command."""
        return self._child is not None and self._then is None and self._child.is_idle()

    def ask_ahead(self, what: str, members: Mapping[str, Any], then: tuple[str, Mapping[str, Any]] | None) -> None:
        """Send the first command of the case that comes next: of this one nothing is asked any more.

        What the subject said during this case can be had until then.

        Args:
            what: the command.
            members: what it has besides its name and number.
            then: another, which is to be done at once where this one succeeds; only to a harness that takes such.
        """
        self._said = self.child.said()
        self.child.forget()
        with suppress(SubjectFailure):  # it has ended, which shows when the case begins
            self._ahead = self._sent(self.child, what, members, then)

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
        good = _good(answer)
        self._then = ahead.then
        return good

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
        self._ahead = self._then = None

    def _asked(self, child: SubjectProcess, what: str, members: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The answer to a command, held against its schema."""
        return self._answered(child, self._sent(child, what, members), seconds)

    def _sent(
        self,
        child: SubjectProcess,
        what: str,
        members: Mapping[str, Any],
        then: tuple[str, Mapping[str, Any]] | None = None,
    ) -> Sent:
        self._seq += 1
        command, carried, seq = {"cmd": what, "seq": self._seq, **members}, None, self._seq
        if then is not None:
            self._seq += 1
            command["then"] = {"cmd": then[0], "seq": self._seq, **then[1]}
            carried = Sent(*then, self._seq, memoryview(b""), time.monotonic())
        try:
            unsent = child.send(as_line(command), what)
        except BaseException:
            self.end()
            raise
        return Sent(what, members, seq, unsent, time.monotonic(), carried)

    def _answered(self, child: SubjectProcess, sent: Sent, seconds: float) -> dict[str, Any]:
        try:
            line = child.answer(sent.unsent, sent.what, seconds, self.meanwhile, is_followed=sent.then is not None)
            return answer_in(line, sent.what, sent.seq)
        except BaseException:
            self.end()
            raise

    def _is_sent(self, what: str, members: Mapping[str, Any]) -> bool:
        """Whether a command is the one that was sent with the one before."""
        return self._then is not None and (self._then.what, self._then.members) == (what, members)

    def _answered_then(self, seconds: float) -> dict[str, Any]:
        then, self._then = self._then, None
        assert self._child is not None
        assert then is not None
        return self._answered(self._child, then, seconds)

    def _withdraw(self) -> None:
        """Wait for the answers to what was sent ahead, and make nothing of them: something else comes first."""
        if self._ahead is not None:
            with suppress(SubjectFailure):
                self.answer_ahead()
        if self._then is not None:
            with suppress(SubjectFailure):
                self._answered_then(self._left)

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
            self.introduction = Introduction.of(answer)
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
