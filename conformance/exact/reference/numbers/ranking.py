"""Order of bounded numbers: which of them can be the largest, and which ranks each can have."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import Array, object_array
from conformance.exact.reference.numbers.bounded import ZERO, BoundedNumber

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conformance.exact.reference.numbers.precision import Precision

Number: TypeAlias = BoundedNumber | Decimal


def is_exact_number(element: Any) -> bool:
    """Return whether all admissible evaluations give exactly the same value of an element, and it is not NaN."""
    if isinstance(element, BoundedNumber):
        return element.is_exact and not may_be_nan(element)
    return not (isinstance(element, Decimal) and element.is_nan())


def is_exact_or_nan(element: Any) -> bool:
    """Return whether all admissible evaluations give exactly the same value of an element, or all give NaN."""
    if isinstance(element, BoundedNumber):
        return is_exact_number(element) or (element.value.is_nan() and not element.is_indeterminate)
    return True


def may_be_nan(number: Number) -> bool:
    """Return whether some admissible evaluation of a number is NaN."""
    if isinstance(number, Decimal):
        return number.is_nan()
    has_no_interval = number.is_indeterminate and number.low == number.high and number.value.is_finite()
    return has_no_interval or number.value.is_nan() or number.low.is_nan() or number.high.is_nan()


def distinct_numbers(numbers: Array) -> dict[int, Number]:
    """Return the distinct objects in an array of numbers, by id. Equal elements of a tensor are often one object."""
    return dict(zip(map(id, numbers.flat), numbers.flat, strict=True))


def possible_maxima(elements: Array, axis: int) -> Array:
    """Return which numbers can be the largest along an axis (bool); all numbers of a row in which one may be NaN."""
    if (ranks := _integer_ranks(elements)) is not None:
        return np.asarray(ranks == ranks.max(axis=axis, keepdims=True))
    ends = [_value_and_ends(element) for element in elements.flat]
    lows, highs = (object_array((end[position] for end in ends), elements.shape) for position in (1, 2))
    nans = np.array([may_be_nan(element) for element in elements.flat], dtype=bool).reshape(elements.shape)
    can_be_largest = np.asarray(highs >= lows.max(axis=axis, keepdims=True), dtype=bool)
    return np.asarray(can_be_largest | nans.any(axis=axis, keepdims=True))


def _integer_ranks(numbers: Array) -> Array | None:
    """Return for every number how many distinct numbers are smaller; None if that depends on rounding or a NaN."""
    distinct = distinct_numbers(numbers)
    if not all(map(is_exact_number, distinct.values())):
        return None
    values = {key: _value_and_ends(number)[0] for key, number in distinct.items()}
    rank_of_value = {value: rank for rank, value in enumerate(sorted(set(values.values())))}
    ranks = {key: rank_of_value[value] for key, value in values.items()}
    return np.fromiter(map(ranks.__getitem__, map(id, numbers.flat)), np.int64, numbers.size).reshape(numbers.shape)


def extreme(row: Sequence[Number], pick: Callable[[list[Decimal]], Decimal], precision: Precision) -> Number:
    """Return the largest or the smallest of some numbers; NaN if one of them may be NaN.

    With an adversary, the result has the error of the number whose exact value is the largest or smallest.

    Args:
        row: the numbers.
        pick: `max` or `min`.
        precision: the precision of the result.
    """
    if any(may_be_nan(number) for number in row):
        return BoundedNumber(Decimal("NaN"), precision)
    value = pick([_value_and_ends(number)[0] for number in row])
    if all(isinstance(number, Decimal) for number in row):
        return value
    interval = (
        pick([_value_and_ends(number)[1] for number in row]),
        pick([_value_and_ends(number)[2] for number in row]),
    )
    bounded = [number for number in row if isinstance(number, BoundedNumber)]
    picked = next((number for number in bounded if number.value == value), None)
    form = picked.affine_form if picked is not None and precision.adversary is not None else None
    is_indeterminate = any(number.is_indeterminate for number in bounded)
    return BoundedNumber(value, precision, interval, is_indeterminate=is_indeterminate, affine_form=form)


def rank(
    row: Sequence[Number], count: int, precision: Precision, *, largest: bool
) -> tuple[list[Number], list[int], list[list[bool]]]:
    """Return the `count` largest or smallest numbers in order, their indices, and the acceptable indices for each.

    Raises:
        Unsupported: a number may be NaN.
    """
    if any(may_be_nan(number) for number in row):
        raise Unsupported("numbers that may be NaN cannot be sorted")
    values, lows, highs = zip(*map(_value_and_ends, row), strict=True) if row else ((), (), ())
    indices = sorted(range(len(row)), key=lambda index: -values[index] if largest else values[index])[:count]
    by_rank = list(zip(*(sorted(ends, reverse=largest)[:count] for ends in (values, lows, highs)), strict=True))
    is_exact = all(isinstance(number, Decimal) for number in row)
    numbers = [value if is_exact else BoundedNumber(value, precision, (low, high)) for value, low, high in by_rank]
    ends = list(zip(lows, highs, strict=True))
    acceptable = [[high >= least and low <= most for low, high in ends] for _, least, most in by_rank]
    return numbers, indices, acceptable


def _value_and_ends(number: Number) -> tuple[Decimal, Decimal, Decimal]:
    """Return a number's exact value, the lower end and the upper end of its interval."""
    return (number.value, number.low, number.high) if isinstance(number, BoundedNumber) else (number, number, number)


