"""The reference as a backend: the operators' pseudo-code, computed with NumPy in the types of the tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx.backend.base import Backend

from conformance import __version__
from conformance.exact.reference.graph import Graph, PreparedReferenceGraph
from conformance.exact.reference.node_validity import check_model

if TYPE_CHECKING:
    import onnx


class ReferenceBackend(Backend):
    """Backend for models whose operators the reference implements."""

    __version__ = __version__

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> PreparedReferenceGraph:
        """Read a model.

        Raises:
            InvalidModel: the model violates the schema or the specification of an operator.
            Unsupported: the reference does not implement an operator.
        """
        check_model(model)
        return PreparedReferenceGraph(Graph.from_model(model))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Return whether the device is the CPU."""
        return device == "CPU"
