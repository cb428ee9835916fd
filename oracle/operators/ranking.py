"""Operators that name or order elements by size: ArgMax, ArgMin, TopK."""

from __future__ import annotations

from functools import cmp_to_key, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from oracle import reals
from oracle.arithmetic import Enclosure, may_be_nan, one_or_several
from oracle.calls import rounded
from oracle.tensors import distinct, each, elements_of, int64

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from oracle.calls import Call
    from oracle.tensors import Tensor

Index: TypeAlias = "int | frozenset[int]"
"""An index, or several where admissible evaluations disagree."""


def order(x: Any, y: Any) -> int:
    """-1, 0 or 1 as x is below, equal to or above y; NaN counts as the largest."""
    if may_be_nan(x) or may_be_nan(y):
        return may_be_nan(x) - may_be_nan(y)
    return reals.compare(x, y)


def first_largest(lane: Sequence[Any]) -> int:
    """Of the largest elements the first. Of elements that are the same object only the first can be it."""
    places = range(len(lane))
    first = dict(zip(map(id, reversed(lane)), reversed(places), strict=True))
    best = 0
    for at in sorted(first.values()):
        if order(lane[at], lane[best]) > 0:
            best = at
    return best


def last_largest(lane: Sequence[Any]) -> int:
    """Of the largest elements the last."""
    return len(lane) - 1 - first_largest(lane[::-1])


def acceptable(lane: Sequence[Any], *, last: bool) -> Index:
    """The indices that are largest for some choice of numbers within the enclosures; all where one may be NaN."""
    items = distinct(lane)
    if any(map(may_be_nan, items)):
        return one_or_several(range(len(lane)))
    if not any(isinstance(item, Enclosure) for item in items):
        return last_largest(lane) if last else first_largest(lane)
    return one_or_several(
        at for at in range(len(lane)) if not any(_certainly(lane, other, at, last=last) for other in range(len(lane)))
    )


def _certainly(lane: Sequence[Any], other: int, at: int, *, last: bool) -> bool:
    """Whether the other element is preferred to this one for every choice of numbers."""
    distance = reals.compare(_low(lane[other]), _high(lane[at]))
    exactly_equal = distance == 0 and not isinstance(lane[other], Enclosure) and not isinstance(lane[at], Enclosure)
    return distance > 0 or (exactly_equal and (other > at if last else other < at))


def _low(item: Any) -> Any:
    return item.low if isinstance(item, Enclosure) else item


def _high(item: Any) -> Any:
    return item.high if isinstance(item, Enclosure) else item


def _negated(item: Any) -> Any:
    return Enclosure(-item.high, -item.low, nan=item.nan) if isinstance(item, Enclosure) else -item


def comparable(call: Call, x: Tensor) -> Tensor:
    """The elements as ArgMax and the like compare them: in their declared type, or enclosed."""
    return x if call.mode.encloses else rounded(x)


def _reducing(prepared: Callable[[Any], Any]) -> Callable[[Call, Tensor], Tensor]:
    """ArgMax of the prepared elements."""

    def operator(call: Call, x: Tensor) -> Tensor:
        axis = call.attributes["axis"]
        last = bool(call.attributes.get("select_last_index", 0))
        moved = np.moveaxis(each(prepared, comparable(call, x).elements), axis, -1)
        rows = moved.reshape(-1, moved.shape[-1]) if moved.size else np.empty((0, 1), dtype=object)
        ranked = partial(acceptable, last=last) if call.mode.encloses else last_largest if last else first_largest
        indices = [ranked(lane) for lane in rows.tolist()]
        reduced = elements_of(indices, moved.shape[:-1])
        kept = np.expand_dims(reduced, axis) if call.attributes["keepdims"] else reduced
        return int64(kept.ravel(), kept.shape)

    return operator


def _top_k(call: Call, x: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """The k largest or smallest elements along the axis with their indices, of equal ones the first index first."""
    axis = call.attributes["axis"]
    count = k.integers()[0]
    moved = np.moveaxis(comparable(call, x).elements, axis, -1)
    shape = (*moved.shape[:-1], count)
    values: list[Any] = []
    indices: list[Index] = []
    for row in moved.reshape(-1, moved.shape[-1]):
        lane = list(row) if call.attributes.get("largest", 1) else [_negated(item) for item in row]
        ranked = _by_rank(lane)[:count]
        indices += [index for index, _ in ranked]
        values += [value if call.attributes.get("largest", 1) else _negated(value) for _, value in ranked]
    back = [np.moveaxis(elements_of(items, shape), -1, axis) for items in (values, indices)]
    return x.with_elements(back[0]), int64(back[1].ravel(), back[1].shape)


def _by_rank(lane: Sequence[Any]) -> list[tuple[Index, Any]]:
    """Each rank's index and value, largest first; a rank that several may have gets all of them."""
    places = range(len(lane))
    if not any(isinstance(item, Enclosure) for item in lane):

        def preferred(a: int, b: int) -> int:
            return order(lane[b], lane[a]) or a - b

        return [(place, lane[place]) for place in sorted(places, key=cmp_to_key(preferred))]
    lows, highs = (sorted(map(end, lane), key=cmp_to_key(order), reverse=True) for end in (_low, _high))
    before = [sum(_certainly(lane, other, at, last=False) for other in places) for at in places]
    after = [sum(_certainly(lane, at, other, last=False) for other in places) for at in places]
    return [
        (
            one_or_several(at for at in places if before[at] <= rank < len(lane) - after[at]),
            Enclosure(lows[rank], highs[rank]),
        )
        for rank in places
    ]


OPERATORS = {
    "ArgMax": _reducing(lambda item: item),
    "ArgMin": _reducing(_negated),
    "TopK": _top_k,
}
