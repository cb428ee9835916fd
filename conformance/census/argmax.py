"""ArgMax of every pair of values of a 16-bit type, NaN included, with both values of `select_last_index`."""

from __future__ import annotations

import sys
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
    first = np.arange(start * EACH, (start + 1) * EACH, dtype=np.uint32)[:, None]
    second = np.arange(ALL, dtype=np.uint32)[None, :]
    rows = (first | second << 16 if sys.byteorder == "little" else first << 16 | second).reshape(-1, 1)
    return rows.view(np.uint16).view(scale.dtype), select


def counted(scale: Scale, piece: int, Y: Array) -> list[Row]:
    """What is counted of the indices that a piece's rows were given."""
    select, start = divmod(piece, PIECES // 2)
    values = np.arange(ALL, dtype=np.uint16).view(scale.dtype)
    none = np.isnan(values)
    ranks = np.where(none, 0, scale.places(values)).astype(np.int16)
    own = slice(start * EACH, (start + 1) * EACH)
    a, b = ranks[own, None], ranks[None, :]
    answers = Y.reshape(EACH, ALL)
    second, first = answers == 1, answers == 0
    wrong = second != ((b >= a) if select else (b > a))
    wrong[:, none] = wrong[none[own]] = False
    wrong |= ~(first | second)
    row = empty(0)
    numbers = int((~none[own]).sum()) * int((~none).sum())
    count(row, pairs=numbers, wrong=int(wrong.sum()), **{f"select_{select}": numbers})
    note(row, "wrong", piece * EACH * ALL + np.flatnonzero(wrong)[:64])
    count(row, **_of_nan(first, second, none[own], none))
    return [row]


def _of_nan(first: Array, second: Array, before: Array, after: Array) -> dict[str, int]:
    """How often NaN is what ArgMax chooses: of two, of one and a number before it or after it.

    Args:
        first: the rows of which the first element is chosen, by both elements; likewise `second`.
        before: which first elements are NaN; likewise `after`.
    """
    return {
        "nan_before_chosen": int(first[before][:, ~after].sum()),
        "nan_before_ignored": int(second[before][:, ~after].sum()),
        "nan_after_chosen": int(second[~before][:, after].sum()),
        "nan_after_ignored": int(first[~before][:, after].sum()),
        "nan_both_first": int(first[before][:, after].sum()),
        "nan_both_last": int(second[before][:, after].sum()),
    }
