"""The optimizer of ONNX Script: constant folding, inlining of functions and rewrite rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnxscript
import onnxscript.optimizer

from conformance.optimizers import adapter

if TYPE_CHECKING:
    import onnx


@adapter(onnxscript.__version__)
def optimize(model: onnx.ModelProto) -> onnx.ModelProto:
    """The optimized model."""
    optimized: onnx.ModelProto = onnxscript.optimizer.optimize(model)
    return optimized
