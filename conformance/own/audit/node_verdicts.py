"""Judgement of each node of a model on the values that a subject computed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, structs

from conformance.base.jobs.job import limit_evaluation
from conformance.base.verdicts import Level, Unsupported
from conformance.exact.declarations.exact_sums import summed_terms
from conformance.exact.judgement import samples
from conformance.exact.judgement.node_comparison import (
    EnclosedPart,
    JudgedElement,
    NodeComparison,
    enclose_part,
    number_text,
)
from conformance.exact.judgement.samples import DeferredTensor, Sample, computed, deferred_tensor, values_of
from conformance.exact.models.arrays import (
    dtype_of,
    element_count,
    format_of,
    is_computed,
    is_text,
    type_name,
    type_number,
)
from conformance.exact.models.graphs import find_producers, is_operator, names_taken_by
from conformance.exact.reference.formulas.linear import FLOAT
from conformance.exact.reference.node_enclosures import (
    LiveValues,
    NodeScope,
    enclose,
    inner_node_count,
    is_copying,
)
from conformance.exact.reference.nodes import TOO_LARGE
from conformance.exact.reference.numbers.enclosure import Enclosure
from conformance.exact.reference.oracle import EVALUATION_ERRORS
from conformance.exact.reference.tolerances import NARROW, SILENCES
from conformance.own.graphs.arithmetic import operation_count
from conformance.own.graphs.cutting import GraphParts, inferred_shape, part_of
from conformance.own.graphs.intermediate_values import MAX_VALUE_BYTES, Exposure
from conformance.run.judging.compare import kinds_of_elements
from conformance.run.results.records import BadElement, OutputEvidence
from conformance.run.results.violations import Violation, ViolationKind, WrongKind

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    import onnx

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.numbers.enclosure import Tensor, TensorOrSequence
    from conformance.own.graphs.intermediate_values import ExposedValues


@dataclass(frozen=True)
class JudgementOptions:
    """The operands that a runtime may have passed to nodes, and how much of their outputs is compared.

    Attributes:
        all_elements: whether every element of a large output is judged, and not a sample.
        rounded: the names of values that a node may have received before they were rounded to their type.
        keeps_float: whether nodes of float16 and bfloat16 are computed in float, and only their outputs are rounded.
        folded: the names of constants that may be folded: a product of constants is rounded to their type once more.
    """

    all_elements: bool = False
    rounded: Container[str] = ()
    keeps_float: bool = False
    folded: Container[str] = ()

    @property
    def keeps_constants(self) -> bool:
        """Whether nodes receive the constants as the model has them."""
        return not (self.keeps_float or self.folded)


class NodeVerdict(StrEnum):
    """The verdict on one node."""

    CORRECT = "correct"
    WRONG = "wrong"
    UNSPECIFIED = "unspecified"
    NOT_JUDGED = "not judged"


class NodeJudgement(Struct, frozen=True, forbid_unknown_fields=True):
    """The part of a node's judgement that a report has too.

    Attributes:
        number: the position of the node in the main graph.
        name: the name of the node, or of its first output.
        verdict: the verdict.
        reason: why it was not judged, or what is wrong with type or shape; otherwise None.
        elements: the number of elements of the outputs that were compared: all, or those of a sample.
        all_elements: the number of elements of all outputs.
        undetermined: the number of compared elements for which every value is admissible, for example after an
            overflow.
        loose: the number of compared elements whose bound is larger than the magnitude of the expected value.
        unspecified: the number of compared elements for which the page of the operator states no result.
        share: the largest difference from the expected value, as a share of the bound; infinite for an exact output
            that differs.
        worst: the element with this share, if it is outside of its bound.
        open_element: the first unspecified element.
        should_share: the largest difference as a share of the bound of level `should`.
        should_worst: the element with this share, if it is outside of the bound of level `should` only.
        inner_nodes: the number of nodes in its subgraphs, which were judged together with the node.
        way: how its outputs were obtained.
        type: the element type of its first output; None if the output is not known.
        operations: about how many operations the node needs; see `conformance.own.graphs.arithmetic`.
        introduced: the largest error against the exact result of the node's own operands; see
            `conformance.own.audit.propagation`.
        level: `should` if only the bounds of this level are useful for at least half of the elements.
        should_undetermined: the number of undetermined elements with the bounds of level `should`.
        should_loose: the number of loose elements with the bounds of level `should`.
        noticed: the smallest relative error that would be wrong if all elements of any output had it; infinite if none
            would be.
        should_noticed: the same with the bounds of level `should`.
        terms: the number of terms of each of its sums; 1 if it has none.
        is_correctly_rounded: whether each compared element is the exact result, rounded once to the nearest value of
            its type. No implementation returns a better one, also if the error is as large as the bound.
        is_empty: whether an output, or an output that the page states, has no elements.
        wrong_alone: of a wrong node that was judged together with others, the numbers of those nodes that are wrong as
            models of their own; None if it is not known.
        text: how the page of the operator changed within this version, if the outputs follow an earlier text; otherwise
            None.
        together: the names of the nodes that were judged together with this node.
        covered_by: the number of the later node with which alone it could be judged, because its own outputs are
            missing; otherwise None.
        is_sampled: whether only a sample of the elements was compared.
        accumulated: the largest error against the exact value of the whole model; None if that is not known.
        origin: the number of the node from which most of the accumulated error comes; None if that is not known.
        outputs: the comparison of each output at the level of the fault; empty for a node without a fault.
    """

    number: int
    name: str
    verdict: NodeVerdict
    reason: str | None = None
    elements: int = 0
    all_elements: int = 0
    undetermined: int = 0
    loose: int = 0
    unspecified: int = 0
    share: float = 0.0
    worst: JudgedElement | None = None
    open_element: JudgedElement | None = None
    should_share: float = 0.0
    should_worst: JudgedElement | None = None
    inner_nodes: int = 0
    way: str = ""
    type: str | None = None
    operations: int = 0
    introduced: float = 0.0
    level: Level = Level.MUST
    should_undetermined: int = 0
    should_loose: int = 0
    noticed: float = 0.0
    should_noticed: float = 0.0
    terms: int = 1
    is_correctly_rounded: bool = False
    is_empty: bool = False
    wrong_alone: tuple[int, ...] | None = None
    text: str | None = None
    together: tuple[str, ...] = ()
    covered_by: int | None = None
    is_sampled: bool = False
    accumulated: float | None = None
    origin: int | None = None
    outputs: tuple[OutputEvidence, ...] = ()

    def useless_bounds(self, level: Level) -> tuple[int, int]:
        """Return the numbers of undetermined and of loose elements with the bounds of a level."""
        return (self.undetermined, self.loose) if level is Level.MUST else (self.should_undetermined, self.should_loose)

    def judged_elements(self, level: Level) -> int:
        """Return the number of compared elements that a wrong value would put outside of a useful bound of a level."""
        return self.elements - sum(self.useless_bounds(level)) - self.unspecified

    def is_open(self, level: Level) -> bool:
        """Return whether it was compared, and most of its elements are unspecified or have no useful bound."""
        if self.verdict is NodeVerdict.WRONG or not self.elements:
            return False
        useless = sum(self.useless_bounds(level))
        return 2 * useless > self.elements or useless + self.unspecified == self.elements

    def is_weak(self, level: Level) -> bool:
        """Return whether it was judged at a level, and an error of 1 % in every element would pass.

        Two numbers of bfloat16 and of narrower types differ by about as much. There, two such steps decide.
        """
        if self.verdict is not NodeVerdict.CORRECT or not self.level.is_within(level) or self.is_empty:
            return False
        return self.passes_much(level)

    def passes_much(self, level: Level) -> bool:
        """Return whether an error of 1 % in every element would be admissible at a level, or two steps of a type."""
        return self.noticed_at(level) > max(MAX_NOTICED, 2 * _spacing(self.type))

    def noticed_at(self, level: Level) -> float:
        """Return the smallest relative error that would be wrong at a level if all elements of any output had it."""
        return self.noticed if level is Level.MUST else min(self.noticed, self.should_noticed)


MAX_NOTICED = 0.01
"""Largest relative error of all elements that may pass in a node that is not weakly judged."""


def _spacing(element_type: str | None) -> float:
    """Return the relative distance of two numbers of a floating-point type; 0 for another type."""
    if element_type is None:
        return 0.0
    dtype = dtype_of(type_number(element_type))
    return 2 * float(format_of(dtype).unit_roundoff) if is_computed(dtype) else 0.0


class JudgedNode(NodeJudgement, frozen=True, kw_only=True):
    """The judgement of one node of the main graph; `ModelJudge.complete` and `trace_errors` add to it.

    Attributes:
        op_type: the operator of the node.
        domain: the domain of the operator; empty for the main domain.
        segment: the numbers of the nodes that were judged together with this node, because the values between them are
            hidden.
    """

    op_type: str
    domain: str
    segment: tuple[int, ...] = ()

    @property
    def level_share(self) -> float:
        """The largest difference as a share of the bound of the level at which the node is judged."""
        return self.share if self.level is Level.MUST else self.should_share

    @property
    def verdict_text(self) -> str:
        """The verdict, with the level if the node is judged at level `should` only."""
        at_should = f"{'within' if self.should_worst is None else 'outside of'} its bounds of level should"
        return str(self.verdict) if self.level is Level.MUST else at_should

    @property
    def compared_operations(self) -> int:
        """About how many operations the compared elements need."""
        return self.operations * self.elements // self.all_elements if self.is_sampled else self.operations

    def is_judged_at(self, level: Level) -> bool:
        """Return whether at least half of its elements have a useful bound of a level."""
        return self.verdict is not NodeVerdict.NOT_JUDGED and self.level.is_within(level)

    @property
    def fault_rank(self) -> int:
        """2 for a wrong node, 1 for a node outside of its bounds of level `should` only, and otherwise 0."""
        return 2 if self.verdict is NodeVerdict.WRONG else int(self.should_worst is not None)


@dataclass
class _Hidden:
    """The enclosure of a hidden value, perhaps a `DeferredTensor`, and the numbers of the nodes that compute it."""

    tensor: Any
    nodes: frozenset[int] = field(default_factory=frozenset)


_DEFAULT_OPTIONS = JudgementOptions()

UNRECORDED = "not recorded, and judged only together with later nodes: add intermediate values to --outputs"
"""Why a node is not judged whose outputs were not recorded."""

WHOLE_ELEMENTS = 2**15
WHOLE_OPERATIONS = 2**24
"""Elements of the outputs and operations of a node up to which all elements are judged, also of large operands."""

MAX_REMEMBERED_BYTES = 256
MAX_REMEMBERED_NODES = 4096
"""Maximum size of the operands and outputs of a node whose judgement is remembered, and maximum number of such nodes.

