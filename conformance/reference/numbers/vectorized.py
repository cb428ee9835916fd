"""Vectorised evaluation of one elementwise operator on exact operands: the oracle's fast path for large tensors.

`evaluate` returns the expected values and bounds that `BoundedNumber` and the oracle give, with the same bits. It
represents the magnitude of each exact result as a double-double number with a known error, which is 0 for sums,
products and exact quotients and roots. The bound is a sum of products of doubles, and `exact_sum` rounds it up.

An element is *decided* if no value within the error of its double-double number has another expected value or another
bound. The caller computes all other elements with decimals. These are:

- results within the error of the midpoint of two adjacent values, or whose bound is as close to a double;
- elements whose decimals have too few digits, so that `decimals` rounds them;
- subnormal operands at level `must`, divisions by zero, and a few ranges near the ends of a format;
- doubles beyond 2**-300 and 2**300, where products of doubles overflow or underflow.

The bounds of quotients, roots and functions of doubles need more than 106 bits, so `evaluate` does not compute them.

Which elements are decided, and with which result, is the same on every machine (see `double_double`).
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.models.arrays import DOUBLE, Array
from conformance.reference.numbers import decimals, double_double

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.models.arrays import FloatFormat
    from conformance.reference.numbers.double_double import Pair
    from conformance.reference.numbers.precision import Precision

CHUNK_SIZE = 2**15
"""The number of elements that are computed at a time, so that intermediate arrays stay in the processor's caches."""

LARGEST_DOUBLE_OPERAND = 2.0**300
"""The largest magnitude of a double operand; the smallest is its reciprocal."""

LARGEST_EXP_ARGUMENT = 250.0
"""Exponentials of larger magnitudes give the expected values and bounds of this one, in the formats up to float."""

LOG10_E = 0.4342
"""The decimal logarithm of e, rounded down."""

NEAR_ZERO = 2.0**-60
"""The exponential of a smaller magnitude x is 1 + x, within x**2."""

MARGIN = 2.0**-20
"""Relative distance from the smallest normal value below which an element is not decided."""

VISIBLE = 2.0**-380
"""A part of a sum below this share may be lost in a decimal of `decimals.MIN_DIGITS` digits."""


@dataclass
class _Result:
    """The exact results of an operator for some elements.

    Attributes:
        is_negative: whether the sign is negative, also of a zero.
        high: the magnitude, rounded to double.
        low: the rest of the magnitude.
        relative_error: the largest relative error of an admissible evaluation, as the sum of two doubles.
        is_exact: whether an admissible evaluation gives the result exactly if the format represents it.
        is_undecided: the elements that the caller must compute.
        fixed: elements with a known answer: the mask, the expected values, the bound.
        error: the largest absolute error of the magnitude; 0 if it is exact.
        is_indeterminate: whether another order of operations leaves the range of the format.
    """

    is_negative: Array
    high: Array
    low: Array
    relative_error: tuple[float, float]
    is_exact: Array
    is_undecided: Array
    fixed: list[tuple[Array, Any, float]]
    error: Array | float = 0.0
    is_indeterminate: Array | bool = False


@dataclass(frozen=True)
class Evaluated:
    """The expected values (double), bounds (double) and masks of all elements, as vectors.

    Attributes:
        expected: the correctly rounded result.
        bound: the largest accepted difference from it.
        is_determinate: whether admissible evaluations differ by rounding only.
        is_decided: the elements for which the other attributes are valid.
    """

    expected: Array
    bound: Array
    is_determinate: Array
    is_decided: Array


def evaluate(op_type: str, operands: Sequence[Array], precision: Precision, digits: int) -> Evaluated | None:
    """Return the results of an operator for vectors of operands.

    Args:
        op_type: the operator; see `OPERATORS`.
        operands: vectors of one length and of the type of `precision.format`.
        precision: the precision of tensor elements, without an adversary.
        digits: the number of digits of the decimals that compute undecided elements.

    Returns:
        The results; None if the operator does not support the type, or if the admissible relative error is not a sum
        of two doubles.
    """
    if precision.format is DOUBLE and op_type not in DOUBLE_OPERATORS:
        return None
    limits = _Limits.of(precision.format, digits)
    chunks = (
        [operand[start : start + CHUNK_SIZE].astype(np.float64) for operand in operands]
        for start in range(0, max(len(operands[0]), 1), CHUNK_SIZE)
    )
    found = []
    with np.errstate(all="ignore"):
        for chunk in chunks:
            if op_type in SELECTIONS:
                found.append(_select(op_type, chunk[0], precision, limits))
                continue
            result = FORMULAS[op_type](chunk, precision, limits)
            if result is None:
                return None
            found.append(_finish(result, precision, limits))
    parts = zip(*((one.expected, one.bound, one.is_determinate, one.is_decided) for one in found), strict=True)
    return Evaluated(*map(np.concatenate, parts))


