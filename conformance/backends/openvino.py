"""OpenVINO on the CPU, or on another of its devices, by `Core.read_model` and `compile_model`.

Only OpenVINO's own model converter sends telemetry, and it is not used here; the harness gives every child a HOME of
its own and refuses consent there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openvino
from onnx.backend.base import Backend, BackendRep

from conformance.backends import Unsupported
from conformance.backends.signature import Signature

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx

    from conformance.arrays import Array

_SAYS_UNSUPPORTED = "No conversion rule found for operations:"

_SETTINGS = {"EXECUTION_MODE_HINT": "ACCURACY", "INFERENCE_NUM_THREADS": 1}
"""Without the hint, processors with such units compute float in bfloat16, and answers differ by machine."""


class PreparedModel(BackendRep):
    """A compiled model."""

    def __init__(self, signature: Signature, names: Sequence[str], compiled: openvino.CompiledModel) -> None:
        self._signature = signature
        self._names = names
        self._compiled = compiled

    def run(self, inputs: Sequence[Array], **_: Any) -> tuple[Array, ...]:
        """The outputs for inputs in the graph's order, which is OpenVINO's too."""
        feeds = self._signature.feeds(inputs)
        found = self._compiled.create_infer_request().infer([feeds[name] for name in self._names])
        return tuple(found[port].copy() for port in self._compiled.outputs)


class OpenVinoBackend(Backend):
    """Runs models by OpenVINO."""

    __version__ = openvino.__version__.split("-")[0]

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> PreparedModel:
        """Read and compile a model.

        Raises:
            Unsupported: OpenVINO has no conversion for an operator.
        """
        core = openvino.Core()
        try:
            read = core.read_model(model.SerializeToString())
            compiled = core.compile_model(read, device, _SETTINGS)
        except RuntimeError as error:
            if _SAYS_UNSUPPORTED in str(error):
                raise Unsupported(str(error)) from None
            raise
        used = [port.any_name for port in read.inputs]  # compiling changes names; reading leaves out unused inputs
        return PreparedModel(Signature.of(model), used, compiled)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether OpenVINO finds it on this machine."""
        return device in {"AUTO", *openvino.Core().available_devices}
