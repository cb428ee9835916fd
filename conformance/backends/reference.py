"""The suite's own backend: the operators' pseudo-code on NumPy arrays of the tensors' types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx.backend.base import Backend, BackendRep

from conformance import __version__
from conformance.reference.graph import Graph
from conformance.reference.numbers.native import Native
from conformance.reference.validity import check

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx

    from conformance.models.arrays import Array


class PreparedGraph(BackendRep):
    """A graph ready to run."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def run(self, inputs: Sequence[Array], **_: Any) -> tuple[Array, ...]:
        """The outputs for inputs in the graph's order."""
        return tuple(value.elements for value in self._graph.run(inputs, Native()))


class ReferenceBackend(Backend):
    """Runs graphs made of the suite's operators."""

    __version__ = __version__

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> PreparedGraph:
        """Read a model.

        Raises:
            InvalidModel: it is not what its operators' schemas and pages demand.
            Unsupported: it has other operators.
        """
        check(model)
        return PreparedGraph(Graph.of(model))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether this is the CPU."""
        return device == "CPU"
