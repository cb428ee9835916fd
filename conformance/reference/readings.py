"""Whether an answer fits one reading of the page throughout: a kernel's scalars are computed once, for all elements.

The page names no type for what has no tensor in it. For double tensors a kernel may compute 1 - alpha, 1 - beta and
1 - norm_coefficient_post in double or in float, each once; R_adjusted, or r, in many ways, but it is one number for all
elements of a node. The bound of an element is the hull of all this. Here an answer is held against each reading by
itself: every element leaves an interval for the one number, and these have to meet.

Only nodes are judged so whose operands are a run's own inputs or initializers and whose results are all outputs of the
graph; of others nobody knows what they were given or made.
"""

from __future__ import annotations

from decimal import Decimal
from itertools import chain, product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import onnx

from conformance.models.formats import DOUBLE, FLOAT
from conformance.reference.graph import Graph
from conformance.reference.numbers.enclosing import Enclosing
from conformance.reference.numbers.exact import exactly
from conformance.reference.operators.training import TRAINING_OPTIMIZERS, evaluate_optimizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeAlias

    from conformance.models.arrays import Array
    from conformance.models.formats import Format
    from conformance.reference.nodes import Node
    from conformance.reference.numbers.affine import Interval
    from conformance.reference.numbers.bounded import Bounded

    Reading: TypeAlias = "tuple[tuple[Room | None, ...], ...]"

COMPLEMENTED = ("alpha", "beta", "norm_coefficient_post")
"""The attributes whose 1 - attribute a formula has."""

MOST_ELEMENTS = 256
"""How many of an output's elements are held against readings: it is one number for all of them."""

ONE = Decimal(1)


class Room(NamedTuple):
    """What a reading leaves an element: it is part * n more than something from low to high, n the one number's error.

    Attributes:
        low: the least, half an ULP included.
        high: the most.
        part: what the one number's largest error adds; n is between -1 and 1, and the same for all elements.
    """

    low: Decimal
    high: Decimal
    part: Decimal

    def left(self, answer: Decimal) -> Interval:
        """Which n give this answer; none where the first is above the second."""
        if not self.part:
            return (-ONE, ONE) if self.low <= answer <= self.high else (ONE, -ONE)
        below, above = sorted(((answer - self.low) / self.part, (answer - self.high) / self.part))
        return below, above


class ReadNode:
    """A node under each of its readings, which are computed one after the other, as long as none fits.

    Attributes:
        outputs: the places of its double results among the graph's outputs.
    """

    def __init__(self, outputs: tuple[int, ...], readings: Iterator[Reading]) -> None:
        self.outputs = outputs
        self._computed: list[Reading] = []
        self._others = readings

    def fits(self, answers: Sequence[Array]) -> bool:
        """Whether the outputs of a graph are those of one reading, as far as they are this node's."""
        elements = [
            [Decimal(float(element)) for element in answers[place].flat[:MOST_ELEMENTS]] for place in self.outputs
        ]
        return any(_fits(reading, elements) for reading in self._readings())

    def _readings(self) -> Iterator[Reading]:
        yield from self._computed
        for reading in self._others:
            self._computed.append(reading)
            yield reading


def readings(model: bytes, inputs: Sequence[Array]) -> list[ReadNode]:
    """The nodes of a model that can be held against one reading each, for these inputs; none for most models.

    Raises:
        Unsupported: the model is not made of this suite's operators.
    """
    graph = Graph.of(onnx.load_model_from_string(model))
    names = graph.optional if len(inputs) == len(graph.optional) else graph.inputs
    given = {**graph.initializers, **dict(zip(names, inputs, strict=True))}
    return [ReadNode(_double(node, graph, given), _each(node, graph, given)) for node in _judged(graph, given)]


def has_readings(model: onnx.ModelProto) -> bool:
    """Whether a model may have nodes to be held against one reading: whether there are doubles at all."""
    double = onnx.TensorProto.DOUBLE
    return any(value.type.tensor_type.elem_type == double for value in model.graph.output)


def _judged(graph: Graph, given: Mapping[str, Array]) -> Iterator[Node]:
    """The optimizers with a double tensor whose operands are given and whose results are shown."""
    for node, evaluation in graph.nodes:
        shown = all(name in given for name in node.inputs) and all(name in graph.outputs for name in node.outputs)
        if evaluation is evaluate_optimizer and shown and _double(node, graph, given):
            yield node


def _double(node: Node, graph: Graph, given: Mapping[str, Array]) -> tuple[int, ...]:
    """The places of a node's double results among the graph's outputs."""
    operands = node.inputs[2:]
    count = len(operands) // len(TRAINING_OPTIMIZERS[node.op_type].operands)
    of_type = [given[name].dtype == np.float64 for name in operands[:count]]
    return tuple(graph.outputs.index(name) for place, name in enumerate(node.outputs) if of_type[place % count])


def _each(node: Node, graph: Graph, given: Mapping[str, Array]) -> Iterator[Reading]:
    """A node's readings, the page's own words in double first."""
    optimizer = TRAINING_OPTIMIZERS[node.op_type]
    places = _double(node, graph, given)
    for once, form in product(_once(node.attributes), range(len(optimizer.forms))):
        system = Enclosing(once=once, form=form)
        with exactly(given.values()):
            results = evaluate_optimizer(node, [system.entering(_first(given[name])) for name in node.inputs], system)
            by_place = dict(zip(map(graph.outputs.index, node.outputs), results, strict=True))
            rooms = tuple(tuple(map(_room, by_place[place].elements.flat)) for place in places)
        yield rooms


def _first(array: Array) -> Array:
    """The first elements of a tensor, as a vector; a scalar as it is."""
    return array.reshape(-1)[:MOST_ELEMENTS] if array.ndim else array


def _once(attributes: Mapping[str, Any]) -> Iterator[Mapping[str, Format]]:
    """The ways to round each 1 - attribute, float and double where these differ."""
    names = [name for name in COMPLEMENTED if isinstance(attributes.get(name), float)]
    ways = [[DOUBLE] if _is_single(ONE - Decimal(attributes[name])) else [DOUBLE, FLOAT] for name in names]
    return (dict(zip(names, formats, strict=True)) for formats in product(*ways))


def _is_single(value: Decimal) -> bool:
    return not value.is_finite() or FLOAT.represents(value)


def _fits(rooms: Reading, answers: Sequence[Sequence[Decimal]]) -> bool:
    """Whether one number's error gives all these elements."""
    low, high = -ONE, ONE
    for room, answer in zip(chain(*rooms), chain(*answers), strict=True):
        if room is not None and answer.is_finite():
            below, above = room.left(answer)
            low, high = max(low, below), min(high, above)
            if low > high:
                return False
    return True


def _room(number: Bounded) -> Room | None:
    if not number.is_finite:
        return None
    settled = number.is_exact and DOUBLE.represents(number.value)
    half_ulp = max(abs(number.low), abs(number.high), DOUBLE.smallest_normal) * DOUBLE.unit_roundoff
    half_ulp = Decimal(0) if settled else half_ulp
    error = number.error
    part = next(iter(error.parts.values()), Decimal(0))
    return Room(number.value + error.low - half_ulp, number.value + error.high + half_ulp, part)
