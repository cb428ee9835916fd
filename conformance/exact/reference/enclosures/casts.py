"""Cast, CastLike and BitCast, for all types of numbers.

A type with at most eight bits is no type that the reference computes with. A conversion to it rounds once, and the
function that rounds is monotone, so that the ends of an operand's interval give the ends of the result's interval.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import dtype_of, is_computed, to_power_of_two, type_name
from conformance.exact.reference.numbers.enclosure import Enclosure, is_strict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Node, NodeEnclosure
    from conformance.exact.reference.numbers.enclosure import Tensor

INTEGERS_OF_BITS: Mapping[str, int] = {"int2": 2, "uint2": 2, "int4": 4, "uint4": 4}
"""The types of integers that NumPy stores in a whole byte, and their bits."""

FINITE = frozenset({"float4e2m1", "float6e2m3", "float6e3m2"})
"""The types that have neither infinities nor NaN."""

SMALL_FLOATS = FINITE | {"float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"}
"""The binary floating-point types that only conversions and quantization use."""

SATURATING_OPSET = 24
"""First version whose page saturates infinities in all types of 8 bits. The table of older pages has NaN for some."""

SCALES = "float8e8m0"
"""The type of powers of two."""


def _cast(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X, *like = (each for each in inputs if each is not None)
    return [cast(X, like[0].dtype if like else dtype_of(node.attributes["to"]), node)]


def cast(X: Tensor, to: np.dtype[Any], node: Node) -> Tensor:
    """Return a tensor converted to a type, with the attributes `saturate` and `round_mode` of a node.

    Raises:
        Unsupported: a type is not a type of real numbers, or rounding decides an integer.
    """
    assert X is not None
    is_text = isinstance(X, np.ndarray) and X.dtype == object
    for dtype in (to,) if is_text else (X.dtype, to):
        if not (is_computed(dtype) or dtype.kind == "b" or is_integer(dtype) or is_small_float(dtype)):
            raise Unsupported(f"no reference for Cast of the type {dtype}")
    if not isinstance(X, Enclosure):
        if is_text:
            return _read_numbers(X, to, node)
        if X.dtype == to:
            return X
        if is_integer(X.dtype) and (is_integer(to) or to.kind == "b"):
            return _by_rules(_discard_bits(X, to), X, node)
        X = Enclosure.exact(X if is_computed(X.dtype) else X.astype(np.float64))
    if to == X.dtype:
        return X
    if is_computed(to):
        return X.as_type(to)
    name = type_name(to)
    if name in SMALL_FLOATS or name == SCALES:
        return round_to_small_float(X, to, node)
    result = _to_integer(X, to)
    return _by_rules(result, X.value, node) if isinstance(result, np.ndarray) else result


def _by_rules(result: Array, X: Array, node: Node) -> Tensor:
    """Return booleans and integers. Below opset 13 the page has no rules of conversion.

    The page of opset 9 states that bits are truncated which the type cannot store.
    """
    if node.op_type != "Cast" or node.opset >= 13:
        return result
    if result.dtype.kind == "b":
        is_open = ~np.isin(X, (0, 1))
        return Enclosure.exact(result).leave_open(is_open, "truth of a number") if is_open.any() else result
    is_open = result.astype(X.dtype) != X if X.dtype.kind in "iu" else np.zeros(X.shape, dtype=bool)
    is_open |= (result < 0) != (X < 0) if X.dtype.kind in "iu" and result.dtype.kind in "iu" else False
    return Enclosure.exact(result).leave_open(is_open, "integer beyond the type") if is_open.any() else result


def _read_numbers(texts: Array, to: np.dtype[Any], node: Node) -> Tensor:
    """Return the numbers that strings state. Other strings, and fractions as integers, have no result on the page."""
    if to.kind == "b":
        raise Unsupported("no reference for Cast of strings to booleans")
    pattern = re.compile(_INTEGER if is_integer(to) else f"{_INTEGER}|{_FRACTION}|{_SPECIAL}", re.ASCII | re.IGNORECASE)
    is_known = np.array([pattern.fullmatch(text) is not None for text in texts.flat], bool).reshape(texts.shape)
    value = np.array([float(text) if known else 0.0 for text, known in zip(texts.flat, is_known.flat, strict=True)])
    value = value.reshape(texts.shape)
    if is_integer(to):
        return integers_between(value, value, to, ~is_known, ["text of a number"])
    is_exact = ~np.isfinite(value) | ((value == np.rint(value)) & (np.abs(value) < 2.0**53))
    read = Enclosure(value, np.where(is_exact, 0.0, np.abs(value) * 2.0**-53), np.dtype(np.float64))
    result = cast(read, to, node)
    assert isinstance(result, Enclosure)
    return result.leave_open(~is_known, "text of a number")


_INTEGER = r"[+-]?\d{1,15}"
_FRACTION = r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,9})?"
_SPECIAL = r"[+-]?inf|nan"
"""Strings that the page reads as numbers."""


def is_integer(dtype: np.dtype[Any]) -> bool:
    """Return whether a type is one of integers, also of less than eight bits."""
    return dtype.kind in "iu" or (dtype.kind == "V" and type_name(dtype) in INTEGERS_OF_BITS)


def is_small_float(dtype: np.dtype[Any]) -> bool:
    """Return whether a type is a floating-point type of at most eight bits."""
    return dtype.kind in "fV" and type_name(dtype) in SMALL_FLOATS | {SCALES}


def integer_limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the smallest and the largest integer of a type."""
    limits = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
    return int(limits.min), int(limits.max)


