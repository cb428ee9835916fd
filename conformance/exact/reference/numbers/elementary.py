"""Elementary functions of arrays of a NumPy type and of decimals alike."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, getcontext, localcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.exact.models.arrays import object_array

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
    """Return a function that applies `for_numpy` to arrays of a NumPy type and `for_decimal` to decimals."""

    def function(X: Array) -> Array:
        if X.dtype != object:
            return np.asarray(for_numpy(X))
        return object_array((_with_guard_digits(for_decimal, Decimal(element)) for element in X.flat), X.shape)

    return function


def _with_guard_digits(formula: Callable[[Decimal], Decimal], x: Decimal) -> Decimal:
    """Return formula(x), computed with additional digits, because leading digits cancel if x is small."""
    lost = 2 * max(0, -x.adjusted()) if x.is_finite() and x else 0
    with localcontext(prec=getcontext().prec + min(lost, MAX_GUARD_DIGITS)):
        return formula(x)


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
    return 16 * _small_arctangent(1 / Decimal(5)) - 4 * _small_arctangent(1 / Decimal(239))


def _atan(x: Decimal) -> Decimal:
    if x.is_nan() or not x:
        return x
    if abs(x) > 1:
        return (_pi() / 2 - _atan(1 / abs(x))).copy_sign(x)
    if abs(x) > Decimal("0.25"):
        return 2 * _atan(x / (1 + (1 + x * x).sqrt()))
    return _small_arctangent(x)


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


exp = _numpy_or_decimal(np.exp, Decimal.exp)
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

ceil = _numpy_or_decimal(np.ceil, lambda x: x.to_integral_value(ROUND_CEILING))
floor = _numpy_or_decimal(np.floor, lambda x: x.to_integral_value(ROUND_FLOOR))
round_half_even = _numpy_or_decimal(np.rint, lambda x: x.to_integral_value(ROUND_HALF_EVEN))
truncate = _numpy_or_decimal(np.trunc, lambda x: x.to_integral_value("ROUND_DOWN"))
