"""Elementary functions of arrays of a NumPy type and of decimals alike."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal, getcontext, localcontext
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.exact.models.arrays import object_array
from conformance.exact.reference.numbers.portable import has_portable_bits

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.exact.models.arrays import Array

MAX_GUARD_DIGITS = 700
"""The most additional digits. They distinguish 1 from 1 plus the smallest double."""


def compute_in_double(function: np.ufunc) -> Callable[[Array], Array]:
    """Return the function `function`, computed in double and rounded to the tensor's type.

    NumPy's functions for float are not monotone. Computed in double, they keep the order of numbers of up to 24 bits.
    Nothing is known about the order of their results for double (`onnx-conformance census`).
    """

    def rounded(X: Array) -> Array:
        if X.dtype.kind == "O" or X.dtype == np.float64:
            return np.asarray(function(X))
        return np.asarray(function(X.astype(np.float64))).astype(X.dtype)

    return rounded


def _numpy_or_decimal(
    for_numpy: Callable[..., Any], for_decimal: Callable[[Decimal], Decimal]
) -> Callable[[Array], Array]:
    """Return a function that applies `for_numpy` to arrays of a NumPy type and `for_decimal` to decimals.

    Where bits must be portable, it rounds the results of decimals to doubles.
    """

    def function(X: Array) -> Array:
        if X.dtype == np.float64 and has_portable_bits():
            return _rounded(for_decimal, np.asarray(for_numpy(X)), X)
        if X.dtype != object:
            return np.asarray(for_numpy(X))
        return object_array((_with_guard_digits(for_decimal, Decimal(element)) for element in X.flat), X.shape)

    return function


PORTABLE_CONTEXT = Context(prec=50, Emin=-999_999, Emax=999_999, traps=[])
"""The arithmetic of portable results: three times the digits of a double, and no errors."""


def _rounded(for_decimal: Callable[..., Decimal], result: Array, *operands: Array) -> Array:
    """Return results of a function of decimals, rounded to doubles.

    Args:
        for_decimal: the function.
        result: the results of NumPy, which are kept where they or an operand are zero or not finite.
        operands: the operands.
    """
    shaped = np.broadcast_arrays(*operands)
    is_inexact = np.isfinite(result) & (result != 0)
    for each in shaped:
        is_inexact &= np.isfinite(each) & (each != 0)
    numbers = zip(*(each[is_inexact].tolist() for each in shaped), strict=True)
    with localcontext(PORTABLE_CONTEXT):
        known = {given: _with_guard_digits(for_decimal, *map(Decimal, given)) for given in dict.fromkeys(numbers)}
    rounded = result.copy()
    numbers = zip(*(each[is_inexact].tolist() for each in shaped), strict=True)
    rounded[is_inexact] = [float(known[given]) for given in numbers]
    return rounded


def _with_guard_digits(formula: Callable[..., Decimal], x: Decimal, *others: Decimal) -> Decimal:
    """Return formula(x, *others), computed with additional digits, because leading digits cancel if x is small."""
    lost = 2 * max(0, -x.adjusted()) if x.is_finite() and x else 0
    with localcontext(prec=getcontext().prec + min(lost, MAX_GUARD_DIGITS)):
        return formula(x, *others)


def _odd_function(formula: Callable[[Decimal], Decimal]) -> Callable[[Decimal], Decimal]:
    """Return the odd function that equals `formula` for positive numbers."""
    return lambda x: formula(abs(x)).copy_sign(x) if x.is_finite() and x else x


def _tanh(x: Decimal) -> Decimal:
    if x.is_nan() or not x:
        return x
    decayed = (-2 * abs(x)).exp()
    return ((1 - decayed) / (1 + decayed)).copy_sign(x)


def _atanh(x: Decimal) -> Decimal:
    if x.is_nan() or not x:
        return x
    return (((1 + abs(x)) / (1 - abs(x))).ln() / 2).copy_sign(x) if abs(x) != 1 else Decimal("Infinity").copy_sign(x)


def _small_arctangent(x: Decimal) -> Decimal:
    """Return the arctangent of a number whose magnitude is at most a half."""
    total = power = x
    odd = 1
    while power.adjusted() > total.adjusted() - getcontext().prec - 2:
        power *= -x * x
        odd += 2
        total += power / odd
    return total


def _pi() -> Decimal:
    return _pi_of(getcontext().prec)


@cache
def _pi_of(_: int) -> Decimal:
    """Return pi in the present precision, which is the argument."""
    return 16 * _small_arctangent(1 / Decimal(5)) - 4 * _small_arctangent(1 / Decimal(239))


def _atan(x: Decimal) -> Decimal:
    if x.is_nan() or not x:
        return x
    if abs(x) > 1:
        return (_pi() / 2 - _atan(1 / abs(x))).copy_sign(x)
    if abs(x) > Decimal("0.25"):
        return 2 * _atan(x / (1 + (1 + x * x).sqrt()))
    return _small_arctangent(x)


def _acos(x: Decimal) -> Decimal:
    return 2 * _atan(((1 - x) / (1 + x)).sqrt()) if x != -1 else _pi()


def _asin(x: Decimal) -> Decimal:
    return _atan(x / (1 - x * x).sqrt()) if abs(x) != 1 else (_pi() / 2).copy_sign(x)


def _sin_and_cos(x: Decimal) -> tuple[Decimal, Decimal]:
    """Return the sine and the cosine of a finite number."""
    with localcontext(prec=getcontext().prec + max(0, x.adjusted()) + TURN_DIGITS):
        quarter = _pi() / 2
        turns = (x / quarter).to_integral_value(ROUND_HALF_EVEN)
        rest = x - turns * quarter
        sums = [Decimal(0), Decimal(0)]  # of the odd and the even terms
        term = Decimal(1)
        place = 0
        while not place or (term and term.adjusted() > -getcontext().prec + min(0, rest.adjusted())):
            sums[place % 2 == 0] += term if place % 4 < 2 else -term
            place += 1
            term *= rest / place
    sine, cosine = sums
    quadrants = [(sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine)]
    return quadrants[int(turns) % 4]


TURN_DIGITS = 25
"""Additional digits, because a double can be so near to a multiple of a quarter of a turn."""


def _tan(x: Decimal) -> Decimal:
    sine, cosine = _sin_and_cos(x)
    return sine / cosine


def _erf(x: Decimal) -> Decimal:
    if x.is_nan() or not x:
        return x
    if x * x > 3 * getcontext().prec:
        return Decimal(1).copy_sign(x)
    total = term = abs(x)
    odd = 1
    while term.adjusted() > total.adjusted() - getcontext().prec - 2:
        odd += 2
        term *= 2 * x * x / odd
        total += term
    return (2 * total * (-x * x).exp() / _pi().sqrt()).copy_sign(x)


def power(X: Array, Y: Array | float) -> Array:
    """Return X to the power of Y, as `numpy.power` does for doubles."""
    result = np.asarray(np.power(X, Y))
    if not has_portable_bits():
        return result
    return _rounded(lambda x, y: x**y, result, np.asarray(X), np.asarray(Y, np.float64))


exp = _numpy_or_decimal(np.exp, Decimal.exp)
log = _numpy_or_decimal(np.log, Decimal.ln)
sin = _numpy_or_decimal(np.sin, lambda x: _sin_and_cos(x)[0])
cos = _numpy_or_decimal(np.cos, lambda x: _sin_and_cos(x)[1])
tan = _numpy_or_decimal(np.tan, _tan)
asin = _numpy_or_decimal(np.arcsin, _asin)
acos = _numpy_or_decimal(np.arccos, _acos)
expm1 = _numpy_or_decimal(np.expm1, lambda x: x.exp() - 1)
log1p = _numpy_or_decimal(np.log1p, lambda x: (1 + x).ln())
tanh = _numpy_or_decimal(np.tanh, _tanh)
sinh = _numpy_or_decimal(np.sinh, _odd_function(lambda x: (x.exp() - (-x).exp()) / 2))
cosh = _numpy_or_decimal(np.cosh, lambda x: (x.exp() + (-x).exp()) / 2)
asinh = _numpy_or_decimal(np.arcsinh, _odd_function(lambda x: (x + (x * x + 1).sqrt()).ln()))
acosh = _numpy_or_decimal(np.arccosh, lambda x: (x + (x * x - 1).sqrt()).ln())
atanh = _numpy_or_decimal(np.arctanh, _atanh)
atan = _numpy_or_decimal(np.arctan, _atan)
erf = _numpy_or_decimal(lambda X: np.asarray(np.frompyfunc(math.erf, 1, 1)(X)).astype(X.dtype), _erf)


def portable_function(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Return the function of this module for an exponential or logarithm of NumPy, and another function as it is."""
    return exp if function is np.exp else log if function is np.log else function


ceil = _numpy_or_decimal(np.ceil, lambda x: x.to_integral_value(ROUND_CEILING))
floor = _numpy_or_decimal(np.floor, lambda x: x.to_integral_value(ROUND_FLOOR))
round_half_even = _numpy_or_decimal(np.rint, lambda x: x.to_integral_value(ROUND_HALF_EVEN))
truncate = _numpy_or_decimal(np.trunc, lambda x: x.to_integral_value("ROUND_DOWN"))
