"""Enclosures: tensors of numbers with error bounds, for models that are too large for exact numbers.

An `Enclosure` holds a value in double and a bound for each element. Every admissible evaluation of the element differs
from the value by at most the bound. Admissible evaluations are those of `bounded`: any order of additions, fused
multiply-add, wider intermediates, and subnormals flushed to zero. Each operation adds its own rounding error:

- a correctly rounded operation: u relative, where u is the unit roundoff of the tensor's type;
- a sum of n terms: n u of the sum of the magnitudes, in any order (Higham, Accuracy and Stability of Numerical
  Algorithms, section 4.2);
- a quotient, a root or a function: the number of ULP in `FUNCTION_ULPS`, whose source is named there.

The double arithmetic of this module has rounding errors too, which are part of every bound (`OWN_ROUNDOFF`). For a
tensor of doubles the bound is therefore about twice as wide as it has to be.

A bound is infinite where admissible evaluations disagree by more than rounding, for example because some of them
overflow. Such an element cannot be judged.

A runtime may fuse several nodes into one kernel, and may then compute sums and products in another order: it folds the
factor and the summand after a convolution into the weights and the bias. `SumOfProducts` has the bound for all orders.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from conformance.reference.numbers.precision import MUST_ACCURACY, format_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.models.arrays import Array

OWN_ROUNDOFF = 2.0**-50
"""Relative error of one operation of this module: eight units of roundoff of double. No NumPy function has more."""

FUNCTION_ULPS: Mapping[str, float] = {
    "exp": 4,
    "log": 4,
    "expm1": 4,
    "log1p": 4,
    "sqrt": 3,
    "sin": 4,
    "cos": 4,
    "tan": 5,
    "asin": 4,
    "acos": 4,
    "atan": 5,
    "sinh": 4,
    "cosh": 4,
    "tanh": 5,
    "asinh": 4,
    "acosh": 4,
    "atanh": 5,
    "erf": 16,
    "pow": 16,
}
"""The largest admissible error of each function in ULP of its result, for every type.

