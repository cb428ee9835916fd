"""OpenCV's dnn module on the CPU, by one of its engines: its new graph engine, the classic one, or the one it picks."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import onnx

from .host import Adapter, Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .host import Array


ENGINES = {"auto": cv2.dnn.ENGINE_AUTO, "new": cv2.dnn.ENGINE_NEW, "classic": cv2.dnn.ENGINE_CLASSIC}
"""By name; the packages of 5.0 are built without the fourth, ONNX Runtime, and would take another without a word."""

_SAYS_UNSUPPORTED = (
    "Can't create layer",
    "missing dispatch map",
    "Unsupported data type",
    "is not supported",
    "The function/feature is not implemented",
    "Unsupported operations",
    "upported for now",  # MatMul of double
)

_ITS_TYPES = {"bool", "float32", "float64", "int8", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "int16"}
"""Those of arrays that the Python package makes tensors of."""


class PreparedNet:
    """A network that was read."""

    def __init__(self, net: cv2.dnn.Net, outputs: Sequence[str]) -> None:
        self._net = net
        self._outputs = outputs

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """The outputs in the graph's order.

        Raises:
            Unsupported: OpenCV has no tensors of an input's type, or no kernel for what it comes to.
        """
        if held := [array.dtype for array in feeds.values() if array.dtype.name not in _ITS_TYPES]:
            raise Unsupported(f"OpenCV's Python package has no tensors of {held[0]}")
        try:
            for name, array in feeds.items():
                self._net.setInput(array, name)
            return tuple(self._net.forward(self._outputs))
        except cv2.error as error:
            raise _told(error) from None


def _told(error: cv2.error) -> Exception:
    """What OpenCV raised, as what it means."""
    text = str(error)
    return Unsupported(text) if any(said in text for said in _SAYS_UNSUPPORTED) else error


class OpenCvBackend(Adapter):
    """Runs models by OpenCV's dnn module."""

    __version__ = version("opencv-python-headless")

    @classmethod
    def check_options(cls, engine: str = "auto", **_: str) -> None:
        """Refuse an engine that this package does not have.

        Raises:
            ValueError: there is none of that name.
        """
        if engine not in ENGINES:
            raise ValueError(f"OpenCV has no engine {engine}", f"There are {', '.join(ENGINES)}.")

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", *, engine: str = "auto", **_: Any) -> PreparedNet:
        """Read a model.

        Raises:
            Unsupported: OpenCV has no layer for an operator; its new engine then gives an empty network.
        """
        try:
            net = cv2.dnn.readNetFromONNX(np.frombuffer(model, np.uint8), ENGINES[engine])
        except cv2.error as error:
            raise _told(error) from None
        if net.empty():
            raise Unsupported("OpenCV's new engine does not support an operation of the model")
        return PreparedNet(net, [output.name for output in onnx.load_from_string(model).graph.output])
