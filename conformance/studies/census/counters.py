"""Counters of a census by binade: counts, largest values, and ordinals of arguments, each by kind (a name).

A binade is the set of floats with one sign and one exponent. Sums of counters do not depend on the order of chunks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np

from conformance.base.serialization.decoding import Count, Integer, MalformedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from conformance.exact.models.arrays import Array
    from conformance.studies.census.float_ordinals import FloatType


MAX_ORDINALS = 64
"""Number of ordinals of each kind that are kept in each binade: the least ones."""


class Extreme(msgspec.Struct, forbid_unknown_fields=True):
    """The largest value of a quantity, and the ordinal of the first argument that attains it."""

    value: Annotated[float, msgspec.Meta(ge=0)]
    at: Integer


class BinadeCounters(msgspec.Struct, forbid_unknown_fields=True):
    """Counters for one binade of the arguments.

    Attributes:
        binade: number of the binade, see `FloatType.binade`.
        counts: counts by kind.
        extremes: largest values by kind.
        ordinals: the `MAX_ORDINALS` smallest ordinals of arguments, by kind.
    """

    binade: Integer
    counts: dict[str, Count]
    extremes: dict[str, Extreme]
    ordinals: dict[str, list[Integer]]


def empty_counters(binade: int) -> BinadeCounters:
    """Return counters without any count."""
    return BinadeCounters(binade, {}, {}, {})


def check_ordinals(row: BinadeCounters, possible: range) -> None:
    """Check the ordinals in counters from a file or a worker.

    Args:
        possible: the ordinals of the arguments of the cell.

    Raises:
        MalformedError: an ordinal has no argument, or more ordinals are kept than the limit.
    """
    ordinals = [extreme.at for extreme in row.extremes.values()]
    for kept in row.ordinals.values():
        if len(kept) > MAX_ORDINALS:
            raise MalformedError(f"a binade has more than {MAX_ORDINALS} ordinals of a kind")
        ordinals += kept
    if not all(possible.start <= ordinal < possible.stop for ordinal in ordinals):
        raise MalformedError("an ordinal has no value of the element type")


def add_counts(row: BinadeCounters, /, **numbers: int) -> None:
    """Add `numbers` to the counts of a binade, by kind; a number of 0 is not stored."""
    for kind, number in numbers.items():
        if number:
            row.counts[kind] = row.counts.get(kind, 0) + int(number)


def add_distances(row: BinadeCounters, distances: Array) -> None:
    """Count distances in ULP by buckets: 1, 2, 3 to 4, 5 to 8, and so on."""
    buckets = np.ceil(np.log2(np.maximum(distances, 1))).astype(int)
    for bucket, number in enumerate(np.bincount(buckets)):
        add_counts(row, **{f"off_by_{2**bucket}": int(number)})


def add_ordinals(row: BinadeCounters, kind: str, ordinals: Iterable[int]) -> None:
    """Add ordinals of a kind; only the `MAX_ORDINALS` smallest ordinals are kept."""
    kept = sorted({*row.ordinals.get(kind, ()), *map(int, ordinals)})
    if kept:
        row.ordinals[kind] = kept[:MAX_ORDINALS]


def add_disorder(row: BinadeCounters, float_type: FloatType, at: Array, low: Array, high: Array) -> None:
    """Count pairs of values in the wrong order, and record the largest distance of two such values.

    Args:
        row: counters to add to.
        float_type: type of the values.
        at: ordinals of the first arguments of the pairs, in order.
        low: values that must not be the larger ones.
        high: the other value of each pair, which is smaller.
    """
    drops = float_type.ordinals(low) - float_type.ordinals(high)
    widest = int(drops.argmax())
    add_counts(row, out_of_order=len(at))
    add_ordinals(row, "out_of_order", at[:MAX_ORDINALS])
    update_extreme(row, "drop", int(drops[widest]), int(at[widest]))


def update_extreme(row: BinadeCounters, kind: str, value: float, at: int) -> None:
    """Update the largest value of a kind with `value` at the ordinal `at`; if equal, keep the smaller ordinal."""
    known = row.extremes.get(kind)
    if known is None or (value, -at) > (known.value, -known.at):
        row.extremes[kind] = Extreme(float(value), int(at))


def merge_by_binade(rows: Iterable[BinadeCounters]) -> dict[int, BinadeCounters]:
    """Return the sum of the counters of each binade, in ascending order of the binades."""
    whole: dict[int, BinadeCounters] = {}
    for row in rows:
        own = whole.setdefault(row.binade, empty_counters(row.binade))
        _add_counters(own, row)
    return dict(sorted(whole.items()))


def sum_counters(rows: Mapping[int, BinadeCounters]) -> BinadeCounters:
    """Return the sum of all binades."""
    whole = empty_counters(0)
    for row in rows.values():
        _add_counters(whole, row)
    return whole


def _add_counters(row: BinadeCounters, other: BinadeCounters) -> None:
    add_counts(row, **other.counts)
    for kind, extreme in other.extremes.items():
        update_extreme(row, kind, extreme.value, extreme.at)
    for kind, ordinals in other.ordinals.items():
        add_ordinals(row, kind, ordinals)
