"""Softmax, LogSoftmax and Hardmax: along one axis since opset 13, over the rows of a flattened matrix before."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpq

from oracle import reals
from oracle.arithmetic import Enclosure, may_be_nan
from oracle.operators.ranking import acceptable_indices, first_largest, round_for_comparison
from oracle.tensors import object_array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from oracle.arithmetic import Arithmetic
    from oracle.calls import Call
    from oracle.reals import Real
    from oracle.tensors import Elements, Tensor

SINGLE_AXIS_OPSET = 13
"""The first opset in which `axis` selects one dimension, and not all dimensions from it on."""


def softmax(x: Real, *others: Real) -> Real:
    """Return exp(x) / (exp(x) + Σ exp(other))."""
    return reals.divide(fmpq(1), reals.add(fmpq(1), _sum_of_other_exponentials(x, others)))


def log_softmax(x: Real, *others: Real) -> Real:
    """Return log(softmax), without cancellation near zero."""
    return reals.subtract(0.0, reals.log1p(_sum_of_other_exponentials(x, others)))


def _sum_of_other_exponentials(x: Real, others: Sequence[Real]) -> Real:
    """Return the sum of exp(other - x). It is infinite if x is minus infinity."""
    if x == -math.inf:
        return math.inf
    total: Real = 0.0
    for other in others:
        total = reals.add(total, reals.exponential(reals.subtract(other, x)))
    return total


def _enclose_lane(function: Callable[..., Real]) -> Callable[[Arithmetic, Sequence[Any]], list[Any]]:
    def of_lane(a: Arithmetic, lane: Sequence[Any]) -> list[Any]:
        """Apply the function to each element. It increases with the element, and decreases with the others."""
        lows, highs = [a.low(item) for item in lane], [a.high(item) for item in lane]
        if any(reals.is_nan(low) or low == math.inf for low in lows) or all(high == -math.inf for high in highs):
            return [math.nan] * len(lane)
        has_nan = any(map(may_be_nan, lane)) or math.inf in highs or all(low == -math.inf for low in lows)
        results = []
        for at, (low, high) in enumerate(zip(lows, highs, strict=True)):
            least = function(low, *highs[:at], *highs[at + 1 :])
            most = function(high, *lows[:at], *lows[at + 1 :]) if any(map(is_uncertain, lane)) else least
            results.append(a.enclose_between(function, least, most, has_nan=has_nan))
        return results

    def is_uncertain(item: Any) -> bool:
        return isinstance(item, Enclosure)

    return of_lane


def _lane_operator(of_lane: Callable[[Arithmetic, Sequence[Any]], list[Any]]) -> Callable[[Call, Tensor], Tensor]:
    def operator(call: Call, x: Tensor) -> Tensor:
        arithmetic = call.arithmetic(x.type)
        axis = call.attributes["axis"]
        if call.version >= SINGLE_AXIS_OPSET:
            return x.with_elements(map_lanes(x.elements, axis, lambda lane: of_lane(arithmetic, lane)))
        axis += x.rank if axis < 0 else 0
        matrix = x.elements.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))
        return x.with_elements(map_lanes(matrix, 1, lambda lane: of_lane(arithmetic, lane)).reshape(x.shape))

    return operator


def map_lanes(elements: Elements, axis: int, function: Callable[[Sequence[Any]], Sequence[Any]]) -> Elements:
    """Apply a function to each row of elements along an axis."""
    moved = np.moveaxis(elements, axis, -1)
    rows = moved.reshape(math.prod(moved.shape[:-1]), moved.shape[-1])
    results = object_array([item for row in rows for item in function(list(row))], moved.shape)
    return np.moveaxis(results, -1, axis)


def _hardmax(call: Call, x: Tensor) -> Tensor:
    """Return 1 at the first largest element and 0 elsewhere."""

    def of_lane(a: Arithmetic, lane: Sequence[Any]) -> list[Any]:
        largest = acceptable_indices(lane, last=False) if call.mode.has_enclosures else first_largest(lane)
        if isinstance(largest, frozenset):
            raise NotImplementedError("The second oracle does not support a Hardmax with several possible maxima.")
        return [fmpq(1) if at == largest else 0.0 for at in range(len(lane))]

    return _lane_operator(of_lane)(call, round_for_comparison(call, x))


OPERATORS = {
    "Hardmax": _hardmax,
    "LogSoftmax": _lane_operator(_enclose_lane(log_softmax)),
    "Softmax": _lane_operator(_enclose_lane(softmax)),
}
