"""onnx's own ReferenceEvaluator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep
from onnx.reference import ReferenceEvaluator

from conformance.models.feeds import Signature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.models.arrays import Array


class PreparedEvaluator(BackendRep):
    """An evaluator of one model."""

    def __init__(self, signature: Signature, evaluator: ReferenceEvaluator) -> None:
        self._signature = signature
        self._evaluator = evaluator

    def run(self, inputs: Sequence[Array], **_: Any) -> tuple[Any, ...]:
        """The outputs for inputs in the graph's order."""
        feeds = self._signature.feeds(inputs)
        with np.errstate(all="ignore"):
            return tuple(self._evaluator.run(None, feeds))


class OnnxReferenceBackend(Backend):
    """Runs models by onnx's ReferenceEvaluator."""

    __version__ = onnx.__version__

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> PreparedEvaluator:
        """Read a model; an operator it lacks raises NotImplementedError."""
        return PreparedEvaluator(Signature.of(model), ReferenceEvaluator(model))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether this is the CPU."""
        return device == "CPU"
