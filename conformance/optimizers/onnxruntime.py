"""ONNX Runtime's graph optimizations, read back from the optimized model that it saves."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnx
import onnxruntime
from onnxruntime import GraphOptimizationLevel

from conformance.optimizers import adapter
from conformance.verdicts import Unsupported

LEVELS = {
    "basic": GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "layout": getattr(GraphOptimizationLevel, "ORT_ENABLE_LAYOUT", None),
    "all": GraphOptimizationLevel.ORT_ENABLE_ALL,
}
"""The level of `onnxruntime[level=…]`; older versions have no `layout`."""

_SAYS_UNSUPPORTED = ("is not a registered function/op", "Could not find an implementation for")


@adapter(onnxruntime.__version__)
def optimize(model: onnx.ModelProto, *, level: str = "all") -> onnx.ModelProto:
    """The model as ONNX Runtime optimizes it for its CPU execution provider.

    Args:
        level: one of `LEVELS`.

    Raises:
        Unsupported: it has no such level, or no kernel for an operator or type of the model.
    """
    if LEVELS.get(level) is None:
        raise Unsupported(f"ONNX Runtime {onnxruntime.__version__} has no level {level} of graph optimizations")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = LEVELS[level]
    with TemporaryDirectory() as scratch:
        saved = Path(scratch) / "optimized.onnx"
        options.optimized_model_filepath = str(saved)
        try:
            onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        except Exception as error:
            if any(text in str(error) for text in _SAYS_UNSUPPORTED):
                raise Unsupported(str(error)) from None
            raise
        return onnx.load_model(saved)
