"""Check that one interpretation of the specification explains all double outputs of a training optimizer's node.

The page states no type for numbers that do not depend on a tensor. For double tensors, a kernel may compute 1 - alpha,
1 - beta and 1 - norm_coefficient_post each in double or in float. It may compute R_adjusted (r in Adagrad) in several
ways. But it computes each of these numbers once, for all elements of a node. The bound of an element is the hull of all
these *interpretations*, and does not take that into account.

This module checks each interpretation separately. Every output element limits the error of the common number to an
interval. The outputs match the interpretation if the intervals of all elements have a point in common. Outputs that
have the bits of the page's formula, computed in double, need no such check.

The check applies to a node if its operands are inputs or initializers of the graph, and all its results are outputs of
the graph. For other nodes, the exact operands or results of a run are unknown. Momentum has no such common number.
"""

from __future__ import annotations

from decimal import Decimal
from itertools import chain, product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import onnx

from conformance.exact.models.arrays import DOUBLE, FLOAT
from conformance.exact.reference.graph import Graph
from conformance.exact.reference.numbers.decimals import exact_context
from conformance.exact.reference.numbers.interval_system import IntervalSystem
from conformance.exact.reference.numbers.number_system import NumberSystem
from conformance.exact.reference.operators.training_optimizers import (
    TRAINING_DOMAINS,
    TRAINING_OPTIMIZERS,
    evaluate_optimizer,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeAlias

    from conformance.exact.models.arrays import Array, FloatFormat
    from conformance.exact.reference.nodes import Node
    from conformance.exact.reference.numbers.affine import Interval
    from conformance.exact.reference.numbers.bounded import BoundedNumber

    Interpretation: TypeAlias = "tuple[tuple[AffineSlack | None, ...], ...]"
    """The slack of each compared element of each double output of a node; None for an element that is not finite."""


INTERPOLATED_ATTRIBUTES = frozenset({"alpha", "beta"})
"""The attributes whose complement can be a share of a difference: they are the weights of averages."""

MAX_COMPARED_ELEMENTS = 256
"""The number of elements of an output that are compared with an interpretation."""

ONE = Decimal(1)


class AffineSlack(NamedTuple):
    """The values that an output element can have in one interpretation: an interval, shifted by slope * n.

    n is the error of the common number, such as 1 - alpha, divided by its largest possible error. It is between -1 and
    1, and the same for all elements.

    Attributes:
        low: the lower end of the interval for n = 0, half an ULP included.
        high: the upper end of the interval for n = 0, half an ULP included.
        slope: the change of the element from n = 0 to n = 1.
    """

    low: Decimal
    high: Decimal
    slope: Decimal

    def solve(self, output: Decimal) -> Interval:
        """Return the interval of all n for which the element can have the value `output`.

        If there is no such n, the lower end is above the upper end.
        """
        if not self.slope:
            return (-ONE, ONE) if self.low <= output <= self.high else (ONE, -ONE)
        below, above = sorted(((output - self.low) / self.slope, (output - self.high) / self.slope))
        return below, above


class InterpretedNode:
    """The interpretations of a node, computed one after the other until one matches the outputs.

    Attributes:
        outputs: the indices of the node's double results among the graph's outputs.
    """

    def __init__(self, node: Node, graph: Graph, operands: Mapping[str, Array]) -> None:
        """Take a node of a graph and its operands by name."""
        self.outputs = _double_outputs(node, graph, operands)
        self._computed: list[Interpretation] = []
        self._remaining = _interpretations(node, graph, operands)
        by_output = dict(zip(map(graph.outputs.index, node.outputs), _native_results(node, operands), strict=True))
        self._native_bits = [by_output[index].tobytes() for index in self.outputs]

    def has_match(self, outputs: Sequence[Array]) -> bool:
        """Return whether one interpretation explains this node's outputs.

        Args:
            outputs: all outputs of the graph.
        """
        if [outputs[index].tobytes() for index in self.outputs] == self._native_bits:
            return True
        elements = [
            [Decimal(float(element)) for element in outputs[index].flat[:MAX_COMPARED_ELEMENTS]]
            for index in self.outputs
        ]
        return any(_matches(interpretation, elements) for interpretation in self._interpretations())

    def _interpretations(self) -> Iterator[Interpretation]:
        yield from self._computed
        for interpretation in self._remaining:
            self._computed.append(interpretation)
            yield interpretation


def interpreted_nodes(model: bytes, inputs: Sequence[Array]) -> list[InterpretedNode]:
    """Return the nodes for which the specification has several interpretations. Most models have no such node.

    The module docstring states the conditions on a node.

    Raises:
        Unsupported: the reference does not support an operator of the model.
    """
    if not any(domain.encode() in model for domain in TRAINING_DOMAINS):
        return []  # most models of the corpus with double outputs; this is faster than reading them
    graph = Graph.from_model(onnx.load_model_from_string(model))
    names = graph.all_inputs if len(inputs) == len(graph.all_inputs) else graph.required_inputs
    operands = {**graph.initializers, **dict(zip(names, inputs, strict=True))}
    return [InterpretedNode(node, graph, operands) for node in _optimizer_nodes(graph, operands)]


def _optimizer_nodes(graph: Graph, operands: Mapping[str, Array]) -> Iterator[Node]:
    """Yield the nodes of Adam and Adagrad with known operands whose results are graph outputs, at least one double."""
    for node, evaluation in graph.nodes:
        if evaluation is not evaluate_optimizer or not TRAINING_OPTIMIZERS[node.op_type].has_common_numbers:
            continue
        is_visible = all(name in operands for name in node.inputs)
        is_visible = is_visible and all(name in graph.outputs for name in node.outputs)
        if is_visible and _double_outputs(node, graph, operands):
            yield node


def _double_outputs(node: Node, graph: Graph, operands: Mapping[str, Array]) -> tuple[int, ...]:
    """Return the positions of a node's double results in the list of the graph's outputs."""
    tensors = node.inputs[2:]
    count = len(tensors) // len(TRAINING_OPTIMIZERS[node.op_type].operands)
    is_double = [operands[name].dtype == np.float64 for name in tensors[:count]]
    return tuple(graph.outputs.index(name) for i, name in enumerate(node.outputs) if is_double[i % count])


def _native_results(node: Node, operands: Mapping[str, Array]) -> list[Array]:
    """Return the results of the formula of the page, computed with NumPy in the type of each tensor."""
    system = NumberSystem()
    inputs = [system.from_array(operands[name]) for name in node.inputs]
    return [result.elements for result in evaluate_optimizer(node, inputs, system)]


def _interpretations(node: Node, graph: Graph, operands: Mapping[str, Array]) -> Iterator[Interpretation]:
    """Yield a node's interpretations. The formula of the page, computed in double, comes first."""
    optimizer = TRAINING_OPTIMIZERS[node.op_type]
    outputs = _double_outputs(node, graph, operands)
    for formats, interpolated in _complements(optimizer.complements, node.attributes):
        system = IntervalSystem(complement_formats=formats, interpolated=interpolated)
        with exact_context(operands.values()):
            inputs = [system.from_array(_leading_elements(operands[name])) for name in node.inputs]
            results = evaluate_optimizer(node, inputs, system)
            by_output = dict(zip(map(graph.outputs.index, node.outputs), results, strict=True))
            interpretation = tuple(tuple(map(_slack, by_output[index].elements.flat)) for index in outputs)
        yield interpretation


def _leading_elements(array: Array) -> Array:
    """Return the first `MAX_COMPARED_ELEMENTS` elements of a tensor as a vector; return a scalar unchanged."""
    return array.reshape(-1)[:MAX_COMPARED_ELEMENTS] if array.ndim else array


def _complements(
    names: Sequence[str], attributes: Mapping[str, Any]
) -> Iterator[tuple[Mapping[str, FloatFormat], frozenset[str]]]:
    """Yield every combination of the formats of the numbers 1 - attribute and of their uses.

    Args:
        names: the names of the attributes.
        attributes: all attributes of the node.

    Yields:
        The format of each number by the name of the attribute, and the names of the attributes that are shares of a
        difference. The formats are double and float; double only if the number is the same in float. The use matters
        only in float.
    """
    uses = [
        [(DOUBLE, False)]
        if _is_float32(ONE - Decimal(attributes[name]))
        else [(DOUBLE, False), (FLOAT, False), *([(FLOAT, True)] if name in INTERPOLATED_ATTRIBUTES else [])]
        for name in names
    ]
    for assigned in product(*uses):
        by_name = dict(zip(names, assigned, strict=True))
        yield (
            {name: format for name, (format, _) in by_name.items()},
            frozenset(name for name, (_, is_share) in by_name.items() if is_share),
        )


def _is_float32(value: Decimal) -> bool:
    return not value.is_finite() or FLOAT.can_represent(value)


def _matches(interpretation: Interpretation, outputs: Sequence[Sequence[Decimal]]) -> bool:
    """Return whether all output elements fit the interpretation with the same error of the common number."""
    low = -ONE
    high = ONE
    for slack, output in zip(chain(*interpretation), chain(*outputs), strict=True):
        if slack is not None and output.is_finite():
            below, above = slack.solve(output)
            low, high = max(low, below), min(high, above)
            if low > high:
                return False
    return True


def _slack(number: BoundedNumber) -> AffineSlack | None:
    if not number.is_finite:
        return None
    half_ulp = max(abs(number.low), abs(number.high), DOUBLE.smallest_normal) * DOUBLE.unit_roundoff
    if number.is_exact and DOUBLE.can_represent(number.value):
        half_ulp = Decimal(0)
    error = number.error
    slope = next(iter(error.coefficients.values()), Decimal(0))
    return AffineSlack(number.value + error.low - half_ulp, number.value + error.high + half_ulp, slope)
