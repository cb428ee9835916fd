"""Hard values: elements of drawn tensors, and the operands of a node that may have other, hard elements.

Each element is a function of a text and of its index, so a smaller tensor keeps its elements. The bits come from a
counter-based hash and not from a random number library, whose streams change between versions.

The kinds of hard elements come from the declaration of the operator. Indices take other valid values, also negative
ones. Operands that are shapes or axes have no other elements. A probe has each kind in one of its first sets: a few
elements or a row are hard, so that a small tensor has several kinds, and sums of the other rows stay finite.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import takewhile
from math import inf, isnan, prod
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
from onnx import defs

from conformance.exact.declarations.declaration_tables import (
    TYPE_SETS,
    OperatorDeclaration,
    Rule,
    declarations,
    expression_value,
    operator_name,
)
from conformance.exact.declarations.tree_paths import reach_splits
from conformance.exact.models.arrays import Array, array_of, is_floating, type_name, type_number
from conformance.exact.models.graphs import normal_domain
from conformance.exact.models.model_building import SPLITMIX64_INCREMENT, splitmix64, unit_fractions

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    import onnx

    from conformance.exact.declarations.declaration_tables import DeclaredOperand


VALUE_KINDS = ("number", "positive", "small", "score", "scale", "divisor", "mask")
"""Kinds of elements: any number, no negative number, a number near 1 in size, one whose products are hidden by masks,
for which kernels have a number such as -10,000, a step of quantization, a number without the integers 0 and -1, by
which a division of integers can stop a process, and an element of a mask, of which some rows hide everything."""

SMALL_KINDS = ("small", "score")
"""Kinds of numbers near 1 in size."""

NUMBER_KINDS = ("number", "positive", "small", "divisor")
"""Kinds of numbers that can have any size in a call of a kernel."""

HIDING_ROWS = 4
"""One row of a mask in so many hides everything."""

ADDED_BY_MASKS = (0.0, 0.0, 0.5, -1.5, -np.inf)
"""Numbers of a mask that is added."""

TREND = "trend"
"""The mode of elements along a long axis: those far from its begin decide about extremes, means and signs."""

_ORDINARY = ("integers", "halves", "near 1", "around 5", "large", "near 0")

MODES = (*_ORDINARY, "hard", "hard without NaN", "only hard", "wide", TREND)
"""Ways to draw the elements of a tensor of floating-point numbers. `hard` has a hard number in each eighth element."""

MODE_WEIGHTS = (1, 2, 4, 1, 1, 1, 2, 2, 1, 1, 0)
"""Weight of each mode in a draw; a caller chooses the last one."""

INTEGER_MODES = ("near 0", "up to 100", "with limits", "of all sizes", TREND)

INTEGER_MODE_WEIGHTS = (1, 1, 1, 1, 0)

TREND_ROWS = ("rising", "falling with equal extremes", "with special elements")
"""Kinds of rows along the longest axis, in turn over the rows."""

TREND_REACH = 4.0
"""Difference between the ends of a row and its middle; extremes are a bit farther."""

FAR_ELEMENTS = 4
"""Number of equal extremes of a row, and of its special elements."""

SCALES = (0.5, 0.25, 1.0, 0.1, 0.03)
"""Steps of quantization."""


def text_bits(text: str) -> int:
    """Return 64 bits of a text."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def element_bits(text: str, shape: Sequence[int]) -> Array:
    """Return 64 bits for each element of a shape. They depend on the text and on the index of the element."""
    bits = np.array(text_bits(text), np.uint64)
    with np.errstate(over="ignore"):
        for size in shape:
            bits = splitmix64(
                bits[..., None] ^ splitmix64(np.arange(1, size + 1, dtype=np.uint64) * SPLITMIX64_INCREMENT)
            )
    return bits


def choose_by_bits(options: Sequence[Any] | Array, bits: Array) -> Array:
    """Return one of some options for the bits of each element."""
    return np.asarray(np.asarray(options)[(bits % np.uint64(len(options))).astype(np.intp)])


