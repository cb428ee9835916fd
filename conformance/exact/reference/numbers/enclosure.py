"""Enclosures: tensors of numbers with error bounds, for models that are too large for exact numbers.

An `Enclosure` holds a value in double and a bound for each element. Every admissible evaluation of the element differs
from the value by at most the bound. Admissible evaluations are those of `bounded`: any order of additions, fused
multiply-add, wider intermediates, and subnormals flushed to zero. Each operation adds its own rounding error:

- a correctly rounded operation: u relative, where u is the unit roundoff of the tensor's type;
- a sum of n terms: n u of the largest partial sum, in any order (Higham, Accuracy and Stability of Numerical
  Algorithms, section 4.2); no partial sum exceeds half of the magnitudes plus half of the sum;
- a quotient, a root or a function: the number of ULP in `tolerances`, whose source is named there.

At level `should`, a sum of n terms has a probabilistic bound: see `tolerances.DEVIATIONS`.

The double arithmetic of this module has rounding errors too, which are part of every bound (`OWN_ROUNDOFF`). For a
tensor of doubles the bound is therefore about twice as wide as it has to be.

A bound is infinite where admissible evaluations disagree by more than rounding, for example because some of them
overflow. Such an element cannot be judged: it is undetermined. An element that the specification leaves open, such as
the largest of numbers with a NaN, is unspecified.

A runtime may fuse several nodes into one kernel, and may then compute sums and products in another order: it folds the
factor and the summand after a convolution into the weights and the bias. `SumOfProducts` has the bound for all orders.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from conformance.base.verdicts import Level, Unsupported
from conformance.exact.models.arrays import element_distances, equal_elements, format_of, is_computed
from conformance.exact.reference.numbers import ArithmeticOperators, elementary, portable
from conformance.exact.reference.numbers.formula_tensor import FormulaTensor
from conformance.exact.reference.tolerances import (
    DEVIATIONS,
    FORMS,
    FUNCTIONS,
    NARROW,
    RANGES,
    SILENCES,
    SUBNORMAL_STEPS,
    accuracy_at,
    forms_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from conformance.exact.models.arrays import Array, FloatFormat
    from conformance.exact.reference.numbers.formula_tensor import T
    from conformance.exact.reference.tolerances import Accuracy

V = TypeVar("V")

OWN_ROUNDOFF = 2.0**-50
"""Relative error of one function of NumPy in double: eight units of roundoff. No NumPy function has more."""

ROUNDOFF = 2.0**-53
"""Relative error of a sum, product, quotient or root in double."""

SMALLEST_SQUARED = 2.0**-480
"""Below it, the square of a double loses digits or is 0."""

_HAS_STRICT: ContextVar[bool] = ContextVar("_HAS_STRICT", default=True)
_LEVEL = ContextVar("level", default=Level.MUST)
_READ_AS: ContextVar[frozenset[str]] = ContextVar("reading", default=frozenset())


@contextmanager
def _set_to(variable: ContextVar[V], value: V) -> Iterator[None]:
    """Give a variable another value in the block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def judged_at(level: Level) -> AbstractContextManager[None]:
    """Compute the enclosures of a block with the rounding errors that a level admits."""
    return _set_to(_LEVEL, level)


def current_level() -> Level:
    """Return the level for which enclosures are computed."""
    return _LEVEL.get()


def without_strict_bounds() -> AbstractContextManager[None]:
    """Compute no bounds of level `should` in a block, because the caller reads those of level `must` alone."""
    return _set_to(_HAS_STRICT, value=False)


def has_strict_bounds() -> bool:
    """Return whether enclosures have the bounds of level `should` too."""
    return _HAS_STRICT.get()


def is_strict() -> bool:
    """Return whether enclosures are computed for the level `should`."""
    return current_level() is not Level.MUST


def read_as(names: frozenset[str]) -> AbstractContextManager[None]:
    """Compute the enclosures of a block by the text of a page before the changes of these names, see `ERRATA`."""
    return _set_to(_READ_AS, names)


def current_reading() -> frozenset[str]:
    """Return the names of the changes before which pages are read."""
    return _READ_AS.get()


def accuracy_of(dtype: np.dtype[Any]) -> Accuracy:
    """Return the admissible errors of quotients and roots in a type."""
    return accuracy_at(current_level(), format_of(dtype).name)


@dataclass(frozen=True)
class SumOfProducts:
    """The terms of a tensor whose elements are sums of products, for a bound that holds in every order of operations.

    Each term of an element has at most `roundings` roundings on its way into the sum, also if common factors are
    multiplied into the terms first. The error is then at most `roundings` u of the sum of the terms' magnitudes. Of the
    roundings, `additions` are those of partial sums.

    Attributes:
        magnitudes: the sum of the magnitudes of the terms.
        error: the error that the operands contribute.
        roundings: the number of roundings of a term, for all elements or for each.
        additions: how many of the roundings are those of partial sums; 0 where that is not known.
        is_limited: whether a limit, such as that of Clip, is applied to the sum. A factor may still be multiplied into
            the terms, with the limit multiplied too: `x * Clip(x + 3, 0, 6) / 6` is `x * Clip(x / 6 + 0.5, 0, 1)`. The
            terms of a later sum are then no products of these terms.
        is_reduction: whether the terms are the elements of a reduction, also with a factor. No kernel multiplies such a
            sum by itself term by term.
    """

    magnitudes: Array
    error: Array
    roundings: int | Array
    is_limited: bool = False
    is_reduction: bool = False
    additions: int | Array = 0

    @classmethod
    def of(cls, tensor: Enclosure, *, is_factor: bool = False) -> SumOfProducts:
        """Return the terms of a tensor; a tensor that is not a sum of products has one term.

        Args:
            tensor: the tensor.
            is_factor: whether only a factor is applied to the tensor, so that it may be a limited sum.
        """
        terms = tensor.terms
        if terms is None or (terms.is_limited and not is_factor):
            return cls(tensor.magnitude, tensor.error, 0)
        is_open = np.isinf(tensor.error)  # an overflow of the tensor, which other orders of the operations avoid
        return replace(terms, error=np.where(is_open, np.inf, terms.error)) if is_open.any() else terms

    def moved(self, movement: Callable[[Array], Array]) -> SumOfProducts:
        """Return the terms of the elements in other positions."""
        magnitudes = np.abs(movement(self.magnitudes))
        error = np.asarray(movement(self.error))
        counts = [
            np.asarray(movement(np.broadcast_to(each, self.magnitudes.shape))) if isinstance(each, np.ndarray) else each
            for each in (self.roundings, self.additions)
        ]
        return replace(self, magnitudes=magnitudes, error=error, roundings=counts[0], additions=counts[1])

    @property
    def largest_roundings(self) -> int:
        """The largest number of roundings of a term of any element."""
        return int(np.max(self.roundings, initial=0))

    def plus(self, other: SumOfProducts) -> SumOfProducts:
        """Return the terms of a sum or of a difference."""
        roundings = self.roundings + other.roundings + 1
        with np.errstate(all="ignore"):
            return SumOfProducts(
                self.magnitudes + other.magnitudes,
                self.error + other.error,
                roundings,
                additions=self.additions + other.additions + 1,
            )

    def times(self, other: SumOfProducts, *, roundings: int = 1) -> SumOfProducts:
        """Return the terms of a product, with the given number of roundings for the multiplication."""
        with np.errstate(all="ignore"):
            error = self.error * other.magnitudes + self.magnitudes * other.error
            return SumOfProducts(
                self.magnitudes * other.magnitudes,
                np.where((self.error == 0) & (other.error == 0), 0.0, error),
                self.roundings + other.roundings + roundings,
                self.is_limited or other.is_limited,
                self.is_reduction or other.is_reduction,
                # a product of two sums has more partial sums than their additions
                0 if np.any(self.additions) and np.any(other.additions) else self.additions + other.additions,
            )


