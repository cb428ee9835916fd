"""PyTorch on the CPU: onnx2torch converts the model to a torch.fx module."""

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

from .server import Adapter, raise_unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .server import Array


_UNSUPPORTED_TEXTS = ("Converter is not implemented", "not implemented for")


def _replace_torchvision() -> None:
    """Replace torchvision by an empty module, to save disk space and time.

    onnx2torch imports it for two operators that do not occur in any case.
    """
    if "torchvision" in sys.modules or find_spec("torchvision"):
        return
    vision, ops = ModuleType("torchvision"), ModuleType("torchvision.ops")
    vision.ops, ops.roi_align = ops, None  # type: ignore[attr-defined]
    sys.modules |= {"torchvision": vision, "torchvision.ops": ops}


_replace_torchvision()

from onnx2torch import convert  # noqa: E402 - it imports torchvision

torch.set_num_threads(1)


def _to_tensor(array: Array) -> torch.Tensor:
    """Return a copy of an array as a PyTorch tensor; bfloat16 is converted separately, because PyTorch rejects it."""
    if array.dtype.name == "bfloat16":
        return torch.tensor(array.view(np.int16)).view(torch.bfloat16)
    return torch.tensor(array)


def _to_array(tensor: torch.Tensor) -> Array:
    if tensor.dtype == torch.bfloat16:
        return np.asarray(tensor.view(torch.int16).numpy()).view(ml_dtypes.bfloat16)
    return np.array(tensor.numpy())


class PreparedModule:
    """A torch.fx module."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """Run the model, and return the outputs in the graph's order.

        Raises:
            Unsupported: PyTorch has no kernel for an operator with the type.
        """
        with torch.inference_mode(), raise_unsupported(_UNSUPPORTED_TEXTS, RuntimeError, TypeError):
            found = self._module(*(_to_tensor(array) for array in feeds.values()))
        return tuple(_to_array(output) for output in ([found] if isinstance(found, torch.Tensor) else found))


class Onnx2TorchBackend(Adapter):
    """Backend that runs models with onnx2torch and PyTorch."""

    __version__ = f"{version('onnx2torch')} (torch {torch.__version__})"

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", **_: Any) -> PreparedModule:
        """Convert a model.

        Raises:
            Unsupported: onnx2torch has no conversion for an operator.
        """
        with raise_unsupported(_UNSUPPORTED_TEXTS, RuntimeError, TypeError):
            return PreparedModule(convert(onnx.load_model_from_string(model)).eval())
