"""A second model beside the first: its inputs, outputs and intermediate values are matched with those of the first.

The second model takes the place of the rewrite by a graph optimizer. `GivenRewrite.part` returns the part of it that
corresponds to a part of the first model, so that both are reduced together. The parts are cut at matched values:

1. Inputs and outputs are matched by name, and the remaining ones by order.
2. Intermediate values with the same type, shape and bits are matched, because one of them can replace the other.
3. The remaining values of one name, type and shape are matched, unless the names mislead: exporters number values, and
   then most pairs of one name are different values.
4. If equal nodes compute matched values, and all other operands match, the remaining operands are matched: backwards
   from the outputs, so that models with other names are also cut behind the difference.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from conformance.base.errors import UsageError
from conformance.exact.models.arrays import has_same_bits, hash_values
from conformance.exact.models.graphs import copy_of, is_operator, names_in_model, names_taken_by
from conformance.exact.models.input_files import required_input_names
from conformance.exact.models.renaming import FreshNames, Renamer
from conformance.own.graphs.cutting import GraphParts, without_unused
from conformance.own.graphs.reading import LoadedModel, in_common_folder
from conformance.own.graphs.tensor_borders import with_tensor_inputs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import onnx

    from conformance.exact.models.arrays import Array
    from conformance.own.graphs.fed_model import FedModel
    from conformance.own.graphs.model_inputs import InputSet


@dataclass(frozen=True)
class MatchedModels:
    """Two models with the same inputs and outputs.

    Attributes:
        first: the first model, with the outputs that have a counterpart.
        second: the second model, with the names of the first for inputs and outputs, and the outputs in their order.
        unmatched: the outputs of both models that are not compared.
    """

    first: LoadedModel
    second: LoadedModel
    unmatched: tuple[str, ...]

    def with_tensor_inputs(self, data_sets: Sequence[InputSet]) -> MatchedModels:
        """Return the models with inputs that are tensors; see the function of this name.

        Args:
            data_sets: the inputs of the first model.
        """
        names = required_input_names(self.first.original.graph)
        places = [names.index(name) for name in required_input_names(self.second.original.graph)]
        own = [replace(each, arrays=tuple(each.arrays[place] for place in places)) for each in data_sets]
        first, _ = with_tensor_inputs(self.first, data_sets)
        second, _ = with_tensor_inputs(self.second, own)
        return replace(self, first=first, second=second)


def read_models(first: Path, second: Path | None, scratch: Path | None) -> tuple[LoadedModel, MatchedModels | None]:
    """Return the model; with a second model, the first one of both after they are matched, and both.

    For `scratch` see `LoadedModel.read`.
    """
    audited = LoadedModel.read(first, scratch=scratch)
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
    return MatchedModels(*matched, tuple(unmatched))


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
        copy = _renamed(each, names)
        values = {value.name: value for value in copy.graph.output}
        del copy.graph.output[:]
        copy.graph.output.extend(values[name] for name in outputs)
        changed.append(copy)
    return replace(model, original=changed[0], prepared=changed[1])


def _renamed(model: onnx.ModelProto, names: Mapping[str, str], avoided: Iterable[str] = ()) -> onnx.ModelProto:
    """Return a copy of a model with new names; a value of another name that is new or avoided gets a fresh name."""
    copy = copy_of(model)
    if all(name == new for name, new in names.items()) and not avoided:
        return copy
    clashing = {*names.values(), *avoided}
    fresh = FreshNames({*names_in_model(model), *clashing})

    def define(name: str) -> str:
        return names.get(name) or (fresh.take_numbered(name) if name in clashing else name)

    Renamer(fresh).rename_graph(copy.graph, {}, define)
    return copy


class GivenRewrite:
    """The second of two matched models, and its part for each part of the first.

    Args:
        models: the models.
    """

    def __init__(self, models: MatchedModels) -> None:
        self._first = models.first.prepared
        self._whole = models.second
        self._parts = GraphParts(models.second.prepared)
        self._interface = _interface(models.first.original)

    @property
    def model(self) -> LoadedModel:
        """The second model."""
        return self._whole

    def match_values(self, first: Mapping[str, Array], second: Mapping[str, Array]) -> None:
        """Match intermediate values of both models, so that they can be cut there.

        Args:
            first: the known values of the first model.
            second: the known values of the second model.
        """
        names = [_computed_names(self._first), _computed_names(self._whole.prepared)]
        ends = self._interface[0] | self._interface[1]
        ours, theirs = ([name for name in each if name not in ends] for each in names)
        pairs = match_values(_known(ours, first), _known(theirs, second)) | {name: name for name in ends}
        _match_operands(pairs, (self._first, first), (self._whole.prepared, second), {*ours}, {*theirs})
        self._parts = GraphParts(_renamed(self._whole.prepared, pairs, names_in_model(self._first)))

    def part(self, model: onnx.ModelProto) -> onnx.ModelProto | None:
        """Return the part of the second model that computes the outputs of a part of the first from its inputs.

        It is None if an output has no counterpart, or needs a value that the part of the first does not take.
        """
        if _interface(model) == self._interface:
            return self._whole.original
        return self._parts.between(model)

    def with_counterparts(self, fed: FedModel) -> FedModel | None:
        """Return a part of the first model without the outputs that have no counterpart; None if no output has one."""
        kept = [value for value in fed.model.graph.output if self._parts.computes(value.name)]
        if len(kept) == len(fed.model.graph.output):
            return fed
        if not kept:
            return None
        model = copy_of(fed.model)
        del model.graph.output[:]
        model.graph.output.extend(kept)
        return without_unused(fed.with_model(model))


def _known(names: Iterable[str], values: Mapping[str, Array]) -> dict[str, Array]:
    return {name: values[name] for name in names if name in values}


def _interface(model: onnx.ModelProto) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(required_input_names(model.graph)), frozenset(value.name for value in model.graph.output)


def _computed_names(model: onnx.ModelProto) -> list[str]:
    """Return the values of the main graph that depend on an input, in the order of the nodes."""
    found = dict.fromkeys(required_input_names(model.graph))
    inputs = set(found)
    for node in model.graph.node:
        if not is_operator(node, "Constant") and not found.keys().isdisjoint(names_taken_by(node)):
            found.update(dict.fromkeys(name for name in node.output if name))
    return [name for name in found if name not in inputs]


def match_values(first: Mapping[str, Array], second: Mapping[str, Array]) -> dict[str, str]:
    """Return the name in the first model of each value of the second that has a counterpart there.

    Args:
        first: values of the first model by name, in its order.
        second: values of the second model.
    """
    digests = [{name: hash_values([array]) for name, array in each.items()} for each in (first, second)]
    places: dict[str, list[str]] = defaultdict(list)
    for name, digest in digests[0].items():
        places[digest].append(name)
    common = [name for name in second if name in first]
    pairs = {name: name for name in common if digests[0][name] == digests[1][name]}
    agreements = len(pairs)
    taken = set(pairs)
    for name, digest in digests[1].items():
        free = next((each for each in places[digest] if each not in taken), None)
        if name not in pairs and free is not None:
            pairs[name] = free
            taken.add(free)
    misleading = sum(pairs.get(name, name) != name for name in common)
    if misleading <= agreements:
        alike = (name for name in common if name not in pairs and name not in taken)
        pairs |= {name: name for name in alike if _are_of_one_kind(first[name], second[name])}
    return pairs


_Side: TypeAlias = "tuple[onnx.ModelProto, Mapping[str, Array]]"
"""A model and its known values."""


def _match_operands(pairs: dict[str, str], first: _Side, second: _Side, ours: set[str], theirs: set[str]) -> None:
    """Add the operands of equal nodes whose results are matched, if one operand has no counterpart yet.

    Args:
        pairs: the name in the first model of each matched value of the second.
        first: the first model.
        second: the second model.
        ours: the intermediate values of the first model.
        theirs: those of the second.
    """
    makers = {name: node for node in first[0].graph.node for name in node.output if name}
    taken = set(pairs.values())
    for node in reversed(second[0].graph.node):
        results = [pairs.get(name) for name in node.output]
        maker = makers.get(results[0] or "") if results else None
        if maker is None or results != list(maker.output) or not _are_equal_nodes(maker, node):
            continue
        open_operands = [
            (one, other)
            for one, other in zip(maker.input, node.input, strict=True)
            if pairs.get(other) != one and not _is_same_constant(first[1].get(one), second[1].get(other))
        ]
        if len(set(open_operands)) == 1:
            one, other = open_operands[0]
            is_free = one in ours and other in theirs and one not in taken and other not in pairs
            if is_free and _are_of_one_kind(first[1].get(one), second[1].get(other)):
                pairs[other] = one
                taken.add(one)


def _are_equal_nodes(first: onnx.NodeProto, second: onnx.NodeProto) -> bool:
    attributes = [sorted(each.SerializeToString() for each in node.attribute) for node in (first, second)]
    names = [(node.op_type, node.domain, len(node.input)) for node in (first, second)]
    return names[0] == names[1] and attributes[0] == attributes[1]


def _is_same_constant(first: Array | None, second: Array | None) -> bool:
    return first is not None and second is not None and has_same_bits(first, second)


def _are_of_one_kind(first: Array | None, second: Array | None) -> bool:
    return first is not None and second is not None and (first.dtype, first.shape) == (second.dtype, second.shape)
