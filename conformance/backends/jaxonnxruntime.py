"""JAX on the CPU, by jaxonnxruntime, with double and int64 turned on as its operators need."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np
from jaxonnxruntime import __version__, config
from jaxonnxruntime.backend import Backend as Runtime
from onnx.backend.base import Backend, BackendRep

from conformance.models.feeds import Signature

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx

    from conformance.models.arrays import Array

jax.config.update("jax_enable_x64", True)
config.update("jaxort_only_allow_initializers_as_static_args", False)  # else no Cast of a computed value runs


class PreparedModel(BackendRep):
    """A model, which jaxonnxruntime looks at only when it runs."""

    def __init__(self, signature: Signature, model: Any) -> None:
        self._signature = signature
        self._model = model

    def run(self, inputs: Sequence[Array], **_: Any) -> tuple[Array, ...]:
        """The outputs for inputs in the graph's order; an operator it lacks raises NotImplementedError."""
        feeds = self._signature.feeds(inputs)
        return tuple(np.array(output) for output in self._model.run(feeds))


class JaxOnnxRuntimeBackend(Backend):
    """Runs models by jaxonnxruntime."""

    __version__ = f"{__version__} (jax {jax.__version__})"

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> PreparedModel:
        """Keep a model."""
        return PreparedModel(Signature.of(model), Runtime.prepare(model))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether this is the CPU."""
        return device == "CPU"
