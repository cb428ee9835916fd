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
    try:
        yield
    finally:
        watch.end()


class _Watch(threading.Thread):
    """Has another thread raise, as soon as it runs Python again, when it has taken its processor time."""

    def __init__(self, watched: int, seconds: float) -> None:
        super().__init__(daemon=True)
        self._watched, self._clock = watched, _clock_of(watched)
        self._last = self._clock() + seconds
        self._over = threading.Event()
        self._raising = threading.Lock()

    def run(self) -> None:
        """Look again when the time could be over at the earliest."""
        while (left := self._last - self._clock()) > 0:
            if self._over.wait(left):
                return
        with self._raising:
            if not self._over.is_set():
                _raise_in(self._watched, ctypes.py_object(TookTooLongError))

    def end(self) -> None:
        """In the watched thread: nothing is raised any more."""
        with self._raising:
            self._over.set()
            _raise_in(self._watched, None)


def _clock_of(thread: int) -> Callable[[], float]:
    """The seconds of processor time of a thread; of any time where the system does not count that, as macOS."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.monotonic
    return partial(time.clock_gettime, time.pthread_getcpuclockid(thread))


def _raise_in(thread: int, error: Any) -> None:
    """Have a thread raise an error; None takes back what it has not raised yet."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), error)
