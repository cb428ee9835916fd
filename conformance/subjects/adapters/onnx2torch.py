"""PyTorch on the CPU or with CUDA: onnx2torch converts the model to a torch.fx module."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import onnx
import torch

from .server import Adapter, DeviceLost, raise_unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .server import Array


_UNSUPPORTED_TEXTS = (
    "Converter is not implemented",
    "not implemented for",
    "Expected all tensors to be on the same device",
)
"""The last text is of modules with tensors on the CPU, which cannot run on another device."""

CPU, CUDA = "cpu", "cuda"
"""PyTorch's names of devices."""


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


def _to_tensor(array: Array, device: str) -> torch.Tensor:
    """Return a copy of an array on a device; bfloat16 is converted separately, because PyTorch rejects it."""
    if array.dtype.name == "bfloat16":
        return torch.tensor(array.view(np.int16)).view(torch.bfloat16).to(device)
    return torch.tensor(array).to(device)


def _to_array(tensor: torch.Tensor) -> Array:
    tensor = tensor.cpu()
    if tensor.dtype == torch.bfloat16:
        return np.asarray(tensor.view(torch.int16).numpy()).view(ml_dtypes.bfloat16)
    return np.array(tensor.numpy())


@contextmanager
def _detect_lost_device() -> Iterator[None]:
    """Convert errors of CUDA, after which each later call of CUDA in this process fails with the same error.

    Raises:
        DeviceLost: a kernel of the block failed.
    """
    try:
        yield
    except RuntimeError as error:
        if "CUDA error" in str(error):
            raise DeviceLost(str(error)) from None
        raise


class PreparedModule:
    """A torch.fx module on a device.

    Attributes:
        placement: number of nodes by device and operator, known after the first run; None on the CPU. A node counts
            for the device of each of its outputs, and so for two devices if one output was computed elsewhere.
    """

    def __init__(self, module: Any, device: str) -> None:
        self._module, self._device = module.to(device), device
        self.placement: dict[str, dict[str, int]] | None = None
        self._seen: dict[str, Counter[str]] = {}
        if device != CPU:
            for name, part in module.named_modules():
                if name:
                    part.register_forward_hook(self._record)

    def _record(self, part: Any, _: Any, outputs: Any) -> None:
        """Count the devices of a node's outputs; torch calls this after each node of the model, which is a module."""
        tensors = outputs if isinstance(outputs, list | tuple) else [outputs]
        for device in {each.device.type for each in tensors if isinstance(each, torch.Tensor)}:
            self._seen.setdefault(device, Counter())[type(part).__name__.removeprefix("Onnx")] += 1

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """Run the model, and return the outputs in the graph's order.

        Raises:
            Unsupported: PyTorch has no kernel for an operator with the type, or onnx2torch mixes devices.
            DeviceLost: a kernel failed, for example because an index is out of range.
        """
        with _detect_lost_device():
            return self._run(feeds)

    def _run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        self._seen.clear()
        with torch.inference_mode(), raise_unsupported(_UNSUPPORTED_TEXTS, RuntimeError, TypeError):
            found = self._module(*(_to_tensor(array, self._device) for array in feeds.values()))
        outputs = [found] if isinstance(found, torch.Tensor) else found
        if self._device != CPU:
            self.placement = {device: dict(counts) for device, counts in self._seen.items()}
        return tuple(_to_array(output) for output in outputs)


class Onnx2TorchBackend(Adapter):
    """Backend that runs models with onnx2torch and PyTorch."""

    __version__ = f"{version('onnx2torch')} (torch {torch.__version__})"

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Return whether PyTorch finds the device: `cuda`."""
        return device == "CPU" or (device == CUDA and torch.cuda.is_available())

    @classmethod
    def required_provider(cls, device: str = "CPU", **_: str) -> str | None:
        """Return the requested device, unless it is the CPU."""
        return None if device == "CPU" else device

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", **_: Any) -> PreparedModule:
        """Convert a model.

        Raises:
            Unsupported: onnx2torch has no conversion for an operator.
        """
        with raise_unsupported(_UNSUPPORTED_TEXTS, RuntimeError, TypeError):
            return PreparedModule(convert(onnx.load_model_from_string(model)).eval(), device.lower())