# Formats and operands


@dataclass(frozen=True)
class _Limits:
    """The numbers that describe a format, as doubles, and the number of digits of decimals."""

    format: FloatFormat
    digits: int
    unit_roundoff: float
    smallest_normal: float
    smallest_subnormal: float
    overflow_threshold: float

    @classmethod
    def of(cls, format: FloatFormat, digits: int) -> _Limits:
        return cls(
            format,
            digits,
            float(format.unit_roundoff),
            float(format.smallest_normal),
            float(format.smallest_subnormal),
            float(format.overflow_threshold),  # infinity for doubles, whose large results are not decided
        )

    @property
    def is_double(self) -> bool:
        return self.format is DOUBLE

    def round(self, magnitudes: Array) -> Array:
        """Return nonnegative doubles correctly rounded to the format."""
        if self.is_double:
            return magnitudes
        exponent = np.maximum(np.frexp(magnitudes)[1], 2 - self.format.largest_exponent) - self.format.precision
        rounded = np.ldexp(np.rint(np.ldexp(magnitudes, -exponent)), exponent)
        return np.where(magnitudes >= self.overflow_threshold, np.inf, rounded)

    def nearest(self, high: Array, low: Array) -> Array:
        """Return the sums of two doubles correctly rounded to the format.

        The sum is first rounded to odd: an inexact sum becomes the double next to it with an odd significand. The
        second rounding then gives the correctly rounded sum.
        """
        if self.is_double:
            return high + low
        is_odd = (high.view(np.int64) & 1).astype(np.bool_)
        neighbour = np.nextafter(high, np.where(low > 0, np.inf, -np.inf))
        return self.round(np.where(is_odd | (low == 0) | (high == 0), high, neighbour))


def _finite_operands(operands: Sequence[Array], precision: Precision, limits: _Limits) -> tuple[Array, Array]:
    """Return which elements have finite operands only, and which cannot be decided whatever the operator is."""
    is_finite = np.ones(operands[0].shape, dtype=np.bool_)
    is_undecided = np.zeros(operands[0].shape, dtype=np.bool_)
    for operand in operands:
        magnitude = np.abs(operand)
        is_finite &= np.isfinite(operand)
        if not precision.strict:  # the interval of such an operand contains zero
            is_undecided |= (magnitude > 0) & (magnitude < limits.smallest_normal)
        if limits.is_double:
            is_extreme = (magnitude > LARGEST_DOUBLE_OPERAND) | (magnitude < 1 / LARGEST_DOUBLE_OPERAND)
            is_undecided |= np.isfinite(operand) & is_extreme & (magnitude > 0)
    return is_finite, is_undecided


def _as_pair(value: Decimal) -> tuple[float, float] | None:
    """Return a decimal as the sum of two doubles; None if it is not one."""
    high = float(value)
    low = float(value - Decimal(high))
    return (high, low) if Decimal(high) + Decimal(low) == value else None


# Operators


def _add(operands: list[Array], precision: Precision, limits: _Limits, *, sign: float = 1.0) -> _Result:
    a, b = operands[0], sign * operands[1]
    is_finite, is_undecided = _finite_operands(operands, precision, limits)
    fixed = [(~is_finite, (a + b)[~is_finite], 0.0)]
    a, b = np.where(is_finite, a, 1.0), np.where(is_finite, b, 1.0)
    high, low = double_double.two_sum(a, b)
    return _Result(
        np.signbit(high),
        np.abs(high),
        np.copysign(1.0, high) * low,
        relative_error=(limits.unit_roundoff, 0.0),
        is_exact=np.ones(high.shape, dtype=np.bool_),
        is_undecided=is_undecided,
        fixed=fixed,
    )


def _subtract(operands: list[Array], precision: Precision, limits: _Limits) -> _Result:
    return _add(operands, precision, limits, sign=-1.0)


