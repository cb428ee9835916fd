"""onnxsim, which folds constants and runs the default passes of a copy of onnx's optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnxsim

from conformance.optimizers import adapter

if TYPE_CHECKING:
    import onnx


@adapter(onnxsim.__version__.removeprefix("v"))
def optimize(model: onnx.ModelProto) -> onnx.ModelProto:
    """The simplified model.

    Raises:
        ValueError: onnxsim itself says that the simplified model is not valid.
    """
    simplified: onnx.ModelProto
    simplified, valid = onnxsim.simplify(model)
    if not valid:
        raise ValueError("onnxsim's own check fails on the simplified model")
    return simplified
