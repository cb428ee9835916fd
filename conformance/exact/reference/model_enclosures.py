"""Enclosures of the outputs of a whole model, and whether those of two models have a common value.

The outputs are enclosed from the inputs, node by node, with composed bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import element_distances, equal_elements, have_same_bits
from conformance.exact.models.graphs import is_operator, names_taken_by
from conformance.exact.models.input_files import constant_value
from conformance.exact.reference.node_enclosures import LiveValues, NodeScope, enclose
from conformance.exact.reference.numbers.enclosure import Enclosure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import onnx

    from conformance.exact.models.arrays import Array

MARGIN = 2.0
"""Distance of two enclosures, as a multiple of the sum of their bounds, above which the graph optimizer is wrong.

A graph optimizer may compute constants of the rewrite, each with one more rounding than the bounds of the rewrite have.
"""


@dataclass(frozen=True)
class AcceptableIndices:
    """The indices that ArgMax or ArgMin may return.

    Attributes:
        mask: whether each element of the operand may be the extreme; its first axis is that of the operator.
        keeps: whether the output has the axis with size 1.
        axis: the axis.
        hazard: the reason for which more than one index may be acceptable.
    """

    mask: Array
    keeps: bool
    axis: int
    hazard: str = "rounding_tie"

    def share(self, actual: Array) -> float:
        """Return 0 if every index is acceptable, otherwise infinity."""
        shape = [*self.mask.shape[1:]]
        if self.keeps:
            shape.insert(self.axis, 1)
        if actual.dtype != np.int64 or actual.shape != tuple(shape):
            return np.inf
        indices = actual.reshape(self.mask.shape[1:])
        if indices.size and (indices.min() < 0 or indices.max() >= self.mask.shape[0]):
            return np.inf
        return 0.0 if np.take_along_axis(self.mask, indices[None], 0).all() else np.inf


FIRST_VERSION_WITH_TIES = 12
"""Opset from which the pages of ArgMax and ArgMin state which of equal elements is selected."""

NODES_BETWEEN_NOTES = 64
"""Number of nodes after which the progress is shown."""


def enclose_model(
    model: onnx.ModelProto, given: Mapping[str, Any], note: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Return an enclosure, an array or `AcceptableIndices` for each output of a model that can be enclosed.

    An output that cannot be enclosed has the reason as text.

    Args:
        model: the model.
        given: its initializers and inputs by name.
        note: is called with the progress for the user; its errors end the work.
    """
    scope = NodeScope.of(model)
    outputs = {value.name for value in model.graph.output}
    values = LiveValues(given, model.graph.node, kept=outputs)
    reasons: dict[str, str] = {}
    found: dict[str, Any] = {}
    for number, node in enumerate(model.graph.node):
        if number % NODES_BETWEEN_NOTES == 0:
            note(f"{number} of {len(model.graph.node)} nodes judged")
        names = names_taken_by(node)
        reason = next((reasons[name] for name in names if name in reasons), "")
        if not reason and any(isinstance(values.get(name), AcceptableIndices) for name in names):
            reason = "rounding decides an index that another node takes"
        if not reason:
            try:
                with np.errstate(all="ignore"):
                    results = _enclose(scope, node, values)
                for name, each in zip(node.output, results, strict=False):
                    values.add(name, each.unrounded() if isinstance(each, Enclosure) else each)
                    if name in outputs:
                        found[name] = each
                values.drop(number, node)
                continue
            except Unsupported as error:
                reason = str(error)
            except Exception as error:  # noqa: BLE001 - the reference lacks this use of the operator
                reason = f"the reference cannot compute {node.op_type}: {type(error).__name__}: {error}"
        reasons.update((name, reason) for name in node.output if name)
        values.drop(number, node)
    values |= found
    return {
        value.name: values.get(value.name, reasons.get(value.name, "its value is not known"))
        for value in model.graph.output
    }


