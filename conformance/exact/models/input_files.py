"""Initializers and inputs of an ONNX graph: constant tensors as arrays, and the inputs that a caller must supply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import (
    Array,
    array_of,
    dtype_of,
    has_element_type,
    item_type,
    tensor_of,
    type_name,
    type_text,
)
from conformance.exact.models.graphs import constant_names, copy_of, infer_shapes, is_operator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.exact.models.arrays import Value


MAX_DENSE_ELEMENTS = 1 << 24
"""Maximum number of elements of a sparse tensor after conversion to a dense array."""


def tensor_elements(tensor: onnx.TensorProto) -> Array:
    """Return a tensor's elements. If the installed onnx does not know the element type, return the raw bytes.

    Raises:
        Unsupported: the elements are in external data, or have no element type.
    """
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raise Unsupported("a tensor is in external data")
    if not has_element_type(tensor.data_type):
        raise Unsupported(f"a tensor has the element type {tensor.data_type}, which does not exist")
    if tensor.data_type not in helper.get_all_tensor_dtypes():
        return np.frombuffer(tensor.raw_data, dtype=np.uint8)
    return array_of(tensor)


def initializer_arrays(
    graph: onnx.GraphProto, read_dense: Callable[[onnx.TensorProto], Array] = tensor_elements
) -> dict[str, Array]:
    """Return a graph's initializers, dense and sparse, by name. Sparse tensors become dense arrays.

    Args:
        graph: the graph.
        read_dense: returns the elements of a dense initializer.

    Raises:
        Unsupported: an initializer is in external data, or a sparse one cannot be converted.
    """
    dense = {tensor.name: read_dense(tensor) for tensor in graph.initializer}
    return dense | {tensor.values.name: dense_array(tensor) for tensor in graph.sparse_initializer}


def constant_value(node: onnx.NodeProto) -> Array | None:
    """Return the result of a node of the operator Constant; None if it is no tensor of numbers.

    Raises:
        Unsupported: the elements are in external data.
    """
    for attribute in node.attribute:
        if attribute.name == "value":
            return tensor_elements(attribute.t)
        if attribute.name in ("value_float", "value_floats", "value_int", "value_ints"):
            type = np.float32 if attribute.name.startswith("value_float") else np.int64
            return np.asarray(helper.get_attribute_value(attribute), type)
    return None


def constant_node_values(graph: onnx.GraphProto) -> dict[str, Array]:
    """Return the results of the nodes of the operator Constant by name, as far as they are tensors of numbers.

    Raises:
        Unsupported: the elements are in external data.
    """
    values = {node.output[0]: constant_value(node) for node in graph.node if is_operator(node, "Constant")}
    return {name: value for name, value in values.items() if value is not None}


def dense_array(sparse: onnx.SparseTensorProto) -> Array:
    """Convert a sparse tensor to a dense array.

    Indices are either positions in row-major order or rows of coordinates.

    Raises:
        Unsupported: the dense array would be too large, or an index is out of range.
    """
    values = tensor_elements(sparse.values)
    indices = tensor_elements(sparse.indices)
    shape = tuple(sparse.dims)
    if np.prod(shape, dtype=object) > MAX_DENSE_ELEMENTS:
        raise Unsupported(f"a sparse tensor of shape {list(shape)} is too large")
    dense = np.zeros(shape, dtype=values.dtype)
    try:
        dense[np.unravel_index(indices, shape) if indices.ndim == 1 else tuple(indices.T)] = values
    except (IndexError, ValueError) as error:
        raise Unsupported(f"a sparse tensor has an index out of range: {error}") from None
    return dense


def required_inputs(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    """Return the graph inputs without a default value, in order. An initializer is the default of its input."""
    defaults = constant_names(graph)
    return [value for value in graph.input if value.name not in defaults]


def fed_input_names(graph: onnx.GraphProto, count: int) -> list[str]:
    """Return the names of the graph inputs for which a caller with `count` values has values, in order."""
    fed = graph.input if count == len(graph.input) else required_inputs(graph)
    return [value.name for value in fed]


def required_input_names(graph: onnx.GraphProto) -> list[str]:
    """Return the names of the graph inputs without a default value, in order."""
    return [value.name for value in required_inputs(graph)]


@dataclass(frozen=True)
class DeclaredInput:
    """Name, element type and shape that a model declares for an input.

    Attributes:
        dtype: None if the input is not a tensor, or if the installed onnx does not know its element type.
        shape: sizes, with None for a dimension of any size. It is None if the rank is not declared.
        type: the whole type of an input that is not a tensor; otherwise None.
    """

    name: str
    dtype: np.dtype[np.generic] | None
    shape: tuple[int | None, ...] | None
    type: onnx.TypeProto | None = None

    @classmethod
    def of(cls, value: onnx.ValueInfoProto) -> DeclaredInput:
        """Return the declaration that a graph input contains."""
        if not value.type.HasField("tensor_type"):
            return cls(value.name, None, None, value.type)
        tensor = value.type.tensor_type
        sizes = tuple(
            size.dim_value if size.dim_value >= 0 and size.HasField("dim_value") else None for size in tensor.shape.dim
        )
        return cls(value.name, known_dtype(tensor.elem_type), sizes if tensor.HasField("shape") else None)

    def check_value(self, value: Value) -> None:
        """Raise an error if a value, or an item of it, does not match the declaration.

        Raises:
            ValueError: the kind, the element type or the shape differs.
        """
        if isinstance(value, dict) and self.type is not None and self.type.HasField("map_type"):
            self._check_map(value, self.type.map_type)
        elif isinstance(value, np.ndarray | np.generic) and not self._is_sequence:
            self._item.check(value.dtype, value.shape)
        elif isinstance(value, list | tuple) and self._is_sequence:
            for each in value:
                self._item.check_value(each)
        elif self.dtype is not None or value is not None:
            declared = "a tensor" if self.type is None else type_text(self.type)
            raise ValueError(f"the value {self.name} is a {type(value).__name__}, but the model declares {declared}")

    def _check_map(self, value: dict[Any, Any], type: onnx.TypeProto.Map) -> None:
        """Check the types of keys and values; a number of Python may be of any floating-point or integer type."""
        key = known_dtype(type.key_type)
        entry = known_dtype(type.value_type.tensor_type.elem_type)
        for each, wanted in (*((each, key) for each in value), *((each, entry) for each in value.values())):
            own = np.asarray(each, object if isinstance(each, str) else None).dtype
            is_same = own == wanted if isinstance(each, np.generic) else wanted is not None and own.kind == wanted.kind
            if not is_same:
                declared = type_text(onnx.TypeProto(map_type=type))
                raise ValueError(f"the map {self.name} has {each!r:.40}, but the model declares {declared}")

    @property
    def _is_sequence(self) -> bool:
        """Whether it is a sequence, or an optional sequence."""
        return self.type is not None and "seq(" in type_text(self.type)

    @property
    def _item(self) -> DeclaredInput:
        """The declaration of the items of a sequence or an optional; that of a tensor itself."""
        if self.type is None:
            return self
        return DeclaredInput.of(onnx.ValueInfoProto(name=self.name, type=item_type(self.type)))

    def check(self, dtype: np.dtype[Any] | None, shape: Sequence[int]) -> None:
        """Raise an error if the element type and shape of an array do not match the declaration.

        Raises:
            ValueError: the element type or shape differs.
        """
        if self.dtype is not None and dtype != self.dtype:
            given = "of an unknown type" if dtype is None else dtype
            raise ValueError(f"the value {self.name} is {given}, but the model declares {type_name(self.dtype)}")
        if self.shape is None:
            return
        fits = len(self.shape) == len(shape)
        if not fits or any(size not in {None, given} for size, given in zip(self.shape, shape, strict=True)):
            raise ValueError(f"the value {self.name} has shape {tuple(shape)}, but the model declares {self.shape}")


def known_dtype(elem_type: int) -> np.dtype[np.generic] | None:
    """Return the NumPy type for an ONNX element type; None if the installed onnx does not know it."""
    try:
        return dtype_of(elem_type)
    except KeyError:
        return None


MAX_INFERRED_FROM = 64
"""Elements of an operand that shape inference may read, such as sizes or axes."""


def inferred_output_shapes(model: onnx.ModelProto, inputs: Mapping[str, Array]) -> dict[str, tuple[int, ...]]:
    """Return the shapes that onnx infers for outputs of a model, by name; an output of unknown shape is left out.

    Args:
        model: the model. Its declared shapes are ignored.
        inputs: the values of its inputs by name.
    """
    sizes = inferred_output_sizes(model, inputs)
    return {name: each for name, each in sizes.items() if min(each, default=0) >= 0}


def inferred_output_sizes(model: onnx.ModelProto, inputs: Mapping[str, Array]) -> dict[str, tuple[int, ...]]:
    """Return the same as `inferred_output_shapes`, with the negative sizes that formulas give for invalid inputs."""
    part = copy_of(model)
    for value in [*part.graph.output, *part.graph.value_info]:
        value.ClearField("type")
    known = [tensor_of(array, name) for name, array in inputs.items() if array.size <= MAX_INFERRED_FROM]
    part.graph.initializer.extend(known)
    try:
        outputs = infer_shapes(part, data_prop=True).graph.output
    except onnx.shape_inference.InferenceError:
        return {}
    shapes = {value.name: value.type.tensor_type.shape for value in outputs if value.type.tensor_type.HasField("shape")}
    return {
        name: tuple(size.dim_value for size in shape.dim)
        for name, shape in shapes.items()
        if all(size.HasField("dim_value") for size in shape.dim)
    }


@dataclass(frozen=True)
class GraphInputs:
    """Declarations of the inputs of a graph, in the graph's order.

    Attributes:
        inputs: the inputs that a caller must supply.
        every: all inputs. A caller may supply these instead.
    """

    inputs: tuple[DeclaredInput, ...]
    every: tuple[DeclaredInput, ...] = ()

    @classmethod
    def of(cls, model: onnx.ModelProto) -> GraphInputs:
        """Return the declarations of a model's inputs."""
        return cls(
            tuple(DeclaredInput.of(value) for value in required_inputs(model.graph)),
            tuple(DeclaredInput.of(value) for value in model.graph.input),
        )

    def by_name(self, inputs: Sequence[Value]) -> dict[str, Value]:
        """Check values against the declarations and return them by name.

        Args:
            inputs: one value for each required input, or one for each input, in order.

        Raises:
            ValueError: the number of values, or an element type or shape, differs from the declarations.
        """
        declarations = self.every if len(inputs) == len(self.every) else self.inputs
        if len(inputs) != len(declarations):
            raise ValueError(f"{len(inputs)} inputs are given, but the model declares {len(self.inputs)}")
        for declared, value in zip(declarations, inputs, strict=True):
            declared.check_value(value)
        return {declared.name: array for declared, array in zip(declarations, inputs, strict=True)}
