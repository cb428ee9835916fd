"""Census of Exp, Log and Sqrt: the order of the values at neighbouring arguments, and their rounding."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.studies.census.correct_rounding import FUNCTIONS, correctly_rounded, ulp_size
from conformance.studies.census.counters import (
    MAX_ORDINALS,
    add_counts,
    add_disorder,
    add_distances,
    add_ordinals,
    empty_counters,
    update_extreme,
)

if TYPE_CHECKING:
    from conformance.exact.models.arrays import Array
    from conformance.studies.census.correct_rounding import MonotoneFunction, RoundedValues
    from conformance.studies.census.counters import BinadeCounters
    from conformance.studies.census.float_ordinals import FloatType


BLOCK_VALUES = 2**17
"""Values that are counted at once: the intermediate arrays then stay in the processor's cache."""


def has_known_rounding(float_type: FloatType) -> bool:
    """Return whether the correctly rounded values are computed for all arguments; for double they are not."""
    return float_type.name != "double"


def domain_ordinals(operator: str, float_type: FloatType) -> tuple[int, int]:
    """Return the first and the last ordinal of an operator's domain."""
    least = FUNCTIONS[operator].least
    return (-float_type.infinity if least is None else least), float_type.infinity


def count_neighbours(operator: str, float_type: FloatType, first: int, Y: Array) -> list[BinadeCounters]:
    """Return the counters for an operator's values at consecutive arguments, by binade of the argument.

    Args:
        operator: `Exp`, `Log` or `Sqrt`.
        float_type: type of arguments and values.
        first: ordinal of the first argument.
        Y: the operator's results. The last result is not counted itself, only as part of the last pair, unless its
            argument is infinity.
    """
    function = FUNCTIONS[operator]
    rows = []
    for start, end in float_type.binade_runs(first, first + len(Y) - 1):
        row = empty_counters(float_type.binade(start))
        values = Y[start - first : end - first + 1]
        if not has_known_rounding(float_type):
            _count_pairs(row, float_type, start, values)
        elif not _count_if_constant(row, function, float_type, start, values):
            for offset in range(0, end - start, BLOCK_VALUES):
                _count_block(row, function, float_type, start + offset, values[offset : offset + BLOCK_VALUES + 1])
        rows.append(row)
    if first + len(Y) - 1 == float_type.infinity and has_known_rounding(float_type):
        rows.append(_count_infinity(function, float_type, Y[-1:]))
    return rows


def _count_infinity(function: MonotoneFunction, float_type: FloatType, Y: Array) -> BinadeCounters:
    """Return the counters for the result at infinity, which is not part of a pair with a larger argument."""
    row = empty_counters(float_type.binade(float_type.infinity))
    known = correctly_rounded(function, float_type, float_type.consecutive_values(float_type.infinity, 1))
    _count_values(row, float_type, float_type.infinity, Y, known)
    return row


def _count_if_constant(
    row: BinadeCounters, function: MonotoneFunction, float_type: FloatType, first: int, Y: Array
) -> bool:
    """Count a block of results if all are equal to the same correctly rounded value; return whether that is so."""
    last = first + len(Y) - 1
    ends = np.concatenate([float_type.consecutive_values(first, 1), float_type.consecutive_values(last, 1)])
    known = correctly_rounded(function, float_type, ends)
    bits = Y.view(float_type.signed)
    expected = known.rounded.view(float_type.signed)
    if known.undecided_in_double or expected[0] != expected[1] or not (bits == expected[0]).all():
        return False
    pairs = len(Y) - 1
    value = known.rounded[0]
    kind = "overflow" if np.isinf(value) else "rounding_tie" if value else "underflow"
    add_counts(row, values=pairs, pairs=pairs, merged=pairs, **{kind: pairs})
    return True


def _count_block(row: BinadeCounters, function: MonotoneFunction, float_type: FloatType, first: int, Y: Array) -> None:
    """Count a block of results; the last result is counted only as part of the last pair."""
    known = correctly_rounded(function, float_type, float_type.consecutive_values(first, len(Y)))
    _count_pairs(row, float_type, first, Y, known.rounded)
    _count_values(row, float_type, first, Y[:-1], known)


def _count_pairs(
    row: BinadeCounters, float_type: FloatType, first: int, Y: Array, rounded: Array | None = None
) -> None:
    """Count pairs of neighbouring results; with `rounded`, also equal results that should differ."""
    with np.errstate(invalid="ignore"):
        low = Y[:-1]
        high = Y[1:]
        equal = low == high
        below = high < low
    add_counts(row, pairs=len(low))
    if equal.any():
        _count_merged(row, low, equal, rounded)
    if below.any():
        add_disorder(row, float_type, first + np.flatnonzero(below), low[below], high[below])


def _count_merged(row: BinadeCounters, low: Array, equal: Array, rounded: Array | None) -> None:
    merged = int(equal.sum())
    over = int((equal & np.isinf(low)).sum())
    under = int((equal & (low == 0)).sum())
    apart = 0 if rounded is None else int((equal & (rounded[:-1] != rounded[1:])).sum())
    add_counts(row, merged=merged, overflow=over, underflow=under, rounding_tie=merged - over - under, tied_apart=apart)


