"""Elementary functions of one number, on arrays of a tensor's own type and on decimals alike."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, getcontext, localcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.models.arrays import objects

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.models.arrays import Array

MOST_GUARD_DIGITS = 700
"""So many more digits tell 1 from 1 plus the smallest double."""


def through_double(function: np.ufunc) -> Callable[[Array], Array]:
    """A function of NumPy's that keeps the order of numbers of up to 24 bits, which it does not in float itself.

    It is computed in double and rounded to the tensor's type; of doubles, nothing is known (`onnx-conformance census`).
    """

    def rounded(X: Array) -> Array:
        if X.dtype.kind == "O" or X.dtype == np.float64:
            return np.asarray(function(X))
        return np.asarray(function(X.astype(np.float64))).astype(X.dtype)

    return rounded


def _function(native: Callable[..., Any], of_decimal: Callable[[Decimal], Decimal]) -> Callable[[Array], Array]:
    """NumPy's function on numbers, and on decimals a formula of ours, with digits to spare for what cancels in it."""

    def function(X: Array) -> Array:
        if X.dtype != object:
            return np.asarray(native(X))
        return objects((_guarded(of_decimal, Decimal(element)) for element in X.flat), X.shape)

    return function


def _guarded(of_decimal: Callable[[Decimal], Decimal], x: Decimal) -> Decimal:
    lost = 2 * max(0, -x.adjusted()) if x.is_finite() and x else 0
    with localcontext(prec=getcontext().prec + min(lost, MOST_GUARD_DIGITS)):
        return of_decimal(x)


def _odd(of_magnitude: Callable[[Decimal], Decimal]) -> Callable[[Decimal], Decimal]:
    """An odd function, from what it is for magnitudes."""
    return lambda x: of_magnitude(abs(x)).copy_sign(x) if x.is_finite() and x else x


def _tanh(x: Decimal) -> Decimal:
    if x.is_nan() or not x:
        return x
    shrunk = (-2 * abs(x)).exp()
    return ((1 - shrunk) / (1 + shrunk)).copy_sign(x)


def _atanh(x: Decimal) -> Decimal:
    if x.is_nan() or not x:
        return x
    return (((1 + abs(x)) / (1 - abs(x))).ln() / 2).copy_sign(x) if abs(x) != 1 else Decimal("Infinity").copy_sign(x)


exp = _function(np.exp, Decimal.exp)
expm1 = _function(np.expm1, lambda x: x.exp() - 1)
log1p = _function(np.log1p, lambda x: (1 + x).ln())
tanh = _function(np.tanh, _tanh)
sinh = _function(np.sinh, _odd(lambda x: (x.exp() - (-x).exp()) / 2))
cosh = _function(np.cosh, lambda x: (x.exp() + (-x).exp()) / 2)
asinh = _function(np.arcsinh, _odd(lambda x: (x + (x * x + 1).sqrt()).ln()))
acosh = _function(np.arccosh, lambda x: (x + (x * x - 1).sqrt()).ln())
atanh = _function(np.arctanh, _atanh)

ceil = _function(np.ceil, lambda x: x.to_integral_value(ROUND_CEILING))
floor = _function(np.floor, lambda x: x.to_integral_value(ROUND_FLOOR))
nearest_even = _function(np.rint, lambda x: x.to_integral_value(ROUND_HALF_EVEN))
truncated = _function(np.trunc, lambda x: x.to_integral_value("ROUND_DOWN"))
