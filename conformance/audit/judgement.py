"""Judgement of each node of a model on the values that a subject computed."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.audit.evaluation import NodeScope, enclose, inner_node_count
from conformance.audit.exposure import Exposure
from conformance.models.arrays import type_name
from conformance.models.graphs import attribute_graphs, count_free_uses
from conformance.models.inputs import tensor_elements
from conformance.reference.numbers.enclosure import Enclosure
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import onnx

    from conformance.audit.exposure import RecordedValues
    from conformance.models.arrays import Array
    from conformance.reference.numbers.enclosure import Tensor

SAMPLED_ABOVE = 2**21
"""Number of elements of an output above which a sample of the elements is judged."""

SAMPLE_SIZE = 2**18
"""Number of pseudo-random elements of a sample; extremes and special values are added."""


class NodeVerdict(StrEnum):
    """The verdict on one node."""

    CORRECT = "correct"
    WRONG = "wrong"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class WrongElement:
    """The element of an output that is furthest outside of its bound.

    Attributes:
        output: the name of the output.
        index: the position of the element.
        value: the subject's value.
        expected: the expected value.
        bound: the largest admissible difference.
    """

    output: str
    index: tuple[int, ...]
    value: float
    expected: float
    bound: float


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
        elements: the number of elements of the outputs that were judged.
        all_elements: the number of elements of all judged outputs.
        undetermined: the number of judged elements for which every value is admissible, for example after an overflow.
        share: the largest difference from the expected value, as a share of the bound; infinite for an exact output
            that differs.
        worst: the element with this share, if it is outside of its bound.
        together: the names of the nodes that were judged together with this node, because the values between them are
            hidden.
        segment: their numbers.
        inner_nodes: the number of nodes in its subgraphs, which were judged together with the node.
        way: how its outputs were obtained.
        type: the element type of its first output; empty if the output is not known.
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
    share: float = 0.0
    worst: WrongElement | None = None
    together: tuple[str, ...] = ()
    segment: tuple[int, ...] = ()
    inner_nodes: int = 0
    way: str = ""
    type: str = ""


@dataclass
class _Hidden:
    """The enclosure of a hidden value, and the numbers of the nodes that it was computed by."""

    tensor: Tensor
    nodes: frozenset[int] = field(default_factory=frozenset)


def judge_nodes(
    model: onnx.ModelProto,
    recorded: RecordedValues,
    progress: Callable[[int, int], None] = lambda *_: None,
    *,
    all_elements: bool = False,
) -> list[JudgedNode]:
    """Judge each node of the main graph on the recorded values. Nodes of the operator Constant are left out.

    A node with a hidden output is judged together with the nodes that take the output.

    Args:
        model: the model, without calls of model-local functions.
        recorded: the values.
        progress: is called with the number of judged nodes and the number of all nodes.
        all_elements: whether every element of a large output is judged, and not a sample.
    """
    scope = NodeScope.of(model)
    hidden: dict[str, _Hidden] = {}
    judged: list[JudgedNode] = []
    for number, node in enumerate(model.graph.node):
        result = JudgedNode(
            number, node.name or (node.output[0] if node.output else ""), node.op_type, node.domain, NodeVerdict.CORRECT
        )
        if node.op_type == "Constant" and not node.domain:
            _add_constant(node, recorded)
            continue
        judged.append(result)
        _judge_node(scope, node, recorded, hidden, result, all_elements=all_elements)
        progress(number + 1, len(model.graph.node))
    _mark_hidden(judged, model, recorded)
    return judged


def _add_constant(node: onnx.NodeProto, recorded: RecordedValues) -> None:
    for attribute in node.attribute:
        if attribute.name == "value":
            recorded.values[node.output[0]] = tensor_elements(attribute.t)
        elif attribute.name in ("value_float", "value_floats"):
            value = attribute.f if attribute.name == "value_float" else list(attribute.floats)
            recorded.values[node.output[0]] = np.asarray(value, np.float32)
        elif attribute.name in ("value_int", "value_ints"):
            value = attribute.i if attribute.name == "value_int" else list(attribute.ints)
            recorded.values[node.output[0]] = np.asarray(value, np.int64)


def _judge_node(
    scope: NodeScope,
    node: onnx.NodeProto,
    recorded: RecordedValues,
    hidden: dict[str, _Hidden],
    result: JudgedNode,
    *,
    all_elements: bool,
) -> None:
    names = [name for name in node.input if name]
    for _, inner in attribute_graphs(node):
        names += list(count_free_uses(inner))
    before: frozenset[int] = frozenset().union(*(hidden[name].nodes for name in names if name in hidden))
    known: dict[str, Tensor] = {name: recorded.values[name] for name in names if name in recorded.values}
    known.update((name, hidden[name].tensor) for name in names if name in hidden)
    outputs = {name: recorded.values[name] for name in node.output if name in recorded.values}
    result.inner_nodes = inner_node_count(node)
    result.type = next((type_name(array.dtype) for array in outputs.values()), "")
    result.way = str(recorded.ways.get(node.output[0] if node.output else "", Exposure.HIDDEN))
    if refusal := recorded.refused.get(node.output[0] if node.output else ""):
        result.verdict, result.reason = NodeVerdict.NOT_JUDGED, f"the subject does not run the node alone: {refusal}"
        return
    try:
        places = None if all_elements else _sample_places(node, known, outputs)
        if places is not None:
            known = {name: _at(tensor, places) for name, tensor in known.items()}
            outputs_at = {name: np.asarray(array.reshape(-1)[places]) for name, array in outputs.items()}
        else:
            outputs_at = outputs
        with np.errstate(all="ignore"):
            expected = enclose(scope, node, known)
    except Unsupported as reason:
        result.verdict, result.reason = NodeVerdict.NOT_JUDGED, str(reason)
        return
    except (ValueError, IndexError, KeyError, TypeError, StopIteration, AttributeError, OverflowError) as error:
        result.verdict = NodeVerdict.NOT_JUDGED
        result.reason = f"the reference cannot compute the node: {type(error).__name__}: {error}"
        return
    for name, tensor in zip(node.output, expected, strict=False):
        if not name:
            continue
        if name in outputs:
            _compare(name, outputs_at[name], tensor, result, places, outputs[name].shape)
        else:
            hidden[name] = _Hidden(tensor, before | {result.number})
            if tensor is not None and not result.type:
                result.type = type_name(tensor.dtype)
    if before:
        result.together = tuple(map(str, sorted(before)))


def _sample_places(node: onnx.NodeProto, known: Mapping[str, Tensor], outputs: Mapping[str, Array]) -> Array | None:
    """Return the flat positions of the elements to judge; None if all are judged.

    Only elementwise operators with operands of the output's shape can be judged in part. The positions are
    pseudo-random, and include extremes, ties, NaN, infinities and subnormals of the operands.
    """
    from conformance.reference.enclosures.elementwise import ELEMENTWISE_ENCLOSURES

    if len(outputs) != 1 or node.op_type not in ELEMENTWISE_ENCLOSURES or node.domain:
        return None
    (output,) = outputs.values()
    shapes = {np.shape(tensor) if isinstance(tensor, np.ndarray) else None for tensor in known.values()}
    if output.size <= SAMPLED_ABOVE or shapes - {output.shape, (), (1,)}:
        return None
    places = [np.random.default_rng(0).integers(0, output.size, SAMPLE_SIZE)]
    for array in (*known.values(), output):
        if not isinstance(array, np.ndarray) or array.shape != output.shape:
            continue
        flat = array.reshape(-1)
        places.append(np.array([np.argmax(flat), np.argmin(flat)]))
        if flat.dtype.kind == "f":
            limits = np.finfo(flat.dtype)
            special = ~np.isfinite(flat) | ((flat != 0) & (np.abs(flat) < limits.smallest_normal))
            places.append(np.flatnonzero(special)[:SAMPLE_SIZE])
            order = np.argsort(flat[places[0]], kind="stable")
            ordered = flat[places[0]][order]
            places.append(places[0][order][np.flatnonzero(ordered[1:] == ordered[:-1])[:1000]])
    return np.unique(np.concatenate(places))


def _at(tensor: Tensor, places: Array) -> Tensor:
    if isinstance(tensor, np.ndarray) and tensor.size > 1:
        return np.asarray(tensor.reshape(-1)[places])
    return tensor


def _compare(
    name: str, actual: Array, expected: Tensor, result: JudgedNode, places: Array | None, shape: tuple[int, ...]
) -> None:
    """Compare one output with its enclosure, and record the result."""
    result.elements += int(actual.size)
    result.all_elements += math.prod(shape)
    if expected is None:
        return
    if expected.dtype != actual.dtype or tuple(expected.shape) != actual.shape:
        result.verdict, result.share = NodeVerdict.WRONG, math.inf
        result.reason = (
            f"{name} is {actual.dtype} {list(actual.shape)}, but must be {expected.dtype} {list(expected.shape)}"
        )
        return
    if not actual.size:
        return
    shares, values, bounds = _shares(actual, expected)
    if isinstance(expected, Enclosure):
        result.undetermined += int(np.count_nonzero(np.isinf(expected.error)))
    place = int(np.argmax(shares))
    share = float(shares.flat[place])
    if share <= result.share and result.worst is not None:
        return
    result.share = max(share, result.share)
    if share > 1:
        result.verdict = NodeVerdict.WRONG
        flat = place if places is None else int(places[place])
        index = tuple(int(part) for part in np.unravel_index(flat, shape)) if shape else ()
        result.worst = WrongElement(
            name, index, _number(actual.flat[place]), _number(values.flat[place]), float(bounds.flat[place])
        )


def _number(element: Any) -> float:
    try:
        return float(element)
    except (TypeError, ValueError):
        return math.nan


def _shares(actual: Array, expected: Array | Enclosure) -> tuple[Array, Array, Array]:
    """Return each element's distance from the expected value as a share of its bound, the values and the bounds."""
    if not isinstance(expected, Enclosure):
        same = actual == expected
        if actual.dtype.kind in "fV":
            same = same | (_is_nan(actual) & _is_nan(expected))
        return np.where(same, 0.0, np.inf), expected, np.zeros(actual.shape)
    given, value, error = actual.astype(np.float64), np.asarray(expected.value), np.asarray(expected.error)
    with np.errstate(all="ignore"):
        distance = np.abs(given - value)
        shares = np.where(error > 0, distance / error, np.where(distance == 0, 0.0, np.inf))
        shares = np.where((given == value) | (np.isnan(given) & np.isnan(value)), 0.0, shares)
        shares = np.where(np.isinf(error), 0.0, shares)
        shares = np.where(np.isnan(shares), np.inf, shares)
    return shares, value, error


