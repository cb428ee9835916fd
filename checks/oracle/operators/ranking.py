"""Operators that return positions in an order: ArgMax, ArgMin and TopK."""

from __future__ import annotations

from functools import cmp_to_key, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from checks.oracle import reals
from checks.oracle.arithmetic import Enclosure, may_be_nan, single_or_set
from checks.oracle.calls import round_tensor
from checks.oracle.tensors import distinct_objects, int64_tensor, map_elements, object_array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from checks.oracle.calls import Call
    from checks.oracle.tensors import Tensor

Index: TypeAlias = "int | frozenset[int]"
"""An index, or a set of indices if admissible evaluations disagree."""


def compare_with_nan(x: Any, y: Any) -> int:
    """Return -1, 0 or 1 if x is below, equal to or above y. NaN is above all numbers."""
    if may_be_nan(x) or may_be_nan(y):
        return may_be_nan(x) - may_be_nan(y)
    return reals.compare(x, y)


def first_largest(lane: Sequence[Any]) -> int:
    """Return the index of the first largest element. Repeated objects are compared only once."""
    places = range(len(lane))
    first = dict(zip(map(id, reversed(lane)), reversed(places), strict=True))
    best = 0
    for at in sorted(first.values()):
        if compare_with_nan(lane[at], lane[best]) > 0:
            best = at
    return best


def last_largest(lane: Sequence[Any]) -> int:
    """Return the index of the last largest element."""
    return len(lane) - 1 - first_largest(lane[::-1])


def acceptable_indices(lane: Sequence[Any], *, last: bool) -> Index:
    """Return the indices of elements that can be the largest within the enclosures; all indices if one may be NaN."""
    items = distinct_objects(lane)
    if any(map(may_be_nan, items)):
        return single_or_set(range(len(lane)))
    if not any(isinstance(item, Enclosure) for item in items):
        return last_largest(lane) if last else first_largest(lane)
    return single_or_set(
        at
        for at in range(len(lane))
        if not any(_is_preferred(lane, other, at, last=last) for other in range(len(lane)))
    )


def _is_preferred(lane: Sequence[Any], other: int, at: int, *, last: bool) -> bool:
    """Return whether the element `other` ranks before the element `at` for all numbers within the enclosures."""
    distance = reals.compare(_low(lane[other]), _high(lane[at]))
    exactly_equal = distance == 0 and not isinstance(lane[other], Enclosure) and not isinstance(lane[at], Enclosure)
    return distance > 0 or (exactly_equal and (other > at if last else other < at))


def _low(item: Any) -> Any:
    return item.low if isinstance(item, Enclosure) else item


def _high(item: Any) -> Any:
    return item.high if isinstance(item, Enclosure) else item


def _negate(item: Any) -> Any:
    return Enclosure(-item.high, -item.low, has_nan=item.has_nan) if isinstance(item, Enclosure) else -item


def round_for_comparison(call: Call, x: Tensor) -> Tensor:
    """Return the elements as ArgMax compares them: rounded to their declared type, or enclosed."""
    return x if call.mode.has_enclosures else round_tensor(x)


def _index_reduction(prepared: Callable[[Any], Any]) -> Callable[[Call, Tensor], Tensor]:
    """Return an operator that computes ArgMax of the elements after `prepared` is applied to each."""

    def operator(call: Call, x: Tensor) -> Tensor:
        axis = call.attributes["axis"]
        last = bool(call.attributes.get("select_last_index", 0))
        moved = np.moveaxis(map_elements(prepared, round_for_comparison(call, x).elements), axis, -1)
        rows = moved.reshape(-1, moved.shape[-1]) if moved.size else np.empty((0, 1), dtype=object)
        ranked = (
            partial(acceptable_indices, last=last)
            if call.mode.has_enclosures
            else last_largest
            if last
            else first_largest
        )
        indices = [ranked(lane) for lane in rows.tolist()]
        reduced = object_array(indices, moved.shape[:-1])
        kept = np.expand_dims(reduced, axis) if call.attributes["keepdims"] else reduced
        return int64_tensor(kept.ravel(), kept.shape)

    return operator


def _top_k(call: Call, x: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """Return the k largest or smallest elements along the axis, and their indices. Ties are in order of the index."""
    axis = call.attributes["axis"]
    count = k.integers()[0]
    moved = np.moveaxis(round_for_comparison(call, x).elements, axis, -1)
    shape = (*moved.shape[:-1], count)
    values: list[Any] = []
    indices: list[Index] = []
    for row in moved.reshape(-1, moved.shape[-1]):
        lane = list(row) if call.attributes.get("largest", 1) else [_negate(item) for item in row]
        ranked = _rank_lane(lane)[:count]
        indices += [index for index, _ in ranked]
        values += [value if call.attributes.get("largest", 1) else _negate(value) for _, value in ranked]
    back = [np.moveaxis(object_array(items, shape), -1, axis) for items in (values, indices)]
    return x.with_elements(back[0]), int64_tensor(back[1].ravel(), back[1].shape)


def _rank_lane(lane: Sequence[Any]) -> list[tuple[Index, Any]]:
    """Return the index and the value of each rank, the largest first. A rank may have several possible indices."""
    places = range(len(lane))
    if not any(isinstance(item, Enclosure) for item in lane):

        def preferred(a: int, b: int) -> int:
            return compare_with_nan(lane[b], lane[a]) or a - b

        return [(place, lane[place]) for place in sorted(places, key=cmp_to_key(preferred))]
    lows, highs = (sorted(map(end, lane), key=cmp_to_key(compare_with_nan), reverse=True) for end in (_low, _high))
    before = [sum(_is_preferred(lane, other, at, last=False) for other in places) for at in places]
    after = [sum(_is_preferred(lane, at, other, last=False) for other in places) for at in places]
    return [
        (
            single_or_set(at for at in places if before[at] <= rank < len(lane) - after[at]),
            Enclosure(lows[rank], highs[rank]),
        )
        for rank in places
    ]


OPERATORS = {
    "ArgMax": _index_reduction(lambda item: item),
    "ArgMin": _index_reduction(_negate),
    "TopK": _top_k,
}
