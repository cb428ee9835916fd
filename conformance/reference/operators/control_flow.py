"""If, Loop and Scan: operators that run graphs of their own, in any number system.

What a body takes from the graphs around it comes as further inputs of the node, after its own. Which body runs, and
how often, must be certain.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Protocol

import numpy as np

from conformance.reference.operators.movements import moved, slices, stacked
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from conformance.reference.nodes import Evaluation, Node
    from conformance.reference.numbers.values import NumberSystem, Value

MOST_ITERATIONS = 10_000
"""A model that asks for more is not for this reference."""


class Walkable(Protocol):
    """A graph that gives its outputs for its inputs."""

    def walk(self, inputs: Sequence[Value], system: NumberSystem) -> list[Value]:
        """The outputs."""


@dataclass(frozen=True)
class Body:
    """A graph in a node.

    Attributes:
        graph: takes its own inputs, then what it captures.
        captured: the names of the values that it takes from around it.
        outputs: how many it gives.
    """

    graph: Walkable
    captured: tuple[str, ...]
    outputs: int


class _Run:
    """One evaluation of a node: its own inputs, and its bodies with what they capture."""

    def __init__(self, node: Node, inputs: Sequence[Value], system: NumberSystem, bodies: Mapping[str, Body]) -> None:
        own = len(inputs) - len(captures(bodies))
        self.inputs, self.system, self.bodies = inputs[:own], system, bodies
        self._outer = dict(zip(node.inputs[own:], inputs[own:], strict=True))

    def outputs(self, body: str, inputs: Sequence[Value]) -> list[Value]:
        """What a body gives for its own inputs."""
        of_body = self.bodies[body]
        return of_body.graph.walk([*inputs, *(self._outer[name] for name in of_body.captured)], self.system)

    def is_true(self, condition: Value) -> bool:
        """A condition, which is there and certain."""
        return bool(self.system.certain(condition).item())


def captures(bodies: Mapping[str, Body]) -> tuple[str, ...]:
    """The names of all that a node's bodies take from around it."""
    return tuple(dict.fromkeys(name for body in bodies.values() for name in body.captured))


def _if(bodies: Mapping[str, Body], node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    run = _Run(node, inputs, system, bodies)
    return run.outputs("then_branch" if run.is_true(run.inputs[0]) else "else_branch", [])


def _loop(bodies: Mapping[str, Body], node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """Carried values go round; what else the body gives is stacked."""
    run = _Run(node, inputs, system, bodies)
    trips, condition, *carried = run.inputs
    goes_on = condition.is_absent or run.is_true(condition)
    rows: list[list[Value]] = []
    for number in _numbers(trips):
        if not goes_on:
            break
        start = [system.entering(np.array(number, dtype=np.int64)), system.entering(np.array(goes_on))]
        again, *results = run.outputs("body", [*start, *carried])
        goes_on = run.is_true(again)
        carried, scanned = results[: len(carried)], results[len(carried) :]
        rows.append(scanned)
    return [*carried, *_columns(rows, bodies["body"].outputs - 1 - len(carried))]


def _numbers(trips: Value) -> Iterable[int]:
    numbers = count() if trips.is_absent else range(int(trips.elements.item()))
    return map(_bounded, numbers)


def _bounded(number: int) -> int:
    if number >= MOST_ITERATIONS:
        raise Unsupported(f"a loop of more than {MOST_ITERATIONS} iterations")
    return number


def _columns(rows: Sequence[Sequence[Value]], width: int, axes: Sequence[int] = ()) -> list[Value]:
    """What the iterations gave, stacked by output."""
    if width and not rows:
        raise Unsupported("a loop without an iteration has scan outputs")
    return [stacked([row[place] for row in rows], axes[place] if axes else 0) for place in range(width)]


def _scan(bodies: Mapping[str, Body], node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """State goes round while the body takes the slices of the other inputs one by one."""
    if node.opset < 9:
        raise Unsupported("Scan over batches, as it was before opset 9")
    run, given = _Run(node, inputs, system, bodies), node.attributes
    scanned = given["num_scan_inputs"]
    place = len(run.inputs) - scanned
    state, sequences = list(run.inputs[:place]), run.inputs[place:]
    width = bodies["body"].outputs - place
    axes, backwards = given.get("scan_input_axes", [0] * scanned), given.get("scan_input_directions", [0] * scanned)
    slots = [_directed(slices(X, axis), flag) for X, axis, flag in zip(sequences, axes, backwards, strict=True)]
    rows = []
    for elements in zip(*slots, strict=True):
        results = run.outputs("body", [*state, *elements])
        state = results[:place]
        rows.append(results[place:])
    columns = _columns(rows, width, given.get("scan_output_axes", ()))
    flags = given.get("scan_output_directions", [0] * width)
    out_axes = given.get("scan_output_axes", [0] * width)
    return [*state, *(_turned(X, axis, flag) for X, axis, flag in zip(columns, out_axes, flags, strict=True))]


def _directed(elements: list[Value], backwards: int) -> list[Value]:
    return elements[::-1] if backwards else elements


def _turned(X: Value, axis: int, backwards: int) -> Value:
    return moved(X, partial(np.flip, axis=axis)) if backwards else X


CONTROL_FLOW: Mapping[str, Callable[[Mapping[str, Body], Node, list[Value], NumberSystem], list[Value]]] = {
    "If": _if,
    "Loop": _loop,
    "Scan": _scan,
}


def evaluation_of(op_type: str, bodies: Mapping[str, Body]) -> Evaluation:
    """How a node with these bodies is evaluated."""
    return partial(CONTROL_FLOW[op_type], bodies)
