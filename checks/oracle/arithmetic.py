"""The arithmetics that operators compute with: exact numbers, rounded numbers, integers, and enclosures."""

from __future__ import annotations

import math
import operator
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from flint import fmpq

from checks.oracle import reals, stepwise_functions
from checks.oracle.formats import FloatFormat, nearby_fraction, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from checks.oracle.reals import Real

    Function: TypeAlias = "Callable[..., Real]"


class Arithmetic(Protocol):
    """Applies functions of `reals` and `stepwise_functions` to elements, and compares elements."""

    def __call__(self, function: Function, *operands: Any) -> Any:
        """Return the value of a function in this arithmetic."""

    def less(self, x: Any, y: Any) -> bool | None:
        """Return whether x is below y: False if one of them is NaN, None if both answers are possible."""

    def select(self, condition: bool | None, x: Any, y: Any) -> Any:
        """Return x if the condition is true, y if it is false, and an enclosure of both if it is None."""

    def low(self, x: Any) -> Any:
        """Return the smallest possible value of an element."""

    def high(self, x: Any) -> Any:
        """Return the largest possible value of an element."""

    def enclose_between(self, function: Function, low: Any, high: Any, *, has_nan: bool) -> Any:
        """Return a value of a function that lies between two numbers, or may be NaN."""


class ExactArithmetic:
    """Real numbers that are never rounded."""

    def __call__(self, function: Function, *operands: Real) -> Real:
        return function(*operands)

    def less(self, x: Real, y: Real) -> bool:
        return not (reals.is_nan(x) or reals.is_nan(y)) and reals.compare(x, y) < 0

    def select(self, condition: bool | None, x: Real, y: Real) -> Real:
        return x if condition else y

    def low(self, x: Real) -> Real:
        return x

    def high(self, x: Real) -> Real:
        return x

    def enclose_between(self, function: Function, low: Real, high: Real, *, has_nan: bool) -> Real:  # noqa: ARG002
        return math.nan if has_nan else low


@dataclass(frozen=True)
class StepwiseArithmetic(ExactArithmetic):
    """Real numbers that each function rounds to a format."""

    format: FloatFormat

    def __call__(self, function: Function, *operands: Real) -> Real:
        return self.format.round(function(*operands))


INTEGER_FUNCTIONS: dict[Function, Callable[..., int]] = {
    reals.add: operator.add,
    reals.subtract: operator.sub,
    reals.multiply: operator.mul,
    reals.divide: lambda x, y: x // y if (x < 0) == (y < 0) else -(-x // y),
    reals.negative: operator.neg,
    reals.absolute: abs,
    stepwise_functions.maximum: max,
    stepwise_functions.minimum: min,
    stepwise_functions.signum: lambda x: (x > 0) - (x < 0),
}


@dataclass(frozen=True)
class IntegerArithmetic(ExactArithmetic):
    """Integers of a type, modulo two to its width. A quotient is truncated. An operand may be a set of integers."""

    type: int

    def __call__(self, function: Function, *operands: Any) -> Any:
        choices = product(*map(_alternatives, operands))
        return single_or_set(wrap(self.type, INTEGER_FUNCTIONS[function](*items)) for items in choices)

    def less(self, x: Any, y: Any) -> bool | None:  # type: ignore[override]
        answers = {bool(a < b) for a, b in product(_alternatives(x), _alternatives(y))}
        return answers.pop() if len(answers) == 1 else None

    def select(self, condition: bool | None, x: Any, y: Any) -> Any:
        return single_or_set((*_alternatives(x), *_alternatives(y))) if condition is None else x if condition else y


def _alternatives(item: int | frozenset[int]) -> Iterable[int]:
    return item if isinstance(item, frozenset) else (item,)


def single_or_set(items: Iterable[int]) -> int | frozenset[int]:
    """Return the only integer of a collection, or the set of all integers if there are several."""
    several = frozenset(items)
    return next(iter(several)) if len(several) == 1 else several


@dataclass(frozen=True)
class Enclosure:
    """All numbers from `low` to `high`, and NaN if `has_nan`."""

    low: Real
    high: Real
    has_nan: bool = False


ANYTHING = Enclosure(-math.inf, math.inf, has_nan=True)

EXACT_FUNCTIONS: frozenset[Function] = frozenset(
    {
        *(reals.negative, reals.absolute),
        *(
            stepwise_functions.maximum,
            stepwise_functions.minimum,
            stepwise_functions.floor,
            stepwise_functions.ceiling,
            stepwise_functions.round_half_even,
            stepwise_functions.signum,
        ),
    },
)
"""The functions that no evaluation rounds."""

TURNING_POINTS: dict[Function, tuple[Real, ...]] = {
    reals.hyperbolic_cosine: (0.0,),
    reals.absolute: (0.0,),
    reals.square_root: (0.0,),
    reals.logarithm: (0.0,),
    reals.inverse_hyperbolic_tangent: (fmpq(-1), fmpq(1)),
}
"""The points at which a function changes direction or its domain begins. Elsewhere it is monotone."""


