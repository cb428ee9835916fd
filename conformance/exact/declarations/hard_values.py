"""Elements of drawn tensors: each is a function of a text and of its index, so a smaller tensor keeps its elements.

The bits come from a counter-based hash and not from a random number library, whose streams change between versions.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from conformance.exact.models.arrays import Array, is_floating
from conformance.exact.models.model_building import SPLITMIX64_INCREMENT, splitmix64, unit_fractions

if TYPE_CHECKING:
    from collections.abc import Sequence


VALUE_KINDS = ("number", "positive", "small", "scale", "divisor")
"""Kinds of elements: any number, no negative number, a number near 1 in size, a step of quantization, and a number
without the integers 0 and -1, by which a division of integers can stop a process."""

MODES = ("integers", "halves", "near 1", "around 5", "large", "near 0", "hard", "hard without NaN", "only hard", "wide")
"""Ways to draw the elements of a tensor of floating-point numbers. `hard` has a hard number in each eighth element."""

MODE_WEIGHTS = (1, 2, 4, 1, 1, 1, 2, 2, 1, 1)
"""Weight of each mode in a draw."""

INTEGER_MODES = ("near 0", "up to 100", "with limits", "of all sizes")

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
    if dtype.kind == "b":
        return np.asarray(element_bits(text, shape) & np.uint64(1)).astype(bool)
    if dtype.kind in "iu":
        integers = _integers(text, dtype, shape, INTEGER_MODES[mode])
        is_refused = (integers == 0) | ((integers == -1) if dtype.kind == "i" else False)
        return np.where(is_refused & (kind == "divisor"), 3, integers).astype(dtype)
    if _has_few_elements(dtype):
        few = (element_bits(text, shape) % np.uint64(4)).astype(np.int64) - 2 * ("uint" not in dtype.name)
        return np.asarray(few.astype(str) if dtype.kind == "O" else few, dtype)
    bits = element_bits(text, shape)
    if kind == "scale":
        return choose_by_bits(SCALES, bits).astype(dtype)
    with np.errstate(all="ignore"):
        numbers = _numbers(text, bits, dtype, MODES[mode], hard).astype(dtype)
        return np.abs(numbers) if kind == "positive" else numbers


def _has_few_elements(dtype: np.dtype[Any]) -> bool:
    """Return whether the elements are texts, complex numbers or integers of less than 8 bits."""
    return dtype.kind not in "biu" and not is_floating(dtype)


def mode_count(dtype: np.dtype[Any], kind: str) -> int:
    """Return the number of modes for a type and a kind."""
    if dtype.kind in "iu":
        return len(INTEGER_MODES)
    return (
        1 if dtype.kind == "b" or _has_few_elements(dtype) or kind == "scale" else 3 if kind == "small" else len(MODES)
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


def hard_numbers(dtype: np.dtype[Any], hard: Sequence[float], *, has_nan: bool = True) -> list[float]:
    """Return the numbers that are hard in a type, such as infinities and subnormals, and those of an operator."""
    limits: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    largest, normal, least = (float(each) for each in (limits.max, limits.tiny, limits.smallest_subnormal))
    general = [0.0, -0.0, np.inf, -np.inf, largest, -largest, normal, -normal, least, -least, normal / 2, 1.0, -1.0]
    return [*([np.nan] if has_nan else []), *general, 1 + float(limits.eps), *hard]
