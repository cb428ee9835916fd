"""Cells of a census, the arguments that each cell tests, and the counting of one chunk.

A cell is one operator and element type on one subject. Its arguments are all values of the type in ascending order. If
the type has too many values, the arguments are a sample: windows (ranges of consecutive values) at equal distances, and
neighbourhoods of arguments at which errors are likely. A sample contains each pair of neighbours at most once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from conformance.base.serialization.decoding import decode_json
from conformance.studies.census import argmax_census, elementwise_census, softmax_census
from conformance.studies.census.correct_rounding import FUNCTIONS
from conformance.studies.census.counters import add_counts, add_ordinals, empty_counters, merge_by_binade
from conformance.studies.census.float_ordinals import FLOAT_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from conformance.exact.models.arrays import Array
    from conformance.studies.census.counters import BinadeCounters
    from conformance.studies.census.float_ordinals import FloatType
    from conformance.studies.census.query import QueryClient


CHUNK_VALUES = 2**22
"""Values of a chunk."""

WINDOW_PAIRS = 2**12
"""Consecutive pairs of neighbours in a window of a sample."""

NEIGHBOURHOOD_PAIRS = 2**8
"""Pairs of neighbours on each side of a critical argument in a sample."""


@dataclass(frozen=True)
class ArgumentPlan:
    """The arguments of one operator with one element type, as ordinals.

    Attributes:
        first: the first ordinal.
        last: the last ordinal.
        sample: number of pairs of neighbours in the windows of a sample; 0 to test all values.
        critical: ordinals of arguments at which errors are likely; a sample contains their neighbourhoods too.
    """

    first: int
    last: int
    sample: int = 0
    critical: tuple[int, ...] = ()

    @property
    def chunk_count(self) -> int:
        """Number of chunks in which the arguments are tested."""
        return len(self._sampled) if self.sample else -(-(self.last - self.first) // CHUNK_VALUES)

    def windows(self, chunk: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of consecutive arguments in a chunk: first ordinal, and number of pairs of neighbours."""
        if self.sample:
            yield from self._sampled[chunk]
        else:
            first = self.first + chunk * CHUNK_VALUES
            yield first, min(CHUNK_VALUES, self.last - first)

    @cached_property
    def _sampled(self) -> list[list[tuple[int, int]]]:
        """The ranges of consecutive arguments in a sample, for each chunk."""
        chunks: list[list[tuple[int, int]]] = []
        size = CHUNK_VALUES
        for start, end in _merge_overlapping([*self._spread(), *self._neighbourhoods()]):
            if size >= CHUNK_VALUES:
                chunks.append([])
                size = 0
            chunks[-1].append((start, end - start))
            size += end - start
        return chunks

    def _spread(self) -> Iterator[tuple[int, int]]:
        """Yield the windows at equal distances, each as its first and last ordinal."""
        count = self.sample // WINDOW_PAIRS
        for window in range(count):
            start = self.first + (self.last - self.first - WINDOW_PAIRS) * window // max(1, count - 1)
            yield start, start + WINDOW_PAIRS

    def _neighbourhoods(self) -> Iterator[tuple[int, int]]:
        """Yield the neighbourhoods of the critical arguments, each as its first and last ordinal."""
        for ordinal in self.critical:
            start = max(ordinal - NEIGHBOURHOOD_PAIRS, self.first)
            end = min(ordinal + NEIGHBOURHOOD_PAIRS, self.last)
            if start < end:
                yield start, end


