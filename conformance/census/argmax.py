"""ArgMax of every pair of values of a 16-bit type, NaN included, with both values of `select_last_index`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conformance.census.tally import count, empty, note

if TYPE_CHECKING:
    from conformance.census.scale import Scale
    from conformance.census.tally import Row
    from conformance.models.arrays import Array

ALL = 2**16
EACH = 64
"""First elements of a piece; each meets all values."""

PIECES = 2 * ALL // EACH
"""Half of them for each value of `select_last_index`."""


def pairs(scale: Scale, piece: int) -> tuple[Array, int]:
    """The rows of a piece, and its `select_last_index`."""
    select, start = divmod(piece, PIECES // 2)
    X = np.empty((EACH, ALL, 2), np.uint16)
    X[:, :, 0] = np.arange(start * EACH, (start + 1) * EACH, dtype=np.uint16)[:, None]
    X[:, :, 1] = np.arange(ALL, dtype=np.uint16)[None, :]
    return X.reshape(-1, 2).view(scale.dtype), select


def counted(scale: Scale, piece: int, Y: Array) -> list[Row]:
    """What is counted of the indices that a piece's rows were given."""
    X, select = pairs(scale, piece)
    values = X[:ALL, 1]
    none = np.isnan(values)
    rank = np.where(none, 0, scale.places(np.ascontiguousarray(values))).astype(np.int32)
    start = piece % (PIECES // 2) * EACH
    own, answers = slice(start, start + EACH), Y.reshape(EACH, ALL)
    a, b = rank[own, None], rank[None, :]
    expected = (b >= a) if select else (b > a)
    first_none, second_none = none[own, None], none[None, :]
    settled = ~(first_none | second_none)
    wrong = settled & (answers != expected)
    row = empty(0)
    count(row, pairs=int(settled.sum()), wrong=int(wrong.sum()), **{f"select_{select}": int(settled.sum())})
    note(row, "wrong", piece * EACH * ALL + np.flatnonzero(wrong)[:64])
    count(row, **_of_nan(answers, first_none, second_none))
    return [row]


def _of_nan(answers: Array, first_none: Array, second_none: Array) -> dict[str, int]:
    """How often NaN is what ArgMax chooses: of two, of one and a number before it or after it."""
    left, right = first_none & ~second_none, second_none & ~first_none
    both = first_none & second_none
    return {
        "nan_before_chosen": int((left & (answers == 0)).sum()),
        "nan_before_ignored": int((left & (answers == 1)).sum()),
        "nan_after_chosen": int((right & (answers == 1)).sum()),
        "nan_after_ignored": int((right & (answers == 0)).sum()),
        "nan_both_first": int((both & (answers == 0)).sum()),
        "nan_both_last": int((both & (answers == 1)).sum()),
    }
