"""Enclosures of pooling, of LRN and of AffineGrid."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import ceil, prod
from typing import TYPE_CHECKING

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import format_of, is_computed
from conformance.exact.reference.enclosures.quantization import enclose_values
from conformance.exact.reference.formulas.elementwise import raise_to, sqrt, tensor
from conformance.exact.reference.formulas.linear import (
    dilations,
    extents,
    integers,
    mean,
    pad_or_crop,
    pad_readings,
    strides,
    windows,
)
from conformance.exact.reference.nodes import Node
from conformance.exact.reference.numbers import elementary, portable
from conformance.exact.reference.numbers.enclosure import (
    Enclosure,
    admit,
    as_enclosure,
    between,
    known_elements,
    leave_to_readings,
)
from conformance.exact.reference.tolerances import ROUNDINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.formulas.linear import Pads
    from conformance.exact.reference.nodes import NodeEnclosure
    from conformance.exact.reference.numbers.enclosure import Tensor


def _in_each_reading(
    node: Node, X: Enclosure, kernel: Sequence[int], compute: Callable[[Pads], Enclosure]
) -> Enclosure:
    """Return the result of a pooling for all readings of its padding."""
    return leave_to_readings("negative padding", compute, pad_readings(node, X.shape[2:], kernel))


def _pads(node: Node, X: Enclosure, kernel: Sequence[int], pads: Pads) -> Pads:
    """Return the padding of a pooling; with `ceil_mode` a last incomplete window gets padding at its end.

    The pages state the number of windows with `auto_pad` by formulas of their own, which have no such window.
    """
    if not node.attributes.get("ceil_mode", 0) or node.attributes.get("auto_pad", "NOTSET") != "NOTSET":
        return pads
    steps = strides(node, len(kernel))
    result = []
    for size, (low, high), extent, step in zip(X.shape[2:], pads, extents(node, kernel), steps, strict=True):
        count = ceil((size + low + high - extent) / step) + 1
        if (count - 1) * step >= size + low:  # a window that starts in the padding at the end does not count
            count -= 1
        result.append((low, max(high, (count - 1) * step + extent - size - low)))
    return result


def _window_sums(x: Array, node: Node, kernel: Sequence[int], pads: Pads) -> Array:
    """Return the sums of the elements in each window of a pooling."""
    return np.asarray(np.sum(windows(x, node, kernel, pads, 0.0), axis=0))


def _max_pool(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    given = inputs[0]
    assert given is not None
    X = given if isinstance(given, Enclosure) else enclose_values(given)  # the padding of integers is an infinity
    kernel = node.attributes["kernel_shape"]

    def pooled(declared: Pads) -> Enclosure:
        pads = _pads(node, X, kernel, declared)
        value = np.asarray(np.max(windows(X.value, node, kernel, pads, -np.inf), axis=0))
        error = np.zeros(1)
        if not X.is_exact:
            error = np.max(windows(X.error, node, kernel, pads, 0.0), axis=0)
        return Enclosure(value, np.broadcast_to(error, value.shape), X.dtype).leave_open(np.isnan(value), "NaN")

    result: Tensor = _in_each_reading(node, X, kernel, pooled)
    if not is_computed(X.dtype) and as_enclosure(result).is_exact:
        result = known_elements(result)
    if len(node.outputs) < 2 or not node.outputs[1]:
        return [result]
    places = _in_each_reading(
        node, X, kernel, lambda pads: as_enclosure(_places_of_largest(node, X, kernel, _pads(node, X, kernel, pads)))
    )
    return [result, known_elements(places) if places.is_exact else places]


def _places_of_largest(node: Node, X: Enclosure, kernel: Sequence[int], pads: Pads) -> Tensor:
    """Return the places of the largest elements in the flattened tensor; the page decides between no equal elements."""
    if not X.is_exact:
        raise Unsupported("rounding of an input decides the indices of MaxPool")
    elements = np.asarray(windows(X.value, node, kernel, pads, -np.inf))
    is_largest = elements == elements.max(axis=0)
    is_undetermined = np.isnan(elements).any(axis=0)
    ends = []
    for numbers in _numberings(node, X.shape):
        places = np.asarray(windows(numbers, node, kernel, pads, -np.inf))
        is_found = is_largest & (places >= 0)
        ends.append(np.min(np.where(is_found, places, np.inf), axis=0))
        ends.append(np.max(np.where(is_found, places, -np.inf), axis=0))
        is_undetermined |= ends[-2] != ends[-1]
    low = np.where(is_undetermined, 0, np.min(ends, axis=0))
    high = np.where(is_undetermined, X.value.size - 1, np.max(ends, axis=0))
    if (low == high).all():
        return low.astype(np.int64)
    return between(low, high, np.dtype(np.int64))


def _numberings(node: Node, shape: Sequence[int]) -> list[Array]:
    """Return the admissible numbers of the elements of a tensor (N, C, spatial sizes) in its storage order.

    The page does not state whether the column-major order is one of each matrix, as in ONNX Runtime, or of the whole
    tensor. The matrices have an order too.
    """
    count = prod(shape[2:])
    planes = prod(shape[:2])

    def numbered(sizes: Sequence[int], order: str) -> Array:
        return np.arange(prod(sizes), dtype=np.float64).reshape(sizes, order=order)  # type: ignore[call-overload,no-any-return]

    if not node.attributes.get("storage_order", 0):
        return [numbered(shape, "C")]
    own = numbered([1, 1, *shape[2:]], "F")
    ones = [1] * (len(shape) - 2)
    by_matrix = [numbered([*shape[:2], *ones], order) * count + own for order in "CF"]
    return by_matrix if planes == 1 else [*by_matrix, numbered(shape, "F")]


def _average_pool(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = tensor(inputs[0])
    kernel = node.attributes["kernel_shape"]
    if any(gap != 1 for gap in dilations(node, len(kernel))) and node.opset < 19:
        raise Unsupported("AveragePool with dilations below opset 19")

    def pooled(declared: Pads) -> Enclosure:
        pads = _pads(node, X, kernel, declared)
        sums = X.add_terms(lambda x: _window_sums(x, node, kernel, pads), prod(kernel))
        counted = np.ones(X.shape[2:])[np.newaxis, np.newaxis]
        if node.attributes.get("count_include_pad", 0):
            counted = pad_or_crop(counted, declared, 1.0)
            pads = [(0, high - given) for (_, high), (_, given) in zip(pads, declared, strict=True)]
        count = _window_sums(counted, node, kernel, pads)
        return sums / Enclosure.exact(count, X.dtype)

    return [_in_each_reading(node, X, kernel, pooled)]


def _global_average_pool(_: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = tensor(inputs[0])
    return [mean(X, range(2, len(X.shape)))]


def _global_max_pool(_: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = tensor(inputs[0])
    result = X.extreme(range(2, len(X.shape)), largest=True, keepdims=True)
    return [result.leave_open(np.isnan(result.value), "NaN")]


def _affine_grid(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose AffineGrid: the products of matrices with the positions of all pixels, the last axis first.

    The page states no position of a single pixel along an axis whose centre is both corners.
    """
    theta = tensor(inputs[0])
    (count, _, *sizes) = integers(inputs[1])
    if count != theta.shape[0]:
        raise Unsupported("AffineGrid with another number of matrices than images")
    is_aligned = bool(node.attributes.get("align_corners", 0))
    axes = [(2 * np.arange(size) - (size - 1)) / max(1, size - 1 if is_aligned else size) for size in map(float, sizes)]
    positions = np.stack([*reversed(np.meshgrid(*axes, indexing="ij")), np.ones(sizes)], -1)
    error = np.full(positions.shape, ROUNDINGS["position in AffineGrid"] * float(format_of(theta.dtype).unit_roundoff))
    grid = theta.dot(
        Enclosure(positions, error, theta.dtype), partial(portable.einsum, "nij,...j->n...i"), len(sizes) + 1
    )
    return [grid.leave_open(np.full(grid.shape, is_aligned and 1 in sizes), "single pixel")]


