"""Calls onnxscript."""

from __future__ import annotations

import onnxscript.optimizer


def optimize(model):
    """Return the optimized model."""
    return onnxscript.optimizer.optimize(model)
