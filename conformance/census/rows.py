"""Softmax and LogSoftmax of rows [0, d] for the values d of a type: is the order of both elements kept, do they tie.

A row [a, b] stands for [0, b - a] with every subject that subtracts the largest element first; `symmetric` tries that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conformance.census.tally import count, empty, extend, note

if TYPE_CHECKING:
    from conformance.census.scale import Scale
    from conformance.census.tally import Row
    from conformance.models.arrays import Array

OPERATORS = ("Softmax", "LogSoftmax")

TRIED = 2**20
"""Pairs [a, b] on which the symmetry is tried."""


def rows_of(D: Array) -> Array:
    """The rows [0, d]."""
    X = np.zeros((len(D), 2), D.dtype)
    X[:, 1] = D
    return X


def counted(scale: Scale, first: int, Y: Array) -> list[Row]:
    """What is counted of the answers to rows [0, d], for d at neighbouring places from `first` on, by binade of d."""
    rows = []
    last = first + len(Y)
    while first < last:
        end = min(scale.binade_end(first), last)
        row = empty(scale.binade(first))
        _count(row, scale, first, Y[len(Y) - (last - first) : len(Y) - (last - end)])
        rows.append(row)
        first = end
    return rows


def _count(row: Row, scale: Scale, first: int, Y: Array) -> None:
    """Count rows of one sign of d."""
    with np.errstate(invalid="ignore"):
        lower, upper = (Y[:, 0], Y[:, 1]) if first >= 0 else (Y[:, 1], Y[:, 0])
        equal, below = lower == upper, upper < lower
        none = np.isnan(Y).any(axis=1)
    if first == 0:
        equal[0] = below[0] = False  # d = 0 is a tie before, too
    infinite = abs(first) == scale.infinity
    count(row, pairs=len(Y), merged=int(equal.sum()), rounding_tie=int(equal.sum()))
    count(row, **{"softmax_infinity" if infinite else "nan": int(none.sum())})
    if not infinite:
        note(row, "nan", first + np.flatnonzero(none)[:64])
    if below.any():
        where = np.flatnonzero(below)
        drops = scale.places(np.ascontiguousarray(lower[where])) - scale.places(np.ascontiguousarray(upper[where]))
        widest = int(drops.argmax())
        count(row, out_of_order=len(where))
        note(row, "out_of_order", first + where[:64])
        extend(row, "drop", int(drops[widest]), first + int(where[widest]))


def drawn_pairs(scale: Scale, seed: int = 0) -> tuple[Array, Array]:
    """Rows [a, b] whose difference is exact, and the rows [0, b - a]."""
    draws = np.random.default_rng(seed)
    reach = scale.places(np.asarray([16.0]).astype(scale.dtype))[0]
    places = draws.integers(-reach, reach, (TRIED, 2))
    values = [scale.at(places[:, i]) for i in (0, 1)]
    with np.errstate(all="ignore"):
        a = values[0]
        b = (a.astype(np.float64) + values[1].astype(np.float64)).astype(scale.dtype)
        exact = b.astype(np.float64) - a.astype(np.float64)
        d = exact.astype(scale.dtype)
        kept = np.isfinite(exact) & (d.astype(np.float64) == exact) & (d != 0)
    return np.stack([a[kept], b[kept]], axis=1), rows_of(d[kept])


def order(Y: Array) -> Array:
    """How both elements of each row are ordered: -1, 0 or 1, and 2 where one is NaN."""
    with np.errstate(invalid="ignore"):
        signs = (Y[:, 1] > Y[:, 0]).astype(np.int8) - (Y[:, 1] < Y[:, 0]).astype(np.int8)
        return np.where(np.isnan(Y).any(axis=1), np.int8(2), signs)
