"""Models whose inputs and outputs are tensors alone: nodes make sequences and optionals, and take them apart.

A subject runs such a model also if it takes no sequences, and every part of it can be cut out and made smaller. Files
of a case have tensors only, so cases with sequences are such models too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.base.errors import UsageError
from conformance.exact.models.arrays import has_operator, item_type, map_of_type, tensor_of
from conformance.exact.models.graphs import copy_of, main_opset, names_in_model
from conformance.exact.models.input_files import required_inputs
from conformance.exact.models.model_building import array_value_info
from conformance.exact.models.renaming import FreshNames

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import onnx

    from conformance.exact.models.arrays import Array, Value
    from conformance.own.graphs.model_inputs import InputSet
    from conformance.own.graphs.reading import LoadedModel

FIRST_OPSETS = {"sequence": 11, "optional": 15}
"""The versions of the main domain that have operators for these values."""


class TensorMaker:
    """Makes sequences and optionals from tensors.

    Args:
        fresh: the names that are free.

    Attributes:
        nodes: the nodes, in their order.
        tensors: the tensors and maps that they take, by name.
    """

    def __init__(self, fresh: FreshNames) -> None:
        self._fresh = fresh
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: dict[str, Any] = {}

    def make(self, name: str, type: onnx.TypeProto, value: Value) -> None:
        """Add the nodes that make a value of a type, and its tensors; a tensor is its own.

        No operator makes a map, so a map stays as it is.

        Args:
            name: the name of the value.
            type: its type.
            value: the value: a tensor, a map, a list of tensors, or None for an empty optional. A tensor can be any
                object.

        Raises:
            UsageError: no operator makes its type, such as a sequence of sequences or of maps.
        """
        kind = type.WhichOneof("value")
        if not has_operator(type):
            raise UsageError("cannot-make-input.inputs", name=name)
        if kind == "sequence_type":
            names = [self._fresh.take(f"{name}_{place}") for place in range(len(value))]
            for each, item in zip(names, value, strict=True):
                self.make(each, type.sequence_type.elem_type, item)
            self._add("SequenceConstruct" if names else "SequenceEmpty", names, name, self._dtype(names, type))
        elif kind == "optional_type" and value is None:
            self._add("Optional", [], name, {"type": type.optional_type.elem_type})
        elif kind == "optional_type":
            element = self._fresh.take(f"{name}_element")
            self.make(element, type.optional_type.elem_type, value)
            self._add("Optional", [element], name, {})
        elif kind == "map_type":
            self.tensors[name] = map_of_type(value, type.map_type)
        else:
            self.tensors[name] = value

    @staticmethod
    def _dtype(names: Sequence[str], type: onnx.TypeProto) -> dict[str, int]:
        return {} if names else {"dtype": item_type(type).tensor_type.elem_type}

    def _add(self, operator: str, inputs: Sequence[str], output: str, attributes: dict[str, Any]) -> None:
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))


class TensorReader:
    """Takes sequences and optionals apart.

    Args:
        fresh: the names that are free.

    Attributes:
        nodes: the nodes, in their order.
        tensors: the tensors that they return, by name; those that were given.
        constants: the positions of items, by name.
    """

    def __init__(self, fresh: FreshNames) -> None:
        self._fresh = fresh
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: dict[str, Any] = {}
        self.constants: dict[str, Array] = {}

    def read(self, name: str, type: onnx.TypeProto, value: Value) -> None:
        """Add the nodes that return the tensors of a value; a tensor is its own.

        Args:
            name: the name of the value.
            type: its type.
            value: an example of it: a tensor, a list of tensors, or None for an empty optional.
        """
        kind = type.WhichOneof("value")
        if kind == "sequence_type":
            self.tensors[self._add("SequenceLength", [name], "length")] = np.array(len(value), np.int64)
            for place, item in enumerate(value):
                position = self._fresh.take(f"{name}_position_{place}")
                self.constants[position] = np.array(place, np.int64)
                self.read(self._add("SequenceAt", [name, position], str(place)), type.sequence_type.elem_type, item)
        elif kind == "optional_type":
            self.tensors[self._add("OptionalHasElement", [name], "has_element")] = np.array(value is not None)
            if value is not None:
                self.read(self._add("OptionalGetElement", [name], "element"), type.optional_type.elem_type, value)
        else:
            self.tensors[name] = value

    def _add(self, operator: str, inputs: Sequence[str], what: str) -> str:
        output = self._fresh.take(f"{inputs[0]}_{what}")
        self.nodes.append(helper.make_node(operator, inputs, [output]))
        return output


def with_tensors(
    model: onnx.ModelProto, inputs: Sequence[Value], outputs: Sequence[Value]
) -> tuple[onnx.ModelProto, list[Array], list[Array]]:
    """Return a model with the nodes that make its inputs and take its outputs apart, and the tensors of both.

    Args:
        model: the model.
        inputs: its inputs without initializer.
        outputs: its outputs for these inputs.
    """
    fresh = FreshNames.of(model)
    maker = TensorMaker(fresh)
    for value, given in zip(required_inputs(model.graph), inputs, strict=True):
        maker.make(value.name, value.type, given)
    reader = TensorReader(fresh)
    for value, given in zip(model.graph.output, outputs, strict=True):
        reader.read(value.name, value.type, given)
    made = _with_nodes(model, maker)
    graph = made.graph
    graph.node.extend(reader.nodes)
    graph.initializer.extend(tensor_of(array, name) for name, array in reader.constants.items())
    kept = {value.name: value for value in graph.output}
    graph.value_info.extend(value for value in graph.output if value.name not in reader.tensors)
    del graph.output[:]
    graph.output.extend(kept.get(name) or array_value_info(name, array) for name, array in reader.tensors.items())
    return made, list(maker.tensors.values()), list(reader.tensors.values())


def has_other_inputs(model: onnx.ModelProto) -> bool:
    """Return whether an input without initializer is not a tensor."""
    return any(not value.type.HasField("tensor_type") for value in required_inputs(model.graph))


def with_tensor_inputs(model: LoadedModel, data_sets: Sequence[InputSet]) -> tuple[LoadedModel, list[InputSet]]:
    """Return a model and its inputs, in which each sequence and each optional is made from tensors.

    Args:
        model: the model.
        data_sets: the inputs, whose sequences must be equally long in all data sets.

    Raises:
        UsageError: an input is a map, the sequences differ in length, or the opset lacks the operators.
    """
    if not has_other_inputs(model.original):
        return model, list(data_sets)
    found = [(each, _made(model, model.original, each)) for each in data_sets]
    first = found[0][1]
    if any(each.nodes != first.nodes for _, each in found):
        raise UsageError("sequences-differ", first=data_sets[0].name)
    changed = [_with_nodes(each, _made(model, each, data_sets[0])) for each in (model.original, model.prepared)]
    made = replace(model, original=changed[0], prepared=changed[1])
    return made, [replace(each, arrays=tuple(maker.tensors.values())) for each, maker in found]


def _made(model: LoadedModel, proto: onnx.ModelProto, data_set: InputSet) -> TensorMaker:
    """Return the nodes and tensors of all inputs; the names are equal for both forms of a model."""
    maker = TensorMaker(FreshNames({*names_in_model(model.original), *names_in_model(model.prepared)}))
    for value, given in zip(required_inputs(proto.graph), data_set.arrays, strict=True):
        if opset := next((each for each in _lacking(value.type, main_opset(proto))), 0):
            raise UsageError("input-without-operators", name=value.name, opset=opset)
        maker.make(value.name, value.type, given)
    return maker


def _lacking(type: onnx.TypeProto, opset: int) -> Iterator[int]:
    """Yield the opsets that a model needs so that nodes can make a value of this type."""
    kind = str(type.WhichOneof("value")).removesuffix("_type")
    if kind in FIRST_OPSETS:
        if opset < FIRST_OPSETS[kind]:
            yield FIRST_OPSETS[kind]
        yield from _lacking(getattr(type, f"{kind}_type").elem_type, opset)


def _with_nodes(model: onnx.ModelProto, maker: TensorMaker) -> onnx.ModelProto:
    """Return a model with these nodes before its own, and with their tensors as inputs."""
    copy = copy_of(model)
    graph = copy.graph
    required = {value.name for value in required_inputs(graph)}
    kept = {value.name: value for value in graph.input}
    made = [kept.get(name) or array_value_info(name, array) for name, array in maker.tensors.items()]
    defaults = [value for value in graph.input if value.name not in required]
    nodes = [*maker.nodes, *graph.node]
    inner = [value for value in graph.input if value.name in required - maker.tensors.keys()]
    del graph.input[:]
    graph.input.extend([*made, *defaults])
    graph.value_info.extend(inner)
    del graph.node[:]
    graph.node.extend(nodes)
    return copy
