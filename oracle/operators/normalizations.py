"""Softmax, LogSoftmax and Hardmax, along an axis or, before opset 13, on a matrix to which the tensor is flattened."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpq

from oracle import reals
from oracle.arithmetic import Enclosure, may_be_nan
from oracle.operators.ranking import acceptable, comparable, first_largest
from oracle.tensors import elements_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from oracle.arithmetic import Arithmetic
    from oracle.calls import Call
    from oracle.reals import Real
    from oracle.tensors import Elements, Tensor

COERCES_BELOW = 13
"""The first opset in which an axis is one dimension, not all dimensions from it on."""


def softmax(x: Real, *others: Real) -> Real:
    """exp(x) / (exp(x) + Σ exp(other))."""
    return reals.divide(fmpq(1), reals.add(fmpq(1), _beside(x, others)))


def log_softmax(x: Real, *others: Real) -> Real:
    """Log(softmax), near zero too."""
    return reals.subtract(0.0, reals.logarithm_of_one_more(_beside(x, others)))


def _beside(x: Real, others: Sequence[Real]) -> Real:
    """The sum of exp(other - x), infinite where x is minus infinity and another is not."""
    if x == -math.inf:
        return math.inf
    total: Real = 0.0
    for other in others:
        total = reals.add(total, reals.exponential(reals.subtract(other, x)))
    return total


def _normalized(function: Callable[..., Real]) -> Callable[[Arithmetic, Sequence[Any]], list[Any]]:
    def of_lane(a: Arithmetic, lane: Sequence[Any]) -> list[Any]:
        """The function of each element of a lane: it rises with the element, and falls with the others."""
        lows, highs = [a.low(item) for item in lane], [a.high(item) for item in lane]
        if any(reals.is_nan(low) or low == math.inf for low in lows) or all(high == -math.inf for high in highs):
            return [math.nan] * len(lane)
        nan = any(map(may_be_nan, lane)) or math.inf in highs or all(low == -math.inf for low in lows)
        results = []
        for at, (low, high) in enumerate(zip(lows, highs, strict=True)):
            least = function(low, *highs[:at], *highs[at + 1 :])
            most = function(high, *lows[:at], *lows[at + 1 :]) if any(map(is_uncertain, lane)) else least
            results.append(a.between(function, least, most, nan=nan))
        return results

    def is_uncertain(item: Any) -> bool:
        return isinstance(item, Enclosure)

    return of_lane


def _along_lanes(of_lane: Callable[[Arithmetic, Sequence[Any]], list[Any]]) -> Callable[[Call, Tensor], Tensor]:
    def operator(call: Call, x: Tensor) -> Tensor:
        arithmetic = call.arithmetic(x.type)
        axis = call.attributes["axis"]
        if call.version >= COERCES_BELOW:
            return x.with_elements(lanes(x.elements, axis, lambda lane: of_lane(arithmetic, lane)))
        axis += x.rank if axis < 0 else 0
        matrix = x.elements.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))
        return x.with_elements(lanes(matrix, 1, lambda lane: of_lane(arithmetic, lane)).reshape(x.shape))

    return operator


def lanes(elements: Elements, axis: int, function: Callable[[Sequence[Any]], Sequence[Any]]) -> Elements:
    """The function of each row of elements along the axis, put back in its place."""
    moved = np.moveaxis(elements, axis, -1)
    rows = moved.reshape(math.prod(moved.shape[:-1]), moved.shape[-1])
    results = elements_of([item for row in rows for item in function(list(row))], moved.shape)
    return np.moveaxis(results, -1, axis)


def _hardmax(call: Call, x: Tensor) -> Tensor:
    """1 at the first largest element, 0 elsewhere."""

    def of_lane(a: Arithmetic, lane: Sequence[Any]) -> list[Any]:
        largest = acceptable(lane, last=False) if call.mode.encloses else first_largest(lane)
        if isinstance(largest, frozenset):
            raise NotImplementedError("The second oracle does not follow a Hardmax that may be at several elements.")
        return [fmpq(1) if at == largest else 0.0 for at in range(len(lane))]

    return _along_lanes(of_lane)(call, comparable(call, x))


OPERATORS = {
    "Hardmax": _hardmax,
    "LogSoftmax": _along_lanes(_normalized(log_softmax)),
    "Softmax": _along_lanes(_normalized(softmax)),
}
