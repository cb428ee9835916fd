"""Normalizations.

Softmax, LogSoftmax and Hardmax are along one axis since opset 13, and over the rows of a flattened matrix before.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpq

from checks.oracle import reals
from checks.oracle.arithmetic import Enclosure, may_be_nan
from checks.oracle.operators.ranking import acceptable_indices, first_largest, round_for_comparison
from checks.oracle.tensors import object_array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from checks.oracle.arithmetic import Arithmetic
    from checks.oracle.calls import Call
    from checks.oracle.reals import Real
    from checks.oracle.tensors import Elements, Tensor

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


def _lp_normalization(call: Call, x: Tensor) -> Tensor:
    """Divide each element by the norm of its lane: the sum of magnitudes, or the root of the sum of squares.

    A lane of zeros stays zero.
    """
    a = call.arithmetic(x.type)

    def of_lane(lane: Sequence[Any]) -> list[Any]:
        if call.attributes["p"] == 1:
            norm = _total(a, [a(reals.absolute, item) for item in lane])
        else:
            norm = a(reals.square_root, _total(a, [a(reals.multiply, item, item) for item in lane]))
        is_positive = a.less(0.0, norm)
        return [
            a.select(is_positive, a(reals.divide, item, norm), a(reals.multiply, a(reals.multiply, 0.0, item), norm))
            for item in lane
        ]

    return x.with_elements(map_lanes(x.elements, call.attributes["axis"], of_lane))


def _layer_normalization(
    call: Call, x: Tensor, scale: Tensor, bias: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Shift and scale all elements from an axis on to mean 0 and variance 1, then apply scale and bias.

    The other results are the means, and the inverses of the standard deviations.
    """
    a, axis = call.arithmetic(x.type), call.attributes["axis"] % x.rank
    count = reals.real(math.prod(x.shape[axis:]))
    epsilon = reals.real(fmpq(*float(call.attributes["epsilon"]).as_integer_ratio()))
    factors = list(np.broadcast_to(scale.elements, x.shape[axis:]).ravel())
    shifts = [] if bias is None else list(np.broadcast_to(bias.elements, x.shape[axis:]).ravel())
    results, means, inverses = [], [], []
    for row in x.elements.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:])):
        mean = a(reals.divide, _total(a, list(row)), count)
        centred = [a(reals.subtract, item, mean) for item in row]
        variance = a(reals.divide, _total(a, [a(reals.multiply, item, item) for item in centred]), count)
        deviation = a(reals.square_root, a(reals.add, variance, epsilon))
        scaled = [
            a(reals.multiply, a(reals.divide, item, deviation), factor)
            for item, factor in zip(centred, factors, strict=True)
        ]
        results += [a(reals.add, *pair) for pair in zip(scaled, shifts, strict=True)] if shifts else scaled
        means.append(mean)
        inverses.append(a(reals.divide, fmpq(1), deviation))
    outer = [*x.shape[:axis], *(1 for _ in x.shape[axis:])]
    shapes = ((results, x.shape), (means, outer), (inverses, outer))
    first, second, third = (x.with_elements(object_array(items, shape)) for items, shape in shapes)
    return first, second, third


def _batch_normalization(call: Call, x: Tensor, *statistics: Tensor) -> Tensor:
    """Shift and scale each channel, the second axis, by given scale, bias, mean and variance."""
    a = call.arithmetic(x.type)
    epsilon = reals.real(fmpq(*float(call.attributes["epsilon"]).as_integer_ratio()))
    results = x.elements.copy()
    for place in np.ndindex(*x.shape):
        scale, bias, mean, variance = (tensor.elements[place[1]] for tensor in statistics)
        deviation = a(reals.square_root, a(reals.add, variance, epsilon))
        standard = a(reals.divide, a(reals.subtract, x.elements[place], mean), deviation)
        results[place] = a(reals.add, a(reals.multiply, standard, scale), bias)
    return x.with_elements(results)


def _total(a: Arithmetic, items: Sequence[Any]) -> Any:
    return reduce(lambda x, y: a(reals.add, x, y), items)


OPERATORS = {
    "BatchNormalization": _batch_normalization,
    "Hardmax": _hardmax,
    "LayerNormalization": _layer_normalization,
    "LpNormalization": _lp_normalization,
    "LogSoftmax": _lane_operator(_enclose_lane(log_softmax)),
    "Softmax": _lane_operator(_enclose_lane(softmax)),
}