@dataclass(frozen=True)
class Shares:
    """A tensor whose elements are numbers divided by their sum along the last axis, such as the result of Softmax.

    An error of a numerator changes the sum too, and the exact shares have the sum 1. In a weighted mean of the columns
    of a matrix, an error of a numerator therefore counts only with the distance of the elements from their mean.

    Attributes:
        numerators: the numbers.
        further: the error of each share in other forms than the quotient.
        error: the bound of the tensor. A tensor with another bound was changed since, and is judged by its bound alone.
    """

    numerators: Enclosure
    error: Array
    further: Array | float = 0.0

    def error_of_mean(self, mean: Array, matrix: Array) -> Array:
        """Return a bound on the error that the shares contribute to their matrix product with a matrix.

        With numerators e (1 + d), the weighted mean Y of v changes by Sum(e d (v - Y)) / Sum(e (1 + d)).

        Args:
            mean: the exact product.
            matrix: the matrix, whose own errors are not part of the bound.
        """
        E = self.numerators
        total = E.value.sum(axis=-1, keepdims=True)
        spread = E.error / total
        whole = 1 - E.error.sum(axis=-1, keepdims=True) / total
        whole = np.where(whole > MIN_WHOLE, whole, 0.0)
        known = replace(E, error=np.zeros(E.shape))
        count = np.maximum(self.nonzero_counts() - 1, 0)
        quotient = known / known.from_terms(total, total, np.zeros(total.shape), count)
        own = quotient.error * (1 + np.where(E.value > 0, E.error / E.value, 0.0)) / whole
        smallest = float(format_of(E.dtype).smallest_normal)
        own = own + np.where(quotient.value < 4 * smallest, smallest, 0.0)  # it may be flushed to 0
        middle = matrix.sum(axis=-2, keepdims=True) / matrix.shape[-2]
        distances = np.matmul(spread, np.abs(matrix - middle))
        distances = distances + spread.sum(axis=-1, keepdims=True) * np.abs(mean - middle)
        return np.asarray(distances / whole + np.matmul(own + self.further, np.abs(matrix)))

    def nonzero_counts(self) -> Array:
        """Return the number of terms of each sum that are not exactly 0, such as those that a mask keeps."""
        return np.asarray(np.sum(self.numerators.magnitude > 0, axis=-1, keepdims=True))


MIN_WHOLE = 0.5
"""The smallest sum of numerators, as a part of its exact value, for which `Shares` have a bound."""


SHARED_ZEROS_ABOVE = 2**16
"""Number of elements above which the errors of an exact tensor are one zero: they take no memory, and are read-only."""


