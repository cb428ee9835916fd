"""Backends named for the exception that they raise; some exceptions mean that a model is not supported."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import fake_backends
from fake_backends import AlwaysRight
from onnx.backend.test.runner import BackendIsNotSupposedToImplementIt

if TYPE_CHECKING:
    import onnx


class RaisesOnPrepare(AlwaysRight):
    def __init__(self, model: onnx.ModelProto) -> None:
        raise ValueError("cannot read this model")


class RaisesOnRun(AlwaysRight):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        raise ValueError("cannot run this model")


class RaisesOnSecondRun(AlwaysRight):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        if self.runs:
            raise ValueError("has run before")
        return outputs


class ExitsOnPrepare(AlwaysRight):
    def __init__(self, model: onnx.ModelProto) -> None:
        sys.exit(0)


class ExitsOnRun(AlwaysRight):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        sys.exit(0)


class Panic(BaseException):
    """An exception like a Rust panic in Python: not derived from Exception."""


class PanicsOnRun(AlwaysRight):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        raise Panic("index out of range")


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class RaisesUnprintable(AlwaysRight):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        raise UnprintableError


class RaisesAtLength(AlwaysRight):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        raise ValueError("long " * 10_000)


class RaisesStrangeText(AlwaysRight):
    """Raises a message with line separators, a NUL and half of a surrogate pair."""

    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        raise ValueError("one\u2028two\x85three\x0bfour\x00five\udcffsix\nseven<script>")


class SaysNotSupposedTo(AlwaysRight):
    def __init__(self, model: onnx.ModelProto) -> None:
        raise BackendIsNotSupposedToImplementIt("no such operator")


class SaysNotImplemented(AlwaysRight):
    def __init__(self, model: onnx.ModelProto) -> None:
        raise NotImplementedError("no such operator")


class Unsupported(Exception):
    """The exception of a runtime for unsupported models."""


class SaysUnsupported(AlwaysRight):
    def __init__(self, model: onnx.ModelProto) -> None:
        raise Unsupported("no such operator")


class SaysUnsupportedOnRun(AlwaysRight):
    def answer(self, inputs: Any, outputs: list[Any]) -> Any:
        raise Unsupported("no such type")


class SupportsOnlyAdam(AlwaysRight):
    def __init__(self, model: onnx.ModelProto) -> None:
        if any(node.op_type != "Adam" for node in model.graph.node):
            raise Unsupported("Adam only")
        super().__init__(model)


def every_fake() -> list[Any]:
    """Return every backend of this module and of `fake_backends`."""
    modules = (fake_backends, sys.modules[__name__])
    own = [
        one for module in modules for one in vars(module).values() if getattr(one, "__module__", "") == module.__name__
    ]
    return [one for one in own if hasattr(one, "prepare")]
