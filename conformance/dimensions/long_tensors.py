"""Builders of long tensors from short ones that are stored, and of what is shown of long results.

A tensor of many elements is a period of data that is tiled. What comes of it is periodic too, so that the largest and
the smallest of the elements that are equal say of each of them whether it is right; neither rounds anything.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np
from onnx import helper

from conformance.dimensions.fragments import Part
from conformance.dimensions.sizes import PERIOD, borders
from conformance.models.arrays import tensor_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import onnx

    from conformance.models.arrays import Array

OPSET = 13


def tiled(period: str, size: int, result: str, shape: Sequence[int]) -> Part:
    """A tensor whose elements in row-major order are those of a stored vector, over and over.

    Args:
        period: the vector.
        size: how many elements the vector has.
        result: the tensor's name.
        shape: the tensor's.
    """
    count = prod(shape)
    names = [f"{result}_{word}" for word in ("repeats", "start", "end", "shape")]
    values = ([-(-count // size)], [0], [count], list(shape))
    nodes = [
        helper.make_node("Tile", [period, names[0]], [f"{result}_tiled"]),
        helper.make_node("Slice", [f"{result}_tiled", names[1], names[2]], [f"{result}_flat"]),
        helper.make_node("Reshape", [f"{result}_flat", names[3]], [result]),
    ]
    return Part(nodes, _integers(dict(zip(names, values, strict=True))))


def shown(result: str, like: Array, length: int, block: int) -> Part:
    """What is shown of a long vector that comes again after `PERIOD` elements.

    Args:
        result: the vector.
        like: an array of its type.
        block: at whose borders elements are shown, beside the first, the last and those after the last whole period.
    """
    whole = length // PERIOD
    places = sorted({*borders(length, block), *range(whole * PERIOD, length)})
    names = [f"{result}_{word}" for word in ("places", "start", "end", "shape")]
    values = (places, [0], [whole * PERIOD], [whole, PERIOD])
    nodes = [
        helper.make_node("Gather", [result, names[0]], [f"{result}_at"]),
        helper.make_node("Slice", [result, names[1], names[2]], [f"{result}_whole"]),
        helper.make_node("Reshape", [f"{result}_whole", names[3]], [f"{result}_periods"]),
        helper.make_node("ReduceMax", [f"{result}_periods"], [f"{result}_most"], axes=[0], keepdims=0),
        helper.make_node("ReduceMin", [f"{result}_periods"], [f"{result}_least"], axes=[0], keepdims=0),
    ]
    sizes = {f"{result}_at": len(places), f"{result}_most": PERIOD, f"{result}_least": PERIOD}
    given = {name: np.zeros(size, dtype=like.dtype) for name, size in sizes.items()}
    return Part(nodes, _integers(dict(zip(names, values, strict=True))), given=given)


def with_peaks(period: str, peak: str, result: str, rows: Sequence[Sequence[int]], length: int) -> Part:
    """A matrix of a tiled vector's elements, but for the places of each row that hold the peak.

    Args:
        period: a vector of `PERIOD` elements.
        peak: a vector of one.
        rows: for each row the places of its peaks.
        length: how long a row is.
    """
    at = sorted(number * length + place for number, places in enumerate(rows) for place in places)
    between = np.diff([-1, *at, len(rows) * length]) - 1
    sizes = [size for gap in between for size in (int(gap), 1)][:-1]
    pieces = [f"{result}_piece_{number}" for number, size in enumerate(sizes) if size]
    joined = [peak if number % 2 else f"{result}_piece_{number}" for number, size in enumerate(sizes) if size]
    every = tiled(period, PERIOD, f"{result}_every", [len(rows) * length])
    nodes = [
        *every.nodes,
        helper.make_node("Split", [f"{result}_every", f"{result}_sizes"], pieces, axis=0),
        helper.make_node("Concat", joined, [f"{result}_joined"], axis=0),
        helper.make_node("Reshape", [f"{result}_joined", f"{result}_rows"], [result]),
    ]
    own = {f"{result}_sizes": [size for size in sizes if size], f"{result}_rows": [len(rows), length]}
    return Part(nodes, [*every.initializers, *_integers(own)])


def _integers(values: Mapping[str, Sequence[int]]) -> list[onnx.TensorProto]:
    return [tensor_of(np.array(value, dtype=np.int64), name) for name, value in values.items()]