Source: the table "ULP Values for Single-Precision Built-in Math Functions" of the OpenCL C specification, full profile;
one ULP more for exp, log, expm1 and log1p, as in `precision.MUST_ACCURACY`."""


@dataclass(frozen=True)
class SumOfProducts:
    """The terms of a tensor whose elements are sums of products, for a bound that holds in every order of operations.

    Each term of an element has at most `roundings` roundings on its way into the sum, also if common factors are
    multiplied into the terms first. The error is then at most `roundings` u of the sum of the terms' magnitudes.

    Attributes:
        magnitudes: the sum of the magnitudes of the terms.
        error: the error that the operands contribute.
        roundings: the number of roundings of a term.
    """

    magnitudes: Array
    error: Array
    roundings: int

    @classmethod
    def of(cls, tensor: Enclosure) -> SumOfProducts:
        """Return the terms of a tensor; a tensor that is not a sum of products has one term."""
        return tensor.terms or cls(tensor.magnitude, tensor.error, 0)

    def moved(self, movement: Callable[[Array], Array]) -> SumOfProducts:
        """Return the terms of the elements in other positions."""
        return SumOfProducts(np.abs(movement(self.magnitudes)), np.asarray(movement(self.error)), self.roundings)

    def plus(self, other: SumOfProducts) -> SumOfProducts:
        """Return the terms of a sum or of a difference."""
        roundings = self.roundings + other.roundings + 1
        with np.errstate(all="ignore"):
            return SumOfProducts(self.magnitudes + other.magnitudes, self.error + other.error, roundings)

    def times(self, other: SumOfProducts, *, roundings: int = 1) -> SumOfProducts:
        """Return the terms of a product, with the given number of roundings for the multiplication."""
        with np.errstate(all="ignore"):
            error = self.error * other.magnitudes + self.magnitudes * other.error
            return SumOfProducts(
                self.magnitudes * other.magnitudes,
                np.where((self.error == 0) & (other.error == 0), 0.0, error),
                self.roundings + other.roundings + roundings,
            )


@dataclass(frozen=True)
class Enclosure:
    """A tensor of floating-point numbers with error bounds.

    Attributes:
        value: the values, computed in double.
        error: a bound on the distance of every admissible evaluation from the value (double, the shape of `value`).
        dtype: the tensor's type in the model.
        terms: the terms, if a node computes the tensor as sums of products. The operators of this class drop them; the
            functions `add`, `subtract`, `multiply`, `divide`, `add_up` and `dot` keep them.
    """

    value: Array
    error: Array
    dtype: np.dtype[Any]
    terms: SumOfProducts | None = None

    @classmethod
    def exact(cls, array: Array) -> Enclosure:
        """Return the enclosure of a tensor whose elements are known."""
        value = np.asarray(array).astype(np.float64)
        return cls(value, np.zeros_like(value), np.asarray(array).dtype)

    def constant(self, number: float) -> Enclosure:
        """Return a number of the formula, to combine with this tensor."""
        return Enclosure(np.array(number), np.array(0.0), self.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's shape."""
        return np.shape(self.value)

    @property
    def magnitude(self) -> Array:
        """The largest magnitude of each element over all admissible evaluations."""
        return np.asarray(np.abs(self.value) + self.error)

    @property
    def is_exact(self) -> bool:
        """Whether all evaluations give the same elements."""
        return not np.any(self.error)

    def moved(self, movement: Callable[[Array], Array]) -> Enclosure:
        """Return the elements, with their bounds, in other positions."""
        terms = None if self.terms is None else self.terms.moved(movement)
        return Enclosure(np.asarray(movement(self.value)), np.asarray(movement(self.error)), self.dtype, terms)

    def __add__(self, other: Operand) -> Enclosure:
        other = self._operand(other)
        return self._rounded(lambda: self.value + other.value, self.error + other.error, other)

    def __sub__(self, other: Operand) -> Enclosure:
        other = self._operand(other)
        return self._rounded(lambda: self.value - other.value, self.error + other.error, other)

    def __mul__(self, other: Operand) -> Enclosure:
        other = self._operand(other)
        error = self._where_inexact(other, lambda: self.error * other.magnitude + np.abs(self.value) * other.error)
        return self._rounded(lambda: self.value * other.value, error, other)

    def __truediv__(self, other: Operand) -> Enclosure:
        other = self._operand(other)
        ulps = float(MUST_ACCURACY[format_of(self.dtype).name].quotient)

        def propagated() -> Array:
            smallest = np.abs(other.value) - other.error
            quotient = np.abs(self.value / other.value)
            bound = (self.error + quotient * other.error) / smallest
            return np.where(smallest > 0, bound, np.inf)

        return self._rounded(
            lambda: self.value / other.value, self._where_inexact(other, propagated), other, roundings=2 * ulps
        )

    def __radd__(self, other: float) -> Enclosure:
        return self.constant(other) + self

    def __rsub__(self, other: float) -> Enclosure:
        return self.constant(other) - self

    def __rmul__(self, other: float) -> Enclosure:
        return self.constant(other) * self

    def __rtruediv__(self, other: float) -> Enclosure:
        return self.constant(other) / self

    def __neg__(self) -> Enclosure:
        return Enclosure(-self.value, self.error, self.dtype, self.terms)

    def __abs__(self) -> Enclosure:
        return Enclosure(np.abs(self.value), self.error, self.dtype)

    def apply(
        self, function: Callable[[Array], Array], ulps: float | Array = 0.0, *, absolute: float = 0.0
    ) -> Enclosure:
        """Return the results of a function that is monotone, at least between the ends of each element's interval.

        Args:
            function: the function, of an array of doubles.
            ulps: the largest admissible error in ULP of the result; 0 for a function that only selects or rounds.
            absolute: a further admissible absolute error.
        """
        with np.errstate(all="ignore"):
            value = np.asarray(function(self.value), dtype=np.float64)
            spread: Array = np.zeros_like(value)
            if not self.is_exact:
                ends = [np.abs(function(self.value + sign * self.error) - value) for sign in (-1, 1)]
                spread = np.where(self.error == 0, 0.0, np.maximum(*ends))
        if not np.any(ulps) and not absolute:
            return Enclosure(value, np.where(np.isnan(spread), np.inf, spread), self.dtype)
        return self._bounded(value, spread + absolute, self.error == 0, roundings=2 * ulps)

    def named(self, name: str, function: Callable[[Array], Array]) -> Enclosure:
        """Return the results of a monotone function with the admissible error of `FUNCTION_ULPS[name]`."""
        return self.apply(function, FUNCTION_ULPS[name])

    def sum(self, axes: Sequence[int], *, keepdims: bool = False) -> Enclosure:
        """Return the sums along some axes, added in any order."""
        axes = tuple(axes)
        count = int(np.prod([self.shape[axis] for axis in axes], dtype=np.int64))
        with np.errstate(all="ignore"):
            value = self.value.sum(axis=axes, keepdims=keepdims)
            magnitudes = self.magnitude.sum(axis=axes, keepdims=keepdims)
            error = self.error.sum(axis=axes, keepdims=keepdims)
        return self.from_terms(value, magnitudes, error, count)

    def in_any_order(self, terms: SumOfProducts, *, is_fused: bool) -> Enclosure:
        """Return the tensor with its terms, and if it is computed in one kernel with the bound for every order."""
        error = self.error
        if is_fused:
            whole = self.from_terms(self.value, terms.magnitudes, terms.error, terms.roundings)
            error = np.maximum(error, whole.error)
        return Enclosure(self.value, error, self.dtype, terms)

    def from_terms(self, value: Array, magnitudes: Array, error: Array, count: int) -> Enclosure:
        """Return sums or dot products as a tensor of this type.

        Args:
            value: the sums.
            magnitudes: the sums of the terms' magnitudes.
            error: the sums of the terms' propagated errors.
            count: the number of roundings of a term on its way into the sum: for a dot product of n terms, n.
        """
        u = self._unit_roundoff
        relative = np.expm1(count * np.log1p(u)) if count * u < 1 else np.inf
        with np.errstate(all="ignore"):
            accumulated = magnitudes * (relative + (count + 1) * OWN_ROUNDOFF) + count * self._smallest_normal * (
                magnitudes < count * self._smallest_normal / u
            ) * (magnitudes > 0)
        overflow = magnitudes > float(format_of(self.dtype).largest)
        return self._bounded(value, np.where(overflow, np.inf, error + accumulated), error == 0)

    def extreme(self, axes: Sequence[int], *, largest: bool, keepdims: bool = False) -> Enclosure:
        """Return the largest or the smallest element along some axes."""
        choose = np.max if largest else np.min
        return Enclosure(
            np.asarray(choose(self.value, axis=tuple(axes), keepdims=keepdims)),
            np.asarray(np.max(self.error, axis=tuple(axes), keepdims=keepdims)),
            self.dtype,
        )

    def as_type(self, dtype: np.dtype[Any]) -> Enclosure:
        """Return the tensor converted to a floating-point type, with the rounding of the conversion."""
        converted = Enclosure(self.value, self.error, dtype)
        return converted._bounded(self.value, self.error, self.error == 0)

    def with_dtype(self, dtype: np.dtype[Any]) -> Enclosure:
        """Return the same numbers, on which further operations round to another type."""
        return Enclosure(self.value, self.error, dtype)

    @property
    def _unit_roundoff(self) -> float:
        return float(format_of(self.dtype).unit_roundoff)

    @property
    def _smallest_normal(self) -> float:
        return float(format_of(self.dtype).smallest_normal)

    def _operand(self, other: Operand) -> Enclosure:
        return other if isinstance(other, Enclosure) else self.constant(other)

    def _where_inexact(self, other: Enclosure, propagated: Callable[[], Array]) -> Array:
        """Return a propagated error, without its computation if both operands are exact."""
        if self.is_exact and other.is_exact:
            return np.zeros(np.broadcast_shapes(self.shape, other.shape))
        with np.errstate(all="ignore"):
            error = propagated()
        return np.where((self.error == 0) & (other.error == 0), 0.0, error)

    def _rounded(
        self, compute: Callable[[], Array], error: Array, other: Enclosure, *, roundings: float = 1.0
    ) -> Enclosure:
        with np.errstate(all="ignore"):
            value = np.asarray(compute())
        return self._bounded(value, error, (self.error == 0) & (other.error == 0), roundings=roundings)

    def _bounded(
        self, value: Array, error: Array, has_exact_operands: Array, *, roundings: float | Array = 1.0
    ) -> Enclosure:
        """Return a result with the errors of its own roundings, of a flush to zero and of an overflow.

        Args:
            value: the result in double.
            error: the error that the operands contribute.
            has_exact_operands: where the operands are exact, so that an infinity or NaN is exact too.
            roundings: the number of roundings, each of one unit of roundoff.
        """
        limits = format_of(self.dtype)
        with np.errstate(all="ignore"):
            magnitude = np.abs(value) + error
            total = error + magnitude * (roundings * self._unit_roundoff * (1 + 2.0**-20) + OWN_ROUNDOFF)
            may_flush = (np.abs(value) - total < self._smallest_normal) & (magnitude > 0)
            total = np.where(may_flush, total + self._smallest_normal, total)
            # An exact overflow has one admissible result only if every rounding of it overflows.
            is_infinite = np.abs(value) - total >= float(limits.overflow_threshold)
            may_overflow = np.abs(value) + total >= float(limits.largest)
            total = np.where(may_overflow, np.inf, total)
            total = np.where(is_infinite & has_exact_operands, 0.0, total)
            value = np.where(is_infinite, np.copysign(np.inf, value), value)
            total = np.where(np.isfinite(value) | is_infinite, total, np.where(has_exact_operands, 0.0, np.inf))
        return Enclosure(value, np.where(np.isnan(total), np.inf, total), self.dtype)


