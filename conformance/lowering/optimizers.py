"""Which nodes of a model are training optimizers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.models.graphs import all_nodes
from conformance.models.signatures import TRAINING, TRAINING_OPTIMIZERS

if TYPE_CHECKING:
    import onnx


def is_training_optimizer(node: onnx.NodeProto) -> bool:
    """Whether a node is an Adam, Momentum or Adagrad."""
    return node.domain == TRAINING and node.op_type in TRAINING_OPTIMIZERS


def has_training_optimizers(model: onnx.ModelProto) -> bool:
    """Whether there is a node to lower anywhere in a model, its functions included."""
    return any(is_training_optimizer(node) for node in all_nodes(model))