def _count_values(row: BinadeCounters, float_type: FloatType, first: int, Y: Array, known: RoundedValues) -> None:
    """Count results that are not correctly rounded; `known` may have more elements than `Y`."""
    rounded = known.rounded[: len(Y)]
    other = known.alternative[: len(Y)]
    add_counts(row, values=len(Y), left_open=known.undecided_in_double, open=known.undecided)
    with np.errstate(invalid="ignore"):
        where = np.flatnonzero((rounded != Y) & (other != Y))
    if len(where):
        exact = known.exact[where]
        with np.errstate(all="ignore"):
            errors = np.abs(Y[where].astype(np.float64) - exact) / ulp_size(float_type, exact)
        _count_wrong(row, float_type, first + where, Y[where], rounded[where], errors)


def _count_wrong(
    row: BinadeCounters, float_type: FloatType, at: Array, values: Array, right: Array, errors: Array
) -> None:
    """Count wrong values.

    Args:
        row: counters to add to.
        float_type: type of the values.
        at: ordinals of the arguments, in order.
        values: the operator's values, all wrong.
        right: the correctly rounded values.
        errors: errors in ULP; ignored if one of the two values is not finite.
    """
    none = np.isnan(values)
    infinite = np.isinf(values) & np.isfinite(right)
    add_counts(row, wrong=len(at), nan=int(none.sum()), infinite=int(infinite.sum()))
    add_ordinals(row, "nan", at[none][:MAX_ORDINALS])
    add_ordinals(row, "infinite", at[infinite][:MAX_ORDINALS])
    add_distances(row, np.abs(float_type.ordinals(values[~none]) - float_type.ordinals(right[~none])))
    finite = np.isfinite(values) & np.isfinite(right)
    if finite.any():
        largest = int(errors[finite].argmax())
        update_extreme(row, "error", float(errors[finite][largest]), int(at[finite][largest]))


MEASURED_ARGUMENTS = 2**20
"""Arguments of double at which the error is measured with Arb."""

ERROR_CHUNKS = 8
"""Number of chunks into which these arguments are divided."""

_ARB_PRECISION_BITS = 192

_VARYING_DOMAINS = {
    "Exp": ((-745.2, -(2.0**-54)), (2.0**-53, 709.8)),
    "Log": ((0.0, math.inf),),
    "Sqrt": ((0.0, math.inf),),
}
"""Ranges of arguments in which the correctly rounded value in double is not constantly 0, 1 or infinity."""


def error_chunk_count() -> int:
    """Return the number of chunks that measure errors of doubles; 0 if Arb (extra `census`) is not installed."""
    return ERROR_CHUNKS if find_spec("flint") else 0


def error_ordinals(operator: str, float_type: FloatType, chunk: int) -> Array:
    """Return the ordinals of a chunk's arguments, in order."""
    runs = _VARYING_DOMAINS[operator]
    each = MEASURED_ARGUMENTS // ERROR_CHUNKS // len(runs)
    parts = []
    for low, high in runs:
        first, last = (int(ordinal) for ordinal in float_type.ordinals(np.asarray([low, high])))
        steps = range(chunk * each, (chunk + 1) * each)
        parts.append([first + (last - first) * (2 * step + 1) // (2 * each * ERROR_CHUNKS) for step in steps])
    return np.concatenate([np.asarray(part, np.int64) for part in parts])


def count_double_errors(operator: str, float_type: FloatType, where: Array, X: Array, Y: Array) -> list[BinadeCounters]:
    """Return the counters for results in double, by binade of the argument.

    Args:
        where: ordinals of the arguments.
        X: the arguments.
        Y: the operator's results.
    """
    rounded, errors, opened = _arb_reference(FUNCTIONS[operator].in_arb, X, Y)
    binades = np.asarray([float_type.binade(int(ordinal)) for ordinal in where])
    found = []
    for binade in np.unique(binades):
        own = binades == binade
        wrong = own & (rounded != Y)
        row = empty_counters(int(binade))
        add_counts(row, values=int(own.sum()), open=int(opened[own].sum()))
        _count_wrong(row, float_type, where[wrong], Y[wrong], rounded[wrong], errors[wrong])
        found.append(row)
    return found


def _arb_reference(function: str, X: Array, Y: Array) -> tuple[Array, Array, Array]:
    """Return three arrays: correctly rounded values, errors of Y in ULP, and whether each rounding is undecided.

    The error of a correctly rounded result is 0.
    """
    from flint import arb, ctx

    rounded = Y.copy()
    errors = np.zeros(len(Y))
    opened = np.zeros(len(Y), np.bool)
    with ctx.workprec(_ARB_PRECISION_BITS):
        for i, (x, y) in enumerate(zip(X.tolist(), Y.tolist(), strict=True)):
            exact = getattr(arb(x), function)()
            low = float(exact.lower())
            high = float(exact.upper())
            opened[i] = low != high
            if y not in {low, high}:
                rounded[i] = low
                if math.isfinite(y) and math.isfinite(low):
                    errors[i] = float(abs(exact - arb(y)) / arb(_double_ulp(exact)))
    return rounded, errors, opened


def _double_ulp(exact: Any) -> float:
    """Return the ULP of double at an exact value other than 0."""
    mantissa, exponent = exact.mid().man_exp()
    return math.ldexp(1.0, max(int(exponent) + int(abs(mantissa)).bit_length() - 53, -1074))
