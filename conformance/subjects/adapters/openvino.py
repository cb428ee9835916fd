"""OpenVINO, on the CPU or another device. The model converter of OpenVINO is not used, because it sends telemetry."""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import openvino

from .server import Adapter, Unsupported, ml_dtype, packed, unpacked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .server import Array


_UNSUPPORTED_TEXTS = (
    "No conversion rule found for operations:",
    "OpenVINO does not support the following ONNX operations:",
    "Unsupported data type",
    "unsupported data type",
    "CPU plug-in doesn't support If operation with dynamic rank",
)
"""The second text is of releases up to 2025.1, the fourth of releases before 2023.1, and the last of 2023 and 2024."""

_INVALID_PLACEHOLDER = "While validating node 'util::NotSupportedONNXNode "
"""Text of an error about the placeholder of an operator that OpenVINO did not convert."""

_FAILED_CONVERSIONS = re.compile(r"^-- Conversion is failed for: (.+)$", re.MULTILINE)
"""The line of a message that lists the operators whose conversion exists and raised an error: `Loop-13, TopK-11`."""

_CONTROL_FLOW = {"If", "Loop", "Scan"}
"""Operators with bodies."""

_DATA_NODE_TYPES = {"Const", "Constant", "Input", "Output", "Parameter", "Result"}
"""Types of nodes that only hold or pass data; they do not count for the placement."""

_API: Any = openvino if hasattr(openvino, "Core") else import_module("openvino.runtime")
"""The module with the classes of OpenVINO; before release 2023.1 it is `openvino.runtime`."""

_COMPILE_OPTIONS = {"EXECUTION_MODE_HINT": "ACCURACY", "INFERENCE_NUM_THREADS": 1}
"""Without the hint, OpenVINO computes float in bfloat16 on processors that support it."""


def is_unsupported(message: str) -> bool:
    """Return whether a message of OpenVINO says that it has no conversion for an operator or a type.

    A body is converted with placeholders for such operators. If the shapes around a placeholder change, the conversion
    of the Loop fails with an error about the placeholder, before the operator is reported. An operator whose own
    conversion raised has a placeholder too, but is listed among the failed conversions, and its error stays an error.
    """
    if any(text in message for text in _UNSUPPORTED_TEXTS):
        return True
    failed = [one.partition("-")[0] for line in _FAILED_CONVERSIONS.findall(message) for one in line.split(", ")]
    return _INVALID_PLACEHOLDER in message and bool(failed) and _CONTROL_FLOW.issuperset(failed)


class PreparedOpenVinoModel:
    """A compiled model; inputs of the graph that no node uses are not inputs of the compiled model.

    Attributes:
        placement: number of nodes of OpenVINO's graph by device and type; None if the device is the CPU.
    """

    def __init__(self, model: openvino.Model, compiled: openvino.CompiledModel, device: str) -> None:
        self._parameters = [parameter.get_friendly_name() for parameter in model.get_parameters()]
        self._constants = {each.get_friendly_name() for each in model.get_ops() if each.get_type_name() == "Constant"}
        self._compiled = compiled
        self.placement = None if device == "CPU" else _placement(compiled, device)

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """Run the model, and return the outputs in the graph's order.

        Raises:
            Unsupported: OpenVINO has made a constant of an input that has an initializer.
        """
        if fixed := [name for name in feeds if name in self._constants and name not in self._parameters]:
            raise Unsupported(f"OpenVINO does not accept a value for input {fixed[0]}, which has an initializer")
        used = self._parameters if len(self._parameters) < len(feeds) else feeds  # otherwise the names may differ
        found = self._compiled.create_infer_request().infer([_to_input(feeds[name]) for name in used])
        return tuple(_to_output(port, found[port]) for port in self._compiled.outputs)


_WRAPPED_TYPES = {
    "bf16": ("bfloat16", 16),
    "f8e4m3": ("float8_e4m3fn", 8),
    "f8e5m2": ("float8_e5m2", 8),
    "f8e8m0": ("float8_e8m0fnu", 8),
    "f4e2m1": ("float4_e2m1fn", 4),
    "i4": ("int4", 4),
    "u4": ("uint4", 4),
    "u2": ("uint2", 2),
}
"""Types that OpenVINO returns as arrays of another type with the same bits: the name in ml_dtypes, and the bits."""

_WRAPPED_NAMES = {dtype: (name, bits) for name, (dtype, bits) in _WRAPPED_TYPES.items()}


def _to_input(array: Array) -> Array | openvino.Tensor:
    """Return an input in a form that OpenVINO accepts: a tensor for types that NumPy lacks, otherwise the array itself.

    OpenVINO would read a bfloat16 array as float16.

    Raises:
        Unsupported: this release does not have the type.
    """
    if array.dtype.name not in _WRAPPED_NAMES:
        return array
    name, bits = _WRAPPED_NAMES[array.dtype.name]
    if not hasattr(_API.Type, name):
        raise Unsupported(f"this release of OpenVINO has no type {name}")
    content = np.frombuffer(packed(array, bits), "u2" if bits > _BITS_OF_BYTE else "u1")
    return _API.Tensor(content, array.shape, getattr(_API.Type, name))


_BITS_OF_BYTE = 8


def _to_output(port: openvino.ConstOutput, array: Array) -> Array:
    """Return a copy of an output, in the type that OpenVINO states: its arrays of some types have another type."""
    name = port.get_element_type().get_type_name()
    if name not in _WRAPPED_TYPES:
        return array.copy()
    dtype, bits = _WRAPPED_TYPES[name]
    shape = array.shape
    if bits < _BITS_OF_BYTE and port.get_partial_shape().is_static:  # the array has the shape of the bytes
        shape = tuple(port.get_shape())
    return unpacked(array.tobytes(), ml_dtype(dtype), shape, bits).copy()


def _placement(compiled: openvino.CompiledModel, device: str) -> dict[str, dict[str, int]] | None:
    """Return the number of nodes by device and type; None if several devices execute the model.

    OpenVINO does not report which device runs which node.
    """
    devices = compiled.get_property("EXECUTION_DEVICES")
    if len(devices) != 1:
        return None
    kinds = [node.get_rt_info()["layerType"].astype(str) for node in compiled.get_runtime_model().get_ops()]
    counts = Counter(kind for kind in sorted(kinds) if kind not in _DATA_NODE_TYPES)
    return {device if devices[0].partition(".")[0] == device else devices[0]: dict(counts)}  # GPU.0 counts as GPU


class OpenVinoBackend(Adapter):
    """Backend that runs models with OpenVINO."""

    __version__ = (getattr(openvino, "__version__", "") or version("openvino")).split("-")[0]

    @classmethod
    def required_provider(cls, device: str = "", **_: str) -> str | None:
        """Return the requested device.

        Return None for AUTO, which may choose a device, and for the CPU, for which there is no fallback.
        """
        return device if device not in {"", "AUTO", "CPU"} else None

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", **_: Any) -> PreparedOpenVinoModel:
        """Read and compile a model.

        Raises:
            Unsupported: OpenVINO has no conversion for an operator.
        """
        core = _API.Core()
        try:
            read = core.read_model(model)
            compiled = core.compile_model(read, device, _COMPILE_OPTIONS)
        except RuntimeError as error:
            if is_unsupported(str(error)):
                raise Unsupported(str(error)) from None
            raise
        return PreparedOpenVinoModel(read, compiled, device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Return whether OpenVINO finds the device on this machine."""
        return device in {"AUTO", *_API.Core().available_devices}
