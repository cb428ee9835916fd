"""Reduction of a model and its inputs, while the same difference stays.

The steps, each of which tries smaller models and keeps those with the same difference:

1. *Cut*: a part of the nodes becomes a model. Values from outside of the part become inputs, with the values that the
   subject computed in the whole model. The part is halved, and then nodes are left out one after the other.
2. *Outputs*: outputs that do not differ are left out.
3. *Subgraphs*: a Loop is replaced by the nodes of its steps, and an If by the nodes of its branch. Where the difference
   needs the subgraph, its nodes are left out one after the other.
4. *Dimensions*: sizes are made smaller, all dimensions of one size together.
5. *Weights*: initializers and inputs become constants or short numbers, where the difference allows it. Numbers stay:
   a runtime fuses nodes by an exponent or an epsilon, and other ones give another fault.

If a second model is given, both are cut together, at the values that they have in common; the other steps would change
the first model alone.

Every part has valid inputs, because a user could give a model any input.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from conformance.exact.models.external_data import without_external_data
from conformance.exact.models.graphs import copy_of, is_operator, iter_nodes, with_inferred_types
from conformance.exact.models.model_validity import model_violation
from conformance.exact.reference.numbers.enclosure import Enclosure
from conformance.own.blame.difference import Difference, observe
from conformance.own.blame.model_comparison import Comparison, Computation, TimeIsOverError, run_model
from conformance.own.blame.passes import minimize
from conformance.own.blame.verdict import BlameOutcome, enclose_fed_model, judge
from conformance.own.graphs.cutting import GraphParts, bypass_inner, inner_nodes, live_nodes, without_unused
from conformance.own.graphs.fed_model import FedModel, case_arrays, with_arrays
from conformance.own.graphs.inlining import inline_taken_branches, unrolled_models
from conformance.own.graphs.intermediate_values import expose_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from conformance.exact.models.arrays import Array

MAX_SECONDS = 600.0
"""Maximum time of a reduction; the smallest model so far is kept after that."""

SHARE_OF_WHOLE = 1 / 6
"""The share of the time in which the whole model is judged."""

MAX_JUDGED_NODES = 4096
"""Number of nodes up to which a model is judged before it is reduced; each takes more than a millisecond."""

SHARE_OF_VALUES = 5 / 12
"""The share of the time after which no value of the reduced model is judged, nor the part before it reduced."""

MAX_FIRST_VALUES = 16
"""Maximum number of values of a reduced model that are judged as outputs, in the order of the nodes."""

WINDOW_NODES = 16
"""Number of nodes of the parts in which a fault is searched if the whole model's difference is admissible."""


