"""Where a sample looks more closely: ends of binades, where methods of computing change, and known witnesses.

Exp is usually computed from what is left of the argument once it is reduced by a multiple of ln 2 or of a fraction of
it, Log from the significand and a table of some of its leading bits: between two multiples, or two rows, the method
changes. `witnesses.json` has floats at which released runtimes' own functions are out of order.
"""

from __future__ import annotations

import json
import math
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.census.scale import Scale

_ROWS = 128
"""Rows of the table of a usual Exp, and of a usual Log."""


@cache
def close_places(operator: str, scale: Scale) -> tuple[int, ...]:
    """The places around which a sample of an operator's arguments is closer."""
    arguments = np.asarray([*_special(operator, scale), *known_witnesses(operator)])
    with np.errstate(over="ignore"):
        found = scale.places(arguments.astype(scale.dtype))
    ends = range(0, scale.infinity + 1, 1 << scale.fraction)
    return tuple(sorted({*map(int, found), *ends, *(-end for end in ends)}))


@cache
def known_witnesses(operator: str) -> tuple[float, ...]:
    """Floats at which a released runtime's own function is larger than at the next one; Softmax is made of Exp."""
    file = resources.files("conformance.census").joinpath("witnesses.json")
    name = "Exp" if operator.endswith("Softmax") else operator
    return tuple(map(float.fromhex, json.loads(file.read_bytes())[name]))


def _special(operator: str, scale: Scale) -> Iterator[float]:
    """The special arguments of an operator."""
    if operator == "Log":
        yield from _of_log(scale)
    elif operator != "Sqrt":
        yield from _of_exp(scale)


def _of_exp(scale: Scale) -> Iterator[float]:
    steps = round(scale.format.largest_exponent) + scale.fraction + 2
    for multiple in range(-steps, steps):
        yield (multiple + 0.5) * math.log(2)
    for row in range(-2 * _ROWS, 2 * _ROWS):
        yield (row + 0.5) * math.log(2) / _ROWS
    least = 1 - scale.format.largest_exponent
    for exponent in (scale.format.largest_exponent + 1, least, least - scale.fraction, least - scale.fraction - 1):
        yield exponent * math.log(2)


def _of_log(scale: Scale) -> Iterator[float]:
    for bits in range(1, scale.fraction + 2):
        yield from (1 - 2.0**-bits, 1 + 2.0**-bits)
    for row in range(_ROWS):
        yield from ((1 + (row + 0.5) / _ROWS) / 2, 1 + (row + 0.5) / _ROWS)
    yield from (math.sqrt(0.5), math.sqrt(2), math.e)