def _discard_bits(X: Array, to: np.dtype[Any]) -> Array:
    """Return integers in another type: higher bits are discarded, and the others are reinterpreted."""
    wide = X if X.dtype.kind in "iu" else X.astype(np.int64)
    if to.kind in "iub":
        return wide.astype(to)
    low, high = integer_limits(to)
    kept = wide.astype(np.int64) & (high - low)
    return np.where(kept > high, kept - (high - low + 1), kept).astype(to)


def _to_integer(X: Enclosure, to: np.dtype[Any]) -> Tensor:
    """Return integers, or booleans; a number out of range has no defined result.

    A number of which rounding decides the integer is an interval of integers. The page of Cast states no conversion of
    fractions. All implementations truncate to eight bits and more. To two and four bits onnx's evaluator truncates,
    the pages of these types round to nearest even, and ONNX Runtime rounds ties away from 0: level `must` admits these.
    """
    if to.kind == "b":
        exact = X.apply(lambda x: x != 0)
        if not exact.is_exact:
            raise Unsupported("rounding of an input decides the result of Cast")
        return exact.value.astype(to)
    if not np.isfinite(X.error).all() or (np.isnan(X.value) & (X.error > 0)).any():
        raise Unsupported("rounding of an input decides the result of Cast")
    roundings: list[Callable[[Array], Array]] = [np.trunc]
    if type_name(to) in INTEGERS_OF_BITS:
        roundings = [np.rint] if is_strict() else [np.trunc, np.rint, lambda x: np.trunc(x + np.copysign(0.5, x))]
    with np.errstate(all="ignore"):
        ends = [np.where(X.error == 0, X.value, X.value + sign * X.error) for sign in (-1, 1)]
        integers = np.array([convert(end) for convert in roundings for end in ends])
    return integers_between(integers.min(0), integers.max(0), to)


def integers_between(
    first: Array,
    last: Array,
    to: np.dtype[Any],
    is_unspecified: Array | bool = False,
    names: Sequence[str] = (),
) -> Tensor:
    """Return integers of a type from a first to a last one; an element is open if the type has one of them not.

    Args:
        first: the smallest results.
        last: the largest results.
        to: the type.
        is_unspecified: which further elements are open.
        names: the rows of `tolerances.SILENCES` with the reasons for `is_unspecified`.
    """
    fits = _fits(first, to) & _fits(last, to) & ~np.asarray(is_unspecified)
    if fits.all() and (first == last).all():
        return np.asarray(first).astype(to)
    with np.errstate(all="ignore"):
        middle, half = (np.where(fits, part, 0.0) for part in ((first + last) / 2, (last - first) / 2))
    return Enclosure(middle, half, to).leave_open(~fits, *(names or ("number beyond the type",)))


