"""Order among enclosed numbers: which may be the largest, and which stand where when they are sorted."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from conformance.models.arrays import Array, objects
from conformance.reference.numbers.bounded import ZERO, Bounded
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conformance.reference.numbers.precision import Precision

Number: TypeAlias = Bounded | Decimal


def is_certain(element: Any) -> bool:
    """Whether all admissible evaluations agree on an element, and on its place in an order, which a NaN has not."""
    if isinstance(element, Bounded):
        return element.is_exact and not may_be_nan(element)
    return not (isinstance(element, Decimal) and element.is_nan())


def is_settled(element: Any) -> bool:
    """Whether all admissible evaluations agree on an element, be it a NaN."""
    if isinstance(element, Bounded):
        return is_certain(element) or (element.value.is_nan() and not element.doubt)
    return True


def may_be_nan(number: Number) -> bool:
    """Whether some admissible evaluation makes a number NaN, which has no place in an order."""
    if isinstance(number, Decimal):
        return number.is_nan()
    nowhere = number.doubt and number.low == number.high and number.value.is_finite()
    return nowhere or number.value.is_nan() or number.low.is_nan() or number.high.is_nan()


def each_once(numbers: Array) -> dict[int, Number]:
    """The numbers of an array, one that stands at several places once, by the identity by which they are equal."""
    return {id(number): number for number in numbers.flat}


def ranks(numbers: Array) -> Array | None:
    """For every number how many different ones are smaller; none where rounding or a NaN decides it."""
    distinct = each_once(numbers)
    if not all(map(is_certain, distinct.values())):
        return None
    values = {key: _ends(number)[0] for key, number in distinct.items()}
    order = {value: rank for rank, value in enumerate(sorted(set(values.values())))}
    rank = {key: order[value] for key, value in values.items()}
    return np.fromiter((rank[id(number)] for number in numbers.flat), np.int64, numbers.size).reshape(numbers.shape)


def possibly_largest(elements: Array, axis: int) -> Array:
    """Which numbers some evaluation may find largest along an axis (bool); all beside one that may be NaN."""
    if (certain := ranks(elements)) is not None:
        return np.asarray(certain == certain.max(axis=axis, keepdims=True))
    ends = [_ends(element) for element in elements.flat]
    lows, highs = (objects((end[place] for end in ends), elements.shape) for place in (1, 2))
    unordered = np.array([may_be_nan(element) for element in elements.flat], dtype=bool).reshape(elements.shape)
    possibly = np.asarray(highs >= lows.max(axis=axis, keepdims=True), dtype=bool)
    return np.asarray(possibly | unordered.any(axis=axis, keepdims=True))


def without_error(numbers: Array) -> Array:
    """Numbers as if they were exact, as what is the same for all that are compared may be taken, if it is enclosed."""
    return objects(map(_exactly, numbers.flat), numbers.shape)


def in_one_term(numbers: Array) -> Array:
    """Numbers to which such others are added, whose order of addition changes what is the same for all, and no more."""
    return objects(
        (_alone(number, (number.low, number.high), doubt=number.doubt) for number in numbers.flat), numbers.shape
    )


def _exactly(number: Bounded) -> Bounded:
    enclosed = number.low < number.high and number.low.is_finite() and number.high.is_finite()
    return _alone(number, (number.value, number.value), doubt=number.doubt and not enclosed)


def _alone(number: Bounded, interval: tuple[Decimal, Decimal], *, doubt: bool) -> Bounded:
    return Bounded(number.value, number.precision, interval, doubt=doubt, terms=(ZERO,))


def below_the_largest(numbers: Array, axis: int, shared: Callable[[Array], Array]) -> Array:
    """Numbers less the largest along an axis, above which none is, whatever errors they have.

    Args:
        shared: is given what all of them along the axis have in common. Where it takes the error of the largest away,
            the largest is the least that it can be: one of the numbers is 0 then, and none that cannot be the largest.
    """
    largest = numbers.max(axis=axis, keepdims=True)
    if not any(isinstance(number, Bounded) for number in largest.flat):
        return np.asarray(numbers - shared(largest))
    ends = [objects((end(number) for number in numbers.flat), numbers.shape) for end in (_low, _high)]
    lows, highs = (end.max(axis=axis, keepdims=True).flat for end in ends)
    enclosed = objects(map(_within, largest.flat, lows, highs), largest.shape)
    subtracted = objects(map(_at_least, enclosed.flat, shared(enclosed).flat), largest.shape)
    return objects(map(_not_above_0, (numbers - subtracted).flat), numbers.shape)


def _low(number: Bounded) -> Decimal:
    return number.low


def _high(number: Bounded) -> Decimal:
    return number.high


def _within(number: Bounded, low: Decimal, high: Decimal) -> Bounded:
    """The largest number, where others may be it too."""
    if may_be_nan(number) or low.is_nan() or high.is_nan():
        return number
    interval = max(number.low, low), max(number.high, high)
    return Bounded(number.value, number.precision, interval, doubt=number.doubt, terms=number.terms)


def _at_least(largest: Bounded, given: Bounded) -> Bounded:
    """What is subtracted for the largest number: the least that it can be, where its error was taken away."""
    if largest.is_exact or not given.is_exact or not largest.low.is_finite():
        return given
    return Bounded(largest.low, given.precision, doubt=given.doubt, terms=given.terms)


def _not_above_0(number: Bounded) -> Bounded:
    if may_be_nan(number) or number.high <= 0:
        return number
    low, value = min(number.low, ZERO), min(number.value, ZERO)
    return Bounded(value, number.precision, (low, ZERO), doubt=number.doubt, terms=number.terms)


def extreme_of(row: Sequence[Number], pick: Callable[[list[Decimal]], Decimal], precision: Precision) -> Number:
    """The largest or smallest of some numbers; NaN if one of them is. An adversary goes for the one that it is."""
    if any(may_be_nan(number) for number in row):
        return Bounded(Decimal("NaN"), precision)
    value = pick([_ends(number)[0] for number in row])
    if all(isinstance(number, Decimal) for number in row):
        return value
    interval = pick([_ends(number)[1] for number in row]), pick([_ends(number)[2] for number in row])
    doubt = any(isinstance(number, Bounded) and number.doubt for number in row)
    chosen = next((number for number in row if isinstance(number, Bounded) and number.value == value), None)
    form = chosen.form if chosen is not None and precision.adversary is not None else None
    return Bounded(value, precision, interval, doubt=doubt, form=form)


def ranking(
    row: Sequence[Number], count: int, precision: Precision, *, largest: bool
) -> tuple[list[Number], list[int], list[list[bool]]]:
    """The first of some numbers in order, their places, and for each rank which places some evaluation may give it.

    Raises:
        Unsupported: one of them may be NaN.
    """
    if any(may_be_nan(number) for number in row):
        raise Unsupported("a NaN has no place in an order")
    values, lows, highs = zip(*map(_ends, row), strict=True) if row else ((), (), ())
    places = sorted(range(len(row)), key=lambda place: -values[place] if largest else values[place])[:count]
    by_rank = list(zip(*(sorted(ends, reverse=largest)[:count] for ends in (values, lows, highs)), strict=True))
    exact = all(isinstance(number, Decimal) for number in row)
    numbers = [value if exact else Bounded(value, precision, (low, high)) for value, low, high in by_rank]
    ends = list(zip(lows, highs, strict=True))
    return numbers, places, [[high >= least and low <= most for low, high in ends] for _, least, most in by_rank]


def _ends(number: Number) -> tuple[Decimal, Decimal, Decimal]:
    """A number's value and its lower and upper end."""
    return (number.value, number.low, number.high) if isinstance(number, Bounded) else (number, number, number)
