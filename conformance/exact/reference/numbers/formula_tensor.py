"""Tensors with which the formula of an operator computes, whatever the kind of its numbers.

A formula of `conformance.exact.reference.formulas` is written once, for every `FormulaTensor`. There are two kinds:

- `Enclosure`, an array of doubles with a bound for each element. It contains all admissible forms of the formula.
- `NumberTensor`, an array of numbers of a number system: of a NumPy type, or bounded numbers with an exact value. It
  computes the first form of each row of `tolerances.FORMS`, which is that of the page.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from math import prod
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from conformance.exact.models.arrays import format_of, object_array
from conformance.exact.reference.numbers import ArithmeticOperators
from conformance.exact.reference.numbers.bounded import ZERO, BoundedNumber, bounded_sum
from conformance.exact.reference.numbers.formula_evaluation import monotone_image, to_precision
from conformance.exact.reference.tolerances import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.numbers.precision import Precision
else:
    Protocol = object  # `isinstance` is slow for the subclasses of a protocol


class FormulaTensor(Protocol):
    """The arithmetic of formulas. An operand is a tensor of the same kind, or a number of the formula.

    A method with a body is for numbers without bounds, which have one form and one order of operations.
    """

    if TYPE_CHECKING:  # a tensor has them as fields or as properties

        @property
        def shape(self) -> tuple[int, ...]:
            """The tensor's shape."""

        @property
        def dtype(self) -> np.dtype[Any]:
            """The tensor's type in the model."""

        @property
        def value(self) -> Array:
            """The numbers in double, for decisions such as the branch of a formula."""

    def __add__(self, other: Self | float) -> Self: ...
    def __radd__(self, other: float) -> Self: ...
    def __sub__(self, other: Self | float) -> Self: ...
    def __rsub__(self, other: float) -> Self: ...
    def __mul__(self, other: Self | float) -> Self: ...
    def __rmul__(self, other: float) -> Self: ...
    def __truediv__(self, other: Self | float) -> Self: ...
    def __rtruediv__(self, other: float) -> Self: ...
    def __neg__(self) -> Self: ...
    def __abs__(self) -> Self: ...

    def constant(self, number: float, *, may_be_float: bool = True) -> Self:
        """Return a number of the formula as a tensor."""

    def zeros(self, shape: tuple[int, ...]) -> Self:
        """Return a tensor of zeros of the same type."""

    def plus(self, other: Self, *, is_fused: bool = False) -> Self:  # noqa: ARG002
        """Return the sum, whose terms may be added in any order with those of the operands.

        Args:
            other: the second operand.
            is_fused: whether the sum and the operands are always computed in one kernel, such as a Conv and its bias.
        """
        return self + other

    def minus(self, other: Self) -> Self:
        """Return the difference, whose terms may be added in any order with those of the operands."""
        return self - other

    def times(self, other: Self, *, is_fused: bool = False) -> Self:  # noqa: ARG002
        """Return the product; a factor may be multiplied into the terms of a sum; for `is_fused` see `plus`."""
        return self * other

    def over(self, other: Self) -> Self:
        """Return the quotient, also as the product with the reciprocal."""
        return self / other

    def sum(self, axes: Sequence[int], *, keepdims: bool = False) -> Self:
        """Return the sums along some axes, added in any order."""

    def add_up(self, axes: Sequence[int], *, keepdims: bool = False) -> Self:
        """Return the sums along some axes, whose terms may be added in any order with those of the elements."""
        return self.sum(axes, keepdims=keepdims)

    def add_terms(self, summation: Callable[[Array], Array], count: int) -> Self:
        """Return sums of up to `count` elements, which the linear function `summation` computes."""

    def extreme(self, axes: Sequence[int], *, largest: bool, keepdims: bool = False) -> Self:
        """Return the largest or the smallest element along some axes."""

    def dot(self, other: Self, product: Callable[[Array, Array], Array], count: int) -> Self:
        """Return sums of `count` products, which the bilinear function `product` computes."""

    def moved(self, movement: Callable[[Array], Array]) -> Self:
        """Return the elements in other positions."""

    def where(self, condition: Array, other: Self) -> Self:
        """Return this tensor where a condition holds, otherwise the other one; both have the shape of the condition."""

    def stack(self, others: Sequence[Self], axis: int) -> Self:
        """Return this tensor and others of the same shape along a new axis."""

    def sqrt(self) -> Self:
        """Return the square roots."""

    def apply(self, function: Callable[[Array], Array], ulps: float = 0.0) -> Self:
        """Return the results of a monotone function with an admissible error in ULP."""

    def named(self, name: str, function: Callable[[Array], Array]) -> Self:
        """Return the results of a monotone function with the admissible error of `tolerances.FUNCTIONS[name]`."""

    def ulps_of(self, name: str) -> float:
        """Return the admissible error of a function in ULP of its result in the type of the tensor."""

    def as_type(self, dtype: np.dtype[Any]) -> Self:
        """Return the tensor converted to a floating-point type."""

    def with_dtype(self, dtype: np.dtype[Any]) -> Self:
        """Return the same numbers, on which further operations round to another type."""

    def hull(self, others: Sequence[Callable[[], Self]]) -> Self:  # noqa: ARG002
        """Return this form of a formula together with other forms that are admissible."""
        return self

    def leave_open(self, unspecified: Array, *names: str) -> Self:  # noqa: ARG002
        """Return the tensor with elements that the specification leaves open, for the reasons in rows of `SILENCES`."""
        return self

    def without_overflow(self) -> Self:
        """Return a divisor whose overflow gives a quotient of 0, as an exact infinity does."""
        return self

    def with_readings(self, name: str, others: Sequence[Self]) -> Self:  # noqa: ARG002
        """Return this reading of an ambiguous page together with others; elements that differ are open.

        Args:
            name: the row of the table `tolerances.SILENCES` that explains why they are open.
            others: the other readings.
        """
        return self

    def with_terms(self, other: Self) -> Self:  # noqa: ARG002
        """Return the tensor with the terms of another form of it, which later operations may reorder."""
        return self

    def with_shares_of(self, other: Self) -> Self:  # noqa: ARG002
        """Return the tensor with the numerators of another form of it, by which a later weighted mean is bounded."""
        return self

    def zero_mask(self) -> Array:
        """Return which elements are certainly 0."""
        return np.asarray(self.value == 0)

    def undetermined(self, condition: Array) -> Self:  # noqa: ARG002
        """Return the tensor with elements on which admissible evaluations disagree by more than rounding."""
        return self

    def mean(self, axes: Sequence[int], *, keepdims: bool = True) -> Self:
        """Return the means along some axes: the sum divided by the count, or multiplied by its reciprocal."""
        count = prod(self.shape[axis] for axis in axes)
        return self.add_up(axes, keepdims=keepdims).over(self.constant(count))

    def below_largest(self, axes: Sequence[int]) -> Self:
        """Return the tensor minus its largest elements along some axes, whose errors cancel in the formula."""
        return self - self.extreme(axes, largest=True, keepdims=True)

    def divided_by_sum(self, axes: Sequence[int]) -> Self:
        """Return the elements divided by their sums along some axes; the sums of the exact results are 1."""
        return self / self.sum(axes, keepdims=True)

    def centred_variance(self, average: Self, deviation: Self, axes: Sequence[int]) -> Self:  # noqa: ARG002
        """Return the mean of the squares of the deviations from the mean, whose sum is 0."""
        return (deviation * deviation).mean(axes)

    def folded(self, average: Self, factor: Self, bias: Self) -> Self:
        """Return X * factor + (bias - average * factor), in which both products have the same factor."""
        return self * factor + (bias - average * factor)

    def scaled_norm(self, norm: Self, axes: Sequence[int], *, keepdims: bool) -> Self:  # noqa: ARG002
        """Return a Euclidean norm as the largest magnitude times the norm of the quotients by it."""
        return norm


