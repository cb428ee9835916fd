"""tinygrad on the CPU, with `tinygrad.nn.onnx.OnnxRunner`: compiled by clang, or interpreted without clang."""

from __future__ import annotations

import os
import shutil
from importlib.metadata import version
from subprocess import CalledProcessError
from typing import TYPE_CHECKING, Any

from tinygrad import Tensor
from tinygrad.nn.onnx import OnnxRunner

from .server import Adapter, Unsupported, raise_unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .server import Array


os.environ.setdefault("DEV", "CPU" if shutil.which(os.environ.get("CC", "clang")) else "PYTHON")
os.environ.setdefault("CACHELEVEL", "0")  # no compiled kernels on disk


_UNSUPPORTED_TEXTS = ("is not a valid Domain", "is not a valid OnnxDataType", "is not a valid AttributeType")


class PreparedRunner:
    """A runner of one model."""

    def __init__(self, runner: OnnxRunner) -> None:
        self._runner = runner

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """Run the model, and return the outputs in the graph's order.

        The inputs are copied, because tinygrad's training operators assign to them.

        Raises:
            Unsupported: the compiler has no bfloat16; clang has it since version 17.
        """
        try:
            outputs = self._runner({name: array.copy() for name, array in feeds.items()}).values()
            Tensor.realize(*outputs)
        except CalledProcessError as error:
            if any(array.dtype.name == "bfloat16" for array in feeds.values()):
                raise Unsupported(f"{error.cmd[0]} does not compile the code for bfloat16.") from None
            raise
        return tuple(output.numpy() for output in outputs)


class TinygradBackend(Adapter):
    """Backend that runs models with tinygrad on its default device."""

    __version__ = version("tinygrad")

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", **_: Any) -> PreparedRunner:
        """Read a model. For an unsupported operator, tinygrad raises NotImplementedError only when the model runs.

        Raises:
            Unsupported: tinygrad does not support a domain, a type or a kind of attribute of the model.
        """
        with raise_unsupported(_UNSUPPORTED_TEXTS, ValueError):
            return PreparedRunner(OnnxRunner(Tensor(model)))
