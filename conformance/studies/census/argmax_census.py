"""Census of ArgMax: every pair of values of a 16-bit type, NaN included, with both values of `select_last_index`.

In a sample, only every `SAMPLE_STRIDE`-th value is a first element. Each first element is paired with all values as
second elements.

Second elements are in ascending order, NaN last. The expected indices for a first element are therefore zeros up to a
certain second element, and ones after it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from conformance.studies.census.counters import add_counts, add_ordinals, empty_counters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exact.models.arrays import Array
    from conformance.studies.census.counters import BinadeCounters
    from conformance.studies.census.float_ordinals import FloatType

VALUE_COUNT = 2**16
"""Number of values of a 16-bit type."""

PAIR_COUNT = 2 * VALUE_COUNT**2
"""Number of pairs of values with a value of `select_last_index`; `decode_pair` decodes their ordinals."""

FIRSTS_PER_CHUNK = 64
"""First elements of a chunk."""

FIRSTS_PER_QUERY = 16
"""First elements of one query: inputs and outputs then stay in the processor's cache."""

CHUNK_COUNT = 2 * VALUE_COUNT // FIRSTS_PER_CHUNK
"""Number of chunks without sampling; the second half has `select_last_index` 1."""

SAMPLE_STRIDE = 512
"""Distance between the bit patterns of first elements in a sample; it contains both zeros and infinities, 1 and NaN."""


@dataclass(frozen=True)
class PairBlock:
    """The pairs of values in one query: `FIRSTS_PER_QUERY` first elements, each with all second elements.

    Attributes:
        select: value of `select_last_index`.
        first: bit pattern of the smallest first element.
        stride: distance between the bit patterns of successive first elements.
    """

    select: int
    first: int
    stride: int = 1

    @property
    def firsts(self) -> Array:
        """Bit patterns of the first elements."""
        return np.arange(FIRSTS_PER_QUERY, dtype=np.uint16) * np.uint16(self.stride) + np.uint16(self.first)


@dataclass(frozen=True)
class ValueOrder:
    """All values of a 16-bit type in ascending order: the second elements of pairs.

    Attributes:
        bits: bit patterns of all numbers in increasing order, then those of all NaN.
        ranks: ordinals of the numbers, in increasing order.
        steps: as many zeros as there are numbers, then as many ones. Expected indices are slices of this array.
    """

    bits: Array
    ranks: Array
    steps: Array

    def expected_indices(self, rank: int, select: int) -> Array:
        """Return the expected index for each pair of a fixed first element and one of the numbers.

        Args:
            rank: ordinal of the first element.
            select: value of `select_last_index`.
        """
        zeros = int(np.searchsorted(self.ranks, rank, side="left" if select else "right"))
        return self.steps[len(self.ranks) - zeros :][: len(self.ranks)]


@cache
def value_order(float_type: FloatType) -> ValueOrder:
    """Return the values of a 16-bit type in ascending order."""
    bits = np.arange(VALUE_COUNT, dtype=np.uint16)
    values = bits.view(float_type.dtype)
    none = is_nan(values)
    ordinals = np.where(none, VALUE_COUNT, float_type.ordinals(values))
    ordered = np.argsort(ordinals, kind="stable")
    ranks = ordinals[ordered][: VALUE_COUNT - int(none.sum())]
    steps = np.repeat(np.asarray([0, 1], np.int64), len(ranks))
    return ValueOrder(bits[ordered], ranks, steps)


def chunk_count(*, sampled: bool) -> int:
    """Return the number of chunks of a census of ArgMax, for all pairs or for a sample."""
    return CHUNK_COUNT // SAMPLE_STRIDE if sampled else CHUNK_COUNT


