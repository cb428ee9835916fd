"""Double-double arithmetic on arrays: numbers of about 106 bits, each the sum of two doubles.

All functions use only `+ - * / sqrt` of doubles and scaling by powers of two, which IEEE 754 rounds correctly.
The results therefore have the same bits on every machine, whatever its C library is.

Two kinds of functions exist. The error-free transformations (`two_sum`, `two_product`, `exact_sum`) have no error.
The other functions return a pair `(high, low)` with |low| at most half an ULP of `high`, and state their largest error.
They expect finite doubles whose products neither overflow nor underflow.

Sources: T. J. Dekker, "A floating-point technique for extending the available precision" (1971); J. Joldes,
J.-M. Muller and V. Popescu, "Tight and rigorous error bounds for basic building blocks of double-word arithmetic"
(2017), which proves that a sum has a relative error of at most 2**-103, and a product of at most 2**-102.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from conformance.models.arrays import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

Pair: TypeAlias = tuple[Array, Array]

SPLITTER = float(2**27 + 1)
"""Factor that splits a double into two halves of 26 bits (Veltkamp)."""

EXP_ERROR = 2.0**-97
"""The largest relative error of `exp`.

The reduced argument has an absolute error of 2**-104. The polynomial leaves out terms below 2**-119. Its last addition
has a relative error of 2**-103. The errors of its inner terms are multiplied by at most 2**-6. The table and the
product with its entry add 2**-106 and 2**-102. The sum is below 2**-101, 16 times less than this constant.
"""

TERMS = 14
"""The number of terms of the exponential's polynomial. |r| <= 2**-6, so the next term is below 2**-84 / 14!."""

SUBINTERVALS = 32
"""The number of entries per unit of the table of exponentials."""

SERIES_TERMS = 12
"""The number of terms of the series that gives a logarithm in double."""

REDUCED_BITS = 42
"""The significant bits of the parts of ln 2: their products with integers of up to 11 bits are exact."""


# Error-free transformations


