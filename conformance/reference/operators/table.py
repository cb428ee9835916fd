"""The operators of the main domain that a graph is walked with, but for those that hold graphs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.models.signatures import softmax_default_axis
from conformance.reference.operators.constants import constant
from conformance.reference.operators.elementwise import ELEMENTWISE
from conformance.reference.operators.indices import INDICES
from conformance.reference.operators.movements import MOVEMENTS
from conformance.reference.operators.primitives import PRIMITIVES
from conformance.reference.operators.reductions import REDUCTIONS
from conformance.reference.operators.sequences import SEQUENCES
from conformance.reference.operators.softmax import coerced, log_softmax, softmax

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from conformance.models.arrays import Array
    from conformance.reference.nodes import Evaluation, Node
    from conformance.reference.numbers.values import NumberSystem, Value


def _function(
    formula: Callable[[Array], Array], roundings: int, _: Node, inputs: list[Value], system: NumberSystem
) -> list[Value]:
    result = system.elementwise(formula, inputs[0], roundings=roundings)
    return [replace(result, order=inputs[0].ordering())]


def _softmax(formula: Callable[..., Array], node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """Several roundings: of an exponential, of each addition to the sum, of the quotient or the logarithm."""
    X, axis = inputs[0], node.attributes.get("axis", softmax_default_axis(node.opset))
    if not X.elements.size:
        return [X]
    roundings = 8 + X.elements.size
    rank = max(X.elements.ndim, 1)
    if node.opset >= 13:
        result, axes = system.elementwise(partial(formula, axis=axis), X, roundings=roundings), {axis % rank}
    else:
        result = system.elementwise(partial(_on_matrix, formula, axis), X, roundings=roundings)
        axes = set(range(axis % rank, rank))
    return [replace(result, order=X.ordering(axes))]


def _on_matrix(formula: Callable[..., Any], axis: int, X: Array) -> Array:
    return np.asarray(formula(coerced(X, axis), axis=1)).reshape(X.shape)


OPERATORS: Mapping[str, Evaluation] = {
    **PRIMITIVES,
    **ELEMENTWISE,
    **MOVEMENTS,
    **REDUCTIONS,
    **INDICES,
    **SEQUENCES,
    "Constant": constant,
    "Exp": partial(_function, np.exp, 2),
    "Log": partial(_function, np.log, 2),
    "Sqrt": partial(_function, np.sqrt, 1),
    "Softmax": partial(_softmax, softmax),
    "LogSoftmax": partial(_softmax, log_softmax),
}