def elements(
    text: str, dtype: np.dtype[Any], shape: Sequence[int], kind: str, mode: int, hard: Sequence[float]
) -> Array:
    """Return the elements of a tensor.

    Args:
        text: the text on which the elements depend.
        dtype: the element type.
        shape: the shape.
        kind: one of `VALUE_KINDS`.
        mode: the index of the mode in `MODES` or, for integers, in `INTEGER_MODES`.
        hard: numbers that are hard for the operator.
    """
    if kind == "mask" and shape:
        hides = element_bits(f"{text}/rows", (*shape[:-1], 1)) % np.uint64(HIDING_ROWS) == 0
        shown = elements(text, dtype, shape, "number", 0, hard)
        if dtype.kind == "b":
            return np.asarray(shown & ~hides)
        added = choose_by_bits(ADDED_BY_MASKS, element_bits(text, shape))
        return np.where(hides, -np.inf, added).astype(dtype)
    if dtype.kind == "b":
        return np.asarray(element_bits(text, shape) & np.uint64(1)).astype(bool)
    if dtype.kind in "iu":
        is_trend = INTEGER_MODES[mode] == TREND
        integers = (
            _trend_integers(text, dtype, shape) if is_trend else _integers(text, dtype, shape, INTEGER_MODES[mode])
        )
        is_refused = (integers == 0) | ((integers == -1) if dtype.kind == "i" else False)
        return np.where(is_refused & (kind == "divisor"), 3, integers).astype(dtype)
    if _has_few_elements(dtype):
        few = (element_bits(text, shape) % np.uint64(4)).astype(np.int64) - 2 * ("uint" not in dtype.name)
        return np.asarray(few.astype(str) if dtype.kind == "O" else few, dtype)
    bits = element_bits(text, shape)
    if kind == "scale":
        return choose_by_bits(SCALES, bits).astype(dtype)
    with np.errstate(all="ignore"):
        is_trend = MODES[mode] == TREND
        numbers = _trend_numbers(text, shape) if is_trend else _numbers(text, bits, dtype, MODES[mode], hard)
        numbers = numbers.astype(dtype)
        return np.abs(numbers) if kind == "positive" else numbers


def _has_few_elements(dtype: np.dtype[Any]) -> bool:
    """Return whether the elements are texts, complex numbers or integers of less than 8 bits."""
    return dtype.kind not in "biu" and not is_floating(dtype)


def mode_count(dtype: np.dtype[Any], kind: str) -> int:
    """Return the number of modes for a type and a kind."""
    if dtype.kind in "iu":
        return len(INTEGER_MODES)
    return (
        1
        if dtype.kind == "b" or _has_few_elements(dtype) or kind in ("scale", "mask")
        else 3
        if kind in SMALL_KINDS
        else len(MODES)
    )


