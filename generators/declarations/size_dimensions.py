"""Shapes of tensors that test kernels: lengths near their block sizes, and ranks.

The module also builds graph parts that create a long tensor from a short input, so that the files of a case stay small.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np
from onnx import helper

from conformance.corpus.factors.connections import GraphPart
from conformance.corpus.factors.covering_array import LevelCombination
from conformance.exact.models.arrays import tensor_of
from generators.declarations.family import FamilyDeclaration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import onnx

    from conformance.exact.models.arrays import Array


BLOCKS = (4, 8, 16, 32, 64, 256, 1024)
"""Typical block sizes in elements: vector registers, unrolled loops and blocks of threads."""

LONG_BLOCKS = (4096, 65536)
"""Block sizes in elements: the part of one thread, and the range of a 16-bit counter."""

BEYOND_CACHE = 2**20 + 1
"""Number of elements that exceeds caches and a grid of 1024 blocks of 1024 threads."""

PERIOD = 61
"""Period in elements of the data of long tensors. It divides no block size."""

RANKS: Sequence[tuple[int, ...]] = (
    (),
    (3,),
    (2, 2),
    (1, 3, 2),
    (2, 1, 1, 2),
    (1, 2, 1, 3, 1),
    (2, 1, 2, 1, 1, 2),
    (1, 2, 1, 1, 2, 1, 2),
    (2, 1, 1, 2, 1, 1, 1, 3),
)
"""One shape for each rank from 0 to 8."""

HIGH_RANKS: Sequence[tuple[int, ...]] = (
    (2, 1, 1, 2, 1, 1, 1, 1, 3),
    (1, 2, 1, 1, 1, 1, 2, 1, 1, 2),
    (2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 2),
    (2, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2),
)
"""Shapes of more than 8 dimensions, a limit of some kernels. Sizes of 1 keep the tensors small."""

INDEX_LIMITS = (2**15, 2**16)
"""Smallest indices that do not fit into signed and unsigned 16-bit integers."""


def lengths_around(block: int) -> tuple[int, ...]:
    """Return lengths just below, at and just above a block size, and two blocks."""
    return (block - 1, block, block + 1, 2 * block)


def lengths_around_long(block: int) -> tuple[int, ...]:
    """Return a length just above a block size, and two blocks."""
    return (block + 1, 2 * block)


def border_indices(length: int, block: int) -> list[int]:
    """Return the indices of the first and last elements and of both sides of every block border."""
    sides = {place for border in range(block, length, block) for place in (border - 1, border)}
    return sorted({0, length - 1} | sides)


def tied_index_sets(length: int, block: int) -> Iterator[tuple[int, ...]]:
    """Yield sets of indices for equal maxima: a block apart, in the same block, and at the first and last index."""
    if length > block + 1:
        yield 1, 1 + block
    yield block - 2, block - 1
    yield 0, length - 1


def long_types_declaration() -> FamilyDeclaration:
    """Return the factors of cases with long ArgMax axes in types other than float and int32.

    Kernels often have a separate loop for each type.
    """
    lengths = (LONG_BLOCKS[0] + 1, LONG_BLOCKS[1] + 1, BEYOND_CACHE)
    return FamilyDeclaration(
        {
            "type": (
                "double",
                "float16",
                "bfloat16",
                "int8",
                "uint8",
                "int16",
                "uint16",
                "uint32",
                "int64",
                "uint64",
            ),
            "length": tuple(map(str, lengths)),
            "select_last_index": ("0", "1"),
        },
        forbidden=(
            LevelCombination(
                {"type": ("double", "float16", "bfloat16"), "length": (str(BEYOND_CACHE),)},
                "The oracle encloses each element of these types, which takes seconds for so many elements.",
            ),
        ),
    )


OPSET = 13


def tile_to_shape(period: str, size: int, result: str, shape: Sequence[int]) -> GraphPart:
    """Return nodes that fill a tensor with the repeated elements of a vector, in row-major order.

    Args:
        period: name of the vector.
        size: number of elements of the vector.
        result: name of the tensor.
        shape: shape of the tensor.
    """
    count = prod(shape)
    names = [f"{result}_{word}" for word in ("repeats", "start", "end", "shape")]
    values = ([-(-count // size)], [0], [count], list(shape))
    nodes = [
        helper.make_node("Tile", [period, names[0]], [f"{result}_tiled"]),
        helper.make_node("Slice", [f"{result}_tiled", names[1], names[2]], [f"{result}_flat"]),
        helper.make_node("Reshape", [f"{result}_flat", names[3]], [result]),
    ]
    return GraphPart(nodes, _int64_tensors(dict(zip(names, values, strict=True))))


def summarize_long(result: str, like: Array, length: int, block: int) -> GraphPart:
    """Return nodes that summarise a long vector that repeats `PERIOD` elements, so that expected outputs stay small.

    The outputs are some elements, and the maximum and minimum at each position of the period.

    Args:
        result: name of the vector.
        like: an array of the vector's type.
        length: number of elements of the vector.
        block: block size. The first and last elements, elements at block borders and the incomplete last period are
            outputs.
    """
    whole = length // PERIOD
    places = sorted({*border_indices(length, block), *range(whole * PERIOD, length)})
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
    return GraphPart(nodes, _int64_tensors(dict(zip(names, values, strict=True))), given=given)


def build_peak_rows(period: str, peak: str, result: str, rows: Sequence[Sequence[int]], length: int) -> GraphPart:
    """Return nodes that build a matrix from a repeated vector and replace some elements of each row by a peak.

    Args:
        period: name of a vector with `PERIOD` elements.
        peak: name of a vector with one element.
        result: name of the matrix.
        rows: indices of the peaks of each row.
        length: number of elements of a row.
    """
    at = sorted(number * length + place for number, places in enumerate(rows) for place in places)
    between = np.diff([-1, *at, len(rows) * length]) - 1
    sizes = [size for gap in between for size in (int(gap), 1)][:-1]
    pieces = [f"{result}_piece_{number}" for number, size in enumerate(sizes) if size]
    joined = [peak if number % 2 else f"{result}_piece_{number}" for number, size in enumerate(sizes) if size]
    every = tile_to_shape(period, PERIOD, f"{result}_every", [len(rows) * length])
    nodes = [
        *every.nodes,
        helper.make_node("Split", [f"{result}_every", f"{result}_sizes"], pieces, axis=0),
        helper.make_node("Concat", joined, [f"{result}_joined"], axis=0),
        helper.make_node("Reshape", [f"{result}_joined", f"{result}_rows"], [result]),
    ]
    own = {f"{result}_sizes": [size for size in sizes if size], f"{result}_rows": [len(rows), length]}
    return GraphPart(nodes, [*every.initializers, *_int64_tensors(own)])


def _int64_tensors(values: Mapping[str, Sequence[int]]) -> list[onnx.TensorProto]:
    return [tensor_of(np.array(value, dtype=np.int64), name) for name, value in values.items()]
