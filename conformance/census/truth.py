"""The correctly rounded value of a monotone function, by double arithmetic with a guard.

NumPy's double Exp and Log are taken to be within 2⁻⁵⁰ of the exact value, relatively. IEEE 754's Sqrt is the exact one
rounded once, and rounding it again to a type of at most 24 bits is as if it had been rounded once (Figueroa, 1995).
Where the guard leaves two values open, Arb decides; without it they stay open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.census.scale import Scale
    from conformance.models.arrays import Array

GUARD = 2.0**-50
"""How far NumPy's double may be from the exact value, relatively."""

_MOST_BITS = 4096


@dataclass(frozen=True)
class Function:
    """A monotone function.

    Attributes:
        in_double: it in double arithmetic.
        in_arb: the name of its method in Arb.
        guard: how far the double may be from the exact value, relatively.
        least: the place from which on it is defined, 0 or that of -infinity as None.
    """

    in_double: Callable[[Array], Array]
    in_arb: str
    guard: float
    least: int | None


FUNCTIONS = {
    "Exp": Function(np.exp, "exp", GUARD, None),
    "Log": Function(np.log, "log", GUARD, 0),
    "Sqrt": Function(np.sqrt, "sqrt", 0.0, 0),
}


@dataclass(frozen=True)
class Truth:
    """What a function gives.

    Attributes:
        exact: in double, within its guard.
        rounded: the correctly rounded values, in the type.
        other: the second candidate where one is left open, else the same.
        left: how many the double left open, for Arb to decide.
        open: how many are still open.
    """

    exact: Array
    rounded: Array
    other: Array
    left: int
    open: int


def truth(function: Function, scale: Scale, X: Array) -> Truth:
    """The function's values at X, which holds no NaN, of a type of at most 24 significant bits."""
    with np.errstate(all="ignore"):
        exact = function.in_double(X.astype(np.float64))
        if not function.guard:
            rounded = into(scale, exact)
            return Truth(exact, rounded, rounded, 0, 0)
        low, high = into(scale, exact * (1 - function.guard)), into(scale, exact * (1 + function.guard))
    left = np.flatnonzero(low.view(scale.signed) != high.view(scale.signed))
    undecided = 0
    for i in left:
        decided = _decided(function, scale, float(X[i]), float(low[i]), float(high[i]))
        if decided is None:
            undecided += 1
        else:
            low[i] = high[i] = decided
    return Truth(exact, low, high, len(left), undecided)


def into(scale: Scale, exact: Array) -> Array:
    """Doubles rounded to a type, once: to nearest, ties to even."""
    if scale.dtype.type in (np.float16, np.float32):
        return exact.astype(scale.dtype)
    unit = units(scale, exact)  # what NumPy has no conversion for would be rounded to float first
    return np.asarray((np.rint(exact / unit) * unit).astype(scale.dtype))


def units(scale: Scale, exact: Array) -> Array:
    """The ULP of the type at each double: the distance of neighbours in its binade; 1 where it is not finite."""
    _, exponent = np.frexp(exact)
    least = 1 - scale.format.largest_exponent
    return np.asarray(np.ldexp(1.0, np.maximum(exponent - 1, least) - scale.fraction))


def _decided(function: Function, scale: Scale, x: float, low: float, high: float) -> float | None:
    """The one of two neighbours that the exact value at x is rounded to; None where that cannot be told here."""
    low, high = min(low, high), max(low, high)
    middle = _middle(scale, low, high)
    try:
        from flint import arb, ctx
    except ModuleNotFoundError:
        return None
    bits = 128
    while bits <= _MOST_BITS:
        with ctx.workprec(bits):
            value: Any = getattr(arb(x), function.in_arb)()
            if value > middle:
                return high
            if value < middle:
                return low
        bits *= 2
    return None


def _middle(scale: Scale, low: float, high: float) -> float:
    """Halfway between neighbours, of which infinity is what would follow the largest value."""
    beyond = 2.0 ** (scale.format.largest_exponent + 1)
    return (max(low, -beyond) + min(high, beyond)) / 2
