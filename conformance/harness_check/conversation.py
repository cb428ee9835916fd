"""A harness's process and the raw lines that go to it and come from it, with a time limit on each wait."""

from __future__ import annotations

import os
import queue
import shutil
import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.isolation.environment import Scratch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LONGEST_STDERR = 600
_LEFT_BEHIND = 2.0
"""Seconds that processes started by a harness have to end after it."""


class Silence(Exception):
    """Nothing came within the time limit."""


class Ended(Exception):
    """The process has ended, or has closed its output."""


class Conversation:
    """One process, with what a run has around it; its standard error is kept in a file.

    Args:
        argv: the command.
        timeout: seconds that each wait may last.

    Raises:
        OSError: the command cannot be started.
    """

    def __init__(self, argv: Sequence[str], timeout: float) -> None:
        self._timeout = timeout
        self._scratch = Scratch.make()
        self._stderr = Path(self._scratch.root, "stderr")
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        try:
            self._process = self._started(argv)
        except OSError:
            self._remove()
            raise
        self._threads: list[threading.Thread] = []
        self._begin(self._read)

    def send(self, line: bytes) -> None:
        """Write a line, without waiting for the harness to read it: a large one may never be read."""
        self._begin(self._write, line)

    def close(self) -> None:
        """Send nothing more: the harness reads the end of its input."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def line(self, deadline: float) -> bytes:
        """The next line of standard output.

        Args:
            deadline: until when to wait, by the monotonic clock.

        Raises:
            Silence: none came.
            Ended: none will come.
        """
        try:
            line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise Silence from None
        if line is None:
            self._lines.put(None)
            raise Ended
        return line

    def deadline(self) -> float:
        """Until when a wait that begins now may last."""
        return time.monotonic() + self._timeout

    def status(self) -> int | None:
        """How the process ended, waited for within the time limit: its status, or minus a signal, or None."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(self._timeout)
        return None

    def ending(self) -> str:
        """How the process ended, and the last that it wrote to standard error, for people."""
        status = self.status()
        if status is None:
            how = "it closed its standard output and goes on"
        elif status < 0:
            how = f"it died of {signal.Signals(-status).name}"
        else:
            how = f"it exited with status {status}"
        return how + (f"; standard error: {self.stderr()}" if self.stderr() else "")

    def stderr(self) -> str:
        """The end of what it wrote to standard error."""
        return self._stderr.read_bytes()[-LONGEST_STDERR:].decode(errors="replace").strip()

    def leaves_processes(self) -> bool:
        """Whether processes that the harness started live on after it."""
        until = time.monotonic() + _LEFT_BEHIND
        while (living := self._signal(0)) and time.monotonic() < until:
            time.sleep(0.02)
        return living

    def kill(self) -> None:
        """End the process and all that it started, and close what leads to it."""
        self._signal(signal.SIGKILL)
        self._process.wait()
        for thread in self._threads:
            thread.join()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                assert stream is not None
                stream.close()
        self._remove()

    def _started(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        with self._stderr.open("ab") as stderr:
            return subprocess.Popen(
                list(argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                cwd=self._scratch.work,
                env=dict(self._scratch.environment()),
                start_new_session=True,
            )

    def _remove(self) -> None:
        shutil.rmtree(self._scratch.root, ignore_errors=True)

    def _signal(self, number: int) -> bool:
        """Send a signal to the process's group; whether there is one."""
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return False
        return True

    def _begin(self, work: Callable[..., None], *arguments: bytes) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.removesuffix(b"\n"))
        self._lines.put(None)
