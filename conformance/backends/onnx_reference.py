"""onnx's own ReferenceEvaluator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from .host import Adapter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .host import Array


class PreparedEvaluator:
    """An evaluator of one model."""

    def __init__(self, evaluator: ReferenceEvaluator) -> None:
        self._evaluator = evaluator

    def run(self, feeds: Mapping[str, Array]) -> tuple[Any, ...]:
        """The outputs in the graph's order."""
        with np.errstate(all="ignore"):
            return tuple(self._evaluator.run(None, dict(feeds)))


class OnnxReferenceBackend(Adapter):
    """Runs models by onnx's ReferenceEvaluator."""

    __version__ = onnx.__version__

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", **_: Any) -> PreparedEvaluator:
        """Read a model; what it lacks raises NotImplementedError, directions of a Scan too."""
        try:
            return PreparedEvaluator(ReferenceEvaluator(onnx.load_model_from_string(model)))
        except RuntimeError as error:
            if "is not implemented" in str(error):
                raise NotImplementedError(str(error)) from error
            raise
