"""Products of tensors whose sums have the same bits on each machine.

NumPy adds products in an order that depends on the processor and on its library. In a block of `with_portable_bits`,
the functions of this module add them one after the other, and `elementary` computes functions with decimals.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exact.models.arrays import Array

HAS_PORTABLE_BITS: ContextVar[bool] = ContextVar("HAS_PORTABLE_BITS", default=False)
"""Whether results must have the same bits on each machine."""

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@contextmanager
def with_portable_bits(*, enabled: bool = True) -> Iterator[None]:
    """Compute doubles in a block with the same bits on each machine, which takes longer."""
    token = HAS_PORTABLE_BITS.set(enabled)
    try:
        yield
    finally:
        HAS_PORTABLE_BITS.reset(token)


def has_portable_bits() -> bool:
    """Return whether results must have the same bits on each machine."""
    return HAS_PORTABLE_BITS.get()


def matmul(a: Array, b: Array) -> Array:
    """Return the matrix product, as `numpy.matmul` does."""
    if not (has_portable_bits() and a.dtype.kind == "f" and a.ndim and b.ndim):
        return np.asarray(np.matmul(a, b))
    first = a[np.newaxis] if a.ndim == 1 else a
    second = b[:, np.newaxis] if b.ndim == 1 else b
    # zeros; the product of no terms also checks all sizes but the common one
    total: Array = np.matmul(first[..., :0], second[..., :0, :])
    if first.shape[-1] != second.shape[-2]:
        raise ValueError(f"matmul of the shapes {a.shape} and {b.shape}")
    for place in range(first.shape[-1]):
        total += first[..., place : place + 1] * second[..., place : place + 1, :]
    axes = [-2] * (a.ndim == 1) + [-1] * (b.ndim == 1)
    return np.squeeze(total, tuple(axes)) if axes else total


def einsum(equation: str, *operands: Array) -> Array:
    """Return sums of products by Einstein's convention, as `numpy.einsum` does."""
    if not has_portable_bits() or any(each.dtype.kind != "f" for each in operands):
        return np.asarray(np.einsum(equation, *operands, optimize=len(operands) > 1))
    terms, kept = _named_axes(equation, operands)
    added = [name for name in dict.fromkeys("".join(terms)) if name not in kept]
    order = [*kept, *added]
    factors = [_spread(term, order, each) for term, each in zip(terms, operands, strict=True)]
    shape = np.broadcast_shapes(*(factor.shape for factor in factors))
    total = np.zeros(shape[: len(kept)])
    for place in product(*map(range, shape[len(kept) :])):
        parts = [_at(factor, place) for factor in factors]
        term = parts[0]
        for part in parts[1:]:
            term = term * part
        total += term
    return total


def _named_axes(equation: str, operands: Any) -> tuple[list[str], str]:
    """Return the letters of the axes of each operand and of the result; three dots have letters of their own."""
    left, arrow, kept = equation.replace(" ", "").replace("...", ".").partition("->")
    free = [letter for letter in _LETTERS if letter not in equation]
    terms = left.split(",")
    if len(terms) != len(operands):
        raise ValueError(f"the equation {equation} has another number of operands")
    counts = [each.ndim - len(term) + 1 if "." in term else 0 for term, each in zip(terms, operands, strict=True)]
    dots = "".join(free[: max(counts)])
    named = [term.replace(".", dots[len(dots) - count :]) for term, count in zip(terms, counts, strict=True)]
    if not arrow:
        kept = "." * bool(dots) + "".join(sorted(name for name in set(left) - {",", "."} if left.count(name) == 1))
    return named, kept.replace(".", dots)


def _spread(term: str, order: list[str], operand: Array) -> Array:
    """Return an operand with an axis for each letter in an order; the axis of a letter without one has the size 1."""
    own = [name for name in order if name in term]
    moved = np.einsum(f"{term}->{''.join(own)}", operand)
    sizes = dict(zip(own, moved.shape, strict=True))
    return np.asarray(moved).reshape([sizes.get(name, 1) for name in order])


def _at(factor: Array, place: tuple[int, ...]) -> Array:
    """Return the part of a factor at a place along its last axes; an axis of the size 1 has one part for all places."""
    first = factor.ndim - len(place)
    index: list[Any] = [at if size > 1 else 0 for at, size in zip(place, factor.shape[first:], strict=True)]
    return np.asarray(factor[(..., *index)])