def _integers(text: str, dtype: np.dtype[Any], shape: Sequence[int], mode: str) -> Array:
    bits = element_bits(text, shape)
    limits = np.iinfo(dtype)
    reach = 3 if mode == "near 0" else 100
    near = (bits % np.uint64(2 * reach + 1)).astype(np.int64) - reach * (limits.min < 0)
    numbers = np.clip(near, limits.min, min(limits.max, 2**63 - 1)).astype(dtype)
    if mode == "of all sizes":
        numbers = bits.astype(f"u{dtype.itemsize}").view(dtype)
    elif mode == "with limits":
        ends = np.array([limits.max, limits.min, limits.max - 1, limits.min + 1, limits.max // 2, 0], dtype)
        chosen = element_bits(f"{text}/ends", shape)
        numbers = np.where(chosen % np.uint64(4) == 0, choose_by_bits(ends, chosen // np.uint64(4)), numbers)
    return np.asarray(numbers)


def _numbers(text: str, bits: Array, dtype: np.dtype[Any], mode: str, hard: Sequence[float]) -> Array:
    unit = unit_fractions(bits)
    if mode in {"integers", "halves"}:
        steps = (bits % np.uint64(13)).astype(np.float64) - 6
        return np.asarray(steps / 2)
    ordinary = (unit + unit_fractions(splitmix64(bits)) - 1) * 2.5
    if mode == "wide":
        limits: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
        low = int(limits.minexp - limits.nmant)
        high = int(limits.maxexp)
        exponents = (splitmix64(bits) % np.uint64(high - low)).astype(np.int64) + low
        return np.ldexp(np.where(bits & np.uint64(1), 1 + unit, -1 - unit), exponents)
    if "hard" not in mode:
        factor, summand = {"near 1": (1, 0), "around 5": (1, 5), "large": (300, 0), "near 0": (1e-3, 0)}[mode]
        return np.asarray(ordinary * factor + summand)
    special = hard_numbers(dtype, hard, has_nan=mode != "hard without NaN")
    chosen = element_bits(f"{text}/hard", bits.shape)
    is_hard = np.full(bits.shape, mode == "only hard") | (chosen % np.uint64(8) == 0)
    return np.asarray(np.where(is_hard, choose_by_bits(special, chosen // np.uint64(8)), ordinary))


def _trend(text: str, shape: Sequence[int]) -> tuple[Array, Array, Array]:
    """Return the elements of the mode `TREND`, the kinds of the rows, and the turns of far elements.

    The turn of a far element is its number in the row, beginning with 1. It is 0 for other elements, and in rows whose
    far elements follow the trend.
    """
    length = max(shape, default=1)
    axis = shape.index(length) if shape else 0
    rows = [1 if place == axis else size for place, size in enumerate(shape)]
    steps = np.arange(length, dtype=np.float64).reshape([-1 if place == axis else 1 for place in range(len(shape))])
    kinds = (np.arange(prod(rows)).reshape(rows) + text_bits(text) % len(TREND_ROWS)) % len(TREND_ROWS)
    noise = ((element_bits(text, shape) % np.uint64(17)).astype(np.float64) - 8) / 16
    slope = (2 * steps / max(length - 1, 1) - 1) * TREND_REACH
    numbers = np.where(kinds == 0, slope, np.where(kinds == 1, -slope, 0.0)) + noise
    period = max(1, length // (FAR_ELEMENTS + 1))
    is_far = (steps % period == period - 1) & (steps >= period) & (kinds > 0)
    return numbers, np.broadcast_to(kinds, shape), np.where(is_far, steps // period, 0).astype(np.intp)


def _trend_numbers(text: str, shape: Sequence[int]) -> Array:
    """Return floating-point numbers of the mode `TREND`."""
    numbers, kinds, turns = _trend(text, shape)
    special = np.array([-0.0, np.inf, -0.0, -np.inf, np.nan])[turns % (FAR_ELEMENTS + 1)]
    extremes = np.where(turns % 2 == 1, TREND_REACH + 1, -TREND_REACH - 1)
    return np.asarray(np.where(turns > 0, np.where(kinds == 1, extremes, special), numbers))


def _trend_integers(text: str, dtype: np.dtype[Any], shape: Sequence[int]) -> Array:
    """Return integers of the mode `TREND`; the far elements are the limits of the type."""
    numbers, _, turns = _trend(text, shape)
    limits = np.iinfo(dtype)
    integers = np.floor(numbers * 16 + (80 if limits.min == 0 else 0)).astype(np.int64).astype(dtype)
    largest, smallest = (np.array(each, dtype) for each in (limits.max, limits.min))
    return np.asarray(np.where(turns > 0, np.where(turns % 2 == 1, largest, smallest), integers))


def hard_numbers(dtype: np.dtype[Any], hard: Sequence[float], *, has_nan: bool = True) -> list[float]:
    """Return the numbers that are hard in a type, such as infinities and subnormals, and those of an operator."""
    limits: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    largest, normal, least = (float(each) for each in (limits.max, limits.tiny, limits.smallest_subnormal))
    general = [0.0, -0.0, np.inf, -np.inf, largest, -largest, normal, -normal, least, -least, normal / 2, 1.0, -1.0]
    return [
        *([np.nan] if has_nan else []),
        *general,
        1 + float(limits.eps),
        *(each for each in hard if has_nan or not isnan(each)),
    ]


SPARSENESS = 64
"""One element in so many is hard in a probe that keeps the other elements, so that most sums keep their numbers."""

PROBE_MODES = ("hard without NaN", "halves", "hard", "only hard", "wide", "large")
"""The modes of the elements of the first probes; further probes repeat them with other elements."""

EQUAL_ROWS = (-np.inf, np.inf, 0.0, -1.0)
EQUAL_PERIOD = 4
"""Numbers of which a row has only one in a probe with hard numbers, and one row in so many is such a row."""

MAX_THRESHOLDS = 16
"""Number of thresholds of a forest that are hard numbers."""

SIGNS = (0, 0, 0, 1, -1)
"""The sign that all small numbers of a probe have, by its number; 0 for both signs."""

OWN_PERIODS = {"hard": 8, "only hard": 2, "wide": 4}
"""One element in so many is a number that is hard for the operator, by mode."""

LARGEST_MODERATE = 128.0
"""Largest number of a row of moderate numbers: near it, exponentials in float overflow."""

MODERATE_EXPONENTS = 5.3125
"""Range of the binary logarithms of moderate numbers, from 3 to almost the largest one."""


def probe_values(operator: str, name: str, array: Array, kind: str, number: int, hard: Sequence[float]) -> Array:
    """Return the elements of an operand in a probe.

    Args:
        operator: the operator.
        name: the name of the operand.
        array: the elements that the model has.
        kind: the kind of its elements.
        number: the number of the probe.
        hard: numbers that are hard for the operator.
    """
    text = f"{operator}/{name}/{number}"
    mode = PROBE_MODES[number % len(PROBE_MODES)]
    shape = array.shape
    if array.dtype.kind in "iu" and kind not in SMALL_KINDS:
        integers = _probe_integers(text, f"{operator}/{number}", array, number)
        refused = (0, -1) if array.dtype.kind == "i" else (0,)
        return np.where(np.isin(integers, refused) & (kind == "divisor"), 3, integers).astype(array.dtype)
    if array.dtype.kind in "biu" or kind in ("scale", "mask"):
        return elements(text, array.dtype, shape, kind, 0, hard)
    if kind in SMALL_KINDS:
        drawn = elements(text, array.dtype, shape, kind, number % 3, hard)
        if (sign := SIGNS[number % len(SIGNS)]) and is_floating(array.dtype):
            drawn = (sign * (np.abs(drawn.astype(np.float64)) + 0.5)).astype(array.dtype)
        return _with_own(text, drawn, hard, 2, number) if operator == "QuantizeLinear" else drawn
    if mode == "halves":
        rows = _finite_rows(text, shape).astype(array.dtype)
        return np.abs(rows) if kind == "positive" else rows
    drawn = elements(text, array.dtype, shape, kind, MODES.index(mode), hard)
    if mode == "only hard":
        same = elements(f"{operator}/{number}", array.dtype, shape, kind, MODES.index(mode), hard)
        drawn = np.where(_is_shared(f"{operator}/{number}", shape), same, drawn)
        if (count := prod(shape[:-1])) > 1:
            rows = np.arange(count).reshape(*shape[:-1], 1)
            ends = choose_by_bits(EQUAL_ROWS, (rows // EQUAL_PERIOD + number // len(PROBE_MODES)).astype(np.uint64))
            is_equal = rows % EQUAL_PERIOD == min(count, EQUAL_PERIOD) - 1
            drawn = np.where(is_equal, ends.astype(array.dtype), drawn)
    if mode in OWN_PERIODS:
        drawn = _with_own(text, drawn, hard, OWN_PERIODS[mode], number)
        return np.abs(drawn) if kind == "positive" else drawn
    if mode != "hard without NaN":
        return drawn
    only = elements(text, array.dtype, shape, kind, MODES.index("only hard"), hard)
    bits = element_bits(f"{text}/sparse", shape)
    chosen = (bits % np.uint64(SPARSENESS) == 0) | (bits == bits.min(initial=bits.max(initial=0)))
    return np.where(chosen & ~np.isnan(only.astype(np.float64)), only, array)


def _between_powers(exponents: Array) -> Array:
    """Return powers of 2, and numbers evenly between them for a fraction of an exponent.

    The bits of `numpy.exp2` and `numpy.power` depend on the processor.
    """
    whole = np.floor(exponents)
    return np.asarray(np.ldexp(1 + (exponents - whole), whole.astype(np.int64)))


LINEAR_LIMIT = 32.0
EXPONENT_LIMITS = (-12, 24)
"""Limits of the even numbers of `magnitudes`, and the powers of 2 between which its other magnitudes are."""


def magnitudes(text: str, count: int) -> Array:
    """Return numbers in a random order that leave out no range: evenly spaced ones, and powers of 2 between two limits.

    Args:
        text: the text on which the numbers depend.
        count: how many.
    """
    places = np.arange(count) + element_bits(f"{text}/inside", (count,)) / 2.0**64
    half = count // 2
    even = LINEAR_LIMIT * (2 * places[:half] / max(half, 1) - 1)
    low, high = EXPONENT_LIMITS
    powers = _between_powers(low + (high - low) * (places[half:] - half) / max(count - half, 1))
    signs = np.where(element_bits(f"{text}/sign", powers.shape) & np.uint64(1), -1.0, 1.0)
    numbers = np.concatenate([even, signs * powers])
    return np.asarray(numbers[np.argsort(element_bits(f"{text}/order", (count,)), kind="stable")])


EQUAL_ELEMENTS = 5
"""Number of arrays of `with_equal_elements`."""


def with_equal_elements(array: Array, kind: str, number: int) -> Array:
    """Return an array of a shape and type whose elements are all the same number, one of a few by its index."""
    numbers: Sequence[float] = (1.0, -1.25, np.nan, np.inf, 0.0)
    if array.dtype.kind == "b":
        numbers = (True, False)
    elif array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        numbers = (1, 3, limits.max, limits.min, 0 if kind != "divisor" else 2)
    elif kind in SMALL_KINDS:
        numbers = (1.0, -1.25)
    with np.errstate(all="ignore"):
        found = np.full(array.shape, numbers[number % len(numbers)]).astype(array.dtype)
        return np.abs(found) if kind == "positive" else found


LATE_PLACES = 8
"""The extremes of a long axis are in the last pairs of its elements, so many."""

LARGE_INTEGER = 100
LARGE_NUMBERS = {"small": 8, "score": 8}
"""The largest element of a long axis among small ones, of integers and by kind of elements; 16 for other kinds."""

EXTREMES = 2
"""Number of kinds of elements of `with_late_extremes`."""


def with_late_extremes(text: str, array: Array, kind: str, number: int) -> Array:
    """Return elements of which the largest and the smallest one of each long lane are alone, near the end of the lane.

    A kernel that reads the first part of an axis only is wrong on them. The first kind of elements has large extremes
    among small numbers. The second kind has two others among ones, whose product is finite; odd lanes have them near
    the start.

    Args:
        text: the text on which the elements depend.
        array: an array of the shape and type, whose lanes are along the longest axis.
        kind: one of `VALUE_KINDS`.
        number: 0 or 1, the kind of elements.
    """
    has_negative = array.dtype.kind != "u" and kind != "positive"
    if array.dtype.kind == "b":
        rest = np.full(array.shape, number == 1)
        largest = smallest = 1 - number
    elif number:
        rest = np.ones(array.shape)
        largest = 3
        smallest = -2 if has_negative else 2
    else:
        is_integer = array.dtype.kind in "iu"
        mode = INTEGER_MODES.index("near 0") if is_integer else MODES.index("near 1")
        rest = elements(text, array.dtype, array.shape, kind, mode, ())
        rest = np.maximum(rest, 1) if array.dtype.kind == "u" else rest
        largest = LARGE_INTEGER if is_integer else LARGE_NUMBERS.get(kind, 16)
        smallest = -largest if has_negative else int(kind == "divisor")
    axis = int(np.argmax(array.shape))
    lanes = np.moveaxis(np.array(rest), axis, -1)
    bits = element_bits(f"{text}/late", lanes.shape[:-1])
    place = lanes.shape[-1] - 1 - 2 * (bits % np.uint64(LATE_PLACES)).astype(np.int64)
    odd = np.arange(bits.size).reshape(bits.shape) % 2 == 1
    for each, extreme in ((place, largest), (place - 1, smallest)):
        moved = np.where(odd & (number == 1), lanes.shape[-1] - 1 - each, each)
        np.put_along_axis(lanes, moved[..., None], np.array(extreme).astype(lanes.dtype), -1)
    return np.ascontiguousarray(np.moveaxis(lanes, -1, axis)).astype(array.dtype)


_NAN_BITS = {"float16": 10, "float32": 23, "float64": 52, "bfloat16": 7}
"""Number of bits of the fraction of a type. The first one is 1 in a quiet NaN, which no conversion warns of."""


def with_nans(text: str, array: Array) -> Array:
    """Return an array whose NaN have different bits: of both signs, and with all bits of the fraction.

    A conversion that rounds these bits makes a zero of such a NaN.
    """
    count = _NAN_BITS.get(array.dtype.name)
    with np.errstate(invalid="ignore"):
        is_nan = np.isnan(array) if count else np.zeros(array.shape, bool)
    if count is None or not is_nan.any():
        return array
    bits = element_bits(f"{text}/NaN", array.shape)
    size = 8 * array.dtype.itemsize
    whole = np.uint64(2 ** (size - 1) - 2**count)  # all bits of the exponent
    fraction = np.where(bits & np.uint64(1), np.uint64(2**count - 1), np.uint64(2 ** (count - 1)))
    sign = ((bits >> np.uint64(1)) & np.uint64(1)) << np.uint64(size - 1)
    chosen = (whole | fraction | sign).astype(f"u{array.dtype.itemsize}").view(array.dtype)
    return np.where(is_nan, chosen, array)


def probe_indices(text: str, array: Array, sizes: Array, *, has_negative: bool, keeps_order: bool) -> Array:
    """Return other valid indices.

    Args:
        text: the text on which the indices depend.
        array: the indices that the model has.
        sizes: the size of the axis, or of the axis of each column.
        has_negative: whether an index may count from the end.
        keeps_order: whether indices that differ must stay different.
    """
    if not array.size or (sizes == 0).any():
        return array
    bits = element_bits(text, array.shape)
    moves = element_bits(text, (1,)) if keeps_order else bits >> np.uint64(8)
    places = (array.astype(np.int64) + (moves % np.uint64(2**16)).astype(np.int64)) % sizes
    is_negative = (bits & np.uint64(1)).astype(bool) & has_negative
    return np.asarray(places - is_negative * sizes).astype(array.dtype)


def _is_shared(text: str, shape: Sequence[int]) -> Array:
    """Return which elements are equal, or nearly, in all operands of a shape."""
    return np.asarray(element_bits(f"{text}/shared", shape) & np.uint64(1)).astype(bool)


def _with_own(text: str, drawn: Array, hard: Sequence[float], period: int, number: int) -> Array:
    """Replace elements by the numbers that are hard for an operator and by -0, in turn over the probes."""
    own = np.array([each for start in range(0, max(1, len(hard)), 4) for each in (*hard[start : start + 4], -0.0)])
    chosen = (element_bits(f"{text}/own", drawn.shape) % np.uint64(period) == 0) & bool(hard)
    turns = np.cumsum(chosen).reshape(drawn.shape) + number * (drawn.size // period + 1)
    with np.errstate(all="ignore"):
        return np.where(chosen, own[turns % len(own)].astype(drawn.dtype), drawn)


def _signs(shape: Sequence[int]) -> Array:
    """Return the sign of each row: 0 for any signs, -1 if all elements are negative, and 1 if all are positive.

    A row is a batch element's channel, or a row of a matrix.
    """
    if len(shape) < 2:
        return np.zeros(shape, np.int64)
    leading = shape[: 2 if len(shape) > 2 else 1]
    rows = np.arange(prod(leading)).reshape(*leading, *[1] * (len(shape) - len(leading)))
    return np.broadcast_to((rows + 2) % 3 - 1, shape)


def _finite_rows(text: str, shape: Sequence[int]) -> Array:
    """Return halves, moderate numbers, and the largest or smallest one in several elements; rows have one sign."""
    bits = element_bits(text, shape)
    other = element_bits(f"{text}/class", shape)
    halves = ((bits % np.uint64(13)).astype(np.float64) - 6) / 2
    moderate = 3 * _between_powers(MODERATE_EXPONENTS * unit_fractions(bits)) * np.where(bits & np.uint64(1), 1, -1)
    signs = _signs(shape)
    kind = other % np.uint64(8)
    numbers = np.where(kind < 3, halves, np.where(kind < 5, moderate, LARGEST_MODERATE))
    sizes = np.where(signs == 0, numbers, np.maximum(np.abs(numbers), 0.5))
    extreme = np.where(other & np.uint64(8), LARGEST_MODERATE, -LARGEST_MODERATE)
    largest = np.where(signs == 0, extreme, np.where(signs < 0, -0.25, LARGEST_MODERATE))
    return np.asarray(np.where(kind < 5, np.where(signs < 0, -sizes, sizes), largest))


def _probe_integers(text: str, shared: str, array: Array, number: int) -> Array:
    """Return small integers, integers with half of the bits, and those next to a limit or to a power of two."""
    dtype = array.dtype
    limits = np.iinfo(array.dtype)
    near = elements(text, dtype, array.shape, "number", INTEGER_MODES.index("up to 100"), ())
    powers = [2**power + step for power in (24, 31, 53, 63) for step in (-1, 1)]
    ends = [limits.max, limits.min, limits.max - 1, limits.min + 1, limits.max // 2, 0, *powers]
    large = np.array([end for end in ends if limits.min <= end <= limits.max], dtype)
    kind, bits, same = (element_bits(each, array.shape) for each in (f"{text}/kind", f"{text}/bits", f"{shared}/same"))
    half = (bits % np.uint64(2 ** (8 if dtype.itemsize == 1 else dtype.itemsize * 4 - 1))).astype(dtype)
    drawn = np.where(kind % np.uint64(4) < 2, near, half)
    drawn = np.where(kind % np.uint64(4) == 0, choose_by_bits(large, bits), drawn)
    step = (bits >> np.uint64(32)) & np.uint64(1)
    alike = choose_by_bits(large, same) ^ step.astype(dtype)
    is_alike = _is_shared(shared, array.shape) & (number % 5 == 3)
    drawn = np.where(is_alike, alike, drawn)
    signs = _signs(array.shape) if number % 5 == 1 and dtype.kind == "i" else np.zeros((), np.int64)
    sizes = np.where(drawn == limits.min, limits.max, np.abs(drawn.astype(dtype)))
    return np.asarray(np.where(signs == 0, drawn, np.where(signs < 0, -sizes, sizes))).astype(dtype)


QUANTIZED_STEPS = (0.5, 1.5, 2.5, 127.5, -128.5, 255.5, 300.0, -300.0, 40000.0, 70000.0, -70000.0)
"""Numbers of quantization steps at which a result is a tie or out of the range of its type."""

RANGED_OPERANDS = ("batches", "lengths", "positions", "segments", "shifts", "target", "words")
"""Operands of declarations of which each integer of the range is valid, and changes no shape."""

MAX_OPTIONS = 256
"""Number of integers of a large range that are used."""

DRAWN_OPERANDS = ("indices", "rois", "boxes")
"""Operands of which each option of the declaration is valid in each model."""


def fitting_declarations(node: onnx.NodeProto, opset: float = inf) -> list[OperatorDeclaration]:
    """Return the declarations of a node's operator that fit the version of the main domain that a model imports.

    Those of an operator of another domain fit each version.
    """
    domain = normal_domain(node.domain)
    every = [each for each in declarations().get(operator_name(node.op_type, domain), ()) if each.domain == domain]
    fitting = [each for each in every if domain or min(each.opsets_of(node.op_type)) <= opset]
    return [each for each in fitting if len(each.inputs) >= len(node.input)] or fitting


def free_operands(
    node: onnx.NodeProto, opset: int, values: Mapping[str, Array], constants: Container[str]
) -> dict[str, str | Rule]:
    """Return the kind of elements, or the rule of indices, of each operand that may have other elements, by name.

    Args:
        node: the node.
        opset: the version of the main domain.
        values: the values of the operands by name.
        constants: the names of operands that keep their elements.
    """
    found: dict[str, str | Rule] = {}
    declarations = list(fitting_declarations(node, opset))
    for place, name in enumerate(node.input):
        if not name or name in found or name in constants:
            continue
        fitting = [each for each in declarations if _has_elements(each, place, values[name])]
        newest = max(fitting, key=lambda each: min(each.opsets_of(node.op_type)), default=None)
        kinds = [kind for each in fitting for kind in each.value_kinds(_operand_name(each, place))]
        texts = [kind for kind in kinds if isinstance(kind, str)]
        if texts and (place == 0 or len(texts) == len(kinds)) and _has_modes(values[name], place):
            found[name] = "divisor" if "divisor" in texts else texts[0]
        own = _operand_name(newest, place) if newest is not None else ""
        for kind in newest.value_kinds(own) if newest is not None else ():
            if isinstance(kind, Rule) and (is_index(kind) or (own in DRAWN_OPERANDS and kind.options)):
                found[name] = kind
        if (own_range := declared_range(fitting, node, place, values)) is not None:
            found[name] = Rule(options=range_options(*own_range))
    return found


def declared_range(
    declarations: Iterable[OperatorDeclaration], node: onnx.NodeProto, place: int, values: Mapping[str, Array]
) -> tuple[int, int] | None:
    """Return the smallest and the largest integer of an operand; None if no declaration of the node states them.

    Args:
        declarations: the declarations of the operator.
        node: the node.
        place: the place of the operand.
        values: the values of the operands that are known, by name.
    """
    for declaration in declarations:
        operands = declaration.operands()
        if place >= len(operands) or operands[place].name not in RANGED_OPERANDS:
            continue
        rules = [each for each in declaration.value_kinds(operands[place].name) if isinstance(each, Rule) and each.low]
        sizes = _sizes(operands, node, values)
        if len(rules) != 1 or sizes is None or not _fits(declaration, operands[place], node, values[node.input[place]]):
            continue
        low, high = (_value(text, sizes) for text in (rules[0].low, rules[0].high))
        if low is not None and high is not None and low <= high:
            return low, high
    return None


def range_options(low: int, high: int) -> tuple[int, ...]:
    """Return at most `MAX_OPTIONS` integers of a range, with both ends."""
    step = max(1, -(-(high - low) // (MAX_OPTIONS - 1)))
    return (*range(low, high, step), high)


def _fits(declaration: OperatorDeclaration, operand: DeclaredOperand, node: onnx.NodeProto, array: Array) -> bool:
    """Return whether a declaration has the type of an operand, and the only integer of an attribute that a node has."""
    types = declaration.types.get(operand.type, (operand.type,))
    if type_name(array.dtype) not in (TYPE_SETS[types] if isinstance(types, str) else types):
        return False
    given = {each.name: each.i for each in node.attribute}
    for name, options in declaration.attributes.items():
        others = {*options} - {"absent"}
        is_left_out = name not in given and ("absent" in options or _default(node, name) in others)
        is_only_one = len(others) == 1 and all(isinstance(each, int) for each in others)
        if is_only_one and not is_left_out and given.get(name) not in others:
            return False
    return True


def _default(node: onnx.NodeProto, name: str) -> int | None:
    """Return the default of an integer that is an attribute of a node's operator; None if there is none."""
    if not defs.has(node.op_type, node.domain):
        return None
    known = defs.get_schema(node.op_type, node.domain).attributes
    return int(known[name].default_value.i) if name in known else None


def _sizes(
    operands: Iterable[DeclaredOperand], node: onnx.NodeProto, values: Mapping[str, Array]
) -> dict[str, int] | None:
    """Return the sizes by name that the shapes of known operands have; None if they contradict the declaration."""
    found: dict[str, int] = {}
    for operand, name in zip(operands, node.input, strict=False):
        if name not in values:
            continue
        parts = operand.shape.split()
        shape = values[name].shape
        leading = [*takewhile(str.isidentifier, parts)]
        if len(parts) > len(shape) + (len(leading) < len(parts)):
            return None
        for part, size in zip(leading, shape, strict=False):
            if found.setdefault(part, size) != size:
                return None
    return found


def _value(text: str, sizes: Mapping[str, int]) -> int | None:
    """Return the value of an expression of sizes; None if a size is not known."""
    try:
        return expression_value(text, lambda name: int(name) if name.isdecimal() else sizes[name])
    except KeyError:
        return None


def operand_rule(node: onnx.NodeProto, opset: int, place: int) -> str | Rule:
    """Return the kind of the elements of an operand, or the rule that they must follow if a declaration has one."""
    kinds = [
        kind for each in fitting_declarations(node, opset) for kind in each.value_kinds(_operand_name(each, place))
    ]
    return next((kind for kind in kinds if isinstance(kind, Rule)), next(iter(kinds), "number"))


def _has_elements(declaration: OperatorDeclaration, place: int, array: Array) -> bool:
    """Return whether a declaration draws elements of an operand; it may lack an operand of floating-point numbers."""
    operands = declaration.operands()
    if place >= len(operands) and operands[-1].mark != "*":
        return is_floating(array.dtype)
    operand = operands[min(place, len(operands) - 1)]
    return operand.mark != "-" and operand.shape != "0"


def _operand_name(declaration: OperatorDeclaration, place: int) -> str:
    return declaration.operands()[min(place, len(declaration.inputs) - 1)].name


def is_index(rule: Rule) -> bool:
    """Return whether a rule gives indices of an axis of the first operand, or of several axes."""
    return bool(rule.columns) or rule.high == "S[axis]-1"


def _has_modes(array: Array, place: int) -> bool:
    """Return whether elements of an operand are drawn: numbers of 8 bits and more, but not zero points of 8 bits."""
    if is_floating(array.dtype) and array.dtype.itemsize == 1:
        return place == 0
    return array.dtype.kind in "biu" or is_floating(array.dtype)


def hard_numbers_of(node: onnx.NodeProto, opset: int, values: Mapping[str, Array]) -> list[float]:
    """Return numbers that are hard for a node; for QuantizeLinear they depend on the scale."""
    if node.op_type == "QuantizeLinear":
        return [step * float(values[node.input[1]].flat[0]) for step in QUANTIZED_STEPS]
    fitting = [each for each in fitting_declarations(node, opset) if _makes_type_of(each, node)]
    return [value for declaration in fitting for value in declaration.hard] + thresholds(node)


def thresholds(node: onnx.NodeProto) -> list[float]:
    """Return some numbers with which a decision tree compares features: their order shows in equal features only."""
    given = {each.name: each for each in node.attribute if each.name in ("nodes_values", "nodes_splits")}
    numbers = [number for each in given.values() for number in (*each.floats, *_numbers_of(each))]
    return list(dict.fromkeys(numbers))[:MAX_THRESHOLDS]


def _numbers_of(attribute: onnx.AttributeProto) -> list[float]:
    return array_of(attribute.t).astype(np.float64).ravel().tolist() if attribute.HasField("t") else []


def _makes_type_of(declaration: OperatorDeclaration, node: onnx.NodeProto) -> bool:
    """Return whether a declaration has the output type that an attribute `to` of a node chooses, if there is one."""
    given = declaration.types.get("T2", ())
    numbers = set(map(type_number, TYPE_SETS[given] if isinstance(given, str) else given))
    chosen = {each.i for each in node.attribute if each.name == "to"}
    return "to" not in declaration.attributes or not numbers or chosen <= numbers


def input_places(node: onnx.NodeProto) -> dict[str, int]:
    """Return the first place of each operand of a node, by name."""
    return {name: place for place, name in reversed(list(enumerate(node.input)))}


def hard_elements(
    node: onnx.NodeProto, values: Mapping[str, Array], place: int, kind: str | Rule, probe: int, hard: Sequence[float]
) -> Array:
    """Return hard elements of an operand of a node.

    Args:
        node: the node.
        values: the values of the operands by name.
        place: the place of the operand.
        kind: the kind of its elements, or the rule of its indices; see `free_operands`.
        probe: the number of the probe.
        hard: numbers that are hard for the node.
    """
    array = values[node.input[place]]
    if isinstance(kind, str):
        made = probe_values(node.op_type, f"X{place}", array, kind, probe, hard)
        if place == 0 and node.domain == "ai.onnx.ml":
            made = reach_splits(node, made, element_bits(f"{node.op_type}/rows/{probe}", (*array.shape[:1], 1)))
        return with_nans(f"{node.op_type}/{place}", made)
    text = f"{node.op_type}/X{place}/{probe}"
    if not is_index(kind):
        return choose_by_bits(kind.options, element_bits(text, array.shape)).astype(array.dtype)
    data = values[node.input[0]]
    attributes = {each.name: each.i for each in node.attribute}
    first = attributes.get("batch_dims", 0)
    sizes = data.shape[first : first + array.shape[-1]] if kind.columns else data.shape[attributes.get("axis", 0)]
    keeps_order = node.op_type.startswith("Scatter")
    has_negative = bool(kind.columns) or kind.low.startswith("0-")
    return probe_indices(text, array, np.array(sizes), has_negative=has_negative, keeps_order=keeps_order)
