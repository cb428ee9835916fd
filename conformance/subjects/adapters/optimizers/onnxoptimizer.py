"""ONNX's own optimizer: the pass `eliminate_nop_monotone_argmax` alone, or all default passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnxoptimizer

from . import LIST_PASSES, chosen_passes, declare_adapter, list_of_passes

if TYPE_CHECKING:
    import onnx

PASS_NAME = "eliminate_nop_monotone_argmax"  # noqa: S105


@declare_adapter(onnxoptimizer.__version__, passes=(PASS_NAME,))
def optimize(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    """Run the pass once or until nothing changes, and return the model."""
    optimized: onnx.ModelProto = onnxoptimizer.optimize(model, [PASS_NAME], fixed_point=fixed_point)
    return optimized


@declare_adapter(onnxoptimizer.__version__)
def optimize_by_default(model: onnx.ModelProto, fixed_point: bool = False, *, passes: str = "") -> onnx.ModelProto:
    """Run the default passes, which fuse or eliminate nodes, and return the model.

    Args:
        model: the model.
        fixed_point: whether to run the passes until nothing changes.
        passes: the passes to run, with `+` between them; `none`, or `list`.
    """
    known = [name for name in onnxoptimizer.get_fuse_and_elimination_passes() if name != "nop"]
    if passes == LIST_PASSES:
        return list_of_passes(model, known)
    chosen = chosen_passes(passes, known) or ["nop"]
    optimized: onnx.ModelProto = onnxoptimizer.optimize(model, chosen, fixed_point=fixed_point)
    return optimized