def _multiply(operands: list[Array], precision: Precision, limits: _Limits) -> _Result:
    a, b = operands
    is_finite, is_undecided = _finite_operands(operands, precision, limits)
    skips_zero = ((a == 0) & ~np.isfinite(b)) | ((b == 0) & ~np.isfinite(a))
    if precision.strict:
        skips_zero[:] = False
    fixed = [
        (~is_finite & ~skips_zero, (a * b)[~is_finite & ~skips_zero], 0.0),
        (skips_zero, np.nan, np.inf),  # an evaluation may skip products with a factor 0
    ]
    value = np.where(is_finite, a * b, 1.0)
    a, b = np.where(is_finite, np.abs(a), 1.0), np.where(is_finite, np.abs(b), 1.0)
    high, low = double_double.two_product(a, b)
    peak, trough = np.maximum(a, 1.0) * np.maximum(b, 1.0), np.minimum(a, 1.0) * np.minimum(b, 1.0)
    return _Result(
        np.signbit(value),
        high,
        np.where(high == 0, 0.0, low),
        relative_error=(limits.unit_roundoff, 0.0),
        is_exact=np.ones(high.shape, dtype=np.bool_),
        is_indeterminate=_leaves_range(high, peak, trough, limits),
        is_undecided=is_undecided,
        fixed=fixed,
    )


def _leaves_range(value: Array, peak: Array, trough: Array, limits: _Limits) -> Array:
    """Return where another order of operations can leave the range of the format, as `BoundedNumber` defines it.

    Operands of type double that can be decided never leave the range.
    """
    is_small = (value != 0) & (trough < limits.smallest_normal) & (2 * trough < value)
    return np.asarray((peak >= limits.overflow_threshold) | is_small)


def _are_close(values: Array, limits: Array | float) -> Array:
    return np.asarray(np.abs(values / limits - 1) <= MARGIN)


def _divide(operands: list[Array], precision: Precision, limits: _Limits) -> _Result | None:
    accuracy, u = precision.accuracy, precision.format.unit_roundoff
    relative_error = _as_pair((1 + u * accuracy.quotient) ** 2 - 1)
    if relative_error is None:
        return None
    a, b = operands
    is_finite, is_undecided = _finite_operands(operands, precision, limits)
    is_undecided |= (~is_finite & ~np.isnan(a) & ~np.isnan(b)) | (b == 0)
    is_nan = np.isnan(a) | np.isnan(b)
    is_usable = ~is_nan & ~is_undecided
    value = np.where(is_usable, a / b, 1.0)
    a, b = np.where(is_usable, np.abs(a), 1.0), np.where(is_usable, np.abs(b), 1.0)
    high, low, error = double_double.divide(a, b)
    # The rounded peak and trough decide, unless one of them is close to its limit.
    peak, trough = np.maximum(a, 1.0) / np.minimum(b, 1.0), np.minimum(a, 1.0) / np.maximum(b, 1.0)
    has_other_order = (a > 1.0) | (b < 1.0)  # otherwise the trough is the quotient itself
    is_close = _are_close(peak, limits.overflow_threshold) | _are_close(trough, limits.smallest_normal)
    is_close |= (trough < limits.smallest_normal) & _are_close(2 * trough, high)
    is_undecided |= has_other_order & is_close
    is_power_of_two = np.frexp(b)[0] == 0.5
    return _Result(
        np.signbit(value),
        high,
        low,
        error=error,
        relative_error=relative_error,
        is_exact=(a == 0) | (is_power_of_two & accuracy.is_exact_for_powers_of_two),
        is_indeterminate=has_other_order & _leaves_range(high, peak, trough, limits),
        is_undecided=is_undecided,
        fixed=[(is_nan, np.nan, 0.0)],
    )


def _sqrt(operands: list[Array], precision: Precision, limits: _Limits) -> _Result | None:
    relative_error = _as_pair(2 * precision.accuracy.root * precision.format.unit_roundoff)
    if relative_error is None:
        return None
    (x,) = operands
    _, is_undecided = _finite_operands(operands, precision, limits)
    is_positive = (x > 0) & np.isfinite(x)
    high, low, error = double_double.sqrt(np.where(is_positive, x, 1.0))
    is_power_of_two = (np.frexp(high)[0] == 0.5) & (low == 0)
    return _Result(
        np.zeros(x.shape, dtype=np.bool_),
        high,
        low,
        error=error,
        relative_error=relative_error,
        is_exact=is_power_of_two & precision.accuracy.is_exact_for_powers_of_two,
        is_undecided=is_undecided,
        fixed=[
            (x == 0, x[x == 0], 0.0),
            (x == np.inf, np.inf, 0.0),
            (np.isnan(x), np.nan, 0.0),
            (x < 0, np.nan, 0.0 if precision.strict else np.inf),
        ],
    )