@dataclass
class DifferenceReduction:
    """Reduction of a model to nodes with its difference, on which somebody is wrong if that can be.

    Attributes:
        comparison: both ways.
        seconds: the maximum time; each of up to three reductions has a third of it, with its judgements.
        on_smaller: is called with each smaller fed model, for a session that is interrupted.
        tested: the number of fed models that were tried.
        ended_early: whether the time ended before the reduction.
    """

    comparison: Comparison
    seconds: float
    on_smaller: Callable[[FedModel], None]
    tested: int = 0
    ended_early: bool = False
    _begun: float = field(default=0.0, init=False)

    def reduce(self, whole: FedModel, start: FedModel | None) -> FedModel:
        """Return the reduced fed model.

        If nobody is wrong on it, a part of the whole model on which somebody is wrong is searched. If there is none,
        the difference has the sum of many roundings, and the smallest of them is kept.

        Args:
            whole: the model and its inputs.
            start: a smaller fed model of an earlier session; None to start with the whole model.
        """
        self._begun = time.monotonic()
        whole, wanted, kept = self._first_output(whole)

        def has_difference(fed: FedModel) -> bool:
            """Return whether a smaller model has the same difference; a rounding is another one than a fault.

            A model that is judged is not reduced to one that is not.
            """
            nonlocal kept
            found, answers = observe(self.comparison, fed)
            if not wanted.is_same(found) or any(wanted.failures):
                return wanted.is_same(found)
            if self.comparison.changed_way(fed, answers) is not None:
                return False
            outcome = self._outcome(fed, found, answers)
            is_kept = kept is BlameOutcome.NOT_JUDGED or (
                outcome is not BlameOutcome.NOT_JUDGED and outcome.is_open == kept.is_open
            )
            kept = outcome if is_kept else kept
            return is_kept

        first = start if start is not None and has_difference(start) else whole
        fed = self._reduce_while(has_difference, first, 1 / 3)
        is_settled = any(wanted.failures) or kept.is_open
        if not is_settled and (first_wrong := self._first_wrong_value(fed)) is not None:
            first, wanted, kept = first_wrong
            fed = self._reduce_while(has_difference, first, SHARE_OF_VALUES)
        _, outcome = self._judged(fed, 1 / 2)
        if not outcome.is_open or any(wanted.failures):
            return fed
        part = self._find_part(lambda fed: is_wrong(self.comparison, fed, wanted), whole)
        if part is not None:
            return self._reduce_while(lambda fed: is_wrong(self.comparison, fed, wanted), part, 1)
        if outcome is BlameOutcome.BOTH_ADMISSIBLE:
            return self._reduce_while(lambda fed: is_alike_and_admissible(self.comparison, fed, wanted), fed, 1)
        return fed

    def _first_output(self, whole: FedModel) -> tuple[FedModel, Difference, BlameOutcome]:
        """Return the model with one differing output, or the whole model, with its difference and who is wrong.

        The output is the one that the fewest nodes compute, if the answer for it is that for the whole model: the
        difference of another output may come from this one, and would keep the nodes of both.
        """
        wanted, outcome = self._judged(whole, SHARE_OF_WHOLE)
        names = [each.name for each in wanted.outputs]
        if self.comparison.second_model is not None or len(names) < 2 or outcome is BlameOutcome.NOT_JUDGED:
            return whole, wanted, outcome
        parts = sorted((with_output(whole, name) for name in names), key=lambda fed: node_count(fed.model))
        for part in parts[:-1]:
            difference, found = self._judged(part, SHARE_OF_WHOLE)
            is_alike = wanted.is_alike(difference) and difference.is_finite == wanted.is_finite
            if is_alike and found is not BlameOutcome.NOT_JUDGED and found.is_open == outcome.is_open:
                return part, difference, found
        return whole, wanted, outcome

    def _first_wrong_value(self, fed: FedModel) -> tuple[FedModel, Difference, BlameOutcome] | None:
        """Return the part of a reduced model with the first value on which somebody is wrong; None if it is an output.

        A difference of shapes, such as a missing box, may follow from one of values, such as a wrong score.
        """
        if self.comparison.has_rewrite:  # a rewrite has other values before its outputs
            return None
        typed = fed.with_model(with_inferred_types(fed.model))
        known = {value.name for value in typed.model.graph.value_info}
        names = [name for node in typed.model.graph.node for name in node.output if name in known]
        for part in (with_output(typed, name) for name in names[:MAX_FIRST_VALUES]):
            difference, outcome = self._judged(part, SHARE_OF_VALUES)
            if difference and not outcome.is_open:
                return part, difference, outcome
        return None

    def _judged(self, fed: FedModel, share: float) -> tuple[Difference, BlameOutcome]:
        """Return the difference of a fed model and who is wrong; nobody is judged after a share of the whole time."""
        difference, answers = observe(self.comparison, fed)
        try:
            with self.comparison.until(self._end(share)):
                return difference, self._outcome(fed, difference, answers)
        except TimeIsOverError:
            return difference, BlameOutcome.NOT_JUDGED

    def _outcome(self, fed: FedModel, difference: Difference, answers: tuple[Computation, Computation]) -> BlameOutcome:
        """Return who is wrong; nobody is judged on a large model, whose bounds are composed over all nodes."""
        if node_count(fed.model) > MAX_JUDGED_NODES:
            return BlameOutcome.NOT_JUDGED
        return judge(self.comparison, fed, difference, answers).outcome

    def _end(self, share: float) -> float:
        return self._begun + share * self.seconds

    def _reduce_while(self, is_same: Callable[[FedModel], bool], fed: FedModel, share: float) -> FedModel:
        with self._reducer(is_same, self.on_smaller, share) as reducer:
            return reducer.reduce(fed)

    def _find_part(self, is_wrong: Callable[[FedModel], bool], whole: FedModel) -> FedModel | None:
        with self._reducer(is_wrong, lambda _: None, 2 / 3) as reducer:
            return reducer.is_or_has_part(whole)

    @contextmanager
    def _reducer(
        self, is_same: Callable[[FedModel], bool], on_smaller: Callable[[FedModel], None], share: float
    ) -> Iterator[Reducer]:
        """Yield a reducer that ends after a share of the whole time, and count the fed models that it has tried."""
        reducer = Reducer(self.comparison, is_same, on_smaller)
        try:
            with self.comparison.until(self._end(share)):
                yield reducer
        finally:
            self.tested += reducer.tested
            self.ended_early |= reducer.ended_early


