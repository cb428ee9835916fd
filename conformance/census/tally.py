"""What is counted, by binade: sums, extremes and places, each the same in whatever order pieces are put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypedDict

import msgspec
import numpy as np

from conformance.boundary.decoding import Count, Integer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from conformance.models.arrays import Array

MOST_PLACES = 64
"""How many places are kept of each kind in each binade, the first ones."""


class Extreme(TypedDict):
    """The largest of something, and where it is first met."""

    value: Annotated[float, msgspec.Meta(ge=0)]
    at: Integer


class Row(TypedDict):
    """What was counted in one binade of the arguments.

    Attributes:
        binade: as `Scale.binade` numbers it.
        counts: how many, by kind.
        extremes: the largest, by kind.
        places: where, by kind: the first `MOST_PLACES`.
    """

    binade: Integer
    counts: dict[str, Count]
    extremes: dict[str, Extreme]
    places: dict[str, list[Integer]]


def empty(binade: int) -> Row:
    """Nothing counted yet."""
    return {"binade": binade, "counts": {}, "extremes": {}, "places": {}}


def count(row: Row, **numbers: int) -> None:
    """Add to counts; what is none is not written."""
    for kind, number in numbers.items():
        if number:
            row["counts"][kind] = row["counts"].get(kind, 0) + int(number)


def count_distances(row: Row, distances: Array) -> None:
    """How many values are off by 1, by 2, by 3 and 4, by 5 to 8 and so on, in neighbours."""
    buckets = np.ceil(np.log2(np.maximum(distances, 1))).astype(int)
    for bucket, number in enumerate(np.bincount(buckets)):
        count(row, **{f"off_by_{2**bucket}": int(number)})


def note(row: Row, kind: str, places: Iterable[int]) -> None:
    """Keep places, of the first as many as are kept."""
    kept = sorted({*row["places"].get(kind, ()), *map(int, places)})
    if kept:
        row["places"][kind] = kept[:MOST_PLACES]


def extend(row: Row, kind: str, value: float, at: int) -> None:
    """Keep the larger of an extreme and another; of equal ones the first."""
    known = row["extremes"].get(kind)
    if known is None or (value, -at) > (known["value"], -known["at"]):
        row["extremes"][kind] = {"value": float(value), "at": int(at)}


def merged(rows: Iterable[Row]) -> dict[int, Row]:
    """Rows put together, by binade in order."""
    whole: dict[int, Row] = {}
    for row in rows:
        own = whole.setdefault(row["binade"], empty(row["binade"]))
        _add(own, row)
    return dict(sorted(whole.items()))


def total(rows: Mapping[int, Row]) -> Row:
    """All binades together."""
    whole = empty(0)
    for row in rows.values():
        _add(whole, row)
    return whole


def _add(row: Row, other: Row) -> None:
    count(row, **other["counts"])
    for kind, extreme in other["extremes"].items():
        extend(row, kind, extreme["value"], extreme["at"])
    for kind, places in other["places"].items():
        note(row, kind, places)
