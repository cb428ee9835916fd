"""Enclosures of the outputs of one node: the values that any correct implementation of the node may return.

`enclose_node` computes them on whole arrays, so that `conformance.audit` can judge the nodes of a user's own model. The
oracle of the corpus (`conformance.reference.oracle`) is tighter, but handles only small tensors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.models.types import MAIN_DOMAINS
from conformance.reference.enclosures.elementwise import ELEMENTWISE_ENCLOSURES
from conformance.reference.enclosures.exact import EXACT_OPERATORS, evaluate_exactly
from conformance.reference.enclosures.images import IMAGE_ENCLOSURES
from conformance.reference.enclosures.linear import LINEAR_ENCLOSURES
from conformance.reference.enclosures.normalization import NORMALIZATION_ENCLOSURES
from conformance.reference.enclosures.recurrent import RECURRENT_ENCLOSURES
from conformance.reference.numbers.enclosure import Enclosure
from conformance.reference.numbers.precision import is_computed
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.reference.enclosures.exact import NodeEnclosure
    from conformance.reference.nodes import Node
    from conformance.reference.numbers.enclosure import Tensor

ENCLOSURES: Mapping[str, NodeEnclosure] = {
    **ELEMENTWISE_ENCLOSURES,
    **LINEAR_ENCLOSURES,
    **NORMALIZATION_ENCLOSURES,
    **RECURRENT_ENCLOSURES,
    **IMAGE_ENCLOSURES,
}
"""The function that encloses the outputs of each operator of the main domain that rounds, by op_type."""


def is_supported(node: Node) -> bool:
    """Return whether `enclose_node` knows the operator of a node. Some of its attributes may still be unsupported."""
    return node.domain in MAIN_DOMAINS and (node.op_type in ENCLOSURES or node.op_type in EXACT_OPERATORS)


def enclose_node(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Return enclosures of the outputs of a node.

    Args:
        node: the node.
        inputs: its inputs. A tensor of numbers may be an array, if its elements are known, or an `Enclosure`.

    Returns:
        An `Enclosure` for each output whose elements may differ by rounding, and an array for every other output.

    Raises:
        Unsupported: there is no reference for the operator, an attribute or a type, or rounding of an input decides
            which elements the outputs have.
    """
    if not is_supported(node):
        raise Unsupported(f"no reference for {node.domain or 'ai.onnx'}.{node.op_type}")
    if node.op_type in EXACT_OPERATORS:
        return evaluate_exactly(node, inputs)
    given = [tensor for tensor in inputs if tensor is not None]
    if node.op_type != "Cast" and not any(
        isinstance(tensor, Enclosure) or is_computed(tensor.dtype) for tensor in given
    ):
        return evaluate_exactly(node, inputs)
    return ENCLOSURES[node.op_type](node, [_as_enclosure(tensor) for tensor in inputs])


def _as_enclosure(tensor: Tensor) -> Tensor:
    """Return a tensor of floating-point numbers as an enclosure, and every other tensor unchanged."""
    if tensor is None or isinstance(tensor, Enclosure) or not is_computed(tensor.dtype):
        return tensor
    return Enclosure.exact(tensor)
