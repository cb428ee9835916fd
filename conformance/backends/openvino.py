"""OpenVINO on the CPU, or on another of its devices. Its model converter would send telemetry, and is not used."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import openvino

from .host import Adapter, Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .host import Array


_SAYS_UNSUPPORTED = ("No conversion rule found for operations:", "Unsupported data type")

_NO_WORK = {"Const", "Constant", "Input", "Output", "Parameter", "Result"}
"""Kinds of nodes by which values come and go."""

_SETTINGS = {"EXECUTION_MODE_HINT": "ACCURACY", "INFERENCE_NUM_THREADS": 1}
"""Without the hint, processors with such units compute float in bfloat16, and answers differ by machine."""


class PreparedModel:
    """A compiled model, of which OpenVINO leaves out the inputs that are not used.

    Attributes:
        placement: how many nodes of OpenVINO's graph run on which device, where another one than the CPU was asked for.
    """

    def __init__(self, parameters: Sequence[str], compiled: openvino.CompiledModel, device: str) -> None:
        self._parameters = parameters
        self._compiled = compiled
        self.placement = None if device == "CPU" else _placement(compiled, device)

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """The outputs in the graph's order, which is OpenVINO's too."""
        used = self._parameters if len(self._parameters) < len(feeds) else feeds  # else names may not be kept
        found = self._compiled.create_infer_request().infer([_fed(feeds[name]) for name in used])
        return tuple(_given(port, found[port]) for port in self._compiled.outputs)


def _fed(array: Array) -> Array | openvino.Tensor:
    """An array as OpenVINO's own tensor where it has no such array: it would read the bits of bfloat16 as float16's."""
    if array.dtype.name != "bfloat16":
        return array
    return openvino.Tensor(array.view("u2"), array.shape, openvino.Type.bf16)


def _given(port: openvino.ConstOutput, array: Array) -> Array:
    """An output's own array; OpenVINO gives the bits of bfloat16 as float16."""
    if port.get_element_type() != openvino.Type.bf16:
        return array.copy()
    from ml_dtypes import bfloat16

    given: Array = array.view(bfloat16).copy()
    return given


def _placement(compiled: openvino.CompiledModel, device: str) -> dict[str, dict[str, int]] | None:
    """The nodes of a model that one device executes; which of several devices executes which is not known."""
    devices = compiled.get_property("EXECUTION_DEVICES")
    if len(devices) != 1:
        return None
    kinds = [node.get_rt_info()["layerType"].astype(str) for node in compiled.get_runtime_model().get_ops()]
    counts = Counter(kind for kind in sorted(kinds) if kind not in _NO_WORK)
    return {device if devices[0].partition(".")[0] == device else devices[0]: dict(counts)}  # GPU.0 is a GPU


class OpenVinoBackend(Adapter):
    """Runs models by OpenVINO."""

    __version__ = openvino.__version__.split("-")[0]

    @classmethod
    def asked_provider(cls, device: str = "", **_: str) -> str | None:
        """The device that is named; the CPU has nothing to fall back to, and AUTO may choose."""
        return device if device not in {"", "AUTO", "CPU"} else None

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", **_: Any) -> PreparedModel:
        """Read and compile a model.

        Raises:
            Unsupported: OpenVINO has no conversion for an operator.
        """
        core = openvino.Core()
        try:
            read = core.read_model(model)
            compiled = core.compile_model(read, device, _SETTINGS)
        except RuntimeError as error:
            if any(text in str(error) for text in _SAYS_UNSUPPORTED):
                raise Unsupported(str(error)) from None
            raise
        return PreparedModel([parameter.get_friendly_name() for parameter in read.get_parameters()], compiled, device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether OpenVINO finds it on this machine."""
        return device in {"AUTO", *openvino.Core().available_devices}
