"""ONNX Runtime's graph optimizations; the optimized model is read from the file that it saves."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnx
import onnxruntime
from onnxruntime import GraphOptimizationLevel

from ..server import Unsupported, raise_unsupported
from . import declare_adapter

LEVELS = {
    "basic": GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "layout": getattr(GraphOptimizationLevel, "ORT_ENABLE_LAYOUT", None),
    "all": GraphOptimizationLevel.ORT_ENABLE_ALL,
}
"""Optimization levels for the option `level`; older versions have no `layout`."""

_UNSUPPORTED_TEXTS = ("is not a registered function/op", "Could not find an implementation for")


@declare_adapter(onnxruntime.__version__)
def optimize(model: onnx.ModelProto, *, level: str = "all", disabled_optimizers: str = "") -> onnx.ModelProto:
    """Return the model as ONNX Runtime optimizes it for its CPU execution provider.

    Args:
        model: the model.
        level: key of `LEVELS`.
        disabled_optimizers: names of graph optimizations that do not run, with `+` between them.

    Raises:
        Unsupported: ONNX Runtime has no such level, or no kernel for an operator or type of the model.
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
        with raise_unsupported(_UNSUPPORTED_TEXTS, Exception):
            onnxruntime.InferenceSession(
                model.SerializeToString(),
                options,
                ["CPUExecutionProvider"],
                disabled_optimizers=disabled_optimizers.split("+") if disabled_optimizers else None,
            )
        return onnx.load_model(saved)