def _enclose(scope: NodeScope, node: onnx.NodeProto, values: Mapping[str, Any]) -> Sequence[Any]:
    if is_operator(node, "Constant"):
        if (value := constant_value(node)) is None:
            raise Unsupported("a Constant that is not a tensor of numbers")
        return [value]
    operand = values.get(node.input[0]) if node.input else None
    if is_operator(node, "ArgMax", "ArgMin"):
        if isinstance(operand, Enclosure) and (not operand.is_exact or np.isnan(operand.value).any()):
            return [_acceptable(scope, node, operand)]
        if isinstance(operand, np.ndarray) and operand.dtype.kind == "f" and np.isnan(operand).any():
            return [_acceptable(scope, node, Enclosure.exact(operand))]
    return enclose(scope, node, values)


def _acceptable(scope: NodeScope, node: onnx.NodeProto, operand: Enclosure) -> AcceptableIndices:
    """Return the indices of elements that can be the extreme, and can be the first or last one as the page asks.

    Before opset 12, the page does not state which of equal elements is selected.
    """
    attributes = {attribute.name: attribute.i for attribute in node.attribute}
    axis = attributes.get("axis", 0) % operand.value.ndim
    sign = 1 if node.op_type == "ArgMax" else -1
    value = np.moveaxis(sign * operand.value, axis, 0)
    error = np.moveaxis(operand.error, axis, 0)
    low = value - error
    high = value + error
    is_last = bool(attributes.get("select_last_index", 0))
    is_ordered = scope.opsets.get("", 0) >= FIRST_VERSION_WITH_TIES
    mask = _exceeds_before(low, high, is_strict=is_ordered and not is_last)
    mask &= np.flip(_exceeds_before(np.flip(low, 0), np.flip(high, 0), is_strict=is_ordered and is_last), 0)
    mask |= np.isnan(low).any(axis=0, keepdims=True)
    hazard = "nan" if np.isnan(value).any() else "overflow" if np.isinf(error).any() else "rounding_tie"
    return AcceptableIndices(np.asarray(mask), bool(attributes.get("keepdims", 1)), axis, hazard)


def _exceeds_before(low: Array, high: Array, *, is_strict: bool) -> Array:
    """Return which elements can be at least as large as each element before them, or larger if `is_strict`."""
    mask = np.ones(low.shape, np.bool_)
    before = np.maximum.accumulate(low, axis=0)[:-1]
    mask[1:] = high[1:] > before if is_strict else high[1:] >= before
    return mask


def _are_sequences_apart(first: Any, second: Any) -> bool | None:
    """Return whether the items of two sequences have no common value; None if this cannot be judged."""
    if not (isinstance(first, list) and isinstance(second, list) and len(first) == len(second)):
        return True
    found = list(map(are_apart, first, second))
    return None if None in found and True not in found else True in found


def are_apart(first: Any, second: Any) -> bool | None:
    """Return whether two enclosures have no common value; None if this cannot be judged."""
    if isinstance(first, str) or isinstance(second, str):
        return None
    if isinstance(first, list) or isinstance(second, list):
        return _are_sequences_apart(first, second)
    if isinstance(first, dict) or isinstance(second, dict):
        return not have_same_bits(first, second)
    kinds = [isinstance(each, AcceptableIndices) for each in (first, second)]
    if all(kinds):
        return first.mask.shape != second.mask.shape or not bool((first.mask & second.mask).any(axis=0).all())
    if any(kinds):
        indices, exact = (first, second) if kinds[0] else (second, first)
        return isinstance(exact, np.ndarray) and indices.share(exact) > 1
    if first.dtype != second.dtype or tuple(first.shape) != tuple(second.shape):
        return True
    if not isinstance(first, Enclosure) and not isinstance(second, Enclosure):
        return not bool(np.all(equal_elements(first, second)))
    a, b = (each if isinstance(each, Enclosure) else Enclosure.exact(each) for each in (first, second))
    with np.errstate(all="ignore"):
        near = element_distances(a.value, b.value) <= MARGIN * (a.error + b.error)
        is_open = np.isinf(a.error) | np.isinf(b.error) | np.isnan(a.error) | np.isnan(b.error)
        return not bool(np.all(near | is_open))
