"""Cases of plain ArgMax: the clauses that the pass's cases rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.arrays import type_name
from conformance.case import Case
from conformance.verdicts import Level
from generators.models import declared, declared_as, model
from generators.values import scattered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.arrays import Array

TIES = [[1.0, 3.0, 3.0, 2.0], [5.0, 0.0, 5.0, 5.0], [-1.0, -1.0, -1.0, -1.0]]

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
}
"""Per type, values whose largest differs from a neighbour by the least the type can tell."""


def cases() -> Iterator[Case]:
    """All cases of ArgMax."""
    X = scattered("argmax/X", (2, 3, 4), np.float32)
    for opset in (11, 12, 13):
        yield _case(
            f"defaults_opset_{opset}",
            "ArgMax without attributes reduces axis 0 and keeps it with size 1",
            ("axis_default", "keepdims_default", "index", "output_type"),
            X,
            {},
            opset,
        )
    for axis in (0, 1, 2, -1, -2, -3):
        name = f"axis_{axis}" if axis >= 0 else f"axis_minus_{-axis}"
        chief = "axis" if axis >= 0 else "negative_axis"
        for keepdims in (0, 1):
            yield _case(
                f"{name}_keepdims_{keepdims}",
                f"ArgMax reduces axis {axis} of a rank-3 tensor and {'keeps' if keepdims else 'removes'} it",
                (chief, "keepdims", "index"),
                X,
                {"axis": axis, "keepdims": keepdims},
            )
    ties = np.array(TIES, dtype=np.float32)
    for last in (0, 1):
        clause = "select_last_index" if last else "first_index"
        for axis in (0, 1):
            yield _case(
                f"ties_axis_{axis}_{'last' if last else 'first'}",
                f"ArgMax gives the {'last' if last else 'first'} of equal maxima along axis {axis}",
                (clause, "index"),
                ties,
                {"axis": axis, "keepdims": 0, "select_last_index": last},
            )
    yield _case(
        "ties_opset_11",
        "ArgMax gives the first of equal maxima where the opset has no select_last_index",
        ("first_index",),
        ties,
        {"axis": 1, "keepdims": 0},
        11,
    )
    yield _case(
        "ties_default",
        "ArgMax gives the first of equal maxima where select_last_index is not set",
        ("first_index",),
        ties,
        {"axis": 1, "keepdims": 0},
    )
    for dtype, values in TYPED.items():
        array = np.array(values, dtype=dtype)
        yield _case(
            f"type_{type_name(array.dtype)}",
            f"ArgMax compares {type_name(array.dtype)} elements in their own type",
            ("data_type", "index"),
            array,
            {"axis": 0, "keepdims": 0},
        )
    yield from _wide_integers()
    yield _long_axis()
    for last in (0, 1):
        yield _case(
            f"all_minus_infinity_{'last' if last else 'first'}",
            "ArgMax of nothing but -inf is a tie like any other",
            ("select_last_index" if last else "first_index",),
            np.full((3,), -np.inf, dtype=np.float32),
            {"axis": 0, "keepdims": 0, "select_last_index": last},
        )
    yield _case(
        "axis_of_size_1",
        "ArgMax along an axis of size 1 is 0 everywhere",
        ("index",),
        scattered("argmax/1", (3, 1, 2), np.float32),
        {"axis": 1, "keepdims": 0},
    )
    yield _case(
        "other_axis_empty",
        "ArgMax of a tensor whose other axis is empty is empty",
        ("index", "axis"),
        np.zeros((0, 3), dtype=np.float32),
        {"axis": 1, "keepdims": 0},
    )


def _wide_integers() -> Iterator[Case]:
    """The largest of 64 bits is not the largest of their low 32."""
    for dtype in (np.int64, np.uint64):
        name = type_name(np.dtype(dtype))
        yield _case(
            f"high_bits_{name}",
            f"ArgMax compares all 64 bits of {name} elements",
            ("data_type", "index"),
            np.array([7, 2**40, 2**31, 2**40 - 1], dtype=dtype),
            {"axis": 0, "keepdims": 0},
        )


def _long_axis() -> Case:
    """More elements than one block of threads has, the largest in the last, and a tail of every vector length."""
    X = scattered("argmax/long", (2, 3001), np.float32)
    X[0, 2999] = X[1, 1500] = 3.0
    return _case(
        "long_axis",
        "ArgMax finds the largest of 3001 elements",
        ("index",),
        X,
        {"axis": 1, "keepdims": 0},
    )


def argmax_shape(shape: Sequence[int], axis: int, keepdims: int) -> list[int]:
    """The shape of ArgMax's output."""
    kept: list[int | None] = list(shape)
    kept[axis] = 1 if keepdims else None
    return [size for size in kept if size is not None]


def _case(
    name: str, title: str, clauses: Sequence[str], X: Array, attributes: Mapping[str, Any], opset: int = 13
) -> Case:
    id = f"test_argmax_{name}"
    shape = argmax_shape(X.shape, attributes.get("axis", 0), attributes.get("keepdims", 1))
    node = helper.make_node("ArgMax", ["X"], ["index"], **attributes)
    return Case(
        id=id,
        title=title,
        level=Level.MUST,
        clauses=tuple(f"argmax.{clause}" for clause in clauses),
        tags=("argmax", type_name(X.dtype), f"opset_{opset}"),
        model=model(id, [node], [declared("X", X)], [declared_as("index", "int64", shape)], {"": opset}),
        data_sets=((X,),),
    )
