"""A run with subjects in its own process, watched by its parent: whoever ends that process ends no run green.

The run goes on in a child, forked before anything heavy is imported. It tells its exit status as its last act; a
process that ended without (by `os._exit`, a crash of a runtime, the kernel) was ended by a subject, or from outside.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

from conformance.errors import ExitStatus

_FORWARDED = (signal.SIGINT, signal.SIGTERM)
_DEATH_SIGNAL = 1
"""An option of Linux's prctl."""

_told: list[int] = []
"""Where a watched process tells its status; empty in any other."""


class EndedFromWithin(Exception):
    """The process of a run ended before the run did; says how, in words."""


def watch() -> ExitStatus | None:
    """Go on in a child; None there, and here the status that it told.

    Raises:
        EndedFromWithin: it ended without telling any.
    """
    receives, tells = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)
    parent, child = os.getpid(), os.fork()
    if child == 0:
        os.close(receives)
        _told[:] = [tells]
        _die_with(parent)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return None
    os.close(tells)
    handlers = {number: signal.signal(number, lambda received, _: _send(child, received)) for number in _FORWARDED}
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        _, ended = os.waitpid(child, 0)
        os.set_blocking(receives, False)
        return _status(receives, ended)
    finally:
        os.close(receives)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def end_watched(status: int) -> None:
    """In a watched process: tell the status, and end. How a runtime ends is not tested, and need not be waited for."""
    if _told:
        _end(_told[0], status)


def end_before_runtimes() -> None:
    """Have this process end once its work is done: a runtime with threads may crash as the interpreter ends.

    It is for a worker of a run, whose controller has all results by then.
    """
    atexit.register(_end_now)


def _end_now() -> NoReturn:
    _flush()
    os._exit(0)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()


def _end(tells: int, status: int) -> NoReturn:
    _flush()
    os.write(tells, f"{status}\n".encode())
    os._exit(status)


def _status(receives: int, ended: int) -> ExitStatus:
    with suppress(BlockingIOError):  # a process of the subject's may have the other end still
        if told := os.read(receives, 16):
            return ExitStatus(int(told))
    code = os.waitstatus_to_exitcode(ended)
    raise EndedFromWithin(f"exited with status {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}")


def _send(child: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(child, number)


def _die_with(parent: int) -> None:
    """Have this process killed with its parent; on Linux alone."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
