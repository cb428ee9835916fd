"""What a worker of Dask's does for a campaign: say whether it is fit, and do pieces.

A worker may do several pieces at once, in threads; each is done with something opened for it alone. What is open is
kept for the next piece, and closed when none has come for a while: the campaign may have ended in any way.
"""

from __future__ import annotations

import pickle
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from conformance.errors import ConformanceError
from conformance.plugins import suite_version

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.campaigns.job import Job

IDLE = 10.0
"""Seconds for which what is open waits for a piece."""


@dataclass
class _Opened:
    """A job that was opened: what does a piece, what closes it, and when it was used last."""

    job: bytes
    work: Callable[[int], Any]
    closing: ExitStack
    used: float = field(default_factory=time.monotonic)


_free: list[_Opened] = []
_access = Lock()


def problem(version: str, job: bytes) -> str:
    """Why this worker cannot do pieces of a job; empty if it can, and the job is open then."""
    if version != suite_version():
        return f"it has onnx-conformance {suite_version()}, and this is {version}; install the same there."
    try:
        _keep(_taken(job))
    except ConformanceError as error:
        return f"{error.problem} {error.mend}"
    return ""


def do(job: bytes, number: int) -> Any:
    """The result of a piece."""
    opened = _taken(job)
    try:
        result = opened.work(number)
    except BaseException:
        opened.closing.close()
        raise
    _keep(opened)
    return result


def _taken(job: bytes) -> _Opened:
    with _access:
        for opened in _free:
            if opened.job == job:
                _free.remove(opened)
                return opened
    closing = ExitStack()
    pickled: Job = pickle.loads(job)  # noqa: S301 - from the scheduler, which may have anything run here
    return _Opened(job, closing.enter_context(pickled.opened()), closing)


def _keep(opened: _Opened) -> None:
    opened.used = time.monotonic()
    with _access:
        _free.append(opened)
        if len(_free) == 1:
            Thread(target=_close_the_unused, daemon=True).start()


def _close_the_unused() -> None:
    """Until nothing is free."""
    while True:
        time.sleep(IDLE / 4)
        with _access:
            unused = [opened for opened in _free if time.monotonic() - opened.used > IDLE]
            for opened in unused:
                _free.remove(opened)
            rest = len(_free)
        for opened in unused:
            opened.closing.close()
        if not rest:
            return
