"""JAX on the CPU or a GPU, with jaxonnxruntime; double and int64 are enabled because its operators need them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import onnx
from jaxonnxruntime import __version__, call_onnx, config
from jaxonnxruntime.backend import Backend as Runtime
from jaxonnxruntime.core.handler import Handler

from .server import Adapter, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .server import Array


jax.config.update("jax_enable_x64", True)
config.update("jaxort_only_allow_initializers_as_static_args", False)  # otherwise no Cast of a computed value runs

_MISSING_INPUT_TEXT = "Fail to get the input tensor"
"""Text of the error for a subgraph with intermediate values; it precedes the check whether operators are known."""


CPU, GPU = "cpu", "gpu"
"""JAX's names of devices."""


class NodeRecorder:
    """Records the device of each node that jaxonnxruntime computes, in the place of its function `_get_jit_func`.

    Attributes:
        found: names, operators and devices of the nodes.
    """

    def __init__(self, get_function: Any) -> None:
        self._get_function = get_function
        self.found: set[tuple[str, str, str]] = set()

    def __call__(self, node: Any, *arguments: Any, **options: Any) -> Any:
        """Return the function of a node; its outputs are recorded whenever it is called."""
        function = self._get_function(node, *arguments, **options)

        def compute(*inputs: Any, **attributes: Any) -> Any:
            outputs = function(*inputs, **attributes)
            for output in outputs if isinstance(outputs, list | tuple) else [outputs]:
                self.found |= {(node.name, node.op_type, device) for device in _devices_of(output)}
            return outputs

        return compute

    def placement(self) -> dict[str, dict[str, int]]:
        """Return the number of nodes by device and operator."""
        counts: dict[str, Counter[str]] = {}
        for _, operator, device in sorted(self.found):
            counts.setdefault(device, Counter())[operator] += 1
        return {device: dict(operators) for device, operators in counts.items()}


def _devices_of(output: Any) -> set[str]:
    """Return the devices of an array; NumPy computes on the CPU. What is not an array was not computed.

    JAX traces the nodes of a subgraph before it compiles them, and a traced value has no device.
    """
    if isinstance(output, jax.core.Tracer):
        return set()
    if isinstance(output, jax.Array):
        return {device.platform for device in output.devices()}
    return {CPU} if isinstance(output, np.ndarray | np.generic) else set()


class PreparedJaxModel:
    """A model that was read; jaxonnxruntime checks its operators only when the model runs.

    Attributes:
        placement: number of nodes by device and operator, known after the first run; None on the CPU, or if this
            release of jaxonnxruntime has no function that finds the function of a node.
    """

    def __init__(self, model: onnx.ModelProto, device: str) -> None:
        self._graph, self._device = model.graph, device
        self._model = Runtime.prepare(model)
        self.placement: dict[str, dict[str, int]] | None = None

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """Run the model, and return the outputs in the graph's order.

        Raises:
            NotImplementedError: jaxonnxruntime does not implement an operator.
            Unsupported: jaxonnxruntime does not implement an operator, and raised another error before its own check.
        """
        get_function = getattr(call_onnx, "_get_jit_func", None)
        recorder = NodeRecorder(get_function) if self._device != CPU and get_function is not None else None
        try:
            if recorder is not None:
                call_onnx._get_jit_func = recorder  # noqa: SLF001 - no public function is called for each node
            with jax.default_device(jax.devices(self._device)[0]):
                outputs = self._model.run(dict(feeds))
        except ValueError as error:
            lacking = [node for node in _iter_nodes(self._graph) if node.op_type not in _implemented_operators()]
            if _MISSING_INPUT_TEXT not in str(error) or not lacking:
                raise
            raise Unsupported(f"{lacking[0].op_type} is not implemented.") from None
        finally:
            if recorder is not None:
                call_onnx._get_jit_func = get_function  # noqa: SLF001
        if recorder is not None:
            self.placement = recorder.placement()
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
    def supports_device(cls, device: str) -> bool:
        """Return whether JAX finds the device: `gpu`."""
        if device == "CPU":
            return True
        try:
            return device == GPU and bool(jax.devices(GPU))
        except RuntimeError:  # JAX has no such platform
            return False

    @classmethod
    def required_provider(cls, device: str = "CPU", **_: str) -> str | None:
        """Return the requested device, unless it is the CPU."""
        return None if device == "CPU" else device

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", **_: Any) -> PreparedJaxModel:
        """Read a model."""
        return PreparedJaxModel(onnx.load_model_from_string(model), device.lower())
