"""Correctly rounded values of monotone functions, from arithmetic in double with an error bound.

NumPy's Exp and Log of double are assumed to have a relative error below 2⁻⁵⁰. Sqrt of double is correctly rounded by
IEEE 754; rounding it a second time, to a type of at most 24 bits, gives the correctly rounded value (Figueroa, 1995).
If two results are possible within the error bound, Arb (a library for ball arithmetic) decides. Without Arb the
rounding stays undecided.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.exact.models.arrays import Array
    from conformance.studies.census.float_ordinals import FloatType


RELATIVE_GUARD = 2.0**-50
"""Assumed largest relative error of NumPy's Exp and Log of double."""

_MAX_PRECISION_BITS = 4096


@dataclass(frozen=True)
class MonotoneFunction:
    """A monotone function.

    Attributes:
        in_double: function that computes it in double.
        in_arb: name of its method in Arb.
        guard: largest relative error of `in_double`.
        least: ordinal of the least argument of its domain; None for -infinity.
    """

    in_double: Callable[[Array], Array]
    in_arb: str
    guard: float
    least: int | None


FUNCTIONS = {
    "Exp": MonotoneFunction(np.exp, "exp", RELATIVE_GUARD, None),
    "Log": MonotoneFunction(np.log, "log", RELATIVE_GUARD, 0),
    "Sqrt": MonotoneFunction(np.sqrt, "sqrt", 0.0, 0),
}


@dataclass(frozen=True)
class RoundedValues:
    """Values of a function, and their correct rounding.

    Attributes:
        exact: values in double, with a relative error below the function's guard.
        rounded: correctly rounded values in the element type.
        alternative: the second possible result if the rounding is undecided, otherwise equal to `rounded`.
        undecided_in_double: number of values with two possible results after arithmetic in double.
        undecided: number of values that are still undecided.
    """

    exact: Array
    rounded: Array
    alternative: Array
    undecided_in_double: int
    undecided: int


def correctly_rounded(function: MonotoneFunction, float_type: FloatType, X: Array) -> RoundedValues:
    """Return a function's values at X, rounded to a type with at most 24 significant bits; X must not contain NaN."""
    with np.errstate(all="ignore"):
        exact = function.in_double(X.astype(np.float64))
        if not function.guard:
            rounded = round_to(float_type, exact)
            return RoundedValues(exact, rounded, rounded, 0, 0)
        low = round_to(float_type, exact * (1 - function.guard))
        high = round_to(float_type, exact * (1 + function.guard))
    left = np.flatnonzero(low.view(float_type.signed) != high.view(float_type.signed))
    undecided = 0
    for i in left:
        decided = _decide_by_arb(function, float_type, float(X[i]), float(low[i]), float(high[i]))
        if decided is None:
            undecided += 1
        else:
            low[i] = high[i] = decided
    return RoundedValues(exact, low, high, len(left), undecided)


def round_to(float_type: FloatType, exact: Array) -> Array:
    """Round doubles to a type once: to nearest, ties to even."""
    if float_type.dtype.type in (np.float16, np.float32):
        return exact.astype(float_type.dtype)
    unit = ulp_size(float_type, exact)  # for types without a direct conversion, NumPy would round to float first
    return np.asarray((np.rint(exact / unit) * unit).astype(float_type.dtype))


def ulp_size(float_type: FloatType, exact: Array) -> Array:
    """Return the ULP of the type at each of the doubles `exact`; 1 for a double that is not finite."""
    _, exponent = np.frexp(exact)
    least = 1 - float_type.format.largest_exponent
    return np.asarray(np.ldexp(1.0, np.maximum(exponent - 1, least) - float_type.fraction))


def _decide_by_arb(
    function: MonotoneFunction, float_type: FloatType, x: float, low: float, high: float
) -> float | None:
    """Return the correctly rounded value at x, which is `low` or `high`; None if Arb is missing or cannot decide."""
    low, high = min(low, high), max(low, high)
    middle = _midpoint(float_type, low, high)
    try:
        from flint import arb, ctx
    except ModuleNotFoundError:
        return None
    bits = 128
    while bits <= _MAX_PRECISION_BITS:
        with ctx.workprec(bits):
            value: Any = getattr(arb(x), function.in_arb)()
            if value > middle:
                return high
            if value < middle:
                return low
        bits *= 2
    return None


def _midpoint(float_type: FloatType, low: float, high: float) -> float:
    """Return the midpoint of two neighbouring values.

    If `high` is infinity, the value after the largest finite value, in an unlimited exponent range, is used instead.
    """
    beyond = 2.0 ** (float_type.format.largest_exponent + 1)
    return (max(low, -beyond) + min(high, beyond)) / 2
