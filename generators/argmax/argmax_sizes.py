"""Cases of ArgMax about sizes: lengths around block sizes, long axes, many rows, ranks and integer limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case
from conformance.corpus.factors.connections import GraphPart, join_parts
from conformance.exact.models.arrays import dtype_of, type_name, type_number
from conformance.exact.models.input_files import tensor_elements
from conformance.exact.models.model_building import array_value_info, build_model, pseudo_random_array
from generators.declarations.size_dimensions import (
    BEYOND_CACHE,
    BLOCKS,
    HIGH_RANKS,
    INDEX_LIMITS,
    LONG_BLOCKS,
    OPSET,
    PERIOD,
    RANKS,
    border_indices,
    build_peak_rows,
    lengths_around,
    lengths_around_long,
    long_types_declaration,
    summarize_long,
    tied_index_sets,
    tile_to_shape,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import onnx

    from conformance.corpus.factors.covering_array import Row
    from conformance.exact.models.arrays import Array

TIE_WORDS = ("first", "last")
"""The one of equal maxima that is selected, by value of `select_last_index`."""

MIN_LENGTH_WITH_STEP = 255
"""Minimum row length for which the maximum moves by `STEP` elements per row. Data sets start at different elements."""

STEP = 4
"""Number of elements by which the maximum moves from row to row in long rows."""

MANY_ROWS = PERIOD * 1075
"""Number of rows that exceeds 16 bits."""

PEAK_VALUE = 3.0
"""Value of the maximum. It exceeds the magnitude of all values of `pseudo_random_array`."""

BYTE_SCALE = 40
"""Factor that scales the values to the range of 8-bit integers."""

LONG_LENGTHS: Mapping[int, Any] = {
    **{length: np.float32 for block in LONG_BLOCKS[:1] for length in lengths_around_long(block)},
    LONG_BLOCKS[1] + 1: np.float32,
    2 * LONG_BLOCKS[1]: np.int32,
    BEYOND_CACHE: np.int32,
}
"""Element type by length of the axis."""

FLOAT_INTEGER_LIMITS: Mapping[str, tuple[str, int]] = {"2p24": ("floats", 2**24), "2p53": ("doubles", 2**53)}
"""Smallest integers from which a floating-point type cannot represent every integer, by name."""


def cases() -> Iterator[Case]:
    """Yield the cases of ArgMax about lengths, ranks, numbers of rows, and integer limits."""
    for block, last in product(BLOCKS, (0, 1)):
        yield _every_index(block, last)
    for (length, dtype), last in product(LONG_LENGTHS.items(), (0, 1)):
        yield _selected_indices(length, dtype, last)
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
        yield _integer_limits(np.dtype(dtype))
    for shape in (*RANKS[1:], *HIGH_RANKS[2:]):
        yield _every_axis(shape)
    yield _many_rows()
    for row in long_types_declaration().rows:
        yield _long_type_case(row)


@dataclass(frozen=True)
class _ShiftedRows:
    """A matrix that repeats a vector slightly longer than a row, so that the maximum moves from row to row.

    Attributes:
        name: name of the matrix.
        length: number of elements of a row.
        step: number of elements by which the maximum moves.
    """

    name: str
    length: int
    step: int = 1

    @property
    def period(self) -> int:
        """Number of elements of the vector that is repeated."""
        return self.length + self.step

    def vector(self, dtype: Any, places: Sequence[int]) -> Array:
        """Return the vector that is repeated, with maxima at the indices `places`."""
        values = pseudo_random_array(self.name, (self.period,), np.float64)
        values[[place % self.period for place in places]] = PEAK_VALUE
        return (values * 1000 if np.dtype(dtype).kind == "i" else values).astype(dtype)

    def part(self) -> GraphPart:
        """Return the nodes that build the matrix."""
        rows = -(-self.period // self.step)
        return tile_to_shape(f"{self.name}_period", self.period, self.name, (rows, self.length))

    def searched(self, last: int = 0) -> GraphPart:
        """Return nodes that compute the ArgMax of each row, along both axes (by means of a Transpose)."""
        return _argmax_part(self.name, -(-self.period // self.step), last)


def _argmax_part(name: str, rows: int, last: int) -> GraphPart:
    """Return nodes for ArgMax along a matrix's last axis and along the first axis of its transpose."""
    attributes: dict[str, Any] = {"keepdims": 0, "select_last_index": last}
    nodes = [
        helper.make_node("ArgMax", [name], [f"{name}_by_row"], axis=1, **attributes),
        helper.make_node("Transpose", [name], [f"{name}_transpose"], perm=[1, 0]),
        helper.make_node("ArgMax", [f"{name}_transpose"], [f"{name}_by_column"], axis=0, **attributes),
    ]
    indices = np.zeros(rows, dtype=np.int64)
    return GraphPart(nodes, given={f"{name}_by_row": indices, f"{name}_by_column": indices})


