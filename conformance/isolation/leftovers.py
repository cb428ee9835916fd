"""What a subject's program leaves behind where its guard, which ends all of it otherwise, was itself ended."""

from __future__ import annotations

import os
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.isolation.environment import Scratch

_ROUNDS = 100
_PAUSE = 0.02
"""Seconds between two rounds."""


def end_leftovers(scratch: Scratch) -> None:
    """Kill the processes whose environment has a subject's scratch directories, and remove these.

    On systems without a /proc no process is found.
    """
    mark = f"TMPDIR={scratch.root}/tmp".encode()  # noqa: S108
    for _ in range(_ROUNDS):
        found = [process for process in _processes() if mark in _environment(process)]
        if not found:
            break
        for process in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        time.sleep(_PAUSE)
    shutil.rmtree(scratch.root, ignore_errors=True)


def _processes() -> list[int]:
    proc = Path("/proc")
    return [int(entry.name) for entry in proc.iterdir() if entry.name.isdecimal()] if proc.is_dir() else []


def _environment(process: int) -> list[bytes]:
    """What a process was started with; nothing of one that has ended, or is another user's."""
    try:
        return Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
