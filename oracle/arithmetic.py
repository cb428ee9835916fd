"""What operators compute with: numbers as they are or rounded, integers, or enclosures of what evaluations may give."""

from __future__ import annotations

import math
import operator
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from flint import fmpq

from oracle import reals, steps
from oracle.formats import FloatFormat, fraction_near, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from oracle.reals import Real

    Function: TypeAlias = "Callable[..., Real]"


class Arithmetic(Protocol):
    """Applies functions of `reals` and `steps` to elements, and compares elements."""

    def __call__(self, function: Function, *operands: Any) -> Any:
        """The function's value, as this arithmetic has it."""

    def less(self, x: Any, y: Any) -> bool | None:
        """Whether x is below y; False where one is NaN, None where that is open."""

    def either(self, condition: bool | None, x: Any, y: Any) -> Any:
        """`x` where the condition holds, y where it does not, what encloses both where that is open."""

    def low(self, x: Any) -> Any:
        """The least that the element may be."""

    def high(self, x: Any) -> Any:
        """The most that the element may be."""

    def between(self, function: Function, low: Any, high: Any, *, nan: bool) -> Any:
        """A value of the function that lies between two others, or may be NaN."""


class Exact:
    """Numbers are never rounded."""

    def __call__(self, function: Function, *operands: Real) -> Real:
        return function(*operands)

    def less(self, x: Real, y: Real) -> bool:
        return not (reals.is_nan(x) or reals.is_nan(y)) and reals.compare(x, y) < 0

    def either(self, condition: bool | None, x: Real, y: Real) -> Real:
        return x if condition else y

    def low(self, x: Real) -> Real:
        return x

    def high(self, x: Real) -> Real:
        return x

    def between(self, function: Function, low: Real, high: Real, *, nan: bool) -> Real:  # noqa: ARG002
        return math.nan if nan else low


@dataclass(frozen=True)
class Stepwise(Exact):
    """Each function's value is rounded to the format."""

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
    steps.larger: max,
    steps.smaller: min,
    steps.signum: lambda x: (x > 0) - (x < 0),
}


@dataclass(frozen=True)
class Integers(Exact):
    """Integers of a type, modulo two to its width; a division goes towards zero. An operand may be a set of them."""

    type: int

    def __call__(self, function: Function, *operands: Any) -> Any:
        choices = product(*map(_choices, operands))
        return one_or_several(wrap(self.type, INTEGER_FUNCTIONS[function](*items)) for items in choices)

    def less(self, x: Any, y: Any) -> bool | None:  # type: ignore[override]
        answers = {bool(a < b) for a, b in product(_choices(x), _choices(y))}
        return answers.pop() if len(answers) == 1 else None

    def either(self, condition: bool | None, x: Any, y: Any) -> Any:
        return one_or_several((*_choices(x), *_choices(y))) if condition is None else x if condition else y


def _choices(item: int | frozenset[int]) -> Iterable[int]:
    return item if isinstance(item, frozenset) else (item,)


def one_or_several(items: Iterable[int]) -> int | frozenset[int]:
    """The integer, or all of them where evaluations may give several."""
    several = frozenset(items)
    return next(iter(several)) if len(several) == 1 else several


@dataclass(frozen=True)
class Enclosure:
    """All numbers from low to high, and NaN where it is possible."""

    low: Real
    high: Real
    nan: bool = False


ANYTHING = Enclosure(-math.inf, math.inf, nan=True)

EXACT_FUNCTIONS: frozenset[Function] = frozenset(
    {
        *(reals.negative, reals.absolute),
        *(steps.larger, steps.smaller, steps.floor, steps.ceiling, steps.rounded, steps.signum),
    },
)
"""What no evaluation rounds."""

TURNS: dict[Function, tuple[Real, ...]] = {
    reals.hyperbolic_cosine: (0.0,),
    reals.absolute: (0.0,),
    reals.square_root: (0.0,),
    reals.logarithm: (0.0,),
    reals.inverse_hyperbolic_tangent: (fmpq(-1), fmpq(1)),
}
"""Where a function changes direction or begins; between these and elsewhere it rises or falls throughout."""


