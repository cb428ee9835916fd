"""Decisions on numbers with bounds: comparisons, signs and positions of extremes.

A decision is known where all admissible values decide alike. Elsewhere the element is undetermined: rounding decides.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import is_computed
from conformance.exact.models.graphs import softmax_default_axis
from conformance.exact.reference.numbers.enclosure import Enclosure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Node
    from conformance.exact.reference.numbers.enclosure import Tensor


def decide(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Return the output of a decision on tensors of which at least one has bounds.

    Raises:
        Unsupported: the operator is not a decision of the table, or rounding decides all elements.
    """
    decision = _DECISIONS.get(node.op_type)
    tensors = [Enclosure.exact(each) if isinstance(each, np.ndarray) else each for each in inputs]
    if decision is None or any(each is None or not is_computed(each.dtype) for each in tensors):
        raise Unsupported(f"rounding of an input decides the result of {node.op_type}")
    with np.errstate(all="ignore"):
        result, is_decided = map(np.asarray, decision(node, *tensors))
    if is_decided.all():
        return [result]
    if not is_decided.any():
        raise Unsupported(f"rounding of an input decides the result of {node.op_type}")
    value = result.astype(np.float64)
    return [Enclosure(value, np.where(is_decided, 0.0, np.inf), result.dtype)]


def _ends(X: Enclosure) -> tuple[Array, Array]:
    """Return the smallest and the largest admissible value of each element; everything for an infinite bound."""
    low = X.value - X.error
    high = X.value + X.error
    is_unbounded = ~np.isfinite(X.error)
    low = np.where(is_unbounded, -np.inf, np.where(X.error > 0, np.nextafter(low, -np.inf), X.value))
    high = np.where(is_unbounded, np.inf, np.where(X.error > 0, np.nextafter(high, np.inf), X.value))
    return low, high


def _compare(function: Callable[[Array, Array], Array], _: Node, A: Enclosure, B: Enclosure) -> tuple[Array, Array]:
    """Decide a comparison that is monotone in both operands. An operand without a bound may also be NaN."""
    (low, high) = _ends(A)
    (other_low, other_high) = _ends(B)
    first = function(low, other_high)
    second = function(high, other_low)
    return first, np.asarray((first == second) & np.isfinite(A.error) & np.isfinite(B.error))


def _equal(_: Node, A: Enclosure, B: Enclosure) -> tuple[Array, Array]:
    (low, high) = _ends(A)
    (other_low, other_high) = _ends(B)
    is_apart = (high < other_low) | (other_high < low) | np.isnan(A.value) | np.isnan(B.value)
    is_exact = (A.error == 0) & (B.error == 0)
    return A.value == B.value, np.asarray((is_apart | is_exact) & np.isfinite(A.error) & np.isfinite(B.error))


def _sign(_: Node, X: Enclosure) -> tuple[Array, Array]:
    low, high = (np.sign(end) for end in _ends(X))
    return low.astype(X.dtype), np.asarray((low == high) | (np.isnan(low) & (X.error == 0)))


def find_largest(X: Enclosure, axis: int, sign: int) -> tuple[Array, Array]:
    """Return the positions of the largest elements, or of the smallest for a sign of -1, and where they are certain."""
    low, high = (np.moveaxis(end, axis, -1) for end in _ends(X))
    low, high = (low, high) if sign > 0 else (-high, -low)
    found = np.expand_dims(low.argmax(-1), -1)
    largest = np.take_along_axis(low, found, -1)
    others = high.copy()
    np.put_along_axis(others, found, -np.inf, -1)
    return found[..., 0], np.asarray((largest > others.max(-1, keepdims=True))[..., 0])


def _extreme(sign: int, node: Node, X: Enclosure) -> tuple[Array, Array]:
    axis = node.attributes.get("axis", 0)
    found, is_certain = find_largest(X, axis, sign)
    if node.attributes.get("keepdims", 1):
        found, is_certain = (np.expand_dims(each, axis % X.value.ndim) for each in (found, is_certain))
    return found.astype(np.int64), is_certain


def _hardmax(node: Node, X: Enclosure) -> tuple[Array, Array]:
    axis = node.attributes.get("axis", softmax_default_axis(node.opset)) % X.value.ndim
    if node.opset < 13:
        raise Unsupported("rounding of an input decides the result of Hardmax below opset 13")
    found, is_certain = (np.expand_dims(each, axis) for each in find_largest(X, axis, 1))
    result = np.zeros(X.shape, X.dtype)
    np.put_along_axis(result, found, 1, axis)
    return result, np.broadcast_to(is_certain, X.shape)


_DECISIONS: Mapping[str, Callable[..., tuple[Array, Array]]] = {
    "Less": partial(_compare, np.less),
    "LessOrEqual": partial(_compare, np.less_equal),
    "Greater": partial(_compare, np.greater),
    "GreaterOrEqual": partial(_compare, np.greater_equal),
    "Equal": _equal,
    "Sign": _sign,
    "IsNaN": lambda _, X: (np.isnan(X.value), np.isfinite(X.error)),
    "ArgMax": partial(_extreme, 1),
    "ArgMin": partial(_extreme, -1),
    "Hardmax": _hardmax,
}
"""The function that decides each operator, and returns the result and where it is certain."""
