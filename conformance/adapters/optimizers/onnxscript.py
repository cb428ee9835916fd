"""Optimizer of ONNX Script: constant folding, function inlining and rewrite rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnxscript
import onnxscript.optimizer

from conformance.adapters.optimizers import declare_adapter

if TYPE_CHECKING:
    import onnx


@declare_adapter(onnxscript.__version__)
def optimize(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the optimized model."""
    optimized: onnx.ModelProto = onnxscript.optimizer.optimize(model)
    return optimized
