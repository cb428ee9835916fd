"""tract on the CPU, by its Python package: ONNX read from a file, then its own typed and optimized graph."""

from __future__ import annotations

import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tract

from .host import Adapter, Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .host import Array


_SAYS_UNSUPPORTED = (
    "Unimplemented(",
    "Unknown DatumType",
    "unknown ONNX TensorProto.DataType",
    "has no type value",  # an input that is no tensor
    "Source node without a determined fact",  # an input whose rank is open
)


class PreparedModel:
    """An optimized model."""

    def __init__(self, names: Sequence[str], runnable: tract.Runnable) -> None:
        self._names = names
        self._runnable = runnable

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """The outputs in the graph's order.

        Raises:
            Unsupported: tract's Python package has no tensors of an input's type.
        """
        if held := [array.dtype for array in feeds.values() if array.dtype.kind not in "biuf"]:
            raise Unsupported(f"tract's Python package has no tensors of {held[0]}")
        outputs = self._runnable.run([feeds[name] for name in self._names])
        return tuple(output.to_numpy() for output in outputs)


def _read(path: Path) -> Any:
    """A model as tract reads it from a file, by what its release has for that."""
    onnx = tract.onnx()
    return onnx.load(path) if hasattr(onnx, "load") else onnx.model_for_path(path)


class TractBackend(Adapter):
    """Runs models by tract, with its optimizations."""

    __version__ = version("tract")

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", **_: Any) -> PreparedModel:
        """Read and optimize a model.

        Raises:
            Unsupported: tract has no such operator or type, or cannot do without the shape of an input.
        """
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "model.onnx"
            path.write_bytes(model)
            try:
                read = _read(path)
                names = [read.input_name(i) for i in range(read.input_count())]
                into_model = getattr(read, "into_model", None) or read.into_optimized  # the second before 0.22
                runnable = into_model().into_runnable()
            except tract.TractError as error:
                if any(text in str(error) for text in _SAYS_UNSUPPORTED):
                    raise Unsupported(str(error)) from None
                raise
        return PreparedModel(names, runnable)