def _every_index(block: int, last: int) -> Case:
    """Define a case with maxima at every index: alone, and as ties of elements next to each other or a block apart."""
    dtype = np.int32 if block == BLOCKS[-1] else np.float32
    matrices = [
        _ShiftedRows(f"X{length}", length, STEP if length >= MIN_LENGTH_WITH_STEP else 1)
        for length in lengths_around(block)
    ]
    peaks = ((0,), (1, 2), (2, 2 + block), (3, 2 + block))
    return _case(
        f"sizes_around_{block}_{TIE_WORDS[last]}",
        f"ArgMax finds the {TIE_WORDS[last]} maximum at every index of axes of "
        f"{_listed(lengths_around(block))} elements",
        ("index", "select_last_index" if last else "first_index"),
        join_parts(part for rows in matrices for part in (rows.part(), rows.searched(last))),
        [{f"{rows.name}_period": rows.vector(dtype, places) for rows in matrices} for places in peaks],
    )


def _long_type_case(row: Row) -> Case:
    """Define the case for a row of the covering array of `long_types_declaration`."""
    length = int(row["length"])
    last = int(row["select_last_index"])
    name = row["type"]
    case = _selected_indices(length, dtype_of(type_number(name)), last, f"_{name}")
    tags = (*case.tags, "long_types", *(f"{factor}={value}" for factor, value in row.items()))
    return replace(case, title=f"{case.title}, in {name}", clauses=(*case.clauses, "argmax.data_type"), tags=tags)


def _selected_indices(length: int, dtype: Any, last: int, type: str = "") -> Case:
    """Define a case with maxima in the first and last elements and at block borders, alone and as ties."""
    block = next(block for block in reversed(LONG_BLOCKS) if length > block)
    limits = {place for limit in INDEX_LIMITS if limit < length for place in (limit - 1, limit)}
    alone = sorted({0, length - 1} | limits) if length > LONG_BLOCKS[1] else border_indices(length, block)
    every: list[tuple[int, ...]] = [*((place,) for place in alone), *tied_index_sets(length, block)]
    rows = every if length < BEYOND_CACHE else [(length - 1,), *tied_index_sets(length, block)]
    values = pseudo_random_array(f"argmax/long/{length}", (PERIOD,), np.float64)
    peak = np.array([PEAK_VALUE])
    if np.dtype(dtype).kind == "u":
        values, peak = values + PEAK_VALUE, peak + PEAK_VALUE
    scale = {"i": 1000, "u": 1000}.get(np.dtype(dtype).kind, 1) if np.dtype(dtype).itemsize > 1 else BYTE_SCALE
    search = _argmax_part("X", len(rows), last)
    return _case(
        f"sizes_long_{length}_{TIE_WORDS[last]}{type}",
        f"ArgMax finds the {TIE_WORDS[last]} maximum at the borders of blocks along an axis of {length} elements",
        ("index", "select_last_index" if last else "first_index"),
        join_parts((build_peak_rows("period", "peak", "X", rows, length), search)),
        [{"period": (values * scale).astype(dtype), "peak": (peak * scale).astype(dtype)}],
    )