def _exp(operands: list[Array], precision: Precision, limits: _Limits) -> _Result | None:
    relative_error = _as_pair(precision.function_error)
    if relative_error is None:
        return None
    (x,) = operands
    _, is_undecided = _finite_operands(operands, precision, limits)
    is_finite = np.isfinite(x)
    # The sum of a subnormal and a much smaller number is the subnormal itself, in decimals of the given digits.
    is_tiny = is_finite & (x < -decimals.MAX_EXP_ARGUMENT)
    is_lost = is_tiny & (x * LOG10_E < -limits.digits - 60)
    is_undecided |= is_tiny & ~is_lost & (x * LOG10_E < 10 - limits.digits)
    clamped = np.where(is_finite, np.clip(x, -LARGEST_EXP_ARGUMENT, LARGEST_EXP_ARGUMENT), 1.0)
    high, low = double_double.exp(clamped)
    is_near_one = np.abs(x) < NEAR_ZERO  # 1 + x, within the square of x
    return _Result(
        np.zeros(x.shape, dtype=np.bool_),
        np.where(is_near_one, 1.0, high),
        np.where(is_near_one, x, low),
        error=np.where(is_near_one, x * x, high * double_double.EXP_ERROR),
        relative_error=relative_error,
        is_exact=x == 0,
        is_undecided=is_undecided,
        fixed=[
            (np.isnan(x), np.nan, 0.0),
            (x == np.inf, np.inf, 0.0),
            (x == -np.inf, 0.0, 0.0),
            (is_lost, 0.0, 1.5 * limits.smallest_subnormal),
        ],
    )


def _log(operands: list[Array], precision: Precision, limits: _Limits) -> _Result | None:
    relative_error = _as_pair(precision.function_error)
    if relative_error is None:
        return None
    (x,) = operands
    _, is_undecided = _finite_operands(operands, precision, limits)
    is_positive = (x > 0) & np.isfinite(x)
    high, low, error = double_double.log(np.where(is_positive, x, 2.0))
    sign, is_one = np.copysign(1.0, high), x == 1
    return _Result(
        (high < 0) & ~is_one,
        np.where(is_one, 0.0, sign * high),
        np.where(is_one, 0.0, sign * low),
        error=np.where(is_one, 0.0, error),
        relative_error=relative_error,
        is_exact=is_one,
        is_undecided=is_undecided,
        fixed=[
            (np.isnan(x), np.nan, 0.0),
            (x == np.inf, np.inf, 0.0),
            (x == 0, -np.inf, 0.0),
            (x < 0, np.nan, 0.0 if precision.strict else np.inf),
        ],
    )


FORMULAS: Mapping[str, Callable[[list[Array], Precision, _Limits], _Result | None]] = {
    "Add": _add,
    "Sub": _subtract,
    "Mul": _multiply,
    "Div": _divide,
    "Sqrt": _sqrt,
    "Exp": _exp,
    "Log": _log,
}
"""The operators that round, by op_type."""

SELECTIONS: Mapping[str, Callable[[Array], Array]] = {
    "Neg": operator.neg,
    "Abs": np.abs,
    "Relu": lambda X: np.where(X <= 0, 0.0, X),
    "Ceil": np.ceil,
    "Floor": np.floor,
    "Round": np.rint,
    "Sign": lambda X: np.where(X > 0, 1.0, np.where(X < 0, -1.0, X)),
}
"""The operators without a rounding, by op_type."""

DOUBLE_OPERATORS = frozenset({"Add", "Sub", "Mul", *SELECTIONS})
"""The operators that `evaluate` computes for doubles."""

OPERATORS = frozenset(FORMULAS) | frozenset(SELECTIONS)
"""The operators that `evaluate` computes."""


def _select(op_type: str, x: Array, precision: Precision, limits: _Limits) -> Evaluated:
    is_subnormal = (x != 0) & (np.abs(x) < limits.smallest_normal)
    is_decided = np.full(x.shape, True) if precision.strict else ~is_subnormal
    values = SELECTIONS[op_type](x)
    values = np.where(np.isnan(values), np.nan, values)
    return Evaluated(values, np.zeros_like(values), np.full(x.shape, True), is_decided)


