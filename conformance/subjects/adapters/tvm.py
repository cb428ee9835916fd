"""TVM on the CPU, with its Relax importer for ONNX and its virtual machine."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

from .server import Adapter, Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .server import Array


_UNKNOWN_TYPE_TEXT = "unknown dtype"


class PreparedMachine:
    """A virtual machine with a compiled model."""

    def __init__(self, machine: relax.VirtualMachine) -> None:
        self._machine = machine

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """Run the model, and return the outputs in the graph's order."""
        found = self._machine["main"](*(tvm.runtime.tensor(array) for array in feeds.values()))
        outputs = [found] if isinstance(found, tvm.runtime.Tensor) else found
        return tuple(output.numpy() for output in outputs)


class TvmBackend(Adapter):
    """Backend that runs models with TVM, compiled with LLVM."""

    __version__ = tvm.__version__

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", **_: Any) -> PreparedMachine:
        """Convert and compile a model.

        Raises:
            Unsupported: TVM has no conversion for an operator, or does not support a type.
        """
        try:
            with warnings.catch_warnings(action="ignore"):
                module = from_onnx(onnx.load_model_from_string(model), keep_params_in_input=False)
        except (tvm.error.OpNotImplemented, ValueError) as error:
            if isinstance(error, ValueError) and _UNKNOWN_TYPE_TEXT not in str(error):
                raise
            raise Unsupported(str(error)) from None
        compiled = tvm.compile(module, target="llvm")
        return PreparedMachine(relax.VirtualMachine(compiled, tvm.cpu()))
