"""Limits of the processor time of a computation.

`limit_cpu_time` ends any computation. `limit_evaluation` ends the evaluation of a node or a model by the reference: a
small model can need hours, and only some operators show it by their sizes and attributes.
"""

from __future__ import annotations

import ctypes
import signal
import threading
import time
from collections import Counter
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

from conformance.base.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class CpuTimeoutError(Exception):
    """A computation exceeded its limit of processor time."""


_has_limit: ContextVar[bool] = ContextVar("_has_limit", default=False)


@contextmanager
def limit_cpu_time(seconds: float) -> Iterator[None]:
    """Stop the body of a `with` statement when it has used `seconds` of processor time.

    In the main thread a signal stops the body. Other threads receive no signals, so a second thread watches their
    clock. (The workers of Dask run chunks in threads.)

    Raises:
        CpuTimeoutError: the body exceeded the limit.
    """
    is_main = threading.current_thread() is threading.main_thread()
    token = _has_limit.set(True)
    try:
        with _limit_by_signal(seconds) if is_main else _limit_by_watcher(seconds):
            yield
    finally:
        _has_limit.reset(token)


MAX_EVALUATION_SECONDS = 60.0
"""Processor time of the expected values of a node or a model; after each that needs more, the next ones have less."""

_ended = Counter[str]()


@contextmanager
def limit_evaluation() -> Iterator[None]:
    """Limit the processor time in which the body of a `with` statement computes expected values.

    A body within another limit has that limit alone. After the nth body that was ended in this process, the limit is
    divided by n + 1: a model of many such nodes ends in minutes, too.

    Raises:
        Unsupported: the body exceeded the limit.
    """
    if _has_limit.get():
        yield
        return
    seconds = MAX_EVALUATION_SECONDS / (1 + _ended["evaluations"])
    try:
        with limit_cpu_time(seconds):
            yield
    except CpuTimeoutError:
        _ended["evaluations"] += 1
        raise Unsupported(f"its expected values take more than {seconds:.3g} s of processor time") from None


REPEAT_SIGNAL_SECONDS = 0.1
"""Processor time between two signals after the limit."""


@contextmanager
def _limit_by_signal(seconds: float) -> Iterator[None]:
    before = signal.signal(signal.SIGPROF, _raise_timeout)
    # The signal is repeated, because Python ignores an exception that is raised in a callback of its garbage collector.
    signal.setitimer(signal.ITIMER_PROF, seconds, REPEAT_SIGNAL_SECONDS)
    try:
        yield
    finally:
        try:
            signal.setitimer(signal.ITIMER_PROF, 0)
        finally:  # the signal can come just before the timer stops
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)


def _raise_timeout(*_: Any) -> None:
    raise CpuTimeoutError


@contextmanager
def _limit_by_watcher(seconds: float) -> Iterator[None]:
    watch = _CpuWatcher(threading.get_ident(), seconds)
    watch.start()
    has_come = False
    try:
        yield
    except CpuTimeoutError:
        has_come = True
        raise
    finally:
        if watch.end() and not has_come:
            _wait_for_timeout_error()


class _CpuWatcher(threading.Thread):
    """A thread that raises `CpuTimeoutError` in another thread when that thread has used its processor time."""

    def __init__(self, watched: int, seconds: float) -> None:
        super().__init__(daemon=True)
        self._watched = watched
        self._clock = _cpu_clock(watched)
        self._last = self._clock() + seconds
        self._over = threading.Event()
        self._raising = threading.Lock()
        self._has_raised = False

    def run(self) -> None:
        """Raise the error in the watched thread when its time is used up.

        The method sleeps for the remaining time, reads the clock of the thread, and repeats.
        """
        while (left := self._last - self._clock()) > 0:
            if self._over.wait(left):
                return
        with self._raising:
            if not self._over.is_set():
                self._has_raised = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(self._watched), ctypes.py_object(CpuTimeoutError)
                )

    def end(self) -> bool:
        """Stop watching, and return whether the error was raised. The watched thread calls this method."""
        with self._raising:
            self._over.set()
            return self._has_raised


def _wait_for_timeout_error() -> None:
    """Run Python code until the interpreter raises the pending `CpuTimeoutError` in this thread.

    The error is not cancelled: the interpreter would then check for a pending error forever.
    """
    while True:
        time.sleep(0)


def _cpu_clock(thread: int) -> Callable[[], float]:
    """Return a function that returns the processor time of a thread in seconds.

    On systems that do not measure it (macOS), the function returns wall time.
    """
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.monotonic
    return partial(time.clock_gettime, time.pthread_getcpuclockid(thread))
