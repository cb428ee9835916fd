"""Enclosures of products of many factors, and of elements that Scatter combines.

A product of n factors has n - 1 roundings in any order. Some order may overflow, or underflow, although the product
does not: the factors of magnitude above 1, and those below 1, bound all partial products.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.base.verdicts import Level
from conformance.exact.models.arrays import format_of
from conformance.exact.reference.enclosures.movement import SCATTERS, scatter_counts, scatter_places
from conformance.exact.reference.formulas.elementwise import tensor
from conformance.exact.reference.formulas.linear import accumulate, integers, reduced_axes
from conformance.exact.reference.numbers.enclosure import ROUNDOFF, Enclosure, is_strict, judged_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Node, NodeEnclosure
    from conformance.exact.reference.numbers.enclosure import Tensor

    Factors: TypeAlias = Callable[[Array, Array], Array]
    Products: TypeAlias = Callable[[Factors], Array]


def multiply_all(dtype: np.dtype[Any], products: Products, count: int) -> Enclosure:
    """Return products of at most `count` factors, multiplied in any order.

    Args:
        dtype: the type of the factors and of the products.
        products: a function that multiplies factors, each of which is a function of a value and its error.
        count: the largest number of factors of a product.
    """
    limits = format_of(dtype)
    roundings = max(0, count - 1)
    u = float(limits.unit_roundoff)
    smallest = float(limits.smallest_normal)
    least = float(limits.smallest_subnormal) if is_strict() else smallest
    with np.errstate(all="ignore"):
        value = products(lambda x, _: x)
        magnitude = products(lambda x, error: np.abs(x) + error)
        largest = products(lambda x, error: np.maximum(np.where(np.isfinite(x), np.abs(x) + error, 1.0), 1.0))
        lowest = products(lambda x, error: np.minimum(np.where(x == 0, 1.0, np.maximum(np.abs(x) - error, 0.0)), 1.0))
        has_zero = products(lambda x, error: np.where((x == 0) & (error == 0), 0.0, 1.0)) == 0
        is_exact = products(lambda _, error: np.where(error == 0, 1.0, 0.0)) == 1
        error = np.where(is_exact, 0.0, magnitude - np.abs(value)) + roundings * ROUNDOFF * magnitude
        may_underflow = (lowest < smallest) & (roundings > 0)
        error = error + np.where(may_underflow & ~has_zero, roundings * least * largest, 0.0)
        relative = np.expm1(roundings * np.log1p(u)) / u
        result = Enclosure(value, error, dtype).with_roundings(np.full(value.shape, relative), is_exact)
        limit = float(limits.largest) * (1 - roundings * u)
        is_in_range = (np.abs(value) <= float(limits.largest)) | np.isnan(value)
        is_in_range |= np.isinf(value) & ~_exceed_double(products, max(1, count))
        overflows = (largest > limit) & (roundings > 0) & (is_in_range | may_underflow)
        overflows |= ~np.isfinite(value) & may_underflow
        is_nan = products(lambda x, error: np.where(np.isnan(x) & (error == 0), 0.0, 1.0)) == 0
        is_nan |= has_zero & (products(lambda x, _: np.where(np.isinf(x), 0.0, 1.0)) == 0)
    total = np.where(has_zero & is_exact & np.isfinite(value), 0.0, result.error)
    return replace(result, error=np.where(is_nan, 0.0, np.where(overflows, np.inf, total)))


def _exceed_double(products: Products, count: int) -> Array:
    """Return where products have an infinite factor, or exceed the largest double in any order of multiplication.

    The partial products of numpy's order may be infinite although the product is not.
    """
    has_infinity = products(lambda x, _: np.where(np.isinf(x), 0.0, 1.0)) == 0
    roots = products(lambda x, _: np.where(np.isfinite(x), np.abs(x), 1.0) ** (1 / count))
    return np.asarray(has_infinity | (count * np.log2(roots) > LARGEST_EXPONENT + 1))


LARGEST_EXPONENT = 1024
"""The exponent of the power of two above all doubles."""


def _reduce_prod(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = tensor(inputs[0])
    axes = reduced_axes(node, inputs, len(X.shape))
    if axes is None:
        return [X]
    keepdims = bool(node.attributes.get("keepdims", 1))
    along = tuple(axes)
    count = prod(X.shape[axis] for axis in along)
    return [multiply_all(X.dtype, lambda f: np.prod(f(X.value, X.error), axis=along, keepdims=keepdims), count)]


def _cumprod(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = tensor(inputs[0])
    (axis,) = integers(inputs[1])
    if not X.value.size:
        return [X]
    products: Products = lambda f: accumulate(node, axis, f(X.value, X.error), np.cumprod, 1)  # noqa: E731
    return [multiply_all(X.dtype, products, X.shape[axis])]


def _scatter(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose Scatter; an element that is replaced twice has an open value, since the order is open."""
    data = tensor(inputs[0])
    indices = inputs[1]
    updates = tensor(inputs[2])
    assert isinstance(indices, np.ndarray)
    places = scatter_places(node, data.shape, indices)
    counts = scatter_counts(node, data.shape, indices)
    reduction = node.attributes.get("reduction", "none")
    is_written = counts > 0
    most = int(counts.max(initial=0))

    def combine(function: Any, part: Callable[[Enclosure], Array]) -> Array:
        result = part(data).copy()
        with np.errstate(all="ignore"):
            function.at(result, places, part(updates))
        return result

    if reduction == "none":
        value = data.value.copy()
        error = data.error.copy()
        value[places] = updates.value
        error[places] = updates.error
        return [Enclosure(value, error, data.dtype).leave_open(counts > 1, "several updates")]
    if reduction in ("max", "min"):
        choose = np.maximum if reduction == "max" else np.minimum
        value = combine(choose, lambda X: X.value)
        error = combine(np.maximum, lambda X: X.error)
        return [Enclosure(value, error, data.dtype).leave_open(is_written & np.isnan(value), "NaN")]
    with judged_at(Level.MUST):  # the output, of its own type, is the accumulator
        if reduction == "mul":
            result = multiply_all(data.dtype, lambda f: combine(np.multiply, lambda X: f(X.value, X.error)), most + 1)
        else:
            value = combine(np.add, lambda X: X.value)
            magnitudes = combine(np.add, lambda X: X.magnitude)
            error = combine(np.add, lambda X: X.error)
            finite = combine(np.add, lambda X: np.where(np.isfinite(X.value), X.magnitude, 0.0))
            result = data.from_terms(value, magnitudes, error, most, finite=finite)
    overflows = None if result.overflows is None else result.overflows & is_written
    value, error = (
        np.where(is_written, own, old) for own, old in ((result.value, data.value), (result.error, data.error))
    )
    return [replace(result, value=value, error=error, overflows=overflows)]


PRODUCT_ENCLOSURES: Mapping[str, NodeEnclosure] = {
    "ReduceProd": _reduce_prod,
    "CumProd": _cumprod,
    **dict.fromkeys(SCATTERS, _scatter),
}