def _lp_pool(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = tensor(inputs[0])
    kernel = node.attributes["kernel_shape"]
    p = node.attributes.get("p", 2)
    P = _powers(X, p)

    def pooled(declared: Pads) -> Enclosure:
        pads = _pads(node, X, kernel, declared)
        return _norm(P, lambda x: _window_sums(x, node, kernel, pads), prod(kernel), p)

    return [_in_each_reading(node, X, kernel, pooled)]


def _global_lp_pool(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = tensor(inputs[0])
    p = node.attributes.get("p", 2)
    axes = tuple(range(2, len(X.shape)))
    count = prod(X.shape[2:])
    return [_norm(_powers(X, p), lambda x: x.sum(axis=axes, keepdims=True), count, p)]


def _powers(X: Enclosure, p: int) -> Enclosure:
    """Return the powers Abs(X)^p, by multiplication or by a function."""
    if p == 1:
        return abs(X)
    return X * X if p == 2 else abs(X).named("pow", lambda x: elementary.power(np.maximum(x, 0), float(p)))


def _norm(P: Enclosure, summation: Callable[[Array], Array], count: int, p: int) -> Enclosure:
    """Return the roots of sums of powers; one of infinities and NaN does not depend on the finite powers.

    Args:
        P: the powers, none of which is negative.
        summation: returns the sums of the elements of an array.
        count: the number of elements of a sum.
        p: the exponent.
    """
    result = _root(P.add_terms(summation, count), p)
    with np.errstate(all="ignore"):
        special = summation((~np.isfinite(P.value)).astype(np.float64)) > 0
        is_known = special & np.isfinite(summation(P.error))
    return replace(result, error=np.where(is_known, 0.0, result.error))


def _root(X: Enclosure, p: int) -> Enclosure:
    if p == 1:
        return X
    return sqrt(X) if p == 2 else X.named("pow", lambda x: elementary.power(np.maximum(x, 0), 1 / p))


def _lrn(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose LRN: X / (bias + alpha / size * square_sum)^beta, with sums over neighbouring channels."""
    X = tensor(inputs[0])
    size = node.attributes["size"]
    given = node.attributes
    alpha, beta, bias = (float(given.get(name, default)) for name, default in _LRN_DEFAULTS.items())
    before = (size - 1) // 2
    window = Node("LRN", (), (), {}, node.opset)
    squares = X * X

    def total(x: Array) -> Array:
        flat = x.reshape(x.shape[0], 1, x.shape[1], -1)
        return _window_sums(flat, window, (size, 1), [(before, size - 1 - before), (0, 0)]).reshape(x.shape)

    def running() -> Enclosure:
        whole = squares.sum([1], keepdims=True)
        reached = np.broadcast_to(np.nan_to_num(2 * whole.value + whole.error, nan=np.inf, posinf=np.inf), X.shape)
        return squares.from_terms(value, reached, error, 2 * X.shape[1])

    value, magnitudes, error = (total(part) for part in (squares.value, squares.magnitude, squares.error))
    sums = admit("LRN", written=lambda: squares.from_terms(value, magnitudes, error, size), running=running)
    base = bias + (X.constant(alpha) / X.constant(size)) * sums
    return [X / raise_to(base, beta)]


_LRN_DEFAULTS: Mapping[str, float] = {"alpha": float(np.float32(1e-4)), "beta": 0.75, "bias": 1.0}
"""The defaults of the schema, which are numbers in float."""


IMAGE_ENCLOSURES: Mapping[str, NodeEnclosure] = {
    "MaxPool": _max_pool,
    "AveragePool": _average_pool,
    "GlobalAveragePool": _global_average_pool,
    "GlobalMaxPool": _global_max_pool,
    "AffineGrid": _affine_grid,
    "LpPool": _lp_pool,
    "GlobalLpPool": _global_lp_pool,
    "LRN": _lrn,
}
