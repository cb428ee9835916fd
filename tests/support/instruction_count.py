"""The number of Python instructions of a computation, which does not depend on the machine."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType


def count_instructions(compute: Callable[[], object]) -> int:
    """Return the number of instructions of a computation."""
    count = 0

    def step(frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return step

    sys._getframe().f_trace_opcodes = True  # Python 3.12 counts only if a frame has it before `settrace`
    before = sys.gettrace()
    sys.settrace(step)
    try:
        compute()
    finally:
        sys.settrace(before)
    return count
