"""A model with one set of inputs, and changes of its arrays."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.exact.models.arrays import Array, Value, array_of, hash_values, tensor_of, value_message_of
from conformance.exact.models.external_data import initializer_arrays_in, load_external_data
from conformance.exact.models.graphs import all_graphs, copy_of, is_operator
from conformance.exact.models.input_files import required_input_names, required_inputs
from conformance.exact.models.model_building import array_value_info

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import onnx


MAX_CHANGED_BYTES = 2**28
"""Size of the arrays that replace arrays of a model; a larger array stays in external data."""


@dataclass(frozen=True)
class FedModel:
    """A model and one set of inputs.

    Attributes:
        model: the model.
        inputs: the inputs by name.
        data_folder: the folder of the model's external data; None if the model has all tensors.
    """

    model: onnx.ModelProto
    inputs: Mapping[str, Value]
    data_folder: Path | None = None

    @property
    def arrays(self) -> list[Value]:
        """The inputs in the order of the graph."""
        return [self.inputs[name] for name in required_input_names(self.model.graph)]

    @property
    def messages(self) -> list[Any]:
        """The inputs as messages for files of onnx's test data, in the order of the graph."""
        return [value_message_of(self.inputs[value.name], value.type) for value in required_inputs(self.model.graph)]

    @property
    def initializers(self) -> dict[str, Array]:
        """The initializers of the main graph by name; those in external data are mapped into memory."""
        return initializer_arrays_in(self.model.graph, self.data_folder)

    def with_model(self, model: onnx.ModelProto) -> FedModel:
        """Return a fed model of another model with the same inputs and the same folder of external data."""
        return replace(self, model=model)

    def loaded(self) -> onnx.ModelProto:
        """Return the model with all tensors.

        Raises:
            ModelError: the external data cannot be read.
        """
        model = self.model
        if self.data_folder is not None:
            model = copy_of(model)
            load_external_data(model, self.data_folder)
        return model

    def digest(self) -> str:
        """Return a hash of the model and the inputs."""
        found = hashlib.sha256(self.model.SerializeToString(deterministic=True))
        found.update(hash_values(self.arrays).encode())
        return found.hexdigest()


def case_arrays(fed: FedModel) -> dict[str, Array]:
    """Return the initializers, the constants and the inputs of a fed model by name, without maps."""
    dense = {tensor.name for tensor in fed.model.graph.initializer}
    weights = {name: array for name, array in fed.initializers.items() if name in dense}
    constants = {name: array_of(tensor) for name, tensor in _constant_tensors(fed.model)}
    inputs = {name: array for name, array in fed.inputs.items() if isinstance(array, np.ndarray)}
    return {**weights, **constants, **inputs}


def _constant_tensors(model: onnx.ModelProto) -> Iterator[tuple[str, onnx.TensorProto]]:
    """Yield the tensors of the Constants of the main graph, with the names of their outputs."""
    for node in model.graph.node:
        for attribute in node.attribute if is_operator(node, "Constant") else ():
            if attribute.name == "value":
                yield node.output[0], attribute.t


def with_arrays(fed: FedModel, arrays: Mapping[str, Array]) -> FedModel | None:
    """Return a fed model with other arrays for inputs, initializers or Constants.

    It is None if an array has no ONNX type, or if the arrays are too large for a model file.
    """
    if sum(array.nbytes for array in arrays.values()) > MAX_CHANGED_BYTES:
        return None
    model = copy_of(fed.model)
    for graph in all_graphs(model):
        del graph.value_info[:]  # sizes may differ
    try:
        for tensor in model.graph.initializer:
            if tensor.name in arrays:
                tensor.CopyFrom(tensor_of(arrays[tensor.name], tensor.name))
        for name, tensor in _constant_tensors(model):
            if name in arrays:
                tensor.CopyFrom(tensor_of(arrays[name], name))
        for value in model.graph.input:
            if value.name in arrays:
                value.CopyFrom(array_value_info(value.name, arrays[value.name]))
        for value in model.graph.output:
            for size in value.type.tensor_type.shape.dim:
                size.Clear()
    except (KeyError, ValueError, TypeError):
        return None
    inputs = {name: arrays.get(name, array) for name, array in fed.inputs.items()}
    changed = replace(fed, model=model, inputs=inputs)
    return changed if len(required_inputs(model.graph)) == len(inputs) else None