@dataclass(frozen=True)
class EnclosureArithmetic:
    """Enclosures of the results of all evaluations with an error of at most `units` units in the last place (ULP).

    An inexact result may also be flushed to zero, and it may overflow. A quotient with a representable value may be
    inexact if more than 1 ULP is allowed: OpenCL states an error for divisions and no exact cases.
    """

    format: FloatFormat
    units: int

    def __call__(self, function: Function, *operands: Real | Enclosure) -> Real | Enclosure:
        if not any(isinstance(operand, Enclosure) for operand in operands):
            value = function(*operands)
            exact = self.format.represents(value) and not (function is reals.divide and self.units > 1)
            return value if exact else self._widen(value, value, function, has_nan=False)
        if _is_unbounded(function, *operands):
            return ANYTHING
        values = [
            function(*corner) for corner in product(*(_extreme_arguments(function, operand) for operand in operands))
        ]
        numbers = [value for value in values if not reals.is_nan(value)]
        has_nan = len(numbers) < len(values) or any(isinstance(o, Enclosure) and o.has_nan for o in operands)
        if not numbers:
            return math.nan
        return self._widen(_minimum(numbers), -_minimum([-x for x in numbers]), function, has_nan=has_nan)

    def less(self, x: Real | Enclosure, y: Real | Enclosure) -> bool | None:
        if may_be_nan(x) or may_be_nan(y):
            return None if isinstance(x, Enclosure) or isinstance(y, Enclosure) else False
        if reals.compare(self.high(x), self.low(y)) < 0:
            return True
        return None if reals.compare(self.low(x), self.high(y)) < 0 else False

    def select(self, condition: bool | None, x: Real | Enclosure, y: Real | Enclosure) -> Real | Enclosure:
        if condition is not None:
            return x if condition else y
        if not isinstance(x, Enclosure) and not isinstance(y, Enclosure) and (reals.is_nan(x) or reals.is_nan(y)):
            return ANYTHING
        ends = (_minimum([self.low(x), self.low(y)]), -_minimum([-self.high(x), -self.high(y)]))
        return Enclosure(*ends, has_nan=may_be_nan(x) or may_be_nan(y))

    def low(self, x: Real | Enclosure) -> Real:
        return x.low if isinstance(x, Enclosure) else x

    def high(self, x: Real | Enclosure) -> Real:
        return x.high if isinstance(x, Enclosure) else x

    def enclose_between(self, function: Function, low: Real, high: Real, *, has_nan: bool) -> Real | Enclosure:
        if reals.is_nan(low) or reals.is_nan(high):
            return ANYTHING
        if low is high and not has_nan and self.format.represents(low):
            return low
        return self._widen(low, high, function, has_nan=has_nan)

    def _widen(self, low: Real, high: Real, function: Function, *, has_nan: bool) -> Enclosure:
        units = 0 if function in EXACT_FUNCTIONS else self.units
        return Enclosure(-self._above(-low, units), self._above(high, units), has_nan=has_nan)

    def _above(self, x: Real, units: int) -> Real:
        """Return the largest possible result of an operation whose exact result is x."""
        if isinstance(x, float) or units == 0:
            return x
        near = nearby_fraction(x)
        least_normal = fmpq(2) ** self.format.least_exponent
        most = near + units * self.format.ulp(near) + (least_normal if abs(near) < 2 * least_normal else 0)
        largest = self.format.largest
        return math.inf if most > largest else reals.real(max(most, -largest))


def may_be_nan(x: Real | Enclosure) -> bool:
    """Return whether an element may be NaN."""
    return x.has_nan if isinstance(x, Enclosure) else reals.is_nan(x)


def _extreme_arguments(function: Function, operand: Real | Enclosure) -> list[Real]:
    """Return the arguments at which a function can have its smallest and largest value over an operand."""
    if not isinstance(operand, Enclosure):
        return [operand]
    inside = [
        turn
        for turn in TURNING_POINTS.get(function, ())
        if reals.compare(operand.low, turn) < 0 < reals.compare(operand.high, turn)
    ]
    return [operand.low, operand.high, *inside]


def _is_unbounded(function: Function, *operands: Real | Enclosure) -> bool:
    """Return whether the result has no limits: a divisor may be zero, or the base of a power negative."""
    if function is reals.divide and isinstance(operands[1], Enclosure):
        return reals.compare(operands[1].low, 0.0) <= 0 <= reals.compare(operands[1].high, 0.0)
    return function is reals.power and isinstance(operands[0], Enclosure) and reals.compare(operands[0].low, 0.0) < 0


def _minimum(numbers: list[Real]) -> Real:
    """Return the smallest number. If balls overlap, their distance is below any ULP, and one of them is returned."""
    least = numbers[0]
    for number in numbers[1:]:
        with suppress(reals.PrecisionTooLow):
            least = number if reals.compare(number, least) < 0 else least
    return least
