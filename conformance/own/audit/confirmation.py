"""Confirmation of nodes outside of their bounds: each is judged again on all operands that it may have received.

An exposed operand can differ from the operand of the node in three ways:

- A runtime that computes a region of float16 or bfloat16 nodes in float rounds the exposed operand only. The node is
  therefore judged with every operand that is rounded to the exposed one.
- A runtime that fuses nodes can compute an operand twice: for the output, and inside of the fused kernel with other
  last bits. A node with values that were exposed in groups is therefore judged on values of one run, and then together
  with more and more nodes before it.
- A fused kernel can also stay when all values are exposed, if the runtime computes them once more for the outputs. The
  subject then returns another result for the node alone. A node that is correct alone is judged together with more and
  more nodes before it.

A node is wrong if it is wrong in all of these ways. The smallest wrong region is reported. Its nodes then run alone,
one after the other, each on the results of the others. A node that is wrong alone is the cause.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs

from conformance.base.verdicts import Level
from conformance.exact.models.arrays import type_name
from conformance.exact.models.graphs import find_producers, is_operator, names_taken_by
from conformance.exact.reference.tolerances import NARROW
from conformance.own.audit.node_verdicts import JudgedNode, JudgementOptions, NodeVerdict, judge_last
from conformance.own.graphs.cutting import GraphParts
from conformance.own.graphs.intermediate_values import Exposure, SubjectRefused, expose_together, run_once

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import onnx

    from conformance.exact.models.arrays import Array
    from conformance.own.graphs.intermediate_values import ExposedValues
    from conformance.subjects.calling.subject_names import Subject

APART = "its operands and its result cannot be exposed in one run without a change of the model's outputs"
"""Reason for not judging a node that seems wrong on values of several runs."""

_EXPOSED_IN_MODEL = {Exposure.OUTPUT, Exposure.ADDED_OUTPUT, Exposure.GROUP, Exposure.RECORDED}
"""The ways of values that the runtime computed in the whole model."""

_PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
"""Operators whose weights take in factors that follow, when a runtime folds constants."""

_FACTORS: Mapping[str, slice] = {
    **dict.fromkeys(("Mul", "Div", "MatMul", "Gemm"), slice(3)),
    **dict.fromkeys(("Conv", "ConvTranspose", "BatchNormalization", "LayerNormalization"), slice(1, 5)),
}
"""The places of operands of an operator whose constants a runtime may multiply by other factors."""

_SUMMANDS: Mapping[str, slice] = {
    **dict.fromkeys(("Add", "Sub"), slice(2)),
    **dict.fromkeys(("Conv", "ConvTranspose", "Gemm", "LayerNormalization", "BatchNormalization"), slice(2, 3)),
}
"""The places of operands of an operator whose constants a runtime may add to other summands."""

MAX_WIDENING = 6
"""Number of times that the region of a node takes in the nodes before it."""


@dataclass(frozen=True)
class ConfirmedNode:
    """A judgement that is confirmed, or replaced by a judgement on other operands.

    Attributes:
        node: the judgement.
        values: the values on which the node was judged again, by name; None if it was not.
        model_runs: the number of models that were run.
    """

    node: JudgedNode
    values: Mapping[str, Array] | None = None
    model_runs: int = 0


@dataclass(frozen=True)
class _Trial:
    """The judgement of a node on operands that it may have received.

    Attributes:
        node: the judgement; None if the subject does not return the values.
        values: the values on which it was judged, by name.
        model_runs: the number of models that were run for it.
        needs_bounds: whether it explains nothing if its bounds are useless, because all values are of one run.
    """

    node: JudgedNode | None
    values: Mapping[str, Array]
    model_runs: int = 0
    needs_bounds: bool = False


@dataclass(frozen=True)
class _Region:
    """A node with the nodes before it whose results are not used.

    Attributes:
        numbers: the numbers of the nodes, in order; the node is the last.
        unused: the names of the values that are not used.
        grouped: the known values around the region that were exposed in groups.
        exposed: the known operands that other nodes compute and that are outputs.
        rounded: those of `exposed` that may have been rounded for the output only.
    """

    numbers: Sequence[int]
    unused: frozenset[str]
    grouped: Sequence[str]
    exposed: Sequence[str]
    rounded: Sequence[str]


@dataclass(frozen=True)
class Confirmation:
    """Confirms the judgements of the nodes of one model.

    Attributes:
        model: the model.
        exposed: its values.
        subject: the backend; None for values that were recorded elsewhere. Each of their nodes may then be fused.
        inputs: the inputs of the model.
        all_elements: whether every element of a large output is judged, and not a sample.
    """

    model: onnx.ModelProto
    exposed: ExposedValues
    subject: Subject | None
    inputs: Sequence[Array]
    all_elements: bool = False

    def confirm(self, suspect: JudgedNode) -> ConfirmedNode:
        """Judge a node again if it is outside of a bound, and if it may have received other operands.

        A node with an output that is a sequence or a map is exact on any operands, and is not judged again.
        """
        results = self.model.graph.node[suspect.number].output
        if not suspect.fault_rank or not self.exposed.others.keys().isdisjoint(results):
            return ConfirmedNode(suspect)
        alone = self._judge_alone(suspect.number)
        is_fused = self.subject is None or _is_milder(alone.node, suspect)
        runs = 0
        confirmed = ConfirmedNode(suspect)
        if is_fused or self._may_have_other_operands(suspect.number):
            own = [_Trial(suspect, self.exposed.values)] if self.subject is None else []
            decisive, runs = _decide(chain(own, self._trials(suspect, is_fused=is_fused)))
            confirmed = _conclude(suspect, decisive)
        return self._with_cause(replace(confirmed, model_runs=alone.model_runs + runs))

    def _with_cause(self, confirmed: ConfirmedNode) -> ConfirmedNode:
        """Return a judgement with the nodes of its region that are wrong alone, if the region is wrong."""
        node = confirmed.node
        numbers = sorted({*node.segment, node.number})
        if self.subject is None or node.verdict is not NodeVerdict.WRONG or len(numbers) < 2:
            return confirmed
        values = dict(self.exposed.values if confirmed.values is None else confirmed.values)
        made = {name for number in numbers for name in self.model.graph.node[number].output}
        values = {name: array for name, array in values.items() if name not in made}
        maps: Mapping[str, Any] = self.exposed.maps
        wrong = []
        for number in numbers:
            single = self._parts.cut([number], {**values, **maps})
            if single is None:
                return confirmed
            try:
                (results,) = run_once(self.subject.target, single.model, single.arrays)
            except SubjectRefused:
                return confirmed
            if not all(isinstance(result, np.ndarray) for result in results):
                return confirmed  # a sequence or a map is no operand of a part
            values |= {value.name: array for value, array in zip(single.model.graph.output, results, strict=True)}
            alone = judge_last(self.model, [number], self.exposed, values, JudgementOptions(self.all_elements))
            wrong += [number] if alone.verdict is NodeVerdict.WRONG else []
        runs = confirmed.model_runs + len(numbers)
        return replace(confirmed, node=structs.replace(node, wrong_alone=tuple(wrong)), model_runs=runs)

    def _judge_alone(self, number: int) -> _Trial:
        """Judge the result that the subject returns for a node as a model of its own, on the same operands."""
        node = self.model.graph.node[number]
        values = self.exposed.operands
        operands = names_taken_by(node)
        is_exposed = bool(self._exposed_operands(number, operands))
        if self.subject is None or not is_exposed or any(name not in values for name in operands):
            return _NOT_RETURNED
        single = self._parts.cut([number], values)  # with its constants: some runtimes run no node without them
        if single is None:
            return _NOT_RETURNED
        try:
            (results,) = run_once(self.subject.target, single.model, single.arrays)
        except SubjectRefused:
            return replace(_NOT_RETURNED, model_runs=1)
        known = {name: values[name] for name in operands}
        known |= {value.name: array for value, array in zip(single.model.graph.output, results, strict=True)}
        options = JudgementOptions(self.all_elements)
        return _Trial(judge_last(self.model, [number], self.exposed, known, options), known, 1)

    def _may_have_other_operands(self, number: int) -> bool:
        region = self._region(number, self._hidden)
        return bool(region.grouped or region.rounded) or self._has_narrow_results(region)

    def _trials(self, suspect: JudgedNode, *, is_fused: bool) -> Iterator[_Trial]:
        """Yield the judgements of a node, each with more operands that it may have received.

        First the node is judged alone, then together with more and more nodes before it. In a wider region, nodes of
        float16 and bfloat16 are computed in float, and constants of a narrow type may also be folded.

        Args:
            suspect: the judgement on the exposed values.
            is_fused: whether all exposed operands make the region wider.
        """
        is_wrong = suspect.verdict is NodeVerdict.WRONG
        has_groups = False
        for region in self._regions(suspect.number, is_wrong=is_wrong, is_fused=is_fused):
            is_widened = region.unused != self._hidden
            has_groups = has_groups or bool(region.grouped)
            if region.rounded and not is_widened:
                yield self._judge(region)
            together: Mapping[str, Array] | None = {}
            if region.grouped and self.subject is not None:
                target = self.subject.target
                together = expose_together(target, self.model, self.inputs, region.grouped, self.exposed)
                yield replace(_NOT_RETURNED if together is None else self._judge(region, together), model_runs=1)
            elif is_fused and is_widened:
                yield self._judge(region)
            if together is not None and self._has_narrow_results(region):
                needs_bounds = is_widened and not has_groups and not is_fused
                yield replace(self._judge(region, together, keeps_float=True), needs_bounds=needs_bounds)
                if folded := self._folded_constants(region.numbers, is_wrong=is_wrong):
                    yield self._judge(region, together, keeps_float=True, folded=folded)

    def _regions(self, number: int, *, is_wrong: bool, is_fused: bool) -> Iterator[_Region]:
        """Yield the regions of a node, each with more nodes before it.

        Args:
            number: the number of the node.
            is_wrong: whether the node is outside of its bounds of level `must`. Otherwise rounded operands do not make
                the region wider: the operands of a wider region are rounded too, and each adds an error.
            is_fused: whether all exposed operands make the region wider.
        """
        unused = self._hidden
        for _ in range(MAX_WIDENING + 1):
            region = self._region(number, unused)
            yield region
            replaced = {*region.grouped, *(region.exposed if is_fused else ()), *(region.rounded if is_wrong else ())}
            operands = replaced.difference(self.model.graph.node[number].output)
            if not operands:
                return
            unused |= operands

    def _region(self, number: int, unused: frozenset[str]) -> _Region:
        """Return a node with the nodes of the unused values before it."""
        numbers = {number}
        names = [*self.model.graph.node[number].output]
        pending = [number]
        while pending:
            node = self.model.graph.node[pending.pop()]
            for name in names_taken_by(node):
                if name not in unused:
                    names.append(name)
                elif self._producers[name] not in numbers:
                    numbers.add(self._producers[name])
                    pending.append(self._producers[name])
        around = [name for name in dict.fromkeys(names) if name]
        exposed = self._exposed_operands(number, around)
        return _Region(
            sorted(numbers),
            unused,
            grouped=[name for name in around if self.exposed.ways.get(name) is Exposure.GROUP],
            exposed=exposed,
            rounded=[name for name in exposed if name in self._rounded],
        )

    def _judge(
        self,
        region: _Region,
        together: Mapping[str, Array] | None = None,
        *,
        keeps_float: bool = False,
        folded: frozenset[str] = frozenset(),
    ) -> _Trial:
        """Judge the node of a region; `together` has values of one run, which replace the exposed ones."""
        nodes = [self.model.graph.node[number] for number in region.numbers]
        names = dict.fromkeys(name for node in nodes for name in (*names_taken_by(node), *node.output))
        used = [name for name in names if name not in region.unused and name in self.exposed.values]
        values = {name: self.exposed.values[name] for name in used} | dict(together or {})
        options = JudgementOptions(self.all_elements, self._rounded, keeps_float, folded)
        return _Trial(judge_last(self.model, region.numbers, self.exposed, values, options), values)

    def _has_narrow_results(self, region: _Region) -> bool:
        """Return whether an unused value between the nodes of a region has, or may have, a narrow type."""
        results = {name for number in region.numbers for name in self.model.graph.node[number].output}
        between = region.unused.intersection(results)
        return not between.isdisjoint(self._rounded) or any(name not in self.exposed.values for name in between)

    def _exposed_operands(self, number: int, names: Sequence[str]) -> list[str]:
        """Return which of some values around a node are operands that other nodes compute, and that are outputs."""
        results = self.model.graph.node[number].output
        if any(self.exposed.ways.get(name) is Exposure.CUT for name in results):
            return []
        return [name for name in names if name in self._exposed and name not in results]

    def _folded_constants(self, numbers: Sequence[int], *, is_wrong: bool) -> frozenset[str]:
        """Return the constants of some nodes that a runtime may fold into one constant.

        Two nodes in a row may add constants, or multiply by them. For the bounds of level `should`, a factor may also
        be folded into the weights of any product before it.
        """
        nodes = [self.model.graph.node[number] for number in numbers]
        folded: set[str] = set()
        for places, products in ((_SUMMANDS, ()), (_FACTORS, () if is_wrong else _PRODUCTS)):
            taken = {
                number: self._narrow_constants.intersection(node.input[places[node.op_type]])
                for number, node in enumerate(nodes)
                if is_operator(node, *places)
            }
            for first, second in combinations(taken, 2):
                before = nodes[first]
                after = nodes[second]
                is_in_row = is_operator(before, *products) or not {*before.output}.isdisjoint(after.input)
                if is_in_row and taken[first] and taken[second] and not is_operator(after, *_PRODUCTS):
                    folded |= taken[first] | taken[second]
        return frozenset(folded)

    @cached_property
    def _parts(self) -> GraphParts:
        return GraphParts(self.model)

    @cached_property
    def _producers(self) -> Mapping[str, int]:
        return find_producers(self.model.graph)

    @cached_property
    def _hidden(self) -> frozenset[str]:
        return frozenset(
            name for name, way in self.exposed.ways.items() if way in (Exposure.HIDDEN, Exposure.UNRECORDED)
        )

    @cached_property
    def _exposed(self) -> frozenset[str]:
        """The values that nodes compute, apart from constants, and that the runtime returned for the whole model."""
        return frozenset(
            name
            for name, way in self.exposed.ways.items()
            if way in _EXPOSED_IN_MODEL
            and name in self._producers
            and not is_operator(self.model.graph.node[self._producers[name]], "Constant")
        )

    @cached_property
    def _rounded(self) -> frozenset[str]:
        """The values that the runtime may have rounded only for the output."""
        return self._narrow(self._exposed)

    @cached_property
    def _narrow_constants(self) -> frozenset[str]:
        return self._narrow(name for name, way in self.exposed.ways.items() if way is Exposure.CONSTANT)

    def _narrow(self, names: Iterable[str]) -> frozenset[str]:
        """Return which of some exposed values have a narrow type."""
        known = self.exposed.values
        return frozenset(name for name in names if name in known and type_name(known[name].dtype) in NARROW)


_NOT_RETURNED = _Trial(None, {})


def _decide(trials: Iterable[_Trial]) -> tuple[ConfirmedNode | None, int]:
    """Return the judgement that counts, and the number of models that were run.

    It is the mildest judgement, and of these that of the smallest region. Regions before one whose values the subject
    does not return in one run do not count. The result is None if that is the last region. A region that the reference
    cannot compute explains nothing, and is skipped. So does one with useless bounds if its values are of one run.
    """
    mildest: ConfirmedNode | None = None
    runs = 0
    for trial in trials:
        runs += trial.model_runs
        if trial.node is None:
            mildest = None
        elif trial.node.verdict is not NodeVerdict.NOT_JUDGED or (trial.node.elements and not trial.needs_bounds):
            if mildest is None or trial.node.fault_rank < mildest.node.fault_rank:
                mildest = ConfirmedNode(trial.node, trial.values)
            if not mildest.node.fault_rank:
                break
    return mildest, runs


def _is_milder(alone: JudgedNode | None, suspect: JudgedNode) -> bool:
    if alone is None or alone.verdict is NodeVerdict.NOT_JUDGED:
        return False
    return alone.fault_rank < suspect.fault_rank


def _conclude(suspect: JudgedNode, decisive: ConfirmedNode | None) -> ConfirmedNode:
    """Return the final judgement of a node; without a decisive judgement, a wrong node is not judged.

    A node that keeps its bounds of level `must` keeps this judgement, and drops that of level `should`.
    """
    kind = (suspect.verdict, suspect.level)
    is_same_kind = decisive is not None and (decisive.node.verdict, decisive.node.level) == kind
    dropped = structs.replace(suspect, should_share=0.0, should_worst=None)
    if suspect.is_judged_at(Level.MUST) and suspect.verdict is not NodeVerdict.WRONG and not is_same_kind:
        return ConfirmedNode(dropped)
    if decisive is None:
        unjudged = structs.replace(dropped, verdict=NodeVerdict.NOT_JUDGED, reason=APART, share=0.0, worst=None)
        return ConfirmedNode(structs.replace(unjudged, together=()))
    return decisive
