"""Census of Softmax and LogSoftmax: the order of the results for rows [0, d], for all values d of a type.

If a subject subtracts the largest element first, the row [a, b] gives the same result as [0, b - a]. `random_pairs`
returns rows that test this property. `random_rows` returns longer rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conformance.studies.census.counters import add_counts, add_disorder, add_ordinals, empty_counters

if TYPE_CHECKING:
    from conformance.exact.models.arrays import Array
    from conformance.studies.census.counters import BinadeCounters
    from conformance.studies.census.float_ordinals import FloatType


SOFTMAX_OPERATORS = ("Softmax", "LogSoftmax")

SYMMETRY_PAIRS = 2**20
"""Pairs [a, b] on which the symmetry is tested."""


def rows_from_zero(D: Array) -> Array:
    """Return the rows [0, d] for the values d."""
    X = np.zeros((len(D), 2), D.dtype)
    X[:, 1] = D
    return X


def count_rows(float_type: FloatType, first: int, Y: Array) -> list[BinadeCounters]:
    """Return the counters for rows [0, d], where d has consecutive ordinals from `first`, by binade of d."""
    rows = []
    for start, end in float_type.binade_runs(first, first + len(Y)):
        row = empty_counters(float_type.binade(start))
        _count_binade(row, float_type, start, Y[start - first : end - first])
        rows.append(row)
    return rows


def _count_binade(row: BinadeCounters, float_type: FloatType, first: int, Y: Array) -> None:
    """Count the results for rows [0, d] with all d in the same binade."""
    with np.errstate(invalid="ignore"):
        lower, upper = (Y[:, 0], Y[:, 1]) if first >= 0 else (Y[:, 1], Y[:, 0])
        equal = lower == upper
        below = upper < lower
        none = np.isnan(Y).any(axis=1)
    if first == 0:
        equal[0] = below[0] = False  # for d = 0 the inputs are equal already
    infinite = abs(first) == float_type.infinity
    add_counts(row, pairs=len(Y), merged=int(equal.sum()), rounding_tie=int(equal.sum()))
    add_counts(row, **{"softmax_infinity" if infinite else "nan": int(none.sum())})
    if not infinite:
        add_ordinals(row, "nan", first + np.flatnonzero(none)[:64])
    if below.any():
        add_disorder(row, float_type, first + np.flatnonzero(below), lower[below], upper[below])


def random_pairs(float_type: FloatType, seed: int = 0) -> tuple[Array, Array]:
    """Return random rows [a, b] for which b - a is exact, and the corresponding rows [0, b - a]."""
    draws = np.random.default_rng(seed)
    reach = float_type.ordinals(np.asarray([16.0]).astype(float_type.dtype))[0]
    ordinals = draws.integers(-reach, reach, (SYMMETRY_PAIRS, 2))
    values = [float_type.values_at(ordinals[:, i]) for i in (0, 1)]
    with np.errstate(all="ignore"):
        a = values[0]
        b = (a.astype(np.float64) + values[1].astype(np.float64)).astype(float_type.dtype)
        exact = b.astype(np.float64) - a.astype(np.float64)
        d = exact.astype(float_type.dtype)
        kept = np.isfinite(exact) & (d.astype(np.float64) == exact) & (d != 0)
    return np.stack([a[kept], b[kept]], axis=1), rows_from_zero(d[kept])


def row_order(Y: Array) -> Array:
    """Compare both elements of each row of Y: 1 if the second is larger, 0 if equal, -1 if smaller, 2 with a NaN."""
    with np.errstate(invalid="ignore"):
        signs = (Y[:, 1] > Y[:, 0]).astype(np.int8) - (Y[:, 1] < Y[:, 0]).astype(np.int8)
        return np.where(np.isnan(Y).any(axis=1), np.int8(2), signs)


LONGER_ROW_LENGTHS = (3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129)

ROWS_PER_POSITION = 32
"""Number of rows of each length for each position of the largest element."""

_NEAR_ORDINALS = 8
"""Largest distance, in ordinals, of the other elements from the largest one in every second row."""

_LARGEST_TOP = 16.0
"""Bound of the magnitude of the largest element."""


def random_rows(float_type: FloatType, length: int) -> Array:
    """Return random rows of a given length; `largest_positions` returns where their largest elements are."""
    draws = np.random.default_rng(length)
    rows = length * ROWS_PER_POSITION
    tops = draws.uniform(-_LARGEST_TOP, _LARGEST_TOP, (rows, 1)).astype(float_type.dtype)
    top = float_type.ordinals(tops)
    near = top - draws.integers(1, _NEAR_ORDINALS + 1, (rows, length))
    share = draws.uniform(0, 1, (rows, length))
    below = float_type.ordinals(
        (tops.astype(np.float64) - share * (tops.astype(np.float64) + 2 * _LARGEST_TOP)).astype(float_type.dtype)
    )
    ordinals = np.where(np.arange(rows)[:, None] % 2, near, np.minimum(below, top - 1))
    np.put_along_axis(ordinals, largest_positions(length)[:, None], top, axis=1)
    return float_type.values_at(ordinals)


def largest_positions(length: int) -> Array:
    """Return the position of the largest element of each row of `random_rows`."""
    return np.repeat(np.arange(length), ROWS_PER_POSITION)


def count_longer_rows(length: int, Y: Array) -> BinadeCounters:
    """Return the counters for the subject's results for `random_rows` of this length."""
    row = empty_counters(0)
    where = largest_positions(length)
    top = np.take_along_axis(Y, where[:, None], axis=1)
    with np.errstate(invalid="ignore"):
        none = np.isnan(Y).any(axis=1)
        above = (top < Y).any(axis=1)
        tied = ((top == Y).sum(axis=1) > 1) & ~above
    numbers = {"longer_rows": len(Y), "longer_out_of_order": above.sum(), "longer_tied": tied.sum()}
    add_counts(row, **numbers, longer_nan=int(none.sum()))
    add_ordinals(row, "longer_out_of_order", sorted({length * 2**16 + int(position) for position in where[above]}))
    return row


def decode_row(number: int) -> tuple[int, int]:
    """Decode a number that `count_longer_rows` recorded for a row.

    Return the length of the row and the position of its largest element.
    """
    return divmod(number, 2**16)
