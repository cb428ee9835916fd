"""Which inputs of a model are fed, and how what is given is held against what the model declares.

The one place that says so: for the oracle, the corpus, the judge, the reports and the adapters alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.models.arrays import Array, dtype_of, type_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import onnx


def fed_inputs(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    """A graph's inputs that a run must feed, in order: those that no initializer, dense or sparse, gives a value to."""
    defaults = {tensor.name for tensor in graph.initializer}
    defaults |= {tensor.values.name for tensor in graph.sparse_initializer}
    return [value for value in graph.input if value.name not in defaults]


def fed_names(graph: onnx.GraphProto) -> list[str]:
    """The names of the inputs that a run must feed, in order."""
    return [value.name for value in fed_inputs(graph)]


@dataclass(frozen=True)
class DeclaredInput:
    """An input as the model declares it.

    Attributes:
        dtype: None of an input that is no tensor, or whose type the installed onnx does not know.
        shape: None for a dimension that is open; None altogether where the rank is.
    """

    name: str
    dtype: np.dtype[np.generic] | None
    shape: tuple[int | None, ...] | None

    @classmethod
    def of(cls, value: onnx.ValueInfoProto) -> DeclaredInput:
        """Read a graph input."""
        if not value.type.HasField("tensor_type"):
            return cls(value.name, None, None)
        tensor = value.type.tensor_type
        sizes = tuple(size.dim_value if size.HasField("dim_value") else None for size in tensor.shape.dim)
        return cls(value.name, _known_dtype(tensor.elem_type), sizes if tensor.HasField("shape") else None)

    def check(self, array: Array) -> None:
        """Compare an array with the declaration.

        Raises:
            ValueError: it has another type or shape.
        """
        if self.dtype is not None and array.dtype != self.dtype:
            raise ValueError(f"input {self.name} is {array.dtype}, but the model declares {type_name(self.dtype)}")
        if self.shape is None:
            return
        fits = len(self.shape) == array.ndim
        if not fits or any(size not in {None, given} for size, given in zip(self.shape, array.shape, strict=True)):
            raise ValueError(f"input {self.name} has shape {array.shape}, but the model declares {self.shape}")


def _known_dtype(elem_type: int) -> np.dtype[np.generic] | None:
    try:
        return dtype_of(elem_type)
    except KeyError:
        return None


@dataclass(frozen=True)
class Feeds:
    """The inputs of a model that are to be fed, in the graph's order."""

    inputs: tuple[DeclaredInput, ...]

    @classmethod
    def of(cls, model: onnx.ModelProto) -> Feeds:
        """Read a model."""
        return cls(tuple(DeclaredInput.of(value) for value in fed_inputs(model.graph)))

    def by_name(self, inputs: Sequence[Array]) -> dict[str, Array]:
        """The inputs by name.

        Args:
            inputs: one for each that is to be fed, in the graph's order.

        Raises:
            ValueError: their number, or the type or shape of one, is not as the model declares.
        """
        if len(inputs) != len(self.inputs):
            raise ValueError(f"{len(inputs)} inputs are given, but the model declares {len(self.inputs)}")
        for declared, array in zip(self.inputs, inputs, strict=True):
            declared.check(array)
        return {declared.name: array for declared, array in zip(self.inputs, inputs, strict=True)}
