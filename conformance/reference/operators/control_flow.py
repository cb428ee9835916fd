"""The control-flow operators If, Loop and Scan, which evaluate subgraphs, in any number system.

The values that a subgraph captures from its enclosing graphs are additional inputs of the node, after its own inputs.
Rounding must not decide which subgraph runs, or how often.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Protocol

import numpy as np

from conformance.reference.operators.data_movement import move_elements, slices, stack
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from conformance.reference.nodes import Evaluation, Node
    from conformance.reference.numbers.number_system import NumberSystem, Value

MAX_ITERATIONS = 10_000
"""The most iterations of a loop; models with more are unsupported."""


class EvaluableGraph(Protocol):
    """A graph that can be evaluated."""

    def evaluate(self, inputs: Sequence[Value], system: NumberSystem) -> list[Value]:
        """Return the outputs of the graph for these inputs."""


@dataclass(frozen=True)
class Body:
    """A subgraph of a node.

    Attributes:
        graph: the graph. Its inputs are its own inputs, then the captured values.
        captured: the names of the values that it captures from the enclosing graphs.
        output_count: the number of its outputs.
    """

    graph: EvaluableGraph
    captured: tuple[str, ...]
    output_count: int


class _NodeRun:
    """One evaluation of a control-flow node, together with the values that its subgraphs capture."""

    def __init__(self, node: Node, inputs: Sequence[Value], system: NumberSystem, bodies: Mapping[str, Body]) -> None:
        own_count = len(inputs) - len(all_captures(bodies))
        self.inputs, self.system, self.bodies = inputs[:own_count], system, bodies
        self._captured = dict(zip(node.inputs[own_count:], inputs[own_count:], strict=True))

    def evaluate_body(self, name: str, inputs: Sequence[Value]) -> list[Value]:
        """Return the outputs of a subgraph for its own inputs."""
        body = self.bodies[name]
        return body.graph.evaluate([*inputs, *(self._captured[value] for value in body.captured)], self.system)

    def is_true(self, condition: Value) -> bool:
        """Return the value of a condition.

        Raises:
            Unsupported: the condition depends on rounding.
        """
        return bool(self.system.exact_elements(condition).item())


def all_captures(bodies: Mapping[str, Body]) -> tuple[str, ...]:
    """Return the names of all values that a node's subgraphs capture."""
    return tuple(dict.fromkeys(name for body in bodies.values() for name in body.captured))


def _if(bodies: Mapping[str, Body], node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    run = _NodeRun(node, inputs, system, bodies)
    return run.evaluate_body("then_branch" if run.is_true(run.inputs[0]) else "else_branch", [])


def _loop(bodies: Mapping[str, Body], node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """Evaluate Loop: pass loop-carried values to the next iteration, and stack the scan outputs of all iterations."""
    run = _NodeRun(node, inputs, system, bodies)
    trips, condition, *carried = run.inputs
    has_condition = not condition.is_absent  # without one, the page ignores that of the body
    is_running = not has_condition or run.is_true(condition)
    rows: list[list[Value]] = []
    for number in _iteration_numbers(trips):
        if not is_running:
            break
        start = [system.from_array(np.array(number, dtype=np.int64)), system.from_array(np.array(is_running))]
        condition, *results = run.evaluate_body("body", [*start, *carried])
        is_running = not has_condition or run.is_true(condition)
        carried, scanned = results[: len(carried)], results[len(carried) :]
        rows.append(scanned)
    return [*carried, *_stack_scan_outputs(rows, bodies["body"].output_count - 1 - len(carried))]


def _iteration_numbers(trips: Value) -> Iterable[int]:
    numbers = count() if trips.is_absent else range(int(trips.elements.item()))
    return map(_check_iteration, numbers)


def _check_iteration(number: int) -> int:
    if number >= MAX_ITERATIONS:
        raise Unsupported(f"the loop has more than {MAX_ITERATIONS} iterations")
    return number


def _stack_scan_outputs(rows: Sequence[Sequence[Value]], width: int, axes: Sequence[int] = ()) -> list[Value]:
    """Return each scan output, stacked over all iterations.

    Args:
        rows: the scan outputs of each iteration.
        width: the number of scan outputs.
        axes: the axis along which each scan output is stacked; 0 for all if empty.
    """
    if width and not rows:
        raise Unsupported("a loop without iterations has scan outputs of unknown shape")
    return [stack([row[i] for row in rows], axes[i] if axes else 0) for i in range(width)]


def _scan(bodies: Mapping[str, Body], node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """Evaluate Scan: pass the state to the next iteration; each iteration receives one slice of every scan input."""
    if node.opset < 9:
        raise Unsupported("Scan has a batch dimension below opset 9")
    run, attributes = _NodeRun(node, inputs, system, bodies), node.attributes
    scan_count, outputs = attributes["num_scan_inputs"], bodies["body"].output_count
    state_count = len(run.inputs) - scan_count
    state, scan_inputs = list(run.inputs[:state_count]), run.inputs[state_count:]
    axes = attributes.get("scan_input_axes", [0] * scan_count)
    directions = attributes.get("scan_input_directions", [0] * scan_count)
    sequences = [
        _in_direction(slices(X, axis), direction)
        for X, axis, direction in zip(scan_inputs, axes, directions, strict=True)
    ]
    rows = []
    for elements in zip(*sequences, strict=True):
        results = run.evaluate_body("body", [*state, *elements])
        state = results[:state_count]
        rows.append(results[state_count:])
    width = outputs - state_count
    axes = attributes.get("scan_output_axes", [0] * width)
    directions = attributes.get("scan_output_directions", [0] * width)
    stacks = zip(_stack_scan_outputs(rows, width, axes), axes, directions, strict=True)
    return [*state, *(_flip(X, axis, direction) for X, axis, direction in stacks)]


def _in_direction(elements: list[Value], direction: int) -> list[Value]:
    return elements[::-1] if direction else elements


def _flip(X: Value, axis: int, direction: int) -> Value:
    return move_elements(X, partial(np.flip, axis=axis)) if direction else X


CONTROL_FLOW: Mapping[str, Callable[[Mapping[str, Body], Node, list[Value], NumberSystem], list[Value]]] = {
    "If": _if,
    "Loop": _loop,
    "Scan": _scan,
}


def control_flow_evaluation(op_type: str, bodies: Mapping[str, Body]) -> Evaluation:
    """Return the evaluation of If, Loop or Scan (`op_type`) with these subgraphs."""
    return partial(CONTROL_FLOW[op_type], bodies)
