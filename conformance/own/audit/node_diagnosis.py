"""Names the mistake of an operator: the one mutant that explains every wrong node and every wrong probe of it.

A wrong name costs more than a missing one. A mistake is named only if it explains all wrong results of the operator,
and if no other mistake does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from conformance.exact.models.types import normal_domain
from conformance.run.mutants.node_mutants import NodeRun, explaining_mistakes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from conformance.exact.models.arrays import Array
    from conformance.own.audit.judgement import JudgedNode

MAX_ELEMENTS = 20_000
"""Largest number of elements of the operands and results of a node that is run with all mutants."""

MAX_NODES = 8
"""Number of wrong nodes and probes of an operator that are run with all mutants."""


def name_mistakes(model: onnx.ModelProto, wrong: Iterable[tuple[JudgedNode, Mapping[str, Array]]]) -> dict[str, str]:
    """Return the mistake of each operator whose wrong results one mistake explains.

    Args:
        model: the model; the numbers of the nodes are those of its main graph.
        wrong: the wrong nodes and probes, each with the values that the subject took and returned, by name.
    """
    opsets = {normal_domain(each.domain): each.version for each in model.opset_import}
    explained: dict[str, list[set[str]]] = {}
    for judged, values in wrong:
        results = explained.setdefault(judged.op_type, [])
        if len(results) < MAX_NODES:
            results.append(_mistakes_of_node(model.graph.node[judged.number], opsets, values))
    shared = {operator: set.intersection(*found) for operator, found in explained.items()}
    return {operator: mistakes.pop() for operator, mistakes in shared.items() if len(mistakes) == 1}


def _mistakes_of_node(node: onnx.NodeProto, opsets: Mapping[str, int], values: Mapping[str, Array]) -> set[str]:
    """Return the mistakes that explain the results of one node; none if a value is not known or too large."""
    names = [name for name in (*node.input, *node.output) if name]
    is_known = all(name in values for name in names)
    if not is_known or sum(values[name].size for name in names) > MAX_ELEMENTS:
        return set()
    operands = tuple(values[name] if name else None for name in node.input)
    actual = [values[name] for name in node.output if name]
    try:
        return explaining_mistakes(NodeRun(node, opsets[normal_domain(node.domain)], operands), actual)
    except onnx.defs.SchemaError:
        return set()
