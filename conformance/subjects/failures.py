"""Exceptions for failures of subjects, and their messages."""

from __future__ import annotations

from conformance.verdicts import Phase, Verdict


class SubjectFailure(Exception):
    """A subject failed to return outputs. The message is the subject's own; the name of this class is not printed.

    Attributes:
        verdict: verdict of the case in which the failure happens.
        phase: phase in which the failure happened, if it is not the current phase of the case.
        is_rejection: whether the failure counts as rejecting an invalid model.
    """

    verdict = Verdict.ERROR
    phase: Phase | None = None
    is_rejection = False


def format_exception(error: BaseException) -> str:
    """Return class and message of a subject's exception as text of limited length that can be encoded as UTF-8."""
    from conformance.subjects.harness import message_of, shorten  # late: the harness imports NumPy

    text = message_of(error)
    return shorten(text if isinstance(error, SubjectFailure) else f"{type(error).__name__}: {text}")
