"""Calls onnxoptimizer."""

from __future__ import annotations

import onnxoptimizer


def optimize(model):
    """Return the optimized model."""
    return onnxoptimizer.optimize(model, ["eliminate_nop_monotone_argmax"])
