"""Softmax and LogSoftmax of longer rows, a sample of them: does the largest element stay the largest, in each place.

Half of the rows have nothing but near neighbours of the largest element, as those tie first; the others have anything
that is smaller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conformance.census.tally import count, empty, note

if TYPE_CHECKING:
    from conformance.census.scale import Scale
    from conformance.census.tally import Row
    from conformance.models.arrays import Array

LENGTHS = (3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129)

EACH = 32
"""Rows of each length for each place of the largest element."""

_NEAR = 8

_REACH = 16.0


def drawn(scale: Scale, length: int) -> Array:
    """The rows of a length; the largest element's place is that of `largest`."""
    draws, rows = np.random.default_rng(length), length * EACH
    tops = draws.uniform(-_REACH, _REACH, (rows, 1)).astype(scale.dtype)
    top = scale.places(tops)
    near = top - draws.integers(1, _NEAR + 1, (rows, length))
    share = draws.uniform(0, 1, (rows, length))
    below = scale.places((tops.astype(np.float64) - share * (tops.astype(np.float64) + 2 * _REACH)).astype(scale.dtype))
    places = np.where(np.arange(rows)[:, None] % 2, near, np.minimum(below, top - 1))
    np.put_along_axis(places, largest(length)[:, None], top, axis=1)
    return scale.at(places)


def largest(length: int) -> Array:
    """Where the largest element of each row is."""
    return np.repeat(np.arange(length), EACH)


def counted(length: int, Y: Array) -> Row:
    """What is counted of the answers to the rows of a length."""
    row, where = empty(0), largest(length)
    top = np.take_along_axis(Y, where[:, None], axis=1)
    with np.errstate(invalid="ignore"):
        none = np.isnan(Y).any(axis=1)
        above = (top < Y).any(axis=1)
        tied = ((top == Y).sum(axis=1) > 1) & ~above
    numbers = {"longer_rows": len(Y), "longer_out_of_order": above.sum(), "longer_tied": tied.sum()}
    count(row, **numbers, longer_nan=int(none.sum()))
    note(row, "longer_out_of_order", sorted({length * 2**16 + int(place) for place in where[above]}))
    return row


def row_at(place: int) -> tuple[int, int]:
    """The length of a row that is noted, and where its largest element is."""
    return divmod(place, 2**16)
