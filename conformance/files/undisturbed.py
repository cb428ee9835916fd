"""What belongs together is done together, whenever the user interrupts it."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_holding: list[_Held] = []
"""What stands between the user's interruptions and those who handle them, the innermost last."""


class _Held:
    """Interruptions that wait for as long as something is done together, and then come in their order.

    Attributes:
        depth: how many things are being done together, one within the other.
        came: the signals that wait.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.came: list[int] = []
        told = {number: signal.getsignal(number) for number in _SIGNALS}
        self._handlers: dict[int, Any] = {number: handler for number, handler in told.items() if callable(handler)}

    def begin(self) -> None:
        for number in self._handlers:
            signal.signal(number, self._note)

    def end(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.depth:
            self.came.append(number)
        else:
            self._handlers[number](signal.Signals(number), frame)

    def let_come(self) -> None:
        came, self.came = self.came, []
        for number in came:
            self._note(number, None)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let what belongs together be done together: the user's interruption comes before it or after it.

    To block the signals would not do: they then go to another thread of the process, as a library may have started,
    and Python's handler runs in this one all the same.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
    elif not _holding:
        with often_undisturbed(), undisturbed():
            yield
    else:
        held = _holding[-1]
        held.depth += 1
        try:
            yield
        finally:
            held.depth -= 1
            if held.came and not held.depth:
                held.let_come()


@contextmanager
def often_undisturbed() -> Iterator[None]:
    """Have `undisturbed` cost next to nothing within this, as work needs that is done in thousands of small parts.

    It is for the main thread.
    """
    held = _Held()
    held.begin()
    _holding.append(held)
    try:
        yield
    finally:
        _holding.remove(held)
        held.end()
