"""TVM on the CPU, by its Relax importer for ONNX and its virtual machine."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import tvm
from onnx.backend.base import Backend, BackendRep
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

from conformance.models.feeds import Signature
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx

    from conformance.models.arrays import Array


_UNKNOWN_TYPE = "unknown dtype"


class PreparedMachine(BackendRep):
    """A virtual machine with a compiled model."""

    def __init__(self, signature: Signature, machine: relax.VirtualMachine) -> None:
        self._signature = signature
        self._machine = machine

    def run(self, inputs: Sequence[Array], **_: Any) -> tuple[Array, ...]:
        """The outputs for inputs in the graph's order."""
        feeds = self._signature.feeds(inputs)
        found = self._machine["main"](*(tvm.runtime.tensor(array) for array in feeds.values()))
        outputs = [found] if isinstance(found, tvm.runtime.Tensor) else found
        return tuple(output.numpy() for output in outputs)


class TvmBackend(Backend):
    """Runs models by TVM, compiled by its LLVM."""

    __version__ = tvm.__version__

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> PreparedMachine:
        """Convert and compile a model.

        Raises:
            Unsupported: TVM has no conversion for an operator, or no such type.
        """
        try:
            with warnings.catch_warnings(action="ignore"):
                module = from_onnx(model, keep_params_in_input=False)
        except (tvm.error.OpNotImplemented, ValueError) as error:
            if isinstance(error, ValueError) and _UNKNOWN_TYPE not in str(error):
                raise
            raise Unsupported(str(error)) from None
        compiled = tvm.compile(module, target="llvm")
        return PreparedMachine(Signature.of(model), relax.VirtualMachine(compiled, tvm.cpu()))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether this is the CPU."""
        return device == "CPU"