def is_alike_and_admissible(comparison: Comparison, fed: FedModel, wanted: Difference) -> bool:
    """Return whether the outputs of a fed model have a difference of the same kind, are judged, and nobody is wrong."""
    difference, answers = observe(comparison, fed)
    if not wanted.is_alike(difference):
        return False
    return judge(comparison, fed, difference, answers).outcome is BlameOutcome.BOTH_ADMISSIBLE


def is_wrong(comparison: Comparison, fed: FedModel, wanted: Difference) -> bool:
    """Return whether the outputs of a fed model differ and somebody is wrong; NaN is no part of a finite difference."""
    difference, answers = observe(comparison, fed)
    if not difference or any(difference.failures) or (wanted.is_finite and not difference.is_finite):
        return False
    return not judge(comparison, fed, difference, answers).outcome.is_open


@dataclass
class Reducer:
    """Reduces one fed model.

    Attributes:
        comparison: both ways. The first computes the values at cuts; a second model is cut together with the first.
        is_same: whether a smaller fed model has the same difference.
        on_smaller: is called with each smaller fed model that has the same difference.
        tested: the number of fed models that were tried.
        ended_early: whether the time ended before the reduction.
    """

    comparison: Comparison
    is_same: Callable[[FedModel], bool]
    on_smaller: Callable[[FedModel], None]
    tested: int = 0
    ended_early: bool = False
    _smallest: FedModel = field(init=False)
    """The smallest fed model so far; each step makes it smaller."""

    def reduce(self, fed: FedModel) -> FedModel:
        """Return the smallest fed model that was found until the time is over; it may be the given one."""
        self._smallest = fed
        with self._limited():
            for round in range(4):
                size = node_count(self._smallest.model)
                self._cut()
                self._drop_outputs()
                if self.comparison.second_model is None:
                    self._open_subgraphs()
                if round and node_count(self._smallest.model) == size:
                    break
            if self.comparison.second_model is not None:
                return self._smallest
            self._shorten_loops()
            self._drop_inner_nodes()
            self._shrink_dimensions()
            self._simplify_weights()
        return self._smallest

    @contextmanager
    def _limited(self) -> Iterator[None]:
        """End a block when the time of the comparison is over, and record that it ended early."""
        try:
            yield
        except TimeIsOverError:
            self.ended_early = True

    def is_or_has_part(self, fed: FedModel) -> FedModel | None:
        """Return the fed model if it holds, else a part of it that does; None if none holds until the time is over."""
        self._smallest = fed
        with self._limited():
            if self._holds(fed) or self._has_part(fed):
                return self._smallest
        return None

    def _holds(self, fed: FedModel | None) -> bool:
        """Return whether a smaller fed model is valid and has the same difference; it is the smallest then."""
        self.comparison.note(f"{len(self._smallest.model.graph.node)} nodes, {self.tested} models tried")
        second = self.comparison.second_model
        if fed is not None and second is not None:
            fed = second.with_counterparts(fed)
        if fed is None:
            return False
        self.tested += 1
        if model_violation(without_external_data(fed.model)) is not None or not self.is_same(fed):
            return False
        self._smallest = fed
        self.on_smaller(fed)
        return True

    def _take_first(self, fed_models: Iterable[FedModel | None]) -> bool:
        """Return whether one of some smaller fed models holds; the first that does is the smallest then."""
        return any(map(self._holds, fed_models))

    def _cut(self) -> None:
        fed = self._smallest
        nodes = live_nodes(fed.model)
        values = self._known_values()
        parts = GraphParts(fed.model, fed.data_folder)
        minimize(nodes, lambda part: self._holds(parts.cut(part, values)), 10_000)
        if self._smallest is fed:
            self._holds(parts.cut(nodes, values))

    def _known_values(self) -> dict[str, Array]:
        subjects = (self.comparison.first.target, self.comparison.second.target)
        return known_values(subjects, self._smallest, self.comparison.note)

    def _drop_outputs(self) -> None:
        for value in list(self._smallest.model.graph.output):
            if len(self._smallest.model.graph.output) > 1:
                model = copy_of(self._smallest.model)
                model.graph.output.remove(value)
                self._holds(without_unused(self._smallest.with_model(model)))

    def _open_subgraphs(self) -> None:
        values = self._known_values()
        inlined = inline_taken_branches(self._smallest.model, values)
        if inlined is not None:
            self._holds(without_unused(self._smallest.with_model(inlined)))
        fed = self._smallest
        for number, node in enumerate(fed.model.graph.node):
            if is_operator(node, "Loop"):
                unrolled = unrolled_models(fed.model, number, values)
                if self._take_first(without_unused(fed.with_model(each)) for each in unrolled):
                    return

    def _drop_inner_nodes(self) -> None:
        """Leave out nodes of subgraphs: a user of a node's output takes one of the node's inputs instead."""
        place = 0
        while place < len(inner := list(inner_nodes(self._smallest.model))):
            graph, position = inner[place]
            sources = [name for name in dict.fromkeys(graph.node[position].input) if name]
            if not self._take_first(bypass_inner(self._smallest, place, source) for source in sources):
                place += 1

    def _shorten_loops(self) -> None:
        for node in self._smallest.model.graph.node:
            if is_operator(node, "Loop") and node.input and node.input[0]:
                self._holds(with_arrays(self._smallest, {node.input[0]: np.asarray(1, np.int64)}))

    def _shrink_dimensions(self) -> None:
        sizes = {size for array in case_arrays(self._smallest).values() for size in array.shape if size > 1}
        for size in sorted(sizes, reverse=True):
            smaller = (each for each in dict.fromkeys((1, 2, 3, size // 4, size // 2)) if 0 < each < size)
            parts = ((start, each) for each in smaller for start in dict.fromkeys((0, size - each, (size - each) // 2)))
            self._take_first(shrink(self._smallest, size, *part) for part in parts)
        for name, array in list(self._smallest.inputs.items()):
            for axis, size in enumerate(np.shape(array)):  # a map has no axes
                if size > 1:
                    first = self._smallest.inputs[name].take(range(1), axis)
                    self._holds(with_arrays(self._smallest, {name: first}))

    def _simplify_weights(self) -> None:
        numbers = {name for name, array in self._smallest.initializers.items() if array.size == 1}
        for name, array in case_arrays(self._smallest).items():
            if name not in numbers:
                self._take_first(with_arrays(self._smallest, {name: simple}) for simple in simple_arrays(array))

    def _has_part(self, fed: FedModel) -> bool:
        """Return whether a part of at most `WINDOW_NODES` consecutive nodes holds; with a second model, a step of both.

        Single nodes come last: composed bounds can hide a fault of one of them.
        """
        nodes = live_nodes(fed.model)
        if len(nodes) <= 1:
            return False
        values = self._known_values()
        parts = GraphParts(fed.model, fed.data_folder)
        if self.comparison.second_model is not None:
            return self._take_first(parts.cut(step, values) for step in self.comparison.second_model.steps(fed.model))
        for size in (WINDOW_NODES, 4, 1):
            if len(nodes) <= size // 2:
                continue
            for start in range(0, max(1, len(nodes) - size // 2), max(1, size // 2)):
                self.comparison.note(f"nodes from {start} of {len(nodes)}")
                if self._holds(parts.cut(nodes[start : start + size], values)):
                    return True
        return False


def node_count(model: onnx.ModelProto) -> int:
    """Return the number of nodes, also of subgraphs; constants do not count."""
    return sum(not is_operator(node, "Constant") for node in iter_nodes(model.graph))


def with_output(fed: FedModel, name: str) -> FedModel:
    """Return a fed model with one value of a known type as its output, and the nodes that it needs."""
    model = copy_of(fed.model)
    kept = [value for value in (*fed.model.graph.output, *fed.model.graph.value_info) if value.name == name]
    del model.graph.output[:]
    model.graph.output.extend(kept)
    return without_unused(fed.with_model(model))


def known_values(
    backends: Iterable[Any], fed: FedModel, note: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Return all values of a model that the first subject returns that computes it, by name; others are missing.

    `note` is called with the progress for the user.
    """
    constants = fed.initializers
    values: dict[str, Any] = {**constants, **fed.inputs}
    answers = ((each, run_model(each, fed.model, fed.inputs)) for each in backends)
    backend, answer = next(((each, found) for each, found in answers if not found.failure), (None, None))
    if answer is not None:
        try:
            recorded = expose_values(
                backend, fed.model, fed.arrays, answer.outputs, note, is_stable=False, constants=constants
            )
            values.update(recorded.values)
        except TimeIsOverError:
            raise
        except Exception:  # noqa: BLE001 - the model is then cut at inputs only
            values.update(zip((value.name for value in fed.model.graph.output), answer.outputs, strict=True))
    if len(values) < len(fed.model.graph.node):
        values = {**_evaluated(fed, note), **values}
    arrays = {name: np.asarray(each) for name, each in values.items() if isinstance(each, np.ndarray | np.generic)}
    return {**arrays, **{name: each for name, each in fed.inputs.items() if isinstance(each, dict)}}


def _evaluated(fed: FedModel, note: Callable[[str], None]) -> dict[str, Any]:
    """Return the values that the reference computes; any value of the right type and shape is a valid input."""
    model = copy_of(fed.model)
    del model.graph.output[:]
    model.graph.output.extend(
        onnx.ValueInfoProto(name=name) for node in model.graph.node for name in node.output if name
    )
    found = enclose_fed_model(fed.with_model(model), note)
    return {
        name: each.value.astype(each.dtype) if isinstance(each, Enclosure) else each for name, each in found.items()
    }


def shrink(fed: FedModel, size: int, start: int, wanted: int) -> FedModel | None:
    """Return a fed model in which every dimension of one size has another size."""
    changed = {}
    for name, array in case_arrays(fed).items():
        if size in array.shape:
            part = tuple(slice(start, start + wanted) if each == size else slice(None) for each in array.shape)
            changed[name] = np.ascontiguousarray(array[part])
    return with_arrays(fed, changed)


def simple_arrays(array: Array) -> Iterator[Array]:
    """Yield arrays of the same type and shape with simpler numbers, the simplest first."""
    if array.dtype.kind in "fV":
        count = np.arange(array.size, dtype=np.float64).reshape(array.shape)
        for simple in (np.zeros(array.shape), np.ones(array.shape), count, (count % 7 - 3) / 4):
            yield simple.astype(array.dtype)
        with np.errstate(all="ignore"):
            for digits in (1, 2, 3):
                yield np.round(array.astype(np.float64), digits).astype(array.dtype)
