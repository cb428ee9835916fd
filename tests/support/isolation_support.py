"""Helpers for tests of isolation: isolated subjects, and a search for remaining processes."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from repository import exec_subject

from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.isolation.protocol import Limits
from conformance.subjects.isolation.start_subjects import StartingSubjects

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.subjects.calling.subject_names import Subject

SUPPORT = Path(__file__).parent
LONGEST_WAIT = 300.0

HANG = 4
"""Seconds after which what hangs is given up. What is right takes one, and has all of these on a busy machine."""


def isolated_subject(text: str, limits: Limits | None = None, kind: SubjectKind = SubjectKind.BACKEND) -> Subject:
    """Return an isolated subject."""
    return StartingSubjects([SubjectName.parse(text, kind)], limits or Limits(30), {}).subjects()[0]


def faulty_harness(name: str) -> str:
    """Return the name of a subject for one of the faulty harnesses."""
    return exec_subject(sys.executable, SUPPORT / "fake_harness.py", name)


def processes_in(directory: Path) -> list[int]:
    """Return the processes with this directory in their environment, as every subject has its scratch directory."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            if str(directory).encode() in entry.read_bytes():
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


def wait_until(condition: Callable[[], bool]) -> bool:
    """Wait for a condition; return whether it became true."""
    deadline = time.monotonic() + LONGEST_WAIT
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
