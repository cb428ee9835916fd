"""Exceptions for failures of subjects, their messages, and the call of a subject that tells them from own errors."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from conformance.base.errors import StorageError, SubjectError, SuiteFault
from conformance.base.verdicts import Phase, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


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
    from conformance.subjects.calling.harness import message_of, shorten  # late: the harness imports NumPy

    text = message_of(error)
    return shorten(text if isinstance(error, SubjectFailure) else f"{type(error).__name__}: {text}")


@contextmanager
def suite_code() -> Iterator[None]:
    """Raise `SuiteFault` for an exception of the block, which runs code of the suite alone.

    `call_subject` takes any other exception for an answer of the subject. So the suite's part of a call is in this
    block: a failure of the suite is never a verdict.
    """
    try:
        yield
    except (SubjectFailure, CaseEnded, StorageError, SubjectError, SuiteFault):
        raise
    except Exception as error:
        raise SuiteFault(f"{type(error).__name__}: {error}") from error


class CaseEnded(Exception):
    """Exception that ends a case before its last data set is compared; it has verdict, phase and message."""

    def __init__(self, verdict: Verdict, phase: Phase, message: str) -> None:
        super().__init__(verdict, phase, message)
        self.verdict = verdict
        self.phase = phase
        self.message = message


def call_subject(phase: Phase, call: Callable[[], Any]) -> Any:
    """Call a subject and return its answer; every failure of the subject is an answer too.

    Args:
        phase: `load`, `run` or `optimize`, for the outcome.
        call: function that calls the subject.

    Raises:
        CaseEnded: the subject raised an error or its process failed; the exception has the verdict.
        StorageError: the suite cannot write its files for the subject.
        SubjectError: the subject cannot be used at all.
        SuiteFault: the suite has an internal error.
    """
    from conformance.subjects.calling.harness import is_unsupported  # late: the harness imports NumPy

    try:
        return call()
    except (KeyboardInterrupt, StorageError, SubjectError, SuiteFault):
        raise  # not other errors of the suite: a subject in this process can be part of the suite
    except SubjectFailure as error:
        raise CaseEnded(error.verdict, error.phase or phase, format_exception(error)) from error
    except BaseException as error:  # also SystemExit, and panics of runtimes written in Rust
        verdict = Verdict.UNSUPPORTED if is_unsupported(error) else Verdict.ERROR
        raise CaseEnded(verdict, phase, format_exception(error)) from error


def call_running_subject(name: str, phase: Phase, call: Callable[[], Any]) -> Any:
    """Call a subject like `call_subject`, for a command whose answer is about a model and not about the start.

    Args:
        name: name of the subject, for the error.
        phase: `load`, `run` or `optimize`, for the outcome.
        call: function that calls the subject.

    Raises:
        CaseEnded, StorageError, SuiteFault: as for `call_subject`.
        SubjectError: the subject cannot be used at all, or its process does not start again.
    """
    try:
        return call_subject(phase, call)
    except CaseEnded as ended:
        if ended.phase != "start":
            raise
        raise SubjectError("not-started.request", name=name, message=ended.message) from None
