"""Supervision of a run without isolation: a subject that ends the process must not make the run pass.

Example: a runtime calls `exit(0)`, and the command would end with the exit status of a passed run.

The run continues in a child process, which is forked before large modules are imported. At the end of the run, the
child reports the exit status through a pipe. If the child ends without a report, a subject or a signal has ended it.
"""

from __future__ import annotations

import os
import secrets
import signal
import sys
from contextlib import suppress
from typing import NoReturn

from conformance.base.errors import ExitStatus
from conformance.base.processes.start import fork_process

_FORWARDED_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_status_pipe: list[tuple[int, str]] = []
"""File descriptor to which a supervised child writes its exit status, and the secret text that proves its origin.

A subject in the same process may write to any descriptor. The list is empty in any other process.
"""


class ChildDied(Exception):
    """The child process ended without reporting an exit status; the message states the cause, such as a signal."""


def run_in_child() -> ExitStatus | None:
    """Fork this process. Return None in the child; in the parent, wait for the child and return its exit status.

    Raises:
        ChildDied: the child ended without reporting an exit status.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)  # a subject that fills the pipe must not make the end of the run wait
    token = secrets.token_hex(16)
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED_SIGNALS)
    child = fork_process()
    if child == 0:
        os.close(reader)
        _status_pipe[:] = [(writer, token)]
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return None
    os.close(writer)
    handlers = {
        number: signal.signal(number, lambda received, _: _send(child, received)) for number in _FORWARDED_SIGNALS
    }
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        _, ended = os.waitpid(child, 0)
        os.set_blocking(reader, False)
        return _read_status(reader, ended, token)
    finally:
        os.close(reader)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def report_status_and_exit(status: int) -> None:
    """If this process is a supervised child, report the exit status to the parent and end the process.

    The process ends without clean-up, because a runtime may crash in its clean-up, and that is not tested.
    """
    if _status_pipe:
        _end(*_status_pipe[0], status)


def _end(writer: int, token: str, status: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    with suppress(OSError):  # a subject has closed or filled the pipe: the parent then gets no status
        os.write(writer, f"{token}{status}\n".encode())
    os._exit(status)


def _read_status(reader: int, ended: int, token: str) -> ExitStatus:
    text = b""
    with suppress(BlockingIOError):  # a process of the subject may still have the other end
        while part := os.read(reader, 2**16):
            text += part
    _, proof, status = text.rpartition(token.encode())
    if proof and status.rstrip(b"\n").isdigit():
        return ExitStatus(int(status))
    code = os.waitstatus_to_exitcode(ended)
    raise ChildDied(f"exited with status {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}")


def _send(child: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(child, number)
