"""Eclipse Aidge on the CPU: what aidge_onnx makes of a model, run by aidge_core's sequential scheduler."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeAlias

os.environ.setdefault("OMP_NUM_THREADS", "1")

import aidge_backend_cpu  # noqa: F401 - it registers the kernels
import aidge_core
import aidge_onnx
import numpy as np
import onnx
from aidge_onnx.utils import onnx_to_aidge_name

from .host import Adapter, Unsupported, saying_unsupported

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .host import Array

Place: TypeAlias = tuple[Any, int]
"""A node, and the index of one of its inputs or outputs."""

_SAYS_UNSUPPORTED = (
    "missing or invalid registrar key",  # a kernel of these types
    "Unsupported python type passed to Tensor constructor",
    "has no Aidge equivalent",  # a type
)

aidge_core.Log.set_console_level(aidge_core.Level.Fatal)


class PreparedGraph:
    """A graph, and where it takes the model's inputs and leaves its outputs."""

    def __init__(self, graph: Any, inputs: Mapping[str, Place], outputs: Mapping[str, Place]) -> None:
        self._graph = graph
        self._inputs = inputs
        self._outputs = outputs
        self._scheduler = aidge_core.SequentialScheduler(graph)

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """The outputs in the graph's order.

        Raises:
            Unsupported: Aidge has no kernel for a type that comes up, or its Python package no tensors of it.
        """
        with saying_unsupported(_SAYS_UNSUPPORTED, RuntimeError, ValueError):
            for name, (node, index) in self._inputs.items():
                node.get_operator().set_input(index, aidge_core.Tensor(feeds[name]))
            self._graph.forward_dtype()
            self._scheduler.forward()
        return tuple(np.array(node.get_operator().get_output(index)) for node, index in self._outputs.values())


class AidgeBackend(Adapter):
    """Runs models by Aidge's CPU backend."""

    __version__ = version("aidge-core")

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", **_: Any) -> PreparedGraph:
        """Read a model.

        Raises:
            Unsupported: Aidge leaves an operator generic, has no such type, or hides where an input goes.
        """
        with saying_unsupported(_SAYS_UNSUPPORTED, RuntimeError, ValueError):
            graph = aidge_onnx.load_onnx(model)
            operators = (node.get_operator() for node in graph.get_nodes())
            if lacking := {each.type() for each in operators if isinstance(each, aidge_core.GenericOperatorOp)}:
                raise Unsupported(f"Aidge has no operator for {', '.join(sorted(lacking))}")
            graph.set_backend("cpu")
        inputs = [(node.input_name(index), (node, index)) for node, index in graph.get_ordered_inputs()]
        outputs = [(node.output_name(index), (node, index)) for node, index in graph.get_ordered_outputs()]
        declared = onnx.load_model_from_string(model).graph
        return PreparedGraph(
            graph, _by_name(_read(declared), inputs), _by_name([each.name for each in declared.output], outputs)
        )


def _read(graph: onnx.GraphProto) -> list[str]:
    """The inputs that something reads and no initializer gives a value to."""
    read = {name for node in graph.node for name in node.input} | {each.name for each in graph.output}
    given = {each.name for each in graph.initializer} | {each.values.name for each in graph.sparse_initializer}
    return [each.name for each in graph.input if each.name in read - given]


def _by_name(names: Iterable[str], places: Sequence[tuple[str, Place]]) -> dict[str, Place]:
    """The place of each of these names of the model's; Aidge has other places too, and names of its own.

    Raises:
        Unsupported: a name has no place, or several, as an input has that an optional input of a node takes.
    """
    found = {}
    for name in names:
        called = [place for its_name, place in places if its_name == onnx_to_aidge_name(name)]
        if len(called) != 1:
            raise Unsupported(f"Aidge does not say which node takes or makes {name}")
        found[name] = called[0]
    return found
