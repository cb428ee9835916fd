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

from .host import Adapter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .host import Array


jax.config.update("jax_enable_x64", True)
config.update("jaxort_only_allow_initializers_as_static_args", False)  # else no Cast of a computed value runs


class PreparedModel:
    """A model, which jaxonnxruntime looks at only when it runs."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """The outputs in the graph's order; an operator it lacks raises NotImplementedError."""
        return tuple(np.array(output) for output in self._model.run(dict(feeds)))


class JaxOnnxRuntimeBackend(Adapter):
    """Runs models by jaxonnxruntime."""

    __version__ = f"{__version__} (jax {jax.__version__})"

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", **_: Any) -> PreparedModel:
        """Keep a model."""
        return PreparedModel(Runtime.prepare(onnx.load_model_from_string(model)))
