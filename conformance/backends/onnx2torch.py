"""PyTorch on the CPU, by onnx2torch's conversion of a model to a torch.fx module."""

from __future__ import annotations

import sys
from importlib.metadata import version
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import onnx
import torch

from .host import Adapter, saying_unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .host import Array


_SAYS_UNSUPPORTED = ("Converter is not implemented", "not implemented for")


def _stand_in_for_torchvision() -> None:
    """onnx2torch imports torchvision for two operators of object detection; no case has them, and it is large."""
    if "torchvision" in sys.modules or find_spec("torchvision"):
        return
    vision, ops = ModuleType("torchvision"), ModuleType("torchvision.ops")
    vision.ops, ops.roi_align = ops, None  # type: ignore[attr-defined]
    sys.modules |= {"torchvision": vision, "torchvision.ops": ops}


_stand_in_for_torchvision()

from onnx2torch import convert  # noqa: E402 - it needs the stand-in

torch.set_num_threads(1)


def _tensor(array: Array) -> torch.Tensor:
    """A copy; PyTorch does not know NumPy's bfloat16."""
    if array.dtype.name == "bfloat16":
        return torch.tensor(array.view(np.int16)).view(torch.bfloat16)
    return torch.tensor(array)


def _array(tensor: torch.Tensor) -> Array:
    if tensor.dtype == torch.bfloat16:
        return np.asarray(tensor.view(torch.int16).numpy()).view(ml_dtypes.bfloat16)
    return np.array(tensor.numpy())


class PreparedModule:
    """A torch.fx module."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """The outputs in the graph's order.

        Raises:
            Unsupported: PyTorch has no kernel for an operator and a type.
        """
        with torch.inference_mode(), saying_unsupported(_SAYS_UNSUPPORTED, RuntimeError, TypeError):
            found = self._module(*(_tensor(array) for array in feeds.values()))
        return tuple(_array(output) for output in ([found] if isinstance(found, torch.Tensor) else found))


class Onnx2TorchBackend(Adapter):
    """Runs models by onnx2torch and PyTorch."""

    __version__ = f"{version('onnx2torch')} (torch {torch.__version__})"

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", **_: Any) -> PreparedModule:
        """Convert a model.

        Raises:
            Unsupported: onnx2torch has no conversion for an operator.
        """
        with saying_unsupported(_SAYS_UNSUPPORTED, RuntimeError, TypeError):
            return PreparedModule(convert(onnx.load_model_from_string(model)).eval())