Operand: TypeAlias = "Enclosure | float"

Tensor: TypeAlias = "Array | Enclosure | None"
"""A tensor whose elements are known, a tensor of numbers with bounds, or an input that a node leaves out."""


def hull(first: Enclosure, *others: Enclosure) -> Enclosure:
    """Return an enclosure of several forms of one formula, all of which are admissible."""
    error = first.error
    for other in others:
        with np.errstate(all="ignore"):
            distance = np.abs(other.value - first.value) + other.error
        error = np.maximum(error, np.where(np.isnan(distance), 0.0 if other.is_exact else np.inf, distance))
    return Enclosure(first.value, error, first.dtype)


# Operations of nodes that a runtime may compute in one kernel. An operand with terms is the result of an earlier node.


def add(A: Enclosure, B: Enclosure, *, is_fused: bool = False) -> Enclosure:
    """Return the sum of two operands.

    Args:
        A: the first operand.
        B: the second operand.
        is_fused: whether the sum and the operands are always computed in one kernel, such as a Conv and its bias.
    """
    return _in_any_order(A + B, SumOfProducts.of(A).plus(SumOfProducts.of(B)), A, B, is_fused=is_fused)


def subtract(A: Enclosure, B: Enclosure) -> Enclosure:
    """Return the difference of two operands."""
    return _in_any_order(A - B, SumOfProducts.of(A).plus(SumOfProducts.of(B)), A, B)


