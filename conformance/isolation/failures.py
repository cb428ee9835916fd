"""How a subject in a process of its own fails: each knows the verdict that it is."""

from __future__ import annotations

from conformance.backends import Told
from conformance.verdicts import Unsupported, Verdict


class Isolated(Told):
    """What became of a command instead of a good answer.

    Attributes:
        verdict: what a case in which it happens is judged as.
        phase: where it happened, if not in the phase that the case was in.
        is_rejection: whether the subject refused a model, as against having broken down on it.
    """

    verdict = Verdict.ERROR
    phase: str | None = None
    is_rejection = False


class Raised(Isolated):
    """The subject raised an error, which reads as it would in this process."""

    is_rejection = True


class Panicked(Isolated):
    """The subject raised what is no ordinary error: SystemExit, or a panic of a runtime written in Rust."""


class SaidUnsupported(Isolated, Unsupported):
    """The subject says that it has no such operator, type or opset."""

    verdict = Verdict.UNSUPPORTED


class Crashed(Isolated):
    """The subject's process ended before it answered."""

    verdict = Verdict.CRASH


class TimedOut(Isolated):
    """The subject did not answer in time."""

    verdict = Verdict.TIMEOUT


class SpokeNonsense(Isolated):
    """What the subject wrote is not the answer that the protocol asks for; the message shows it."""


class NotStarted(Isolated):
    """The subject's process failed to start, several times in a row."""

    phase = "start"