@dataclass(frozen=True)
class Enclosure(ArithmeticOperators, FormulaTensor):
    """A tensor of floating-point numbers with error bounds.

    Attributes:
        value: the values, computed in double. Integers that are exact, or open, may have their own type.
        error: a bound on the distance of every admissible evaluation from the value (double, the shape of `value`).
        dtype: the tensor's type in the model.
        terms: the terms, if a node computes the tensor as sums of products. The operators of this class drop them; the
            methods `plus`, `minus`, `times`, `over`, `add_up` and `dot` keep them.
        overflows: where the last operation overflows in the tensor's type, although the value is finite in double.
            A node that returns such an element returns an infinity. An operation on it may have a wider operand.
        unspecified: where the specification leaves the element open; None for nowhere. The bound is infinite there, or
            contains all elements that have a meaning, such as all indices of an axis. NaN is admissible too.
        compute_should: computes the same tensor with the bounds of level `should`; None if they are those of `must`.
        shares: the numerators, if the elements are divided by their sum along the last axis.
        silences: the rows of `tolerances.SILENCES` that explain why elements are open.
        limits: the smallest and the largest number that a node returns, see `tolerances.RANGES`; None for no limits.
    """

    value: Array
    error: Array
    dtype: np.dtype[Any]
    terms: SumOfProducts | None = None
    overflows: Array | None = None
    unspecified: Array | None = None
    compute_should: Callable[[], Enclosure | None] | None = None
    shares: Shares | None = None
    silences: tuple[str, ...] = ()
    limits: tuple[float, float] | None = None

    @classmethod
    def exact(cls, array: Array, dtype: np.dtype[Any] | None = None) -> Enclosure:
        """Return the enclosure of a tensor whose elements are known. Integers keep their type and all their bits.

        Args:
            array: the elements.
            dtype: the tensor's type in the model; None for the type of the array.
        """
        given = np.asarray(array)
        value = given if given.dtype.kind in "iu" else given.astype(np.float64)
        is_small = value.size <= SHARED_ZEROS_ABOVE
        error = np.zeros(value.shape) if is_small else np.broadcast_to(0.0, value.shape)  # without memory
        return cls(value, error, dtype or given.dtype)

    @classmethod
    def rounding_of(cls, array: Array) -> Enclosure:
        """Return the enclosure of a tensor of a wider type that was rounded to the given elements.

        An infinity may be the rounding of any large number.
        """
        exact = cls.exact(array)
        with np.errstate(all="ignore"):
            half = _ulp(np.abs(exact.value), format_of(exact.dtype)) / 2
        error = np.where(np.isnan(exact.value), 0.0, np.where(np.isinf(exact.value), np.inf, half))
        return cls(exact.value, error, exact.dtype)

    def constant(self, number: float, *, may_be_float: bool = True) -> Enclosure:
        """Return a number of the formula, to combine with this tensor: itself, or rounded to the type.

        At level `must` it may also be rounded to float, as functions of schemas and many kernels have it, unless the
        function body of the schema computes the number in the type.
        """
        value = np.array(float(number))
        with np.errstate(all="ignore"):
            types = (self.dtype,) if is_strict() or not may_be_float else (self.dtype, np.dtype(np.float32))
            rounded = (float(value.astype(dtype)) for dtype in types)
            error = max(0.0 if other == value else abs(other - float(value)) for other in rounded)
        return Enclosure(value, np.array(error), self.dtype)

    @cached_property
    def should(self) -> Enclosure | None:
        """The same tensor with the bounds of level `should`; None if they are those of level `must`."""
        return None if self.compute_should is None else self.compute_should()

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's shape."""
        return np.shape(self.value)

    @property
    def magnitude(self) -> Array:
        """The largest magnitude of each element over all admissible evaluations."""
        size = np.abs(self.value)
        is_exact = self.value.dtype == np.float64 and self.value.size > SHARED_ZEROS_ABOVE and not self.error.any()
        return np.asarray(size if is_exact else size + self.error)

    @property
    def is_exact(self) -> bool:
        """Whether all evaluations give the same elements."""
        return self.unspecified is None and not self.error.any()

    def moved(self, movement: Callable[[Array], Array]) -> Enclosure:
        """Return the elements, with their bounds, in other positions."""
        terms = None if self.terms is None else self.terms.moved(movement)
        should = None if self.compute_should is None else lambda: self.should and self.should.moved(movement)
        overflows, unspecified = (
            None if mask is None else np.asarray(movement(mask)) for mask in (self.overflows, self.unspecified)
        )
        value = np.asarray(movement(self.value))
        error = np.asarray(movement(self.error))
        return Enclosure(
            value, error, self.dtype, terms, overflows, unspecified, should, silences=self.silences, limits=self.limits
        )

    def __add__(self, other: Operand) -> Enclosure:
        other = self._operand(other)
        return self._summed(lambda: self.value + other.value, other)

    def __sub__(self, other: Operand) -> Enclosure:
        other = self._operand(other)
        return self._summed(lambda: self.value - other.value, other)

    def __mul__(self, other: Operand) -> Enclosure:
        other = self._operand(other)
        error = self._where_inexact(other, lambda: self.error * other.magnitude + np.abs(self.value) * other.error)
        result = self._rounded(lambda: self.value * other.value, error, other)
        return result._with_underflow((self.value != 0) & (other.value != 0))

    def __truediv__(self, other: Operand) -> Enclosure:
        other = self._operand(other)
        ulps = float(accuracy_of(self.dtype).quotient)

        def propagated() -> Array:
            smallest = np.abs(other.value) - other.error
            quotient = np.abs(self.value / other.value)
            bound = (self.error + quotient * other.error) / smallest
            return np.where(smallest > 0, bound, np.inf)

        error = self._where_inexact(other, propagated)
        result = self._rounded(lambda: self.value / other.value, error, other, roundings=2 * ulps)
        return result._with_underflow((self.value != 0) & np.isfinite(other.value))

    def _with_underflow(self, is_nonzero: Array) -> Enclosure:
        """Return a product or quotient whose zeros are inexact where the operands give another number.

        A product below the smallest double is not an exact 0: a quotient by it is open.
        """
        if self.value.all():
            return self
        is_lost = (self.value == 0) & is_nonzero
        return replace(self, error=np.where(is_lost, self.error + self._smallest_normal, self.error))

    def __neg__(self) -> Enclosure:
        return Enclosure(-self.value, self.error, self.dtype, self.terms)

    def __abs__(self) -> Enclosure:
        return Enclosure(np.abs(self.value), self.error, self.dtype)

    def apply(
        self, function: Callable[[Array], Array], ulps: float | Array = 0.0, *, own: float = OWN_ROUNDOFF
    ) -> Enclosure:
        """Return the results of a function that is monotone, at least between the ends of each element's interval.

        Args:
            function: the function, of an array of doubles.
            ulps: the largest admissible error in ULP of the result; 0 for a function that only selects or rounds.
            own: the relative error of the function itself in double.
        """
        with np.errstate(all="ignore"):
            value = np.asarray(function(self.value), dtype=np.float64)
            spread: Array = np.zeros_like(value)
            if not self.is_exact:
                ends = [np.abs(function(self.value + sign * self.error) - value) for sign in (-1, 1)]
                spread = np.where(self.error == 0, 0.0, np.maximum(*ends))
        if not np.any(ulps):
            return Enclosure(value, np.where(np.isnan(spread), np.inf, spread), self.dtype)
        return self._bounded(value, spread, self.error == 0, roundings=2 * ulps, own=own)

    def named(self, name: str, function: Callable[[Array], Array]) -> Enclosure:
        """Return the results of a monotone function with the admissible error of `tolerances.FUNCTIONS[name]`."""
        if portable.HAS_PORTABLE_BITS.get():
            function = elementary.portable_function(function)
        result = self.apply(function, self.ulps_of(name))
        if is_strict():
            return result
        limits = format_of(self.dtype)
        # intermediates of a kernel may be subnormal although the result is not
        floor = 0.0 if limits.name in NARROW else SUBNORMAL_STEPS * float(limits.smallest_subnormal)
        absolute = FUNCTIONS[name].absolute * float(limits.unit_roundoff)
        return replace(result, error=result.error + absolute + np.where(result.error > 0, floor, 0.0))

    def without_negative(self) -> Enclosure:
        """Return the results of a function that is nowhere negative: an error in ULP, or a flush, keeps the sign."""
        is_wide = (self.value >= 0) & (self.error > self.value) & np.isfinite(self.error)
        middle = (self.value + np.where(is_wide, self.error, 0.0)) / 2
        return replace(self, value=np.where(is_wide, middle, self.value), error=np.where(is_wide, middle, self.error))

    def limited(self, operator: str) -> Enclosure:
        """Return the results of an operator of the main domain in the range of its function."""
        row = RANGES.get(operator)
        return (
            self
            if row is None or not is_computed(self.dtype)
            else replace(self, limits=row.limits(self._unit_roundoff))
        )

    def errors_towards(self, given: Array) -> Array:
        """Return the bound of each element in the direction of a given number: limits may cut it off on one side."""
        if self.limits is None:
            return np.asarray(self.error)
        low, high = self.limits
        with np.errstate(all="ignore"):
            room = np.where(
                given > self.value, high - self.value, np.where(given < self.value, self.value - low, np.inf)
            )
            return np.where(np.isfinite(self.error), np.fmin(self.error, np.maximum(room, 0.0)), self.error)

    def ulps_of(self, name: str) -> float:
        """Return the admissible error of a function in ULP of its result in the type of the tensor."""
        return FUNCTIONS[name].ulps(format_of(self.dtype).name, is_strict=is_strict())

    def with_roundings(self, roundings: Array, has_exact_operands: Array) -> Enclosure:
        """Return the tensor as the result of a function with a number of roundings for each element."""
        return self._bounded(self.value, self.error, has_exact_operands, roundings=roundings)

    def sum(self, axes: Sequence[int], *, keepdims: bool = False) -> Enclosure:
        """Return the sums along some axes, added in any order."""
        axes = tuple(axes)
        terms = self._term_counts(lambda x: x.sum(axis=axes, keepdims=keepdims), [self.shape[axis] for axis in axes])
        count = np.maximum(terms - 1, 0)
        with np.errstate(all="ignore"):
            value = self.value.sum(axis=axes, keepdims=keepdims)
            magnitudes = self.magnitude.sum(axis=axes, keepdims=keepdims)
            error = self.error.sum(axis=axes, keepdims=keepdims)
            finite = magnitudes
            if not np.isfinite(value).all():
                finite = np.where(np.isfinite(self.value), self.magnitude, 0).sum(axis=axes, keepdims=keepdims)
        return self.from_terms(value, magnitudes, error, count, count, finite=finite)

    def add_terms(self, summation: Callable[[Array], Array], count: int) -> Enclosure:
        with np.errstate(all="ignore"):
            finite = summation(np.where(np.isfinite(self.value), self.magnitude, 0.0))
            value, magnitudes, error = (summation(part) for part in (self.value, self.magnitude, self.error))
        terms = self._term_counts(summation, [count])
        return self.from_terms(value, magnitudes, error, terms, terms, finite=finite)

    def _term_counts(self, summation: Callable[[Array], Array], sizes: Sequence[int]) -> int | Array:
        """Return the number of terms of each sum that can round: none if all partial sums are numbers of the type.

        Adding an exact 0 does not round. A tensor with few zeros is not counted, which would take time.

        Args:
            summation: returns the sums of the elements of an array.
            sizes: the numbers whose product is the number of terms.
        """
        count = prod(sizes)
        if count < 2 or self.value.dtype.kind != "f":
            return count
        if has_many_zeros(self.value):
            return np.asarray(summation(self.nonzero_mask().astype(np.float64)))
        if not self.is_exact:
            return count
        unit = common_unit(self.value, format_of(self.dtype))
        if not unit:
            return count
        with np.errstate(all="ignore"):
            is_whole = summation(np.abs(self.value)) <= unit * 2.0 ** format_of(self.dtype).precision
        return np.where(is_whole, 0, count)

    def in_any_order(self, terms: SumOfProducts, *operands: Enclosure, is_fused: bool = False) -> Enclosure:
        """Return the tensor with its terms, and if it is computed in one kernel with the bound for every order.

        Args:
            terms: the terms.
            operands: the operands, which the kernel also computes if they have terms.
            is_fused: whether one kernel always computes the tensor and the operands.
        """
        error = self.error
        if is_fused or any(each.terms is not None for each in operands):
            whole = self.from_terms(self.value, terms.magnitudes, terms.error, terms.roundings, terms.additions)
            error = np.where(np.isinf(self.value) & (error == 0), 0.0, np.maximum(error, whole.error))
        return replace(self, error=error, terms=terms)

    def from_terms(
        self,
        value: Array,
        magnitudes: Array,
        error: Array,
        count: int | Array,
        additions: int | Array = 0,
        *,
        finite: Array | None = None,
    ) -> Enclosure:
        """Return sums or dot products as a tensor of this type.

        Args:
            value: the sums.
            magnitudes: the sums of the terms' magnitudes.
            error: the sums of the terms' propagated errors.
            count: the number of roundings of a term on its way into the sum: for a dot product of n terms, n.
            additions: how many of them are those of partial sums; 0 where that is not known.
            finite: the sums of the magnitudes of the finite terms, if they are not `magnitudes`. They may overflow, and
                cancel an infinity of the other sign.
        """
        wide = self.dtype if not is_strict() or format_of(self.dtype).name not in NARROW else np.dtype(np.float32)
        u = float(format_of(wide).unit_roundoff)
        smallest = float(format_of(wide).smallest_normal)
        with np.errstate(all="ignore"):
            accumulated = magnitudes * (np.expm1(count * np.log1p(u)) + (count + 1) * ROUNDOFF)
            # a partial sum is at most half of the magnitudes plus half of the sum
            partial = (magnitudes + np.abs(value) + error) / 2
            if np.any(additions):
                own = magnitudes * ((count - additions) * u)
                steps = additions * (u * (partial + own))
                grown = (own + steps) * np.exp(count * u) + magnitudes * ((count + 1) * ROUNDOFF)
                accumulated = np.fmin(grown, accumulated)
            if is_strict():
                # products round once before
                likely = (np.minimum(count, DEVIATIONS * np.sqrt(count)) * partial + magnitudes) * (u + ROUNDOFF)
                accumulated = np.minimum(likely, accumulated)
            accumulated = accumulated + np.where(
                (magnitudes > 0) & (magnitudes < count * smallest / u), count * smallest, 0.0
            )
            accumulated = np.where(np.isfinite(magnitudes), accumulated, 0.0)
            largest = float(format_of(wide).largest)
            reached = magnitudes if finite is None else finite
            # less than half an ULP above the largest number is no overflow, and may be an error in double
            overflow = reached > (largest if wide.itemsize == 8 else largest * (1 + 2.0**-40))
            # in double the value overflows itself, and its NaN may come from infinities of both signs
            is_lost = overflow & np.isnan(value) & (wide.itemsize == 8) & (finite is not None)
            # terms of the other sign may overflow before the sum does; the difference has an error in double
            opposite = (reached - np.abs(value)) / 2 + (count > 1) * reached * ROUNDOFF
            is_lost |= np.isfinite(value) & (np.abs(value) > largest) & (opposite > largest)
            overflow = overflow & ~np.isnan(value)
            has_infinity = overflow & np.isinf(value) & (finite is not None)
        result = self._bounded(
            value, error + accumulated, error == 0, roundings=0.0 if wide == self.dtype else 1.0, own=ROUNDOFF
        )
        # an overflow of one partial sum is not an overflow of the sum
        undetermined = (overflow & (np.abs(value) <= largest)) | has_infinity | is_lost
        overflows = None if result.overflows is None else result.overflows & ~undetermined
        return replace(result, error=np.where(undetermined, np.inf, result.error), overflows=overflows)

    def extreme(self, axes: Sequence[int], *, largest: bool, keepdims: bool = False) -> Enclosure:
        """Return the largest or the smallest element along some axes."""
        choose = np.max if largest else np.min
        return Enclosure(
            np.asarray(choose(self.value, axis=tuple(axes), keepdims=keepdims)),
            np.asarray(np.max(self.error, axis=tuple(axes), keepdims=keepdims)),
            self.dtype,
        )

    def zeros(self, shape: tuple[int, ...]) -> Enclosure:
        return Enclosure.exact(np.zeros(shape), self.dtype)

    def plus(self, other: Enclosure, *, is_fused: bool = False) -> Enclosure:
        terms = SumOfProducts.of(self).plus(SumOfProducts.of(other))
        return (self + other).in_any_order(terms, self, other, is_fused=is_fused)

    def minus(self, other: Enclosure) -> Enclosure:
        return (self - other).in_any_order(SumOfProducts.of(self).plus(SumOfProducts.of(other)), self, other)

    def times(self, other: Enclosure, *, is_fused: bool = False) -> Enclosure:
        if other is self and self.terms is not None and self.terms.is_reduction:
            return self * self
        first, second = (SumOfProducts.of(each, is_factor=True) for each in (self, other))
        return (self * other).in_any_order(first.times(second), self, other, is_fused=is_fused)

    def over(self, other: Enclosure) -> Enclosure:
        with np.errstate(all="ignore"):
            smallest = np.abs(other.value) - other.error
            reciprocal = np.where(smallest > 0, 1 / smallest, np.inf)
            factor = SumOfProducts(
                reciprocal, np.where(other.error == 0, 0.0, reciprocal * other.error * reciprocal), 0
            )
            roundings = int(2 * accuracy_of(self.dtype).quotient) + 1
            terms = SumOfProducts.of(self, is_factor=True).times(factor, roundings=roundings)
        return (self / other).in_any_order(terms, self, other)

    def add_up(self, axes: Sequence[int], *, keepdims: bool = False) -> Enclosure:
        axes = tuple(axes)
        count: int | Array = prod(self.shape[axis] for axis in axes)
        if has_many_zeros(self.value):
            count = np.count_nonzero(self.nonzero_mask(), axis=axes, keepdims=keepdims)
        terms = SumOfProducts.of(self)
        magnitudes, error = (part.sum(axis=axes, keepdims=keepdims) for part in (terms.magnitudes, terms.error))
        additions = count if self.terms is None else 0
        terms = SumOfProducts(
            magnitudes, error, terms.largest_roundings + count, is_reduction=True, additions=additions
        )
        return self.sum(axes, keepdims=keepdims).in_any_order(terms, self)

    def dot(self, other: Enclosure, product: Callable[[Array, Array], Array], count: int) -> Enclosure:
        first = SumOfProducts.of(self)
        second = SumOfProducts.of(other)
        with np.errstate(all="ignore"):
            value = product(self.value, other.value)
            magnitudes = product(first.magnitudes, second.magnitudes)
            error = np.zeros_like(value)
            terms: int | Array = count
            if not self.is_exact:
                error = error + product(first.error, second.magnitudes)
                shares = self.shares
                if (
                    shares is not None
                    and shares.error is self.error
                    and product is portable.matmul
                    and other.value.ndim > 1
                ):
                    error = np.fmin(error, shares.error_of_mean(value, other.value))
                    terms = shares.nonzero_counts()
                    # a kernel may divide by the sum of the numerators after this product, which may overflow
                    undivided = product(shares.numerators.magnitude, second.magnitudes)
                    is_open = undivided > float(format_of(self.dtype).largest)
                    error = np.where(is_open & np.isfinite(value) & (not is_strict()), np.inf, error)
            if not other.is_exact:
                error = error + product(first.magnitudes, second.error)
            finite = magnitudes
            if not np.isfinite(value).all():
                finite = product(
                    *(np.where(np.isfinite(part), part, 0.0) for part in (first.magnitudes, second.magnitudes))
                )
            if self.is_exact and other.is_exact:
                terms = _product_counts(self, other, product, magnitudes, count)
        roundings = terms + first.largest_roundings + second.largest_roundings
        if self.terms or other.terms:  # the factors may be multiplied first, and the sums of constants folded
            roundings += 2
        additions = np.maximum(roundings - 1, 0) if self.terms is None and other.terms is None else 0
        result = self.from_terms(value, magnitudes, error, roundings, additions, finite=finite)
        return replace(result, terms=SumOfProducts(magnitudes, error, roundings, additions=additions))

    def hull(self, others: Sequence[Callable[[], Enclosure]]) -> Enclosure:
        if not others:
            return self
        error = self.error
        overflows = self.overflows
        for form in others:
            other = form()
            if other is self:
                continue
            with np.errstate(all="ignore"):
                distance = element_distances(self.value, other.value) + other.error
            error = np.maximum(error, np.where(np.isnan(distance), np.inf, distance))
            overflows = None if overflows is None or other.overflows is None else overflows & other.overflows
        return Enclosure(self.value, error, self.dtype, overflows=overflows, silences=self.silences)

    def where(self, condition: Array, other: Enclosure) -> Enclosure:
        masks = [np.zeros(X.shape, dtype=bool) if X.overflows is None else X.overflows for X in (self, other)]
        overflows = np.where(condition, *masks)
        return Enclosure(
            np.where(condition, self.value, other.value),
            np.where(condition, self.error, other.error),
            self.dtype,
            overflows=overflows if overflows.any() else None,
        )

    def stack(self, others: Sequence[Enclosure], axis: int) -> Enclosure:
        parts = [self, *others]
        values, errors = (np.stack([getattr(part, name) for part in parts], axis) for name in ("value", "error"))
        return Enclosure(values, errors, self.dtype)

    def sqrt(self) -> Enclosure:
        return self.apply(np.sqrt, float(accuracy_of(self.dtype).root), own=ROUNDOFF)

    def without_overflow(self) -> Enclosure:
        if self.overflows is None:
            return self
        return replace(self, error=np.where(self.overflows, 0.0, self.error), overflows=None)

    def with_readings(self, name: str, others: Sequence[Enclosure]) -> Enclosure:
        result = self
        unspecified = np.zeros(self.shape, dtype=bool) if self.unspecified is None else self.unspecified
        for other in others:
            with np.errstate(all="ignore"):
                is_near = equal_elements(self.value, other.value)
                is_near |= np.abs(self.value - other.value) <= self.error + other.error
            unspecified = unspecified | ~is_near
            result = hull(result, other)
        if not unspecified.any():
            return replace(result, unspecified=None)
        return replace(result, unspecified=unspecified, silences=(*self.silences, name))

    def with_terms(self, other: Enclosure) -> Enclosure:
        return replace(self, terms=other.terms)

    def zero_mask(self) -> Array:
        return np.asarray((self.value == 0) & (self.error == 0))

    def nonzero_mask(self) -> Array:
        """Return which elements may be another number than 0."""
        return ~self.zero_mask()

    def undetermined(self, condition: Array) -> Enclosure:
        overflows = None if self.overflows is None else self.overflows & ~condition  # it may be another number too
        return replace(self, error=np.where(condition, np.inf, self.error), overflows=overflows)

    def below_largest(self, axes: Sequence[int]) -> Enclosure:
        largest = self.extreme(axes, largest=True, keepdims=True)
        is_finite = np.isfinite(largest.value) & np.isfinite(largest.error)
        return self - replace(largest, error=np.where(is_finite, 0.0, largest.error))

    def divided_by_sum(self, axes: Sequence[int]) -> Enclosure:
        result = self / self.sum(axes, keepdims=True)
        is_last = [axis % len(self.shape) for axis in axes] == [len(self.shape) - 1]
        return replace(result, shares=Shares(self, result.error)) if is_last else result

    def with_shares_of(self, other: Enclosure) -> Enclosure:
        if other.shares is None:
            return self
        with np.errstate(all="ignore"):
            further = np.where(np.isfinite(other.error), self.error - other.error, 0.0)
        return replace(self, shares=replace(other.shares, error=self.error, further=further))

    def folded(self, average: Enclosure, factor: Enclosure, bias: Enclosure) -> Enclosure:
        with np.errstate(all="ignore"):
            value = (self.value - average.value) * factor.value + bias.value
            magnitudes = (self.magnitude + average.magnitude) * factor.magnitude + bias.magnitude
            distance = np.abs(self.value - average.value) + self.error + average.error
            error = distance * factor.error + factor.magnitude * (self.error + average.error) + bias.error
        return self.from_terms(value, magnitudes, error, 3)

    def scaled_norm(self, norm: Enclosure, axes: Sequence[int], *, keepdims: bool) -> Enclosure:
        # a quotient, its square, the sum of as many squares as are not 0, and the last product; the root halves errors
        counts = np.sum(self.magnitude > 0, axis=tuple(axes), keepdims=keepdims)
        roundings = 2.0 * float(accuracy_of(self.dtype).quotient) + (counts + 1) / 2 + 1
        norm = self._norm_of_small(norm, axes, keepdims=keepdims)
        return norm.with_roundings(np.where(np.isfinite(norm.value), roundings, 0.0), norm.error == 0)

    def _norm_of_small(self, norm: Enclosure, axes: Sequence[int], *, keepdims: bool) -> Enclosure:
        """Return the norm with exact values for rows of doubles whose squares underflow: a power of 2 scales them."""
        along = tuple(axes)
        largest = self.magnitude.max(axis=along, keepdims=True, initial=0.0)
        is_small = (largest > 0) & (largest < SMALLEST_SQUARED)
        if not is_small.any():
            return norm
        scale = np.where(is_small, np.exp2(np.floor(np.log2(np.where(is_small, largest, 1.0)))), 1.0)

        def scaled(array: Array) -> Array:
            root: Array = np.sqrt(np.square(array / scale).sum(axis=along, keepdims=True)) * scale
            return root if keepdims else root.squeeze(along)

        is_small = is_small if keepdims else is_small.squeeze(along)
        with np.errstate(all="ignore"):
            value = scaled(self.value)
            error = scaled(self.error)
            error += value * (prod(self.shape[axis] for axis in axes) + 4) * np.finfo(np.float64).eps
        return replace(norm, value=np.where(is_small, value, norm.value), error=np.where(is_small, error, norm.error))

    def centred_variance(self, average: Enclosure, deviation: Enclosure, axes: Sequence[int]) -> Enclosure:
        # the deviations from the exact mean have the sum 0, so an error e of the mean adds only e squared
        rounded = Enclosure(self.value - average.value, self.error, self.dtype)
        rounded = rounded.with_roundings(np.ones(rounded.shape), rounded.error == 0)
        squares = rounded * rounded
        variance = squares.mean(axes)
        with np.errstate(all="ignore"):
            shifted = variance.error + average.error**2 + 2 * average.error * rounded.mean(axes).magnitude
            # an element that overflows makes the variance undetermined, and so does a sum of squares of differences
            exceeds = ~np.isfinite(deviation.error).all(axis=tuple(axes), keepdims=True)
            widest = np.ptp(self.value, axis=tuple(axes), keepdims=True)
            count = prod(self.shape[axis] for axis in axes)
            exceeds |= np.isfinite(widest) & (count * widest**2 > float(format_of(self.dtype).largest))
        return replace(variance, error=np.where(exceeds, np.inf, shifted))

    def as_type(self, dtype: np.dtype[Any]) -> Enclosure:
        """Return the tensor converted to a floating-point type, with the rounding of the conversion."""
        converted = Enclosure(self.value, self.error, dtype)
        source = format_of(self.dtype)
        target = format_of(dtype)
        is_wider = target.precision >= source.precision and target.largest_exponent >= source.largest_exponent
        if is_wider and self.overflows is None:
            return converted
        rounded = converted._bounded(self.value, self.error, self.error == 0, own=0.0)
        with np.errstate(all="ignore"):
            is_exact = (self.value.astype(dtype).astype(np.float64) == self.value) & (self.error == 0)
            # a number that no rounding to nearest brings into the range is an infinity
            exceeds = np.isfinite(self.value) & (np.abs(self.value) >= float(target.overflow_threshold))
            exceeds &= self.error == 0
        overflows = exceeds if rounded.overflows is None else exceeds | rounded.overflows
        error = np.where(is_exact, 0.0, rounded.error)
        return replace(rounded, error=error, overflows=overflows if overflows.any() else None)

    def with_dtype(self, dtype: np.dtype[Any]) -> Enclosure:
        """Return the same numbers, on which further operations round to another type."""
        return Enclosure(self.value, self.error, dtype)

    @property
    def _unit_roundoff(self) -> float:
        return float(format_of(self.dtype).unit_roundoff)

    @property
    def _smallest_normal(self) -> float:
        return float(format_of(self.dtype).smallest_normal)

    def _operate(self, operation: Callable[[Any, Any], Any], a: Operand, b: Enclosure) -> Enclosure:
        result: Enclosure = operation(self._operand(a), b)
        return result

    def _operand(self, other: Operand) -> Enclosure:
        return other if isinstance(other, Enclosure) else self.constant(other)

    def _where_inexact(self, other: Enclosure, propagated: Callable[[], Array]) -> Array:
        """Return a propagated error, without its computation if both operands are exact."""
        if self.is_exact and other.is_exact:
            return np.zeros(np.broadcast_shapes(self.shape, other.shape))
        with np.errstate(all="ignore"):
            error = propagated()
        return np.where((self.error == 0) & (other.error == 0), 0.0, error)

    def _summed(self, compute: Callable[[], Array], other: Enclosure) -> Enclosure:
        """Return a sum or a difference; with a certain infinity and a finite number it is that infinity."""
        result = self._rounded(compute, self.error + other.error, other)
        if not np.isinf(result.value).any():
            return result
        is_certain = np.zeros(result.shape, dtype=bool)
        for one, another in ((self, other), (other, self)):
            is_certain |= np.isinf(one.value) & (one.error == 0) & np.isfinite(another.magnitude)
        return replace(result, error=np.where(is_certain, 0.0, result.error))

    def _rounded(
        self, compute: Callable[[], Array], error: Array, other: Enclosure, *, roundings: float = 1.0
    ) -> Enclosure:
        with np.errstate(all="ignore"):
            value = np.asarray(compute())
            result = self._bounded(
                value, error, (self.error == 0) & (other.error == 0), roundings=roundings, own=ROUNDOFF
            )
            if np.isfinite(value).all():
                return result
            # in double, a sum, product or quotient of finite numbers can be infinite
            exceeds = np.isinf(value) & np.isfinite(self.value) & np.isfinite(other.value) & (other.value != 0)
            is_nan = (np.isnan(self.value) & (self.error == 0)) | (np.isnan(other.value) & (other.error == 0))
        if is_nan.any():  # NaN is certain, whatever the other operand is
            result = replace(result, error=np.where(is_nan, 0.0, result.error))
        if not exceeds.any():
            return result
        overflows = exceeds & (self.error == 0) & (other.error == 0)
        return replace(result, error=np.where(exceeds, np.inf, result.error), overflows=overflows)

    def _bounded(
        self,
        value: Array,
        error: Array,
        has_exact_operands: Array,
        *,
        roundings: float | Array = 1.0,
        own: float = OWN_ROUNDOFF,
    ) -> Enclosure:
        """Return a result with the errors of its own roundings, of a flush to zero and of an overflow.

        Args:
            value: the result in double.
            error: the error that the operands contribute.
            has_exact_operands: where the operands are exact, so that an infinity or NaN is exact too.
            roundings: the number of roundings, each of one unit of roundoff.
            own: the relative error of the value in double.
        """
        limits = format_of(self.dtype)
        smallest_normal = float(limits.smallest_normal)
        with np.errstate(all="ignore"):
            size = np.abs(value)
            magnitude = size + error
            ulp = _ulp(magnitude * (1 + OWN_ROUNDOFF), limits)
            if isinstance(roundings, float) and roundings == 1:
                rounding = ulp / 2
            else:
                relative = magnitude * (roundings * self._unit_roundoff * (1 + 2.0**-20))
                rounding = np.where(magnitude < smallest_normal, np.ceil(roundings) * ulp / 2, relative)
            total = np.where(magnitude == 0, error, error + rounding + magnitude * own)
            if not is_strict():
                may_flush = size - total < smallest_normal
                if may_flush.any():
                    total = np.where(may_flush & (magnitude > 0), total + smallest_normal, total)
            may_overflow = size + total >= float(limits.largest)
            if not may_overflow.any() and np.isfinite(total).all():
                return Enclosure(value, total, self.dtype)
            # An exact overflow has one admissible result only if every rounding of it overflows.
            is_infinite = (size - total >= float(limits.overflow_threshold)) & np.isfinite(value)
            total = np.where(may_overflow, np.inf, total)
            total = np.where(np.isfinite(value), total, np.where(has_exact_operands, 0.0, np.inf))
            overflows = is_infinite & has_exact_operands
        total = np.where(np.isnan(total), np.inf, total)
        return Enclosure(value, total, self.dtype, overflows=overflows if overflows.any() else None)

    def returned(self) -> Enclosure:
        """Return the tensor as a node returns it: an element that overflows is an infinity."""
        if self.overflows is None:
            return self
        value = np.where(self.overflows, np.copysign(np.inf, self.value), self.value)
        return replace(self, value=value, error=np.where(self.overflows, 0.0, self.error), terms=None, overflows=None)

    def unrounded(self) -> Enclosure:
        """Return the tensor as another node may receive it: an infinity of a narrow type may be finite in float."""
        if not is_computed(self.dtype) or format_of(self.dtype).name not in NARROW:
            return self
        return replace(self, error=np.where(np.isinf(self.value), np.inf, self.error))

    def leave_open(self, unspecified: Array, *names: str) -> Enclosure:
        """Return the tensor with elements that the specification leaves open, for the reasons in rows of `SILENCES`.

        Raises:
            ValueError: no reason is given, or the table does not have it.
        """
        if not np.any(unspecified):
            return self
        if not names or not SILENCES.keys() >= set(names):
            raise ValueError(f"the table has no row {names}")
        return self.with_open_elements(unspecified, names)

    def with_open_elements(self, unspecified: Array, silences: Sequence[str]) -> Enclosure:
        """Return the tensor with elements that another tensor leaves open, with the names of its reasons."""
        if not np.any(unspecified):
            return self
        unspecified = np.broadcast_to(unspecified, self.shape)
        every = tuple(dict.fromkeys((*self.silences, *silences)))
        return replace(self.undetermined(unspecified), unspecified=unspecified, silences=every)