# Expected values and bounds


def _finish(result: _Result, precision: Precision, limits: _Limits) -> Evaluated:
    """Return the expected values and the bounds of results, as `oracle` defines them for a `BoundedNumber`."""
    high, low, error = result.high, result.low, np.broadcast_to(result.error, result.high.shape)
    expected = limits.nearest(high, low)
    is_undecided = result.is_undecided | ((low != 0) & (np.abs(low) < VISIBLE * high))
    is_undecided |= (limits.nearest(high, low - 2 * error) != expected) if error.any() else False
    is_undecided |= (limits.nearest(high, low + 2 * error) != expected) if error.any() else False
    is_exact = result.is_exact & (expected == high) & (low == 0) & (error == 0)
    bound, is_determinate = np.zeros_like(high), np.logical_not(result.is_indeterminate) & np.full(high.shape, True)
    for mask, evaluated in _bounds(result, expected, is_exact, precision, limits):
        bound[mask], is_sure, agrees = evaluated
        is_undecided[mask] |= ~is_sure
        is_determinate[mask] &= agrees
    is_determinate |= np.isinf(expected) & (bound == 0)  # every order of operations overflows
    expected = np.where(result.is_negative, -expected, expected)
    for mask, values, known_bound in result.fixed:
        expected[mask], bound[mask] = values, known_bound
        is_determinate[mask] = known_bound < np.inf
    expected[np.isnan(expected)] = np.nan
    return Evaluated(expected, bound, is_determinate, ~is_undecided)


def _bounds(
    result: _Result, expected: Array, is_exact: Array, precision: Precision, limits: _Limits
) -> Iterator[tuple[Array, tuple[Array, Array, Array]]]:
    """Yield masks with the bounds of the masked elements, whether they are sure, and whether they are determinate."""
    high, error = result.high, result.relative_error[0]
    errors = np.broadcast_to(result.error, high.shape)
    normal, step = limits.smallest_normal, limits.smallest_subnormal
    if not precision.strict and (flushed := is_exact & (high > 0) & (high < normal)).any():
        total = high[flushed] + normal * limits.unit_roundoff  # a double: both are multiples of step / 2
        yield flushed, (total, np.full(total.shape, not limits.is_double), np.full(total.shape, True))
    is_above = high * (1 - error) > normal * (1 + MARGIN)
    is_below = high * (1 + error) + step < normal * (1 - MARGIN)
    is_large = high * (1 + error) >= limits.overflow_threshold * (1 - MARGIN)
    for mask, bounds in (
        (is_above & ~is_large, _normal_bounds),
        (is_below, _subnormal_bounds),
        (is_large, _large_bounds),
        (~is_above & ~is_below, _undecided_bounds),
    ):
        if (chosen := mask & ~is_exact).any():
            magnitude = _Magnitude(
                result.high[chosen], result.low[chosen], errors[chosen], expected[chosen], result.relative_error
            )
            yield chosen, bounds(magnitude, precision, limits)


@dataclass(frozen=True)
class _Magnitude:
    """The magnitudes of some inexact results; the attributes are those of `_Result`, and the rounded magnitude."""

    high: Array
    low: Array
    error: Array
    expected: Array
    relative_error: tuple[float, float]

    def terms(self, factor: float = 1.0) -> list[Array]:
        """Return the terms of the magnitude times a power of two."""
        return [self.high * factor, self.low * factor]

    def error_terms(self, factor: float = 1.0) -> list[Array]:
        """Return the terms of the admissible error, magnitude times relative error, times a power of two."""
        products: list[Pair] = [
            double_double.two_product(part, np.full_like(part, relative))
            for part in (self.high, self.low)
            for relative in self.relative_error
            if relative and part.any()
        ]
        return [term * factor for pair in products for term in pair]

    def rounded_up(self, terms: Sequence[Array], limits: _Limits) -> Pair:
        """Return the sum of terms rounded up to a double, and whether it is sure."""
        nearest, rest, is_sure = double_double.exact_sum(terms)
        uncertainty = 4 * self.error
        is_visible = (np.abs(rest) > uncertainty) & (np.abs(rest) > VISIBLE * nearest)
        is_sure &= is_visible | ((uncertainty == 0) & (self._needed_digits(limits) <= limits.digits))
        return np.where(rest > 0, np.nextafter(nearest, np.inf), nearest), is_sure

    def _needed_digits(self, limits: _Limits) -> Array:
        """Return a number of decimal digits that represents all intermediate sums exactly."""
        lowest = np.where(self.low == 0, self.high, self.low)
        last_bit = np.frexp(lowest)[1] - 53
        trailing = (np.ldexp(np.frexp(lowest)[0], 53).astype(np.int64)) | 2**53
        last_bit = last_bit + np.frexp((trailing & -trailing).astype(np.float64))[1] - 1
        last_bit -= _fraction_bits(self.relative_error) + limits.format.precision
        last_subnormal_bit = 1 - limits.format.largest_exponent - 2 * limits.format.precision
        is_subnormal = self.high < 2 * limits.smallest_normal
        last_bit = np.where(is_subnormal, np.minimum(last_bit, last_subnormal_bit), last_bit)
        largest = np.maximum(4 * self.high, limits.smallest_subnormal)
        return np.asarray(np.maximum(-last_bit, 0) + np.floor(np.log10(largest)) + 2)


