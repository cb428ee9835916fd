"""ONNX Runtime, on the CPU or by another of its execution providers, with any level of its graph optimizations."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime

from .host import Adapter, Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .host import Array


_LEVELS = {
    "disabled": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
}

_SAYS_UNSUPPORTED = (
    "is not a registered function/op",
    "Could not find an implementation for",
    "type inference failed, inferred types: index=",  # of a function in which there is an operator that it has not
)


class PreparedSession:
    """A session of one model."""

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self._session = session

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """The outputs in the graph's order."""
        return tuple(self._session.run(None, dict(feeds)))


class OnnxRuntimeBackend(Adapter):
    """Runs models by one of ONNX Runtime's execution providers; by default the CPU's, with all graph optimizations."""

    __version__ = onnxruntime.__version__

    @classmethod
    def check_options(cls, provider: str = "CPUExecutionProvider", optimization: str = "all") -> None:
        """Check options before anything is run.

        Raises:
            ValueError: this ONNX Runtime lacks the execution provider, or there is no such level of optimizations.
        """
        if provider not in (providers := onnxruntime.get_available_providers()):
            raise ValueError(
                f"This onnxruntime has no execution provider {provider}.", f"It has {', '.join(providers)}."
            )
        if optimization not in _LEVELS:
            raise ValueError(f"onnxruntime has no optimization level {optimization}.", f"Use {', '.join(_LEVELS)}.")

    @classmethod
    def prepare(
        cls,
        model: bytes,
        device: str = "CPU",
        provider: str = "CPUExecutionProvider",
        optimization: str = "all",
        **_: Any,
    ) -> PreparedSession:
        """Start a session.

        Args:
            provider: which execution provider comes first; what it has no kernel for runs on the CPU's.
            optimization: the level of graph optimizations: `disabled`, `basic`, `extended` or `all`.

        Raises:
            Unsupported: ONNX Runtime has no kernel for an operator or type of the model.
        """
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.graph_optimization_level = _LEVELS[optimization]
        providers = list(dict.fromkeys([provider, "CPUExecutionProvider"]))
        try:
            session = onnxruntime.InferenceSession(model, options, providers)
        except Exception as error:
            if any(text in str(error) for text in _SAYS_UNSUPPORTED):
                raise Unsupported(str(error)) from None
            raise
        return PreparedSession(session)
