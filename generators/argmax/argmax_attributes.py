"""Cases of ArgMax that vary its attributes and the shapes of its input."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from conformance.exact.models.model_building import pseudo_random_array
from generators.argmax.argmax_case import argmax_case

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.corpus.cases.case import Case
    from conformance.exact.models.arrays import Array

TIES = [[1.0, 3.0, 3.0, 2.0], [5.0, 0.0, 5.0, 5.0], [-1.0, -1.0, -1.0, -1.0]]

ShapesWithAxis: TypeAlias = "Sequence[tuple[tuple[int, ...], int]]"
RANK_SHAPES: ShapesWithAxis = (((7,), 0), ((7,), -1), ((2, 3, 2, 5), 2), ((2, 1, 3, 2, 2), -3), ((2, 1, 2, 1, 2, 3), 5))
SIZE_1_SHAPES: ShapesWithAxis = (((1,), 0), ((1, 1, 1), 1), ((1, 4), 0), ((4, 1), 1), ((1, 4, 1), 1))
EMPTY_SHAPES: ShapesWithAxis = (((3, 0), 0), ((2, 0, 3), 2), ((2, 3, 0), 1), ((0, 2, 3), -1), ((0, 3, 0), 1))
"""Shapes of X with ArgMax's axis."""


def cases() -> Iterator[Case]:
    """Yield the cases of ArgMax about attributes in each opset, sizes, and declared shapes."""
    X = pseudo_random_array("argmax/X", (2, 3, 4), np.float32)
    for opset in (11, 12, 13):
        yield argmax_case(
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
            yield argmax_case(
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
            yield argmax_case(
                f"ties_axis_{axis}_{'last' if last else 'first'}",
                f"ArgMax gives the {'last' if last else 'first'} of equal maxima along axis {axis}",
                (clause, "index"),
                ties,
                {"axis": axis, "keepdims": 0, "select_last_index": last},
            )
    yield argmax_case(
        "ties_opset_11",
        "ArgMax gives the first of equal maxima in an opset without select_last_index",
        ("first_index",),
        ties,
        {"axis": 1, "keepdims": 0},
        11,
    )
    yield argmax_case(
        "ties_default",
        "ArgMax gives the first of equal maxima if select_last_index is not set",
        ("first_index",),
        ties,
        {"axis": 1, "keepdims": 0},
    )
    yield _long_axis()
    for last in (0, 1):
        yield argmax_case(
            f"all_minus_infinity_{'last' if last else 'first'}",
            "ArgMax resolves a tie of elements that are all -inf",
            ("select_last_index" if last else "first_index",),
            np.full((3,), -np.inf, dtype=np.float32),
            {"axis": 0, "keepdims": 0, "select_last_index": last},
        )
    yield argmax_case(
        "axis_of_size_1",
        "ArgMax along an axis of size 1 is 0 everywhere",
        ("index",),
        pseudo_random_array("argmax/1", (3, 1, 2), np.float32),
        {"axis": 1, "keepdims": 0},
    )
    yield argmax_case(
        "other_axis_empty",
        "ArgMax of a tensor whose other axis is empty is empty",
        ("index", "axis"),
        np.zeros((0, 3), dtype=np.float32),
        {"axis": 1, "keepdims": 0},
    )
    yield from _older_opset_cases(X)
    yield from _sizes()
    yield from _declared_shapes(X)
    yield from _sizes_that_change()
    yield _ties_before_tail()


def _ties_before_tail() -> Case:
    """Define a case of equal maxima along a middle axis before an axis that ends in a part of a vector."""
    return argmax_case(
        "ties_before_24",
        "ArgMax gives the first of equal maxima along an axis before one of 24 elements",
        ("first_index",),
        np.ones((2, 3, 24), dtype=np.float32),
        {"axis": 1, "keepdims": 0},
    )


def _older_opset_cases(X: Array) -> Iterator[Case]:
    """Yield cases that vary the attributes in opsets 11 and 12."""
    for opset in (11, 12):
        for axis in (1, -1):
            name = f"axis_{axis}_opset_{opset}".replace("-", "minus_")
            yield argmax_case(
                name,
                f"ArgMax of opset {opset} reduces axis {axis} of a rank-3 tensor and removes it",
                ("axis" if axis >= 0 else "negative_axis", "keepdims"),
                X,
                {"axis": axis, "keepdims": 0},
                opset,
            )
        yield argmax_case(
            f"keepdims_default_opset_{opset}",
            f"ArgMax of opset {opset} keeps the axis with size 1 if keepdims is not set",
            ("keepdims_default",),
            X,
            {"axis": 2},
            opset,
        )
    for last in (0, 1):
        yield argmax_case(
            f"ties_opset_12_{'last' if last else 'first'}",
            f"ArgMax of opset 12 gives the {'last' if last else 'first'} of equal maxima",
            ("select_last_index" if last else "first_index",),
            np.array(TIES, dtype=np.float32),
            {"axis": 1, "keepdims": 0, "select_last_index": last},
            12,
        )
    yield argmax_case(
        "axis_default_keepdims_0",
        "ArgMax reduces and removes axis 0 if the model sets no axis",
        ("axis_default", "keepdims"),
        X,
        {"keepdims": 0},
    )


def _sizes() -> Iterator[Case]:
    """Yield cases with various ranks, axes of size 1 and empty axes."""
    for shape, axis in RANK_SHAPES:
        name = f"rank_{len(shape)}_axis_{axis}".replace("-", "minus_")
        title = f"ArgMax reduces axis {axis} of a rank-{len(shape)} tensor"
        clause = "axis" if axis >= 0 else "negative_axis"
        for keepdims in (0, 1):
            yield argmax_case(
                f"{name}_{'kept' if keepdims else 'removed'}",
                f"{title} and {'keeps' if keepdims else 'removes'} it",
                (clause, "keepdims", "index"),
                pseudo_random_array(name, shape, np.float32),
                {"axis": axis, "keepdims": keepdims},
            )
    for shape, axis in SIZE_1_SHAPES:
        name = f"size_1_{'_'.join(map(str, shape))}_axis_{axis}"
        for last in (0, 1):
            yield argmax_case(
                f"{name}_{'last' if last else 'first'}",
                f"ArgMax along axis {axis} of a tensor of shape {list(shape)} gives the right index despite axes "
                "of size 1",
                ("index", "select_last_index" if last else "first_index"),
                pseudo_random_array(name, shape, np.float32),
                {"axis": axis, "keepdims": 0, "select_last_index": last},
            )
    for shape, axis in EMPTY_SHAPES:
        for keepdims in (0, 1):
            yield argmax_case(
                f"empty_{'_'.join(map(str, shape))}_{'kept' if keepdims else 'removed'}",
                f"ArgMax along axis {axis} of an empty tensor of shape {list(shape)} is empty",
                ("axis", "keepdims"),
                np.zeros(shape, dtype=np.float32),
                {"axis": axis, "keepdims": keepdims},
            )


def _declared_shapes(X: Array) -> Iterator[Case]:
    """Yield cases with unknown or symbolic dimensions."""
    shapes: Mapping[str, Sequence[str | int | None]] = {
        "symbolic": ("N", "C", "L"),
        "open": (None, None, None),
        "batch": ("N", 3, 4),
    }
    for name, shape in shapes.items():
        yield argmax_case(
            f"shape_{name}",
            f"ArgMax reduces axis 1 of a tensor declared with dimensions {name}",
            ("axis", "index"),
            X,
            {"axis": 1, "keepdims": 0},
            declared_shape=shape,
        )


def _sizes_that_change() -> Iterator[Case]:
    """Yield cases in which a symbolic dimension has a different size in each run of one loaded model."""
    rows: Mapping[str, tuple[Sequence[str | int], Sequence[tuple[int, int]], str]] = {
        "rows": (("rows", 3), ((2, 3), (5, 3), (1, 3)), "rows"),
        "elements": ((2, "elements"), ((2, 3), (2, 7), (2, 1)), "elements along the axis"),
        "grow": ((2, "elements"), ((2, 3), (2, 70), (2, 5)), "elements along a growing axis"),
    }
    for name, (declared_shape, shapes, text) in rows.items():
        arrays = [
            pseudo_random_array(f"argmax/sizes/{name}/{place}", shape, np.float32) for place, shape in enumerate(shapes)
        ]
        if name == "grow":
            for array in arrays:
                array[:, -1] = 3
        case = argmax_case(
            f"sizes_change_{name}",
            f"ArgMax uses the number of {text} of each run's own input",
            ("index", "axis"),
            arrays[0],
            {"axis": 1, "keepdims": 0},
            declared_shape=declared_shape,
        )
        yield replace(case, tags=(*case.tags, "sizes"), data_sets=tuple((array,) for array in arrays))


def _long_axis() -> Case:
    """Define a case with an axis longer than a block of GPU threads; its length is no multiple of a vector length."""
    X = pseudo_random_array("argmax/long", (2, 3001), np.float32)
    X[0, 2999] = X[1, 1500] = 3.0
    return argmax_case(
        "long_axis",
        "ArgMax finds the largest of 3001 elements",
        ("index",),
        X,
        {"axis": 1, "keepdims": 0},
    )
