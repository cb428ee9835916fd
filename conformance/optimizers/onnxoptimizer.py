"""onnx's own optimizer: the one pass, which it claims to implement, and its default passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnxoptimizer

from conformance.optimizers import adapter
from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME

if TYPE_CHECKING:
    import onnx


@adapter(onnxoptimizer.__version__, passes=(PASS_NAME,))
def optimize(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    """The model after the pass, run once or until nothing changes."""
    optimized: onnx.ModelProto = onnxoptimizer.optimize(model, [PASS_NAME], fixed_point=fixed_point)
    return optimized


@adapter(onnxoptimizer.__version__)
def optimize_by_default(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    """The model after all passes that fuse or eliminate, which is what it runs where none is named."""
    optimized: onnx.ModelProto = onnxoptimizer.optimize(model, fixed_point=fixed_point)
    return optimized
