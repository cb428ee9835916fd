"""The intermediate values of two models that are the same value, so that both models can be cut there.

1. Values with the same type, shape and bits are matched, because one of them can replace the other.
2. The remaining values of one name, type and shape are matched, unless the names mislead: exporters number values, and
   then most pairs of one name are different values.
3. The remaining values of one type and shape that are nearest to each other are matched, if no other is as near.
4. If equal nodes compute matched values, their operands are matched by place: backwards from the outputs, so that
   models with other names are also cut behind the difference.
5. A pair of values with other bits is tried, because a rewrite may keep the name of a value and change the value: a
   BatchNormalization that is folded into a Conv changes the output of the Conv.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from conformance.exact.models.arrays import format_of, hash_values, have_same_bits, is_computed, is_floating
from conformance.exact.models.graphs import copy_of, is_operator, names_in_model, names_taken_by
from conformance.exact.models.input_files import required_input_names
from conformance.exact.models.model_building import array_value_info
from conformance.exact.models.renaming import FreshNames, renamed_copy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    import onnx

    from conformance.exact.models.arrays import Array

Side: TypeAlias = "tuple[onnx.ModelProto, Mapping[str, Array]]"
"""A model and its known values."""

Run: TypeAlias = "Callable[[onnx.ModelProto, Mapping[str, Array]], Sequence[Array] | None]"
"""Runs a model on inputs by name, and returns its outputs; None if it does not run."""

ROUNDING_ULPS = 64
"""Half ULP of the largest element by which roundings may change a value."""

MAX_TRIED_PAIRS = 100
"""Pairs of values that are each tried in a run of their own; further ones are left out."""

MIN_STEPS = 8
"""Steps of which the median error is the usual one, as in a model with quantized values beside one without."""

USUAL_FACTOR = 8
"""Multiple of the usual error of a step from which a step differs."""

MAX_STEP_ERROR = 1 / 4
"""Relative error from which a step differs in any case."""

MAX_DISTANCE = 1 / 2
"""Distance, as a share of the length, from which two values are not matched, times `CLEARLY_NEARER`."""

CLEARLY_NEARER = 8
"""Ratio of the distances of another value and of the nearest one from which the nearest one is matched."""

MAX_SAMPLED = 1024
"""Elements of a value that are compared to find the nearest one."""

MAX_NEAR_ERROR = 1 / 128
"""Relative error from which two values are not near, however much the outputs differ."""


@dataclass(frozen=True)
class ValueLoss:
    """How far the second model is from the first at a value that both have, relative to the length of the value.

    Attributes:
        name: the name of the value in the first model.
        own: the error of the step from the matched values before it, if the step takes these of the first model.
        since_inputs: the error since the inputs.
    """

    name: str
    own: float
    since_inputs: float


@dataclass(frozen=True)
class ValueMatching:
    """The search for the values that two models have in common.

    Attributes:
        first: the first model and its values.
        second: the second model, whose inputs and outputs have the names of the first, and its values.
        ends: the names of the inputs and outputs.
        run: runs a changed second model.
    """

    first: Side
    second: Side
    ends: frozenset[str]
    run: Run

    def find_pairs(self) -> dict[str, str]:
        """Return the name in the first model of each value of the second that is matched."""
        ours, theirs = (
            [name for name in _computed_names(model) if name not in self.ends] for model, _ in (self.first, self.second)
        )
        alike = _match_equal_and_named(_known(ours, self.first[1]), _known(theirs, self.second[1]))
        pairs = self._without_false(alike | {name: name for name in self.ends})
        taken = {*pairs.values()}
        pairs |= _match_nearest(
            _known((name for name in ours if name not in taken), self.first[1]),
            _known((name for name in theirs if name not in pairs), self.second[1]),
        )
        _match_operands(pairs, self.first, self.second, {*ours}, {*theirs})
        return self._without_false(pairs)

    def find_losses(self, pairs: Mapping[str, str]) -> list[ValueLoss]:
        """Return how far the second model is from the first at each value where a step of it adds an error.

        The values are the matched ones and the outputs, those of the worst step first.

        Args:
            pairs: the name in the first model of each matched value of the second.
        """
        outputs = {value.name for value in self.second[0].graph.output}
        named = {name: other for other, name in pairs.items() if name not in self.ends or name in outputs}
        known = [name for name in named if _is_measured(self.first[1].get(name), self.second[1].get(named[name]))]
        if not known or set(known) <= outputs:
            return []
        model = renamed_copy(self.second[0], pairs, names_in_model(self.first[0]))
        matched = [name for name in pairs.values() if name not in self.ends]
        steps = self._step_errors(model, matched, relative_distance)
        if steps is None:
            return []
        found = {
            name: ValueLoss(name, steps[name], relative_distance(self.second[1][named[name]], self.first[1][name]))
            for name in _computed_names(self.first[0])
            if name in known
        }
        behind: dict[str, float] = {}
        for node in self.first[0].graph.node:
            errors = [found[name].since_inputs for name in node.output if name in found]
            for name in names_taken_by(node) if errors else ():
                behind[name] = max(behind.get(name, 0.0), *errors)
        # a pair of different values, which nothing showed before, has an error that its results do not have
        losses = (each for name, each in found.items() if each.own <= CLEARLY_NEARER * behind.get(name, each.own))
        return sorted((each for each in losses if each.own), key=lambda each: -each.own)

    def _without_false(self, pairs: dict[str, str]) -> dict[str, str]:
        """Return the pairs without those that are false; each that is left out changes where the others are cut."""
        while false := self._find_false_pairs(pairs):
            pairs = {other: name for other, name in pairs.items() if name not in false}
        return pairs

    def _find_false_pairs(self, pairs: Mapping[str, str]) -> set[str]:
        """Return the names of pairs that are different values.

        The second model is run with the values of the first at all pairs, so that each step between them is compared
        alone. A fault is one step that differs. A false pair makes a step before it and a step behind it differ, which
        cancel. A pair between two such steps is tried: only the value of a true pair can replace the other value
        without a larger difference of the outputs.
        """
        doubtful = [name for other, name in pairs.items() if name not in self.ends and not self._is_near(name, other)]
        if not doubtful:
            return set()
        model = renamed_copy(self.second[0], pairs, names_in_model(self.first[0]))
        matched = [name for name in pairs.values() if name not in self.ends]
        errors = self._step_errors(model, matched)
        if errors is None:
            return set(doubtful)
        usual = float(np.median([*errors.values()])) if len(errors) >= MIN_STEPS else 0.0
        accepted = min(USUAL_FACTOR * usual, MAX_STEP_ERROR)
        differing = {name for name, error in errors.items() if error > max(accepted, self._rounding(name))}
        before, behind = _reach(model, differing)
        between = [name for name in doubtful if name in before and name in behind]
        tried = between[:MAX_TRIED_PAIRS]
        return {*between[MAX_TRIED_PAIRS:], *(name for name in tried if not self._can_replace(model, name))}

    def _can_replace(self, model: onnx.ModelProto, name: str) -> bool:
        """Return whether the outputs of the second model come no nearer to those of the first by its own value."""
        errors = self._step_errors(model, [name])
        if errors is None:
            return False
        own = self._output_errors
        return all(errors[each] <= max(own[each], self._rounding(each)) for each in own)

    def _step_errors(
        self, model: onnx.ModelProto, names: Sequence[str], measure: Callable[[Any, Any], float] | None = None
    ) -> dict[str, float] | None:
        """Return the relative error of each output and each of some values, if the values of the first model are given.

        Args:
            model: the second model, with the names of the first for matched values.
            names: the values that its nodes take from the first model.
            measure: returns the error of a value against an expected one; None for `_error`.

        Returns:
            The errors by name; None if the model does not run.
        """
        fresh = FreshNames.of(model)
        computed = {name: fresh.take_numbered(name) for name in names}
        copy = copy_of(model)
        graph = copy.graph
        for node in graph.node:
            node.output[:] = [computed.get(name, name) for name in node.output]
        declared = [value for value in graph.value_info if value.name not in computed]
        del graph.value_info[:]
        graph.value_info.extend(declared)
        given = {name: self.first[1][name] for name in (*required_input_names(graph), *names)}
        graph.input.extend(array_value_info(name, given[name]) for name in names)
        ends = [value.name for value in graph.output]
        for name, made in computed.items():
            graph.output.append(array_value_info(made, given[name]))
        outputs = self.run(copy, given)
        if outputs is None:
            return None
        error = measure or _error
        return {
            name: error(output, self.first[1].get(name)) for name, output in zip((*ends, *names), outputs, strict=True)
        }

    @cached_property
    def _output_errors(self) -> dict[str, float]:
        names = [value.name for value in self.second[0].graph.output]
        return {name: _error(self.second[1].get(name), self.first[1].get(name)) for name in names}

    def _is_near(self, name: str, other: str) -> bool:
        """Return whether two values differ by no more than the outputs do, or by roundings."""
        accepted = min(max(self._output_errors.values(), default=0.0), MAX_NEAR_ERROR)
        return _error(self.second[1].get(other), self.first[1].get(name)) <= max(accepted, self._rounding(name))

    def _rounding(self, name: str) -> float:
        """Return the relative error that roundings may make; 0 for values that are no floating-point numbers."""
        array = self.first[1].get(name)
        return (
            0.0
            if array is None or not is_computed(array.dtype)
            else ROUNDING_ULPS * float(format_of(array.dtype).unit_roundoff)
        )


def relative_distance(actual: Any, expected: Any) -> float:
    """Return the length of the difference of two values as a share of the length of the expected value."""
    if not _is_measured(actual, expected):
        return 0.0
    numbers, others = (each.astype(np.float64).reshape(-1) for each in (expected, actual))
    with np.errstate(all="ignore"):
        is_known = np.isfinite(numbers) & np.isfinite(others)
        length = float(np.linalg.norm(numbers[is_known]))
        distance = float(np.linalg.norm(numbers[is_known] - others[is_known]))
    return distance / length if length else 0.0


def _is_measured(actual: Any, expected: Any) -> bool:
    """Return whether two values are tensors of floating-point numbers of one type and shape."""
    arrays = all(isinstance(each, np.ndarray) for each in (actual, expected))
    return arrays and _are_of_one_kind(actual, expected) and is_floating(expected.dtype)


def _error(actual: Any, expected: Any) -> float:
    """Return the largest relative difference of the elements: 0 if no value is expected, infinite for another type.

    A small element counts as one of the median magnitude: it may be the sum of larger terms. The largest magnitude is
    no measure for all, because a mask adds elements of any magnitude.
    """
    if expected is None:  # it is a sequence or a map
        return 0.0
    if not isinstance(actual, np.ndarray) or not _are_of_one_kind(actual, expected):
        return math.inf
    if expected.dtype.kind not in "fiubV":
        return 0.0 if have_same_bits(actual, expected) else math.inf
    numbers = expected.astype(np.float64)
    with np.errstate(all="ignore"):
        difference = np.abs(actual.astype(np.float64) - numbers)
        magnitude = np.abs(numbers)
        is_known = np.isfinite(difference) & np.isfinite(magnitude)
        usual = magnitude[is_known & (magnitude > 0)]
        shares = difference / np.maximum(magnitude, float(np.median(usual)) if usual.size else 1.0)
    return float(shares.max(initial=0.0, where=is_known))


def _reach(model: onnx.ModelProto, marked: AbstractSet[str]) -> tuple[set[str], set[str]]:
    """Return the values that a marked value depends on, and the values that are marked or depend on a marked value."""
    before: set[str] = set()
    for node in reversed(model.graph.node):
        if not (marked | before).isdisjoint(node.output):
            before.update(names_taken_by(node))
    behind = {*marked}
    for node in model.graph.node:
        if not behind.isdisjoint(names_taken_by(node)):
            behind.update(node.output)
    return before, behind


def _known(names: Iterable[str], values: Mapping[str, Array]) -> dict[str, Array]:
    return {name: values[name] for name in names if name in values}


def _computed_names(model: onnx.ModelProto) -> list[str]:
    """Return the values of the main graph that depend on an input, in the order of the nodes."""
    found = dict.fromkeys(required_input_names(model.graph))
    inputs = set(found)
    for node in model.graph.node:
        if not is_operator(node, "Constant") and not found.keys().isdisjoint(names_taken_by(node)):
            found.update(dict.fromkeys(name for name in node.output if name))
    return [name for name in found if name not in inputs]


def _match_equal_and_named(first: Mapping[str, Array], second: Mapping[str, Array]) -> dict[str, str]:
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


def _match_nearest(first: Mapping[str, Array], second: Mapping[str, Array]) -> dict[str, str]:
    """Return the name in the first model of each value of the second that is nearest to it, and clearly so.

    Args:
        first: values of the first model that have no counterpart yet, in its order.
        second: values of the second model.
    """
    ours = _distinct_values(first)
    theirs = _distinct_values(second)
    pairs: dict[str, str] = {}
    for kind in ours.keys() & theirs.keys():
        distances = np.array(
            [[_distance(first[one[0]], second[other[0]]) for other in theirs[kind]] for one in ours[kind]]
        )
        for row, column in enumerate(distances.argmin(axis=1)):
            rivals = (*np.delete(distances[row], column), *np.delete(distances[:, column], row), MAX_DISTANCE)
            if distances[row, column] < min(rivals) / CLEARLY_NEARER:
                pairs |= zip(theirs[kind][column], ours[kind][row], strict=False)
    return pairs


def _distinct_values(values: Mapping[str, Array]) -> dict[tuple[Any, ...], list[list[str]]]:
    """Return the names of floating-point values by type and shape; those with the same bits are together, in order."""
    found: dict[tuple[Any, ...], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, array in values.items():
        if is_floating(array.dtype) and array.size > 1:
            found[array.dtype, array.shape][hash_values([array])].append(name)
    return {kind: list(each.values()) for kind, each in found.items()}


def _distance(first: Array, second: Array) -> float:
    """Return the distance of two values as a share of the length of the first, on a sample of their elements."""
    step = -(-first.size // MAX_SAMPLED)
    one, other = (np.nan_to_num(each.reshape(-1)[::step].astype(np.float64)) for each in (first, second))
    length = float(np.linalg.norm(one))
    return float(np.linalg.norm(one - other)) / length if length else math.inf


def _match_operands(pairs: dict[str, str], first: Side, second: Side, ours: set[str], theirs: set[str]) -> None:
    """Add the operands of equal nodes whose results are matched, where both have no counterpart yet.

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
        for one, other in zip(maker.input, node.input, strict=True):
            is_free = one in ours and other in theirs and one not in taken and other not in pairs
            if is_free and _are_of_one_kind(first[1].get(one), second[1].get(other)):
                pairs[other] = one
                taken.add(one)


def _are_equal_nodes(first: onnx.NodeProto, second: onnx.NodeProto) -> bool:
    attributes = [sorted(each.SerializeToString() for each in node.attribute) for node in (first, second)]
    names = [(node.op_type, node.domain, len(node.input)) for node in (first, second)]
    return names[0] == names[1] and attributes[0] == attributes[1]


def _are_of_one_kind(first: Array | None, second: Array | None) -> bool:
    return first is not None and second is not None and (first.dtype, first.shape) == (second.dtype, second.shape)
