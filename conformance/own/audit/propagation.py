"""Errors along a model: the error that each node adds, and the error that all nodes up to it add up to.

Both are the largest difference of an output from an exact value, as a share of the output's largest magnitude:

- `JudgedNode.introduced`: from the exact result of the node on the operands that the runtime passed to it.
- `JudgedNode.accumulated`: from the exact value of the whole model, computed from the model's inputs.

`JudgedNode.origin` is the number of the node from which most of the accumulated error comes.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from conformance.base.verdicts import Unsupported
from conformance.exact.judgement.distances import relative_error
from conformance.exact.judgement.samples import SAMPLED_ABOVE
from conformance.exact.models.arrays import element_count, is_computed
from conformance.exact.models.graphs import find_producers, is_operator, names_taken_by
from conformance.exact.models.input_files import required_input_names
from conformance.exact.reference.node_enclosures import LiveValues, NodeScope, enclose
from conformance.exact.reference.numbers.enclosure import Enclosure
from conformance.exact.reference.oracle import EVALUATION_ERRORS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import onnx

    from conformance.exact.reference.numbers.enclosure import TensorOrSequence
    from conformance.own.audit.node_verdicts import JudgedNode
    from conformance.own.graphs.intermediate_values import ExposedValues

MAX_OPERATIONS = 2**30
"""Operations of a model above which its exact values are not computed; see `conformance.own.graphs.arithmetic`. They
are not computed either if a tensor is so large that only a sample of it is judged."""

INTRODUCED_SHARE = 0.5
"""Share of the accumulated error from which on it is introduced at the node itself."""


def trace_errors(
    model: onnx.ModelProto, exposed: ExposedValues, judged: Sequence[JudgedNode]
) -> list[JudgedNode] | None:
    """Return judged nodes with their accumulated errors and origins; None if the model is too large.

    Args:
        model: the model whose nodes were judged.
        exposed: the values that the subject computed.
        judged: the nodes, in the order of the model.
    """
    sizes = (exposed.values[name].size for name in exposed.values)
    if sum(node.operations for node in judged) > MAX_OPERATIONS or any(size > SAMPLED_ABOVE for size in sizes):
        return None
    introduced = {node.number: node.introduced for node in judged}
    producers = find_producers(model.graph)
    errors = _accumulated_errors(model, exposed)
    origins = dict[int, int]()
    for number in errors:
        before = [producers[name] for name in names_taken_by(model.graph.node[number]) if name in producers]
        worst = max((each for each in before if each in origins), key=errors.__getitem__, default=number)
        is_own = introduced.get(number, 0.0) >= INTRODUCED_SHARE * errors[number] or not errors[worst]
        origins[number] = number if is_own else origins.get(worst, number)
    return [replace(node, accumulated=errors.get(node.number), origin=origins.get(node.number)) for node in judged]


def _accumulated_errors(model: onnx.ModelProto, exposed: ExposedValues) -> dict[int, float]:
    """Return the error of each node with known outputs against the exact value of the whole model."""
    scope = NodeScope.of(model)
    nodes = model.graph.node
    computed = {name for node in nodes if not is_operator(node, "Constant") for name in node.output}
    computed.difference_update(required_input_names(model.graph))
    given = {name: _exact(array) for name, array in exposed.operands.items() if name not in computed}
    values = LiveValues(given, nodes, kept=())
    errors: dict[int, float] = {}
    for number, node in enumerate(nodes):
        if is_operator(node, "Constant"):
            continue
        results = _evaluate(scope, node, values)
        for name, result in results.items():
            if element_count(result) <= SAMPLED_ABOVE:
                with suppress(Unsupported):  # the values that depend on it are not known then
                    values.add(name, result)
            if isinstance(result, (Enclosure, np.ndarray)) and name in exposed.values:
                exact = result.value if isinstance(result, Enclosure) else np.asarray(result)
                errors[number] = max(errors.get(number, 0.0), relative_error(exposed.values[name], exact))
        values.drop(number, node)
    return errors


def _evaluate(
    scope: NodeScope, node: onnx.NodeProto, values: Mapping[str, TensorOrSequence]
) -> dict[str, TensorOrSequence]:
    """Return the exact outputs of a node by name; none if the reference cannot compute them."""
    try:
        with np.errstate(all="ignore"):
            results = enclose(scope, node, values)
    except (Unsupported, *EVALUATION_ERRORS):
        return {}
    return {name: _exact(result) for name, result in zip(node.output, results, strict=False) if name}


def _exact(tensor: Any) -> Any:
    """Return a tensor of floating-point numbers, or a sequence of them, with values in double and without errors."""
    if isinstance(tensor, list):
        return [_exact(each) for each in tensor]
    if isinstance(tensor, Enclosure):
        return Enclosure(tensor.value, np.zeros(tensor.shape), tensor.dtype)
    if isinstance(tensor, np.ndarray) and is_computed(tensor.dtype):
        return Enclosure.exact(tensor)
    return tensor
