"""Log, Exp and Sqrt at neighbouring values: is the order kept, and is each value the correctly rounded one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conformance.census.tally import count, count_distances, empty, extend, note
from conformance.census.truth import FUNCTIONS, truth, units

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.census.scale import Scale
    from conformance.census.tally import Row
    from conformance.census.truth import Function, Truth
    from conformance.models.arrays import Array

BLOCK = 2**17
"""Values that are looked at together, so that what is computed of them stays near the processor."""


def is_known(scale: Scale) -> bool:
    """Whether the correctly rounded values are known: those of doubles are not."""
    return scale.name != "double"


def domain(operator: str, scale: Scale) -> tuple[int, int]:
    """The first and the last place at which an operator is defined."""
    least = FUNCTIONS[operator].least
    return (-scale.infinity if least is None else least), scale.infinity


def counted(operator: str, scale: Scale, first: int, Y: Array) -> list[Row]:
    """What is counted of an operator's values at neighbouring places, by binade.

    Args:
        first: the place of the first value.
        Y: the operator's values from there on; the last one is only the last pair's other, if it is not infinity's.
    """
    function, rows = FUNCTIONS[operator], []
    for start, end in _binades(scale, first, first + len(Y) - 1):
        row = empty(scale.binade(start))
        values = Y[start - first : end - first + 1]
        if not is_known(scale):
            _count_pairs(row, scale, start, values)
        elif not _is_flat(row, function, scale, start, values):
            for offset in range(0, end - start, BLOCK):
                _count(row, function, scale, start + offset, values[offset : offset + BLOCK + 1])
        rows.append(row)
    if first + len(Y) - 1 == scale.infinity and is_known(scale):
        rows.append(_last(function, scale, Y[-1:]))
    return rows


def _last(function: Function, scale: Scale, Y: Array) -> Row:
    """Infinity, which is below nothing."""
    row = empty(scale.binade(scale.infinity))
    _count_values(row, scale, scale.infinity, Y, truth(function, scale, scale.values(scale.infinity, 1)))
    return row


def _binades(scale: Scale, first: int, last: int) -> Iterator[tuple[int, int]]:
    """The runs of places of one binade, each from its first place to the next one's; infinity ends the last one."""
    while first < last:
        end = min(scale.binade_end(first), last)
        yield first, end
        first = end


def _is_flat(row: Row, function: Function, scale: Scale, first: int, Y: Array) -> bool:
    """Whether the function is rounded to one value from end to end, and all values are that one; counts them then."""
    ends = np.concatenate([scale.values(first, 1), scale.values(first + len(Y) - 1, 1)])
    known = truth(function, scale, ends)
    bits = Y.view(scale.signed)
    expected = known.rounded.view(scale.signed)
    if known.left or expected[0] != expected[1] or not (bits == expected[0]).all():
        return False
    pairs = len(Y) - 1
    kind = "overflow" if np.isinf(known.rounded[0]) else "rounding_tie" if known.rounded[0] else "underflow"
    count(row, values=pairs, pairs=pairs, merged=pairs, **{kind: pairs})
    return True


def _count(row: Row, function: Function, scale: Scale, first: int, Y: Array) -> None:
    """Count a block; its last value is only the last pair's other."""
    known = truth(function, scale, scale.values(first, len(Y)))
    _count_pairs(row, scale, first, Y, known.rounded)
    _count_values(row, scale, first, Y[:-1], known)


def _count_pairs(row: Row, scale: Scale, first: int, Y: Array, rounded: Array | None = None) -> None:
    """Count neighbours; ties that rounding does not make only where the correctly rounded values are known."""
    with np.errstate(invalid="ignore"):
        low, high = Y[:-1], Y[1:]
        equal, below = low == high, high < low
    count(row, pairs=len(low))
    if equal.any():
        _count_merged(row, low, equal, rounded)
    if below.any():
        _count_disorder(row, scale, first, Y, below)


def _count_merged(row: Row, low: Array, equal: Array, rounded: Array | None) -> None:
    merged = int(equal.sum())
    over, under = int((equal & np.isinf(low)).sum()), int((equal & (low == 0)).sum())
    apart = 0 if rounded is None else int((equal & (rounded[:-1] != rounded[1:])).sum())
    count(row, merged=merged, overflow=over, underflow=under, rounding_tie=merged - over - under, tied_apart=apart)


def _count_disorder(row: Row, scale: Scale, first: int, Y: Array, below: Array) -> None:
    where = np.flatnonzero(below)
    drops = scale.places(Y[where]) - scale.places(Y[where + 1])
    widest = int(drops.argmax())
    count(row, out_of_order=len(where))
    note(row, "out_of_order", first + where[:64])
    extend(row, "drop", int(drops[widest]), first + int(where[widest]))


def _count_values(row: Row, scale: Scale, first: int, Y: Array, known: Truth) -> None:
    """Count values, each by itself; of what is known there may be more."""
    rounded, other = known.rounded[: len(Y)], known.other[: len(Y)]
    count(row, values=len(Y), left_open=known.left, open=known.open)
    with np.errstate(invalid="ignore"):
        where = np.flatnonzero((rounded != Y) & (other != Y))
    if len(where):
        _count_wrong(row, scale, first, where, Y[where], known.exact[where], rounded[where])


def _count_wrong(row: Row, scale: Scale, first: int, where: Array, values: Array, exact: Array, right: Array) -> None:
    none, infinite = np.isnan(values), np.isinf(values) & np.isfinite(right)
    count(row, wrong=len(where), nan=int(none.sum()), infinite=int(infinite.sum()))
    note(row, "nan", first + where[none][:64])
    note(row, "infinite", first + where[infinite][:64])
    count_distances(row, np.abs(scale.places(values[~none]) - scale.places(right[~none])))
    finite = np.isfinite(values) & np.isfinite(right)
    if finite.any():
        errors = np.abs(values[finite].astype(np.float64) - exact[finite]) / units(scale, exact[finite])
        largest = int(errors.argmax())
        extend(row, "error", float(errors[largest]), first + int(where[finite][largest]))