Operand: TypeAlias = "Enclosure | float"

Tensor: TypeAlias = "Array | Enclosure | None"
"""A tensor whose elements are known, a tensor of numbers with bounds, or an input that a node leaves out."""

TensorOrSequence: TypeAlias = "Tensor | list[Tensor]"
"""The value of an input or output of a node."""


def as_tensor(value: TensorOrSequence) -> Tensor:
    """Return a value that is a tensor, or `None`.

    Raises:
        Unsupported: the value is a sequence.
    """
    if isinstance(value, list):
        raise Unsupported("an operand is a sequence, and no tensor")
    return value


def has_many_zeros(array: Array) -> bool:
    """Return whether at most a quarter of the elements differ from 0."""
    return array.size > 0 and 4 * int(np.count_nonzero(array)) <= array.size


def common_unit(array: Array, limits: FloatFormat) -> float:
    """Return the largest power of two of which all elements are multiples; 0 if their sums can round in a format."""
    for part in (array.reshape(-1)[:UNIT_SAMPLE], array):
        fractions, exponents = np.frexp(part[part != 0])
        if not fractions.size:
            continue
        if not np.isfinite(fractions).all():
            return 0.0
        digits = (np.abs(fractions) * 2.0**53).astype(np.int64)
        unit = float(np.min(np.ldexp((digits & -digits).astype(np.float64), exponents - 53)))
        if unit < float(limits.smallest_normal) or np.abs(part).max() > unit * 2.0**limits.precision:
            return 0.0
    return unit if array.any() else 0.0


