"""Cases of plain ArgMax by the values it compares: every type, ties, extremes, infinities and NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from ml_dtypes import bfloat16, finfo

from conformance.models.arrays import type_name
from conformance.verdicts import Level
from generators.argmax.case import argmax_case

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.corpus.case import Case
    from conformance.models.arrays import Array

TYPED: Mapping[Any, Sequence[Any]] = {
    np.float16: [1.0, -2.0, 1.001, 0.5],
    np.float32: [1.0, 1.0 + 2.0**-23, -3.0, 1.0],
    np.float64: [1.0, 1.0 + 2.0**-52, -3.0, 1.0],
    np.int8: [-128, 127, 126, -1],
    np.uint8: [0, 255, 254, 128],
    np.int16: [-32768, 32766, 32767, 0],
    np.uint16: [0, 65534, 65535, 32768],
    np.int32: [-(2**31), 2**31 - 2, 2**31 - 1, 2**24],
    np.uint32: [0, 2**32 - 2, 2**32 - 1, 2**31],
    np.int64: [2**53, 2**53 + 1, -(2**63), 2**53],
    np.uint64: [2**63, 2**63 + 1, 2**53, 0],
    bfloat16: [1.0, -2.0, 1.0078125, 0.5],
}
"""Per type, values whose largest differs from a neighbour by the least the type can tell."""

FLOATS = (np.float16, np.float32, np.float64, bfloat16)
VECTOR: Mapping[str, int] = {"axis": 0, "keepdims": 0}

BEYOND: Mapping[str, tuple[Any, Sequence[int], str]] = {
    "doubles_int64": (np.int64, [-(2**53) - 1, -(2**53), -(2**53) - 2], "int64 elements that are equal as doubles"),
    "doubles_uint64": (np.uint64, [2**64 - 2, 2**64 - 1, 2**64 - 3], "uint64 elements that are equal as doubles"),
    "floats_int32": (np.int32, [2**24, 2**24 + 1, 2**24 - 1], "int32 elements that are equal as floats"),
    "floats_uint32": (np.uint32, [2**32 - 3, 2**32 - 1, 2**32 - 2], "uint32 elements that are equal as floats"),
    "32_bits_int64": (np.int64, [5, 2**32 + 4, 2**33 + 3], "int64 elements that are in reverse order by 32 bits"),
    "32_bits_negative": (np.int64, [-(2**33) + 9, -(2**32) + 5, -(2**33)], "negative int64 elements by all 64 bits"),
    "sign_uint64": (np.uint64, [1, 2**63, 2**63 - 1], "uint64 elements that are negative as int64"),
    "sign_uint32": (np.uint32, [1, 2**31, 2**31 - 1], "uint32 elements that are negative as int32"),
    "sign_uint16": (np.uint16, [1, 2**15, 2**15 - 1], "uint16 elements that are negative as int16"),
    "sign_uint8": (np.uint8, [1, 2**7, 2**7 - 1], "uint8 elements that are negative as int8"),
}
"""Integers that another type does not tell apart, or has in another order."""

NANS: Mapping[str, tuple[Sequence[float], str]] = {
    "nan_first": ([np.nan, 3, 1], "a NaN is the first element"),
    "nan_middle": ([3, np.nan, 5], "a NaN stands between"),
    "nan_last": ([1, 3, np.nan], "a NaN is the last element"),
    "nan_negative": ([1, -np.nan, 3], "a NaN has its sign bit set"),
    "nan_several": ([1, np.nan, 3, np.nan], "there are two NaN"),
    "nan_everywhere": ([np.nan, np.nan, np.nan], "all elements are NaN"),
    "nan_and_infinity": ([np.inf, np.nan, 1], "there are a NaN and an infinity"),
}
"""What nothing says the index of."""


def cases() -> Iterator[Case]:
    """Types over opsets, and values that are easily compared wrongly."""
    for dtype, values in TYPED.items():
        yield from _typed(dtype, np.array(values, dtype=dtype))
        yield from _extremes(dtype)
    for dtype in (np.int64, np.uint64):
        name = type_name(np.dtype(dtype))
        X = np.array([7, 2**40, 2**31, 2**40 - 1], dtype=dtype)
        title = f"ArgMax compares all 64 bits of {name} elements"
        yield argmax_case(f"high_bits_{name}", title, ("data_type", "index"), X, VECTOR)
    for name, (dtype, integers, text) in BEYOND.items():
        title = f"ArgMax compares {text}"
        yield argmax_case(f"beyond_{name}", title, ("data_type", "index"), np.array(integers, dtype=dtype), VECTOR)
    for dtype in FLOATS:
        yield from _infinities(dtype)
        yield from _near_zero(dtype)
    for name, (numbers, text) in NANS.items():
        yield from _without_number(name, text, np.array(numbers, dtype=np.float32))
    for dtype in (np.float16, np.float64, bfloat16):
        yield from _without_number(f"nan_{type_name(np.dtype(dtype))}", "one is NaN", np.array([1, np.nan, 3], dtype))


def _limits(dtype: Any) -> Any:
    """What `numpy.finfo` says, of bfloat16 too."""
    return finfo(dtype)  # type: ignore[no-untyped-call]


def _typed(dtype: Any, X: Array) -> Iterator[Case]:
    """In each opset that allows the type; bfloat16 came with opset 13."""
    name = type_name(np.dtype(dtype))
    yield _of_type(f"type_{name}", f"ArgMax compares {name} elements in their own type", X, 13)
    for opset in () if dtype is bfloat16 else (11, 12):
        title = f"ArgMax of opset {opset} compares {name} elements in their own type"
        yield _of_type(f"type_{name}_opset_{opset}", title, X, opset)
    ties = np.array([[1, 3, 3, 2], [5, 0, 5, 5]], dtype=dtype)
    for last in (0, 1):
        word = "last" if last else "first"
        yield argmax_case(
            f"ties_{name}_{word}",
            f"ArgMax gives the {word} of equal maxima of type {name}",
            ("select_last_index" if last else "first_index", "data_type"),
            ties,
            {"axis": 1, "keepdims": 0, "select_last_index": last},
        )


def _of_type(name: str, title: str, X: Array, opset: int) -> Case:
    return argmax_case(name, title, ("data_type", "index"), X, VECTOR, opset)


def _extremes(dtype: Any) -> Iterator[Case]:
    """Nothing below the least that the type has, so that no start value of a search can be told from an element."""
    name = type_name(np.dtype(dtype))
    least = np.iinfo(dtype).min if np.dtype(dtype).kind in "iu" else _limits(dtype).min
    above = least + 1 if np.dtype(dtype).kind in "iu" else np.nextafter(_limits(dtype).min, dtype(0))
    for last in (0, 1):
        word = "last" if last else "first"
        yield argmax_case(
            f"least_everywhere_{name}_{word}",
            f"ArgMax gives the {word} index where every element is the least finite {name}",
            ("select_last_index" if last else "first_index", "data_type"),
            np.array([least] * 3, dtype=dtype),
            {**VECTOR, "select_last_index": last},
        )
    yield argmax_case(
        f"least_but_one_{name}",
        f"ArgMax tells the least finite {name} from the next",
        ("index", "data_type"),
        np.array([least, least, above, least], dtype=dtype),
        VECTOR,
    )


def _infinities(dtype: Any) -> Iterator[Case]:
    name = type_name(np.dtype(dtype))
    least, largest = _limits(dtype).min, _limits(dtype).max
    if dtype is not np.float32:
        for last in (0, 1):
            word = "last" if last else "first"
            yield argmax_case(
                f"all_minus_infinity_{name}_{word}",
                f"ArgMax of nothing but -inf of type {name} is a tie like any other",
                ("select_last_index" if last else "first_index", "data_type"),
                np.full(3, -np.inf, dtype=dtype),
                {**VECTOR, "select_last_index": last},
            )
    rows: Mapping[str, tuple[Sequence[Any], str]] = {
        "above_minus_infinity": ([-np.inf, -np.inf, least], f"the least finite {name} above -inf"),
        "infinity": ([largest, np.inf, 1], f"inf above the largest finite {name}"),
        "infinities": ([-np.inf, np.inf, np.inf, largest], f"the first inf of type {name}"),
    }
    for word, (values, text) in rows.items():
        title = f"ArgMax finds {text}"
        yield argmax_case(f"{word}_{name}", title, ("index", "data_type"), np.array(values, dtype=dtype), VECTOR)


def _near_zero(dtype: Any) -> Iterator[Case]:
    """Zeros of both signs are equal, and a subnormal is none: as IEEE 754 has it, which the page does not speak of."""
    name = type_name(np.dtype(dtype))
    for last in (0, 1):
        word = "last" if last else "first"
        yield argmax_case(
            f"zeros_of_both_signs_{name}_{word}",
            f"ArgMax takes zeros of both signs of type {name} for equal",
            ("select_last_index" if last else "first_index", "data_type"),
            np.array([-0.0, 0.0, -0.0] if not last else [0.0, -0.0, -1.0], dtype=dtype),
            {**VECTOR, "select_last_index": last},
            level=Level.SHOULD,
        )
    yield argmax_case(
        f"subnormal_{name}",
        f"ArgMax tells the smallest subnormal {name} from zero",
        ("index", "data_type"),
        np.array([0, _limits(dtype).smallest_subnormal, 0], dtype=dtype),
        VECTOR,
        level=Level.SHOULD,
    )


def _without_number(name: str, text: str, X: Array) -> Iterator[Case]:
    """Which index is open; that it is one of the elements' is not."""
    for last in (0, 1):
        yield argmax_case(
            f"in_range_{name}_{'last' if last else 'first'}",
            f"ArgMax with select_last_index = {last} gives the index of an element where {text}",
            ("range",),
            X,
            {**VECTOR, "select_last_index": last},
        )
        yield argmax_case(
            f"{name}_{'last' if last else 'first'}",
            f"Nothing says what ArgMax with select_last_index = {last} gives where {text}",
            ("select_last_index" if last else "first_index", "index"),
            X,
            {**VECTOR, "select_last_index": last},
            level=Level.SILENT,
        )
