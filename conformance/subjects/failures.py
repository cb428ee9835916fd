"""What a subject raised, and what of it says that the subject cannot, as against that it failed."""

from __future__ import annotations

from conformance.verdicts import Verdict

LONGEST_MESSAGE = 2000


class SubjectFailure(Exception):
    """What became of a subject instead of a good answer, told in its own words, without this class's name.

    Attributes:
        verdict: what a case in which it happens is judged as.
        phase: where it happened, if not in the phase that the case was in.
        is_rejection: whether the subject refused a model, as against having broken down on it.
    """

    verdict = Verdict.ERROR
    phase: str | None = None
    is_rejection = False


_SAYS_UNSUPPORTED = {"BackendIsNotSupposedToImplementIt", "NotImplemented", "NotImplementedError", "Unsupported"}


_NOT_REGISTERED = "is not a registered function/op"
"""How `onnxruntime.backend`, which has ONNX's interface and needs no adapter, says that it has no such operator."""


def is_unsupported(error: BaseException) -> bool:
    """Whether what a subject raised says that it cannot, as against that it failed.

    Classes are known by their names, so that no runtime or test module is imported to look.
    """
    known = any(cls.__name__ in _SAYS_UNSUPPORTED for cls in type(error).__mro__)
    return known or (type(error).__name__ == "Fail" and _NOT_REGISTERED in _text(error))


def told(error: BaseException) -> str:
    """What a subject raised, as text that can be written anywhere."""
    text = _text(error)
    return printable(text if isinstance(error, SubjectFailure) else f"{type(error).__name__}: {text}")


def printable(message: str) -> str:
    """A message of bounded length, without halves of surrogate pairs."""
    return message[:LONGEST_MESSAGE].encode(errors="backslashreplace").decode()[:LONGEST_MESSAGE]


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001
        return "(its message cannot be read)"