UNIT_SAMPLE = 64
"""Elements that are examined before all are: most tensors have no common unit."""


def _product_counts(
    A: Enclosure, B: Enclosure, product: Callable[[Array, Array], Array], magnitudes: Array, count: int
) -> int | Array:
    """Return the number of terms of each sum of products that can round.

    Args:
        A: the first tensor.
        B: the second tensor.
        product: returns the sums of products.
        magnitudes: the products of the magnitudes.
        count: the number of all terms.
    """
    if has_many_zeros(A.value) or has_many_zeros(B.value):
        return np.asarray(product((A.value != 0).astype(np.float64), (B.value != 0).astype(np.float64)))
    limits = format_of(A.dtype)
    unit = common_unit(A.value, limits) and common_unit(A.value, limits) * common_unit(B.value, limits)
    if not unit or unit < float(limits.smallest_normal):
        return count
    return np.where(magnitudes <= unit * 2.0**limits.precision, 0, count)


def admissible_mask(actual: Array, expected: Tensor, *, has_signed_zeros: bool = False) -> Array:
    """Return for each element of an output whether it is admissible.

    Args:
        actual: the output, of the type and shape of the expected one.
        expected: the expected output.
        has_signed_zeros: whether the sign of a zero matters where the expected element has no error.
    """
    tensor = expected if isinstance(expected, Enclosure) else None
    value = np.asarray(expected if tensor is None else tensor.value)
    with np.errstate(all="ignore"):
        given = actual if tensor is None or value.dtype == actual.dtype else actual.astype(np.float64)
        same = equal_elements(given, value, with_signs=has_signed_zeros)
        if tensor is None:
            return same
        if given.dtype.kind in "fV":
            given, value = (np.asarray(array, dtype=np.float64) for array in (given, value))
        error = tensor.errors_towards(given)
        near = (np.abs(given - value) <= error) & (error > 0)
        if tensor.unspecified is not None:
            near |= tensor.unspecified & np.isnan(given)
        return np.asarray(same | near | np.isinf(tensor.error))


