"""ONNX Runtime on the CPU."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime
from onnx.backend.base import Backend, BackendRep

from conformance.backends import Unsupported

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx

    from conformance.arrays import Array

_SAYS_UNSUPPORTED = ("is not a registered function/op", "Could not find an implementation for")


class PreparedSession(BackendRep):
    """A session of one model."""

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self._session = session
        self._names = [value.name for value in session.get_inputs()]

    def run(self, inputs: Sequence[Array], **_: Any) -> tuple[Array, ...]:
        """The outputs for inputs in the graph's order."""
        return tuple(self._session.run(None, dict(zip(self._names, inputs, strict=True))))


class OnnxRuntimeBackend(Backend):
    """Runs models by ONNX Runtime's CPU execution provider, with its default graph optimizations."""

    __version__ = onnxruntime.__version__

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> PreparedSession:
        """Start a session.

        Raises:
            Unsupported: ONNX Runtime has no kernel for an operator or type of the model.
        """
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        try:
            session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        except Exception as error:
            if any(text in str(error) for text in _SAYS_UNSUPPORTED):
                raise Unsupported(str(error)) from None
            raise
        return PreparedSession(session)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether this is the CPU."""
        return device == "CPU"
