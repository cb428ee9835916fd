"""Which nodes of a model are training optimizers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.models.graphs import all_nodes
from conformance.reference.operators.training import training_optimizer_of

if TYPE_CHECKING:
    import onnx


def is_training_optimizer(node: onnx.NodeProto) -> bool:
    """Whether a node is one."""
    return training_optimizer_of(node.domain, node.op_type) is not None


def has_training_optimizers(model: onnx.ModelProto) -> bool:
    """Whether there is a node to lower anywhere in a model, its functions included."""
    return any(is_training_optimizer(node) for node in all_nodes(model))
