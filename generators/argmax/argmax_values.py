"""Cases of ArgMax about the compared values: every type, ties, extremes, infinities and NaN."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from ml_dtypes import bfloat16, finfo
from onnx import helper

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case
from conformance.exact.models.arrays import type_name
from conformance.exact.models.model_building import argmax_shape, array_value_info, build_model, make_value_info
from generators.argmax.argmax_case import argmax_case
from generators.declarations.argmax_dimensions import SUBNORMAL_LEVELS, argmax_close_declaration, close_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.corpus.factors.covering_array import Row
    from conformance.exact.models.arrays import Array

VALUES_BY_TYPE: Mapping[Any, Sequence[Any]] = {
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
"""Values by type. The largest element and another one are adjacent or nearly adjacent values of the type."""

LIMITED_TYPES: Mapping[str, Sequence[Any]] = {
    "common": (np.float32, np.float64, np.int8, np.uint8, np.int32, np.int64),
    "other": (np.float16, bfloat16, np.int16, np.uint16, np.uint32, np.uint64),
}
"""Types of the cases `limits`: types that most runtimes have, and the others."""

FLOATS = (np.float16, np.float32, np.float64, bfloat16)
VECTOR: Mapping[str, int] = {"axis": 0, "keepdims": 0}

INTEGERS_BEYOND_OTHER_TYPES: Mapping[str, tuple[Any, Sequence[int], str]] = {
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
"""Integers that are equal or ordered differently after conversion to another type: type, values, description."""

NAN_VALUES: Mapping[str, tuple[Sequence[float], str]] = {
    "nan_first": ([np.nan, 3, 1], "a NaN is the first element"),
    "nan_middle": ([3, np.nan, 5], "a NaN is in the middle"),
    "nan_last": ([1, 3, np.nan], "a NaN is the last element"),
    "nan_negative": ([1, -np.nan, 3], "a NaN has its sign bit set"),
    "nan_several": ([1, np.nan, 3, np.nan], "there are two NaN"),
    "nan_everywhere": ([np.nan, np.nan, np.nan], "all elements are NaN"),
    "nan_and_infinity": ([np.inf, np.nan, 1], "there are a NaN and an infinity"),
}
"""Values with NaN, for which the specification does not define the index, with a description."""


def cases() -> Iterator[Case]:
    """Yield cases for all types and opsets, and cases with values that runtimes often compare wrongly."""
    for dtype, values in VALUES_BY_TYPE.items():
        yield from _typed(dtype, np.array(values, dtype=dtype))
        yield from _extremes(dtype)
    for dtype in (np.int64, np.uint64):
        name = type_name(np.dtype(dtype))
        X = np.array([7, 2**40, 2**31, 2**40 - 1], dtype=dtype)
        title = f"ArgMax compares all 64 bits of {name} elements"
        yield argmax_case(f"high_bits_{name}", title, ("data_type", "index"), X, VECTOR)
    for name, (dtype, integers, text) in INTEGERS_BEYOND_OTHER_TYPES.items():
        title = f"ArgMax compares {text}"
        yield argmax_case(f"beyond_{name}", title, ("data_type", "index"), np.array(integers, dtype=dtype), VECTOR)
    for dtype in FLOATS:
        yield from _infinities(dtype)
        yield from _near_zero(dtype)
    for name, dtypes in LIMITED_TYPES.items():
        yield _limits_case(name, dtypes)
    for name, (numbers, text) in NAN_VALUES.items():
        yield from _nan_cases(name, text, np.array(numbers, dtype=np.float32))
    for dtype in (np.float16, np.float64, bfloat16):
        yield from _nan_cases(f"nan_{type_name(np.dtype(dtype))}", "one is NaN", np.array([1, np.nan, 3], dtype))
    for number, row in enumerate(argmax_close_declaration().rows, 1):
        yield _close_case(number, row)


def _limits_case(name: str, dtypes: Sequence[Any]) -> Case:
    """Define a case with several largest elements of each type in a row and in a column, before other elements."""
    id = f"test_argmax_limits_{name}"
    inputs = []
    nodes = []
    outputs = []
    data = []
    for dtype in dtypes:
        word = type_name(np.dtype(dtype))
        is_integer = np.dtype(dtype).kind in "iu"
        limit = np.iinfo(dtype).max if is_integer else np.inf
        least = np.iinfo(dtype).min if is_integer else -np.inf
        X = np.array([[1, limit, limit, 0, 3], [limit, 2, 5, 0, limit], [limit, limit, least, 1, 0]], dtype=dtype)
        inputs.append(array_value_info(f"X_{word}", X))
        data.append(X)
        for axis in (0, 1):
            for last in (0, 1):
                index = f"index_{word}_{axis}_{last}"
                nodes.append(
                    helper.make_node("ArgMax", [f"X_{word}"], [index], axis=axis, keepdims=0, select_last_index=last)
                )
                outputs.append(make_value_info(index, "int64", argmax_shape(X.shape, axis, 0)))
    return Case(
        id=id,
        title=f"ArgMax finds the first and the last of several largest values of {name.replace('_', ' ')} types",
        level=Level.MUST,
        clauses=("argmax.select_last_index", "argmax.first_index", "argmax.data_type"),
        tags=("argmax", type_name(np.dtype(dtypes[0])), "opset_13", "limits"),
        model=build_model(id, nodes, inputs, outputs, {"": 13}),
        data_sets=(tuple(data),),
    )


def _close_case(number: int, row: Row) -> Case:
    """Define a case of the family `close`. Subnormals may be flushed to zero, so their level is `should`."""
    last = int(row["select_last_index"])
    values = row["values"]
    case = argmax_case(
        f"close_{number:03}_{row['type']}_{values}",
        f"ArgMax distinguishes {values.replace('_', ' ')} of type {row['type']} in {row['length']} elements (the "
        f"larger value: {row['place']}, select_last_index {last})",
        ("index", "data_type", "select_last_index" if last else "first_index"),
        close_rows(row),
        {"axis": 1, "keepdims": 0, "select_last_index": last},
        level=Level.SHOULD if values in SUBNORMAL_LEVELS else Level.MUST,
    )
    return replace(case, tags=(*case.tags, "close", *(f"{factor}={level}" for factor, level in row.items())))


def _float_limits(dtype: Any) -> Any:
    """Return the limits of a floating-point type, including bfloat16."""
    return finfo(dtype)  # type: ignore[no-untyped-call]


def _typed(dtype: Any, X: Array) -> Iterator[Case]:
    """Yield a case for each opset in which ArgMax allows the type."""
    name = type_name(np.dtype(dtype))
    yield _type_case(f"type_{name}", f"ArgMax compares {name} elements in their own type", X, 13)
    for opset in () if dtype is bfloat16 else (11, 12):
        title = f"ArgMax of opset {opset} compares {name} elements in their own type"
        yield _type_case(f"type_{name}_opset_{opset}", title, X, opset)
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


def _type_case(name: str, title: str, X: Array, opset: int) -> Case:
    return argmax_case(name, title, ("data_type", "index"), X, VECTOR, opset)


def _extremes(dtype: Any) -> Iterator[Case]:
    """Yield cases with the least value of the type, which detect a wrong start value of the search for the maximum."""
    name = type_name(np.dtype(dtype))
    least = np.iinfo(dtype).min if np.dtype(dtype).kind in "iu" else _float_limits(dtype).min
    above = least + 1 if np.dtype(dtype).kind in "iu" else np.nextafter(_float_limits(dtype).min, dtype(0))
    for last in (0, 1):
        word = "last" if last else "first"
        yield argmax_case(
            f"least_everywhere_{name}_{word}",
            f"ArgMax gives the {word} index if every element is the least finite {name}",
            ("select_last_index" if last else "first_index", "data_type"),
            np.array([least] * 3, dtype=dtype),
            {**VECTOR, "select_last_index": last},
        )
    yield argmax_case(
        f"least_but_one_{name}",
        f"ArgMax distinguishes the least finite {name} from the next value",
        ("index", "data_type"),
        np.array([least, least, above, least], dtype=dtype),
        VECTOR,
    )


def _infinities(dtype: Any) -> Iterator[Case]:
    name = type_name(np.dtype(dtype))
    least = _float_limits(dtype).min
    largest = _float_limits(dtype).max
    if dtype is not np.float32:
        for last in (0, 1):
            word = "last" if last else "first"
            yield argmax_case(
                f"all_minus_infinity_{name}_{word}",
                f"ArgMax resolves a tie of {name} elements that are all -inf",
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
    """Yield cases about numbers near 0: 0 equals -0, and a positive subnormal is greater than 0.

    Subnormals may be flushed to zero, so their level is `should`.
    """
    name = type_name(np.dtype(dtype))
    for last in (0, 1):
        word = "last" if last else "first"
        yield argmax_case(
            f"zeros_of_both_signs_{name}_{word}",
            f"ArgMax treats zeros of both signs of type {name} as equal",
            ("select_last_index" if last else "first_index", "data_type"),
            np.array([-0.0, 0.0, -0.0] if not last else [0.0, -0.0, -1.0], dtype=dtype),
            {**VECTOR, "select_last_index": last},
        )
    yield argmax_case(
        f"subnormal_{name}",
        f"ArgMax distinguishes the smallest subnormal {name} from zero",
        ("index", "data_type"),
        np.array([0, _float_limits(dtype).smallest_subnormal, 0], dtype=dtype),
        VECTOR,
        level=Level.SHOULD,
    )


def _nan_cases(name: str, text: str, X: Array) -> Iterator[Case]:
    """Yield cases with NaN: the index must be in range (`must`), but any index is allowed (`silent`)."""
    for last in (0, 1):
        yield argmax_case(
            f"in_range_{name}_{'last' if last else 'first'}",
            f"ArgMax with select_last_index = {last} gives the index of an element if {text}",
            ("range",),
            X,
            {**VECTOR, "select_last_index": last},
        )
        yield argmax_case(
            f"{name}_{'last' if last else 'first'}",
            f"ArgMax with select_last_index = {last} gives an undefined index if {text}",
            ("select_last_index" if last else "first_index", "index"),
            X,
            {**VECTOR, "select_last_index": last},
            level=Level.SILENT,
        )
