"""What the tests of isolation need: subjects in processes of their own, and a search for what they leave behind."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.isolation.limits import Limits
from conformance.isolation.starting import StartingSubjects
from conformance.subjects.naming import SubjectKind, SubjectName

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.subjects.loading import Subject

SUPPORT = Path(__file__).parent
LONGEST_WAIT = 300.0

HANG = 10
"""Seconds after which what hangs is given up. What is right takes one, and has all of these on a busy machine."""


def apart(text: str, limits: Limits | None = None, kind: SubjectKind = SubjectKind.BACKEND) -> Subject:
    """A subject in a process of its own."""
    return StartingSubjects([SubjectName.of(text, kind)], limits or Limits(30), {}).subjects()[0]


def harness(name: str) -> str:
    """The text that names one of the harnesses that break the protocol."""
    return f"exec:{sys.executable} {SUPPORT / 'exec_faults.py'} {name}"


def processes_in(directory: Path) -> list[int]:
    """The processes whose environment tells of a directory, as every subject's does of its scratch directory."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            if str(directory).encode() in entry.read_bytes():
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


def until(condition: Callable[[], bool]) -> bool:
    """Wait for a condition; whether it came about."""
    deadline = time.monotonic() + LONGEST_WAIT
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
