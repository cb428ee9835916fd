"""What can go wrong for a user, in their words: every error names the thing, says what is wrong and what to do.

Each stage of a run raises its own class. All end a command with exit status 2; none is ever a verdict on a subject.
A subject's own failures are verdicts (see `conformance.verdicts`) and never pass through here.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class ExitStatus(IntEnum):
    """How a command ends; docs/ci.md and `--help` have the same table."""

    HOLDS = 0
    FAILS = 1
    USAGE = 2
    FAULT = 3
    INTERRUPTED = 130

    @property
    def meaning(self) -> str:
        """What it says, in a line."""
        return _MEANINGS[self]


_MEANINGS = {
    ExitStatus.HOLDS: "the gate holds, or nothing is found that differs",
    ExitStatus.FAILS: "the gate does not hold, or something is found",
    ExitStatus.USAGE: "the command line, the corpus or a file is wrong",
    ExitStatus.FAULT: "a fault of the suite itself",
    ExitStatus.INTERRUPTED: "interrupted",
}


class SuiteFault(Exception):
    """Something broke down that is the suite's own to mend; a command ends with `ExitStatus.FAULT`."""


class ConformanceError(Exception):
    """A command cannot go on, and its user can mend that.

    Args:
        problem: one sentence that names the thing and says what is wrong with it.
        mend: one sentence that says what to do.
    """

    def __init__(self, problem: str, mend: str) -> None:
        super().__init__(problem, mend)
        self.problem = problem
        self.mend = mend

    def __str__(self) -> str:
        return f"{self.problem}\n{self.mend}"


class UsageError(ConformanceError):
    """The command line asks for something that does not exist or does not fit together."""


class UnknownName(UsageError):
    """A case, backend, generator or clause of that name does not exist."""


class CorpusError(ConformanceError):
    """The corpus is missing, incomplete, altered or not a corpus; nothing may be judged by it."""


class CaseError(ConformanceError):
    """A generator defines a case that the oracle cannot stand for."""


class ModelError(ConformanceError):
    """A user's model cannot be read, or cannot be rewritten."""


class SubjectError(ConformanceError):
    """A subject cannot be imported or does not have ONNX's backend interface."""


class ResultsError(ConformanceError):
    """A results file is missing, truncated, foreign or contradicts itself."""


class CampaignError(ConformanceError):
    """A campaign cannot begin or go on: its workers, its scheduler or its state are not there, or not fit for it."""


class ExpectationsError(ConformanceError):
    """An expectations file cannot be read or does not have the expected form."""


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """What to do about a name that there is not: take the nearest, if one is near, or else what is said."""
    close = nearest(name, known)
    return f"Did you mean {close}?" if close else otherwise


def nearest(name: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The name that is most like another, if one is.

    Args:
        likeness: how like it has to be, from 0 to 1.
    """
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, sorted(known), n=1, cutoff=likeness)), None)
