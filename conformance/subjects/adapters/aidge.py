"""Eclipse Aidge on the CPU: aidge_onnx converts a model to a graph, and aidge_core's sequential scheduler runs it."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeAlias

import aidge_backend_cpu  # noqa: F401 - it registers the kernels
import aidge_core
import aidge_onnx
import numpy as np
import onnx
from aidge_onnx.utils import onnx_to_aidge_name

from .server import Adapter, Unsupported, raise_unsupported

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from .server import Array


os.environ.setdefault("OMP_NUM_THREADS", "1")

NodePort: TypeAlias = tuple[Any, int]
"""A node of an Aidge graph, and the number of one of its inputs or outputs."""

_UNSUPPORTED_TEXTS = (
    "missing or invalid registrar key",  # a kernel of these types
    "Unsupported python type passed to Tensor constructor",
    "has no Aidge equivalent",  # a type
)

aidge_core.Log.set_console_level(aidge_core.Level.Fatal)


class PreparedAidgeGraph:
    """An Aidge graph, and the ports of the model's inputs and outputs."""

    def __init__(
        self, graph: Any, inputs: Mapping[str, NodePort], outputs: Mapping[str, NodePort], constants: Collection[str]
    ) -> None:
        self._graph = graph
        self._inputs = inputs
        self._constants = constants
        self._outputs = outputs
        self._scheduler = aidge_core.SequentialScheduler(graph)

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """Run the model, and return the outputs in the graph's order.

        Raises:
            Unsupported: Aidge has no kernel for a type in the graph, its Python package has no tensors of the type, or
                it has made a constant of an input that has an initializer.
        """
        if fixed := [name for name in feeds if name in self._constants]:
            raise Unsupported(f"Aidge does not accept a value for input {fixed[0]}, which has an initializer")
        with raise_unsupported(_UNSUPPORTED_TEXTS, RuntimeError, ValueError):
            for name, (node, index) in self._inputs.items():
                node.get_operator().set_input(index, aidge_core.Tensor(feeds[name]))
            self._graph.forward_dtype()
            self._scheduler.forward()
        return tuple(np.array(node.get_operator().get_output(index)) for node, index in self._outputs.values())


class AidgeBackend(Adapter):
    """Backend that runs models with Aidge on the CPU."""

    __version__ = version("aidge-core")

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", **_: Any) -> PreparedAidgeGraph:
        """Read a model.

        Raises:
            Unsupported: Aidge does not implement an operator or type, or does not report the port of an input.
        """
        with raise_unsupported(_UNSUPPORTED_TEXTS, RuntimeError, ValueError):
            graph = aidge_onnx.load_onnx(model)
            operators = (node.get_operator() for node in graph.get_nodes())
            if lacking := {each.type() for each in operators if isinstance(each, aidge_core.GenericOperatorOp)}:
                raise Unsupported(f"Aidge has no operator for {', '.join(sorted(lacking))}")
            graph.set_backend("cpu")
        inputs = [(node.input_name(index), (node, index)) for node, index in graph.get_ordered_inputs()]
        outputs = [(node.output_name(index), (node, index)) for node, index in graph.get_ordered_outputs()]
        declared = onnx.load_model_from_string(model).graph
        used, constants = _used_inputs(declared), _initialized_names(declared)
        return PreparedAidgeGraph(
            graph,
            _find_ports([name for name in used if name not in constants], inputs),
            _find_ports([each.name for each in declared.output], outputs),
            constants,
        )


def _used_inputs(graph: onnx.GraphProto) -> list[str]:
    """Return the names of the inputs that the graph reads."""
    read = {name for node in graph.node for name in node.input} | {each.name for each in graph.output}
    return [each.name for each in graph.input if each.name in read]


def _initialized_names(graph: onnx.GraphProto) -> set[str]:
    """Return the names of the initializers, of which Aidge makes constants."""
    return {each.name for each in graph.initializer} | {each.values.name for each in graph.sparse_initializer}


def _find_ports(names: Iterable[str], ports: Sequence[tuple[str, NodePort]]) -> dict[str, NodePort]:
    """Return the port of the Aidge graph for each input or output name of the model.

    Raises:
        Unsupported: a name does not have exactly one port. This occurs if an optional input of a node is a graph input.
    """
    found = {}
    for name in names:
        matches = [port for its_name, port in ports if its_name == onnx_to_aidge_name(name)]
        if len(matches) != 1:
            raise Unsupported(f"Aidge does not report which node reads or computes {name}")
        found[name] = matches[0]
    return found
