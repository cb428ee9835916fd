"""JAX on the CPU, with jaxonnxruntime; double and int64 are enabled because its operators need them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import onnx
from jaxonnxruntime import __version__, config
from jaxonnxruntime.backend import Backend as Runtime
from jaxonnxruntime.core.handler import Handler

from .server import Adapter, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .server import Array


os.environ.setdefault("JAX_PLATFORMS", "cpu")


jax.config.update("jax_enable_x64", True)
config.update("jaxort_only_allow_initializers_as_static_args", False)  # otherwise no Cast of a computed value runs

_MISSING_INPUT_TEXT = "Fail to get the input tensor"
"""Text of the error for a subgraph with intermediate values; it precedes the check whether operators are known."""


class PreparedJaxModel:
    """A model that was read; jaxonnxruntime checks its operators only when the model runs."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._graph = model.graph
        self._model = Runtime.prepare(model)

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """Run the model, and return the outputs in the graph's order.

        Raises:
            NotImplementedError: jaxonnxruntime does not implement an operator.
            Unsupported: jaxonnxruntime does not implement an operator, and raised another error before its own check.
        """
        try:
            outputs = self._model.run(dict(feeds))
        except ValueError as error:
            lacking = [node for node in _iter_nodes(self._graph) if node.op_type not in _implemented_operators()]
            if _MISSING_INPUT_TEXT not in str(error) or not lacking:
                raise
            raise Unsupported(f"{lacking[0].op_type} is not implemented.") from None
        return tuple(np.array(output) for output in outputs)


def _iter_nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """Yield the nodes of a graph and of its subgraphs."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for subgraph in (attribute.g, *attribute.graphs):
                yield from _iter_nodes(subgraph)


def _implemented_operators() -> set[str]:
    """Return the operators that jaxonnxruntime implements in any version."""
    return {handler.OP_TYPE for handler in Handler.__subclasses__() if hasattr(handler, "OP_TYPE")}


class JaxOnnxRuntimeBackend(Adapter):
    """Backend that runs models with jaxonnxruntime."""

    __version__ = f"{__version__} (jax {jax.__version__})"

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", **_: Any) -> PreparedJaxModel:
        """Read a model."""
        return PreparedJaxModel(onnx.load_model_from_string(model))
