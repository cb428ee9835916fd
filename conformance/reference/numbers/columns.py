"""Which elements of tensors are computed once: of all with equal operands one, whatever unit errors they have.

Elements of a graph's inputs with the same bits are one object. What a node makes of equal ones are numbers with the
same parts, each with unit errors of its own, so that what a second node makes of them differs in these numbers alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from conformance.models.arrays import Array, objects
from conformance.reference.numbers.bounded import Bounded

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

UnitErrors: TypeAlias = "dict[int, int]"
"""The numbers of unit errors, each with its place in the order in which a column has them."""

MOST_ERRORS_OF_THEIR_OWN = 4096
"""Of a larger tensor with equal elements, what comes after it has intervals alone: they hold any error of each."""


@dataclass(frozen=True)
class Columns:
    """Which elements of a formula's operands are computed: one of all that have the same operands.

    Attributes:
        distinct: the places of these, in row-major order.
        number: for every element which of these it equals, in the operands' shape.
        errors: for every element, in row-major order, its unit errors; None where each has the very same.
    """

    distinct: Array
    number: Array
    errors: Sequence[UnitErrors] | None = None

    @classmethod
    def of(cls, operands: Sequence[Array], scalars: Iterable[Any] = (), *, alike: bool = True) -> Columns | None:
        """Those of operands whose equal elements are the same object; none where shapes differ and are broadcast.

        Args:
            scalars: what the formula takes besides; their unit errors are the same for all elements.
            alike: whether numbers are equal, too, that differ in the numbers of their unit errors.
        """
        if len({operand.shape for operand in operands}) > 1:
            return None
        common: UnitErrors = {}
        for scalar in scalars:
            _alike(scalar, common)
        first: dict[Hashable, int] = {}
        equals, errors = [], []
        for place, column in enumerate(zip(*(operand.flat for operand in operands), strict=True)):
            own = dict(common)
            key = tuple([_alike(number, own) if alike else id(number) for number in column])
            equals.append(first.setdefault(key, place))
            errors.append(own)
        distinct = np.array(list(first.values()), dtype=np.intp)
        return cls(distinct, np.searchsorted(distinct, equals).reshape(operands[0].shape), errors if alike else None)

    def taken(self, operand: Array) -> Array:
        """What an operand has in them."""
        return np.asarray(operand.reshape(-1)[self.distinct], dtype=object)

    def spread(self, results: Array, *, apart: bool) -> Array:
        """What is computed of them, for all elements; what no tensor went into is one number.

        Args:
            apart: whether equal elements are numbers of their own, with their own unit errors.
        """
        if not results.ndim:
            return results
        if len(self.distinct) == self.number.size:
            return results.reshape(self.number.shape)
        spread = np.asarray(results[self.number], dtype=object)
        if not apart:
            return spread
        return objects(map(_another, spread.flat, self._renumbering()), spread.shape)

    def _renumbering(self) -> Iterator[Mapping[int, int] | None]:
        """For every element from the unit errors of the one that is computed to its own."""
        if self.errors is None:
            return repeat(None)
        first = [self.errors[place] for place in self.distinct]
        pairs = zip(self.number.flat, self.errors, strict=True)
        return (dict(zip(first[kind], own, strict=True)) for kind, own in pairs)

    @property
    def are_many(self) -> bool:
        """Whether equal elements are too many to be told apart again."""
        return len(self.distinct) < self.number.size > MOST_ERRORS_OF_THEIR_OWN


def _alike(number: Any, errors: UnitErrors) -> Hashable:
    """What two numbers have in common that differ in the numbers of their unit errors alone: the very same parts.

    Args:
        errors: is given the number's, each with its place among those of its column.
    """
    if not isinstance(number, Bounded):
        return id(number)
    ends = id(number.value), id(number.low), id(number.high), number.doubt, *map(id, number.terms)
    form = number.form
    if form is None:
        return ends
    places = [errors.setdefault(error, len(errors)) for error in form.base]
    return ends, id(form.low), id(form.high), id(form.scale), *map(id, form.base.values()), *places


def _another(number: Bounded, errors: Mapping[int, int] | None) -> Bounded:
    """The same number elsewhere, with these unit errors, and new ones for those that nothing was given with."""
    form = number.form if number.form is None or errors is None else number.form.renumbered(errors)
    return Bounded(
        *(number.value, number.precision, (number.low, number.high)),
        doubt=number.doubt,
        span=(number.peak, number.trough),
        terms=number.terms,
        factors=number.factors,
        form=form,
    )