def _is_nan(array: Array) -> Array:
    return np.asarray(np.isnan(array.astype(np.float64)))


def _mark_hidden(judged: list[JudgedNode], model: onnx.ModelProto, recorded: RecordedValues) -> None:
    """Set the verdicts of nodes without a known output: that of the nodes that they were judged together with."""
    names = {result.number: result.name for result in judged}
    covering: dict[int, list[JudgedNode]] = {}
    for result in judged:
        members = [int(number) for number in result.together]
        result.together = tuple(names[number] for number in members)
        result.segment = tuple(members)
        for number in members:
            covering.setdefault(number, []).append(result)
    for result in judged:
        node = model.graph.node[result.number]
        if any(name in recorded.values for name in node.output) or result.verdict is NodeVerdict.NOT_JUDGED:
            continue
        later = [each for each in covering.get(result.number, []) if each.verdict is not NodeVerdict.NOT_JUDGED]
        if not later:
            result.verdict = NodeVerdict.NOT_JUDGED
            result.reason = "its value is hidden, and no later value that depends on it could be judged"
        else:
            result.reason = f"judged together with {later[0].name}"


def summarize(judged: list[JudgedNode]) -> dict[str, Counter[NodeVerdict]]:
    """Return the number of nodes with each verdict, by operator."""
    table: dict[str, Counter[NodeVerdict]] = {}
    for node in judged:
        name = f"{node.domain}.{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type
        table.setdefault(name, Counter())[node.verdict] += 1
    return table
