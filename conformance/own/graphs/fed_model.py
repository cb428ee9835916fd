"""A model with one set of inputs, and changes of its arrays."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.exact.models.arrays import Array, array_of, hash_values, tensor_of
from conformance.exact.models.graphs import all_graphs, copy_of, is_operator
from conformance.exact.models.input_files import initializer_arrays, required_input_names, required_inputs
from conformance.exact.models.model_building import array_value_info

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import onnx


@dataclass(frozen=True)
class FedModel:
    """A model and one set of inputs.

    Attributes:
        model: the model.
        inputs: the inputs by name.
    """

    model: onnx.ModelProto
    inputs: Mapping[str, Array]

    @property
    def arrays(self) -> list[Array]:
        """The inputs in the order of the graph."""
        return [self.inputs[name] for name in required_input_names(self.model.graph)]

    def digest(self) -> str:
        """Return a hash of the model and the inputs."""
        found = hashlib.sha256(self.model.SerializeToString(deterministic=True))
        found.update(hash_values(self.arrays).encode())
        return found.hexdigest()


def case_arrays(case: FedModel) -> dict[str, Array]:
    """Return the initializers, the constants and the inputs of a case by name."""
    dense = {tensor.name for tensor in case.model.graph.initializer}
    weights = {name: array for name, array in initializer_arrays(case.model.graph).items() if name in dense}
    constants = {name: array_of(tensor) for name, tensor in _constant_tensors(case.model)}
    return {**weights, **constants, **case.inputs}


def _constant_tensors(model: onnx.ModelProto) -> Iterator[tuple[str, onnx.TensorProto]]:
    """Yield the tensors of the Constants of the main graph, with the names of their outputs."""
    for node in model.graph.node:
        for attribute in node.attribute if is_operator(node, "Constant") else ():
            if attribute.name == "value":
                yield node.output[0], attribute.t


def with_arrays(case: FedModel, arrays: Mapping[str, Array]) -> FedModel | None:
    """Return a case with other arrays for inputs, initializers or Constants; None if an array has no ONNX type."""
    model = copy_of(case.model)
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
    inputs = {name: arrays.get(name, array) for name, array in case.inputs.items()}
    return FedModel(model, inputs) if len(required_inputs(model.graph)) == len(inputs) else None