def _fraction_bits(relative_error: tuple[float, float]) -> int:
    """Return the number of binary places of a relative error."""
    return max(part.as_integer_ratio()[1].bit_length() - 1 for part in relative_error)


def _normal_bounds(magnitude: _Magnitude, _: Precision, limits: _Limits) -> tuple[Array, Array, Array]:
    """Bound results above the smallest normal value: the error, the rounding of the result, and half an ULP."""
    u = limits.unit_roundoff
    difference = magnitude.high - magnitude.expected  # exact, because `expected` is the rounded magnitude
    sign = np.where(difference + magnitude.low < 0, -1.0, 1.0)
    bound, is_sure = magnitude.rounded_up(
        [
            *magnitude.error_terms(),
            sign * difference,
            sign * magnitude.low,
            *magnitude.terms(u),
            *magnitude.error_terms(u),
        ],
        limits,
    )
    return bound, is_sure, np.full(bound.shape, True)


def _subnormal_bounds(magnitude: _Magnitude, precision: Precision, limits: _Limits) -> tuple[Array, Array, Array]:
    """Bound subnormal results: their rounding is coarser, and they may be flushed to zero at level `must`."""
    step = np.full_like(magnitude.high, limits.smallest_subnormal)
    half_ulp = step / 2
    above = [*magnitude.terms(), *magnitude.error_terms(), step, -magnitude.expected, half_ulp]
    bound, is_sure = magnitude.rounded_up(above, limits)
    below = magnitude.expected + half_ulp  # the distance of the expected value from zero
    if precision.strict:
        terms = [magnitude.expected, *(-term for term in magnitude.terms()), *magnitude.error_terms(), step, half_ulp]
        nearer, is_sure_below = magnitude.rounded_up(terms, limits)
        below, is_sure = np.minimum(below, nearer), is_sure & is_sure_below
    return np.maximum(bound, below), is_sure, np.full(bound.shape, True)


def _large_bounds(magnitude: _Magnitude, precision: Precision, limits: _Limits) -> tuple[Array, Array, Array]:
    """Bound results near the overflow threshold: infinite if only some admissible evaluations overflow."""
    threshold = np.full_like(magnitude.high, -limits.overflow_threshold)
    errors = magnitude.error_terms()
    ends = []
    is_sure = np.full(magnitude.high.shape, True)
    for terms in ([*magnitude.terms(), *errors, threshold], [*magnitude.terms(), *(-e for e in errors), threshold]):
        difference, _, is_certain = double_double.exact_sum(terms)
        is_sure &= is_certain & ((np.abs(difference) > 4 * magnitude.error) | (magnitude.error == 0))
        ends.append(difference >= 0)
    can_overflow, must_overflow = ends
    bound, is_sure_below, agrees = _normal_bounds(magnitude, precision, limits)
    bound = np.where(must_overflow, 0.0, np.where(can_overflow, np.inf, bound))
    return bound, is_sure & (can_overflow | is_sure_below), agrees & (must_overflow | ~can_overflow)


def _undecided_bounds(magnitude: _Magnitude, _: Precision, __: _Limits) -> tuple[Array, Array, Array]:
    """Decide no result."""
    return magnitude.high, np.full(magnitude.high.shape, False), np.full(magnitude.high.shape, True)
