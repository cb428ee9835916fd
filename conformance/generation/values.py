"""Inputs that are the same on every machine and library version: exact arithmetic on a counter-based hash."""

from __future__ import annotations

from hashlib import sha256
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.models.arrays import Array

_STEP = np.uint64(0x9E3779B97F4A7C15)


def scattered(name: str, shape: Sequence[int], dtype: Any, low: float = -2.0, high: float = 2.0) -> Array:
    """Numbers spread over [low, high), other ones for every name, as many significant bits as the type has.

    `low` and `high` must be such that `high - low` is a power of two, so that no step but the last rounds.
    """
    seed = np.uint64(int.from_bytes(sha256(name.encode()).digest()[:8], "big"))
    with np.errstate(over="ignore"):
        counters = np.arange(1, prod(shape) + 1, dtype=np.uint64) * _STEP + seed
    fractions = (_mixed(counters) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return (low + fractions * (high - low)).astype(dtype).reshape(tuple(shape))


def _mixed(x: Array) -> Array:
    """The output function of SplitMix64 (Steele, Lea and Flood, 2014)."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def ranked(name: str, shape: Sequence[int], dtype: Any) -> Array:
    """The quarters 0.25, 0.5, 0.75, … in another order for every name.

    Up to some 32 of them are told apart by every type from bfloat16 on, and so are their logarithms, exponentials and
    square roots.
    """
    order = np.argsort(np.argsort(scattered(name, (prod(shape),), np.float64), kind="stable"), kind="stable")
    return np.asarray((order + 1) / 4).astype(dtype).reshape(tuple(shape))
