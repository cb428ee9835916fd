"""tinygrad on the CPU, by its `tinygrad.nn.onnx.OnnxRunner`: compiled by clang, or interpreted where there is none."""

from __future__ import annotations

import os
import shutil
from importlib.metadata import version
from subprocess import CalledProcessError
from typing import TYPE_CHECKING, Any

os.environ.setdefault("DEV", "CPU" if shutil.which(os.environ.get("CC", "clang")) else "PYTHON")
os.environ.setdefault("CACHELEVEL", "0")  # compiled kernels are not kept on disk

from tinygrad import Tensor
from tinygrad.nn.onnx import OnnxRunner

from .host import Adapter, Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .host import Array


_SAYS_UNSUPPORTED = ("is not a valid Domain", "is not a valid OnnxDataType", "is not a valid AttributeType")


class PreparedRunner:
    """A runner of one model."""

    def __init__(self, runner: OnnxRunner) -> None:
        self._runner = runner

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """The outputs in the graph's order; it gets copies, since its optimizers assign to their inputs.

        Raises:
            Unsupported: the compiler has no bfloat16, as clang before 17 has not.
        """
        try:
            outputs = self._runner({name: array.copy() for name, array in feeds.items()}).values()
            Tensor.realize(*outputs)
        except CalledProcessError as error:
            if any(array.dtype.name == "bfloat16" for array in feeds.values()):
                raise Unsupported(f"{error.cmd[0]} does not compile what is generated for bfloat16.") from None
            raise
        return tuple(output.numpy() for output in outputs)


class TinygradBackend(Adapter):
    """Runs models by tinygrad on its default device."""

    __version__ = version("tinygrad")

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", **_: Any) -> PreparedRunner:
        """Read a model; an operator it lacks raises NotImplementedError when it runs.

        Raises:
            Unsupported: it has a domain, a type or a kind of attribute that tinygrad does not know.
        """
        try:
            return PreparedRunner(OnnxRunner(Tensor(model)))
        except ValueError as error:
            if any(text in str(error) for text in _SAYS_UNSUPPORTED):
                raise Unsupported(str(error)) from None
            raise