def _integer_limits(dtype: np.dtype[Any]) -> Case:
    """Define a case with adjacent integers at the type's limits and at limits of floating-point types."""
    rows = _ShiftedRows("X", BLOCKS[4] + 1)
    limits = np.iinfo(dtype)
    pairs = [(limits.max - 1, limits.max), (limits.min, limits.min + 1)]
    pairs += [(limit, limit + 1) for _, limit in FLOAT_INTEGER_LIMITS.values() if limit < limits.max]
    vectors = [np.full(rows.period, least, dtype=dtype) for least, _ in pairs]
    for vector, (_, most) in zip(vectors, pairs, strict=True):
        vector[1] = most
    name = type_name(dtype)
    return _case(
        f"sizes_limits_{name}",
        f"ArgMax distinguishes adjacent {name} values at every index of {rows.length}",
        ("data_type", "index"),
        join_parts((rows.part(), rows.searched())),
        [{"X_period": vector} for vector in vectors],
    )


def _every_axis(shape: Sequence[int]) -> Case:
    """Define a case that reduces a tensor along each of its axes, counted from either end."""
    rank = len(shape)
    parts = []
    for axis in range(-rank, rank):
        name = f"index_axis_{axis}".replace("-", "minus_")
        kept = [size for place, size in enumerate(shape) if place != axis % rank]
        node = helper.make_node("ArgMax", ["X"], [name], axis=axis, keepdims=0)
        parts.append(GraphPart([node], given={name: np.zeros(kept, dtype=np.int64)}))
    return _case(
        f"every_axis_rank_{rank}",
        f"ArgMax reduces each axis of a rank-{rank} tensor, counted from either end",
        ("axis", "negative_axis"),
        join_parts(parts),
        [{"X": pseudo_random_array(f"argmax/every_axis/{rank}", shape, np.float32)}],
    )


def _many_rows() -> Case:
    """Define a case with more rows than 16 bits can count."""
    width = BLOCKS[0] + 1
    rows = join_parts(
        (
            tile_to_shape("period", PERIOD * width, "X", (MANY_ROWS, width)),
            GraphPart([helper.make_node("ArgMax", ["X"], ["index"], axis=1, keepdims=0)]),
            summarize_long("index", np.zeros(0, dtype=np.int64), MANY_ROWS, LONG_BLOCKS[0]),
        )
    )
    return _case(
        "sizes_many_rows",
        f"ArgMax finds the maximum of each of {MANY_ROWS} rows",
        ("index",),
        rows,
        [{"period": pseudo_random_array("argmax/many_rows", (PERIOD * width,), np.float32)}],
    )


def _case(
    name: str, title: str, clauses: Sequence[str], part: GraphPart, data_sets: Sequence[Mapping[str, Array]]
) -> Case:
    id = f"test_argmax_{name}"
    (type,) = {type_name(array.dtype) for array in data_sets[0].values()}
    return Case(
        id=id,
        title=title,
        level=Level.MUST,
        clauses=tuple(f"argmax.{clause}" for clause in clauses),
        tags=("argmax", type, f"opset_{OPSET}", "size"),
        model=_model(id, part, data_sets[0]),
        data_sets=tuple(tuple(inputs.values()) for inputs in data_sets),
    )


def _model(id: str, part: GraphPart, inputs: Mapping[str, Array]) -> bytes:
    constants: Sequence[onnx.TensorProto] = part.initializers
    return build_model(
        id,
        part.nodes,
        [array_value_info(*named) for named in inputs.items()],
        [array_value_info(*named) for named in part.given.items()],
        {"": OPSET},
        {tensor.name: tensor_elements(tensor) for tensor in constants},
    )


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
