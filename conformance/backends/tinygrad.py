"""tinygrad on the CPU, by its `tinygrad.nn.onnx.OnnxRunner`: compiled by clang, or interpreted where there is none."""

from __future__ import annotations

import os
import shutil
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

os.environ.setdefault("DEV", "CPU" if shutil.which("clang") else "PYTHON")
os.environ.setdefault("CACHELEVEL", "0")  # compiled kernels are not kept on disk

from onnx.backend.base import Backend, BackendRep
from tinygrad import Tensor
from tinygrad.nn.onnx import OnnxRunner

from conformance.models.feeds import Signature
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx

    from conformance.models.arrays import Array

_SAYS_UNSUPPORTED = ("is not a valid Domain", "is not a valid OnnxDataType", "is not a valid AttributeType")


class PreparedRunner(BackendRep):
    """A runner of one model."""

    def __init__(self, signature: Signature, runner: OnnxRunner) -> None:
        self._signature = signature
        self._runner = runner

    def run(self, inputs: Sequence[Array], **_: Any) -> tuple[Array, ...]:
        """The outputs for inputs in the graph's order; it gets copies, since its optimizers assign to their inputs."""
        feeds = self._signature.feeds(inputs)
        outputs = self._runner({name: array.copy() for name, array in feeds.items()}).values()
        Tensor.realize(*outputs)
        return tuple(output.numpy() for output in outputs)


class TinygradBackend(Backend):
    """Runs models by tinygrad on its default device."""

    __version__ = version("tinygrad")

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> PreparedRunner:
        """Read a model; an operator it lacks raises NotImplementedError when it runs.

        Raises:
            Unsupported: it has a domain, a type or a kind of attribute that tinygrad does not know.
        """
        try:
            return PreparedRunner(Signature.of(model), OnnxRunner(Tensor(model.SerializeToString())))
        except ValueError as error:
            if any(text in str(error) for text in _SAYS_UNSUPPORTED):
                raise Unsupported(str(error)) from None
            raise

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether this is the CPU."""
        return device == "CPU"
