"""A limit to the processor time of a computation, where it can be set: in the main thread of a process."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class TookTooLongError(Exception):
    """A computation took more than it was given."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Stop what takes more processor time than this.

    Raises:
        TookTooLongError: it did. In a thread that is not the main one nothing is limited: signals do not reach it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _stop(*_: Any) -> None:
    raise TookTooLongError
