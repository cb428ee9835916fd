"""Softmax and LogSoftmax, along one axis since opset 13, over coerced 2-D matrices below it."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from conformance.reference.numbers.ranking import below_the_largest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.models.arrays import Array

Shared: TypeAlias = "Callable[[Array], Array]"


def softmax(X: Array, *, axis: int, shared: Shared = np.asarray) -> Array:
    """Exp(X) / ReduceSum(Exp(X), axis), with the maximum subtracted first, as every implementation does.

    Args:
        shared: is given what all elements along the axis have in common.
    """
    Y = np.exp(below_the_largest(X, axis, shared))
    return np.asarray(Y / shared(_total(Y, axis)))


def log_softmax(X: Array, *, axis: int, shared: Shared = np.asarray) -> Array:
    """Log(Softmax(X, axis)), with the maximum subtracted first and the logarithm taken of the sum only."""
    shifted = below_the_largest(X, axis, shared)
    return np.asarray(shifted - shared(np.log(_total(np.exp(shifted), axis))))


def exp_of_log_softmax(X: Array, *, axis: int, shared: Shared = np.asarray) -> Array:
    """Softmax as Exp(X - Log(ReduceSum(Exp(X), axis)))."""
    return np.asarray(np.exp(log_softmax(X, axis=axis, shared=shared)))


def log_of_softmax(X: Array, *, axis: int, shared: Shared = np.asarray) -> Array:
    """LogSoftmax as the logarithm of each quotient."""
    return np.asarray(np.log(softmax(X, axis=axis, shared=shared)))


def coerced(X: Array, axis: int) -> Array:
    """X as the matrix that opsets below 13 take it for: the axes before `axis` by those from it on."""
    axis %= max(X.ndim, 1)
    return X.reshape(prod(X.shape[:axis]), prod(X.shape[axis:]))


def _total(Y: Array, axis: int) -> Array:
    """The sum along an axis from the largest term down: of all orders the one with the largest rounding error."""
    return np.asarray(np.flip(np.sort(Y, axis=axis), axis).sum(axis=axis, keepdims=True))
