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

Every part has valid inputs, because a user could give a model any input.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from conformance.blame.comparison import run_model
from conformance.blame.difference import observe
from conformance.blame.passes import minimize
from conformance.blame.verdict import BlameOutcome, enclose_outputs, judge
from conformance.graphs.cutting import bypass_inner, cut, inner_nodes, live_nodes, without_unused
from conformance.graphs.fed_model import FedModel, case_arrays, with_array, with_arrays
from conformance.graphs.inlining import inline_taken_branches, unrolled_models
from conformance.graphs.intermediate_values import record_values
from conformance.models.graphs import copy_of, is_operator, iter_nodes
from conformance.models.inputs import initializer_arrays
from conformance.models.validity import check_model
from conformance.reference.numbers.enclosure import Enclosure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from conformance.blame.comparison import Comparison
    from conformance.blame.difference import Difference
    from conformance.models.arrays import Array

MAX_SECONDS = 600.0
"""Maximum time of a reduction; the smallest model so far is kept after that."""

WINDOW_NODES = 16
"""Number of nodes of the parts in which a fault is searched if the whole model's difference is admissible."""


@dataclass
class DifferenceReduction:
    """Reduction of a model to nodes with its difference, on which somebody is wrong if that can be.

    Attributes:
        comparison: both ways.
        seconds: the maximum time; each of up to three reductions has a third of it.
        progress: is called with a text for the user.
        on_smaller: is called with each smaller case, for a session that is interrupted.
        tested: the number of cases that were tried.
        ended_early: whether the time ended before the reduction.
    """

    comparison: Comparison
    seconds: float
    progress: Callable[[str], None]
    on_smaller: Callable[[FedModel], None]
    tested: int = 0
    ended_early: bool = False

    def reduce(self, whole: FedModel, start: FedModel | None) -> FedModel:
        """Return the reduced case.

        If nobody is wrong on it, a part of the whole model on which somebody is wrong is searched. If there is none,
        the difference has the sum of many roundings, and the smallest of them is kept.

        Args:
            whole: the model and its inputs.
            start: a smaller case of an earlier session; None to start with the whole model.
        """
        wanted, kept = self._judged(whole)

        def has_difference(case: FedModel) -> bool:
            """Return whether a smaller model has the same difference; a rounding is another one than a fault.

            A model that is judged is not reduced to one that is not.
            """
            nonlocal kept
            found, answers = observe(self.comparison, case)
            if not wanted.is_same(found) or any(wanted.failures):
                return wanted.is_same(found)
            outcome = judge(self.comparison, case, found, answers).outcome
            is_kept = kept is BlameOutcome.NOT_JUDGED or (
                outcome is not BlameOutcome.NOT_JUDGED and outcome.is_open == kept.is_open
            )
            kept = outcome if is_kept else kept
            return is_kept

        first = start if start is not None and has_difference(start) else whole
        case = self._reduce_while(has_difference, first)
        _, outcome = self._judged(case)
        if not outcome.is_open or any(wanted.failures):
            return case
        part = self._find_part(lambda case: is_wrong(self.comparison, case, wanted), whole)
        if part is not None:
            return self._reduce_while(lambda case: is_wrong(self.comparison, case, wanted), part)
        if outcome is BlameOutcome.BOTH_ADMISSIBLE:
            return self._reduce_while(lambda case: is_alike_and_admissible(self.comparison, case, wanted), case)
        return case

    def _judged(self, case: FedModel) -> tuple[Difference, BlameOutcome]:
        difference, answers = observe(self.comparison, case)
        return difference, judge(self.comparison, case, difference, answers).outcome

    def _reduce_while(self, is_same: Callable[[FedModel], bool], case: FedModel) -> FedModel:
        with self._reducer(is_same, self.on_smaller) as reducer:
            return reducer.reduce(case)

    def _find_part(self, is_wrong: Callable[[FedModel], bool], whole: FedModel) -> FedModel | None:
        with self._reducer(is_wrong, lambda _: None) as reducer:
            return reducer.is_or_has_part(whole)

    @contextmanager
    def _reducer(
        self, is_same: Callable[[FedModel], bool], on_smaller: Callable[[FedModel], None]
    ) -> Iterator[Reducer]:
        """Yield a reducer, and count the cases that it has tried."""
        deadline = time.monotonic() + self.seconds / 3
        reducer = Reducer(self.comparison.first.target, is_same, self.progress, deadline, on_smaller=on_smaller)
        try:
            yield reducer
        finally:
            self.tested += reducer.tested
            self.ended_early |= reducer.ended_early


def is_alike_and_admissible(comparison: Comparison, case: FedModel, wanted: Difference) -> bool:
    """Return whether the outputs of a case have a difference of the same kind, are judged, and nobody is wrong."""
    difference, answers = observe(comparison, case)
    if not wanted.is_alike(difference):
        return False
    return judge(comparison, case, difference, answers).outcome is BlameOutcome.BOTH_ADMISSIBLE