A large model has thousands of equal nodes of a few elements, which compute the shapes of its tensors."""


MAX_KEPT_ELEMENTS = 2**24
"""The number of elements of enclosures that are kept: about 256 MiB."""

MAX_COPYING_BYTES = 2**32
"""Maximum size of the operands and outputs of a node that is judged by a copy of its outputs."""

MAX_JUDGED_OPERATIONS = 2**38
"""Maximum number of operations of a node, or of its sample, that is judged: each takes several of double."""


class ModelJudge:
    """The judgement of the nodes of a main graph on exposed values, node by node, in any order of the nodes.

    Args:
        model: the model, without calls of model-local functions.
        exposed: the values, also those of the operator Constant.
        options: the operands that a runtime may have passed to nodes.
    """

    def __init__(
        self, model: onnx.ModelProto, exposed: ExposedValues, options: JudgementOptions = _DEFAULT_OPTIONS
    ) -> None:
        self.nodes = list(model.graph.node)
        self._exposed = exposed
        self._options = options
        self._scope = NodeScope.of(model)
        self._hidden = LiveValues({}, self.nodes, kept=())
        self._remembered: dict[Any, JudgedNode] = {}
        self._producers = find_producers(model.graph)
        self._maps: Mapping[str, Any] = exposed.maps

    @cached_property
    def _parts(self) -> GraphParts:
        return GraphParts(self._scope.model)

    def judge(self, numbers: Iterable[int]) -> Iterator[JudgedNode]:
        """Yield the judgements of some nodes on their own; nodes of the operator Constant are left out."""
        for number in numbers:
            if not is_operator(self.nodes[number], "Constant"):
                yield self._judge_node(number)
                self._hidden.drop(number, self.nodes[number])

    def complete(self, judged: Iterable[JudgedNode]) -> list[JudgedNode]:
        """Return the final judgements from those of all nodes on their own.

        A node without a known output has the judgement of the node that was judged together with it, if the runtime
        computes them together. If its outputs were only not recorded, it is not judged.
        """
        own = sorted(judged, key=lambda node: node.number)
        names = {each.number: each.name for each in own}
        obtained = {*self._exposed.values, *self._exposed.others}
        known = {each.number for each in own if not obtained.isdisjoint(self.nodes[each.number].output)}
        covering: dict[int, JudgedNode] = {}
        for each in sorted(own, key=lambda node: node.level.rank):
            if each.number in known and each.verdict is not NodeVerdict.NOT_JUDGED:
                covering = dict.fromkeys(each.segment, each) | covering
        complete = []
        for each in own:
            final = structs.replace(each, together=tuple(names[number] for number in each.segment))
            if each.number not in known and each.verdict is not NodeVerdict.NOT_JUDGED:
                if later := covering.get(each.number):
                    final = structs.replace(
                        final,
                        level=later.level,
                        noticed=later.noticed,
                        should_noticed=later.should_noticed,
                        covered_by=later.number,
                        reason=f"judged together with {later.name}",
                    )
                    if each.way == Exposure.UNRECORDED:
                        final = structs.replace(final, verdict=NodeVerdict.NOT_JUDGED, reason=UNRECORDED)
                else:
                    reason = "its value is missing, and no later value that depends on it could be judged"
                    final = structs.replace(final, verdict=NodeVerdict.NOT_JUDGED, reason=reason)
            complete.append(final)
        return complete

    def value_of(self, name: str) -> Any:
        """Return a value, or the enclosure of a value that is not exposed; None if it cannot be computed."""
        if name in self._exposed.values:
            return self._exposed.values[name]
        hidden = self._hidden_value(name)
        return None if hidden is None else hidden.tensor

    def _hidden_value(self, name: str) -> _Hidden | None:
        """Return the enclosure of a value that is not exposed; None if it cannot be computed."""
        pending = [name]
        while pending:
            number = self._producers.get(pending[-1])
            if pending[-1] in self._hidden or number is None:
                self._hidden.setdefault(pending.pop(), None)
                continue
            before = [
                each
                for each in names_taken_by(self.nodes[number])
                if each not in self._exposed.values and each not in self._hidden
            ]
            if before:
                pending += before
            else:
                self._judge_node(number)
                for output in self.nodes[number].output:
                    self._hidden.setdefault(output, None)
        found: _Hidden | None = self._hidden[name]
        return found

    def _operands(self, node: onnx.NodeProto) -> tuple[dict[str, TensorOrSequence], set[int]]:
        """Return the operands of a node by name, and the numbers of the nodes that computed its hidden operands."""
        known: dict[str, TensorOrSequence] = {}
        before: set[int] = set()
        for name in names_taken_by(node):
            if name in self._exposed.values:
                known[name] = self._operand(name, self._exposed.values[name])
            elif name in self._maps:
                known[name] = self._maps[name]
            elif (hidden := self._hidden_value(name)) is not None:
                known[name] = hidden.tensor
                before |= hidden.nodes
        if self._options.keeps_float:
            known = {name: each if isinstance(each, list | dict) else _in_float(each) for name, each in known.items()}
        return known, before

    def _judge_node(self, number: int) -> JudgedNode:
        node = self.nodes[number]
        exposed = self._exposed
        first = node.output[0] if node.output else ""
        known, before = self._operands(node)
        tensors = {name: each for name, each in known.items() if not isinstance(each, list | dict)}
        outputs = {name: exposed.values[name] for name in node.output if name in exposed.values}
        shapes = {name: np.shape(values_of(tensor)) for name, tensor in tensors.items()}
        shapes |= {name: array.shape for name, array in outputs.items()}
        key = None if before else _values_key(node, known, outputs)
        if key is not None and (equal := self._remembered.get(key)):
            way = str(exposed.ways.get(first, Exposure.HIDDEN))
            return structs.replace(equal, number=number, name=node.name or first, way=way)
        inner_nodes = inner_node_count(node)
        unjudged = JudgedNode(
            number,
            node.name or first,
            NodeVerdict.NOT_JUDGED,
            op_type=node.op_type,
            domain=node.domain,
            all_elements=sum(int(array.size) for array in outputs.values()),
            inner_nodes=inner_nodes,
            way=str(exposed.ways.get(first, Exposure.HIDDEN)),
            type=next((type_name(array.dtype) for array in outputs.values()), None),
            operations=operation_count(node, shapes) * (1 + inner_nodes),
            terms=summed_terms(node, shapes),
        )
        if refusal := exposed.refused.get(first):
            return structs.replace(unjudged, reason=f"the subject does not run the node alone: {refusal}")
        try:
            with limit_evaluation():
                found = self._compare(unjudged, known, before, outputs)
        except Unsupported as error:
            return structs.replace(unjudged, reason=str(error))
        names_elements = found.worst or found.should_worst or found.open_element
        is_plain = found.verdict is NodeVerdict.CORRECT and not names_elements
        if key is not None and is_plain and len(self._remembered) < MAX_REMEMBERED_NODES:
            self._remembered[key] = found
        return found

    def _compare(
        self,
        unjudged: JudgedNode,
        known: Mapping[str, TensorOrSequence],
        before: set[int],
        outputs: Mapping[str, Array],
    ) -> JudgedNode:
        """Return the judgement of a node.

        Args:
            unjudged: its judgement without a comparison.
            known: its operands by name.
            before: the numbers of the nodes that computed its hidden operands.
            outputs: its exposed outputs by name.
        """
        number = unjudged.number
        node = self.nodes[number]
        exposed = self._exposed
        is_constant = not outputs and all(exposed.ways.get(name) is Exposure.CONSTANT for name in known)
        deferred = self._deferred(node, known) if is_constant and not self._options.all_elements else None
        is_kept = is_constant and self._options.keeps_constants and exposed.enclosed is not None and deferred is None
        takes_deferred = any(isinstance(each, DeferredTensor) for each in known.values())
        try:
            is_whole = self._options.all_elements or (_is_cheap(unjudged) and not takes_deferred)
            limit = None if is_whole else samples.SAMPLED_ABOVE
            enclosed = (exposed.enclosed or {}).get(node.output[0]) if is_kept else None
            enclosed = deferred or enclosed or enclose_part(self._scope, node, known, outputs, limit, self._check_size)
        except Unsupported as error:
            return structs.replace(unjudged, reason=str(error))
        except EVALUATION_ERRORS as error:
            reason = f"the reference cannot compute the node: {type(error).__name__}: {error}"
            return structs.replace(unjudged, reason=reason)
        if is_kept:
            self._keep(node.output[0], enclosed)
        comparison = NodeComparison.of(
            enclosed,
            lambda name: inferred_shape(self._parts, number, name, known),
            has_exact_operands=not before,
        )
        element_type = unjudged.type
        for position, (name, tensor) in enumerate(zip(node.output, enclosed.expected, strict=False)):
            if name in outputs:
                if not isinstance(tensor, list):
                    own = _rounded_to(outputs[name].dtype, tensor) if self._options.keeps_float else tensor
                    comparison.add(name, position, own, outputs[name].shape)
            elif name:
                if name in exposed.others and isinstance(tensor, list):
                    comparison.add_sequence(name, position, tensor, exposed.others[name])
                unrounded = tensor.unrounded() if isinstance(tensor, Enclosure) else tensor
                with suppress(Unsupported):  # the nodes that take it are not judged
                    hidden = _Hidden(unrounded, frozenset({*before, number}))
                    self._hidden.add(name, hidden, 0 if deferred else element_count(unrounded))
                items: Sequence[Any] = tensor if isinstance(tensor, list) else [tensor]
                types = (
                    type_name(each.dtype) for each in items if isinstance(each, (np.ndarray, Enclosure, DeferredTensor))
                )
                element_type = element_type or next(types, None)
        unjudged = structs.replace(unjudged, type=element_type, segment=tuple(sorted(before)), text=enclosed.change)
        unjudged = structs.replace(unjudged, is_sampled=enclosed.is_sample)
        return verdict_of_comparison(unjudged, comparison)

    def _deferred(self, node: onnx.NodeProto, known: Mapping[str, Any]) -> EnclosedPart | None:
        """Return the hidden result of a node that converts a large constant, not yet computed; None for another."""

        def compute(operands: Sequence[Tensor]) -> Any:
            values = {name: each for name, each in zip(node.input, operands, strict=True) if name}
            with np.errstate(all="ignore"):
                (tensor,) = enclose(self._scope, node, values)
            return tensor.unrounded() if isinstance(tensor, Enclosure) else tensor

        operands = [known.get(name) if name else None for name in node.input]
        tensor: Any = deferred_tensor(self._scope.node(node), operands, compute, samples.SAMPLED_ABOVE)
        return None if tensor is None else EnclosedPart(Sample(node, {}, {}), [tensor], False, {})

    def _keep(self, name: str, enclosed: EnclosedPart) -> None:
        """Keep the enclosures of a node for the next judgement; those that were kept first go."""
        kept: dict[str, EnclosedPart] | None = self._exposed.enclosed
        assert kept is not None
        kept[name] = enclosed
        while sum(element_count(each) for part in kept.values() for each in part.expected) > MAX_KEPT_ELEMENTS:
            del kept[next(iter(kept))]

    def _check_size(self, part: samples.Sample) -> None:
        """Raise `Unsupported` if the operands and outputs of a part, without constants, are too large."""
        values: dict[str, Any] = {**part.operands, **part.outputs}
        is_copied = is_copying(part.node, part.operands.values())
        most = MAX_COPYING_BYTES if is_copied else MAX_VALUE_BYTES
        if self._moved_bytes(part) > most:
            is_sampled = self._options.all_elements and not is_copied and self._has_small_sample(part)
            hint = "; a sample is judged without --all-elements" if is_sampled else ""
            raise Unsupported(f"{TOO_LARGE}: its operands and outputs have more than {most:,} bytes{hint}")
        shapes = {name: tuple(each.shape) for name, each in values.items() if hasattr(each, "shape")}
        count = operation_count(part.node, shapes) * (1 + inner_node_count(part.node))
        if count > MAX_JUDGED_OPERATIONS:
            raise Unsupported(f"{TOO_LARGE}: its judgement takes {count:.2g} operations; a smaller --shape takes fewer")

    def _has_small_sample(self, part: samples.Sample) -> bool:
        """Return whether a part that is too large has a sample that is not; one with sequences has none."""
        if any(name and name not in part.operands for name in part.node.input):
            return False
        sample = samples.take_sample(part.node, self._scope, part.operands, part.outputs, samples.SAMPLED_ABOVE)
        return sample is not None and self._moved_bytes(sample) <= MAX_VALUE_BYTES

    def _moved_bytes(self, part: samples.Sample) -> int:
        """Return the size of the operands and outputs of a part, without constants."""
        values: dict[str, Any] = {**part.operands, **part.outputs}
        moved = (each for name, each in values.items() if self._exposed.ways.get(name) is not Exposure.CONSTANT)
        return sum(each.nbytes for each in moved if isinstance(each, np.ndarray))

    def _operand(self, name: str, array: Array) -> Tensor:
        """Return an exposed value as a node may have received it."""
        if name in self._options.rounded:
            return Enclosure.rounding_of(array)
        if name in self._options.folded:
            constant = Enclosure.exact(array)
            error = np.abs(constant.value) * float(format_of(array.dtype).unit_roundoff)
            return replace(constant, error=np.where(np.isfinite(constant.value), error, 0.0))
        return array


def judge_nodes(
    model: onnx.ModelProto,
    exposed: ExposedValues,
    progress: Callable[[int, int], None] = lambda *_: None,
    options: JudgementOptions = _DEFAULT_OPTIONS,
) -> list[JudgedNode]:
    """Judge all nodes of the main graph on the exposed values.

    Args:
        model: the model, without calls of model-local functions.
        exposed: the values.
        progress: is called with the number of judged nodes and the number of all nodes.
        options: the operands that a runtime may have passed to nodes.
    """
    judge = ModelJudge(model, exposed, options)
    judged = []
    for node in judge.judge(range(len(judge.nodes))):
        judged.append(node)
        progress(node.number + 1, len(judge.nodes))
    return judge.complete(judged)


def judge_last(
    model: onnx.ModelProto,
    numbers: Sequence[int],
    exposed: ExposedValues,
    values: Mapping[str, Array],
    options: JudgementOptions = _DEFAULT_OPTIONS,
) -> JudgedNode:
    """Judge the last of some nodes of a model on other values, together with the nodes before it that it needs.

    Args:
        model: the model.
        numbers: the numbers of the nodes, in order.
        exposed: the exposed values of the model.
        values: the values that are used instead, by name.
        options: the operands that a runtime may have passed to nodes.
    """
    judged = judge_nodes(part_of(model, "part", numbers), replace(exposed, values=values), options=options)[-1]
    return structs.replace(judged, number=numbers[-1], segment=tuple(numbers[place] for place in judged.segment))


def _values_key(
    node: onnx.NodeProto, known: Mapping[str, TensorOrSequence], outputs: Mapping[str, Array]
) -> tuple[Any, ...] | None:
    """Return what the judgement of a small node depends on, without names; None for another node."""
    values = {**known, **outputs}
    names = [name for name in (*node.input, *node.output) if name]
    found = [values.get(name) for name in names]
    arrays = [each for each in found if isinstance(each, np.ndarray) and not is_text(each.dtype)]
    # otherwise a subgraph captures values, an output is hidden, or an operand has bounds
    if values.keys() != set(names) or len(arrays) != len(names):
        return None
    if sum(each.nbytes for each in arrays) > MAX_REMEMBERED_BYTES:
        return None
    given = tuple((str(each.dtype), each.shape, each.tobytes()) for each in arrays)
    places = (*map(bool, node.input), None, *map(bool, node.output), *map(names.index, names))
    attributes = tuple(attribute.SerializeToString(deterministic=True) for attribute in node.attribute)
    return node.op_type, node.domain, attributes, places, given


def _is_cheap(node: JudgedNode) -> bool:
    """Return whether all elements of a node are judged in about the time of a sample: few ones of large operands."""
    return node.all_elements <= WHOLE_ELEMENTS and node.operations <= WHOLE_OPERATIONS


def verdict_of_comparison(unjudged: JudgedNode, comparison: NodeComparison) -> JudgedNode:
    """Return the judgement of a node.

    Args:
        unjudged: the judgement without a comparison.
        comparison: the comparison of its outputs.
    """
    must = comparison.counts(Level.MUST)
    should = comparison.counts(Level.SHOULD)
    found = structs.replace(
        unjudged,
        elements=comparison.elements,
        all_elements=unjudged.all_elements + comparison.in_sequences,
        unspecified=comparison.unspecified,
        open_element=comparison.open_element,
        introduced=comparison.introduced,
        is_empty=comparison.is_empty,
        is_correctly_rounded=comparison.is_correctly_rounded,
        **vars(must),
        **{f"should_{name}": value for name, value in vars(should).items()},
    )
    if comparison.mismatch or must.worst is not None:
        outputs = tuple(output_evidence(comparison, Level.MUST))
        wrong = structs.replace(found, verdict=NodeVerdict.WRONG, reason=comparison.mismatch, outputs=outputs)
        return structs.replace(wrong, should_share=must.share, should_worst=None)
    if should.worst is not None:
        found = structs.replace(found, outputs=tuple(output_evidence(comparison, Level.SHOULD)))
    levels = (Level.MUST, Level.SHOULD)
    useful = [each for each in levels if 2 * sum(found.useless_bounds(each)) <= found.elements]
    verdict = NodeVerdict.CORRECT
    reason = None
    if comparison.disagreement:
        verdict = NodeVerdict.NOT_JUDGED
        reason = comparison.disagreement
    elif not useful:
        verdict = NodeVerdict.NOT_JUDGED
        reason = (
            f"more than half of the elements have no useful bound: {must.undetermined} are undetermined, and the "
            f"bounds of {must.loose} are larger than the expected values"
        )
    elif found.unspecified:
        verdict = NodeVerdict.UNSPECIFIED
        elements = "1 element" if found.unspecified == 1 else f"{found.unspecified} elements"
        why = "".join(f"; {SILENCES[name]}" for name in sorted(comparison.silences))
        reason = f"the page of {found.op_type} states no result for {elements}{why}"
    return structs.replace(found, verdict=verdict, reason=reason, level=useful[0] if useful else Level.MUST)


def output_evidence(comparison: NodeComparison, level: Level) -> Iterator[OutputEvidence]:
    """Yield the comparison of each output of a node at a level, as in a results file.

    The entries of an expectations file compare failures by this evidence, in an audit as in a run.
    """
    mismatches = {each.output: each for each in comparison.mismatches}
    for name, one in mismatches.items():
        kind = next(each for each in ViolationKind if each == one.kind)
        violation = Violation(kind, expected=one.expected, actual=one.actual)
        if one.entries:
            violation = structs.replace(violation, count=one.wrong, of=one.entries)
        kinds = [WrongKind.VALUE] if violation.kind is ViolationKind.ELEMENTS else []
        yield OutputEvidence(0, name, "exact", violation=violation, wrong=one.wrong or None, wrong_kinds=kinds)
    for output in comparison.outputs:
        distances = output.distances(level)
        wrong = np.broadcast_to(distances.shares > 1, output.actual.shape)
        evidence = OutputEvidence(0, output.name, "bound" if np.any(distances.bounds) else "exact")
        if wrong.any() and output.name not in mismatches:
            count = int(np.count_nonzero(wrong))
            evidence.violation = Violation(ViolationKind.ELEMENTS, count=count, of=int(wrong.size))
            evidence.wrong = count
            expected, bounds = (
                np.broadcast_to(each, output.actual.shape) for each in (distances.expected, distances.bounds)
            )
            evidence.wrong_kinds = kinds_of_elements(output.actual, expected, bounds, wrong)
            worst = output.element(int(np.argmax(distances.shares)), level)
            shown = (number_text(each) for each in worst.shown)
            actual, right = shown
            evidence.first_bad = BadElement(list(worst.index), right, actual, bound=number_text(worst.bound))
        yield evidence


def _in_float(given: Any) -> Any:
    """Return a tensor of a narrow type as one of float, and every other tensor unchanged."""
    if given is None or type_name(given.dtype) not in NARROW:
        return given
    tensor = computed(given)
    return replace(tensor, dtype=FLOAT) if isinstance(tensor, Enclosure) else tensor.astype(FLOAT)


def _rounded_to(dtype: np.dtype[Any], tensor: Tensor) -> Tensor:
    """Return a tensor of float rounded to a narrow type, and every other tensor unchanged."""
    if tensor is None or type_name(dtype) not in NARROW or tensor.dtype != FLOAT:
        return tensor
    if not isinstance(tensor, Enclosure):
        return tensor.astype(dtype)
    rounded = replace(tensor.as_type(dtype).returned(), unspecified=tensor.unspecified)
    return replace(rounded, compute_should=lambda: tensor.should and tensor.should.as_type(dtype).returned())
