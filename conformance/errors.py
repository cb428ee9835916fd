"""What can go wrong for a user, in their words: every error names the thing, says what is wrong and what to do.

Each stage of a run raises its own class. All end a command with exit status 2; none is ever a verdict on a subject.
A subject's own failures are verdicts (see `conformance.verdicts`) and never pass through here.
"""

from __future__ import annotations


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


class ExpectationsError(ConformanceError):
    """An expectations file cannot be read or does not have the expected form."""
