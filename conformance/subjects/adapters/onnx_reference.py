"""ONNX's own ReferenceEvaluator."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx.external_data_helper import load_external_data_for_model
from onnx.reference import ReferenceEvaluator

from .server import Adapter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .server import Array


_UNSUPPORTED_TEXTS = ("is not implemented", "No implementation for operator")
"""Parts of messages of the evaluator for what it does not implement, in errors of a general class."""


class PreparedEvaluator:
    """The evaluator of one model."""

    def __init__(self, evaluator: ReferenceEvaluator) -> None:
        self._evaluator = evaluator

    def run(self, feeds: Mapping[str, Array]) -> tuple[Any, ...]:
        """Run the model, and return the outputs in the graph's order."""
        with np.errstate(all="ignore"):
            return tuple(self._evaluator.run(None, dict(feeds)))


class OnnxReferenceBackend(Adapter):
    """Backend that runs models with ONNX's ReferenceEvaluator."""

    __version__ = onnx.__version__
    input_kinds = ("string", "sequence", "map", "optional")

    @classmethod
    def prepare(cls, model: bytes, device: str = "CPU", **_: Any) -> PreparedEvaluator:
        """Read a model.

        Raises:
            NotImplementedError: the evaluator does not implement an operator, a version of it, or a direction of Scan.
        """
        try:
            decoded = onnx.load_model_from_string(model)
            load_external_data_for_model(decoded, os.getcwd())  # noqa: PTH109
            return PreparedEvaluator(ReferenceEvaluator(decoded))
        except RuntimeError as error:
            if any(text in str(error) for text in _UNSUPPORTED_TEXTS):
                raise NotImplementedError(str(error)) from error
            raise
