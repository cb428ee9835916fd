"""OpenCV's dnn module on the CPU, with the new engine, the classic engine, or the engine that OpenCV chooses."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import onnx

from .server import Adapter, Unsupported, raise_unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .server import Array


ENGINES = {"auto": cv2.dnn.ENGINE_AUTO, "new": cv2.dnn.ENGINE_NEW, "classic": cv2.dnn.ENGINE_CLASSIC}
"""Engines by name. The packages of 5.0 lack a fourth engine, ONNX Runtime, and silently use another engine instead."""

_UNSUPPORTED_TEXTS = (
    "Can't create layer",
    "missing dispatch map",
    "Unsupported data type",
    "is not supported",
    "The function/feature is not implemented",
    "Unsupported operations",
    "upported for now",  # MatMul of double
)

_TENSOR_TYPES = {"bool", "float32", "float64", "int8", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "int16"}
"""Types of arrays that OpenCV's Python package accepts."""


class PreparedNet:
    """A network that is ready to run."""

    def __init__(self, net: cv2.dnn.Net, outputs: Sequence[str]) -> None:
        self._net = net
        self._outputs = outputs

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """Run the model, and return the outputs in the graph's order.

        Raises:
            Unsupported: OpenCV has no tensors of an input's type, or no kernel for an operator.
        """
        if others := [array.dtype for array in feeds.values() if array.dtype.name not in _TENSOR_TYPES]:
            raise Unsupported(f"OpenCV's Python package has no tensors of {others[0]}")
        with raise_unsupported(_UNSUPPORTED_TEXTS, cv2.error):
            for name, array in feeds.items():
                self._net.setInput(array, name)
            return tuple(self._net.forward(self._outputs))


class OpenCvBackend(Adapter):
    """Backend that runs models with OpenCV's dnn module."""

    __version__ = version("opencv-python-headless")

    @classmethod
    def check_options(cls, engine: str = "auto", **_: str) -> None:
        """Check the option `engine`.

        Raises:
            ValueError: OpenCV has no engine of this name.
        """
        if engine not in ENGINES:
            raise ValueError(f"OpenCV has no engine {engine}.", f"Its engines are {', '.join(ENGINES)}.")

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", *, engine: str = "auto", **_: Any) -> PreparedNet:
        """Read a model.

        Raises:
            Unsupported: OpenCV has no layer for an operator; its new engine then returns an empty network.
        """
        with raise_unsupported(_UNSUPPORTED_TEXTS, cv2.error):
            net = cv2.dnn.readNetFromONNX(np.frombuffer(model, np.uint8), ENGINES[engine])
        if net.empty():
            raise Unsupported("OpenCV's new engine does not support an operation of the model")
        return PreparedNet(net, [output.name for output in onnx.load_from_string(model).graph.output])
