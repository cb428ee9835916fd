"""How many steps a computation takes, whatever the machine: the instructions of Python that it runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType


def steps(compute: Callable[[], object]) -> int:
    """How many instructions a computation runs."""
    count = 0

    def step(frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        compute()
    finally:
        sys.settrace(before)
    return count
