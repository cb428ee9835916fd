"""OpenVINO on the CPU, or on another of its devices. Its model converter would send telemetry, and is not used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openvino
from onnx.backend.base import Backend, BackendRep

from conformance.models.feeds import Signature
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx

    from conformance.models.arrays import Array

_SAYS_UNSUPPORTED = ("No conversion rule found for operations:", "Unsupported data type")

_SETTINGS = {"EXECUTION_MODE_HINT": "ACCURACY", "INFERENCE_NUM_THREADS": 1}
"""Without the hint, processors with such units compute float in bfloat16, and answers differ by machine."""


class PreparedModel(BackendRep):
    """A compiled model, of which OpenVINO leaves out the inputs that are not used."""

    def __init__(self, signature: Signature, used: Sequence[str], compiled: openvino.CompiledModel) -> None:
        self._signature = signature
        self._used = used
        self._compiled = compiled

    def run(self, inputs: Sequence[Array], **_: Any) -> tuple[Array, ...]:
        """The outputs for inputs in the graph's order, which is OpenVINO's too."""
        feeds = self._signature.feeds(inputs)
        found = self._compiled.create_infer_request().infer([_fed(feeds[name]) for name in self._used])
        return tuple(found[port].copy() for port in self._compiled.outputs)


def _fed(array: Array) -> Array | openvino.Tensor:
    """An array as OpenVINO's own tensor where it has no such array: it would read the bits of bfloat16 as float16's."""
    if array.dtype.name != "bfloat16":
        return array
    return openvino.Tensor(array.view("u2"), array.shape, openvino.Type.bf16)


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
            if any(text in str(error) for text in _SAYS_UNSUPPORTED):
                raise Unsupported(str(error)) from None
            raise
        signature = Signature.of(model)
        used = [declared.name for declared in signature.inputs]
        if len(read.inputs) < len(used):  # inputs that nothing reads are left out; else names may not be kept
            used = [parameter.get_friendly_name() for parameter in read.get_parameters()]
        return PreparedModel(signature, used, compiled)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether OpenVINO finds it on this machine."""
        return device in {"AUTO", *openvino.Core().available_devices}