# Softmax: the numbers that all results have in common


def drop_error(numbers: Array) -> Array:
    """Return the numbers without their errors.

    Use it for numbers that all compared results have in common: their errors do not change the order of the results,
    unless an error is infinite.
    """
    return object_array(map(_drop_error, numbers.flat), numbers.shape)


def _drop_error(number: BoundedNumber) -> BoundedNumber:
    is_enclosed = number.low < number.high and number.low.is_finite() and number.high.is_finite()
    is_indeterminate = number.is_indeterminate and not is_enclosed
    return BoundedNumber(number.value, number.precision, is_indeterminate=is_indeterminate, terms=(ZERO,))


def as_single_terms(numbers: Array) -> Array:
    """Return the numbers without the terms that they were added from, so that later sums keep the order of addition.

    The order of addition changes only an error that all compared results share.
    """
    return object_array((number.reduced(terms=(ZERO,)) for number in numbers.flat), numbers.shape)


def subtract_maximum(numbers: Array, axis: int, shared: Callable[[Array], Array]) -> Array:
    """Return numbers minus the largest number along an axis. No result is above 0, whatever the errors are.

    Args:
        numbers: exact or bounded numbers, or numbers of a NumPy type.
        axis: the axis.
        shared: a function that is applied to the maximum, which all elements along the axis have in common. If it
            removes the maximum's error, the smallest possible maximum is subtracted. A number that can be the largest
            then has the result 0.
    """
    maximum = numbers.max(axis=axis, keepdims=True)
    if not any(isinstance(number, BoundedNumber) for number in maximum.flat):
        return np.asarray(numbers - shared(maximum))
    ends = zip(*((number.low, number.high) for number in numbers.flat), strict=True)
    lows, highs = (object_array(end, numbers.shape).max(axis=axis, keepdims=True).flat for end in ends)
    enclosed = object_array(map(_enclose_maximum, maximum.flat, lows, highs), maximum.shape)
    subtrahends = object_array(map(_subtrahend, enclosed.flat, shared(enclosed).flat), maximum.shape)
    return object_array(map(_clamp_to_zero, (numbers - subtrahends).flat), numbers.shape)


def _enclose_maximum(number: BoundedNumber, low: Decimal, high: Decimal) -> BoundedNumber:
    """Return the largest number in an interval of all possible maxima.

    Args:
        number: the number with the largest exact value.
        low: the largest lower end of any number.
        high: the largest upper end of any number.
    """
    if may_be_nan(number) or low.is_nan() or high.is_nan():
        return number
    interval = max(number.low, low), max(number.high, high)
    return BoundedNumber(
        number.value, number.precision, interval, is_indeterminate=number.is_indeterminate, terms=number.terms
    )


def _subtrahend(maximum: BoundedNumber, shared: BoundedNumber) -> BoundedNumber:
    """Return the number to subtract: the smallest possible maximum if the maximum's error was removed.

    Args:
        maximum: the maximum with its error.
        shared: the maximum as the function `shared` returned it.
    """
    if maximum.is_exact or not shared.is_exact or not maximum.low.is_finite():
        return shared
    return BoundedNumber(maximum.low, shared.precision, is_indeterminate=shared.is_indeterminate, terms=shared.terms)


def _clamp_to_zero(number: BoundedNumber) -> BoundedNumber:
    """Return a number without the part of its interval that is above 0."""
    if may_be_nan(number) or number.high <= 0:
        return number
    low = min(number.low, ZERO)
    value = min(number.value, ZERO)
    return BoundedNumber(
        value, number.precision, (low, ZERO), is_indeterminate=number.is_indeterminate, terms=number.terms
    )
