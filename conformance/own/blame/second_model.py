"""A second model beside the first: its inputs, outputs and intermediate values are matched with those of the first.

The second model takes the place of the rewrite by a graph optimizer. `SecondModel.part` returns the part of it that
corresponds to a part of the first model, so that both are reduced together. Inputs and outputs are matched by name, and
the remaining ones by order. The parts are cut at the intermediate values that `ValueMatching` matches.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from conformance.base.errors import ModelError, UsageError
from conformance.base.serialization.printable_text import one_line
from conformance.exact.judgement.rewrite_effects import COPIES
from conformance.exact.models.arrays import dtype_of, have_same_bits, is_floating, type_name
from conformance.exact.models.graphs import (
    constant_names,
    copy_of,
    find_producers,
    is_operator,
    names_in_model,
    names_taken_by,
)
from conformance.exact.models.input_files import constant_node_values, required_input_names, required_inputs
from conformance.exact.models.model_validity import open_outputs
from conformance.exact.models.renaming import FreshNames, renamed_copy
from conformance.exact.reference.enclosures.exact import MOVEMENT
from conformance.own.blame.value_matching import ValueLoss, ValueMatching
from conformance.own.graphs.cutting import GraphParts, without_unused
from conformance.own.graphs.reading import LoadedModel, in_common_folder
from conformance.own.graphs.tensor_borders import with_tensor_inputs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from conformance.exact.models.arrays import Array
    from conformance.own.blame.value_matching import Run
    from conformance.own.graphs.fed_model import FedModel
    from conformance.own.graphs.model_inputs import InputSet

KEEPING_OPERATORS = MOVEMENT | COPIES | {"Clip", "Max", "MaxPool", "Min"}
"""Operators that lose no accuracy: each result is an element of an operand, or one with another sign."""


@dataclass(frozen=True)
class MatchedModels:
    """Two models with the same inputs and outputs.

    Attributes:
        first: the first model, with the outputs that have a counterpart.
        second: the second model, with the names of the first for inputs and outputs, and the outputs in their order.
        unmatched: the outputs of both models that are not compared.
        rounded: the type in the second model of each input that has another floating-point type there. The second model
            begins with a Cast of the input.
    """

    first: LoadedModel
    second: LoadedModel
    unmatched: tuple[str, ...]
    rounded: Mapping[str, np.dtype[Any]] = field(default_factory=dict)

    def with_tensor_inputs(self, data_sets: Sequence[InputSet]) -> MatchedModels:
        """Return the models with inputs that are tensors; see the function of this name.

        Args:
            data_sets: the inputs of the first model.
        """
        place_of = {name: place for place, name in enumerate(required_input_names(self.first.original.graph))}
        places = [place_of[name] for name in required_input_names(self.second.original.graph)]
        own = [replace(each, arrays=tuple(each.arrays[place] for place in places)) for each in data_sets]
        first, _ = with_tensor_inputs(self.first, data_sets)
        second, _ = with_tensor_inputs(self.second, own)
        return replace(self, first=first, second=second)


def round_inputs(models: MatchedModels | None, data_sets: Sequence[InputSet]) -> Sequence[InputSet]:
    """Return inputs of the first of two models, rounded to values that both can take; for one model, they stay."""
    if models is None or not models.rounded:
        return data_sets
    names = required_input_names(models.first.original.graph)
    return [
        replace(
            each,
            arrays=tuple(
                given.astype(models.rounded[name]).astype(given.dtype)
                if name in models.rounded and isinstance(given, np.ndarray)
                else given
                for name, given in zip(names, each.arrays, strict=True)
            ),
        )
        for each in data_sets
    ]


def read_models(
    first: Path, second: Path | None, scratch: Path | None, *, is_rewritten: bool = False
) -> tuple[LoadedModel, MatchedModels | None]:
    """Return the model; with a second model, the first one of both after they are matched, and both.

    For `scratch` see `LoadedModel.read`.

    Raises:
        ModelError: a model cannot be read, or a graph optimizer cannot read it because the rank of an output is open.
    """
    audited = LoadedModel.read(first, scratch=scratch)
    if is_rewritten and (names := open_outputs(audited.original)):
        raise ModelError("output-without-shape.rewritten", name=str(first), output=min(names))
    if second is None:
        return audited, None
    models = match_models(audited, LoadedModel.read(second, scratch=scratch))
    return models.first, models


def match_models(first: LoadedModel, second: LoadedModel) -> MatchedModels:
    """Match the inputs and outputs of two models, by name and then by order.

    Raises:
        UsageError: the second model has an input without counterpart, or no output has one.
    """
    taken, given = (required_input_names(each.original.graph) for each in (second, first))
    inputs = _pairs(taken, given)
    if len(inputs) < len(taken):
        missing = next(name for name in taken if name not in inputs)
        raise UsageError("models-differ.inputs", path=second.path, name=missing, first=first.path)
    made, wanted = ([value.name for value in each.original.graph.output] for each in (second, first))
    outputs = _pairs(made, wanted)
    if not outputs:
        raise UsageError("models-differ.outputs", path=second.path, first=first.path)
    kept = [name for name in wanted if name in outputs.values()]
    unmatched = [*(name for name in wanted if name not in kept), *(name for name in made if name not in outputs)]
    names = inputs | outputs
    matched = in_common_folder(_changed(first, {}, kept), _changed(second, names, kept))
    types, others = (_float_types(each.original) for each in matched)
    changed = {name: type for name, type in types.items() if others.get(name, type) != type}
    rounded = {name: dtype_of(others[name]) for name in changed if name in given}
    if changed:
        matched = (matched[0], _with_types(matched[1], changed))
    return MatchedModels(*matched, tuple(unmatched), rounded)


def _float_types(model: onnx.ModelProto) -> dict[str, int]:
    """Return the element types of the inputs and outputs of a model that have floating-point numbers."""
    values = (*required_inputs(model.graph), *model.graph.output)
    types = {value.name: value.type.tensor_type.elem_type for value in values}
    known = {*onnx.TensorProto.DataType.values()} - {onnx.TensorProto.UNDEFINED}
    return {name: type for name, type in types.items() if type in known and is_floating(dtype_of(type))}


def _with_types(model: LoadedModel, types: Mapping[str, int]) -> LoadedModel:
    """Return a model whose inputs and outputs have other floating-point types, by a Cast of each."""
    changed = []
    for each in (model.original, model.prepared):
        own = {value.name: value.type.tensor_type.elem_type for value in (*each.graph.input, *each.graph.output)}
        fresh = FreshNames.of(each)
        inner = {name: fresh.take_numbered(name) for name in types}
        ends = [list(each.graph.input), list(each.graph.output)]
        copy = renamed_copy(each, inner)
        graph = copy.graph
        for kept, declared in zip(ends, (graph.input, graph.output), strict=True):
            del declared[:]
            declared.extend(kept)
            for value in declared:
                value.type.tensor_type.elem_type = types.get(value.name, value.type.tensor_type.elem_type)
        inputs = {value.name for value in graph.input}
        before = [helper.make_node("Cast", [name], [inner[name]], to=own[name]) for name in types if name in inputs]
        after = [helper.make_node("Cast", [inner[n]], [n], to=types[n]) for n in types if n not in inputs]
        nodes = [*before, *graph.node, *after]
        del graph.node[:]
        graph.node.extend(nodes)
        changed.append(copy)
    return replace(model, original=changed[0], prepared=changed[1])


def _pairs(names: Sequence[str], wanted: Sequence[str]) -> dict[str, str]:
    """Return the counterpart of each name: the same name, else that of its place if equally many names remain."""
    pairs = {name: name for name in names if name in wanted}
    rest = [name for name in names if name not in pairs]
    others = [name for name in wanted if name not in pairs]
    return pairs | dict(zip(rest, others, strict=True)) if len(rest) == len(others) else pairs


def _changed(model: LoadedModel, names: Mapping[str, str], outputs: Sequence[str]) -> LoadedModel:
    """Return a model with new names of values, and with the outputs of these names in this order."""
    changed = []
    for each in (model.original, model.prepared):
        copy = renamed_copy(each, names)
        values = {value.name: value for value in copy.graph.output}
        del copy.graph.output[:]
        copy.graph.output.extend(values[name] for name in outputs)
        changed.append(copy)
    return replace(model, original=changed[0], prepared=changed[1])


class SecondModel:
    """The second of two matched models, and its part for each part of the first.

    Args:
        models: the models.

    Attributes:
        losses: the errors of the values that are matched, the step with the largest error first.
    """

    def __init__(self, models: MatchedModels) -> None:
        self._first = models.first.prepared
        self._whole = models.second
        self._parts = GraphParts(models.second.prepared)
        self._interface = _interface(models.first.original)
        self._own_names: dict[str, str] = {}
        self._matched: frozenset[str] = frozenset()
        self.losses: list[ValueLoss] = []

    @property
    def model(self) -> LoadedModel:
        """The second model."""
        return self._whole

    def match_values(self, first: Mapping[str, Array], second: Mapping[str, Array], run: Run) -> None:
        """Match intermediate values of both models, so that they can be cut there.

        Args:
            first: the known values of the first model.
            second: the known values of the second model.
            run: runs a changed second model on the second subject.
        """
        ends = self._interface[0] | self._interface[1]
        matching = ValueMatching((self._first, first), (self._whole.prepared, second), ends, run)
        pairs = matching.find_pairs()
        self.losses = matching.find_losses(pairs)
        own = self._whole.prepared
        renamed = renamed_copy(own, pairs, names_in_model(self._first))
        for new, old in zip(renamed.graph.node, own.graph.node, strict=True):
            self._own_names |= zip(new.output, old.output, strict=True)
        self._parts = GraphParts(renamed)
        self._matched = frozenset(pairs.values()) | ends

    def losing_node(self, name: str) -> onnx.NodeProto | None:
        """Return the node to which the error of the step that ends at a matched value belongs.

        It is the last node of the first model in the step that changes numbers. If no such node takes a constant, which
        can differ, it is the first node of an operator that only the second model has there: a Flatten or a Softmax
        after a QuantizeLinear loses nothing. Its results have the names of the second model.
        """
        first, second = (self._step_to(graph, name) for graph in (self._first.graph, self._parts.model.graph))
        computing = [node for node in first if not is_operator(node, *KEEPING_OPERATORS)]
        known = {(node.domain, node.op_type) for node in computing}
        others = (node for node in second if (node.domain, node.op_type) not in known)
        added = next((node for node in others if not is_operator(node, *KEEPING_OPERATORS)), None)
        if added is None or not self._constants.isdisjoint(taken for node in computing for taken in node.input):
            return next(reversed(computing or first), None)
        named = copy_of(added)
        named.output[:] = map(self.own_name, added.output)
        return named

    @cached_property
    def _constants(self) -> AbstractSet[str]:
        """The names of the constants of the first model."""
        return {*constant_names(self._first.graph), *constant_node_values(self._first.graph)}

    def _step_to(self, graph: onnx.GraphProto, name: str) -> list[onnx.NodeProto]:
        """Return the nodes of a graph from the matched values before a value up to the value, in their order."""
        makers = find_producers(graph)
        step: set[int] = set()
        pending = [name]
        while pending:
            number = makers.get(pending.pop())
            if number is not None and number not in step:
                step.add(number)
                pending += [each for each in names_taken_by(graph.node[number]) if each not in self._matched]
        return [graph.node[number] for number in sorted(step)]

    def own_name(self, name: str) -> str:
        """Return the name in the second model of a value of a part of it."""
        return self._own_names.get(name, name)

    def part(self, model: onnx.ModelProto) -> onnx.ModelProto | None:
        """Return the part of the second model that computes the outputs of a part of the first from its inputs.

        It is None if an output has no counterpart, or needs a value that the part of the first does not take.
        """
        if _interface(model) == self._interface:
            return self._whole.original
        return self._parts.between(model)

    def steps(self, model: onnx.ModelProto) -> Iterator[list[int]]:
        """Yield the nodes of each step of a part of the first model: from matched values to the next matched values."""
        makers = find_producers(model.graph)
        for number, node in enumerate(model.graph.node):
            if not any(map(self._parts.computes, node.output)):
                continue
            step = {number}
            pending = [number]
            while pending:
                taken = names_taken_by(model.graph.node[pending.pop()])
                inner = {makers[name] for name in taken if name in makers and not self._parts.computes(name)}
                pending += inner - step
                step |= inner
            yield sorted(each for each in step if not is_operator(model.graph.node[each], "Constant"))

    def with_counterparts(self, fed: FedModel) -> FedModel | None:
        """Return a part of the first model without the outputs that have no counterpart.

        It is None if no output has one, or if an input has none: the part of the second model then begins elsewhere.
        """
        if not all(name in self._interface[0] or self._parts.computes(name) for name in fed.inputs):
            return None
        kept = [value for value in fed.model.graph.output if self._parts.computes(value.name)]
        if len(kept) == len(fed.model.graph.output):
            return fed
        if not kept:
            return None
        model = copy_of(fed.model)
        del model.graph.output[:]
        model.graph.output.extend(kept)
        return without_unused(fed.with_model(model))


def changes_of_nodes(first: FedModel, second: FedModel) -> list[str]:
    """Return the attributes and constant operands in which the nodes of two parts differ, each in one line.

    The list is empty if the parts do not have the same operators.
    """
    nodes = [[node for node in part.model.graph.node if not is_operator(node, "Constant")] for part in (first, second)]
    if [node.op_type for node in nodes[0]] != [node.op_type for node in nodes[1]]:
        return []
    constants = [part.initializers | constant_node_values(part.model.graph) for part in (first, second)]
    found = []
    for pair in zip(*nodes, strict=True):
        attributes = [{each.name: each for each in node.attribute} for node in pair]
        for name in sorted(attributes[0].keys() | attributes[1].keys()):
            change = _change_of_attributes(*(each.get(name) for each in attributes))
            found += [f"attribute {name} of {pair[0].op_type}: {change}"] if change else []
        for names in zip(*(node.input for node in pair), strict=False):
            change = _change_of_arrays(*(each.get(name) for each, name in zip(constants, names, strict=True)))
            found += [f"operand {names[0]} of {pair[0].op_type}: {change}"] if change else []
    return found


MAX_LISTED = 8
"""Elements of a list up to which they are shown."""


def _change_of_attributes(*pair: onnx.AttributeProto | None) -> str:
    """Return how two attributes differ; an empty text if they are equal, or both have a graph."""
    lists = [_elements(each) for each in pair]
    if lists[0] == lists[1]:
        return ""
    if len(lists[0]) == len(lists[1]) > MAX_LISTED:
        return f"{sum(map(operator.ne, *lists))} of {len(lists[0])} elements differ"
    texts = [one_line(f"{', '.join(each[:MAX_LISTED])}{', …' if len(each) > MAX_LISTED else ''}") for each in lists]
    return f"{texts[0]} in A, {texts[1]} in B"


def _elements(attribute: onnx.AttributeProto | None) -> list[str]:
    """Return the elements of an attribute as texts, or one text that says what it is."""
    if attribute is None:
        return ["not given"]
    if attribute.type not in _LISTED_TYPES:
        return [onnx.AttributeProto.AttributeType.Name(attribute.type).lower()]
    value = helper.get_attribute_value(attribute)
    listed = [value] if isinstance(value, bytes | int | float) else value
    return [each.decode(errors="replace") if isinstance(each, bytes) else f"{each:.9g}" for each in listed]


_Types = onnx.AttributeProto
_LISTED_TYPES = (_Types.FLOAT, _Types.INT, _Types.STRING, _Types.FLOATS, _Types.INTS, _Types.STRINGS)


def _change_of_arrays(first: Array | None, second: Array | None) -> str:
    """Return how two constants differ; an empty text if they are the same, or if one is no constant."""
    if first is None or second is None or have_same_bits(first, second):
        return ""
    if (first.dtype, first.shape) != (second.dtype, second.shape):
        types = (f"{type_name(each.dtype)} {'x'.join(map(str, each.shape)) or 'scalar'}" for each in (first, second))
        return "{} in A, {} in B".format(*types)
    if first.size > 1:
        return f"{np.count_nonzero(first != second)} of {first.size} elements differ"
    return f"{first.reshape(-1)[0]!s} in A, {second.reshape(-1)[0]!s} in B"


def _interface(model: onnx.ModelProto) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(required_input_names(model.graph)), frozenset(value.name for value in model.graph.output)
