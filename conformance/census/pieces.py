"""What a piece of a cell comes to: what the subject is asked for it, and what is counted of its answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conformance.census import argmax, doubles, elementwise, longer_rows, rows
from conformance.census.effect import all_pairs
from conformance.census.tally import count, empty, merged, note

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.census.asking import Asked
    from conformance.census.cell import Cell
    from conformance.census.scale import Scale
    from conformance.census.tally import Row
    from conformance.models.arrays import Array

BEHIND = 256
"""So many values at least stand behind those that are counted, and tensors are multiples of it."""

TOGETHER = 2**20
"""Values that a subject is asked for at once: what it is given and gives stays near the processor."""

ALONE = 61
"""The last values of a piece, which are asked for once more in a tensor of their own."""


def counted(asked: Asked, cell: Cell, piece: int) -> list[Row]:
    """What a piece of a cell comes to.

    Raises:
        NoAnswer: the subject does not answer as it should.
    """
    if cell.operator == "ArgMax":
        return _of_argmax(asked, cell, piece)
    beyond = piece - cell.plan.pieces
    if cell.operator in rows.OPERATORS:
        return _of_rows(asked, cell, piece) if beyond < 0 else _of_longer_rows(asked, cell)
    return _of_values(asked, cell, piece) if beyond < 0 else _of_errors(asked, cell, beyond)


def _of_argmax(asked: Asked, cell: Cell, piece: int) -> list[Row]:
    found = []
    for block in argmax.blocks(piece, sampled=cell.sampled):
        Y = asked.answer("ArgMax", argmax.pairs(cell.scale, block), cell.type, block.select)
        found.append(argmax.counted(cell.scale, block, Y))
    return list(merged(found).values())


def _of_rows(asked: Asked, cell: Cell, piece: int) -> list[Row]:
    scale = cell.scale
    runs = [(first, pairs + (first + pairs == scale.infinity)) for first, pairs in cell.plan.windows(piece)]
    Y = amid(asked, cell, rows.rows_of(_values(scale, runs)))
    return _by_run(lambda first, part: rows.counted(scale, first, part), runs, Y)


def _of_longer_rows(asked: Asked, cell: Cell) -> list[Row]:
    found = []
    for length in longer_rows.LENGTHS:
        X = longer_rows.drawn(cell.scale, length)
        found.append(longer_rows.counted(length, asked.answer(cell.operator, X, cell.type)))
    return list(merged(found).values())


def _of_values(asked: Asked, cell: Cell, piece: int) -> list[Row]:
    scale = cell.scale
    runs = [(first, pairs + 1) for first, pairs in cell.plan.windows(piece)]
    X = _values(scale, runs)
    Y = amid(asked, cell, X)
    found = _by_run(lambda first, part: elementwise.counted(cell.operator, scale, first, part), runs, Y)
    row = empty(0)
    if scale.dtype.itemsize == 2:
        count(row, **all_pairs(scale, Y, 2 * scale.infinity + 1 - len(Y)))
    last = X[-ALONE:]
    others = asked.answer(cell.operator, last, cell.type).view(scale.signed) != Y[-ALONE:].view(scale.signed)
    count(row, asked_alone=len(last), other_alone=int((others & ~np.isnan(Y[-ALONE:])).sum()))
    note(row, "other_alone", scale.places(last[others]))
    return [*found, row]


def _of_errors(asked: Asked, cell: Cell, piece: int) -> list[Row]:
    where = doubles.places(cell.operator, cell.scale, piece)
    X = cell.scale.at(where)
    return doubles.counted(cell.operator, cell.scale, where, X, amid(asked, cell, X))


def amid(asked: Asked, cell: Cell, X: Array) -> Array:
    """What the subject gives for values that have others behind them, asked for in parts of one size.

    At the end of a tensor a runtime may compute by other instructions, and neighbours that are computed in two ways may
    come out in the wrong order: that is about places in a tensor, and not about values.
    """
    count = max(1, len(X) // TOGETHER)
    each = -(-len(X) // (count * BEHIND)) * BEHIND
    padded = np.concatenate([X, np.repeat(X[-1:], count * each + BEHIND - len(X), axis=0)])
    parts = (padded[start : start + each + BEHIND] for start in range(0, count * each, each))
    return np.concatenate([asked.answer(cell.operator, part, cell.type)[:each] for part in parts])[: len(X)]


def is_symmetric(asked: Asked, cell: Cell) -> bool:
    """Whether rows [a, b] are ordered as [0, b - a].

    Raises:
        NoAnswer: the subject does not answer as it should.
    """
    pairs, differences = rows.drawn_pairs(cell.scale)
    Y, Z = (asked.answer(cell.operator, X, cell.type) for X in (pairs, differences))
    return bool((rows.order(Y) == rows.order(Z)).all())


def _values(scale: Scale, runs: list[tuple[int, int]]) -> Array:
    parts = [scale.values(first, number) for first, number in runs]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _by_run(counted: Callable[[int, Array], list[Row]], runs: list[tuple[int, int]], Y: Array) -> list[Row]:
    found, start = [], 0
    for first, number in runs:
        found += counted(first, Y[start : start + number])
        start += number
    return list(merged(found).values())
