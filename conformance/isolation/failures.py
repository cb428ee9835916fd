"""How a subject in a process of its own fails: each knows the verdict that it is."""

from __future__ import annotations

from conformance.subjects.failures import SubjectFailure
from conformance.verdicts import Unsupported, Verdict


class Raised(SubjectFailure):
    """The subject raised an error, which reads as it would in this process."""

    is_rejection = True


class Panicked(SubjectFailure):
    """The subject raised what is no ordinary error: SystemExit, or a panic of a runtime written in Rust."""


class SaidUnsupported(SubjectFailure, Unsupported):
    """The subject says that it has no such operator, type or opset."""

    verdict = Verdict.UNSUPPORTED


class Crashed(SubjectFailure):
    """The subject's process ended before it answered."""

    verdict = Verdict.CRASH


class TimedOut(SubjectFailure):
    """The subject did not answer in time."""

    verdict = Verdict.TIMEOUT


class SpokeNonsense(SubjectFailure):
    """What the subject wrote is not the answer that the protocol asks for; the message shows it."""


class NotStarted(SubjectFailure):
    """The subject's process failed to start, several times in a row."""

    phase = "start"