def is_wrong(comparison: Comparison, case: FedModel, wanted: Difference) -> bool:
    """Return whether the outputs of a case differ, and somebody is wrong; NaN is no part of a finite difference."""
    difference, answers = observe(comparison, case)
    if not difference or any(difference.failures) or (wanted.is_finite and not difference.is_finite):
        return False
    return not judge(comparison, case, difference, answers).outcome.is_open


class _TimeIsOverError(Exception):
    """Ends the reduction from any depth: building a candidate of a large model takes time too."""


@dataclass
class Reducer:
    """Reduces one case.

    Attributes:
        backend: the subject that computes the values at cuts.
        is_same: whether a smaller case has the same difference.
        progress: is called with a text for the user.
        deadline: the time (`time.monotonic`) at which the reduction ends.
        tested: the number of cases that were tried.
        ended_early: whether the time ended before the reduction.
        on_smaller: is called with each smaller case that has the same difference.
    """

    backend: Any
    is_same: Callable[[FedModel], bool]
    progress: Callable[[str], None] = lambda _: None
    deadline: float = field(default_factory=lambda: time.monotonic() + MAX_SECONDS)
    tested: int = 0
    ended_early: bool = False
    on_smaller: Callable[[FedModel], None] = lambda _: None
    _smallest: FedModel = field(init=False)

    def reduce(self, case: FedModel) -> FedModel:
        """Return the smallest case that was found until the deadline; it may be the given one."""
        self._smallest = case
        try:
            return self._reduce_in_rounds(case)
        except _TimeIsOverError:
            return self._smallest

    def _reduce_in_rounds(self, case: FedModel) -> FedModel:
        for round in range(4):
            size = node_count(case.model)
            case = self._cut(case)
            case = self._drop_outputs(case)
            case = self._open_subgraphs(case)
            if round and node_count(case.model) == size:
                break
        case = self._drop_inner_nodes(case)
        case = self._shrink_dimensions(case)
        return self._simplify_weights(case)

    def is_or_has_part(self, case: FedModel) -> FedModel | None:
        """Return the case if it holds, else a part of it that does; None if no part holds until the deadline."""
        try:
            return case if self._holds(case) else self._find_part(case)
        except _TimeIsOverError:
            return None

    def _holds(self, case: FedModel | None) -> bool:
        """Return whether a smaller case is valid and has the same difference."""
        if time.monotonic() > self.deadline:
            self.ended_early = True
            raise _TimeIsOverError
        if case is None:
            return False
        self.tested += 1
        try:
            check_model(case.model)
        except Exception:  # noqa: BLE001 - the checker raises errors of several kinds
            return False
        if not self.is_same(case):
            return False
        self.progress(f"{node_count(case.model)} nodes, {self.tested} models tried")
        self._smallest = case
        self.on_smaller(case)
        return True

    def _cut(self, case: FedModel) -> FedModel:
        nodes = live_nodes(case.model)
        values = known_values(self.backend, case)
        whole = cut(case.model, nodes, values)
        best = case
        if whole is not None and self._holds(whole):
            best = whole

        def keeps(part: Sequence[int]) -> bool:
            nonlocal best
            smaller = cut(case.model, part, values)
            if not self._holds(smaller):
                return False
            assert smaller is not None
            best = smaller
            return True

        minimize(nodes, keeps, 10_000)
        return best

    def _drop_outputs(self, case: FedModel) -> FedModel:
        for value in list(case.model.graph.output):
            if len(case.model.graph.output) == 1:
                break
            model = copy_of(case.model)
            kept = [each for each in model.graph.output if each.name != value.name]
            del model.graph.output[:]
            model.graph.output.extend(kept)
            smaller = without_unused(FedModel(model, case.inputs))
            if self._holds(smaller):
                case = smaller
        return case

    def _open_subgraphs(self, case: FedModel) -> FedModel:
        values = known_values(self.backend, case)
        inlined = inline_taken_branches(case.model, values)
        if inlined is not None and self._holds(opened := without_unused(FedModel(inlined, case.inputs))):
            case = opened
        for number, node in enumerate(case.model.graph.node):
            if is_operator(node, "Loop"):
                for unrolled in unrolled_models(case.model, number, values):
                    if self._holds(opened := without_unused(FedModel(unrolled, case.inputs))):
                        return opened
        return case

    def _drop_inner_nodes(self, case: FedModel) -> FedModel:
        """Leave out nodes of subgraphs: a user of a node's output takes one of the node's inputs instead."""
        case = self._shorten_loops(case)
        place = 0
        while True:
            inner = list(inner_nodes(case.model))
            if place >= len(inner):
                return case
            graph, position = inner[place]
            for source in [name for name in dict.fromkeys(graph.node[position].input) if name]:
                smaller = bypass_inner(case, place, source)
                if self._holds(smaller):
                    case = smaller
                    break
            else:
                place += 1

    def _shorten_loops(self, case: FedModel) -> FedModel:
        for node in case.model.graph.node:
            if is_operator(node, "Loop") and node.input and node.input[0]:
                smaller = with_array(case, node.input[0], np.asarray(1, np.int64))
                if self._holds(smaller):
                    assert smaller is not None
                    case = smaller
        return case

    def _shrink_dimensions(self, case: FedModel) -> FedModel:
        arrays = case_arrays(case)
        sizes = Counter(size for array in arrays.values() for size in array.shape if size > 1)
        for size in sorted(sizes, reverse=True):
            current = size
            for wanted in dict.fromkeys((1, 2, 3, size // 4, size // 2)):
                if not 0 < wanted < current:
                    continue
                starts = dict.fromkeys((0, current - wanted, (current - wanted) // 2))
                found = next(
                    (each for start in starts if self._holds(each := shrink(case, current, start, wanted))), None
                )
                if found is not None:
                    case = found
                    break
        for name in list(case.inputs):
            for axis, size in enumerate(case.inputs[name].shape):
                if size > 1:
                    smaller = with_array(case, name, case.inputs[name].take(range(1), axis))
                    if self._holds(smaller):
                        assert smaller is not None
                        case = smaller
        return case

    def _simplify_weights(self, case: FedModel) -> FedModel:
        numbers = {name for name, array in initializer_arrays(case.model.graph).items() if array.size == 1}
        for name in case_arrays(case):
            if name in numbers:
                continue
            for simple in simple_arrays(case_arrays(case)[name]):
                smaller = with_array(case, name, simple)
                if self._holds(smaller):
                    assert smaller is not None
                    case = smaller
                    break
        return case

    def _find_part(self, case: FedModel) -> FedModel | None:
        """Return a part of at most `WINDOW_NODES` consecutive nodes that holds; None if there is none.

        Single nodes come last: composed bounds can hide a fault of one of them.
        """
        nodes = live_nodes(case.model)
        if len(nodes) <= 1:
            return None
        values = known_values(self.backend, case)
        for size in (WINDOW_NODES, 4, 1):
            if len(nodes) <= size // 2:
                continue
            for start in range(0, max(1, len(nodes) - size // 2), max(1, size // 2)):
                self.progress(f"nodes from {start} of {len(nodes)}")
                part = cut(case.model, nodes[start : start + size], values)
                if self._holds(part):
                    return part
        return None


def node_count(model: onnx.ModelProto) -> int:
    """Return the number of nodes, also of subgraphs; constants do not count."""
    return sum(not is_operator(node, "Constant") for node in iter_nodes(model.graph))


def known_values(backend: Any, case: FedModel) -> dict[str, Array]:
    """Return all values of a model that a subject returns, by name; other values are missing."""
    values: dict[str, Any] = {**initializer_arrays(case.model.graph), **case.inputs}
    answer = run_model(backend, case.model, case.inputs)
    if not answer.failure:
        try:
            recorded = record_values(backend, case.model, case.arrays, answer.outputs, is_stable=False)
            values.update(recorded.values)
        except Exception:  # noqa: BLE001 - the model is then cut at inputs only
            values.update(zip((value.name for value in case.model.graph.output), answer.outputs, strict=True))
    if len(values) < len(case.model.graph.node):
        values = {**_evaluated(case), **values}
    return {name: np.asarray(array) for name, array in values.items() if isinstance(array, np.ndarray | np.generic)}


def _evaluated(case: FedModel) -> dict[str, Any]:
    """Return the values that the reference computes; any value of the right type and shape is a valid input."""
    model = copy_of(case.model)
    del model.graph.output[:]
    model.graph.output.extend(
        onnx.ValueInfoProto(name=name) for node in model.graph.node for name in node.output if name
    )
    found = enclose_outputs(FedModel(model, case.inputs))
    return {
        name: each.value.astype(each.dtype) if isinstance(each, Enclosure) else each for name, each in found.items()
    }


def shrink(case: FedModel, size: int, start: int, wanted: int) -> FedModel | None:
    """Return a case in which every dimension of one size has another size."""
    changed = {}
    for name, array in case_arrays(case).items():
        if size in array.shape:
            part = tuple(slice(start, start + wanted) if each == size else slice(None) for each in array.shape)
            changed[name] = np.ascontiguousarray(array[part])
    return with_arrays(case, changed)


def simple_arrays(array: Array) -> Iterator[Array]:
    """Yield arrays of the same type and shape with simpler numbers, the simplest first."""
    if array.dtype.kind in "fV":
        count = np.arange(array.size, dtype=np.float64).reshape(array.shape)
        for simple in (np.zeros(array.shape), np.ones(array.shape), count, (count % 7 - 3) / 4):
            yield simple.astype(array.dtype)
        with np.errstate(all="ignore"):
            for digits in (1, 2, 3):
                yield np.round(array.astype(np.float64), digits).astype(array.dtype)
