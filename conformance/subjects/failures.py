"""Exceptions for failures of subjects, their messages, and `is_unsupported`."""

from __future__ import annotations

from conformance.verdicts import Phase, Verdict

MESSAGE_LIMIT = 2000
"""Characters of a subject's message that results keep."""


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


UNSUPPORTED_CLASSES = {"BackendIsNotSupposedToImplementIt", "NotImplemented", "NotImplementedError", "Unsupported"}

_NOT_REGISTERED_TEXT = "is not a registered function/op"
"""Text of an error of `onnxruntime.backend` for an unsupported operator; that module needs no adapter."""


def is_unsupported(error: BaseException) -> bool:
    """Return whether an exception of a subject means that the subject does not support the model.

    Classes are compared by name, so that no runtime or test module has to be imported.
    """
    is_known = any(cls.__name__ in UNSUPPORTED_CLASSES for cls in type(error).__mro__)
    return is_known or (type(error).__name__ == "Fail" and _NOT_REGISTERED_TEXT in _message_of(error))


def format_exception(error: BaseException) -> str:
    """Return class and message of a subject's exception as text of limited length that can be encoded as UTF-8."""
    text = _message_of(error)
    message = text if isinstance(error, SubjectFailure) else f"{type(error).__name__}: {text}"
    return message[:MESSAGE_LIMIT].encode(errors="backslashreplace").decode()[:MESSAGE_LIMIT]


def _message_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001
        return "(its message cannot be read)"
