"""tract on the CPU, with its Python package: the model is read from a file, then typed and optimized."""

from __future__ import annotations

import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tract

from .server import Adapter, Unsupported, raise_unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .server import Array


_UNSUPPORTED_TEXTS = (
    "Unimplemented(",
    "Unknown DatumType",
    "unknown ONNX TensorProto.DataType",
    "has no type value",  # an input that is not a tensor
    "Source node without a determined fact",  # an input of unknown rank
)


class PreparedTractModel:
    """An optimized model."""

    def __init__(self, names: Sequence[str], runnable: tract.Runnable) -> None:
        self._names = names
        self._runnable = runnable

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """Run the model, and return the outputs in the graph's order.

        Raises:
            Unsupported: tract's Python package has no tensors of an input's type, or tract has made a constant of an
                input that has an initializer.
        """
        if fixed := [name for name in feeds if name not in self._names]:
            raise Unsupported(f"tract does not accept a value for input {fixed[0]}, which has an initializer")
        if others := [array.dtype for array in feeds.values() if array.dtype.kind not in "biuf"]:
            raise Unsupported(f"tract's Python package has no tensors of {others[0]}")
        outputs = self._runnable.run([feeds[name] for name in self._names])
        return tuple(output.to_numpy() for output in outputs)


def _load_model(path: Path) -> Any:
    """Read a model from a file; the function of tract for this differs between releases."""
    onnx = tract.onnx()
    return onnx.load(path) if hasattr(onnx, "load") else onnx.model_for_path(path)


class TractBackend(Adapter):
    """Backend that runs models with tract, including its optimizations."""

    __version__ = version("tract")

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", **_: Any) -> PreparedTractModel:
        """Read and optimize a model.

        Raises:
            Unsupported: tract does not support an operator or type, or needs the shape of an input.
        """
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "model.onnx"
            path.write_bytes(model)
            with raise_unsupported(_UNSUPPORTED_TEXTS, tract.TractError):
                read = _load_model(path)
                names = [read.input_name(i) for i in range(read.input_count())]
                into_model = getattr(read, "into_model", None) or read.into_optimized  # before 0.22: into_optimized
                runnable = into_model().into_runnable()
        return PreparedTractModel(names, runnable)
