"""Parts of models as models of their own, and models without the parts that no output depends on."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from conformance.exact.models.arrays import Array, tensor_of
from conformance.exact.models.graphs import (
    all_graphs,
    constant_names,
    copy_of,
    is_operator,
    names_taken_by,
    subgraphs_of,
)
from conformance.exact.models.input_files import inferred_output_shapes, required_inputs
from conformance.exact.models.model_building import array_value_info
from conformance.exact.models.renaming import FreshNames, Renamer
from conformance.own.graphs.fed_model import FedModel

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from conformance.exact.models.arrays import Value


def with_outputs(model: onnx.ModelProto, names: Sequence[str]) -> onnx.ModelProto:
    """Return a copy of a model with additional outputs, typed where the model has the types."""
    typed = {value.name: value for value in model.graph.value_info}
    copy = copy_of(model)
    for name in names:
        copy.graph.output.append(typed.get(name, onnx.ValueInfoProto(name=name)))
    return copy


def live_nodes(model: onnx.ModelProto) -> list[int]:
    """Return the positions of the nodes of the main graph on which an output depends, without constants."""
    wanted = {value.name for value in model.graph.output}
    found = _nodes_for(model.graph, wanted)
    return [number for number in found if not is_operator(model.graph.node[number], "Constant")]


def _nodes_for(graph: onnx.GraphProto, wanted: set[str]) -> list[int]:
    """Return the positions of the nodes on which values depend, and add the values that they take to `wanted`."""
    found = []
    for number in range(len(graph.node) - 1, -1, -1):
        node = graph.node[number]
        if wanted.intersection(node.output):
            wanted.update(names_taken_by(node))
            found.append(number)
    return found[::-1]


def part_of(model: onnx.ModelProto, name: str, numbers: Iterable[int]) -> onnx.ModelProto:
    """Return a model with nodes of another model, its functions and imports, and no inputs and outputs yet."""
    part = onnx.ModelProto(
        ir_version=model.ir_version,
        opset_import=model.opset_import,
        functions=model.functions,
        metadata_props=model.metadata_props,
        configuration=model.configuration,
    )
    part.graph.name = name
    part.graph.metadata_props.extend(model.graph.metadata_props)
    part.graph.node.extend(model.graph.node[number] for number in numbers)
    return part


def complete_part(
    part: onnx.ModelProto, inputs: Mapping[str, Array], constants: Mapping[str, Array], outputs: Mapping[str, Array]
) -> None:
    """Add inputs, initializers and outputs to a model of nodes that becomes a fed model.

    Args:
        part: the model.
        inputs: arrays of the types and shapes of the inputs, by name.
        constants: the initializers by name.
        outputs: arrays of the types and shapes of the outputs, by name.
    """
    part.producer_name = "onnx-conformance"
    part.graph.input.extend(array_value_info(*each) for each in inputs.items())
    part.graph.initializer.extend(tensor_of(array, name) for name, array in constants.items())
    part.graph.output.extend(array_value_info(*each) for each in outputs.items())


def single_node_model(
    model: onnx.ModelProto, number: int, values: Mapping[str, Array], typed: Mapping[str, onnx.ValueInfoProto]
) -> onnx.ModelProto:
    """Return a model with one node of another model. Its inputs, also captured ones, have the given values' types.

    Args:
        model: the model.
        number: the position of a node of its main graph.
        values: the values of the node's inputs by name.
        typed: types of the outputs, and of inputs that are maps, by name; a missing type of an output stays open.
    """
    node = model.graph.node[number]
    single = part_of(model, node.name or node.op_type, [number])
    declared = (_declaration(name, values.get(name), typed.get(name)) for name in names_taken_by(node))
    single.graph.input.extend(each for each in declared if each is not None)
    single.graph.output.extend(typed.get(name, onnx.ValueInfoProto(name=name)) for name in node.output if name)
    return single


class GraphParts:
    """The parts of a model's main graph. Cutting one takes a time that depends on the part, not on the model.

    Args:
        model: the model, which must not change afterwards.
        data_folder: the folder of the model's external data; None if the model has all tensors.
    """

    def __init__(self, model: onnx.ModelProto, data_folder: Path | None = None) -> None:
        graph = model.graph
        self.model = model
        self._data_folder = data_folder
        self._makers = {name: number for number, node in enumerate(graph.node) for name in node.output if name}
        self._inputs = _places(graph.input, "name")
        self._initializers = _places(graph.initializer, "name")
        self._sparse = _places(graph.sparse_initializer, "values.name")
        self._annotations = _places(graph.quantization_annotation, "tensor_name")
        self._own = _places(graph.output, "name")
        self._typed = {value.name: value for value in (*graph.value_info, *graph.output)}

    def computes(self, name: str) -> bool:
        """Return whether a node of the main graph computes a value."""
        return name in self._makers

    def cut(self, numbers: Sequence[int], values: Mapping[str, Array]) -> FedModel | None:
        """Return some nodes as a model of their own; None if a value that they need is not known.

        The part refers to the external data of the model, and copies none of it.

        Args:
            numbers: the positions of the nodes; the constants that they take are added.
            values: the values at the cuts by name.
        """
        graph = self.model.graph
        chosen = [graph.node[number] for number in numbers]
        made = dict.fromkeys(name for node in chosen for name in node.output if name)
        used = dict.fromkeys(name for node in chosen for name in names_taken_by(node))
        needed = [name for name in used if name not in made]
        constants = {name: self._makers[name] for name in needed if self._is_from_constant(name)}
        part = part_of(self.model, "reduced", [*constants.values(), *numbers])
        self._add_constants(part.graph, {*needed, *self._annotation_parameters({*needed, *made})})
        inputs: dict[str, Array] = {}
        for name in needed:
            if name in constants or name in self._initializers or name in self._sparse:
                continue
            place = self._inputs.get(name)
            declared = _declaration(name, values.get(name), None if place is None else graph.input[place])
            if declared is None:
                return None
            part.graph.input.append(declared)
            inputs[name] = values[name]
        for name in made:
            if name in used and name not in self._own:
                if name in self._typed:
                    part.graph.value_info.append(self._typed[name])
                continue
            value = _open_value(name, values.get(name), self._typed.get(name))
            if value is not None:
                part.graph.output.append(value)
            elif name in self._own:
                return None
        return FedModel(part, inputs, self._data_folder) if part.graph.output else None

    def between(self, ends: onnx.ModelProto) -> onnx.ModelProto | None:
        """Return the part with the inputs and outputs of another model, whose values have the same names.

        It is None if the model lacks an output, or if an output needs an input that the other model does not have.
        """
        graph = self.model.graph
        inputs = {value.name: value for value in required_inputs(ends.graph)}
        chosen: set[int] = set()
        pending = [value.name for value in ends.graph.output]
        while pending:
            name = pending.pop()
            if name not in self._makers:
                if name not in self._initializers and name not in self._sparse:
                    return None
            elif self._makers[name] not in chosen:
                chosen.add(self._makers[name])
                pending += names_taken_by(graph.node[self._makers[name]]) - inputs.keys()
        part = part_of(self.model, "part", sorted(chosen))
        taken = {name for number in chosen for name in names_taken_by(graph.node[number])} - inputs.keys()
        self._add_constants(part.graph, taken | self._annotation_parameters(taken))
        part.graph.input.extend(inputs.values())
        for value in ends.graph.output:
            place = self._own.get(value.name)
            opened = _open_value(value.name, None, self._typed.get(value.name)) if place is None else None
            part.graph.output.append(opened or value if place is None else graph.output[place])
        return part

    def _is_from_constant(self, name: str) -> bool:
        return name in self._makers and is_operator(self.model.graph.node[self._makers[name]], "Constant")

    def _add_constants(self, part: onnx.GraphProto, names: Iterable[str]) -> None:
        """Add the initializers with these names, their declarations as inputs, and their annotations."""
        graph = self.model.graph
        wanted = set(names)
        part.initializer.extend(_found(graph.initializer, self._initializers, wanted))
        part.sparse_initializer.extend(_found(graph.sparse_initializer, self._sparse, wanted))
        held = constant_names(part)
        part.input.extend(_found(graph.input, self._inputs, held))
        known = held.union(*(node.output for node in part.node))
        part.quantization_annotation.extend(_found(graph.quantization_annotation, self._annotations, known))

    def _annotation_parameters(self, names: Iterable[str]) -> set[str]:
        return _parameters(_found(self.model.graph.quantization_annotation, self._annotations, names))


def _places(entries: Any, attribute: str) -> dict[str, int]:
    """Return the position of each entry of a repeated field, by its name."""
    name_of = attrgetter(attribute)
    return {name_of(entry): place for place, entry in enumerate(entries)}


def _found(entries: Any, places: Mapping[str, int], names: Iterable[str]) -> list[Any]:
    """Return the entries of a repeated field with these names, in its order."""
    return [entries[place] for place in sorted({places[name] for name in names if name in places})]


def _parameters(annotations: Iterable[onnx.TensorAnnotation]) -> set[str]:
    """Return the tensors that quantization annotations of values name as scale and zero point."""
    return {entry.value for annotation in annotations for entry in annotation.quant_parameter_tensor_names}


def _declaration(name: str, value: Value, typed: onnx.ValueInfoProto | None = None) -> onnx.ValueInfoProto | None:
    """Return the declaration of an input, or `typed` for a map; None if the value is not known or has no ONNX type."""
    if isinstance(value, dict):
        return typed
    try:
        return None if value is None else array_value_info(name, value)
    except (KeyError, ValueError, TypeError):
        return None


def _open_value(name: str, array: Array | None, typed: onnx.ValueInfoProto | None) -> onnx.ValueInfoProto | None:
    """Return the declaration of an output with its type and rank, and without sizes."""
    if array is not None:
        found = _declaration(name, array)
        if found is None:
            return None
        return helper.make_tensor_value_info(name, found.type.tensor_type.elem_type, [None] * array.ndim)
    if typed is None or not typed.type.HasField("tensor_type"):
        return typed
    tensor = typed.type.tensor_type
    rank = [None] * len(tensor.shape.dim) if tensor.HasField("shape") else None
    return helper.make_tensor_value_info(name, tensor.elem_type, rank)


def without_unused(fed: FedModel) -> FedModel:
    """Return a fed model without nodes, initializers, inputs and declarations that no output depends on."""
    model = copy_of(fed.model)
    graph = model.graph
    wanted = {value.name for value in graph.output}
    found = _nodes_for(graph, wanted)
    del graph.node[:]
    graph.node.extend(fed.model.graph.node[number] for number in found)
    known = wanted.union(*(node.output for node in graph.node))
    kept = known | _parameters(each for each in graph.quantization_annotation if each.tensor_name in known)
    _keep(graph.input, kept, "name")
    _keep(graph.initializer, kept, "name")
    _keep(graph.sparse_initializer, kept, "values.name")
    _keep(graph.value_info, known, "name")
    _keep(graph.quantization_annotation, known, "tensor_name")
    inputs = {name: array for name, array in fed.inputs.items() if name in kept}
    return replace(fed, model=model, inputs=inputs)


def _keep(entries: Any, wanted: Container[str], attribute: str) -> None:
    """Remove the entries of a repeated field that have none of the names `wanted`."""
    name_of = attrgetter(attribute)
    for place in range(len(entries) - 1, -1, -1):
        if name_of(entries[place]) not in wanted:
            del entries[place]


def inner_nodes(model: onnx.ModelProto) -> Iterator[tuple[onnx.GraphProto, int]]:
    """Yield the nodes of all subgraphs, each as its graph and its position there."""
    for node in model.graph.node:
        yield from _nodes_within(node)


def _nodes_within(node: onnx.NodeProto) -> Iterator[tuple[onnx.GraphProto, int]]:
    for graph in subgraphs_of(node):
        yield from ((graph, position) for position in range(len(graph.node)))
        for inner in graph.node:
            yield from _nodes_within(inner)


def bypass_inner(fed: FedModel, place: int, source: str) -> FedModel | None:
    """Return a fed model in which the users of the outputs of a subgraph's node take `source` instead.

    It is None if a subgraph would have one value as two outputs: runtimes then return any memory for one of them.

    Args:
        fed: the model with its inputs.
        place: the number of the node among `inner_nodes`.
        source: the name of a value that the node takes.
    """
    model = copy_of(fed.model)
    owner, position = list(inner_nodes(model))[place]
    names = {name: source for name in owner.node[position].output if name}
    del owner.node[position]
    renamer = Renamer(FreshNames.of(model))
    for later in owner.node[position:]:
        renamer.rename_uses(later, names)
    for value in owner.output:
        value.name = names.get(value.name, value.name)
    if len({value.name for value in owner.output}) < len(owner.output):
        return None
    for graph in all_graphs(model):
        del graph.value_info[:]  # the other value may have another type
    return without_unused(fed.with_model(model))


def inferred_shape(parts: GraphParts, number: int, name: str, values: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Return the shape that onnx infers for an output of a node; None if it infers none.

    Args:
        parts: the parts of the model.
        number: the position of the node.
        name: the name of the output.
        values: the values of the node's operands by name; only arrays are read.
    """
    arrays = {key: each for key, each in values.items() if isinstance(each, np.ndarray)}
    single = parts.cut([number], arrays)
    return None if single is None else inferred_output_shapes(single.model, single.inputs).get(name)