def two_sum(a: Array, b: Array | float) -> Pair:
    """Return a + b as the rounded sum and its error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Array, b: Array) -> Pair:
    """Return a * b as the rounded product and its error."""
    total = a * b
    (a_high, a_low), (b_high, b_low) = _split(a), _split(b)
    return total, ((a_high * b_high - total) + a_high * b_low + a_low * b_high) + a_low * b_low


def _split(a: Array) -> Pair:
    scaled = SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high


def exact_sum(terms: Sequence[Array]) -> tuple[Array, Array, Array]:
    """Return the exact sum of arrays of one shape as (nearest, rest, is_certain).

    Args:
        terms: the arrays to add.

    Returns:
        The double nearest to the sum; the rest, with the correct sign and at most an ULP of itself wrong; and whether
        both are certain. They are not certain where the rounds did not separate the terms.
    """
    parts = [term for term in terms if term.any()] or [terms[0]]
    for _ in range(len(parts)):
        for place in range(len(parts) - 1, 0, -1):
            parts[place - 1], parts[place] = two_sum(parts[place - 1], parts[place])
        if len(parts) < 3 or all((a + b == a).all() for a, b in pairwise(parts)):
            break
    is_certain = np.ones(parts[0].shape, dtype=np.bool_)
    for a, b in pairwise(parts):
        is_certain &= a + b == a
    parts += [np.zeros_like(parts[0])] * (2 - len(parts))
    rest = parts[-1]
    for part in parts[-2:0:-1]:
        rest = part + rest
    return parts[0], rest, is_certain


# Double-double operations


def _fast_two_sum(a: Array, b: Array) -> Pair:
    """Return a + b as the rounded sum and its error, if |a| >= |b| or a is 0."""
    total = a + b
    return total, b - (total - a)


def add(a: Pair, b: Pair) -> Pair:
    """Return a + b with a relative error of at most 2**-103."""
    high, high_error = two_sum(a[0], b[0])
    low, low_error = two_sum(a[1], b[1])
    high, high_error = _fast_two_sum(high, high_error + low)
    return _fast_two_sum(high, high_error + low_error)


def add_double(a: Pair, b: Array | float) -> Pair:
    """Return a + b with a relative error of at most 2**-104."""
    high, error = two_sum(a[0], b)
    return _fast_two_sum(high, error + a[1])


def multiply(a: Pair, b: Pair) -> Pair:
    """Return a * b with a relative error of at most 2**-102."""
    high, error = two_product(a[0], b[0])
    return _fast_two_sum(high, error + (a[0] * b[1] + a[1] * b[0]))


def divide(a: Array, b: Array) -> tuple[Array, Array, Array]:
    """Return the quotient of doubles as (high, low, error); the error is absolute, and 0 if the quotient is exact."""
    high = a / b
    product, rest = two_product(high, b)
    low = ((a - product) - rest) / b  # the remainder is a double, so only this division rounds
    return high, low, np.abs(low) * 2.0**-52


def sqrt(a: Array) -> tuple[Array, Array, Array]:
    """Return the square root of positive doubles as (high, low, error), as `divide` does.

    `low` is (a - high**2) / (2 high), rounded once. It leaves out low**2 / (2 high), below 2**-54 of `low`.
    """
    high = np.sqrt(a)
    product, rest = two_product(high, high)
    low = ((a - product) - rest) / (2 * high)
    return high, low, np.abs(low) * 2.0**-51


# Functions


def _exact_parts(value: Decimal, bits: Sequence[int]) -> list[float]:
    """Return doubles with the given numbers of significant bits whose sum approximates a value."""
    parts = []
    for width in bits:
        mantissa, exponent = math.frexp(float(value))
        parts.append(math.ldexp(round(math.ldexp(mantissa, width)), exponent - width))
        value -= Decimal(parts[-1])
    return parts


def _as_pair(value: Decimal) -> tuple[float, float]:
    high, low = _exact_parts(value, (53, 53))
    return high, low


@cache
def _constants() -> tuple[list[float], list[tuple[float, float]], Pair]:
    """Return ln 2 in three parts, the coefficients 1 / n!, and the exponentials of the multiples of 1/32."""
    with localcontext(prec=120):
        ln_2 = _exact_parts(Decimal(2).ln(), (REDUCED_BITS, REDUCED_BITS, 53))
        coefficients = [_as_pair(1 / Decimal(math.factorial(n))) for n in range(TERMS)]
        half = SUBINTERVALS // 2
        table = [_as_pair((Decimal(n) / SUBINTERVALS).exp()) for n in range(-half, half + 1)]
    return ln_2, coefficients, (np.array([high for high, _ in table]), np.array([low for _, low in table]))


def exp(x: Array) -> Pair:
    """Return the exponential of doubles of a magnitude up to 600, with a relative error of at most `EXP_ERROR`."""
    ln_2, coefficients, (table_high, table_low) = _constants()
    exponent = np.rint(x / ln_2[0])
    reduced = two_sum(x, -exponent * ln_2[0])
    reduced = add_double(add_double(reduced, -exponent * ln_2[1]), -exponent * ln_2[2])
    place = np.rint(reduced[0] * SUBINTERVALS)
    reduced = add_double(reduced, -place / SUBINTERVALS)
    result = np.full_like(x, coefficients[-1][0]), np.full_like(x, coefficients[-1][1])
    for coefficient in coefficients[-2::-1]:
        product = multiply(result, reduced)
        result = add(product, (np.full_like(x, coefficient[0]), np.full_like(x, coefficient[1])))
    entry = place.astype(np.intp) + SUBINTERVALS // 2
    high, low = multiply(result, (table_high[entry], table_low[entry]))
    shift = exponent.astype(np.int32)
    return np.ldexp(high, shift), np.ldexp(low, shift)


def log(x: Array) -> tuple[Array, Array, Array]:
    """Return the logarithm of positive doubles as (high, low, error), with the largest absolute error.

    A series gives a first value y in double. With t = x * exp(-y) - 1, the logarithm is y + t - t**2 / 2 + …; the next
    term is below 2**-120, because the error of y, and so t, is below 2**-40. The errors are those of `exp`, of the
    product, and of the last sum, 2**-104 relative.
    """
    ln_2 = _constants()[0]
    mantissa, exponent = np.frexp(x)
    is_small = mantissa < math.sqrt(0.5)
    mantissa, exponent = np.where(is_small, 2 * mantissa, mantissa), exponent - is_small
    ratio = (mantissa - 1) / (mantissa + 1)
    series = np.zeros_like(x)
    for n in range(2 * SERIES_TERMS - 1, 0, -2):
        series = series * ratio * ratio + 2 / n
    first = exponent * ln_2[0] + series * ratio
    # The exponent is applied to both factors, so that the product stays near 1.
    high, low = exp(-first)
    t = add_double(multiply((np.ldexp(high, exponent), np.ldexp(low, exponent)), (mantissa, np.zeros_like(x))), -1.0)
    correction = add(t, multiply((-t[0] / 2, -t[1] / 2), t))
    high, low = add_double(correction, first)
    return high, low, 1.5 * EXP_ERROR + np.abs(first) * 2.0**-102
