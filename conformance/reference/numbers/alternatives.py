"""What an evaluation may give that is free to compute the one number or the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.models.arrays import objects
from conformance.reference.numbers.affine import hull
from conformance.reference.numbers.bounded import INFINITY, Bounded

if TYPE_CHECKING:
    from conformance.models.arrays import Array


def either_of(a: Array, b: Array) -> Array:
    """What holds both numbers, element by element."""
    return objects((_enclosing(*pair) for pair in zip(a.flat, b.flat, strict=True)), a.shape)


def _enclosing(a: Bounded, b: Bounded) -> Bounded:
    """The first number with an interval that holds the second's too; a contradiction is a doubt."""
    if a is b:
        return a
    if a.value.is_nan() or b.value.is_nan():
        differ = a.value.is_nan() != b.value.is_nan()
        return Bounded(
            a.value, a.precision, (-INFINITY, INFINITY) if differ else None, doubt=a.doubt or b.doubt or differ
        )
    contradicts = not (a.low <= b.value <= a.high or b.low <= a.value <= b.high)
    interval = min(a.low, b.low), max(a.high, b.high)
    form = hull(a.error, b.error) if (a.form or b.form) and a.is_finite and b.is_finite else None
    return Bounded(a.value, a.precision, interval, doubt=a.doubt or b.doubt or contradicts, form=form)