T = TypeVar("T", bound=FormulaTensor)


@dataclass(frozen=True)
class NumberTensor(ArithmeticOperators, FormulaTensor):
    """A tensor of numbers of a number system.

    Attributes:
        numbers: an array of a NumPy type, or of bounded numbers.
        dtype: the tensor's type in the model.
        precision_of: returns the precision of a type for bounded numbers; None for numbers of a NumPy type.
    """

    numbers: Array
    dtype: np.dtype[Any]
    precision_of: Callable[[np.dtype[Any]], Precision] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.numbers.shape)

    @property
    def value(self) -> Array:
        if self.precision_of is None:
            return self.numbers.astype(np.float64)
        return np.array([float(number.value) for number in self.numbers.flat], np.float64).reshape(self.shape)

    def __neg__(self) -> NumberTensor:
        return self._with(self.numbers * -1)

    def __abs__(self) -> NumberTensor:
        if self.precision_of is None:
            return self._with(np.abs(self.numbers))
        return self._with(np.where(np.asarray(self.numbers < 0, dtype=bool), self.numbers * -1, self.numbers))

    def constant(self, number: float, *, may_be_float: bool = True) -> NumberTensor:  # noqa: ARG002
        return self._with(self._typed(np.asarray(number)))

    def zeros(self, shape: tuple[int, ...]) -> NumberTensor:
        return self._with(self._typed(np.zeros(shape)))

    def sum(self, axes: Sequence[int], *, keepdims: bool = False) -> NumberTensor:
        if self.precision_of is None:
            return self._with(self.numbers.sum(axis=tuple(axes), keepdims=keepdims, dtype=self.dtype))
        zero = BoundedNumber(ZERO, self._precision)
        return self._reduced(axes, lambda row: bounded_sum(row) if row.size else zero, keepdims=keepdims)

    def add_terms(self, summation: Callable[[Array], Array], count: int) -> NumberTensor:  # noqa: ARG002
        if self.precision_of is None:
            return self._with(np.asarray(summation(self.numbers), dtype=self.dtype))
        numbers = self.numbers.reshape(-1)
        terms = np.asarray(summation(_as_terms(self.numbers, 0)), dtype=object)
        rows = ([numbers[i] for i, _ in term.pairs] if isinstance(term, _Terms) else [] for term in terms.flat)
        zero = BoundedNumber(ZERO, self._precision)
        return self._with(object_array((bounded_sum(row) if row else zero for row in rows), terms.shape))

    def extreme(self, axes: Sequence[int], *, largest: bool, keepdims: bool = False) -> NumberTensor:
        choose = np.max if largest else np.min
        return self._with(np.asarray(choose(self.numbers, axis=tuple(axes), keepdims=keepdims)))

    def dot(self, other: NumberTensor, product: Callable[[Array, Array], Array], count: int) -> NumberTensor:  # noqa: ARG002
        if self.precision_of is None:
            return self._with(np.asarray(product(self.numbers, other.numbers), dtype=self.dtype))
        terms = np.asarray(product(_as_terms(self.numbers, 0), _as_terms(other.numbers, 1)), dtype=object)
        operands = self.numbers.reshape(-1), other.numbers.reshape(-1)
        sums = (self._sum_of_products(term, *operands) for term in terms.flat)
        return self._with(object_array(sums, terms.shape))

    def moved(self, movement: Callable[[Array], Array]) -> NumberTensor:
        return self._with(np.asarray(movement(self.numbers)))

    def where(self, condition: Array, other: NumberTensor) -> NumberTensor:
        return self._with(np.where(condition, self.numbers, other.numbers))

    def stack(self, others: Sequence[NumberTensor], axis: int) -> NumberTensor:
        return self._with(np.stack([self.numbers, *(other.numbers for other in others)], axis))

    def sqrt(self) -> NumberTensor:
        return self._with(np.sqrt(self.numbers))

    def apply(self, function: Callable[[Array], Array], ulps: float = 0.0) -> NumberTensor:
        if self.precision_of is None:
            return self._with(np.asarray(function(self.numbers), dtype=self.dtype))
        numbers = self.numbers.reshape(-1)
        ends = [[getattr(number, name) for number in numbers] for name in ("value", "low", "high")]
        images = zip(numbers, *(np.asarray(function(object_array(end, numbers.shape))) for end in ends), strict=True)
        return self._with(
            object_array((monotone_image(self._precision, int(2 * ulps), *each) for each in images), self.shape)
        )

    def named(self, name: str, function: Callable[[Array], Array]) -> NumberTensor:
        if self.precision_of is not None and name in ("exp", "log"):
            return self._with(np.asarray(getattr(np, name)(self.numbers)))
        result = self.apply(function, self.ulps_of(name))
        step = Decimal(FUNCTIONS[name].absolute * float(format_of(self.dtype).unit_roundoff))
        if not step or self._is_strict or self._precision.adversary is not None:
            return result
        return self._with(result.numbers + BoundedNumber(ZERO, self._precision, (-step, step)))

    def ulps_of(self, name: str) -> float:
        return FUNCTIONS[name].ulps(format_of(self.dtype).name, is_strict=self._is_strict)

    def as_type(self, dtype: np.dtype[Any]) -> NumberTensor:
        if dtype == self.dtype:
            return self
        converted = self.with_dtype(dtype)
        return converted if self.precision_of is None else replace(converted, numbers=converted.numbers * 1)

    def with_dtype(self, dtype: np.dtype[Any]) -> NumberTensor:
        if self.precision_of is None:
            return replace(self, numbers=self.numbers.astype(dtype), dtype=dtype)
        return replace(self, numbers=to_precision(self.numbers, self.precision_of(dtype)), dtype=dtype)

    @property
    def _precision(self) -> Precision:
        assert self.precision_of is not None
        return self.precision_of(self.dtype)

    @property
    def _is_strict(self) -> bool:
        return self.precision_of is None or self._precision.strict

    def _with(self, numbers: Any) -> NumberTensor:
        return replace(self, numbers=np.asarray(numbers))

    def _operate(self, operation: Callable[[Any, Any], Any], a: Any, b: Any) -> NumberTensor:
        return self._with(operation(self._operand(a), self._operand(b)))

    def _operand(self, other: NumberTensor | float) -> Array:
        return other.numbers if isinstance(other, NumberTensor) else self.constant(other).numbers

    def _typed(self, numbers: Array) -> Array:
        if self.precision_of is None:
            return numbers.astype(self.dtype)
        exact = object_array((Decimal(number.item()) for number in numbers.flat), numbers.shape)
        return to_precision(exact, self._precision)

    def _reduced(
        self, axes: Sequence[int], reduce: Callable[[Array], BoundedNumber], *, keepdims: bool
    ) -> NumberTensor:
        axes = sorted(axis % self.numbers.ndim for axis in axes)
        moved = np.moveaxis(self.numbers, axes, range(-len(axes), 0))
        shape = moved.shape[: moved.ndim - len(axes)]
        rows = moved.reshape(int(np.prod(shape)), -1) if moved.size else np.empty((int(np.prod(shape)), 0), object)
        result = object_array(map(reduce, rows), shape)
        return self._with(np.expand_dims(result, tuple(axes)) if keepdims else result)

    def _sum_of_products(self, term: Any, A: Array, B: Array) -> BoundedNumber:
        pairs = term.pairs if isinstance(term, _Terms) else ()
        return bounded_sum([A[i] * B[j] for i, j in pairs]) if pairs else BoundedNumber(ZERO, self._precision)


class _Terms:
    """The terms of a sum of products, as positions of their factors in two tensors.

    A bilinear function, applied to tensors of these, returns the products that each of its results adds.
    """

    def __init__(self, pairs: tuple[tuple[int, int], ...], operand: int | None = None) -> None:
        self.pairs = pairs
        self.operand = operand

    def __mul__(self, other: Any) -> _Terms:
        if not isinstance(other, _Terms):  # padding
            return _Terms(())
        first, second = (self, other) if self.operand == 0 else (other, self)
        return _Terms(((first.pairs[0][0], second.pairs[0][0]),))

    __rmul__ = __mul__

    def __add__(self, other: Any) -> _Terms:
        return _Terms(self.pairs + other.pairs) if isinstance(other, _Terms) else self

    __radd__ = __add__


def _as_terms(numbers: Array, operand: int) -> Array:
    return object_array((_Terms(((place, place),), operand) for place in range(numbers.size)), numbers.shape)
