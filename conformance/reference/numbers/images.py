"""What a monotone formula makes of numbers that lie within intervals: it takes their ends to the image's."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from conformance.models.arrays import objects
from conformance.reference.numbers import pairs
from conformance.reference.numbers.bounded import Bounded

if TYPE_CHECKING:
    from conformance.models.arrays import Array
    from conformance.reference.numbers.precision import Precision


def image(precision: Precision, roundings: int, number: Bounded, value: Any, a: Any, b: Any) -> Bounded:
    """What a monotone formula makes of a number, given what it makes of its value and of its two ends."""
    value, a, b = Decimal(value), Decimal(a), Decimal(b)
    run = number.high - number.value if precision.adversary is not None and number.is_finite else 0
    form = pairs.slope(number, (b - value) / run) if run else None
    image = Bounded(value, precision, (a, b) if a <= b else (b, a), doubt=number.doubt, form=form)
    return image.rounded(roundings) if roundings else image


def ends_of(numbers: Array) -> tuple[Array, Array]:
    """The lower and the upper ends of numbers that may be exact."""
    ends = [(number.low, number.high) if isinstance(number, Bounded) else (number, number) for number in numbers.flat]
    return objects((low for low, _ in ends), numbers.shape), objects((high for _, high in ends), numbers.shape)
