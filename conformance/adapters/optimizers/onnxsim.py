"""onnxsim: constant folding, and the default passes of a copy of ONNX's optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnxsim

from conformance.adapters.optimizers import declare_adapter

if TYPE_CHECKING:
    import onnx


@declare_adapter(onnxsim.__version__.removeprefix("v"))
def optimize(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the simplified model.

    Raises:
        ValueError: onnxsim's own check of the simplified model fails.
    """
    simplified: onnx.ModelProto
    simplified, valid = onnxsim.simplify(model)
    if not valid:
        raise ValueError("onnxsim's own check fails on the simplified model")
    return simplified