@dataclass(frozen=True)
class Enclosing:
    """Each inexact result lies within so many units in the last place, may be flushed to zero, and may overflow.

    A quotient may be inexact where it need not be: OpenCL gives division an accuracy and no exact cases, so what allows
    more than a unit allows that too.
    """

    format: FloatFormat
    units: int

    def __call__(self, function: Function, *operands: Real | Enclosure) -> Real | Enclosure:
        if not any(isinstance(operand, Enclosure) for operand in operands):
            value = function(*operands)
            exact = self.format.holds(value) and not (function is reals.divide and self.units > 1)
            return value if exact else self._widened(value, value, function, nan=False)
        if _escapes(function, *operands):
            return ANYTHING
        values = [function(*corner) for corner in product(*(_corners(function, operand) for operand in operands))]
        numbers = [value for value in values if not reals.is_nan(value)]
        nan = len(numbers) < len(values) or any(isinstance(o, Enclosure) and o.nan for o in operands)
        if not numbers:
            return math.nan
        return self._widened(_least(numbers), -_least([-x for x in numbers]), function, nan=nan)

    def less(self, x: Real | Enclosure, y: Real | Enclosure) -> bool | None:
        if may_be_nan(x) or may_be_nan(y):
            return None if isinstance(x, Enclosure) or isinstance(y, Enclosure) else False
        if reals.compare(self.high(x), self.low(y)) < 0:
            return True
        return None if reals.compare(self.low(x), self.high(y)) < 0 else False

    def either(self, condition: bool | None, x: Real | Enclosure, y: Real | Enclosure) -> Real | Enclosure:
        if condition is not None:
            return x if condition else y
        if not isinstance(x, Enclosure) and not isinstance(y, Enclosure) and (reals.is_nan(x) or reals.is_nan(y)):
            return ANYTHING
        ends = (_least([self.low(x), self.low(y)]), -_least([-self.high(x), -self.high(y)]))
        return Enclosure(*ends, nan=may_be_nan(x) or may_be_nan(y))

    def low(self, x: Real | Enclosure) -> Real:
        return x.low if isinstance(x, Enclosure) else x

    def high(self, x: Real | Enclosure) -> Real:
        return x.high if isinstance(x, Enclosure) else x

    def between(self, function: Function, low: Real, high: Real, *, nan: bool) -> Real | Enclosure:
        if reals.is_nan(low) or reals.is_nan(high):
            return ANYTHING
        if low is high and not nan and self.format.holds(low):
            return low
        return self._widened(low, high, function, nan=nan)

    def _widened(self, low: Real, high: Real, function: Function, *, nan: bool) -> Enclosure:
        units = 0 if function in EXACT_FUNCTIONS else self.units
        return Enclosure(-self._above(-low, units), self._above(high, units), nan=nan)

    def _above(self, x: Real, units: int) -> Real:
        """The most that a result may be where it should be x."""
        if isinstance(x, float) or units == 0:
            return x
        near = fraction_near(x)
        least_normal = fmpq(2) ** self.format.least_exponent
        most = near + units * self.format.ulp(near) + (least_normal if abs(near) < 2 * least_normal else 0)
        largest = self.format.largest
        return math.inf if most > largest else reals.real(max(most, -largest))


def may_be_nan(x: Real | Enclosure) -> bool:
    """Whether NaN is among what the element may be."""
    return x.nan if isinstance(x, Enclosure) else reals.is_nan(x)


def _corners(function: Function, operand: Real | Enclosure) -> list[Real]:
    """Where the function takes its least and its greatest value over the operand."""
    if not isinstance(operand, Enclosure):
        return [operand]
    inside = [
        turn
        for turn in TURNS.get(function, ())
        if reals.compare(operand.low, turn) < 0 < reals.compare(operand.high, turn)
    ]
    return [operand.low, operand.high, *inside]


def _escapes(function: Function, *operands: Real | Enclosure) -> bool:
    """Whether a divisor may be zero, or the base of a power be below it, so that nothing can be said."""
    if function is reals.divide and isinstance(operands[1], Enclosure):
        return reals.compare(operands[1].low, 0.0) <= 0 <= reals.compare(operands[1].high, 0.0)
    return function is reals.power and isinstance(operands[0], Enclosure) and reals.compare(operands[0].low, 0.0) < 0


def _least(numbers: list[Real]) -> Real:
    """The least number; of balls that overlap, and so are nearer than any ULP, one of them."""
    least = numbers[0]
    for number in numbers[1:]:
        with suppress(reals.Undecided):
            least = number if reals.compare(number, least) < 0 else least
    return least
