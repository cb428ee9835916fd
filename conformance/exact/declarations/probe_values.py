"""Elements of the operands of a probe: each kind of hard values in one of the first probes.

A kind is a few elements or a row, so that a small tensor has several kinds, and sums of the other rows stay finite.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from conformance.exact.declarations.hard_values import INTEGER_MODES, MODES, choose_by_bits, element_bits, elements
from conformance.exact.models.model_building import unit_fractions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.exact.models.arrays import Array

SPARSENESS = 64
"""One element in so many is hard in a probe that keeps the other elements, so that most sums keep their numbers."""

PROBE_MODES = ("hard without NaN", "halves", "hard", "only hard", "wide", "large")
"""The modes of the elements of the first probes; further probes repeat them with other elements."""

OWN_PERIODS = {"hard": 8, "only hard": 2, "wide": 4}
"""One element in so many is a number that is hard for the operator, by mode."""

LARGEST_MODERATE = 128.0
"""Largest number of a row of moderate numbers: near it, exponentials in float overflow."""


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
    if array.dtype.kind in "iu" and kind != "small":
        integers = _integers(text, f"{operator}/{number}", array, number)
        refused = (0, -1) if array.dtype.kind == "i" else (0,)
        return np.where(np.isin(integers, refused) & (kind == "divisor"), 3, integers).astype(array.dtype)
    if array.dtype.kind in "biu" or kind == "scale":
        return elements(text, array.dtype, shape, kind, 0, hard)
    if kind == "small":
        drawn = elements(text, array.dtype, shape, kind, number % 3, hard)
        return _with_own(text, drawn, hard, 2, number) if operator == "QuantizeLinear" else drawn
    if mode == "halves":
        rows = _finite_rows(text, shape).astype(array.dtype)
        return np.abs(rows) if kind == "positive" else rows
    drawn = elements(text, array.dtype, shape, kind, MODES.index(mode), hard)
    if mode == "only hard":
        same = elements(f"{operator}/{number}", array.dtype, shape, kind, MODES.index(mode), hard)
        drawn = np.where(_is_shared(f"{operator}/{number}", shape), same, drawn)
    if mode in OWN_PERIODS:
        drawn = _with_own(text, drawn, hard, OWN_PERIODS[mode], number)
        return np.abs(drawn) if kind == "positive" else drawn
    if mode != "hard without NaN":
        return drawn
    only = elements(text, array.dtype, shape, kind, MODES.index("only hard"), hard)
    bits = element_bits(f"{text}/sparse", shape)
    chosen = (bits % np.uint64(SPARSENESS) == 0) | (bits == bits.min(initial=bits.max(initial=0)))
    return np.where(chosen & ~np.isnan(only.astype(np.float64)), only, array)


def exact_sum_values(text: str, array: Array, terms: int, *, is_sparse: bool) -> Array:
    """Return elements whose sums are exact in every order of addition, so that a lost term shows.

    Sparse elements are powers of two, and a sum has about one of them. The sum of the others, which are small positive
    integers, has no more digits than the type.

    Args:
        text: the text on which the elements depend.
        array: the elements that the model has.
        terms: the number of terms of a sum.
        is_sparse: whether a sum has about one term that is not 0.
    """
    bits = element_bits(f"{text}/exact", array.shape)
    period = np.uint64(terms if is_sparse else max(1, 4 * terms >> _DIGITS.get(array.dtype.name, 24)))
    powers = (
        np.where(bits & np.uint64(1 << 40), 2.0, 0.5) if is_sparse else 1.0 + (bits >> np.uint64(40)) % np.uint64(3)
    )
    chosen = (bits % period == 0) | (bits == bits.min(initial=bits.max(initial=0)))
    return np.where(chosen, powers, 0.0).astype(array.dtype)


_DIGITS = {"float16": 11, "bfloat16": 8, "float64": 53}
"""The binary digits of the types of floating-point numbers other than float."""


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
    moderate = 3 * (LARGEST_MODERATE / 3) ** unit_fractions(bits) * np.where(bits & np.uint64(1), 1, -1)
    signs = _signs(shape)
    kind = other % np.uint64(8)
    numbers = np.where(kind < 3, halves, np.where(kind < 5, moderate, LARGEST_MODERATE))
    sizes = np.where(signs == 0, numbers, np.maximum(np.abs(numbers), 0.5))
    extreme = np.where(other & np.uint64(8), LARGEST_MODERATE, -LARGEST_MODERATE)
    largest = np.where(signs == 0, extreme, np.where(signs < 0, -0.25, LARGEST_MODERATE))
    return np.asarray(np.where(kind < 5, np.where(signs < 0, -sizes, sizes), largest))


def _integers(text: str, shared: str, array: Array, number: int) -> Array:
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
