"""JAX on the CPU, by jaxonnxruntime, with double and int64 turned on as its operators need."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np
import onnx
from jaxonnxruntime import __version__, config
from jaxonnxruntime.backend import Backend as Runtime
from jaxonnxruntime.core.handler import Handler

from .host import Adapter, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .host import Array


jax.config.update("jax_enable_x64", True)
config.update("jaxort_only_allow_initializers_as_static_args", False)  # else no Cast of a computed value runs

_MISSES_AN_INPUT = "Fail to get the input tensor"
"""What it says where a subgraph has a value of its own, and does so before it looks whether it has the operator."""


class PreparedModel:
    """A model, which jaxonnxruntime looks at only when it runs."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._graph = model.graph
        self._model = Runtime.prepare(model)

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """The outputs in the graph's order; an operator it lacks raises NotImplementedError.

        Raises:
            Unsupported: it lacks an operator, and has stopped at a subgraph before it said so.
        """
        try:
            outputs = self._model.run(dict(feeds))
        except ValueError as error:
            lacking = [node for node in _nodes(self._graph) if node.op_type not in _operators()]
            if _MISSES_AN_INPUT not in str(error) or not lacking:
                raise
            raise Unsupported(f"{lacking[0].op_type} is not implemented.") from None
        return tuple(np.array(output) for output in outputs)


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """The nodes of a graph and of its subgraphs."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for subgraph in (attribute.g, *attribute.graphs):
                yield from _nodes(subgraph)


def _operators() -> set[str]:
    """The operators that jaxonnxruntime has, in any version."""
    return {handler.OP_TYPE for handler in Handler.__subclasses__() if hasattr(handler, "OP_TYPE")}


class JaxOnnxRuntimeBackend(Adapter):
    """Runs models by jaxonnxruntime."""

    __version__ = f"{__version__} (jax {jax.__version__})"

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", **_: Any) -> PreparedModel:
        """Keep a model."""
        return PreparedModel(onnx.load_model_from_string(model))
