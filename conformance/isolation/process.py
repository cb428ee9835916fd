"""A subject's process as the suite sees it: one line out, one line back, within a time, or how it failed.

Nothing here blocks: while a line is awaited, what the process writes on standard error is read too, and its end kept.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.isolation.environment import Scratch
from conformance.isolation.failures import Crashed, SpokeNonsense, TimedOut
from conformance.isolation.leftovers import end_leftovers
from conformance.isolation.protocol import _SHOWN, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.isolation.limits import Limits
    from conformance.subjects.failures import SubjectFailure

LONGEST_STDERR = 8192
GRACE = 2.0
"""Seconds for a process to end by itself, once it has closed a stream or was told to stop."""

_GUARD = str(Path(__file__).with_name("guard.py"))
_CHUNK = 2**16
_NOTHING = object()


class SubjectProcess:
    """A running process.

    Args:
        command: the program and its arguments.
        limits: what it may take.
    """

    def __init__(self, command: Sequence[str], limits: Limits) -> None:
        self.scratch = Scratch.make()
        self._limits = limits
        self._said = bytearray()
        self._following = bytearray()
        control, self._control = os.pipe()
        self._status, status = os.pipe()
        guard = (sys.executable, "-I", "-S", _GUARD, str(control), str(status), str(limits.memory), self.scratch.root)
        self._process = subprocess.Popen(
            (*guard, *command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=self.scratch.work,
            env=self.scratch.environment(),
            pass_fds=(control, status),
            start_new_session=True,
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
        self._restlessness = select.poll()
        for descriptor, event in ((self._in, 0), (self._out, select.POLLIN), (self._status, select.POLLIN)):
            self._restlessness.register(descriptor, event)

    def given(self, name: str, content: bytes) -> str:
        """The path of a file that the subject may read and not write."""
        path = f"{self.scratch.models}/{name}"
        with suppress(FileNotFoundError):
            os.unlink(path)  # noqa: PTH108
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444)
        with os.fdopen(descriptor, "wb", buffering=0) as stream:
            rest = memoryview(content)
            while rest:
                rest = rest[stream.write(rest) :]
        return path

    def send(self, line: bytes, what: str) -> memoryview:
        """Send a command as far as it goes without waiting, and return what is still to be sent.

        Args:
            line: the command, with its end of line.
            what: the command in one word, for messages.

        Raises:
            SubjectFailure: the process has ended.
        """
        try:
            return self._unsent(memoryview(line), what)
        except BaseException:
            self.end()
            raise

    def answer(
        self, unsent: memoryview, what: str, seconds: float, meanwhile: Iterator[None], *, is_followed: bool = False
    ) -> bytes:
        """Wait for the line that answers the command that was sent; whatever fails ends the process.

        Args:
            unsent: what is still to be sent of it.
            what: the command in one word, for messages.
            seconds: how long it may take.
            meanwhile: what to do, step by step, until there is an answer; one that waits for a step is not late.
            is_followed: whether the answer to a further command may come right behind.

        Raises:
            SubjectFailure: the process ended, took too long, or wrote what is no line.
        """
        try:
            return self._answered(unsent, what, time.monotonic() + seconds, meanwhile, is_followed=is_followed)
        except BaseException:
            self.end()
            raise

    def is_idle(self) -> bool:
        """Whether it is alive, has written nothing since its last answer, and has not closed its input."""
        return self._control >= 0 and not self._following and not self._restlessness.poll(0)

    def forget(self) -> None:
        """Keep nothing of what it has written on standard error so far."""
        self._listen()
        self._said.clear()

    def said(self) -> str:
        """The end of what it has written on standard error, also after its own end."""
        self._listen()
        return self._said[-LONGEST_STDERR:].decode(errors="backslashreplace")

    def stop(self, line: bytes) -> None:
        """Tell it to stop, give it a moment, and end what is left."""
        try:
            if self._control >= 0 and self._process.stdin is not None:
                os.write(self._in, line)
                self._process.stdin.close()
                self._how_it_ended()
        except OSError:
            pass
        finally:
            self.end()

    def end(self) -> None:
        """Kill it and all that it started, and wait until they are gone."""
        if self._control < 0:
            return
        self._listen()
        os.close(self._control)
        self._control = -1
        try:
            self._process.wait(5 * GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.returncode:  # the guard did not come to its end, by the subject's hand or the kernel's
            end_leftovers(self.scratch)
        self._listen()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        os.close(self._status)
        self._err = -1

    def _answered(
        self, unsent: memoryview, what: str, deadline: float, meanwhile: Iterator[None], *, is_followed: bool
    ) -> bytes:
        answer, self._following = self._following, bytearray()
        if unsent:
            self._poll.register(self._in, select.POLLOUT)
        while b"\n" not in answer:
            ready = {descriptor for descriptor, _ in self._poll.poll(0)}
            if not ready and next(meanwhile, _NOTHING) is None:
                continue
            ready = ready or {descriptor for descriptor, _ in self._poll.poll(_milliseconds_until(deadline))}
            if self._err in ready:
                self._listen()
            if self._in in ready:
                unsent = self._unsent(unsent, what)
                if not unsent:
                    self._poll.unregister(self._in)
            if self._out in ready or self._status in ready:
                is_open = self._read_into(answer)
                if b"\n" in answer:
                    break
                if not is_open or self._status in ready:
                    raise self._death(what, answer)
            if time.monotonic() >= deadline:
                raise TimedOut(f"did not answer `{what}` within {self._limits.timeout:g} s{self._last_words()}")
        return self._first_line(answer, unsent, is_followed=is_followed)

    def _unsent(self, line: memoryview, what: str) -> memoryview:
        """What is still to be sent of a line after sending as much as goes."""
        try:
            return line[os.write(self._in, line) :]
        except BlockingIOError:
            return line
        except OSError:
            raise self._death(what, bytearray()) from None

    def _read_into(self, answer: bytearray) -> bool:
        """Read what there is; whether there may be more.

        Raises:
            SpokeNonsense: it is longer than an answer may be.
        """
        while True:
            try:
                chunk = os.read(self._out, _CHUNK)
            except BlockingIOError:
                return True
            if not chunk:
                return False
            answer += chunk
            if chunk.endswith(b"\n"):
                return True
            if len(answer) > self._limits.line:
                raise SpokeNonsense(f"wrote more than {self._limits.line} bytes without end: {quoted(answer)}")

    def _first_line(self, answer: bytearray, unsent: memoryview, *, is_followed: bool) -> bytes:
        line, _, rest = answer.partition(b"\n")
        if rest and is_followed:
            self._following = rest
        elif rest:
            raise SpokeNonsense(f"wrote more than the answer: {quoted(line)} and then {quoted(rest)}")
        if unsent:
            raise SpokeNonsense(f"answered before it had read the command: {quoted(line)}")
        return bytes(line)

    def _listen(self) -> None:
        """Read what it has written on standard error, and keep the end of it."""
        while self._err >= 0:
            try:
                chunk = os.read(self._err, _CHUNK)
            except BlockingIOError:
                return
            if not chunk:
                self._poll.unregister(self._err)
                self._err = -1
                return
            self._said += chunk
            if len(self._said) > 2 * LONGEST_STDERR:
                del self._said[:-LONGEST_STDERR]
                return

    def _death(self, what: str, answer: bytearray) -> SubjectFailure:
        """What to raise where the process closed a stream: it has ended, or did it for no reason."""
        how = self._how_it_ended()
        half = f", after {quoted(answer)}" if answer else ""
        if how is None:
            return SpokeNonsense(f"closed its standard input or output before it answered `{what}`{half}")
        return Crashed(f"{how} before it answered `{what}`{half}{self._last_words()}")

    def _how_it_ended(self) -> str | None:
        """In words; None if it is alive after a moment."""
        if not select.select([self._status], [], [], GRACE)[0]:
            return None
        way, _, number = os.read(self._status, 64).decode().partition(" ")
        if way == "exec":
            return f"could not be executed ({os.strerror(int(number))})"
        if way == "exit":
            return f"exited with status {int(number)}"
        return f"was ended by {_signal_name(int(number))}" if way == "signal" else "was ended with its guard"

    def _last_words(self) -> str:
        lines = [line for line in self.said().splitlines() if line.strip()]
        return f"; the last it said: {lines[-1].strip()[:_SHOWN]}" if lines else ""


def _milliseconds_until(moment: float) -> float:
    return max(0.0, moment - time.monotonic()) * 1000


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
