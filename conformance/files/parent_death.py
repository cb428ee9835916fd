"""Programs that the kernel kills when the process that started them dies, also by SIGKILL. Only Linux supports this.

This module is also the program that such a child runs first:

    python parent_death.py PARENT PROGRAM [ARGUMENT…]

An interpreter without packages runs it, so that it starts fast; it must not import other modules of the suite.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1
"""`PR_SET_PDEATHSIG` of Linux's prctl."""


def die_with(parent: int) -> None:
    """Make the kernel kill this process when its parent dies; do nothing on other systems than Linux.

    Args:
        parent: the parent's process id; it may have died already.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)


def killed_with_parent(command: Sequence[str]) -> list[str]:
    """Return a command that runs `command` in a process that dies with the process that starts it."""
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


def main(arguments: Sequence[str]) -> None:
    """Replace this process by a program, after the request to be killed with the parent."""
    parent, *command = arguments
    die_with(int(parent))
    for name in ("SIGPIPE", "SIGXFSZ"):  # Python ignores them, and a program inherits that
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    os.execvp(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1:])