def iter_blocks(chunk: int, *, sampled: bool) -> Iterator[PairBlock]:
    """Yield the queries of a chunk."""
    select, start = divmod(chunk, chunk_count(sampled=sampled) // 2)
    stride = SAMPLE_STRIDE if sampled else 1
    for first in range(start * FIRSTS_PER_CHUNK, (start + 1) * FIRSTS_PER_CHUNK, FIRSTS_PER_QUERY):
        yield PairBlock(select, first * stride, stride)


def block_rows(float_type: FloatType, block: PairBlock) -> Array:
    """Return the input tensor of a query: one row per pair."""
    first = block.firsts.astype(np.uint32)[:, None]
    second = value_order(float_type).bits.astype(np.uint32)[None, :]
    rows = (first | second << 16 if sys.byteorder == "little" else first << 16 | second).reshape(-1, 1)
    return rows.view(np.uint16).view(float_type.dtype)


def count_block(float_type: FloatType, block: PairBlock, Y: Array) -> BinadeCounters:
    """Return the counters for the indices `Y` that the subject returns for a query."""
    order = value_order(float_type)
    row = empty_counters(0)
    numbers = len(order.ranks)
    firsts = block.firsts.view(float_type.dtype)
    of_each = zip(
        firsts.view(np.uint16),
        is_nan(firsts),
        float_type.ordinals(firsts),
        Y.reshape(FIRSTS_PER_QUERY, VALUE_COUNT),
        strict=True,
    )
    for value, none, rank, answers in of_each:
        if none:
            _count_nan_before(row, answers, numbers)
            wrong = np.flatnonzero(_is_invalid_index(answers))
        else:
            add_counts(row, pairs=numbers, **{f"select_{block.select}": numbers})
            _count_nan_after(row, answers[numbers:])
            wrong = _wrong_positions(answers, order.expected_indices(int(rank), block.select))
        if len(wrong):
            seconds = order.bits[wrong].astype(np.int64)
            add_counts(row, wrong=len(wrong))
            add_ordinals(row, "wrong", np.sort((block.select * VALUE_COUNT + int(value)) * VALUE_COUNT + seconds)[:64])
    return row


def decode_pair(float_type: FloatType, ordinal: int) -> tuple[float, float, int]:
    """Decode an ordinal that `count_block` recorded for a wrong index.

    Return both values of the pair and `select_last_index`.
    """
    bits, second = divmod(ordinal, VALUE_COUNT)
    select, first = divmod(bits, VALUE_COUNT)
    values = np.asarray([first, second], np.uint16).view(float_type.dtype)
    return float(values[0]), float(values[1]), select


def is_nan(values: Array) -> Array:
    """Return which values are NaN, as booleans; NumPy warnings about signalling NaN are suppressed."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.isnan(values))


def _wrong_positions(answers: Array, right: Array) -> Array:
    """Return the positions of the wrong indices in `answers`, the indices for one number as first element.

    For a pair with a NaN, the index may be 0 or 1.
    """
    numbers = len(right)
    invalid = _is_invalid_index(answers[numbers:])
    if np.array_equal(answers[:numbers], right) and not invalid.any():
        return np.empty(0, np.int64)
    return np.flatnonzero(np.concatenate([answers[:numbers] != right, invalid]))


def _is_invalid_index(answers: Array) -> Array:
    return np.asarray((answers != 0) & (answers != 1))


def _count_nan_before(row: BinadeCounters, answers: Array, numbers: int) -> None:
    """Count, for a NaN as first element, how often ArgMax selects it over a number, and which of two NaN it selects."""
    of_number = answers[:numbers]
    of_nan = answers[numbers:]
    add_counts(
        row,
        nan_before_chosen=int((of_number == 0).sum()),
        nan_before_ignored=int((of_number == 1).sum()),
        nan_both_first=int((of_nan == 0).sum()),
        nan_both_last=int((of_nan == 1).sum()),
    )


def _count_nan_after(row: BinadeCounters, answers: Array) -> None:
    """Count, for a number as first element, how often ArgMax selects a NaN that follows it."""
    add_counts(row, nan_after_chosen=int((answers == 1).sum()), nan_after_ignored=int((answers == 0).sum()))
