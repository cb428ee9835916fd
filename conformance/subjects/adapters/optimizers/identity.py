"""Graph optimizer that returns the model unchanged, for comparison with other graph optimizers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import conformance
from conformance.subjects.adapters.optimizers import declare_adapter

if TYPE_CHECKING:
    import onnx


@declare_adapter(conformance.__version__)
def optimize(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy of the model."""
    copy = type(model)()
    copy.CopyFrom(model)
    return copy