def _merge_overlapping(runs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges of ordinals in ascending order; overlapping ranges are merged."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(runs):
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


_TABLE_ROWS = 128
"""Rows of the lookup table in common implementations of Exp and Log; critical arguments lie between two rows."""


@cache
def critical_ordinals(operator: str, float_type: FloatType) -> tuple[int, ...]:
    """Return the ordinals of arguments at which errors of an operator are likely, for a sample."""
    arguments = np.asarray([*_special_arguments(operator, float_type), *known_counterexamples(operator)])
    with np.errstate(over="ignore"):
        found = float_type.ordinals(arguments.astype(float_type.dtype))
    ends = range(0, float_type.infinity + 1, 1 << float_type.fraction)
    return tuple(sorted({*map(int, found), *ends, *(-end for end in ends)}))


@cache
def known_counterexamples(operator: str) -> tuple[float, ...]:
    """Return arguments at which a released runtime violates monotonicity: its result is larger than at the next float.

    They are known for Exp and Log. For Softmax the arguments of Exp are returned.
    """
    file = resources.files("conformance.studies.census").joinpath("counterexamples.json")
    name = "Exp" if operator.endswith("Softmax") else operator
    return tuple(map(float.fromhex, decode_json(file.read_bytes())[name]))


def _special_arguments(operator: str, float_type: FloatType) -> Iterator[float]:
    """Yield arguments at which implementations of an operator change their method, such as the ends of a table."""
    if operator == "Log":
        yield from _special_log_arguments(float_type)
    elif operator != "Sqrt":
        yield from _special_exp_arguments(float_type)


def _special_exp_arguments(float_type: FloatType) -> Iterator[float]:
    steps = round(float_type.format.largest_exponent) + float_type.fraction + 2
    for multiple in range(-steps, steps):
        yield (multiple + 0.5) * math.log(2)
    for row in range(-2 * _TABLE_ROWS, 2 * _TABLE_ROWS):
        yield (row + 0.5) * math.log(2) / _TABLE_ROWS
    least = 1 - float_type.format.largest_exponent
    for exponent in (
        float_type.format.largest_exponent + 1,
        least,
        least - float_type.fraction,
        least - float_type.fraction - 1,
    ):
        yield exponent * math.log(2)


def _special_log_arguments(float_type: FloatType) -> Iterator[float]:
    for bits in range(1, float_type.fraction + 2):
        yield from (1 - 2.0**-bits, 1 + 2.0**-bits)
    for row in range(_TABLE_ROWS):
        yield from ((1 + (row + 0.5) / _TABLE_ROWS) / 2, 1 + (row + 0.5) / _TABLE_ROWS)
    yield from (math.sqrt(0.5), math.sqrt(2), math.e)


SAMPLE_PAIRS = 2**24
"""Values or pairs of a sample, for a subject whose harness does not transfer tensors in files."""

DOUBLE_SAMPLE_PAIRS = 2**30
"""Pairs of neighbours of a sample for double, which has too many values to test all."""


@dataclass(frozen=True)
class Cell:
    """One operator and element type on one subject.

    Attributes:
        subject: name of the subject.
        operator: ONNX op type.
        type: name of the element type in ONNX, in lower case.
        sampled: whether to test a sample instead of all values.
    """

    subject: str
    operator: str
    type: str
    sampled: bool = False

    @property
    def name(self) -> str:
        """Subject, operator and element type."""
        return f"{self.subject} {self.operator} {self.type}"

    @property
    def float_type(self) -> FloatType:
        """The element type."""
        return FLOAT_TYPES[self.type]

    @property
    def ordinals(self) -> range:
        """The ordinals that counters can have: of values with a next value, or of pairs for ArgMax."""
        if self.operator == "ArgMax":
            return range(argmax_census.PAIR_COUNT)
        limits = np.iinfo(self.float_type.signed)
        return range(limits.min, limits.max)

    @property
    def plan(self) -> ArgumentPlan:
        """The arguments to test."""
        return _plan(self.operator, self.type, self.sampled)

    @property
    def chunk_count(self) -> int:
        """Number of chunks: those of the plan, then those for longer rows of Softmax or for errors of doubles."""
        if self.operator == "ArgMax":
            return argmax_census.chunk_count(sampled=self.sampled)
        if self.operator in softmax_census.SOFTMAX_OPERATORS:
            return self.plan.chunk_count + 1
        return self.plan.chunk_count + (elementwise_census.error_chunk_count() if self.type == "double" else 0)


@cache
def _plan(operator: str, type: str, sampled: bool) -> ArgumentPlan:
    float_type = FLOAT_TYPES[type]
    first = -float_type.infinity
    last = float_type.infinity
    if operator == "ArgMax":  # `argmax` divides its pairs into chunks itself
        return ArgumentPlan(first, last, SAMPLE_PAIRS if sampled else 0)
    if operator in FUNCTIONS:
        first, last = elementwise_census.domain_ordinals(operator, float_type)
    if not sampled and type != "double":
        return ArgumentPlan(first, last)
    return ArgumentPlan(
        first, last, SAMPLE_PAIRS if sampled else DOUBLE_SAMPLE_PAIRS, critical_ordinals(operator, float_type)
    )


_DIRECT_COUNT_LENGTH = 64


def count_pass_impact(float_type: FloatType, Y: Array, outside: int) -> dict[str, int]:
    """Count the pairs of different values for which the pass changes the result of ArgMax, by hazard class.

    Args:
        float_type: a 16-bit type.
        Y: the operator's results for all arguments in its domain, in ascending order of the arguments.
        outside: number of values of the type outside of the domain.

    Returns:
        Number of pairs by hazard class; `pass_pairs` is the number of all pairs.
    """
    none = np.isnan(Y)
    defined = Y[~none]
    values, counts = np.unique(defined + np.zeros(1, Y.dtype), return_counts=True)
    ties = {float(value): math.comb(int(number), 2) for value, number in zip(values, counts, strict=True)}
    over = ties.get(np.inf, 0)
    under = ties.get(0.0, 0)
    every = len(Y) + outside
    numbers = len(defined)
    return {
        "pass_pairs": math.comb(every, 2),
        "pass_rounding_tie": sum(ties.values()) - over - under,
        "pass_overflow": over,
        "pass_underflow": under,
        "pass_negative": math.comb(every, 2) - math.comb(numbers, 2),
        "pass_not_monotone": count_inversions(float_type.ordinals(defined + np.zeros(1, Y.dtype))),
    }


def count_inversions(ranks: Array) -> int:
    """Return the number of inversions: pairs of positions i < j with `ranks[i]` > `ranks[j]`."""
    if len(ranks) <= _DIRECT_COUNT_LENGTH:
        return int(np.triu(ranks[:, None] > ranks[None, :], 1).sum())
    half = len(ranks) // 2
    left = ranks[:half]
    right = ranks[half:]
    across = len(left) * len(right) - int(np.searchsorted(np.sort(left), right, side="right").sum())
    return count_inversions(left) + count_inversions(right) + across


PADDING_VALUES = 256
"""Least number of values after the counted ones in a query; tensors have a multiple of this length."""

QUERY_VALUES = 2**20
"""Values of one query: inputs and outputs then stay in the processor's cache."""

TAIL_VALUES = 61
"""Number of last values of a chunk that are queried again, in a short tensor of their own."""


def count_chunk(client: QueryClient, cell: Cell, chunk: int) -> list[BinadeCounters]:
    """Run the operator of a cell on the arguments of a chunk, and return the counters.

    Raises:
        SubjectRefused: the subject fails, or returns something other than a tensor of the right type and shape.
    """
    if cell.operator == "ArgMax":
        return _count_argmax(client, cell, chunk)
    beyond = chunk - cell.plan.chunk_count
    if cell.operator in softmax_census.SOFTMAX_OPERATORS:
        return _count_rows(client, cell, chunk) if beyond < 0 else _count_longer_rows(client, cell)
    return _count_values(client, cell, chunk) if beyond < 0 else _count_errors(client, cell, beyond)


def _count_argmax(client: QueryClient, cell: Cell, chunk: int) -> list[BinadeCounters]:
    found = []
    for block in argmax_census.iter_blocks(chunk, sampled=cell.sampled):
        Y = client.query("ArgMax", argmax_census.block_rows(cell.float_type, block), cell.type, block.select)
        found.append(argmax_census.count_block(cell.float_type, block, Y))
    return list(merge_by_binade(found).values())


def _count_rows(client: QueryClient, cell: Cell, chunk: int) -> list[BinadeCounters]:
    float_type = cell.float_type
    runs = [(first, pairs + (first + pairs == float_type.infinity)) for first, pairs in cell.plan.windows(chunk)]
    Y = query_with_padding(client, cell, softmax_census.rows_from_zero(_values_of_runs(float_type, runs)))
    return _count_by_run(lambda first, part: softmax_census.count_rows(float_type, first, part), runs, Y)


def _count_longer_rows(client: QueryClient, cell: Cell) -> list[BinadeCounters]:
    found = []
    for length in softmax_census.LONGER_ROW_LENGTHS:
        X = softmax_census.random_rows(cell.float_type, length)
        found.append(softmax_census.count_longer_rows(length, client.query(cell.operator, X, cell.type)))
    return list(merge_by_binade(found).values())


def _count_values(client: QueryClient, cell: Cell, chunk: int) -> list[BinadeCounters]:
    float_type = cell.float_type
    runs = [(first, pairs + 1) for first, pairs in cell.plan.windows(chunk)]
    X = _values_of_runs(float_type, runs)
    Y = query_with_padding(client, cell, X)
    found = _count_by_run(
        lambda first, part: elementwise_census.count_neighbours(cell.operator, float_type, first, part), runs, Y
    )
    row = empty_counters(0)
    if float_type.dtype.itemsize == 2:
        add_counts(row, **count_pass_impact(float_type, Y, 2 * float_type.infinity + 1 - len(Y)))
    last = X[-TAIL_VALUES:]
    values = Y[-TAIL_VALUES:]
    others = client.query(cell.operator, last, cell.type).view(float_type.signed) != values.view(float_type.signed)
    add_counts(row, asked_alone=len(last), other_alone=int((others & ~np.isnan(values)).sum()))
    add_ordinals(row, "other_alone", float_type.ordinals(last[others]))
    return [*found, row]


def _count_errors(client: QueryClient, cell: Cell, chunk: int) -> list[BinadeCounters]:
    where = elementwise_census.error_ordinals(cell.operator, cell.float_type, chunk)
    X = cell.float_type.values_at(where)
    return elementwise_census.count_double_errors(
        cell.operator, cell.float_type, where, X, query_with_padding(client, cell, X)
    )


def query_with_padding(client: QueryClient, cell: Cell, X: Array) -> Array:
    """Return the subject's results for the arguments X. All queries have the same length and end with padding values.

    A runtime may use other instructions for the last elements of a tensor, and their results may then be in the wrong
    order. This effect depends on the position in the tensor and not on the values, and is counted separately.
    """
    count = max(1, len(X) // QUERY_VALUES)
    each = -(-len(X) // (count * PADDING_VALUES)) * PADDING_VALUES
    padded = np.concatenate([X, np.repeat(X[-1:], count * each + PADDING_VALUES - len(X), axis=0)])
    parts = (padded[start : start + each + PADDING_VALUES] for start in range(0, count * each, each))
    return np.concatenate([client.query(cell.operator, part, cell.type)[:each] for part in parts])[: len(X)]


def is_shift_symmetric(client: QueryClient, cell: Cell) -> bool:
    """Return whether Softmax gives its two results for random rows [a, b] in the same order as for rows [0, b - a].

    Raises:
        SubjectRefused: the subject fails, or returns something other than a tensor of the right type and shape.
    """
    pairs, differences = softmax_census.random_pairs(cell.float_type)
    Y, Z = (client.query(cell.operator, X, cell.type) for X in (pairs, differences))
    return bool((softmax_census.row_order(Y) == softmax_census.row_order(Z)).all())


def _values_of_runs(float_type: FloatType, runs: list[tuple[int, int]]) -> Array:
    parts = [float_type.consecutive_values(first, number) for first, number in runs]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _count_by_run(
    counted: Callable[[int, Array], list[BinadeCounters]], runs: list[tuple[int, int]], Y: Array
) -> list[BinadeCounters]:
    found = []
    start = 0
    for first, number in runs:
        found += counted(first, Y[start : start + number])
        start += number
    return list(merge_by_binade(found).values())
