"""What a model computes, in the reals or in its declared types: by this, two models are held against each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.reference.graph import Graph
from conformance.reference.numbers import exact
from conformance.reference.numbers.bounded import Bounded
from conformance.reference.numbers.declared import Declared
from conformance.reference.numbers.enclosing import format_of, is_computed
from conformance.reference.operators.sequences import SequenceValue
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from decimal import Decimal

    import onnx

    from conformance.models.arrays import Array
    from conformance.reference.numbers.values import Value


def evaluate(model: onnx.ModelProto, inputs: Sequence[Any] | Mapping[str, Any], *, declared: bool = False) -> list[Any]:
    """A model's outputs, computed exactly and rounded once at the end.

    Args:
        model: it need not be the one that the inputs were made for: inputs by name that it does not have are ignored.
        inputs: in the graph's order, or by name; those with an initializer may be left out. A list is a sequence, None
            an empty optional.
        declared: round every operator's result correctly to its tensor's type, instead of nothing on the way. Then an
            ArgMax finds the ties that the types make; otherwise it finds the winner of infinitely precise arithmetic.
            Either takes a NaN for the largest, which the specification leaves open.

    Returns:
        Per output an array, for a sequence a list of arrays, for an empty optional None.

    Raises:
        Unsupported: the model is not made of this suite's operators, or lacks an input.
    """
    graph = Graph.of(model)
    arrays = _in_order(graph, inputs)
    with exact.exactly(_numbers([*arrays, *graph.initializers.values()])):
        return [_plain(value) for value in graph.run(arrays, Declared(rounds=declared))]


def _in_order(graph: Graph, inputs: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
    if not isinstance(inputs, Mapping):
        return list(inputs)
    given = {**graph.initializers, **inputs}
    if missing := [name for name in graph.optional if name not in given]:
        raise Unsupported(f"the input {missing[0]} is not given")
    return [given[name] for name in graph.optional]


def _numbers(inputs: Sequence[Any]) -> Iterator[Array]:
    """The arrays of floating-point numbers, those in sequences included."""
    for given in inputs:
        if isinstance(given, list):
            yield from _numbers(given)
        elif given is not None and is_computed(given.dtype):
            yield given


def _plain(value: Value) -> Any:
    if isinstance(value, SequenceValue):
        return [_plain(item) for item in value.items]
    if value.is_absent:
        return None
    if value.elements.dtype != object or not is_computed(value.dtype):
        return value.elements
    decimals = np.array([_decimal(element) for element in value.elements.flat], dtype=object)
    return exact.to_array(decimals.reshape(value.elements.shape), format_of(value.dtype), value.dtype)


def _decimal(element: Bounded | Decimal) -> Decimal:
    return element.value if isinstance(element, Bounded) else element
