"""The control-flow operators, which evaluate subgraphs, for tensors of any kind (see `sequences.Tensors`).

Rounding must not decide which subgraph runs, or how often.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.reference.operators.sequences import ValueTensors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.exact.reference.nodes import Evaluation, Node
    from conformance.exact.reference.numbers.number_system import NumberSystem, Value
    from conformance.exact.reference.operators.sequences import Tensors, V

    Run: TypeAlias = Callable[[str, Sequence[V]], list[V]]

MAX_STEPS = 10_000
"""The most steps of a Loop or Scan; models with more are unsupported."""


def _if(tensors: Tensors[V], _: Node, inputs: Sequence[V], run: Run[V]) -> list[V]:
    return run("then_branch" if tensors.known(inputs[0]).item() else "else_branch", [])


def _loop(tensors: Tensors[V], node: Node, inputs: Sequence[V], run: Run[V]) -> list[V]:
    """Evaluate Loop: pass loop-carried values to the next step, and stack the scan outputs of all steps."""
    trips, condition, *carried = [*inputs, *[tensors.absent] * (2 - len(inputs))]
    most = None if trips is tensors.absent else int(tensors.known(trips).item())
    has_condition = condition is not tensors.absent  # without one, the page ignores that of the body
    goes_on = not has_condition or bool(tensors.known(condition).item())
    rows: list[list[V]] = []
    while goes_on and (most is None or len(rows) < most):
        _check_steps(node, len(rows))
        start = [tensors.constant(np.array(len(rows), np.int64)), tensors.constant(np.array(goes_on))]
        condition, *results = run("body", [*start, *carried])
        goes_on = not has_condition or bool(tensors.known(condition).item())
        carried, scanned = results[: len(carried)], results[len(carried) :]
        rows.append(scanned)
    count = len(node.outputs) - len(carried)
    return [*carried, *_stack_scan_outputs(tensors, node, rows, [0] * count, [0] * count)]


def _check_steps(node: Node, steps: int) -> None:
    if steps >= MAX_STEPS:
        raise Unsupported(f"a {node.op_type} of more than {MAX_STEPS} steps")


def _stack_scan_outputs(
    tensors: Tensors[V], node: Node, rows: Sequence[Sequence[V]], axes: Sequence[int], directions: Sequence[int]
) -> list[V]:
    """Return each scan output, stacked over all steps.

    Args:
        tensors: the kind of the tensors.
        node: the node.
        rows: the scan outputs of each step.
        axes: the axis along which each scan output is stacked.
        directions: whether each scan output is stacked from the last step to the first.
    """
    if axes and not rows:
        raise Unsupported(f"a {node.op_type} without steps, whose scan outputs have no known shape")
    return [
        tensors.join(parts[::-1] if is_reversed else parts, axis, stacks=True)
        for parts, axis, is_reversed in zip(map(list, zip(*rows, strict=True)), axes, directions, strict=False)
    ]


def _scan(tensors: Tensors[V], node: Node, inputs: Sequence[V], run: Run[V]) -> list[V]:
    """Evaluate Scan. Below opset 9 all operands have an axis for the batch before their own, and lengths."""
    if node.opset >= 9:
        return _scan_once(tensors, node, inputs, run)
    lengths, *operands = inputs
    batch = tensors.size(operands[0], 0)
    if lengths is not tensors.absent or not batch or any(node.attributes.get("directions", ())):
        raise Unsupported("Scan below opset 9 with lengths, with directions or of no sequence")
    rows = [_scan_once(tensors, node, [tensors.take(each, row, 0) for each in operands], run) for row in range(batch)]
    return [tensors.join(parts, 0, stacks=True) for parts in zip(*rows, strict=True)]


def _scan_once(tensors: Tensors[V], node: Node, inputs: Sequence[V], run: Run[V]) -> list[V]:
    """Pass the state to the next step; each step receives one slice of every scan input."""
    count = node.attributes["num_scan_inputs"]
    state = list(inputs[: len(inputs) - count])
    sequences = inputs[len(inputs) - count :]
    outputs = len(node.outputs) - len(state)

    def given(name: str, size: int) -> list[int]:
        return list(node.attributes.get(f"scan_{name}", [0] * size))

    axes = given("input_axes", count)
    directions = given("input_directions", count)
    steps = tensors.size(sequences[0], axes[0])
    rows = []
    for step in range(steps):
        _check_steps(node, step)
        items = (
            tensors.take(sequence, steps - 1 - step if is_reversed else step, axis)
            for sequence, axis, is_reversed in zip(sequences, axes, directions, strict=True)
        )
        results = run("body", [*state, *items])
        state, scanned = results[: len(state)], results[len(state) :]
        rows.append(scanned)
    ends = given("output_axes", outputs), given("output_directions", outputs)
    return [*state, *_stack_scan_outputs(tensors, node, rows, *ends)]


def _sequence_map(tensors: Tensors[V], node: Node, inputs: Sequence[V], run: Run[V]) -> list[V]:
    """Evaluate the body on the items of all sequences at each position; a tensor is the same for all positions."""
    sequences = [tensors.items(each) for each in inputs]
    count = len(sequences[0] or ())
    if any(each is not None and len(each) != count for each in sequences):
        raise Unsupported("SequenceMap of sequences of different lengths")
    rows = [
        run("body", [one if each is None else each[position] for one, each in zip(inputs, sequences, strict=True)])
        for position in range(count)
    ]
    return [tensors.sequence(parts) for parts in zip(*rows, strict=True)] or [
        tensors.sequence([]) for _ in node.outputs
    ]


CONTROL_FLOW: Mapping[str, Callable[[Tensors[Any], Node, Sequence[Any], Run[Any]], list[Any]]] = {
    "If": _if,
    "Loop": _loop,
    "Scan": _scan,
    "SequenceMap": _sequence_map,
}
"""The operators that evaluate subgraphs, given the kind of tensors, the node, its inputs, and a function that returns
the outputs of a subgraph for its own inputs."""


class EvaluableGraph(Protocol):
    """A graph that can be evaluated."""

    def evaluate(self, inputs: Sequence[Value], system: NumberSystem) -> list[Value]:
        """Return the outputs of the graph for these inputs."""

    def with_evaluations(self, choose: Callable[..., Evaluation], enclosing: tuple[str, ...]) -> Self:
        """Return the graph with other evaluations of its nodes, see `conformance.exact.reference.graph.Graph`."""


@dataclass(frozen=True)
class Body:
    """A subgraph of a node.

    Attributes:
        graph: the graph. Its inputs are its own inputs, then the captured values.
        captured: the names of the values that it captures from the enclosing graphs.
    """

    graph: EvaluableGraph
    captured: tuple[str, ...]


def all_captures(bodies: Mapping[str, Body]) -> tuple[str, ...]:
    """Return the names of all values that a node's subgraphs capture."""
    return tuple(dict.fromkeys(name for body in bodies.values() for name in body.captured))


@dataclass(frozen=True)
class ControlFlow:
    """The evaluation of a control-flow operator in any number system.

    The values that a subgraph captures from its enclosing graphs are additional inputs of the node, after its own.

    Attributes:
        op_type: the operator.
        bodies: its subgraphs, by the names of the attributes.
    """

    op_type: str
    bodies: Mapping[str, Body]

    def __call__(self, node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
        own = len(inputs) - len(all_captures(self.bodies))
        captured = dict(zip(node.inputs[own:], inputs[own:], strict=True))

        def run(name: str, given: Sequence[Value]) -> list[Value]:
            body = self.bodies[name]
            return body.graph.evaluate([*given, *(captured[value] for value in body.captured)], system)

        return CONTROL_FLOW[self.op_type](ValueTensors(system), node, inputs[:own], run)
