"""Quantization: a tensor of numbers in steps of a scale, and operators of quantized tensors.

A quantized element is the rounded quotient of a number by a scale, plus a zero point, saturated. The admissible
quotients are an interval; rounding to the nearest integer and saturation are monotone, so that the quantized elements
of its ends are the ends of an interval of steps. An exact quotient that is a tie has one result where the page states
rounding to even. A quotient that may be rounded before, or is computed with a reciprocal, can reach both neighbours.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import dtype_of, is_computed
from conformance.exact.reference.enclosures.casts import cast, integer_limits, is_integer, is_small_float
from conformance.exact.reference.enclosures.sequences import stack
from conformance.exact.reference.formulas.linear import FLOAT, convolve, explicit_pads, matmul
from conformance.exact.reference.numbers.enclosure import Enclosure, admit, is_strict, known_elements, move
from conformance.exact.reference.operators.data_movement import place_along

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Node, NodeEnclosure
    from conformance.exact.reference.numbers.enclosure import Tensor

UINT8 = np.dtype(np.uint8)
"""The type of a quantized tensor without a zero point."""

PART_ELEMENTS = 2**15
"""The number of elements of a large tensor that are computed at once."""


def enclose_values(given: Tensor, dtype: np.dtype[Any] | None = None) -> Enclosure:
    """Return a tensor of any numbers as an enclosure, on which operations round to a type, by default to its own."""
    assert given is not None
    if isinstance(given, Enclosure):
        return given if dtype is None else given.with_dtype(dtype)
    return Enclosure.exact(given.astype(np.float64), dtype or given.dtype)


def optional(inputs: Sequence[Tensor], position: int) -> Tensor:
    """Return an optional input; None if the node leaves it out."""
    return inputs[position] if len(inputs) > position else None


def _spread(part: Enclosure, node: Node, shape: tuple[int, ...], default_axis: int = 1) -> Enclosure:
    """Return scales or zero points in a shape that combines with the tensor: one, one for each index, or blocks."""
    axis = node.attributes.get("axis", default_axis)
    size = int(prod(part.shape))
    if size == 1 and len(part.shape) <= 1:
        return part.moved(lambda x: x.reshape(()))
    axis %= len(shape)
    if len(part.shape) == 1:
        return part.moved(lambda x: x.reshape([-1 if each == axis else 1 for each in range(len(shape))]))
    block = node.attributes.get("block_size", 0)
    if not block:
        raise Unsupported(f"{node.op_type} with a scale of rank {len(part.shape)} and without blocks")
    return part.moved(lambda x: np.take(np.repeat(x, block, axis), np.arange(shape[axis]), axis))


def quotient_by_scale(X: Enclosure, scale: Enclosure) -> Enclosure:
    """Return the quotient by a scale, or at level `must` the product with its reciprocal.

    A quotient of known numbers that the type has is exact: at level `must` if the scale is a power of two.
    """
    quotient = admit("Quotient by a scale", written=lambda: X / scale, reciprocal=lambda: X * (1.0 / scale))
    with np.errstate(all="ignore"):
        representable = quotient.value.astype(quotient.dtype).astype(np.float64)
        is_exact = (representable * scale.value == X.value) & (X.error == 0) & (scale.error == 0)
        if not is_strict():
            is_exact &= np.abs(np.frexp(scale.value)[0]) == 0.5
    return replace(quotient, error=np.where(is_exact, 0.0, quotient.error))


def quantize(
    quotient: Enclosure, zero: Enclosure, to: np.dtype[Any], node: Node, *, are_ties_open: bool = False
) -> Tensor:
    """Return a quotient as an element of a quantized type: rounded, moved by the zero point and saturated.

    Args:
        quotient: the quotient. If its interval has two roundings, the result is an interval of steps.
        zero: the zero point.
        to: the type.
        node: the node.
        are_ties_open: whether the page states no rounding, so that a tie has two results; by default it is to even.
    """
    if is_small_float(to):
        return cast(quotient + zero if np.any(zero.value) else quotient, to, node)
    low, high = integer_limits(to)
    is_nan = np.isnan(quotient.value)
    is_open = ~np.isfinite(quotient.error) | np.isnan(quotient.value)
    with np.errstate(all="ignore"):
        first, last = (
            np.clip(
                np.rint(quotient.value + sign * np.where(is_open, 0.0, quotient.error))
                + (zero.value + sign * zero.error),
                low,
                high,
            )
            for sign in (-1, 1)
        )
        if are_ties_open:
            is_tie = quotient.value % 1 == 0.5
            first = np.where(is_tie, np.clip(np.floor(quotient.value) + zero.value, low, first), first)
            last = np.where(is_tie, np.clip(np.ceil(quotient.value) + zero.value, last, high), last)
    first, last = np.where(is_open, low, first), np.where(is_open, high, last)
    if not is_nan.any() and (first == last).all():
        return first.astype(to)
    result = Enclosure((first + last) / 2, (last - first) / 2, to)
    if not is_nan.any():
        return result
    return replace(result, unspecified=np.broadcast_to(is_nan, result.shape), silences=("NaN",))


def _quantize_linear(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = inputs[0]
    given_scale = inputs[1]
    given_zero = optional(inputs, 2)
    assert X is not None
    assert given_scale is not None
    to = dtype_of(node.attributes["output_dtype"]) if node.attributes.get("output_dtype", 0) else UINT8
    to = to if given_zero is None else given_zero.dtype
    computed = dtype_of(node.attributes["precision"]) if node.attributes.get("precision", 0) else given_scale.dtype
    if not is_computed(computed):  # a scale that is an integer, or a power of two
        computed = X.dtype if is_computed(X.dtype) else FLOAT
    scale = _spread(enclose_values(given_scale, computed), node, X.shape)
    zero = _spread(enclose_values(np.zeros((), to) if given_zero is None else given_zero, computed), node, X.shape)
    operand = enclose_values(X) if is_computed(X.dtype) else enclose_values(X, np.dtype(np.float64))
    typed = quotient_by_scale(operand.as_type(computed), scale)
    wide = operand.with_dtype(FLOAT)
    forms = {
        "written": lambda: typed,
        "float": lambda: quotient_by_scale(wide, scale.with_dtype(FLOAT)).with_dtype(computed),
    }
    quotient = typed if computed == FLOAT else admit("QuantizeLinear", **forms)
    return [quantize(quotient, zero, to, node)]


def _dequantize_linear(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose DequantizeLinear, a large tensor in parts along an axis that no scale is for: they fit into a cache."""
    X = inputs[0]
    assert X is not None
    rank = len(X.shape)
    own_axis = node.attributes.get("axis", 1) % max(rank, 1)
    axis = max((each for each in range(rank) if each != own_axis), key=lambda each: X.shape[each], default=None)
    if axis is None or prod(X.shape) <= PART_ELEMENTS:
        return [_dequantize(node, inputs)]
    length = max(1, PART_ELEMENTS * X.shape[axis] // prod(X.shape))
    blocks = {position for position, each in enumerate(inputs) if each is not None and len(each.shape) == rank > 1}
    parts = []
    for start in range(0, X.shape[axis], length):
        take = itemgetter(place_along(axis, rank, slice(start, start + length)))
        part = [move(each, take) if position in blocks else each for position, each in enumerate(inputs)]
        parts.append(_dequantize(node, part))
    return [stack(parts, axis, joins=True)]


def _dequantize(node: Node, inputs: Sequence[Tensor]) -> Enclosure:
    X = inputs[0]
    given_scale = inputs[1]
    given_zero = optional(inputs, 2)
    assert X is not None
    assert given_scale is not None
    to = dtype_of(node.attributes["output_dtype"]) if node.attributes.get("output_dtype", 0) else given_scale.dtype
    if not is_computed(to):
        raise Unsupported(f"DequantizeLinear to the type {to}")
    rounded = scale = _spread(enclose_values(given_scale, to), node, X.shape)
    if is_computed(given_scale.dtype) and given_scale.dtype != to:
        unrounded = _spread(enclose_values(given_scale), node, X.shape).as_type(to)
        scale = admit("Cast scale", written=lambda: rounded, unrounded=lambda: unrounded)
    difference = enclose_values(X, to)
    if given_zero is not None:
        # the difference of integers is exact; that of other numbers is a number of the output's type
        zero = _spread(enclose_values(given_zero, to), node, X.shape)
        exact = replace(difference, value=difference.value - zero.value, error=difference.error + zero.error)
        difference = exact if is_integer(X.dtype) else difference - zero
    has_all_integers = is_integer(X.dtype) and X.dtype.itemsize <= 2 and to == FLOAT
    if is_integer(X.dtype) and not has_all_integers and to == FLOAT:  # float lacks some integers of 32 bits
        difference = difference.with_dtype(np.dtype(np.float64)).as_type(to)

    product = difference * scale
    is_folded = given_zero is not None and to == FLOAT and is_integer(X.dtype) and bool(zero.value.any())

    def narrow() -> Enclosure:
        return difference.with_dtype(np.dtype(np.float64)).as_type(to) * scale

    def folded() -> Enclosure:
        other = enclose_values(X, to) * scale - zero * scale
        return product.where(np.broadcast_to(zero.value == 0, product.shape), other)

    return admit(
        "Dequantized",
        written=lambda: product,
        narrow=lambda: product if has_all_integers else narrow(),
        folded=lambda: folded() if is_folded else product,
    )


def _dynamic_quantize_linear(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose DynamicQuantizeLinear: the scale, the zero point and the quantized tensor, by the page's formulas."""
    X = enclose_values(inputs[0])
    if not X.value.size or not np.isfinite(X.value).all():
        raise Unsupported("DynamicQuantizeLinear of no elements, or of an infinity or NaN")
    axes = range(len(X.shape))
    largest, smallest = (X.extreme(axes, largest=flag) for flag in (True, False))
    largest, smallest = largest.apply(lambda x: np.maximum(x, 0)), smallest.apply(lambda x: np.minimum(x, 0))
    scale = (largest - smallest) / 255.0
    if not np.any(scale.value - scale.error > 0):
        raise Unsupported("DynamicQuantizeLinear of zeros, whose scale is 0")
    zero = quantize(quotient_by_scale(-smallest, scale), enclose_values(np.zeros((), UINT8), FLOAT), UINT8, node)
    return [quantize(quotient_by_scale(X, scale), enclose_values(zero, FLOAT), UINT8, node), scale, zero]


# Operators of quantized tensors


def centred(given: Tensor, zero: Tensor, place: Callable[[Array], Array]) -> Array:
    """Return the elements minus the zero points, exactly, in double."""
    X = known_elements(given).astype(np.float64)
    return X if zero is None else X - place(known_elements(zero).astype(np.float64))


def _per_row(x: Array) -> Array:
    return x if x.ndim == 0 or x.size == 1 else x[:, np.newaxis] if x.ndim == 1 else x


def _per_output_channel(rank: int) -> Callable[[Array], Array]:
    return lambda x: x.reshape(-1, *[1] * (rank - 1)) if x.size > 1 else x.reshape(())


def as_scalar(x: Array) -> Array:
    """Return a tensor of one element without its axes, and every other tensor unchanged."""
    return x.reshape(()) if x.size == 1 else x


def _accumulated(sums: Array) -> Array:
    """Return sums of products of integers as int32.

    Raises:
        Unsupported: a sum does not fit, or is too large for double.
    """
    limits = np.iinfo(np.int32)
    if sums.size and not limits.min <= sums.min() <= sums.max() <= limits.max:
        raise Unsupported("an accumulation overflows 32 bits")
    return sums.astype(np.int32)


def _convert_to_float(sums: Array) -> Enclosure:
    """Return known numbers, converted to float."""
    return Enclosure.exact(sums.astype(np.float64)).as_type(FLOAT)


def _matmul_integer(_: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    A = centred(inputs[0], optional(inputs, 2), _per_row)
    B = centred(inputs[1], optional(inputs, 3), as_scalar)
    return [_accumulated(np.matmul(A, B))]


def _convolved(node: Node, x: Array, w: Array) -> Array:
    return convolve(node, x, w, explicit_pads(node, x.shape[2:], w.shape[2:]))


def _conv_integer(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    w = known_elements(inputs[1])
    x = centred(inputs[0], optional(inputs, 2), as_scalar)
    return [_accumulated(_convolved(node, x, centred(w, optional(inputs, 3), _per_output_channel(w.ndim))))]


def _is_exact_in_any_order(x: Array, first: Array, second: Array, last: Array) -> Array:
    """Return where all forms of `Requantized` have exact results in float. Products in double are exact here."""

    def is_float(*results: Array) -> Array:
        with np.errstate(all="ignore"):
            equal = [each == each.astype(np.float32) for each in np.broadcast_arrays(*results)]
            return np.asarray(np.all(equal, axis=0))

    scaled = x * first
    factor = first * second
    product = scaled * second
    multiplier = factor / last
    quotient = product / last
    divides = (quotient * last == product) & (multiplier * last == factor)
    return np.asarray(is_float(scaled, product, quotient, factor, multiplier, x * multiplier) & divides)


def _requantize(sums: Enclosure, scales: Sequence[Enclosure], zero: Tensor, node: Node) -> Tensor:
    """Return sums, multiplied by both scales and divided by the scale of the result, in the type of the zero point.

    The page states no order for these operations, and the page of QLinearConv no rounding.
    """
    assert zero is not None
    first, second, last = scales
    quotient = admit(
        "Requantized",
        written=lambda: (sums * first * second) / last,
        multiplier=lambda: sums * ((first * second) / last),
    )
    is_exact = (sums.error == 0) & _is_exact_in_any_order(sums.value, first.value, second.value, last.value)
    is_exact &= (first.error == 0) & (second.error == 0) & (last.error == 0)
    quotient = replace(quotient, error=np.where(is_exact, 0.0, quotient.error))
    offset = enclose_values(as_scalar(known_elements(zero)), FLOAT)
    return quantize(quotient, offset, zero.dtype, node, are_ties_open=node.op_type == "QLinearConv")


def _qlinear_matmul(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = inputs
    A = centred(a, a_zero, _per_row)
    B = centred(b, b_zero, as_scalar)
    places = ((a_scale, _per_row), (b_scale, as_scalar), (y_scale, as_scalar))
    scales = [enclose_values(each, FLOAT).moved(place) for each, place in places]
    assert a is not None
    if is_integer(a.dtype):
        return [_requantize(_convert_to_float(_accumulated(np.matmul(A, B))), scales, y_zero, node)]
    return [_requantize(matmul(*(enclose_values(each, FLOAT) for each in (A, B))), scales, y_zero, node)]


def _qlinear_conv(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = inputs[:8]
    rank = known_elements(w).ndim
    sums = _convolved(node, centred(x, x_zero, as_scalar), centred(w, w_zero, _per_output_channel(rank)))
    if (bias := optional(inputs, 8)) is not None:
        sums = sums + known_elements(bias).astype(np.float64).reshape(-1, *[1] * (rank - 2))
    places = ((x_scale, as_scalar), (w_scale, _per_output_channel(rank - 1)), (y_scale, as_scalar))
    scales = [enclose_values(each, FLOAT).moved(place) for each, place in places]
    return [_requantize(_convert_to_float(_accumulated(sums)), scales, y_zero, node)]


QUANTIZATION_ENCLOSURES: Mapping[str, NodeEnclosure] = {
    "QuantizeLinear": _quantize_linear,
    "DequantizeLinear": _dequantize_linear,
    "DynamicQuantizeLinear": _dynamic_quantize_linear,
    "MatMulInteger": _matmul_integer,
    "ConvInteger": _conv_integer,
    "QLinearMatMul": _qlinear_matmul,
    "QLinearConv": _qlinear_conv,
}
"""Functions that take tensors of any type."""
