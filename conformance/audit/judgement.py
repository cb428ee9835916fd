"""Judgement of each node of a model on the values that a subject computed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.audit.operands import operand_texts
from conformance.audit.sampling import Sample, take_sample
from conformance.graphs.arithmetic import operation_count
from conformance.graphs.cutting import part_of
from conformance.graphs.distances import are_comparable, find_distances, relative_error
from conformance.graphs.intermediate_values import Exposure
from conformance.models.arrays import type_name
from conformance.models.graphs import is_operator, names_taken_by
from conformance.reference.enclosures import has_signed_zeros
from conformance.reference.formulas.linear import FLOAT
from conformance.reference.node_enclosures import WITH_STATES, NodeScope, enclose, enclose_steps, inner_node_count
from conformance.reference.numbers.enclosure import Enclosure
from conformance.reference.numbers.precision import format_of
from conformance.reference.oracle import EVALUATION_ERRORS
from conformance.reference.tolerances import NARROW
from conformance.subjects.harness import value_digest
from conformance.verdicts import Level, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    import onnx

    from conformance.graphs.distances import Distances
    from conformance.graphs.intermediate_values import RecordedValues
    from conformance.models.arrays import Array
    from conformance.reference.enclosures.sequences import TensorOrSequence
    from conformance.reference.numbers.enclosure import Tensor


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


class NodeVerdict(StrEnum):
    """The verdict on one node."""

    CORRECT = "correct"
    WRONG = "wrong"
    UNSPECIFIED = "unspecified"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class JudgedElement:
    """An element of an output that a report shows.

    Attributes:
        output: the name of the output.
        index: the position of the element.
        value: the subject's value.
        expected: the expected value.
        bound: the largest admissible difference.
        operands: the elements of the node's operands that the element depends on, as texts; empty if they are many.
    """

    output: str
    index: tuple[int, ...]
    value: float
    expected: float
    bound: float
    operands: tuple[str, ...] = ()


@dataclass
class JudgedNode:
    """The judgement of one node of the main graph.

    Attributes:
        number: the position of the node in the main graph.
        name: the name of the node, or of its first output.
        op_type: its operator.
        domain: the domain of the operator.
        verdict: the verdict.
        reason: why it was not judged, or what is wrong with type or shape; otherwise empty.
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
        together: the names of the nodes that were judged together with this node, because the values between them are
            hidden.
        segment: their numbers.
        inner_nodes: the number of nodes in its subgraphs, which were judged together with the node.
        way: how its outputs were obtained.
        type: the element type of its first output; empty if the output is not known.
        operations: about how many operations the node needs; see `conformance.graphs.arithmetic`.
        introduced: the largest error against the exact result of the node's own operands; see
            `conformance.audit.propagation`.
        accumulated: the largest error against the exact value of the whole model; None if that is not known.
        origin: the number of the node from which most of the accumulated error comes; None if that is not known.
        level: `should` if only the bounds of this level are useful for at least half of the elements.
        should_undetermined: the number of undetermined elements with the bounds of level `should`.
        should_loose: the number of loose elements with the bounds of level `should`.
    """

    number: int
    name: str
    op_type: str
    domain: str
    verdict: NodeVerdict
    reason: str = ""
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
    together: tuple[str, ...] = ()
    segment: tuple[int, ...] = ()
    inner_nodes: int = 0
    way: str = ""
    type: str = ""
    operations: int = 0
    introduced: float = 0.0
    accumulated: float | None = None
    origin: int | None = None
    level: Level = Level.MUST
    should_undetermined: int = 0
    should_loose: int = 0

    @property
    def level_share(self) -> float:
        """The largest difference as a share of the bound of the level at which the node is judged."""
        return self.share if self.level is Level.MUST else self.should_share

    @property
    def verdict_text(self) -> str:
        """The verdict, with the level if the node is judged at level `should` only."""
        at_should = f"{'within' if self.should_worst is None else 'outside of'} its bounds of level should"
        return str(self.verdict) if self.level is Level.MUST else at_should

    def is_judged_at(self, level: Level) -> bool:
        """Return whether at least half of its elements have a useful bound of a level."""
        return self.verdict is not NodeVerdict.NOT_JUDGED and self.level.is_within(level)

    def judged_elements(self, level: Level) -> int:
        """Return the number of compared elements that a wrong value would put outside of a useful bound of a level."""
        return self.elements - sum(self.useless_bounds(level)) - self.unspecified

    def useless_bounds(self, level: Level) -> tuple[int, int]:
        """Return the numbers of undetermined and of loose elements with the bounds of a level."""
        return (self.undetermined, self.loose) if level is Level.MUST else (self.should_undetermined, self.should_loose)

    @property
    def fault_rank(self) -> int:
        """2 for a wrong node, 1 for a node outside of its bounds of level `should` only, and otherwise 0."""
        return 2 if self.verdict is NodeVerdict.WRONG else int(self.should_worst is not None)


@dataclass
class _Hidden:
    """The enclosure of a hidden value, and the numbers of the nodes that it was computed by."""

    tensor: TensorOrSequence
    nodes: frozenset[int] = field(default_factory=frozenset)


_DEFAULT_OPTIONS = JudgementOptions()


class Judgement:
    """The judgement of the nodes of a main graph on recorded values, node by node, in any order of the nodes.

    Args:
        model: the model, without calls of model-local functions.
        recorded: the values, also those of the operator Constant.
        options: the operands that a runtime may have passed to nodes.
    """

    def __init__(
        self, model: onnx.ModelProto, recorded: RecordedValues, options: JudgementOptions = _DEFAULT_OPTIONS
    ) -> None:
        self.nodes = list(model.graph.node)
        self._recorded, self._options = recorded, options
        self._scope = NodeScope.of(model)
        self._hidden: dict[str, _Hidden | None] = {}
        self._declared = {
            value.name: shape for value in model.graph.output if (shape := _declared_shape(value)) is not None
        }
        self._producers = {name: number for number, node in enumerate(self.nodes) for name in node.output if name}

    def judge(self, numbers: Iterable[int]) -> Iterator[JudgedNode]:
        """Yield the judgements of some nodes; nodes of the operator Constant are left out.

        A node with a hidden output is judged together with the nodes that take the output; see `complete`.
        """
        for number in numbers:
            if not is_operator(self.nodes[number], "Constant"):
                yield self._judge_node(number)

    def complete(self, judged: Sequence[JudgedNode]) -> list[JudgedNode]:
        """Return the judgements of all nodes, with those of the nodes that were judged together with others."""
        return _with_covered(sorted(judged, key=lambda node: node.number), self.nodes, self._recorded)

    def _hidden_value(self, name: str) -> _Hidden | None:
        """Return the enclosure of a value that is not recorded; None if it cannot be computed."""
        pending = [name]
        while pending:
            number = self._producers.get(pending[-1])
            if pending[-1] in self._hidden or number is None:
                self._hidden.setdefault(pending.pop(), None)
                continue
            before = [
                each
                for each in names_taken_by(self.nodes[number])
                if each not in self._recorded.values and each not in self._hidden
            ]
            if before:
                pending += before
            else:
                self._judge_node(number)
                for output in self.nodes[number].output:
                    self._hidden.setdefault(output, None)
        return self._hidden[name]

    def _operands(self, node: onnx.NodeProto) -> tuple[dict[str, TensorOrSequence], set[int]]:
        """Return the operands of a node by name, and the numbers of the nodes that computed its hidden operands."""
        known: dict[str, TensorOrSequence] = {}
        before: set[int] = set()
        for name in names_taken_by(node):
            if name in self._recorded.values:
                known[name] = self._operand(name, self._recorded.values[name])
            elif (hidden := self._hidden_value(name)) is not None:
                known[name] = hidden.tensor
                before |= hidden.nodes
        if self._options.keeps_float:
            known = {name: each if isinstance(each, list) else _in_float(each) for name, each in known.items()}
        return known, before

    def _judge_node(self, number: int) -> JudgedNode:
        node, recorded = self.nodes[number], self._recorded
        first = node.output[0] if node.output else ""
        result = JudgedNode(number, node.name or first, node.op_type, node.domain, NodeVerdict.CORRECT)
        known, before = self._operands(node)
        tensors = {name: each for name, each in known.items() if not isinstance(each, list)}
        outputs = {name: recorded.values[name] for name in node.output if name in recorded.values}
        result.inner_nodes = inner_node_count(node)
        result.type = next((type_name(array.dtype) for array in outputs.values()), "")
        result.way = str(recorded.ways.get(first, Exposure.HIDDEN))
        result.all_elements = sum(int(array.size) for array in outputs.values())
        result.operations = operation_count(
            node,
            {name: np.shape(_elements(tensor)) for name, tensor in tensors.items()}
            | {name: array.shape for name, array in outputs.items()},
        ) * (1 + result.inner_nodes)
        if refusal := recorded.refused.get(first):
            result.verdict, result.reason = (
                NodeVerdict.NOT_JUDGED,
                f"the subject does not run the node alone: {refusal}",
            )
            return result
        try:
            is_whole = self._options.all_elements or len(tensors) < len(known)
            sample = None if is_whole else take_sample(node, self._scope.node(node), tensors, outputs)
            part = Sample(node, tensors, outputs) if sample is None else sample
            with np.errstate(all="ignore"):
                if sample is None and node.op_type in WITH_STATES and first in outputs:
                    expected = enclose_steps(self._scope, node, known, outputs[first])
                else:
                    expected = enclose(self._scope, part.node, known if sample is None else sample.operands)
        except Unsupported as reason:
            result.verdict, result.reason = NodeVerdict.NOT_JUDGED, str(reason)
            return result
        except EVALUATION_ERRORS as error:
            result.verdict = NodeVerdict.NOT_JUDGED
            result.reason = f"the reference cannot compute the node: {type(error).__name__}: {error}"
            return result
        keeps_signs = not before and has_signed_zeros(self._scope.node(node))
        for position, (name, tensor) in enumerate(zip(node.output, expected, strict=False)):
            if not name:
                continue
            if name in outputs:
                if isinstance(tensor, list):
                    continue
                if self._options.keeps_float:
                    tensor = _rounded_to(outputs[name].dtype, tensor)  # noqa: PLW2901
                _compare(name, position, tensor, result, part, outputs[name].shape, keeps_signs=keeps_signs)
            else:
                if name in recorded.others and isinstance(tensor, list):
                    _compare_sequence(name, tensor, recorded.others[name], result)
                unrounded = tensor.unrounded() if isinstance(tensor, Enclosure) else tensor
                self._hidden[name] = _Hidden(unrounded, frozenset({*before, number}))
                if tensor is not None and not isinstance(tensor, list) and not result.type:
                    result.type = type_name(tensor.dtype)
        result.segment = tuple(sorted(before))
        _settle(result)
        if result.verdict is not NodeVerdict.WRONG and (contradiction := self._contradiction(outputs)):
            result.verdict, result.reason = NodeVerdict.NOT_JUDGED, contradiction
        return result

    def _operand(self, name: str, array: Array) -> Tensor:
        """Return a recorded value as a node may have received it."""
        if name in self._options.rounded:
            return Enclosure.rounding_of(array)
        if name in self._options.folded:
            constant = Enclosure.exact(array)
            error = np.abs(constant.value) * float(format_of(array.dtype).unit_roundoff)
            return replace(constant, error=np.where(np.isfinite(constant.value), error, 0.0))
        return array

    def _contradiction(self, outputs: Mapping[str, Array]) -> str:
        """Return which declaration of the model contradicts an output of a node; an empty text if none does."""
        for name, array in outputs.items():
            shape = self._declared.get(name)
            if shape is None:
                continue
            sizes = zip(shape, array.shape, strict=False)
            if len(shape) != array.ndim or any(size is not None and size != found for size, found in sizes):
                text = "x".join("?" if size is None else str(size) for size in shape) or "scalar"
                found = "x".join(map(str, array.shape)) or "scalar"
                return f"the model is invalid: it declares {name} as {text}, but its node makes {found}"
        return ""


def _declared_shape(value: onnx.ValueInfoProto) -> list[int | None] | None:
    """Return the shape that a model declares, with None for a size that it leaves open; None for no shape.

    Some exporters write -1 for an open size.
    """
    tensor = value.type.tensor_type
    if not value.type.HasField("tensor_type") or not tensor.HasField("shape"):
        return None
    return [size.dim_value if size.HasField("dim_value") and size.dim_value >= 0 else None for size in tensor.shape.dim]


def judge_nodes(
    model: onnx.ModelProto,
    recorded: RecordedValues,
    progress: Callable[[int, int], None] = lambda *_: None,
    options: JudgementOptions = _DEFAULT_OPTIONS,
) -> list[JudgedNode]:
    """Judge all nodes of the main graph on the recorded values.

    Args:
        model: the model, without calls of model-local functions.
        recorded: the values.
        progress: is called with the number of judged nodes and the number of all nodes.
        options: the operands that a runtime may have passed to nodes.
    """
    judgement = Judgement(model, recorded, options)
    judged = []
    for node in judgement.judge(range(len(judgement.nodes))):
        judged.append(node)
        progress(node.number + 1, len(judgement.nodes))
    return judgement.complete(judged)


def judge_last(
    model: onnx.ModelProto,
    numbers: Sequence[int],
    recorded: RecordedValues,
    values: Mapping[str, Array],
    options: JudgementOptions = _DEFAULT_OPTIONS,
) -> JudgedNode:
    """Judge the last of some nodes of a model on other values, together with the nodes before it that it needs.

    Args:
        model: the model.
        numbers: the numbers of the nodes, in order.
        recorded: the recorded values of the model.
        values: the values that are used instead, by name.
        options: the operands that a runtime may have passed to nodes.
    """
    judged = judge_nodes(part_of(model, "part", numbers), replace(recorded, values=values), options=options)[-1]
    return replace(judged, number=numbers[-1], segment=tuple(numbers[place] for place in judged.segment))


def _compare_sequence(name: str, expected: list[Any], actual: Any, result: JudgedNode) -> None:
    """Compare an output that is a sequence, and record the result."""
    count = _element_count(expected)
    result.elements += count
    result.all_elements += count
    is_admissible = _is_admissible_sequence(actual, expected)
    if is_admissible is None:
        result.undetermined += count
        result.should_undetermined += count
    elif not is_admissible:
        result.verdict, result.share = NodeVerdict.WRONG, math.inf
        result.reason = f"{name} has other elements than {len(expected)} tensors or maps that the page states"


def _element_count(expected: Sequence[Any]) -> int:
    """Return the number of elements of all tensors and maps of a sequence."""
    return sum(len(each) if isinstance(each, dict) else int(np.prod(each.shape, dtype=np.int64)) for each in expected)


def _is_admissible_sequence(actual: Any, expected: Sequence[Any]) -> bool | None:
    """Return whether an output may be a sequence; None if a digest does not show it.

    Args:
        actual: the output: a list, or an object with the digest of a list.
        expected: the expected elements: maps, tensors, or enclosures of tensors.
    """
    if isinstance(actual, (list, tuple)):
        pairs = zip(actual, expected, strict=False)
        return len(actual) == len(expected) and all(_is_admissible(*pair) for pair in pairs)
    digest = getattr(actual, "digest", "")
    if not digest or any(isinstance(each, Enclosure) and not each.is_exact for each in expected):
        return None
    exact = [each.value.astype(each.dtype) if isinstance(each, Enclosure) else each for each in expected]
    narrow = [{key: np.float32(x) for key, x in each.items()} if isinstance(each, dict) else each for each in exact]
    return digest in {value_digest(exact), value_digest(narrow)}


def _is_admissible(actual: Any, expected: Any) -> bool:
    if isinstance(expected, dict):
        return isinstance(actual, dict) and value_digest(_as_floats(actual)) == value_digest(_as_floats(expected))
    if not isinstance(actual, np.ndarray) or not are_comparable(actual, expected):
        return False
    return bool((find_distances(actual, expected).shares <= 1).all())


def _as_floats(scores: Mapping[Any, Any]) -> dict[Any, float]:
    return {key: float(each) for key, each in scores.items()}


def _compare(
    name: str,
    position: int,
    expected: Tensor,
    result: JudgedNode,
    part: Sample,
    shape: tuple[int, ...],
    *,
    keeps_signs: bool,
) -> None:
    """Compare one output with its enclosure, and record the result."""
    actual = part.outputs[name]
    result.elements += int(actual.size)
    if expected is None:
        result.undetermined += int(actual.size)
        result.should_undetermined += int(actual.size)
        return
    if not are_comparable(actual, expected):
        result.verdict, result.share = NodeVerdict.WRONG, math.inf
        result.reason = (
            f"{name} is {actual.dtype} {list(actual.shape)}, but must be {expected.dtype} {list(expected.shape)}"
        )
        return
    if not actual.size:
        return

    def element(place: int, distances: Distances) -> JudgedElement:
        value, expected, bound = (
            _number(array.flat[place]) for array in (actual, distances.expected, distances.bounds)
        )
        index = tuple(int(each) for each in np.unravel_index(place, actual.shape))
        operands = operand_texts(part.node, part.operands, actual.shape, index)
        return JudgedElement(name, part.locate(position, place, shape), value, expected, bound, operands)

    distances = find_distances(actual, expected)
    result.introduced = max(result.introduced, relative_error(actual, np.asarray(distances.expected)))
    result.undetermined += int(np.count_nonzero(distances.undetermined))
    result.loose += int(np.count_nonzero(distances.loose))
    result.unspecified += int(np.count_nonzero(distances.unspecified))
    if distances.unspecified.any() and result.open_element is None:
        result.open_element = element(int(np.argmax(distances.unspecified)), distances)
    place = int(np.argmax(distances.shares))
    share = float(distances.shares.flat[place])
    if share > result.share or result.worst is None:
        result.share = max(share, result.share)
        if share > 1:
            result.verdict, result.worst = NodeVerdict.WRONG, element(place, distances)
    strict = (expected.should or expected) if isinstance(expected, Enclosure) else expected
    distances = find_distances(actual, strict, has_signed_zeros=keeps_signs)
    result.should_undetermined += int(np.count_nonzero(distances.undetermined))
    result.should_loose += int(np.count_nonzero(distances.loose))
    place = int(np.argmax(distances.shares))
    share = float(distances.shares.flat[place])
    if share > result.should_share or result.should_worst is None:
        result.should_share = max(share, result.should_share)
        if share > 1:
            result.should_worst = element(place, distances)


def _settle(result: JudgedNode) -> None:
    """Set the verdict of a node without a wrong element whose elements are open, and drop `should` from a wrong one."""
    if result.verdict is not NodeVerdict.CORRECT:
        result.should_share, result.should_worst = result.share, None
        return
    useful = [each for each in (Level.MUST, Level.SHOULD) if 2 * sum(result.useless_bounds(each)) <= result.elements]
    if not useful:
        result.verdict = NodeVerdict.NOT_JUDGED
        result.reason = (
            f"more than half of the elements have no useful bound: {result.undetermined} are undetermined, and the "
            f"bounds of {result.loose} are larger than the expected values"
        )
        return
    result.level = useful[0]
    if result.unspecified:
        result.verdict = NodeVerdict.UNSPECIFIED
        elements = "1 element" if result.unspecified == 1 else f"{result.unspecified} elements"
        result.reason = f"the page of {result.op_type} states no result for {elements}"


def _in_float(tensor: Tensor) -> Tensor:
    """Return a tensor of a narrow type as one of float, and every other tensor unchanged."""
    if tensor is None or type_name(tensor.dtype) not in NARROW:
        return tensor
    return replace(tensor, dtype=FLOAT) if isinstance(tensor, Enclosure) else tensor.astype(FLOAT)


def _rounded_to(dtype: np.dtype[Any], tensor: Tensor) -> Tensor:
    """Return a tensor of float rounded to a narrow type, and every other tensor unchanged."""
    if tensor is None or type_name(dtype) not in NARROW or tensor.dtype != FLOAT:
        return tensor
    if not isinstance(tensor, Enclosure):
        return tensor.astype(dtype)
    rounded = replace(tensor.as_type(dtype).returned(), unspecified=tensor.unspecified)
    return replace(rounded, compute_should=lambda: tensor.should and tensor.should.as_type(dtype).returned())


def _elements(tensor: Tensor) -> Array:
    return tensor.value if isinstance(tensor, Enclosure) else np.asarray(tensor)


def _number(element: Any) -> float:
    try:
        return int(element) if np.asarray(element).dtype.kind in "iu" else float(element)
    except (TypeError, ValueError):
        return math.nan


def _with_covered(
    judged: Sequence[JudgedNode], nodes: Sequence[onnx.NodeProto], recorded: RecordedValues
) -> list[JudgedNode]:
    """Return judgements in which a node without a known output has that of the node that covers it."""
    names = {result.number: result.name for result in judged}
    obtained = {*recorded.values, *recorded.others}
    known = {result.number for result in judged if not obtained.isdisjoint(nodes[result.number].output)}
    covering: dict[int, JudgedNode] = {}
    for result in sorted(judged, key=lambda each: each.level.rank):
        if result.number in known and result.verdict is not NodeVerdict.NOT_JUDGED:
            for number in result.segment:
                covering.setdefault(number, result)
    complete = []
    for result in judged:
        verdict, level, reason = result.verdict, result.level, result.reason
        if result.number not in known and verdict is not NodeVerdict.NOT_JUDGED:
            if later := covering.get(result.number):
                level, reason = later.level, f"judged together with {later.name}"
            else:
                verdict = NodeVerdict.NOT_JUDGED
                reason = "its value is hidden, and no later value that depends on it could be judged"
        together = tuple(names[number] for number in result.segment)
        complete.append(replace(result, verdict=verdict, level=level, reason=reason, together=together))
    return complete
