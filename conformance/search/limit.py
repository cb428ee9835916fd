"""A limit to the processor time of a computation: by a signal in the main thread, by another thread's watch in others.

The workers of Dask do their pieces in threads, to which no signal comes.
"""

from __future__ import annotations

import ctypes
import signal
import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class TookTooLongError(Exception):
    """A computation took more than it was given."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Stop what takes more processor time than this.

    Raises:
        TookTooLongError: it did.
    """
    is_main = threading.current_thread() is threading.main_thread()
    with _by_signal(seconds) if is_main else _by_watch(seconds):
        yield


@contextmanager
def _by_signal(seconds: float) -> Iterator[None]:
    before = signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _stop(*_: Any) -> None:
    raise TookTooLongError


@contextmanager
def _by_watch(seconds: float) -> Iterator[None]:
    watch = _Watch(threading.get_ident(), seconds)
    watch.start()
    has_come = False
    try:
        yield
    except TookTooLongError:
        has_come = True
        raise
    finally:
        if watch.end() and not has_come:
            _wait_to_be_stopped()


class _Watch(threading.Thread):
    """Has another thread raise, as soon as it runs Python again, when it has taken its processor time."""

    def __init__(self, watched: int, seconds: float) -> None:
        super().__init__(daemon=True)
        self._watched, self._clock = watched, _clock_of(watched)
        self._last = self._clock() + seconds
        self._over = threading.Event()
        self._raising = threading.Lock()
        self._has_raised = False

    def run(self) -> None:
        """Look again when the time could be over at the earliest."""
        while (left := self._last - self._clock()) > 0:
            if self._over.wait(left):
                return
        with self._raising:
            if not self._over.is_set():
                self._has_raised = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(self._watched), ctypes.py_object(TookTooLongError)
                )

    def end(self) -> bool:
        """In the watched thread: from now on nothing is raised; whether something was."""
        with self._raising:
            self._over.set()
            return self._has_raised


def _wait_to_be_stopped() -> None:
    """Run Python until what was raised comes: taken back, it would leave the interpreter looking for it for ever."""
    while True:
        time.sleep(0)


def _clock_of(thread: int) -> Callable[[], float]:
    """The seconds of processor time of a thread; of any time where the system does not count that, as macOS."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.monotonic
    return partial(time.clock_gettime, time.pthread_getcpuclockid(thread))