def through_float(function: NodeEnclosure, node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Return the integers that a function of a tensor of integers computes in a floating-point type.

    GridSample casts the result, which truncates it. Other pages do not state how it is rounded, so each integer next to
    it is admissible. The function body of ReduceLogSumExp casts too, but a kernel may add the largest element last.
    """
    X, *others = inputs
    assert isinstance(X, np.ndarray)
    wide = X.astype(np.float64)
    operand = Enclosure(wide, np.where(np.abs(wide) > 2.0**24, np.abs(wide) * 2.0**-24, 0.0), np.dtype(np.float32))
    (Y,) = function(node, [operand, *others])
    assert isinstance(Y, Enclosure)
    ends = [np.where(Y.error == 0, Y.value, Y.value + sign * Y.error) for sign in (-1, 1)]
    roundings = (np.trunc, np.trunc) if node.op_type == "GridSample" else (np.floor, np.ceil)
    first, last = (convert(end) for convert, end in zip(roundings, ends, strict=True))
    low, high = map(float, integer_limits(X.dtype))
    is_inside = (Y.value >= low) & (Y.value <= high) & np.isfinite(Y.error)
    first, last = (np.where(is_inside, np.clip(end, low, high), end) for end in (first, last))
    return [integers_between(first, last, X.dtype, False if Y.unspecified is None else Y.unspecified, Y.silences)]


def _fits(values: Array, to: np.dtype[Any]) -> Array:
    """Return for each integer in double whether a type has it; the largest double below 2^64 is less than 2^64 - 1."""
    low, high = integer_limits(to)
    with np.errstate(all="ignore"):
        return np.asarray((values >= float(low)) & (values < float(high) + (1 if high < 2**62 else 0)))


# Types of at most eight bits


def round_to_small_float(X: Enclosure, to: np.dtype[Any], node: Node) -> Tensor:
    """Return a tensor in a floating-point type of at most eight bits.

    Args:
        X: the tensor.
        to: the type.
        node: the node, with the attributes `saturate` and `round_mode`.
    """
    name = type_name(to)
    saturates = bool(node.attributes.get("saturate", 1))
    mode = node.attributes.get("round_mode", "up")

    def convert(x: Array) -> Array:
        return to_power_of_two(x, mode, saturates) if name == SCALES else _to_small_float(x, to, saturates)

    # a kernel may convert a double to float first
    spread = X.error if is_strict() or X.dtype != np.float64 else X.error + np.abs(X.value) * 2.0**-24
    with np.errstate(all="ignore"):
        value, low, high = (convert(each) for each in (X.value, X.value - spread, X.value + spread))
        error = np.where(np.isfinite(X.value), np.maximum(np.abs(low - value), np.abs(high - value)), X.error)
    is_same_nan = np.isnan(low) & np.isnan(value) & np.isnan(high)
    error = np.where(is_same_nan | (low == value) & (high == value), 0.0, np.where(np.isnan(error), np.inf, error))
    if name == SCALES:
        silence = "scale that is no power"
        is_unspecified = (X.value < 0) | ((X.value == 0) & np.signbit(X.value))
        if (mode, saturates) not in (("up", True), ("nearest", False)):
            is_unspecified |= ~((X.value >= 2.0**-127) & (X.value <= 2.0**127)) & ~np.isnan(X.value)
    elif name in FINITE:
        silence = "number beyond a finite type"
        value, largest = np.where(np.isnan(X.value), 0.0, value), float(ml_dtypes.finfo(to).max)  # type: ignore[no-untyped-call]
        is_unspecified = np.isnan(X.value) | (np.abs(value) == largest) & (np.abs(X.value) > largest)
    elif saturates and name.endswith("fnuz") and node.opset < SATURATING_OPSET:
        silence = "infinity in a type without infinities"
        is_unspecified = np.isinf(X.value)
    else:
        return Enclosure(value, error, to)
    return Enclosure(value, error, to).leave_open(is_unspecified, silence)


def _to_small_float(x: Array, to: np.dtype[Any], saturates: bool) -> Array:
    """Return numbers rounded to nearest even; a number out of range becomes the largest one, an infinity or NaN."""
    limits = ml_dtypes.finfo(to)  # type: ignore[no-untyped-call]
    largest = float(limits.max)
    lowest = int(limits.minexp)
    _, exponent = np.frexp(np.where(np.isfinite(x), x, 0.0))
    step = np.ldexp(1.0, np.maximum(exponent - 1, lowest) - int(limits.nmant))
    rounded = np.where(np.isinf(x), x, np.rint(x / step) * step)
    name = type_name(to)
    beyond = largest if saturates or name in FINITE else np.inf if name == "float8e5m2" else np.nan
    rounded = np.where(np.abs(rounded) > largest, np.copysign(beyond, rounded), rounded)
    return np.where(rounded == 0, 0.0, rounded) if name.endswith("fnuz") else rounded


# BitCast


def bit_cast(node: Node, arrays: Sequence[Any]) -> list[Array]:
    """Return the bits of the elements as elements of another type with as many bits."""
    X = arrays[0]
    to = dtype_of(node.attributes["to"])
    source = bits_of(X.dtype)
    target = bits_of(to)
    if source != target:
        raise Unsupported(f"BitCast of {source} bits to {target} bits")
    if target >= 8:
        Y = X.copy(order="C").view(np.uint8 if to.kind == "b" else to)
        if to.kind == "b" and (Y > 1).any():
            raise Unsupported("BitCast to a boolean that is neither 0 nor 1")
        return [Y.astype(to)]
    bits = X.copy(order="C").view(np.uint8) & (2**target - 1)
    if is_integer(to):
        return [_discard_bits(bits, to)]
    return [bits.view(to)]


def bits_of(dtype: np.dtype[Any]) -> int:
    """Return the number of bits of an element in a tensor of ONNX."""
    name = type_name(dtype)
    return INTEGERS_OF_BITS.get(name, int(name[5]) if name in FINITE else 8 * dtype.itemsize)


CAST_ENCLOSURES: Mapping[str, NodeEnclosure] = dict.fromkeys(("Cast", "CastLike"), _cast)

CASTS_OF_KNOWN: Mapping[str, Callable[[Node, Sequence[Any]], list[Array]]] = {"BitCast": bit_cast}
