"""Cases of ArgMax by sizes, as `conformance.dimensions.sizes` declares them: lengths, places, rows, ranks, integers.

The vector that is tiled to a matrix is somewhat longer than a row, and so the maximum stands further on in each row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.corpus.case import Case
from conformance.dimensions.covering import covering_rows
from conformance.dimensions.fragments import Part, joined
from conformance.dimensions.long_tensors import OPSET, shown, tiled, with_peaks
from conformance.dimensions.sizes import (
    BEYOND,
    BLOCKS,
    INDEX_LIMITS,
    LONG_BLOCKS,
    PERIOD,
    RANKS,
    around,
    borders,
    long_types,
    of_long,
    tied,
)
from conformance.generation.models import declared, model
from conformance.generation.values import scattered
from conformance.models.arrays import dtype_of, type_name, type_number
from conformance.models.constants import elements_of
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import onnx

    from conformance.dimensions.factors import Row
    from conformance.models.arrays import Array

WORDS = ("first", "last")
"""What `select_last_index` asks for, 0 and 1."""

FEW_ROWS_FROM = 255
"""From this length on the maximum moves on by `STEP` places from row to row; data sets start at different ones."""

STEP = 4

MANY_ROWS = PERIOD * 1075
"""More rows than 16 bits count."""

PEAK = 3.0
"""Above all that `scattered` gives, and as far from zero as the least of it at least."""

BYTE_SCALE = 40
"""What makes integers of 8 bits of numbers up to twice `PEAK`, if they have no sign, or up to `PEAK`."""

LONG: Mapping[int, Any] = {
    **{length: np.float32 for block in LONG_BLOCKS[:1] for length in of_long(block)},
    LONG_BLOCKS[1] + 1: np.float32,
    2 * LONG_BLOCKS[1]: np.int32,
    BEYOND: np.int32,
}
"""Lengths with the type of their elements."""

NEAR: Mapping[str, tuple[str, int]] = {"2p24": ("floats", 2**24), "2p53": ("doubles", 2**53)}
"""Integers from which on a floating-point type does not tell neighbours apart."""


def cases() -> Iterator[Case]:
    """All of them."""
    for block, last in product(BLOCKS, (0, 1)):
        yield _every_place(block, last)
    for (length, dtype), last in product(LONG.items(), (0, 1)):
        yield _named_places(length, dtype, last)
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
        yield _limits(np.dtype(dtype))
    for shape in RANKS[1:]:
        yield _every_axis(shape)
    yield _many_rows()
    for row in covering_rows(long_types()):
        yield _of_type(row)


@dataclass(frozen=True)
class _Rows:
    """A matrix of rows of one length, tiled so that a maximum moves on from row to row.

    Attributes:
        name: of the matrix.
        length: of a row.
        step: by how many places a maximum moves on.
    """

    name: str
    length: int
    step: int = 1

    @property
    def period(self) -> int:
        """The size of the stored vector."""
        return self.length + self.step

    def vector(self, dtype: Any, places: Sequence[int]) -> Array:
        """The stored vector with its peaks."""
        values = scattered(self.name, (self.period,), np.float64)
        values[[place % self.period for place in places]] = PEAK
        return (values * 1000 if np.dtype(dtype).kind == "i" else values).astype(dtype)

    def part(self) -> Part:
        """The matrix."""
        rows = -(-self.period // self.step)
        return tiled(f"{self.name}_period", self.period, self.name, (rows, self.length))

    def searched(self, last: int = 0) -> Part:
        """ArgMax of each row, and of each column of the transpose."""
        return _searched(self.name, -(-self.period // self.step), last)


def _searched(name: str, rows: int, last: int) -> Part:
    """ArgMax along a matrix's last axis, and along the first axis of its transpose."""
    attributes: dict[str, Any] = {"keepdims": 0, "select_last_index": last}
    nodes = [
        helper.make_node("ArgMax", [name], [f"{name}_by_row"], axis=1, **attributes),
        helper.make_node("Transpose", [name], [f"{name}_transpose"], perm=[1, 0]),
        helper.make_node("ArgMax", [f"{name}_transpose"], [f"{name}_by_column"], axis=0, **attributes),
    ]
    indices = np.zeros(rows, dtype=np.int64)
    return Part(nodes, given={f"{name}_by_row": indices, f"{name}_by_column": indices})


def _every_place(block: int, last: int) -> Case:
    """A maximum at every place, alone or with another in the next lane, in its own lane, and one lane before it."""
    dtype = np.int32 if block == BLOCKS[-1] else np.float32
    matrices = [_Rows(f"X{length}", length, STEP if length >= FEW_ROWS_FROM else 1) for length in around(block)]
    peaks = ((0,), (1, 2), (2, 2 + block), (3, 2 + block))
    return _case(
        f"sizes_around_{block}_{WORDS[last]}",
        f"ArgMax finds the {WORDS[last]} maximum at every place of axes of {_listed(around(block))} elements",
        ("index", "select_last_index" if last else "first_index"),
        joined(part for rows in matrices for part in (rows.part(), rows.searched(last))),
        [{f"{rows.name}_period": rows.vector(dtype, places) for rows in matrices} for places in peaks],
    )


