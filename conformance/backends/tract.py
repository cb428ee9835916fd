"""tract on the CPU, by its Python package: ONNX read from a file, then its own typed and optimized graph."""

from __future__ import annotations

import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tract
from onnx.backend.base import Backend, BackendRep

from conformance.models.feeds import Signature
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx

    from conformance.models.arrays import Array

_SAYS_UNSUPPORTED = (
    "Unimplemented(",
    "Unknown DatumType",
    "unknown ONNX TensorProto.DataType",
    "has no type value",  # an input that is no tensor
    "Source node without a determined fact",  # an input whose rank is open
)


class PreparedModel(BackendRep):
    """An optimized model."""

    def __init__(self, signature: Signature, names: Sequence[str], runnable: tract.Runnable) -> None:
        self._signature = signature
        self._names = names
        self._runnable = runnable

    def run(self, inputs: Sequence[Array], **_: Any) -> tuple[Array, ...]:
        """The outputs for inputs in the graph's order.

        Raises:
            Unsupported: tract's Python package has no tensors of an input's type.
        """
        feeds = self._signature.feeds(inputs)
        if held := [array.dtype for array in inputs if array.dtype.kind not in "biuf"]:
            raise Unsupported(f"tract's Python package has no tensors of {held[0]}")
        outputs = self._runnable.run([feeds[name] for name in self._names])
        return tuple(output.to_numpy() for output in outputs)


class TractBackend(Backend):
    """Runs models by tract, with its optimizations."""

    __version__ = version("tract")

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> PreparedModel:
        """Read and optimize a model.

        Raises:
            Unsupported: tract has no such operator or type, or cannot do without the shape of an input.
        """
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "model.onnx"
            path.write_bytes(model.SerializeToString())
            try:
                read = tract.onnx().load(path)
                names = [read.input_name(i) for i in range(read.input_count())]
                runnable = read.into_model().into_runnable()
            except tract.TractError as error:
                if any(text in str(error) for text in _SAYS_UNSUPPORTED):
                    raise Unsupported(str(error)) from None
                raise
        return PreparedModel(Signature.of(model), names, runnable)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether this is the CPU."""
        return device == "CPU"