def multiply(A: Enclosure, B: Enclosure, *, is_fused: bool = False) -> Enclosure:
    """Return the product of two operands, one of which may be a factor of all terms of the other; see `add`."""
    return _in_any_order(A * B, SumOfProducts.of(A).times(SumOfProducts.of(B)), A, B, is_fused=is_fused)


def divide(A: Enclosure, B: Enclosure) -> Enclosure:
    """Return the quotient of two operands, also as the product with the reciprocal."""
    with np.errstate(all="ignore"):
        smallest = np.abs(B.value) - B.error
        reciprocal = np.where(smallest > 0, 1 / smallest, np.inf)
        factor = SumOfProducts(reciprocal, np.where(B.error == 0, 0.0, reciprocal * B.error * reciprocal), 0)
        roundings = int(2 * MUST_ACCURACY[format_of(A.dtype).name].quotient) + 1
        terms = SumOfProducts.of(A).times(factor, roundings=roundings)
    return _in_any_order(A / B, terms, A, B)


def add_up(X: Enclosure, axes: Sequence[int], *, keepdims: bool = False) -> Enclosure:
    """Return the sums along some axes, added in any order."""
    axes = tuple(axes)
    count = int(np.prod([X.shape[axis] for axis in axes], dtype=np.int64))
    terms = SumOfProducts.of(X)
    magnitudes, error = (part.sum(axis=axes, keepdims=keepdims) for part in (terms.magnitudes, terms.error))
    terms = SumOfProducts(magnitudes, error, terms.roundings + count)
    return _in_any_order(X.sum(axes, keepdims=keepdims), terms, X)


def _in_any_order(result: Enclosure, terms: SumOfProducts, *operands: Enclosure, is_fused: bool = False) -> Enclosure:
    return result.in_any_order(terms, is_fused=is_fused or any(each.terms is not None for each in operands))


def dot(A: Enclosure, B: Enclosure, product: Callable[[Array, Array], Array], count: int) -> Enclosure:
    """Return dot products of two tensors.

    Args:
        A: the first tensor.
        B: the second tensor.
        product: the bilinear function that computes the sums of products, such as `np.matmul`.
        count: the number of products in each sum.
    """
    first, second = SumOfProducts.of(A), SumOfProducts.of(B)
    with np.errstate(all="ignore"):
        value = product(A.value, B.value)
        magnitudes = product(first.magnitudes, second.magnitudes)
        error = np.zeros_like(value)
        if not A.is_exact:
            error = error + product(first.error, second.magnitudes)
        if not B.is_exact:
            error = error + product(first.magnitudes, second.error)
    roundings = count + first.roundings + second.roundings
    if A.terms or B.terms:  # the factors may be multiplied first, and the sums of constants folded
        roundings += 2
    result = A.from_terms(value, magnitudes, error, roundings)
    return Enclosure(result.value, result.error, result.dtype, SumOfProducts(magnitudes, error, roundings))