def _of_type(row: Row) -> Case:
    """A row of `long_types`."""
    length, last, name = int(row["length"]), int(row["select_last_index"]), row["type"]
    case = _named_places(length, dtype_of(type_number(name)), last, f"_{name}")
    tags = (*case.tags, "long_types", *(f"{factor}={value}" for factor, value in row.items()))
    return replace(case, title=f"{case.title}, in {name}", clauses=(*case.clauses, "argmax.data_type"), tags=tags)


def _named_places(length: int, dtype: Any, last: int, type: str = "") -> Case:
    """A maximum in the first and last elements and at borders of blocks, and two of them."""
    block = next(block for block in reversed(LONG_BLOCKS) if length > block)
    limits = {place for limit in INDEX_LIMITS if limit < length for place in (limit - 1, limit)}
    alone = sorted({0, length - 1} | limits) if length > LONG_BLOCKS[1] else borders(length, block)
    every: list[tuple[int, ...]] = [*((place,) for place in alone), *tied(length, block)]
    rows = every if length < BEYOND else [(length - 1,), *tied(length, block)]
    values = scattered(f"argmax/long/{length}", (PERIOD,), np.float64)
    peak = np.array([PEAK])
    if np.dtype(dtype).kind == "u":
        values, peak = values + PEAK, peak + PEAK
    scale = {"i": 1000, "u": 1000}.get(np.dtype(dtype).kind, 1) if np.dtype(dtype).itemsize > 1 else BYTE_SCALE
    search = _searched("X", len(rows), last)
    return _case(
        f"sizes_long_{length}_{WORDS[last]}{type}",
        f"ArgMax finds the {WORDS[last]} maximum at the borders of blocks along an axis of {length} elements",
        ("index", "select_last_index" if last else "first_index"),
        joined((with_peaks("period", "peak", "X", rows, length), search)),
        [{"period": (values * scale).astype(dtype), "peak": (peak * scale).astype(dtype)}],
    )


def _limits(dtype: np.dtype[Any]) -> Case:
    """Neighbours at the type's limits, and where floating-point types do not tell them apart."""
    rows = _Rows("X", BLOCKS[4] + 1)
    limits = np.iinfo(dtype)
    pairs = [(limits.max - 1, limits.max), (limits.min, limits.min + 1)]
    pairs += [(limit, limit + 1) for _, limit in NEAR.values() if limit < limits.max]
    vectors = [np.full(rows.period, least, dtype=dtype) for least, _ in pairs]
    for vector, (_, most) in zip(vectors, pairs, strict=True):
        vector[1] = most
    name = type_name(dtype)
    return _case(
        f"sizes_limits_{name}",
        f"ArgMax tells {name} neighbours apart at every place of {rows.length}",
        ("data_type", "index"),
        joined((rows.part(), rows.searched())),
        [{"X_period": vector} for vector in vectors],
    )


def _every_axis(shape: Sequence[int]) -> Case:
    """Every axis of a rank, counted from either end."""
    rank = len(shape)
    parts = []
    for axis in range(-rank, rank):
        name = f"index_axis_{axis}".replace("-", "minus_")
        kept = [size for place, size in enumerate(shape) if place != axis % rank]
        node = helper.make_node("ArgMax", ["X"], [name], axis=axis, keepdims=0)
        parts.append(Part([node], given={name: np.zeros(kept, dtype=np.int64)}))
    return _case(
        f"every_axis_rank_{rank}",
        f"ArgMax reduces each axis of a rank-{rank} tensor, counted from either end",
        ("axis", "negative_axis"),
        joined(parts),
        [{"X": scattered(f"argmax/every_axis/{rank}", shape, np.float32)}],
    )


def _many_rows() -> Case:
    """More rows than 16 bits count, and all of their indices looked at."""
    width = BLOCKS[0] + 1
    rows = joined(
        (
            tiled("period", PERIOD * width, "X", (MANY_ROWS, width)),
            Part([helper.make_node("ArgMax", ["X"], ["index"], axis=1, keepdims=0)]),
            shown("index", np.zeros(0, dtype=np.int64), MANY_ROWS, LONG_BLOCKS[0]),
        )
    )
    return _case(
        "sizes_many_rows",
        f"ArgMax finds the maximum of each of {MANY_ROWS} rows",
        ("index",),
        rows,
        [{"period": scattered("argmax/many_rows", (PERIOD * width,), np.float32)}],
    )


def _case(name: str, title: str, clauses: Sequence[str], part: Part, data_sets: Sequence[Mapping[str, Array]]) -> Case:
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


def _model(id: str, part: Part, inputs: Mapping[str, Array]) -> bytes:
    constants: Sequence[onnx.TensorProto] = part.initializers
    return model(
        id,
        part.nodes,
        [declared(*named) for named in inputs.items()],
        [declared(*named) for named in part.given.items()],
        {"": OPSET},
        {tensor.name: elements_of(tensor) for tensor in constants},
    )


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
