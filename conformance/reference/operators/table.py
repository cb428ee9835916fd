"""The operators of the main domain that a graph is walked with, but for those that hold graphs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.models.signatures import softmax_default_axis
from conformance.reference.operators.constants import constant
from conformance.reference.operators.elementwise import ELEMENTWISE
from conformance.reference.operators.functions import through_double
from conformance.reference.operators.indices import INDICES
from conformance.reference.operators.movements import MOVEMENTS
from conformance.reference.operators.primitives import PRIMITIVES
from conformance.reference.operators.reductions import REDUCTIONS
from conformance.reference.operators.sequences import SEQUENCES
from conformance.reference.operators.softmax import (
    coerced,
    exp_of_log_softmax,
    log_of_softmax,
    log_softmax,
    softmax,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.models.arrays import Array
    from conformance.reference.nodes import Evaluation, Node
    from conformance.reference.numbers.values import NumberSystem, Value
    from conformance.reference.operators.softmax import Shared


def _function(
    formula: Callable[[Array], Array], roundings: int, _: Node, inputs: list[Value], system: NumberSystem
) -> list[Value]:
    (X,) = inputs
    result = system.elementwise(formula, X, roundings=roundings)
    ranks = None if X.ranks is None else system.apart([lambda numbers, shared: formula(numbers)], X)  # noqa: ARG005
    return [replace(result, order=X.ordering(), ranks=ranks)]


def _softmax(
    forms: Sequence[Callable[..., Array]], node: Node, inputs: list[Value], system: NumberSystem
) -> list[Value]:
    """Several roundings: of an exponential, of each addition to the sum, of the quotient or the logarithm.

    Below opset 11 no range of `axis` was stated. Its default, 1, makes of a tensor of rank 1 a column, each element of
    which is a row of its own, and by another reading a row: an answer may be either.
    """
    X, axis = inputs[0], node.attributes.get("axis", softmax_default_axis(node.opset))
    if not X.elements.size:
        return [X]
    rank = max(X.elements.ndim, 1)
    if node.opset >= 13:
        formulas, axes = [partial(form, axis=axis) for form in forms], {axis % rank}
    else:
        formulas, axes = [partial(_on_matrix, form, axis) for form in forms], set(range(axis % rank, rank))
    result = system.elementwise(formulas[0], X, roundings=8 + X.elements.size)
    if node.opset < 11 and axis == X.elements.ndim:
        ones = system.elementwise(partial(_on_column, forms[0]), X)
        return [system.either(ones, result)]
    return [replace(result, order=X.ordering(axes), ranks=system.apart(formulas, X, axes))]


def _on_column(formula: Callable[..., Any], X: Array) -> Array:
    return np.asarray(formula(X.reshape(-1, 1), axis=1)).reshape(X.shape)


def _on_matrix(formula: Callable[..., Any], axis: int, X: Array, **shared: Shared) -> Array:
    return np.asarray(formula(coerced(X, axis), axis=1, **shared)).reshape(X.shape)


OPERATORS: Mapping[str, Evaluation] = {
    **PRIMITIVES,
    **ELEMENTWISE,
    **MOVEMENTS,
    **REDUCTIONS,
    **INDICES,
    **SEQUENCES,
    "Constant": constant,
    "Exp": partial(_function, through_double(np.exp), 2),
    "Log": partial(_function, through_double(np.log), 2),
    "Sqrt": partial(_function, np.sqrt, 1),
    "Softmax": partial(_softmax, [softmax, exp_of_log_softmax]),
    "LogSoftmax": partial(_softmax, [log_softmax, log_of_softmax]),
}