def _ulp(magnitude: Array, limits: FloatFormat) -> Array:
    """Return the unit in the last place of each number in a format; that of subnormal numbers is the smallest one."""
    bits = np.ascontiguousarray(magnitude, dtype=np.float64).view(np.int64) & _EXPONENT_BITS
    power = bits.view(np.float64).reshape(np.shape(magnitude))
    return np.asarray(np.maximum(power, float(limits.smallest_normal)) * 2.0 ** (1 - limits.precision))


_EXPONENT_BITS = np.int64(0x7FF0_0000_0000_0000)
"""The exponent bits of a double. Alone they are the largest power of two up to the number."""


def as_enclosure(tensor: Tensor) -> Enclosure:
    """Return a tensor, which the node does not leave out, as an enclosure."""
    assert tensor is not None
    return tensor if isinstance(tensor, Enclosure) else Enclosure.exact(tensor)


def known_elements(tensor: Tensor) -> Array:
    """Return the elements of a tensor.

    Raises:
        Unsupported: the tensor is left out, or rounding decides its elements.
    """
    if isinstance(tensor, Enclosure) and tensor.is_exact:
        return tensor.value.astype(tensor.dtype)
    if not isinstance(tensor, np.ndarray):
        raise Unsupported("rounding of an input decides the result")
    return tensor


