"""Backends: anything with ONNX's own interface, and the adapters for those that have none.

A backend is an object (a module or a class) with `prepare(model, device) → rep`, where `rep.run(inputs)` returns the
outputs in order: `onnx.backend.base.Backend`. It says that it cannot run a model by raising
`onnx.backend.test.runner.BackendIsNotSupposedToImplementIt`, `NotImplementedError` or `Unsupported`, at load or run.
"""

from __future__ import annotations

LONGEST_MESSAGE = 2000


class Told(Exception):
    """What a subject said of its failure, in its own words: they are told as they are, without this class's name."""


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
    return printable(text if isinstance(error, Told) else f"{type(error).__name__}: {text}")


def printable(message: str) -> str:
    """A message of bounded length, without halves of surrogate pairs."""
    return message[:LONGEST_MESSAGE].encode(errors="backslashreplace").decode()[:LONGEST_MESSAGE]


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001
        return "(its message cannot be read)"
