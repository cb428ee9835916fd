"""An optimizer's formula on arrays of bounded numbers, in all of its forms: what is equal is computed once.

Equal are elements that have the same operands (see `columns`), and operations that several forms have in common.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.models.arrays import Array, objects
from conformance.reference.numbers.alternatives import either_of
from conformance.reference.numbers.bounded import Bounded
from conformance.reference.numbers.columns import Columns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.reference.numbers.precision import Precision


@dataclass(frozen=True, eq=False)
class Remembered:
    """A number or an array in a formula; what an operation makes of the same operands is computed once.

    Attributes:
        numbers: what it is.
        results: all that was made of it and its like, by the operation and its operands.
    """

    numbers: Any
    results: dict[tuple[Any, ...], Remembered] = field(repr=False)

    def __add__(self, other: Remembered | int) -> Remembered:
        return self._once(operator.add, self, other)

    def __radd__(self, other: int) -> Remembered:
        return self._once(operator.add, other, self)

    def __sub__(self, other: Remembered | int) -> Remembered:
        return self._once(operator.sub, self, other)

    def __rsub__(self, other: int) -> Remembered:
        return self._once(operator.sub, other, self)

    def __mul__(self, other: Remembered | int) -> Remembered:
        return self._once(operator.mul, self, other)

    def __rmul__(self, other: int) -> Remembered:
        return self._once(operator.mul, other, self)

    def __truediv__(self, other: Remembered | int) -> Remembered:
        return self._once(operator.truediv, self, other)

    def __rtruediv__(self, other: int) -> Remembered:
        return self._once(operator.truediv, other, self)

    def __pow__(self, other: Remembered) -> Remembered:
        return self._once(operator.pow, self, other)

    def __gt__(self, other: int) -> bool:
        return bool(self.numbers > other)

    def sqrt(self) -> Remembered:
        """What NumPy calls for `np.sqrt` of an object."""
        return self._once(np.sqrt, self)

    def _once(self, operation: Callable[..., Any], *operands: Remembered | int) -> Remembered:
        key = (operation, *operands)
        if (known := self.results.get(key)) is not None:
            return known
        numbers = [operand.numbers if isinstance(operand, Remembered) else operand for operand in operands]
        result = self.results[key] = Remembered(operation(*numbers), self.results)
        return result


def enclosed(
    forms: Sequence[Callable[..., Any]],
    scalars: Sequence[Any],
    tensors: Sequence[Array],
    attributes: Mapping[str, Any],
    precision: Precision,
    *,
    handed_on: bool,
) -> list[Array]:
    """What the forms of a formula give: the first one's value, in an interval that holds all.

    Args:
        scalars: the bounded numbers that the formula takes before its tensors.
        tensors: exact numbers, or bounded ones that other nodes handed on.
        precision: that of the tensors.
        handed_on: whether every result is one number with one error to what comes after it, and not the sum that it was
            computed as.
    """
    columns = Columns.of(tensors, scalars, alike=precision.adversary is None)
    taken = (columns.taken(tensor) if columns else tensor for tensor in tensors)
    results = _of_all(forms, [*scalars, *(entering(tensor, precision) for tensor in taken)], attributes, precision)
    are_many = columns is not None and columns.are_many
    if handed_on and are_many and precision.adversary is None:  # who notes each error keeps them
        results = [objects(map(_interval_alone, result), result.shape) for result in results]
    elif handed_on and not are_many:
        results = [objects(map(with_its_own_error, result.flat), result.shape) for result in results]
    if columns is None:
        return results
    return [columns.spread(result, apart=handed_on and not are_many) for result in results]


def _of_all(
    forms: Sequence[Callable[..., Any]], operands: Sequence[Any], attributes: Mapping[str, Any], precision: Precision
) -> list[Array]:
    results: dict[tuple[Any, ...], Remembered] = {}
    entered = [Remembered(operand, results) for operand in operands]
    numbers = {
        name: Remembered(number, results) if isinstance(number, Bounded) else number
        for name, number in attributes.items()
    }
    first, *more = ([_plain(result, precision) for result in form(*entered, **numbers)] for form in forms)
    for other in more:
        first = [either_of(*pair) for pair in zip(first, other, strict=True)]
    return first


def entering(elements: Array, precision: Precision) -> Array:
    """A tensor's numbers in the precision of the operator that takes them."""
    return objects((_in_precision(element, precision) for element in elements.flat), elements.shape)


def as_objects(result: Any, precision: Precision) -> Array:
    """A formula's result as an array of numbers: NumPy returns a bare one for 0-d arrays, and keeps literals."""
    array = np.asarray(result, dtype=object)
    numbers = (number if isinstance(number, Bounded) else Bounded(Decimal(number), precision) for number in array.flat)
    return objects(numbers, array.shape)


def _plain(result: Remembered | int, precision: Precision) -> Array:
    return as_objects(result.numbers if isinstance(result, Remembered) else result, precision)


def _in_precision(element: Bounded | Decimal, precision: Precision) -> Bounded:
    if isinstance(element, Decimal):
        return Bounded.entering(element, precision)
    ends = element.low, element.high
    return Bounded(element.value, precision, ends, doubt=element.doubt, terms=element.terms, form=element.form)


def with_its_own_error(number: Bounded) -> Bounded:
    """The same number as one term with one error, as the element of a tensor is that nodes hand on."""
    ends, form = (number.low, number.high), number.form
    if number.precision.adversary is None:
        form = number.error.handed_on() if number.is_finite and not number.is_exact else None
    return Bounded(number.value, number.precision, ends, doubt=number.doubt, form=form)


def _interval_alone(number: Bounded) -> Bounded:
    return Bounded(number.value, number.precision, (number.low, number.high), doubt=number.doubt)
