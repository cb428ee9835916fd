"""ArgMax of every pair of values of a 16-bit type, NaN included, with both values of `select_last_index`.

In a sample every so-manieth value is a first element; each meets all values.

The second elements of a pair are taken in the order of their values, those that are no number last, so that a right
answer is 0 up to some element and 1 from there on.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from conformance.census.tally import count, empty, note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.census.scale import Scale
    from conformance.census.tally import Row
    from conformance.models.arrays import Array

ALL = 2**16
EACH = 64
"""First elements of a piece; each meets all values."""

TOGETHER = 16
"""First elements that a subject is asked for at once: what it is given and gives stays near the processor."""

PIECES = 2 * ALL // EACH
"""Half of them for each value of `select_last_index`."""

APART = 512
"""How far apart by their bits the first elements of a sample are; both zeros, ones, infinities and NaN are in it."""


@dataclass(frozen=True)
class Block:
    """Pairs that a subject is asked for at once.

    Attributes:
        select: the value of `select_last_index`.
        first: the first of their `TOGETHER` first elements, by its bits.
        apart: how far these are apart.
    """

    select: int
    first: int
    apart: int = 1

    @property
    def firsts(self) -> Array:
        """The bits of the first elements."""
        return np.arange(TOGETHER, dtype=np.uint16) * np.uint16(self.apart) + np.uint16(self.first)


@dataclass(frozen=True)
class Order:
    """The values of a type as second elements.

    Attributes:
        bits: all values, in order, and then those that are no number.
        ranks: the places of those that are numbers.
        steps: as many zeros as there are numbers, and as many ones: what is right for a first element is part of it.
    """

    bits: Array
    ranks: Array
    steps: Array

    def right(self, rank: int, select: int) -> Array:
        """The right answers to the pairs of a number and each of the numbers."""
        zeros = int(np.searchsorted(self.ranks, rank, side="left" if select else "right"))
        return self.steps[len(self.ranks) - zeros :][: len(self.ranks)]


@cache
def order_of(scale: Scale) -> Order:
    """The values of a 16-bit type in order."""
    bits = np.arange(ALL, dtype=np.uint16)
    values = bits.view(scale.dtype)
    none = is_nan(values)
    places = np.where(none, ALL, scale.places(values))
    ordered = np.argsort(places, kind="stable")
    ranks = places[ordered][: ALL - int(none.sum())]
    steps = np.repeat(np.asarray([0, 1], np.int64), len(ranks))
    return Order(bits[ordered], ranks, steps)


def pieces(*, sampled: bool) -> int:
    """How many there are."""
    return PIECES // APART if sampled else PIECES


def blocks(piece: int, *, sampled: bool) -> Iterator[Block]:
    """What a subject is asked for a piece."""
    select, start = divmod(piece, pieces(sampled=sampled) // 2)
    apart = APART if sampled else 1
    for first in range(start * EACH, (start + 1) * EACH, TOGETHER):
        yield Block(select, first * apart, apart)


def pairs(scale: Scale, block: Block) -> Array:
    """The rows of a block."""
    first = block.firsts.astype(np.uint32)[:, None]
    second = order_of(scale).bits.astype(np.uint32)[None, :]
    rows = (first | second << 16 if sys.byteorder == "little" else first << 16 | second).reshape(-1, 1)
    return rows.view(np.uint16).view(scale.dtype)


def counted(scale: Scale, block: Block, Y: Array) -> Row:
    """What is counted of the indices that a block's rows were given."""
    order, row = order_of(scale), empty(0)
    numbers = len(order.ranks)
    firsts = block.firsts.view(scale.dtype)
    of_each = zip(firsts.view(np.uint16), is_nan(firsts), scale.places(firsts), Y.reshape(TOGETHER, ALL), strict=True)
    for value, none, rank, answers in of_each:
        if none:
            _count_nan_before(row, answers, numbers)
            wrong = np.flatnonzero(_neither(answers))
        else:
            count(row, pairs=numbers, **{f"select_{block.select}": numbers})
            _count_nan_after(row, answers[numbers:])
            wrong = _wrong(answers, order.right(int(rank), block.select))
        if len(wrong):
            seconds = order.bits[wrong].astype(np.int64)
            count(row, wrong=len(wrong))
            note(row, "wrong", np.sort((block.select * ALL + int(value)) * ALL + seconds)[:64])
    return row


def pair_at(scale: Scale, place: int) -> tuple[float, float, int]:
    """The pair of a place that is noted, and its `select_last_index`."""
    bits, second = divmod(place, ALL)
    select, first = divmod(bits, ALL)
    values = np.asarray([first, second], np.uint16).view(scale.dtype)
    return float(values[0]), float(values[1]), select


def is_nan(values: Array) -> Array:
    """Which values are no number; NumPy may warn of those of other types than its own that signal."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.isnan(values))


def _wrong(answers: Array, right: Array) -> Array:
    """Where answers to the pairs of a number are wrong; beside a NaN only what is no index of two elements is."""
    numbers = len(right)
    if np.array_equal(answers[:numbers], right) and not _neither(answers[numbers:]).any():
        return np.empty(0, np.int64)
    beside = _neither(answers[numbers:])
    return np.flatnonzero(np.concatenate([answers[:numbers] != right, beside]))


def _neither(answers: Array) -> Array:
    return np.asarray((answers != 0) & (answers != 1))


def _count_nan_before(row: Row, answers: Array, numbers: int) -> None:
    """How often a NaN is chosen before a number, and which of two."""
    of_number, of_nan = answers[:numbers], answers[numbers:]
    count(
        row,
        nan_before_chosen=int((of_number == 0).sum()),
        nan_before_ignored=int((of_number == 1).sum()),
        nan_both_first=int((of_nan == 0).sum()),
        nan_both_last=int((of_nan == 1).sum()),
    )


def _count_nan_after(row: Row, answers: Array) -> None:
    """How often a NaN is chosen behind a number."""
    count(row, nan_after_chosen=int((answers == 1).sum()), nan_after_ignored=int((answers == 0).sum()))