def move(tensor: Tensor, movement: Callable[[Array], Array]) -> Tensor:
    """Return the elements of an input in other positions; None if the node leaves it out."""
    if isinstance(tensor, Enclosure):
        return tensor.moved(movement)
    return None if tensor is None else np.asarray(movement(tensor), tensor.dtype)  # of a single text, too


def hull(first: T, *others: T) -> T:
    """Return an enclosure of several forms of one formula, all of which are admissible."""
    return first.hull([lambda other=other: other for other in others])  # type: ignore[misc]


def between(low: Array, high: Array, dtype: np.dtype[Any]) -> Enclosure:
    """Return elements of which only the range is known; equal ends determine the element."""
    with np.errstate(all="ignore"):
        value = np.where(low == high, low, (low + high) / 2)
        error = np.where(low == high, 0.0, np.maximum(high - value, value - low))  # the middle is rounded
    is_known = np.isfinite(error)
    value, error = np.where(is_known, value, 0.0), np.where(is_known, error, np.inf)
    return Enclosure(value, error, dtype, unspecified=None if not np.any(error) else np.asarray(error != 0))


def admit(name: str, **forms: Callable[[], T]) -> T:
    """Return an enclosure of the forms of a formula that the table `tolerances.FORMS` admits.

    Args:
        name: the row of the table.
        forms: the computation of each form of the row.
    """
    if FORMS[name].keys() != forms.keys():
        raise ValueError(f"the forms of {name} differ from those of the table")
    first, *others = (forms[form] for form in forms_of(name, current_level()))
    return first().hull(others)


def leave_to_readings(name: str, compute: Callable[[Any], T], readings: Sequence[Any]) -> T:
    """Return a result that has several readings, all of which are admissible; elements that differ are open.

    Args:
        name: the row of the table `tolerances.SILENCES` with the sentence that the page lacks.
        compute: returns the result of one reading.
        readings: what a reading decides, such as the padding, first for the reading of a later page.
    """
    if name not in SILENCES:
        raise ValueError(f"the table has no row {name}")
    first, *others = readings
    return compute(first) if not others else compute(first).with_readings(name, [compute(each) for each in others])
