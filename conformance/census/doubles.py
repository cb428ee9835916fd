"""The errors of doubles, at arguments spread evenly over those at which a function varies.

No double arithmetic is their truth, so Arb is, by enclosures of 192 bits; one whose ends were rounded to two doubles
would be counted as open, and either of them taken for right.
"""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.census.tally import Row, count, count_distances, empty, extend, note
from conformance.census.truth import FUNCTIONS

if TYPE_CHECKING:
    from conformance.census.scale import Scale
    from conformance.models.arrays import Array

MEASURED = 2**20
"""Arguments whose errors are measured."""

PIECES = 8

_BITS = 192

_VARIES = {"Exp": ((-745.2, -(2.0**-54)), (2.0**-53, 709.8)), "Log": ((0.0, math.inf),), "Sqrt": ((0.0, math.inf),)}
"""The arguments at which a correctly rounded function of doubles is neither 0 nor 1 nor infinite throughout."""


def pieces() -> int:
    """How many there are; none where Arb is not installed (extra `census`)."""
    return PIECES if find_spec("flint") else 0


def places(operator: str, scale: Scale, piece: int) -> Array:
    """The places of a piece's arguments, in order."""
    runs = _VARIES[operator]
    each = MEASURED // PIECES // len(runs)
    parts = []
    for low, high in runs:
        first, last = (int(place) for place in scale.places(np.asarray([low, high])))
        steps = range(piece * each, (piece + 1) * each)
        parts.append([first + (last - first) * (2 * step + 1) // (2 * each * PIECES) for step in steps])
    return np.concatenate([np.asarray(part, np.int64) for part in parts])


def counted(operator: str, scale: Scale, where: Array, X: Array, Y: Array) -> list[Row]:
    """What is counted of an operator's values at some places, by binade."""
    rounded, errors, opened = _truth(FUNCTIONS[operator].in_arb, X, Y)
    binades = np.asarray([scale.binade(int(place)) for place in where])
    found = []
    for binade in np.unique(binades):
        own = binades == binade
        row = empty(int(binade))
        count(row, values=int(own.sum()), open=int(opened[own].sum()))
        _count_wrong(row, scale, where[own], Y[own], rounded[own], errors[own])
        found.append(row)
    return found


def _truth(function: str, X: Array, Y: Array) -> tuple[Array, Array, Array]:
    """The correctly rounded values, how far in ULP others are from the exact ones, and which are open."""
    from flint import arb, ctx

    rounded, errors, opened = Y.copy(), np.zeros(len(Y)), np.zeros(len(Y), np.bool)
    with ctx.workprec(_BITS):
        for i, (x, y) in enumerate(zip(X.tolist(), Y.tolist(), strict=True)):
            exact = getattr(arb(x), function)()
            low, high = float(exact.lower()), float(exact.upper())
            opened[i] = low != high
            if y not in {low, high}:
                rounded[i] = low
                if math.isfinite(y) and math.isfinite(low):
                    errors[i] = float(abs(exact - arb(y)) / arb(_unit(exact)))
    return rounded, errors, opened


def _unit(exact: Any) -> float:
    """The ULP of double at an exact value, which is not 0: the distance of neighbours in its binade."""
    mantissa, exponent = exact.mid().man_exp()
    return math.ldexp(1.0, max(int(exponent) + int(abs(mantissa)).bit_length() - 53, -1074))


def _count_wrong(row: Row, scale: Scale, where: Array, Y: Array, rounded: Array, errors: Array) -> None:
    none, infinite = np.isnan(Y), np.isinf(Y) & np.isfinite(rounded)
    wrong = rounded != Y
    count(row, wrong=int((wrong | none).sum()), nan=int(none.sum()), infinite=int(infinite.sum()))
    note(row, "nan", where[none][:64])
    note(row, "infinite", where[infinite][:64])
    told = wrong & ~none
    count_distances(row, np.abs(scale.places(Y[told]) - scale.places(rounded[told])))
    if errors.any():
        largest = int(errors.argmax())
        extend(row, "error", float(errors[largest]), int(where[largest]))
