"""A fact about a harness, and what came of looking at it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.harness_check.questions import Questions


class State(StrEnum):
    """What came of looking at a fact."""

    HOLDS = "holds"
    FAILS = "fails"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Fact:
    """Something that is true of a harness which keeps to the protocol.

    Attributes:
        text: the fact, as a sentence.
        mend: what to do where it does not hold.
        look: raises `Complaint` where it does not hold, and `Skip` where that cannot be told.
    """

    text: str
    mend: str
    look: Callable[[Questions], None]


@dataclass(frozen=True)
class FactOutcome:
    """A fact that was looked at.

    Attributes:
        text: the fact.
        state: whether it holds.
        why: what came instead, or why it was skipped.
        sent: the last command; empty where no one command is to blame.
        came: the last answer; likewise.
        mend: what to do.
    """

    text: str
    state: State
    why: str = ""
    sent: str = ""
    came: str = ""
    mend: str = ""
