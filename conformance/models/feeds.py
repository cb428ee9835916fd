"""What a model declares of its inputs and outputs, and feeds held against it: several runtimes accept wrong ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.models.arrays import Array, dtype_of, type_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import onnx


@dataclass(frozen=True)
class Declared:
    """An input as the model declares it.

    Attributes:
        dtype: None of an input that is no tensor.
        shape: None for a dimension that is open; None altogether where the rank is.
    """

    name: str
    dtype: np.dtype[np.generic] | None
    shape: tuple[int | None, ...] | None

    @classmethod
    def of(cls, value: onnx.ValueInfoProto) -> Declared:
        """Read a graph input."""
        if not value.type.HasField("tensor_type"):
            return cls(value.name, None, None)
        tensor = value.type.tensor_type
        sizes = tuple(size.dim_value if size.HasField("dim_value") else None for size in tensor.shape.dim)
        return cls(value.name, dtype_of(tensor.elem_type), sizes if tensor.HasField("shape") else None)

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


@dataclass(frozen=True)
class Signature:
    """The inputs of a model that are to be fed, and the names of its outputs, in the graph's order."""

    inputs: tuple[Declared, ...]
    outputs: tuple[str, ...]

    @classmethod
    def of(cls, model: onnx.ModelProto) -> Signature:
        """Read a model; an input with an initializer is not fed."""
        held = {tensor.name for tensor in model.graph.initializer}
        inputs = tuple(Declared.of(value) for value in model.graph.input if value.name not in held)
        return cls(inputs, tuple(value.name for value in model.graph.output))

    def feeds(self, inputs: Sequence[Array]) -> dict[str, Array]:
        """The inputs by name.

        Raises:
            ValueError: their number, or the type or shape of one, is not as the model declares.
        """
        if len(inputs) != len(self.inputs):
            raise ValueError(f"{len(inputs)} inputs are given, but the model declares {len(self.inputs)}")
        for declared, array in zip(self.inputs, inputs, strict=True):
            declared.check(array)
        return {declared.name: array for declared, array in zip(self.inputs, inputs, strict=True)}
